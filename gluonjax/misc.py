"""``mx.misc``: MXNet's first learning rate schedules, kept for old scripts; see ``mx.lr_scheduler``."""

from __future__ import annotations

import logging

from gluonjax.lr_scheduler import SchedulerError


class LearningRateScheduler:
    """Base class: called with the number of the iteration, returns a rate."""

    def __init__(self) -> None:
        self.base_lr = 0.01

    def __call__(self, iteration: int) -> float:
        """The rate of an iteration."""
        raise _MissingSchedule(f"{type(self).__name__} must override __call__")


class _MissingSchedule(SchedulerError, NotImplementedError):
    """A schedule without a rule."""


class FactorScheduler(LearningRateScheduler):
    """Multiplies the rate by ``factor`` every ``step`` iterations.

    >>> schedule = FactorScheduler(step=10, factor=0.5)
    >>> schedule(0), schedule(20)
    (0.01, 0.0025)
    """

    def __init__(self, step: int, factor: float = 0.1) -> None:
        super().__init__()
        if step < 1:
            raise SchedulerError(f"Schedule step must be greater or equal than 1 round, got {step}")
        if factor >= 1.0:
            raise SchedulerError(f"Factor must be less than 1 to make lr reduce, got {factor}")
        self.step = step
        self.factor = factor
        self._announced: float | None = None

    def __call__(self, iteration: int) -> float:
        """The rate of an iteration."""
        rate = self.base_lr * self.factor ** (iteration // self.step)
        if self._announced is not None and rate != self._announced:
            logging.info("At Iteration [%d]: learning rate is now %.5f", iteration, rate)
        self._announced = rate
        return rate


__all__ = ["FactorScheduler", "LearningRateScheduler"]
