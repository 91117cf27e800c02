"""Estimator: the training loop."""

from __future__ import annotations

import copy
import logging
import sys
import warnings
from typing import Any

from gluonjax import metric as metrics_module
from gluonjax.context import Context, cpu, gpu, num_gpus
from gluonjax.gluon._errors import ArgumentError
from gluonjax.gluon.contrib.estimator._events import MOMENTS, EventHandler
from gluonjax.gluon.contrib.estimator.batch_processor import BatchProcessor
from gluonjax.gluon.contrib.estimator.event_handler import (
    GradientUpdateHandler,
    LoggingHandler,
    MetricHandler,
    StoppingHandler,
    ValidationHandler,
    _check_event_handlers,
)
from gluonjax.gluon.contrib.estimator.utils import (
    _check_handler_metric_ref,
    _check_metrics,
    _suggest_metric_for_loss,
)
from gluonjax.gluon.data import DataLoader
from gluonjax.gluon.loss import Loss
from gluonjax.gluon.trainer import Trainer


class Estimator:
    """Trains and evaluates a network.

    Args:
        net: the network.
        loss: the loss.
        train_metrics, val_metrics: a metric or a list; default: what suits the loss, and the loss itself.
        initializer: for the parameters that are not initialized yet.
        trainer: default: SGD with a learning rate of 0.001.
        context: device or devices; default: the first GPU, or the CPU.
        val_net, val_loss: network and loss of validations; default: those of training.
        batch_processor: what is done with a batch.

    Attributes:
        logger: writes to the standard output; add handlers as to any ``logging.Logger``.
    """

    logger: Any = None

    def __init__(
        self, net: Any, loss: Any, train_metrics: Any = None, val_metrics: Any = None, initializer: Any = None,
        trainer: Any = None, context: Any = None, val_net: Any = None, val_loss: Any = None,
        batch_processor: Any = None,
    ) -> None:  # fmt: skip
        self.net = net
        self.val_net = net if val_net is None else val_net
        self.loss = _check_loss(loss)
        self.val_loss = self.loss if val_loss is None else _check_loss(val_loss)
        self._train_metrics = _check_metrics(train_metrics) or self._default_metrics()
        _mark(self._train_metrics, "training")
        self._val_metrics = _check_metrics(val_metrics) or [copy.deepcopy(one) for one in self._train_metrics]
        _mark(self._val_metrics, "validation", instead_of="training")
        self.logger = logging.Logger("Estimator", logging.INFO)
        self.logger.addHandler(logging.StreamHandler(sys.stdout))
        self.context = _check_context(context)
        self._initialize(initializer)
        self.trainer = self._check_trainer(trainer)
        self.batch_processor = _check_batch_processor(batch_processor)
        self.max_epoch: int | None = None
        self.max_batch: int | None = None
        self.batch_axis = 0

    # -- settings ------------------------------------------------------------------------------------------------

    def _default_metrics(self) -> list[Any]:
        suggested = _suggest_metric_for_loss(self.loss)
        loss = metrics_module.Loss(self.loss.name.rstrip("0123456789"))
        return [loss] if suggested is None else [suggested, loss]

    @property
    def train_metrics(self) -> list[Any]:
        """The metrics of training; their names start with 'training'."""
        return self._train_metrics

    @property
    def val_metrics(self) -> list[Any]:
        """The metrics of validations; their names start with 'validation'."""
        return self._val_metrics

    def _is_initialized(self) -> bool:
        return all(
            parameter._data is not None or parameter._deferred_init
            for parameter in self.net.collect_params().values()
        )

    def _initialize(self, initializer: Any) -> None:
        if not self._is_initialized():
            chosen = {} if initializer is None else {"init": initializer}
            with warnings.catch_warnings():
                # Parts that have values keep them: that is what fine-tuning wants.
                warnings.filterwarnings("ignore", message=".*is already initialized.*")
                self.net.initialize(ctx=self.context, **chosen)
        elif initializer is not None:
            warnings.warn(
                "Network already fully initialized, skipping initialization. To initialize it anew, call "
                "net.initialize(init=your_initializer, force_reinit=True).",
                stacklevel=3,
            )

    def _check_trainer(self, trainer: Any) -> Trainer:
        if trainer is None:
            warnings.warn(
                "No trainer specified, default SGD optimizer with learning rate 0.001 is used.", stacklevel=3
            )
            return Trainer(self.net.collect_params(), "sgd", {"learning_rate": 0.001})
        if not isinstance(trainer, Trainer):
            raise ArgumentError(
                f"Trainer must be a Gluon Trainer instance, refer to gluon.Trainer:{trainer}"
            )
        return trainer

    # -- running -------------------------------------------------------------------------------------------------

    def fit(
        self, train_data: Any, val_data: Any = None, epochs: int | None = None, event_handlers: Any = None,
        batches: int | None = None, batch_axis: int = 0,
    ) -> None:  # fmt: skip
        """Train for a number of epochs, or of batches.

        Args:
            train_data, val_data: data loaders that give ``(data, label)``.
            epochs, batches: how long; exactly one of them.
            event_handlers: one or several; the usual ones are added where they are missing.
            batch_axis: along which axis several devices share a batch.
        """
        _check_loader(train_data)
        if bool(epochs) == bool(batches):
            raise ArgumentError(
                "Fit only support exactly one type of iteration, train by number of epochs or number of batches."
                f"Please specify one and only one of: epochs or batches. Got epochs={epochs}, batches={batches}"
            )
        self.max_epoch, self.max_batch, self.batch_axis = epochs, batches, batch_axis
        begin, epoch_begin, batch_begin, batch_end, epoch_end, end = self._categorize_handlers(
            self._prepare_default_handlers(val_data, event_handlers)
        )
        for handler in begin:
            handler.train_begin(self)
        stopped = False
        while not stopped:
            for handler in epoch_begin:
                handler.epoch_begin(self)
            for batch in train_data:
                for handler in batch_begin:
                    handler.batch_begin(self, batch=batch)
                _, label, pred, loss = self.batch_processor.fit_batch(self, batch, batch_axis)
                # Every handler is called, also after one has asked to stop.
                if any(
                    [
                        handler.batch_end(self, batch=batch, pred=pred, label=label, loss=loss)
                        for handler in batch_end
                    ]
                ):
                    break
            stopped = any([handler.epoch_end(self) for handler in epoch_end])
        for handler in end:
            handler.train_end(self)

    def evaluate(self, val_data: Any, batch_axis: int = 0, event_handlers: Any = None) -> None:
        """Update ``val_metrics`` with one pass over a data loader.

        Args:
            val_data: data loader that gives ``(data, label)``.
            batch_axis: along which axis several devices share a batch.
            event_handlers: more handlers, for this pass.
        """
        _check_loader(val_data)
        for metric in self.val_metrics:
            metric.reset()
        _, epoch_begin, batch_begin, batch_end, epoch_end, _ = self._categorize_handlers(
            self._prepare_default_validation_handlers(event_handlers)
        )
        for handler in epoch_begin:
            handler.epoch_begin(self)
        for batch in val_data:
            for handler in batch_begin:
                handler.batch_begin(self, batch=batch)
            _, label, pred, loss = self.batch_processor.evaluate_batch(self, batch, batch_axis)
            for handler in batch_end:
                handler.batch_end(self, batch=batch, pred=pred, label=label, loss=loss)
        for handler in epoch_end:
            handler.epoch_end(self)

    # -- handlers ------------------------------------------------------------------------------------------------

    def _prepare_default_handlers(self, val_data: Any, event_handlers: Any) -> list[EventHandler]:
        given = _check_event_handlers(event_handlers)
        added: list[EventHandler] = [StoppingHandler(self.max_epoch, self.max_batch)]
        if _lacks(given, GradientUpdateHandler):
            added.append(GradientUpdateHandler())
        if _lacks(given, MetricHandler):
            added.append(MetricHandler(metrics=self.train_metrics))
        if val_data and _lacks(given, ValidationHandler):
            added.append(ValidationHandler(val_data=val_data, eval_fn=self.evaluate))
        if _lacks(given, LoggingHandler):
            added.append(LoggingHandler(metrics=self.train_metrics))
        return _combine(given, added, self.train_metrics + self.val_metrics)

    def _prepare_default_validation_handlers(self, event_handlers: Any) -> list[EventHandler]:
        given = _check_event_handlers(event_handlers)
        added: list[EventHandler] = []
        if _lacks(given, MetricHandler):
            added.append(MetricHandler(metrics=self.val_metrics))
        if _lacks(given, LoggingHandler):
            added.append(LoggingHandler(metrics=self.val_metrics))
        return _combine(given, added, self.val_metrics)

    def _categorize_handlers(self, event_handlers: list[EventHandler]) -> tuple[list[Any], ...]:
        """For each of the six moments, the handlers that take part in it."""
        return tuple([one for one in event_handlers if isinstance(one, moment)] for moment in MOMENTS)


