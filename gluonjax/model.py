"""``mx.model``: checkpoints of symbolic models, what batch-end callbacks get, and FeedForward."""

from __future__ import annotations

from typing import Any

from gluonjax._checkpoint import BatchEndParam as BatchEndParam
from gluonjax._checkpoint import load_checkpoint as load_checkpoint
from gluonjax._checkpoint import load_params as load_params
from gluonjax._checkpoint import save_checkpoint as save_checkpoint
from gluonjax._feed_forward import FeedForward as FeedForward
from gluonjax.callback import LogValidationMetricsCallback as LogValidationMetricsCallback
from gluonjax.context import Context as Context
from gluonjax.context import cpu as cpu
from gluonjax.initializer import Uniform as Uniform
from gluonjax.io import DataDesc as DataDesc
from gluonjax.optimizer import get_updater as get_updater

# MXNet derives FeedForward from scikit-learn's BaseEstimator where that is installed; here it never is one.
SKLEARN_INSTALLED = False


def __getattr__(name: str) -> Any:
    # The manager stands on modules, which stand on this file.
    if name == "DataParallelExecutorManager":
        from gluonjax.executor_manager import DataParallelExecutorManager

        return DataParallelExecutorManager
    raise AttributeError(f"module 'gluonjax.model' has no attribute '{name}'")
