"""The handler that saves models while they are trained, and takes training up again."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

from gluonjax.gluon._errors import ArgumentError
from gluonjax.gluon.contrib.estimator._events import BatchEnd, EpochEnd, TrainBegin
from gluonjax.gluon.contrib.estimator._standard_handlers import Goal, warn_of_idle
from gluonjax.metric import EvalMetric


class CheckpointHandler(TrainBegin, BatchEnd, EpochEnd):
    """Saves graph, parameters and trainer states as ``<prefix>-epoch<e>batch<b>.params`` and ``.states``.

    Args:
        model_dir: folder; made where it is missing.
        model_prefix: start of all file names.
        monitor: metric that says which model is best.
        verbose: 1 logs every save.
        save_best: also keep the best model, as ``<prefix>-best``.
        mode: ``'min'``, ``'max'`` or ``'auto'``: what is better.
        epoch_period, batch_period: how often to save; None for never.
        max_checkpoints: older ones are deleted.
        resume_from_checkpoint: load the newest one of the folder, and train only what is left.
    """

    def __init__(
        self, model_dir: str, model_prefix: str = "model", monitor: EvalMetric | None = None, verbose: int = 0,
        save_best: bool = False, mode: str = "auto", epoch_period: int | None = 1, batch_period: int | None = None,
        max_checkpoints: int = 5, resume_from_checkpoint: bool = False,
    ) -> None:  # fmt: skip
        Path(model_dir).mkdir(parents=True, exist_ok=True)
        if save_best and not isinstance(monitor, EvalMetric):
            raise ArgumentError(
                "To save best model only, please provide one of the metric objects from estimator.train_metrics and "
                "estimator.val_metrics as monitor."
            )
        self.model_dir = model_dir
        self.model_prefix = model_prefix
        self.monitor = monitor
        self.verbose = verbose
        self.save_best = save_best
        self.epoch_period = epoch_period
        self.batch_period = batch_period
        self.current_batch = self.current_epoch = 0
        self.max_checkpoints = max_checkpoints
        self.resume_from_checkpoint = resume_from_checkpoint
        self.saved_checkpoints: list[str] = []
        self.trained_epoch = self.trained_batch = -1
        self._goal = Goal(monitor, mode, "ModelCheckpoint") if save_best and monitor is not None else None

    # -- events --------------------------------------------------------------------------------------------------

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.current_epoch = self.current_batch = 0
        if self._goal is not None:
            self._goal.reset()
        if self.resume_from_checkpoint:
            by_batch, by_epoch = bool(estimator.max_batch), bool(estimator.max_epoch)
            if (by_batch and (self.epoch_period or not self.batch_period)) or (
                by_epoch and (self.batch_period or not self.epoch_period)
            ):
                raise ArgumentError(
                    "To use resume from checkpoint, you must only specify the same type of period you used for "
                    "training: a training by epochs saves by epochs only (batch_period=None), one by batches by "
                    "batches only (epoch_period=None)."
                )
            self._resume(estimator)

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        if self.current_batch == 0:
            self._save_symbol(estimator)
        if self.batch_period and (self.current_batch + 1) % self.batch_period == 0:
            self._save_checkpoint(estimator)
        self.current_batch += 1

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        if self.epoch_period and (self.current_epoch + 1) % self.epoch_period == 0:
            self._save_checkpoint(estimator)
        self.current_epoch += 1

    # -- saving --------------------------------------------------------------------------------------------------

    def _file(self, name: str) -> Path:
        return Path(self.model_dir) / name

    def _save_symbol(self, estimator: Any) -> None:
        file = self._file(f"{self.model_prefix}-symbol.json")
        graph = getattr(estimator.net, "_cached_graph", None)
        if graph:
            graph[1].save(str(file))
        else:
            estimator.logger.info(
                "Model architecture(symbol file) is not saved, please use HybridBlock to construct your model, and "
                "call net.hybridize() before passing to Estimator in order to save model architecture as %s.",
                file,
            )

    def _save_checkpoint(self, estimator: Any) -> None:
        epoch, batch = self.current_epoch, self.current_batch
        if self.resume_from_checkpoint:
            # At the end of an epoch the batch counter already points behind the last batch.
            epoch += self.trained_epoch + 1
            batch += self.trained_batch + (0 if estimator.max_epoch else 1)
        name = f"{self.model_prefix}-epoch{epoch}batch{batch}"
        self._write(estimator, name)
        self.saved_checkpoints.append(name)
        while len(self.saved_checkpoints) > self.max_checkpoints:
            oldest = self.saved_checkpoints.pop(0)
            for suffix in (".params", ".states"):
                self._file(oldest + suffix).unlink(missing_ok=True)
        self._tell(
            estimator,
            f"trained total {self.current_batch + 1} batches, saving model at {self.model_dir} with prefix: {name}",
        )
        if self._goal is not None and self.monitor is not None:
            self._save_if_best(estimator, self._goal, *self.monitor.get())

    def _save_if_best(self, estimator: Any, goal: Goal, metric: Any, value: float) -> None:
        if math.isnan(value):
            warn_of_idle(metric)
        elif goal.improves(value):
            name = f"{self.model_prefix}-best"
            self._write(estimator, name)
            self._tell(
                estimator,
                f"{metric} improved from {goal.best:0.5f} to {value:0.5f}, updating best model at "
                f"{self.model_dir} with prefix: {name}",
            )
            goal.best = value
        else:
            self._tell(
                estimator, f"{metric} did not improve from {goal.best:0.5f}, skipping updating best model"
            )

    def _write(self, estimator: Any, name: str) -> None:
        estimator.net.save_parameters(str(self._file(f"{name}.params")))
        estimator.trainer.save_states(str(self._file(f"{name}.states")))

    def _tell(self, estimator: Any, text: str) -> None:
        if self.verbose > 0:
            estimator.logger.info(f"[Epoch {self.current_epoch}] CheckpointHandler: {text}")

    # -- resuming ------------------------------------------------------------------------------------------------

    def _found(self) -> list[tuple[int, int]]:
        """(epoch, batch) of all checkpoints in the folder."""
        pattern = re.compile(re.escape(self.model_prefix) + r"-epoch(\d+)batch(\d+)\.params")
        matches = (pattern.fullmatch(file.name) for file in Path(self.model_dir).iterdir())
        return sorted((int(match[1]), int(match[2])) for match in matches if match)

    def _resume(self, estimator: Any) -> None:
        found = self._found()
        self.saved_checkpoints = [f"{self.model_prefix}-epoch{epoch}batch{batch}" for epoch, batch in found]
        if not found:
            self.trained_epoch = self.trained_batch = -1
            wanted = f"{estimator.max_batch} batches" if estimator.max_batch else f"{estimator.max_epoch} epochs"
            estimator.logger.info(
                f"CheckpointHandler: No checkpoint found, training from scratch for {wanted}"
            )
            return
        self.trained_epoch, self.trained_batch = found[-1]
        rest = []
        for unit, done in (("epoch", self.trained_epoch), ("batch", self.trained_batch)):
            wanted = getattr(estimator, f"max_{unit}")
            if wanted:
                if done >= wanted - 1:
                    raise ArgumentError(
                        f"Found checkpoint with maximum number of {unit} {wanted} reached, please specify "
                        "resume_from_checkpoint=False (default value) if you wan to train from scratch."
                    )
                setattr(estimator, f"max_{unit}", wanted - done - 1)
                rest.append(f"{wanted - done - 1} {unit}{'s' if unit == 'epoch' else 'es'}")
        newest = self.saved_checkpoints[-1]
        files = [self._file(newest + suffix) for suffix in (".params", ".states")]
        for file in files:
            if not file.exists():
                raise ArgumentError(f"Failed to load checkpoint, {file} does not exist")
        estimator.net.load_parameters(str(files[0]), ctx=estimator.context)
        estimator.trainer.load_states(str(files[1]))
        estimator.logger.warning(
            f"CheckpointHandler: Checkpoint resumed from epoch {self.trained_epoch} batch {self.trained_batch}, "
            f"continue to train for {' '.join(rest)} "
        )
