"""Recurrent layers (whole sequences in one operator) and cells (one step at a time)."""

from gluonjax.gluon.rnn.rnn_cell import BidirectionalCell as BidirectionalCell
from gluonjax.gluon.rnn.rnn_cell import DropoutCell as DropoutCell
from gluonjax.gluon.rnn.rnn_cell import GRUCell as GRUCell
from gluonjax.gluon.rnn.rnn_cell import HybridRecurrentCell as HybridRecurrentCell
from gluonjax.gluon.rnn.rnn_cell import HybridSequentialRNNCell as HybridSequentialRNNCell
from gluonjax.gluon.rnn.rnn_cell import LSTMCell as LSTMCell
from gluonjax.gluon.rnn.rnn_cell import ModifierCell as ModifierCell
from gluonjax.gluon.rnn.rnn_cell import RecurrentCell as RecurrentCell
from gluonjax.gluon.rnn.rnn_cell import ResidualCell as ResidualCell
from gluonjax.gluon.rnn.rnn_cell import RNNCell as RNNCell
from gluonjax.gluon.rnn.rnn_cell import SequentialRNNCell as SequentialRNNCell
from gluonjax.gluon.rnn.rnn_cell import ZoneoutCell as ZoneoutCell
from gluonjax.gluon.rnn.rnn_layer import GRU as GRU
from gluonjax.gluon.rnn.rnn_layer import LSTM as LSTM
from gluonjax.gluon.rnn.rnn_layer import RNN as RNN