def _lacks(handlers: list[EventHandler], kind: type) -> bool:
    return not any(isinstance(handler, kind) for handler in handlers)


def _combine(given: list[EventHandler], added: list[EventHandler], known: list[Any]) -> list[EventHandler]:
    """All handlers in the order of their priorities; they must share the known metrics."""
    handlers = given + added
    if given and added:
        for handler in handlers:
            _check_handler_metric_ref(handler, known)
    return sorted(handlers, key=lambda handler: getattr(handler, "priority", 0))


def _mark(metrics: list[Any], what: str, instead_of: str | None = None) -> None:
    """Put what a metric is for in front of its name; handlers tell them apart by that."""
    for metric in metrics:
        if instead_of is not None and instead_of in metric.name:
            metric.name = metric.name.replace(instead_of, what)
        else:
            metric.name = f"{what} {metric.name}"


def _check_loader(data: Any) -> None:
    if not isinstance(data, DataLoader):
        raise ArgumentError(
            "Estimator only support input as Gluon DataLoader. Alternatively, you can transform your DataIter or any "
            f"NDArray into Gluon DataLoader. Refer to gluon.data.DataLoader. Got {type(data).__name__}"
        )


def _check_loss(loss: Any) -> Loss:
    if not isinstance(loss, Loss):
        raise ArgumentError(f"loss must be a Loss, refer to gluon.loss.Loss:{loss}")
    return loss


