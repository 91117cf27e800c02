"""``mx.optimizer.optimizer``: every optimizer, the updater, and ``create``."""

from __future__ import annotations

from gluonjax import ndarray as _ndarray
from gluonjax.ndarray import NDArray as NDArray
from gluonjax.ndarray import array as array
from gluonjax.ndarray import maximum as maximum
from gluonjax.ndarray import multiply as multiply
from gluonjax.ndarray import zeros as zeros
from gluonjax.ndarray.random import normal as normal
from gluonjax.optimizer._adam import FTML as FTML
from gluonjax.optimizer._adam import Adam as Adam
from gluonjax.optimizer._adam import Adamax as Adamax
from gluonjax.optimizer._adam import Nadam as Nadam
from gluonjax.optimizer._adaptive import AdaDelta as AdaDelta
from gluonjax.optimizer._adaptive import AdaGrad as AdaGrad
from gluonjax.optimizer._adaptive import Ftrl as Ftrl
from gluonjax.optimizer._adaptive import RMSProp as RMSProp
from gluonjax.optimizer._adaptive import Test as Test
from gluonjax.optimizer._base import Optimizer as Optimizer
from gluonjax.optimizer._base import create as create
from gluonjax.optimizer._base import register as register
from gluonjax.optimizer._large_batch import LAMB as LAMB
from gluonjax.optimizer._large_batch import LARS as LARS
from gluonjax.optimizer._large_batch import LBSGD as LBSGD
from gluonjax.optimizer._sgd import DCASGD as DCASGD
from gluonjax.optimizer._sgd import NAG as NAG
from gluonjax.optimizer._sgd import SGD as SGD
from gluonjax.optimizer._sgd import SGLD as SGLD
from gluonjax.optimizer._sgd import Signum as Signum
from gluonjax.optimizer._sgd import ccSGD as ccSGD
from gluonjax.optimizer._updater import Updater as Updater
from gluonjax.optimizer._updater import get_updater as get_updater
from gluonjax.util import is_np_array as is_np_array

# What MXNet's module imports for itself; scripts with optimizers of their own import it from here.
NDabs = getattr(_ndarray, "abs")  # noqa: B009 - operators are put into the module when it is imported
multi_lamb_update = getattr(_ndarray.contrib, "multi_lamb_update")  # noqa: B009
multi_mp_lamb_update = getattr(_ndarray.contrib, "multi_mp_lamb_update")  # noqa: B009

__all__ = [
    "DCASGD", "FTML", "LAMB", "LARS", "LBSGD", "NAG", "SGD", "SGLD", "AdaDelta", "AdaGrad", "Adam", "Adamax", "Ftrl",
    "NDabs", "Nadam", "Optimizer", "RMSProp", "Signum", "Test", "Updater", "ccSGD", "create", "get_updater",
    "register",
]  # fmt: skip
