"""More recurrent cells: convolutional ones, variational dropout, LSTM with projection."""

from gluonjax.gluon.contrib.rnn import conv_rnn_cell as conv_rnn_cell
from gluonjax.gluon.contrib.rnn import rnn_cell as rnn_cell
from gluonjax.gluon.contrib.rnn.conv_rnn_cell import (
    Conv1DGRUCell,
    Conv1DLSTMCell,
    Conv1DRNNCell,
    Conv2DGRUCell,
    Conv2DLSTMCell,
    Conv2DRNNCell,
    Conv3DGRUCell,
    Conv3DLSTMCell,
    Conv3DRNNCell,
)
from gluonjax.gluon.contrib.rnn.rnn_cell import LSTMPCell, VariationalDropoutCell

__all__ = [
    "Conv1DGRUCell", "Conv1DLSTMCell", "Conv1DRNNCell", "Conv2DGRUCell", "Conv2DLSTMCell", "Conv2DRNNCell",
    "Conv3DGRUCell", "Conv3DLSTMCell", "Conv3DRNNCell", "LSTMPCell", "VariationalDropoutCell",
]  # fmt: skip
