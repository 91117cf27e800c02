"""BaseModule: what every module has on top of bind, forward, backward and update — fit, score, predict."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from gluonjax import metric as metrics
from gluonjax import ndarray as nd
from gluonjax.context import cpu as cpu
from gluonjax.initializer import Uniform
from gluonjax.io import DataBatch, DataDesc, DataIter
from gluonjax.model import BatchEndParam
from gluonjax.module._errors import ModuleArgumentError, NameMismatchError, missing, require


def as_list(value: Any) -> list[Any]:
    """The value as a list: itself, or a list of one."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


def check_input_names(symbol: Any, names: Sequence[str], typename: str, throw: bool) -> None:
    """Complain about data, label, state or fixed parameter names that the symbol does not have."""
    arguments = symbol.list_arguments()
    for name in names:
        if name in arguments:
            continue
        suffixes = ("_weight", "_bias", "_gamma", "_beta")
        candidates = [one for one in arguments if not one.endswith(suffixes)]
        message = (
            f"You created Module with Module(..., {typename}_names={list(names)}) but input with name '{name}' is "
            "not found in symbol.list_arguments(). Did you mean one of:\n\t" + "\n\t".join(candidates)
        )
        if throw:
            raise NameMismatchError(message)
        warnings.warn(message, stacklevel=4)


def parse_descriptions(
    data_names: Sequence[str], label_names: Sequence[str], data_shapes: Any, label_shapes: Any
) -> tuple[list[DataDesc], list[DataDesc] | None]:
    """Data and label descriptions as DataDesc lists, checked against the module's names."""
    data = [one if isinstance(one, DataDesc) else DataDesc(*one) for one in data_shapes]
    _check_names(data_names, data, "data", True)
    if label_shapes is None:
        _check_names(label_names, [], "label", False)
        return data, None
    labels = [one if isinstance(one, DataDesc) else DataDesc(*one) for one in label_shapes]
    _check_names(label_names, labels, "label", False)
    return data, labels


def _check_names(names: Sequence[str], descriptions: Sequence[DataDesc], kind: str, throw: bool) -> None:
    actual = [one[0] for one in descriptions]
    if sorted(names) != sorted(actual):
        message = (
            f"Data provided by {kind}_shapes don't match names specified by {kind}_names ({list(descriptions)} vs. "
            f"{list(names)})"
        )
        if throw:
            raise NameMismatchError(message)
        warnings.warn(message, stacklevel=4)