def _check_batch_processor(processor: Any) -> Any:
    if processor is None:
        return BatchProcessor()
    if not all(callable(getattr(processor, name, None)) for name in ("fit_batch", "evaluate_batch")):
        raise ArgumentError(
            "Customized Batch Processor must contain fit_batch() and evaluate_batch() methods"
        )
    return processor


def _check_context(context: Any) -> list[Context]:
    count = num_gpus()
    if not context:
        if count > 1:
            warnings.warn(
                "You have multiple GPUs, gpu(0) will be used by default.To utilize all your GPUs, specify context as "
                "a list of gpus, e.g. context=[mx.gpu(0), mx.gpu(1)] ",
                stacklevel=3,
            )
        return [gpu(0) if count else cpu()]
    listed = [context] if isinstance(context, Context) else context
    if not isinstance(listed, list) or not all(isinstance(one, Context) for one in listed):
        raise ArgumentError(
            "context must be a Context or a list of Context, for example mx.cpu() or [mx.gpu(0), mx.gpu(1)], "
            f"refer to mxnet.Context:{context}"
        )
    for one in listed:
        if not one.device_type.startswith("cpu") and one.device_id >= count:
            available = ", ".join(["mx.cpu()", *(str(gpu(number)) for number in range(count))])
            raise ArgumentError(
                f"{one} is not available, please make sure your context is in one of: {available}"
            )
    return listed


__all__ = ["Estimator"]
