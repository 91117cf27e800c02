"""Trainer: applies an optimizer to a set of parameters."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

from gluonjax import autograd
from gluonjax import optimizer as opt
from gluonjax._base.devices import Context
from gluonjax.gluon._errors import ArgumentError, ParameterMismatch, StaleGradientWarning
from gluonjax.gluon.parameter import Parameter, ParameterDict
from gluonjax.ndarray import NDArray
from gluonjax.optimizer import _fused
from gluonjax.optimizer._optax import OptaxOptimizer

STALE = (
    "Gradient of Parameter `{name}` on context {context} has not been updated by backward since last "
    "`step`. This "
    "could mean a bug in your model that made it only use a subset of the Parameters (Blocks) for "
    "this iteration. If "
    "you are intentionally only using a subset, call step with ignore_stale_grad=True to suppress "
    "this warning and "
    "skip updating of Parameters with stale gradient"
)
STALE_LIST = ". {count} parameters were not reached by backward: {names}. Blocks that were not called: {blocks}"
ON_KVSTORE = (
    "{call}() when parameters are updated on kvstore is not supported. Try setting "
    "`update_on_kvstore` to False when "
    "creating trainer."
)
# Parameters with more elements than this are not worth updating inside of a local store.
BIG = 16 * 1024 * 1024


class Trainer:
    """Updates parameters from their gradients, on one or several contexts.

    Args:
        params: the parameters: ``net.collect_params()``, another dictionary, or a list.
        optimizer: name, ``Optimizer`` object or optax ``GradientTransformation``.
        optimizer_params: arguments for a named optimizer.
        kvstore: how to exchange gradients between contexts or machines: a type name, a store, or None.
        compression_params: gradient compression of the store.
        update_on_kvstore: whether the store does the updates; None decides by the situation.

    >>> from gluonjax import autograd, nd
    >>> weight = Parameter("weight", shape=(1,)); weight.initialize(init="ones")
    >>> trainer = Trainer([weight], "sgd", {"learning_rate": 0.5})
    >>> with autograd.record():
    ...     loss = (weight.data() * 3).sum()
    >>> loss.backward(); trainer.step(1); weight.data().asscalar().item()
    -0.5
    """

    def __init__(
        self, params: Any, optimizer: Any, optimizer_params: dict[str, Any] | None = None, kvstore: Any = "device",
        compression_params: dict[str, Any] | None = None, update_on_kvstore: bool | None = None,
    ) -> None:  # fmt: skip
        self._params: list[Parameter] = _as_list(params)
        self._param2idx = {parameter.name: index for index, parameter in enumerate(self._params)}
        for parameter in self._params:
            parameter._set_trainer(self)
        self._contains_sparse_weight = any(parameter._stype != "default" for parameter in self._params)
        self._contains_sparse_grad = any(parameter._grad_stype != "default" for parameter in self._params)
        self._compression_params = compression_params
        self._contexts = self._common_contexts()
        self._init_optimizer(optimizer, dict(optimizer_params or {}))
        self._scale = self._optimizer.rescale_grad
        self._kvstore_params = {"kvstore": kvstore, "update_on_kvstore": update_on_kvstore}
        self._kv_initialized = False
        self._kvstore: Any = None
        self._update_on_kvstore: bool | None = None
        self._distributed: bool | None = None
        self._params_to_init: list[Parameter] = []
        self._reset_kvstore()

    def _common_contexts(self) -> list[Context]:
        """The contexts that all parameters are on."""
        contexts: list[Context] | None = None
        for parameter in self._params:
            found = parameter.list_ctx()
            if contexts is not None and contexts != found:
                raise ParameterMismatch(
                    "All Parameters must be initialized on the same set of contexts, but Parameter "
                    f"{parameter.name} is initialized on {found} while previous Parameters are "
                    f"initialized on "
                    f"{contexts}."
                )
            contexts = found
        return contexts or []

    def _init_optimizer(self, optimizer: Any, arguments: dict[str, Any]) -> None:
        by_index = dict(enumerate(self._params))
        if isinstance(optimizer, str):
            self._optimizer = opt.create(optimizer, param_dict=by_index, **arguments)
        else:
            if arguments:
                raise ArgumentError(
                    "optimizer_params must be None if optimizer is an instance of Optimizer instead of str"
                )
            self._optimizer = optimizer if isinstance(optimizer, opt.Optimizer) else opt.create(optimizer)
            self._optimizer.param_dict = by_index
        self._updaters = [opt.get_updater(self._optimizer) for _ in self._contexts]

    # -- the store ------------------------------------------------------------------------------------------

    def _reset_kvstore(self) -> None:
        if self._kvstore is not None and "dist" in self._kvstore.type:
            raise ArgumentError("Cannot reset distributed KVStore.")
        self._kv_initialized = False
        self._kvstore = None
        self._distributed = None
        self._update_on_kvstore = None
        self._params_to_init = list(self._params)

    def _init_kvstore(self) -> None:
        """Decide whether there is a store and whether it does the updates; needs the parameters' contexts."""
        wish = self._kvstore_params["update_on_kvstore"]
        if wish is None and isinstance(self._optimizer, OptaxOptimizer):
            wish = False  # a store would show it one weight at a time
        if self._contains_sparse_weight:
            if wish is False:
                raise ArgumentError("Cannot set update_on_kvstore=False when sparse weights are present.")
            store, on_store = _make_store(
                self._kvstore_params["kvstore"], len(self._contexts), self._params, True
            )
            wish = True
        else:
            store, on_store = _make_store(self._kvstore_params["kvstore"], len(self._contexts), self._params)
        self._distributed = store is not None and "dist" in store.type
        if self._contains_sparse_grad and not self._contains_sparse_weight:
            on_store = self._distributed
            if wish is False and self._distributed:
                raise ArgumentError(
                    "Cannot set update_on_kvstore=False on dist kvstore when sparse gradients are present."
                )
        if store is not None and self._distributed and "async" in store.type:
            if wish is False:
                raise ArgumentError("Please set update_on_kvstore=True when training in async mode.")
            on_store = True
        if store is not None and wish is not None:
            on_store = wish
        if store is not None and on_store and not store.is_capable("optimizer"):
            if wish:
                raise ArgumentError(f"Please set update_on_kvstore=False when training with {type(store)}")
            on_store = False
        if store is not None:
            if self._compression_params:
                store.set_gradient_compression(self._compression_params)
            if on_store:
                store.set_optimizer(self._optimizer)
        self._kvstore = store
        self._update_on_kvstore = None if store is None else bool(on_store)
        self._kv_initialized = True

    def _init_params(self) -> None:
        """Put the parameters that have a value into the store; the others wait."""
        waiting = []
        for parameter in self._params_to_init:
            if parameter._deferred_init:
                waiting.append(parameter)
            elif self._kvstore is not None:
                arrays = parameter._check_and_get(parameter._data, list)
                index = self._param2idx[parameter.name]
                if parameter._stype == "default" and hasattr(self._kvstore, "broadcast"):
                    self._kvstore.broadcast(index, arrays[0], arrays)
                else:
                    self._kvstore.init(index, arrays[0])
        self._params_to_init = waiting

    def _prepare(self) -> None:
        if not self._kv_initialized:
            self._init_kvstore()
        if self._params_to_init:
            # Copies between contexts are no part of the model, wherever the first forward happens.
            with autograd.pause():
                self._init_params()

    def _row_sparse_pull(
        self, parameter: Parameter, out: Any, row_id: NDArray, full_idx: bool = False
    ) -> None:
        """Fetch rows of a sparse parameter from the store."""
        self._prepare()
        index = self._param2idx[parameter.name]
        with autograd.pause():
            if full_idx and "dist" not in self._kvstore.type:
                self._kvstore.pull(index, out=out, priority=-index, ignore_sparse=False)
            else:
                self._kvstore.row_sparse_pull(index, out=out, row_ids=row_id, priority=-index)

    # -- settings -------------------------------------------------------------------------------------------

    @property
    def optimizer(self) -> Any:
        """The optimizer."""
        return self._optimizer

    @property
    def learning_rate(self) -> float:
        """The current learning rate, a scheduler's where there is one."""
        return self._optimizer.learning_rate

    def set_learning_rate(self, lr: float) -> None:
        """Change the learning rate; not possible where a scheduler sets it."""
        self._optimizer.set_learning_rate(lr)

    # -- training -------------------------------------------------------------------------------------------

    def step(self, batch_size: float, ignore_stale_grad: bool = False) -> None:
        """Exchange gradients between contexts and update the parameters; call it after ``backward``.

        Args:
            batch_size: gradients are divided by it; 1 where the loss is a mean already.
            ignore_stale_grad: leave parameters alone whose gradient is old, instead of complaining.
        """
        self._set_scale(batch_size)
        self._prepare()
        self._allreduce_grads()
        self._update(ignore_stale_grad)

    def allreduce_grads(self) -> None:
        """Only exchange the gradients: to change them, for example to clip, before ``update``."""
        self._prepare()
        self._refuse_on_store("allreduce_grads")
        self._allreduce_grads()

    def update(self, batch_size: float, ignore_stale_grad: bool = False) -> None:
        """Only update the parameters; see ``step``."""
        self._prepare()
        self._refuse_on_store("update")
        self._set_scale(batch_size)
        self._update(ignore_stale_grad)

    def _refuse_on_store(self, call: str) -> None:
        if self._kvstore is not None and self._update_on_kvstore:
            raise ArgumentError(ON_KVSTORE.format(call=call))

    def _set_scale(self, batch_size: float) -> None:
        scale = self._scale / batch_size
        if self._update_on_kvstore and self._distributed and self._kv_initialized:
            if self._optimizer.rescale_grad != scale:
                raise StaleGradientWarning(
                    "Possible change in the `batch_size` from previous `step` detected. Optimizer gradient "
                    "normalizing factor will not change w.r.t new batch_size when "
                    "update_on_kvstore=True and when "
                    "distributed kvstore is used."
                )
        self._optimizer.rescale_grad = scale

    _check_and_rescale_grad = _set_scale

    def _allreduce_grads(self) -> None:
        store = self._kvstore
        if store is None:
            return
        for index, parameter in enumerate(self._params):
            if parameter.grad_req == "null":
                continue
            gradients = parameter.list_grad()
            if gradients[0].stype != "default":
                store.push(index, gradients, priority=-index)
                if parameter._stype == "default":
                    out = parameter.list_data() if self._update_on_kvstore else gradients
                    store.pull(index, out, priority=-index, ignore_sparse=self._distributed)
            elif self._update_on_kvstore:
                store.pushpull(index, gradients, out=parameter.list_data(), priority=-index)
            else:
                store.pushpull(index, gradients, priority=-index)

    def _update(self, ignore_stale_grad: bool = False) -> None:
        scaler = getattr(self, "_amp_loss_scaler", None)
        if scaler is not None and scaler.has_overflow(self._params):
            return
        on_store = self._kvstore is not None and self._update_on_kvstore
        work: list[tuple[list[int], list[NDArray], list[NDArray]]] = [([], [], []) for _ in self._updaters]
        for index, parameter in enumerate(self._params):
            if parameter._grad_req == "null":
                continue
            arrays = parameter._data
            if arrays is None:
                arrays = parameter._check_and_get(None, list)
            if not ignore_stale_grad:
                for array in arrays:
                    if not array._fresh_grad:
                        self._refuse_uninitialized()
                        raise StaleGradientWarning(self._stale_message(parameter, array))
            if on_store:
                continue
            slopes = parameter._grad or parameter.list_grad()
            for (indices, weights, gradients), array, gradient in zip(work, arrays, slopes):
                if ignore_stale_grad and not array._fresh_grad:
                    continue
                indices.append(index)
                weights.append(array)
                gradients.append(gradient)
        for updater, (indices, weights, gradients) in zip(self._updaters, work):
            if indices:
                if len(work) > 1:
                    # Step counts are kept for each device, so that several updates count as one step.
                    self._optimizer._set_current_context(weights[0].context.device_id)
                _fused.update_all(updater, indices, weights, gradients)
                for array in weights:
                    array._fresh_grad = False

    def _refuse_uninitialized(self) -> None:
        """Before the first batch that is what is wrong, not gradients."""
        for parameter in self._params:
            if parameter._grad_req != "null" and parameter._data is None:
                parameter._check_and_get(None, list)

    def _stale_message(self, first: Parameter, array: NDArray) -> str:
        """Names every parameter that backward did not reach, and the blocks none of whose parameters it reached."""
        trained = [one for one in self._params if one._grad_req != "null" and one._data is not None]
        stale = {one.name for one in trained if not all(copy._fresh_grad for copy in one._data or ())}
        reached = {one.name.rpartition("_")[0] for one in trained if one.name not in stale}
        names = [one.name for one in trained if one.name in stale]
        blocks = dict.fromkeys(block for block in (name.rpartition("_")[0] for name in names) if block not in reached)
        return STALE.format(name=first.name, context=array.context) + STALE_LIST.format(
            count=len(names), names=", ".join(names), blocks=", ".join(blocks) or "none"
        )

    # -- files ----------------------------------------------------------------------------------------------

    def save_states(self, fname: str) -> None:
        """Write the optimizer and its states (momentum, ...) to a file, without the parameters' multipliers.

        Of an optax transformation only the states are written; make the same one again before ``load_states``.
        """
        self._prepare()
        whole = not isinstance(self._optimizer, OptaxOptimizer)
        if self._update_on_kvstore:
            if self._params_to_init:
                raise ArgumentError(
                    "Cannot save trainer states when some parameters are not yet initialized in kvstore."
                )
            self._kvstore.save_optimizer_states(fname, dump_optimizer=whole)
            return
        with open(fname, "wb") as file:
            file.write(self._updaters[0].get_states(dump_optimizer=whole))

    def load_states(self, fname: str) -> None:
        """Read what ``save_states`` wrote; multipliers stay those of the current parameters."""
        self._prepare()
        if self._update_on_kvstore:
            self._kvstore.load_optimizer_states(fname)
            self._optimizer = self._kvstore._updater.optimizer
        else:
            with open(fname, "rb") as file:
                states = file.read()
            for updater in self._updaters:
                updater.set_states(states)
                updater.optimizer = self._updaters[0].optimizer
            self._optimizer = self._updaters[0].optimizer
        self._optimizer.param_dict = dict(enumerate(self._params))


