"""Parameters and dictionaries of them."""

from gluonjax.gluon._constant import Constant as Constant
from gluonjax.gluon._errors import DeferredInitializationError as DeferredInitializationError
from gluonjax.gluon._parameter import Parameter as Parameter
from gluonjax.gluon._parameter import tensor_types as tensor_types
from gluonjax.gluon._parameter_dict import ParameterDict as ParameterDict
