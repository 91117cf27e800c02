"""The moments of training that handlers can take part in."""

from __future__ import annotations

from typing import Any

from gluonjax.gluon._errors import ArgumentError


class EventHandler:
    """Base class of all handlers; inherit from the classes of the moments that matter."""


class TrainBegin(EventHandler):
    """Called once before training."""

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """React to the start of ``fit``."""


class TrainEnd(EventHandler):
    """Called once after training."""

    def train_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """React to the end of ``fit``."""


class EpochBegin(EventHandler):
    """Called before every epoch."""

    def epoch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """React to the start of an epoch."""


class EpochEnd(EventHandler):
    """Called after every epoch; returning True stops the training."""

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool | None:
        """React to the end of an epoch."""
        return False


class BatchBegin(EventHandler):
    """Called before every batch, with ``batch``."""

    def batch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """React to a new batch."""


class BatchEnd(EventHandler):
    """Called after every batch, with ``batch``, ``pred``, ``label`` and ``loss``; returning True ends the epoch."""

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool | None:
        """React to a finished batch."""
        return False


# In the order in which ``Estimator._categorize_handlers`` lists them.
MOMENTS = (TrainBegin, EpochBegin, BatchBegin, BatchEnd, EpochEnd, TrainEnd)


def _check_event_handlers(handlers: Any) -> list[EventHandler]:
    """One handler, a list or None, as a new list."""
    listed = [handlers] if isinstance(handlers, EventHandler) else list(handlers or [])
    if not all(isinstance(handler, EventHandler) for handler in listed):
        raise ArgumentError(f"handlers must be an EventHandler or a list of EventHandler, got: {handlers}")
    return listed