def _as_list(params: Any) -> list[Parameter]:
    """The parameters in an order that does not depend on how the dictionary was built."""
    if isinstance(params, (dict, ParameterDict)):
        params = [params[name] for name in sorted(params.keys())]
    if not isinstance(params, (list, tuple)):
        raise ArgumentError(f"First argument must be a list or dict of Parameters, got {type(params)}.")
    for parameter in params:
        if not isinstance(parameter, Parameter):
            raise ArgumentError(
                f"First argument must be a list or dict of Parameters, got list of {type(parameter)}."
            )
    return list(params)


def _make_store(
    wanted: Any, devices: int, params: Sequence[Parameter], always: bool = False
) -> tuple[Any, bool]:
    """The store to use, or None where one device needs none, and whether it would rather do the updates itself.

    Args:
        wanted: a type name, a store, or None.
        devices: number of contexts.
        params: looked at for their sizes.
        always: make one for a single device too (sparse weights live in it).
    """
    if wanted is None:
        if always:
            wanted = "device"
        else:
            return None, False
    on_store = bool(int(os.environ.get("MXNET_UPDATE_ON_KVSTORE", "1")))
    if not isinstance(wanted, str):
        return wanted, on_store and wanted.is_capable("optimizer")
    if devices == 1 and "dist" not in wanted and not always:
        return None, False
    from gluonjax import kvstore  # only where one is needed: the import brings in distributed machinery

    store = kvstore.create(wanted)
    if wanted == "local":
        sizes = [math.prod(array.shape) for parameter in params for array in (parameter._data or ())[:1]]
        on_store = on_store and max(sizes, default=0) <= BIG
    return store, on_store


__all__ = ["Trainer"]
