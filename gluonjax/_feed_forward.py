"""FeedForward: the oldest way to train a symbol, kept for old scripts. ``Module`` does the work."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from gluonjax import io
from gluonjax import metric as metrics
from gluonjax import ndarray as nd
from gluonjax._base.devices import Context
from gluonjax._base.errors import ArgumentTypeError, MXNetError
from gluonjax._checkpoint import BatchEndParam, load_checkpoint, save_checkpoint
from gluonjax.callback import LogValidationMetricsCallback
from gluonjax.context import cpu
from gluonjax.initializer import Uniform

Arrays = nd.NDArray | np.ndarray


class ModelArgumentError(MXNetError, ValueError, AssertionError):
    """An argument of a model's method has a value that it cannot take."""


def _every(callbacks: Any) -> list[Callable[..., Any]]:
    if callbacks is None:
        return []
    return list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]


class FeedForward:
    """A symbol with its parameters that is fitted to arrays or iterators.

    Args:
        symbol: the network with its loss, or a function from a bucket key to it.
        ctx: a context or a list of them.
        num_epoch: how many epochs ``fit`` trains.
        epoch_size: batches in an epoch; the whole iterator if None.
        optimizer: a name or an Optimizer.
        initializer: for parameters without a value in ``arg_params``.
        numpy_batch_size: batch size for NumPy input.
        arg_params, aux_params: values of parameters and auxiliary states.
        allow_extra_params: accepted; values that the symbol does not have are not looked at.
        begin_epoch: the number of the first epoch.
        kwargs: parameters of the optimizer.
    """

    def __init__(
        self,
        symbol: Any,
        ctx: Any = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: Any = "sgd",
        initializer: Any = Uniform(0.01),  # noqa: B008 - MXNet's signature
        numpy_batch_size: int = 128,
        arg_params: Any = None,
        aux_params: Any = None,
        allow_extra_params: bool = False,
        begin_epoch: int = 0,
        **kwargs: Any,
    ) -> None:
        warnings.warn(
            "mxnet.model.FeedForward has been deprecated. Please use mxnet.mod.Module instead.",
            DeprecationWarning,
            stacklevel=2,
        )
        generates = callable(symbol) and not hasattr(symbol, "list_arguments")
        self.symbol = None if generates else symbol
        self.sym_gen = symbol if generates else None
        self.arg_params, self.aux_params = arg_params, aux_params
        self.allow_extra_params = allow_extra_params
        contexts = [cpu()] if ctx is None else [ctx] if isinstance(ctx, Context) else list(ctx)
        self.ctx = contexts
        self.num_epoch, self.epoch_size, self.begin_epoch = num_epoch, epoch_size, begin_epoch
        self.kwargs = kwargs
        self.optimizer = optimizer
        self.initializer = initializer
        self.numpy_batch_size = numpy_batch_size

    # -- input -----------------------------------------------------------------------------------------------

    def _iterator(self, data: Any, label: Any, training: bool) -> Any:
        """An iterator over arrays; an iterator passes through."""
        if not isinstance(data, (np.ndarray, nd.NDArray)):
            if not isinstance(data, io.DataIter):
                raise ArgumentTypeError(f"X must be DataIter, NDArray or numpy.ndarray, got {type(data).__name__}")
            return data
        if label is None:
            if training:
                raise ModelArgumentError("y must be specified when X is numpy.ndarray")
            label = np.zeros(data.shape[0], np.float32)
        if not isinstance(label, (np.ndarray, nd.NDArray)):
            raise ArgumentTypeError(f"y must be ndarray when X is numpy.ndarray, got {type(label).__name__}")
        if data.shape[0] != label.shape[0]:
            raise ModelArgumentError(
                f"The numbers of data points and labels not equal: {data.shape[0]} and {label.shape[0]}"
            )
        if label.ndim == 2 and label.shape[1] == 1:
            label = label.reshape((-1,))
        if label.ndim != 1:
            raise ModelArgumentError(f"Label must be 1D or 2D (with 2nd dimension being 1), got shape {label.shape}")
        size = min(data.shape[0], self.numpy_batch_size)
        if training:
            return io.NDArrayIter(data, label, size, shuffle=True, last_batch_handle="roll_over")
        return io.NDArrayIter(data, label, size, shuffle=False)

    def _eval_iterator(self, eval_data: Any) -> Any:
        if eval_data is None or isinstance(eval_data, io.DataIter):
            return eval_data
        if not isinstance(eval_data, (tuple, list)) or len(eval_data) != 2:
            raise ArgumentTypeError(
                "Eval data must be DataIter, or NDArray/numpy.ndarray/list pair (i.e. tuple/list of length 2), got "
                f"{type(eval_data).__name__}"
            )
        data, label = eval_data
        if data is None:
            raise ModelArgumentError("Eval data is NONE")
        if isinstance(data, io.DataIter) and label is None:
            return data
        data, label = (np.array(one) if isinstance(one, list) else one for one in (data, label))
        return self._iterator(data, label, training=True)

    def _module(self, data: Any, training: bool) -> Any:
        """A bound module for an iterator, with this model's parameters."""
        from gluonjax.module import BucketingModule, Module

        data_names = [one[0] for one in data.provide_data]
        generate = self.sym_gen
        symbol: Any = self.symbol if generate is None else generate(data.default_bucket_key)
        if training:
            label_names = [one[0] for one in data.provide_label or ()]
        else:
            known = {*data_names, *(self.arg_params or ())}
            label_names = [name for name in symbol.list_arguments() if name not in known]
        module: Any
        if generate is None:
            module = Module(symbol, data_names, label_names, context=self.ctx)
        else:
            module = BucketingModule(
                lambda key: (generate(key), data_names, label_names), data.default_bucket_key, context=self.ctx
            )
        labels = [one for one in data.provide_label or () if one[0] in label_names]
        module.bind(data.provide_data, labels or None, for_training=training)
        module.init_params(self.initializer, self.arg_params, self.aux_params, allow_missing=True)
        return module

    def _trained_module(self, data: Any, call: str) -> Any:
        if self.arg_params is None:
            raise ModelArgumentError(f"{call}: the model has no parameters; call fit() first or give arg_params")
        return self._module(data, training=False)

    # -- use -------------------------------------------------------------------------------------------------

    def predict(self, X: Any, num_batch: int | None = None, return_data: bool = False, reset: bool = True) -> Any:
        """Outputs as NumPy arrays: one array, or a list where the symbol has several outputs.

        Args:
            X: arrays or an iterator.
            num_batch: stop after so many batches.
            return_data: return ``(outputs, data, labels)``.
            reset: start the iterator anew.
        """
        data = self._iterator(X, None, training=False)
        module = self._trained_module(data, "predict")
        columns: list[list[list[np.ndarray]]] = [[], [], []]
        for outputs, _, batch in module.iter_predict(data, num_batch=num_batch, reset=reset):
            rows = data.batch_size - (batch.pad or 0)
            for column, arrays in zip(columns, (outputs, batch.data, batch.label or [])):
                column.append([array[0:rows].asnumpy() for array in arrays])
        joined = [[np.concatenate(parts) for parts in zip(*column)] for column in columns]
        results = [arrays[0] if len(arrays) == 1 else arrays for arrays in joined]
        return tuple(results) if return_data else results[0]

    def score(
        self,
        X: Any,
        eval_metric: Any = "acc",
        num_batch: int | None = None,
        batch_end_callback: Any = None,
        reset: bool = True,
    ) -> Any:
        """The value of a metric over an iterator."""
        data = self._iterator(X, None, training=False)
        metric = eval_metric if isinstance(eval_metric, metrics.EvalMetric) else metrics.create(eval_metric)
        module = self._trained_module(data, "score")
        module.score(data, metric, num_batch=num_batch, batch_end_callback=batch_end_callback, reset=reset)
        return metric.get()[1]

    def fit(
        self,
        X: Any,
        y: Any = None,
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: Any = "local",
        logger: Any = None,
        work_load_list: Any = None,
        monitor: Any = None,
        eval_end_callback: Any = LogValidationMetricsCallback(),  # noqa: B008 - MXNet's signature
        eval_batch_end_callback: Any = None,
    ) -> None:
        """Train.

        Args:
            X, y: arrays, or an iterator as X.
            eval_data: an iterator or a pair of arrays, evaluated after each epoch.
        """
        if self.num_epoch is None:
            raise ModelArgumentError("fit: give num_epoch to the constructor")
        logger = logging if logger is None else logger
        data = self._iterator(X, y, training=True)
        evaluation = self._eval_iterator(eval_data)
        module = self._module(data, training=True)
        self.arg_params, self.aux_params = module.get_params()
        if monitor is not None:
            module.install_monitor(monitor)
        optimizer = self.optimizer
        parameters = dict(self.kwargs)
        if isinstance(optimizer, str):
            parameters.setdefault("rescale_grad", 1.0 / data.batch_size)
        module.init_optimizer(kvstore, optimizer, parameters)
        metric = eval_metric if isinstance(eval_metric, metrics.EvalMetric) else metrics.create(eval_metric)
        logger.info("Start training with %s", self.ctx)
        data.reset()
        for epoch in range(self.begin_epoch, self.num_epoch):
            started = time.time()
            metric.reset()
            self._epoch(module, data, metric, epoch, monitor, _every(batch_end_callback), logger)
            logger.info("Epoch[%d] Time cost=%.3f", epoch, time.time() - started)
            self.arg_params, self.aux_params = module.get_params()
            symbol = self.symbol if self.sym_gen is None else module.symbol
            for callback in _every(epoch_end_callback):
                callback(epoch, symbol, self.arg_params, self.aux_params)
            if evaluation is not None:
                module.score(
                    evaluation,
                    metric,
                    batch_end_callback=eval_batch_end_callback,
                    score_end_callback=eval_end_callback,
                    epoch=epoch,
                )
                evaluation.reset()

    def _epoch(
        self, module: Any, data: Any, metric: Any, epoch: int, monitor: Any, callbacks: list[Any], logger: Any
    ) -> None:
        number = 0
        while True:
            ended = True
            for data_batch in data:
                if monitor is not None:
                    monitor.tic()
                module.forward_backward(data_batch)
                module.update()
                if monitor is not None:
                    monitor.toc_print()
                module.update_metric(metric, data_batch.label)
                number += 1  # batches count from 1 here, from 0 in Module.fit
                for callback in callbacks:
                    callback(BatchEndParam(epoch, number, metric, locals()))
                if self.epoch_size is not None and number >= self.epoch_size:
                    ended = False
                    break
            if ended:
                logger.info("Epoch[%d] Resetting Data Iterator", epoch)
                data.reset()
            if self.epoch_size is None or number >= self.epoch_size or (ended and number == 0):
                return

    # -- files -----------------------------------------------------------------------------------------------

    def save(self, prefix: str, epoch: int | None = None, remove_amp_cast: bool = True) -> None:
        """Write ``<prefix>-symbol.json`` and ``<prefix>-<epoch>.params``; the epoch is ``num_epoch`` by default."""
        number = self.num_epoch if epoch is None else epoch
        if number is None:
            raise ModelArgumentError("save: give an epoch, for the model has no num_epoch")
        save_checkpoint(
            prefix, number, self.symbol, self.arg_params or {}, self.aux_params or {}, remove_amp_cast=remove_amp_cast
        )

    @staticmethod
    def load(prefix: str, epoch: int, ctx: Any = None, **kwargs: Any) -> FeedForward:
        """A model from a checkpoint.

        Args:
            kwargs: for the constructor.
        """
        symbol, args, auxs = load_checkpoint(prefix, epoch)
        return FeedForward(symbol, ctx=ctx, arg_params=args, aux_params=auxs, begin_epoch=epoch, **kwargs)

    @staticmethod
    def create(
        symbol: Any,
        X: Any,
        y: Any = None,
        ctx: Any = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: Any = "sgd",
        initializer: Any = Uniform(0.01),  # noqa: B008 - MXNet's signature
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: Any = "local",
        logger: Any = None,
        work_load_list: Any = None,
        eval_end_callback: Any = LogValidationMetricsCallback(),  # noqa: B008 - MXNet's signature
        eval_batch_end_callback: Any = None,
        **kwargs: Any,
    ) -> FeedForward:
        """A model that has been fitted; see the constructor and ``fit``."""
        model = FeedForward(
            symbol,
            ctx=ctx,
            num_epoch=num_epoch,
            epoch_size=epoch_size,
            optimizer=optimizer,
            initializer=initializer,
            **kwargs,
        )
        model.fit(
            X, y, eval_data=eval_data, eval_metric=eval_metric, kvstore=kvstore, logger=logger,
            work_load_list=work_load_list, epoch_end_callback=epoch_end_callback,
            batch_end_callback=batch_end_callback, eval_end_callback=eval_end_callback,
            eval_batch_end_callback=eval_batch_end_callback,
        )
        return model
