"""``mx.rnn.rnn_cell``: all symbolic cells."""

from __future__ import annotations

from gluonjax.base import numeric_types, string_types
from gluonjax.rnn._base import BaseRNNCell, RNNParams
from gluonjax.rnn._containers import BidirectionalCell, SequentialRNNCell
from gluonjax.rnn._conv import BaseConvRNNCell, ConvGRUCell, ConvLSTMCell, ConvRNNCell
from gluonjax.rnn._fused import FusedRNNCell
from gluonjax.rnn._modifiers import DropoutCell, ModifierCell, ResidualCell, ZoneoutCell
from gluonjax.rnn._plain import GRUCell, LSTMCell, RNNCell

__all__ = [
    "BaseConvRNNCell", "BaseRNNCell", "BidirectionalCell", "ConvGRUCell", "ConvLSTMCell", "ConvRNNCell",
    "DropoutCell", "FusedRNNCell", "GRUCell", "LSTMCell", "ModifierCell", "RNNCell", "RNNParams", "ResidualCell",
    "SequentialRNNCell", "ZoneoutCell", "numeric_types", "string_types",
]  # fmt: skip
