"""Callbacks for ``fit``: speed, checkpoints, progress, logs. The texts are MXNet's, since scripts parse
them."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from typing import Any

from gluonjax._checkpoint import save_checkpoint as save_checkpoint


def module_checkpoint(
    mod: Any, prefix: str, period: int = 1, save_optimizer_states: bool = False
) -> Callable[..., None]:
    """Return an epoch-end callback that saves a module every ``period`` epochs.

    Args:
        mod: the module.
        prefix: of the file names.
        period: in epochs.
        save_optimizer_states: also write ``prefix-EPOCH.states``.
    """
    every = max(1, int(period))

    def save(iter_no: int, sym: Any = None, arg: Any = None, aux: Any = None) -> None:
        epoch = iter_no + 1
        if epoch % every == 0:
            mod.save_checkpoint(prefix, epoch, save_optimizer_states)

    return save


def do_checkpoint(prefix: str, period: int = 1) -> Callable[..., None]:
    """Return an epoch-end callback that saves graph and parameters every ``period`` epochs."""
    every = max(1, int(period))

    def save(iter_no: int, sym: Any, arg: Any, aux: Any) -> None:
        epoch = iter_no + 1
        if epoch % every == 0:
            save_checkpoint(prefix, epoch, sym, arg, aux)

    return save


def log_train_metric(period: int, auto_reset: bool = False) -> Callable[[Any], None]:
    """Return a batch-end callback that logs the metric every ``period`` batches.

    Args:
        period: in batches.
        auto_reset: start the metric anew after every log.
    """

    def log(param: Any) -> None:
        metric = param.eval_metric
        if metric is None or param.nbatch % period:
            return
        for name, value in metric.get_name_value():
            logging.info("Iter[%d] Batch[%d] Train-%s=%f", param.epoch, param.nbatch, name, value)
        if auto_reset:
            metric.reset_local()

    return log


class Speedometer:
    """Logs samples per second and the metric every ``frequent`` batches.

    Args:
        batch_size: samples of a batch.
        frequent: batches between two logs.
        auto_reset: the metric covers the batches since the last log, not the epoch.
    """

    def __init__(self, batch_size: int, frequent: int = 50, auto_reset: bool = True) -> None:
        self.batch_size = batch_size
        self.frequent = frequent
        self.auto_reset = auto_reset
        self.init = False
        self.tic = 0.0
        self.last_count = 0

    def __call__(self, param: Any) -> None:
        count = param.nbatch
        # A smaller number than last time means a new epoch: the clock starts again.
        started = self.init and self.last_count <= count
        self.last_count = count
        if not started:
            self.init = True
            self.tic = time.time()
        elif count % self.frequent == 0:
            # Values first: reading the metric waits for the batches whose speed is logged.
            pairs = None if param.eval_metric is None else param.eval_metric.get_name_value()
            self._log(param, count, self._speed(), pairs)
            self.tic = time.time()

    def _speed(self) -> float:
        elapsed = time.time() - self.tic
        return self.frequent * self.batch_size / elapsed if elapsed else math.inf

    def _log(self, param: Any, count: int, speed: float, pairs: list[tuple[str, Any]] | None) -> None:
        if pairs is None:
            logging.info("Iter[%d] Batch [%d]\tSpeed: %.2f samples/sec", param.epoch, count, speed)
            return
        first = 0
        if self.auto_reset:
            param.eval_metric.reset_local()
            first = count - self.frequent
        text = "Epoch[%d] Batch [%d-%d]\tSpeed: %.2f samples/sec" + "\t%s=%f" * len(pairs)
        logging.info(text, param.epoch, first, count, speed, *(part for pair in pairs for part in pair))


class ProgressBar:
    """Logs a bar of how much of the epoch is done.

    Args:
        total: batches of an epoch.
        length: of the bar, in characters.
    """

    def __init__(self, total: int, length: int = 80) -> None:
        self.bar_len = length
        self.total = total

    def __call__(self, param: Any) -> None:
        done = param.nbatch / float(self.total)
        filled = round(self.bar_len * done)
        bar = "=" * filled + "-" * (self.bar_len - filled)
        logging.info("[%s] %s%s\r", bar, math.ceil(100 * done), "%")


class LogValidationMetricsCallback:
    """Logs the metric after an evaluation."""

    def __call__(self, param: Any) -> None:
        if param.eval_metric:
            for name, value in param.eval_metric.get_name_value():
                logging.info("Epoch[%d] Validation-%s=%f", param.epoch, name, value)
