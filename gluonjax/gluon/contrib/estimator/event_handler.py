"""Handlers: what happens before, during and after training besides the training itself."""

from gluonjax.gluon.contrib.estimator._checkpoint_handler import CheckpointHandler
from gluonjax.gluon.contrib.estimator._events import (
    BatchBegin,
    BatchEnd,
    EpochBegin,
    EpochEnd,
    TrainBegin,
    TrainEnd,
)
from gluonjax.gluon.contrib.estimator._events import EventHandler as EventHandler
from gluonjax.gluon.contrib.estimator._events import _check_event_handlers as _check_event_handlers
from gluonjax.gluon.contrib.estimator._logging_handler import LoggingHandler
from gluonjax.gluon.contrib.estimator._standard_handlers import (
    EarlyStoppingHandler,
    GradientUpdateHandler,
    MetricHandler,
    StoppingHandler,
    ValidationHandler,
)

__all__ = [
    "BatchBegin", "BatchEnd", "CheckpointHandler", "EarlyStoppingHandler", "EpochBegin", "EpochEnd",
    "GradientUpdateHandler", "LoggingHandler", "MetricHandler", "StoppingHandler", "TrainBegin", "TrainEnd",
    "ValidationHandler",
]  # fmt: skip