class BaseModule:
    """Base class of modules: the intermediate steps are the subclass's, training and prediction loops are here."""

    def __init__(self, logger: Any = logging) -> None:
        self.logger = logger
        self.binded = self.for_training = self.inputs_need_grad = False
        self.params_initialized = self.optimizer_initialized = False
        self._symbol: Any = None
        self._total_exec_bytes = 0

    # -- loops ----------------------------------------------------------------------------------------------

    def forward_backward(self, data_batch: Any) -> None:
        """Forward in training mode, then backward."""
        self.forward(data_batch, is_train=True)
        self.backward()

    def score(
        self,
        eval_data: Any,
        eval_metric: Any,
        num_batch: int | None = None,
        batch_end_callback: Any = None,
        score_end_callback: Any = None,
        reset: bool = True,
        epoch: int = 0,
        sparse_row_id_fn: Any = None,
    ) -> list[tuple[str, float]]:
        """Evaluate a metric over an iterator and return its names and values."""
        require(self.binded and self.params_initialized, "score", "bind() and init_params()")
        if reset:
            eval_data.reset()
        metric = _as_metric(eval_metric)
        metric.reset()
        seen = 0
        for number, eval_batch in enumerate(eval_data):  # callbacks see the names of locals, which are MXNet's
            if number == num_batch:
                break
            self.prepare(eval_batch, sparse_row_id_fn=sparse_row_id_fn)
            self.forward(eval_batch, is_train=False)
            self._update_metric_of(metric, eval_batch)
            _call_all(batch_end_callback, BatchEndParam(epoch, number, metric, locals()))
            seen += 1
        _call_all(score_end_callback, BatchEndParam(epoch, seen, metric, locals()))
        return metric.get_name_value()

    def _update_metric_of(self, metric: Any, batch: Any) -> None:
        if isinstance(batch, list):
            self.update_metric(metric, [one.label for one in batch], pre_sliced=True)
        else:
            self.update_metric(metric, batch.label)

    def iter_predict(
        self, eval_data: Any, num_batch: int | None = None, reset: bool = True, sparse_row_id_fn: Any = None
    ) -> Iterator[tuple[list[Any], int, Any]]:
        """Yield ``(outputs without padding, batch number, batch)``."""
        require(self.binded and self.params_initialized, "iter_predict", "bind() and init_params()")
        if reset:
            eval_data.reset()
        for number, batch in enumerate(eval_data):
            if number == num_batch:
                break
            yield self._predict_batch(batch, sparse_row_id_fn), number, batch

    def _predict_batch(self, batch: Any, sparse_row_id_fn: Any) -> list[Any]:
        self.prepare(batch, sparse_row_id_fn=sparse_row_id_fn)
        self.forward(batch, is_train=False)
        pad = batch.pad or 0
        return [out[0 : out.shape[0] - pad] for out in self.get_outputs()]

    def predict(
        self,
        eval_data: Any,
        num_batch: int | None = None,
        merge_batches: bool = True,
        reset: bool = True,
        always_output_list: bool = False,
        sparse_row_id_fn: Any = None,
    ) -> Any:
        """Outputs for every batch, joined along the first axis unless ``merge_batches`` is False.

        Args:
            eval_data: an iterator, or an NDArray or numpy array of one batch.
        """
        require(self.binded and self.params_initialized, "predict", "bind() and init_params()")
        if hasattr(eval_data, "shape"):
            array = eval_data if isinstance(eval_data, nd.NDArray) else nd.array(eval_data)
            self.forward(DataBatch([array]), is_train=False)
            return self.get_outputs()[0]
        if not isinstance(eval_data, DataIter):
            raise NameMismatchError(f"eval_data must be of type NDArray or DataIter, got {type(eval_data).__name__}")
        collected = [
            [out.copy() for out in outputs]
            for outputs, _, _ in self.iter_predict(eval_data, num_batch, reset, sparse_row_id_fn)
        ]
        if not collected or not merge_batches:
            return collected
        counts = {len(outputs) for outputs in collected}
        if len(counts) != 1:
            raise NameMismatchError(
                "Cannot merge batches, as num of outputs is not the same in mini-batches. Maybe bucketing is used?"
            )
        merged = [nd.concatenate(list(parts)) for parts in zip(*collected)]
        return merged[0] if len(merged) == 1 and not always_output_list else merged

    def fit(
        self,
        train_data: Any,
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        eval_end_callback: Any = None,
        eval_batch_end_callback: Any = None,
        initializer: Any = Uniform(0.01),  # noqa: B008 - MXNet's signature
        arg_params: Any = None,
        aux_params: Any = None,
        allow_missing: bool = False,
        force_rebind: bool = False,
        force_init: bool = False,
        begin_epoch: int = 0,
        num_epoch: int | None = None,
        validation_metric: Any = None,
        monitor: Any = None,
        sparse_row_id_fn: Any = None,
    ) -> None:
        """Train for ``num_epoch`` epochs.

        Args:
            train_data, eval_data: iterators.
            eval_metric: name, EvalMetric or list; accumulates on the device, read by callbacks and at epoch ends.
            optimizer: a name with ``optimizer_params``, an Optimizer, or an optax GradientTransformation.
            begin_epoch: where to go on; epochs are numbered from here.
        """
        if num_epoch is None:
            raise ModuleArgumentError("please specify number of epochs: fit(..., num_epoch=N)")
        self.bind(
            data_shapes=train_data.provide_data,
            label_shapes=train_data.provide_label,
            for_training=True,
            force_rebind=force_rebind,
        )
        if monitor is not None:
            self.install_monitor(monitor)
        self.init_params(initializer, arg_params, aux_params, allow_missing, force_init)
        self.init_optimizer(kvstore, optimizer, optimizer_params)
        metric = _as_metric(eval_metric)
        validation = metric if validation_metric is None else _as_metric(validation_metric)
        for epoch in range(begin_epoch, num_epoch):
            started = time.time()
            self._train_epoch(train_data, metric, epoch, monitor, batch_end_callback, sparse_row_id_fn)
            for name, value in metric.get_global_name_value():
                self.logger.info("Epoch[%d] Train-%s=%f", epoch, name, value)
            self.logger.info("Epoch[%d] Time cost=%.3f", epoch, time.time() - started)
            current_args, current_aux = self.get_params()
            self.set_params(current_args, current_aux)
            for callback in as_list(epoch_end_callback) if epoch_end_callback is not None else ():
                callback(epoch, self.symbol, current_args, current_aux)
            if eval_data is not None:
                scores = self.score(
                    eval_data,
                    validation,
                    score_end_callback=eval_end_callback,
                    batch_end_callback=eval_batch_end_callback,
                    epoch=epoch,
                )
                for name, value in scores:
                    self.logger.info("Epoch[%d] Validation-%s=%f", epoch, name, value)
            train_data.reset()

    def _train_epoch(
        self, train_data: Any, metric: Any, epoch: int, monitor: Any, batch_end_callback: Any, sparse_row_id_fn: Any
    ) -> None:
        metric.reset()
        batches = iter(train_data)
        data_batch = next(batches, None)
        number = 0
        while data_batch is not None:
            if monitor is not None:
                monitor.tic()
            self.forward_backward(data_batch)
            self.update()
            self._update_metric_of(metric, data_batch)
            next_data_batch = next(batches, None)
            if next_data_batch is not None:
                self.prepare(next_data_batch, sparse_row_id_fn=sparse_row_id_fn)
            if monitor is not None:
                monitor.toc_print()
            _call_all(batch_end_callback, BatchEndParam(epoch, number, metric, locals()))
            data_batch = next_data_batch
            number += 1

    # -- files ----------------------------------------------------------------------------------------------

    def save_params(self, fname: str) -> None:
        """Write parameters and auxiliary states to a .params file (``arg:`` and ``aux:`` names)."""
        arg_params, aux_params = self.get_params()
        arrays = {f"arg:{name}": value for name, value in arg_params.items()}
        arrays.update({f"aux:{name}": value for name, value in aux_params.items()})
        nd.save(fname, arrays)

    def load_params(self, fname: str) -> None:
        """Read what ``save_params`` wrote."""
        groups: dict[str, dict[str, Any]] = {"arg": {}, "aux": {}}
        for key, value in nd.load(fname).items():
            kind, _, name = key.partition(":")
            if kind not in groups or not name:
                raise NameMismatchError(f"Invalid param file {fname}: key '{key}' starts neither with arg: nor aux:")
            groups[kind][name] = value
        self.set_params(groups["arg"], groups["aux"])

    def set_params(
        self,
        arg_params: Any,
        aux_params: Any,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Assign parameter and auxiliary state values."""
        self.init_params(
            initializer=None,
            arg_params=arg_params,
            aux_params=aux_params,
            allow_missing=allow_missing,
            force_init=force_init,
            allow_extra=allow_extra,
        )

    # -- what subclasses provide ----------------------------------------------------------------------------

    @property
    def data_names(self) -> Any:
        """Names of the data inputs."""
        missing(self, "data_names")

    @property
    def output_names(self) -> Any:
        """Names of the outputs."""
        missing(self, "output_names")

    @property
    def data_shapes(self) -> Any:
        """Descriptions of the data inputs."""
        missing(self, "data_shapes")

    @property
    def label_shapes(self) -> Any:
        """Descriptions of the label inputs."""
        missing(self, "label_shapes")

    @property
    def output_shapes(self) -> Any:
        """Names and shapes of the outputs."""
        missing(self, "output_shapes")

    def get_params(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Copies of the parameters and of the auxiliary states."""
        missing(self, "get_params()")

    def init_params(
        self,
        initializer: Any = Uniform(0.01),  # noqa: B008 - MXNet's signature
        arg_params: Any = None,
        aux_params: Any = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Give parameters and auxiliary states their values."""
        missing(self, "init_params()")

    def bind(
        self,
        data_shapes: Any,
        label_shapes: Any = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Any = None,
        grad_req: Any = "write",
    ) -> None:
        """Get ready for inputs of given shapes."""
        missing(self, "bind()")

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Make the optimizer."""
        missing(self, "init_optimizer()")

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Compute the outputs of a batch."""
        missing(self, "forward()")

    def backward(self, out_grads: Any = None) -> None:
        """Compute the gradients of the last forward."""
        missing(self, "backward()")

    def update(self) -> None:
        """Update the parameters with the gradients of the last backward."""
        missing(self, "update()")

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """The outputs of the last forward."""
        missing(self, "get_outputs()")

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """The gradients of the data inputs."""
        missing(self, "get_input_grads()")

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Let a metric see labels and outputs."""
        missing(self, "update_metric()")

    def install_monitor(self, mon: Any) -> None:
        """Watch the computation with a Monitor."""
        missing(self, "install_monitor()")

    def prepare(self, data_batch: Any, sparse_row_id_fn: Any = None) -> None:
        """Get ready for a batch that will be processed next."""

    @property
    def symbol(self) -> Any:
        """The module's symbol."""
        return self._symbol

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """The values of the state inputs; none by default."""
        require(self.binded and self.params_initialized, "get_states", "bind() and init_params()")
        return []

    def set_states(self, states: Any = None, value: Any = None) -> None:
        """Set the values of the state inputs; there are none by default."""
        require(self.binded and self.params_initialized, "set_states", "bind() and init_params()")


def _as_metric(metric: Any) -> metrics.EvalMetric:
    return metric if isinstance(metric, metrics.EvalMetric) else metrics.create(metric)


def _call_all(callbacks: Any, parameters: BatchEndParam) -> None:
    if callbacks is None:
        return
    for callback in as_list(callbacks):
        callback(parameters)
