"""The handler that tells how training goes. The lines have MXNet's form: programs parse them."""

from __future__ import annotations

import math
import time
from typing import Any

from gluonjax.gluon._errors import ArgumentError
from gluonjax.gluon.contrib.estimator._events import (
    BatchBegin,
    BatchEnd,
    EpochBegin,
    EpochEnd,
    TrainBegin,
    TrainEnd,
)
from gluonjax.gluon.contrib.estimator.utils import _check_metrics


class LoggingHandler(TrainBegin, TrainEnd, EpochBegin, EpochEnd, BatchBegin, BatchEnd):
    """Logs settings, metrics and times to ``estimator.logger``.

    Args:
        log_interval: ``'epoch'``, or a number of batches.
        metrics: what to log.
        priority: handlers run from the lowest to the highest; this one last.
    """

    def __init__(
        self, log_interval: int | str = "epoch", metrics: Any = None, priority: float = math.inf
    ) -> None:
        if not isinstance(log_interval, int) and log_interval != "epoch":
            raise ArgumentError(
                f"log_interval must be either an integer or string 'epoch', got {log_interval!r}"
            )
        self.metrics = _check_metrics(metrics)
        self.priority = priority
        self.log_interval = log_interval
        self._restart()

    def _restart(self) -> None:
        self.batch_index = self.current_epoch = self.processed_samples = 0
        self.log_interval_time = 0.0

    @property
    def _by_batch(self) -> bool:
        return self.log_interval != "epoch"

    def _values(self) -> str:
        return ", ".join("{}: {:.4f}".format(*metric.get()) for metric in self.metrics)

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.train_start = time.time()
        self._restart()
        trainer, log = estimator.trainer, estimator.logger.info
        log(
            "Training begin: using optimizer %s with current learning rate %.4f ",
            type(trainer.optimizer).__name__,
            trainer.learning_rate,
        )
        if estimator.max_epoch:
            log("Train for %d epochs.", estimator.max_epoch)
        else:
            log("Train for %d batches.", estimator.max_batch)

    def train_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        seconds = int(time.time() - self.train_start)
        text = f"Train finished using total {seconds}s with {self.current_epoch} epochs. {self._values()}"
        estimator.logger.info(text.rstrip(", "))

    def epoch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.epoch_start = time.time()
        # The estimator marks its metrics by name; a handler without training metrics logs a validation.
        if any("training" in metric.name for metric in self.metrics):
            rate = estimator.trainer.learning_rate
            estimator.logger.info(f"[Epoch {self.current_epoch}] Begin, current learning rate: {rate:.4f}")
        else:
            estimator.logger.info("Validation Begin")

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        seconds = time.time() - self.epoch_start
        text = f"[Epoch {self.current_epoch}] Finished in {seconds:.3f}s, {self._values()}"
        estimator.logger.info(text.rstrip(", "))
        self.current_epoch += 1
        self.batch_index = 0

    def batch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.batch_start = time.time()

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        if self._by_batch:
            self.log_interval_time += time.time() - self.batch_start
            self.processed_samples += kwargs["batch"][0].shape[0]
            if self.batch_index % int(self.log_interval) == 0:
                where = f"[Epoch {self.current_epoch}][Batch {self.batch_index}][Samples {self.processed_samples}]"
                text = f"{where} time/interval: {self.log_interval_time:.3f}s {self._values()}"
                estimator.logger.info(text.rstrip(", "))
                self.log_interval_time = 0.0
        self.batch_index += 1
