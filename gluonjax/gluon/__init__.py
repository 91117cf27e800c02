"""The imperative interface: blocks, parameters, losses, data loading, training."""

from gluonjax.gluon import _shown as _shown  # last: it adds to the modules above
from gluonjax.gluon import contrib as contrib
from gluonjax.gluon import data as data
from gluonjax.gluon import loss as loss
from gluonjax.gluon import model_zoo as model_zoo
from gluonjax.gluon import nn as nn
from gluonjax.gluon import rnn as rnn
from gluonjax.gluon import utils as utils
from gluonjax.gluon.block import Block as Block
from gluonjax.gluon.block import HybridBlock as HybridBlock
from gluonjax.gluon.block import SymbolBlock as SymbolBlock
from gluonjax.gluon.parameter import Constant as Constant
from gluonjax.gluon.parameter import DeferredInitializationError as DeferredInitializationError
from gluonjax.gluon.parameter import Parameter as Parameter
from gluonjax.gluon.parameter import ParameterDict as ParameterDict
from gluonjax.gluon.parameter import tensor_types as tensor_types
from gluonjax.gluon.trainer import Trainer as Trainer
