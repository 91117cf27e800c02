"""``mx.rnn``: symbolic recurrent cells for Module, with bucketing and checkpoints. ``gluon.rnn`` is the newer form."""

from __future__ import annotations

from gluonjax.rnn import io, rnn, rnn_cell
from gluonjax.rnn.io import BucketSentenceIter, DataBatch, DataDesc, DataIter, encode_sentences
from gluonjax.rnn.rnn import (
    do_rnn_checkpoint,
    load_checkpoint,
    load_rnn_checkpoint,
    rnn_unroll,
    save_checkpoint,
    save_rnn_checkpoint,
)
from gluonjax.rnn.rnn_cell import (
    BaseConvRNNCell,
    BaseRNNCell,
    BidirectionalCell,
    ConvGRUCell,
    ConvLSTMCell,
    ConvRNNCell,
    DropoutCell,
    FusedRNNCell,
    GRUCell,
    LSTMCell,
    ModifierCell,
    ResidualCell,
    RNNCell,
    RNNParams,
    SequentialRNNCell,
    ZoneoutCell,
    numeric_types,
    string_types,
)

__all__ = [
    "BaseConvRNNCell", "BaseRNNCell", "BidirectionalCell", "BucketSentenceIter", "ConvGRUCell", "ConvLSTMCell",
    "ConvRNNCell", "DataBatch", "DataDesc", "DataIter", "DropoutCell", "FusedRNNCell", "GRUCell", "LSTMCell",
    "ModifierCell", "RNNCell", "RNNParams", "ResidualCell", "SequentialRNNCell", "ZoneoutCell", "do_rnn_checkpoint",
    "encode_sentences", "io", "load_checkpoint", "load_rnn_checkpoint", "numeric_types", "rnn", "rnn_cell",
    "rnn_unroll", "save_checkpoint", "save_rnn_checkpoint", "string_types",
]  # fmt: skip
