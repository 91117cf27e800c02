"""Recurrent cells: one step of a recurrence, and cells made of cells."""

from gluonjax.gluon.rnn._base_cell import HybridRecurrentCell as HybridRecurrentCell
from gluonjax.gluon.rnn._base_cell import RecurrentCell as RecurrentCell
from gluonjax.gluon.rnn._containers import BidirectionalCell as BidirectionalCell
from gluonjax.gluon.rnn._containers import HybridSequentialRNNCell as HybridSequentialRNNCell
from gluonjax.gluon.rnn._containers import SequentialRNNCell as SequentialRNNCell
from gluonjax.gluon.rnn._modifiers import DropoutCell as DropoutCell
from gluonjax.gluon.rnn._modifiers import ModifierCell as ModifierCell
from gluonjax.gluon.rnn._modifiers import ResidualCell as ResidualCell
from gluonjax.gluon.rnn._modifiers import ZoneoutCell as ZoneoutCell
from gluonjax.gluon.rnn._plain_cells import GRUCell as GRUCell
from gluonjax.gluon.rnn._plain_cells import LSTMCell as LSTMCell
from gluonjax.gluon.rnn._plain_cells import RNNCell as RNNCell
from gluonjax.gluon.rnn._sequences import dynamic_unroll as dynamic_unroll
