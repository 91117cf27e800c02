"""The handlers that every training has: updates, metrics, validation, stopping."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from gluonjax.gluon._errors import ArgumentError
from gluonjax.gluon.contrib.estimator._events import BatchEnd, EpochBegin, EpochEnd, TrainBegin, TrainEnd
from gluonjax.gluon.contrib.estimator.utils import _check_metrics
from gluonjax.metric import CompositeEvalMetric, EvalMetric
from gluonjax.metric import Loss as LossMetric

MODES = ("auto", "min", "max")


class StoppingHandler(TrainBegin, BatchEnd, EpochEnd):
    """Stops after a number of epochs or batches: those that ``fit`` was called with.

    Args:
        max_epoch, max_batch: limits, until ``fit`` sets its own.
    """

    def __init__(self, max_epoch: int | None = None, max_batch: int | None = None) -> None:
        self.max_epoch = max_epoch
        self.max_batch = max_batch
        self.current_batch = self.current_epoch = 0
        self.stop_training = False

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.max_epoch, self.max_batch = estimator.max_epoch, estimator.max_batch
        self.current_batch = self.current_epoch = 0

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        self.current_batch += 1
        self.stop_training |= self.current_batch == self.max_batch
        return self.stop_training

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        self.current_epoch += 1
        self.stop_training |= self.current_epoch == self.max_epoch
        return self.stop_training


class MetricHandler(EpochBegin, BatchEnd):
    """Updates metrics after every batch and resets them before every epoch.

    Args:
        metrics: a metric or a list of them; ``metric.Loss`` gets the loss values.
        priority: handlers run from the lowest to the highest.
    """

    def __init__(self, metrics: Any, priority: float = -1000) -> None:
        self.metrics = _check_metrics(metrics)
        self.priority = priority

    def epoch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        for metric in self.metrics:
            metric.reset()

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        for metric in self.metrics:
            if isinstance(metric, LossMetric):
                metric.update(0, kwargs["loss"])
            else:
                metric.update(kwargs["label"], kwargs["pred"])


class ValidationHandler(TrainBegin, BatchEnd, EpochEnd):
    """Runs a validation every so many epochs or batches.

    Args:
        val_data: data loader.
        eval_fn: called with ``val_data``, ``batch_axis`` and ``event_handlers``; ``Estimator.evaluate`` fits.
        epoch_period, batch_period: how often; None for never.
        priority: handlers run from the lowest to the highest.
        event_handlers: handlers for the validation itself.
    """

    def __init__(
        self, val_data: Any, eval_fn: Callable[..., Any], epoch_period: int | None = 1,
        batch_period: int | None = None, priority: float = -1000, event_handlers: Any = None,
    ) -> None:  # fmt: skip
        self.val_data = val_data
        self.eval_fn = eval_fn
        self.epoch_period = epoch_period
        self.batch_period = batch_period
        self.current_batch = self.current_epoch = 0
        self.priority = priority
        self.event_handlers = event_handlers

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.current_batch = self.current_epoch = 0

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.current_batch += 1
        self._evaluate_each(self.batch_period, self.current_batch, estimator)

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.current_epoch += 1
        self._evaluate_each(self.epoch_period, self.current_epoch, estimator)

    def _evaluate_each(self, period: int | None, done: int, estimator: Any) -> None:
        if period and done % period == 0:
            self.eval_fn(
                val_data=self.val_data, batch_axis=estimator.batch_axis, event_handlers=self.event_handlers
            )


class GradientUpdateHandler(BatchEnd):
    """Calls ``trainer.step`` after every batch.

    Args:
        priority: handlers run from the lowest to the highest; this one first.
    """

    def __init__(self, priority: float = -2000) -> None:
        self.priority = priority

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        losses = kwargs["loss"]
        shards = losses if isinstance(losses, list) else [losses]
        estimator.trainer.step(sum(shard.shape[0] for shard in shards))


class Goal:
    """Whether a monitored value got better, and the best so far.

    Args:
        monitor: the metric.
        mode: ``'min'``, ``'max'`` or ``'auto'``: by the metric's name.
        handler: what messages call the handler.
    """

    def __init__(self, monitor: EvalMetric, mode: str, handler: str) -> None:
        if mode not in MODES:
            warnings.warn(
                f"{handler} mode {mode} is unknown, fallback to auto mode: 'max' for accuracy and F1, 'min' otherwise",
                RuntimeWarning,
                stacklevel=3,
            )
            mode = "auto"
        if mode == "auto":
            name = str(monitor.get()[0])
            # MXNet means to do this, but a slip in its condition makes it maximize losses too.
            mode = "max" if any(word in name.lower() for word in ("acc", "f1")) else "min"
            chosen, other = ("greater", "less") if mode == "max" else ("less", "greater")
            warnings.warn(
                f"`{chosen}` operator will be used to determine if {name} has improved. Please specify the mode: "
                f"'min' for the `less` and 'max' for the `greater` operator; that also disables this warning "
                f"(the other choice is `{other}`).",
                stacklevel=3,
            )
        self.sign = 1.0 if mode == "max" else -1.0
        self.best = -self.sign * math.inf

    def reset(self, best: float | None = None) -> None:
        """Forget the best value, or start from a given one."""
        self.best = -self.sign * math.inf if best is None else best

    def improves(self, value: float, by: float = 0.0) -> bool:
        """True where ``value`` is better than the best by more than ``by``."""
        return self.sign * (value - self.best) > by


class EarlyStoppingHandler(TrainBegin, EpochEnd, TrainEnd):
    """Stops when a metric has not improved for some epochs.

    Args:
        monitor: one of the estimator's metrics.
        min_delta: smallest change that counts.
        patience: epochs to wait for an improvement.
        mode: ``'min'``, ``'max'`` or ``'auto'``.
        baseline: value to start the comparison from.
    """

    def __init__(
        self, monitor: EvalMetric, min_delta: float = 0, patience: int = 0, mode: str = "auto",
        baseline: float | None = None,
    ) -> None:  # fmt: skip
        if isinstance(monitor, CompositeEvalMetric):
            raise ArgumentError(
                "CompositeEvalMetric is not supported for EarlyStoppingHandler, please specify a simple metric instead."
            )
        if not isinstance(monitor, EvalMetric):
            raise ArgumentError(
                "Please provide one of the metric objects from estimator.train_metrics and estimator.val_metrics "
                f"as monitor, got {type(monitor).__name__}."
            )
        self.monitor = monitor
        self.baseline = baseline
        self.patience = patience
        self.min_delta = min_delta
        self._goal = Goal(monitor, mode, "EarlyStopping")
        self._start()

    @property
    def best(self) -> float:
        """The best value so far."""
        return self._goal.best

    def _start(self) -> None:
        self.wait = self.stopped_epoch = self.current_epoch = 0
        self.stop_training = False
        self._goal.reset(self.baseline)

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self._start()

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        name, value = self.monitor.get()
        if math.isnan(value):
            warn_of_idle(name)
        else:
            better = self._goal.improves(value, self.min_delta)
            self.wait = 0 if better else self.wait + 1
            if better:
                self._goal.best = value
            elif self.wait >= self.patience:
                self.stopped_epoch, self.stop_training = self.current_epoch, True
        self.current_epoch += 1
        return self.stop_training

    def train_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        if self.stopped_epoch > 0:
            # The spelling "Hanlder" is MXNet's: logs are parsed.
            estimator.logger.info(
                "[Epoch %d] EarlyStoppingHanlder: early stopping due to %s not improving",
                self.stopped_epoch,
                self.monitor.get()[0],
            )


def warn_of_idle(name: Any) -> None:
    """Warn that a monitored metric has no value."""
    warnings.warn(
        f"{name} is not updated, make sure you pass one of the metric objects estimator.train_metrics and "
        "estimator.val_metrics as monitor",
        RuntimeWarning,
        stacklevel=3,
    )
