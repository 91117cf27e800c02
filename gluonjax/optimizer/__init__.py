"""``mx.optimizer``: optimizers by name or class, and the updater.

Each optimizer is one pure formula (``_ops/update_rules.py``) plus host-side arithmetic; ``as_optax`` gives
it as an optax transformation, ``OptaxOptimizer`` takes any optax transformation as an optimizer.
"""

from __future__ import annotations

from gluonjax.optimizer import contrib as contrib
from gluonjax.optimizer import optimizer as optimizer
from gluonjax.optimizer._optax import OptaxOptimizer as OptaxOptimizer
from gluonjax.optimizer._optax import as_optax as as_optax
from gluonjax.optimizer.contrib import GroupAdaGrad as GroupAdaGrad
from gluonjax.optimizer.optimizer import (
    DCASGD,
    FTML,
    LAMB,
    LARS,
    LBSGD,
    NAG,
    SGD,
    SGLD,
    AdaDelta,
    AdaGrad,
    Adam,
    Adamax,
    Ftrl,
    Nadam,
    NDabs,
    Optimizer,
    RMSProp,
    Signum,
    Test,
    Updater,
    ccSGD,
    create,
    get_updater,
    register,
)  # fmt: skip

__all__ = [
    "DCASGD", "FTML", "LAMB", "LARS", "LBSGD", "NAG", "SGD", "SGLD", "AdaDelta", "AdaGrad", "Adam", "Adamax", "Ftrl",
    "GroupAdaGrad", "NDabs", "Nadam", "OptaxOptimizer", "Optimizer", "RMSProp", "Signum", "Test", "Updater",
    "as_optax", "ccSGD", "contrib", "create", "get_updater", "optimizer", "register",
]  # fmt: skip
