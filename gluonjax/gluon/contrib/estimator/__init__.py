"""A training loop that takes handlers: ``Estimator(net, loss, ...).fit(loader, epochs=...)``."""

from gluonjax.gluon.contrib.estimator import batch_processor as batch_processor
from gluonjax.gluon.contrib.estimator import estimator as estimator
from gluonjax.gluon.contrib.estimator import event_handler as event_handler
from gluonjax.gluon.contrib.estimator import utils as utils
from gluonjax.gluon.contrib.estimator.batch_processor import BatchProcessor
from gluonjax.gluon.contrib.estimator.estimator import Estimator
from gluonjax.gluon.contrib.estimator.event_handler import (
    BatchBegin,
    BatchEnd,
    CheckpointHandler,
    EarlyStoppingHandler,
    EpochBegin,
    EpochEnd,
    GradientUpdateHandler,
    LoggingHandler,
    MetricHandler,
    StoppingHandler,
    TrainBegin,
    TrainEnd,
    ValidationHandler,
)

__all__ = [
    "BatchBegin", "BatchEnd", "BatchProcessor", "CheckpointHandler", "EarlyStoppingHandler", "EpochBegin",
    "EpochEnd",
    "Estimator", "GradientUpdateHandler", "LoggingHandler", "MetricHandler", "StoppingHandler", "TrainBegin",
    "TrainEnd",
    "ValidationHandler",
]  # fmt: skip
