"""Module: a symbol with its parameters, an executor and an optimizer."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from typing import Any

from gluonjax import optimizer as opt
from gluonjax._base.devices import Context, current_context
from gluonjax._base.errors import MXNetError, did_you_mean
from gluonjax._files.atomic import atomic_write
from gluonjax.context import cpu
from gluonjax.initializer import InitDesc, Uniform
from gluonjax.io import DataDesc
from gluonjax.model import load_checkpoint, save_checkpoint
from gluonjax.module._batches import descriptions_for, join_batches
from gluonjax.module._errors import ModuleArgumentError, ParameterMissingError, require
from gluonjax.module._step import TrainingStep
from gluonjax.module._stores import (
    StoreStep,
    enter,
    find_store,
    is_plain,
    make_optimizer,
    step_of,
    updates_weights,
    workers,
)
from gluonjax.module.base_module import BaseModule, as_list, check_input_names, parse_descriptions
from gluonjax.module.executor_group import DataParallelExecutorGroup
from gluonjax.ndarray import NDArray
from gluonjax.ndarray import zeros as zeros

CPU = cpu()  # where modules run unless told otherwise, whatever the current context is; as in MXNet


class Module(BaseModule):
    """A symbol that can be bound, trained and used for prediction.

    One training step — ``forward_backward`` and ``update`` — runs as one compiled program, unless someone asks for
    what lies between (gradients, outputs before the update, a monitor).

    Args:
        symbol: the network, usually with a loss at its end.
        data_names, label_names: names of its inputs.
        context: where to run; several contexts share each batch.
        fixed_param_names: parameters that are not trained.
        state_names: inputs that are neither data nor parameters; see ``set_states``.
    """

    def __init__(
        self,
        symbol: Any,
        data_names: Any = ("data",),
        label_names: Any = ("softmax_label",),
        logger: Any = logging,
        context: Any = CPU,
        work_load_list: Any = None,
        fixed_param_names: Any = None,
        state_names: Any = None,
        group2ctxs: Any = None,
        compression_params: Any = None,
    ) -> None:
        super().__init__(logger=logger)
        contexts = as_list(context if context is not None else current_context())
        if work_load_list is not None and len(work_load_list) != len(contexts):
            raise ModuleArgumentError(f"work_load_list has {len(work_load_list)} entries for {len(contexts)} contexts")
        self._context = [Context(one) for one in contexts]
        self._work_load_list = list(work_load_list) if work_load_list is not None else [1] * len(contexts)
        self._group2ctxs = group2ctxs
        self._symbol = symbol
        self._data_names = list(data_names) if data_names is not None else []
        self._label_names = list(label_names) if label_names is not None else []
        self._state_names = list(state_names) if state_names is not None else []
        self._fixed_param_names = list(fixed_param_names) if fixed_param_names is not None else []
        check_input_names(symbol, self._data_names, "data", True)
        check_input_names(symbol, self._label_names, "label", False)
        check_input_names(symbol, self._state_names, "state", True)
        check_input_names(symbol, self._fixed_param_names, "fixed_param", True)
        inputs = {*self._data_names, *self._label_names, *self._state_names}
        self._param_names = [name for name in symbol.list_arguments() if name not in inputs]
        self._aux_names = symbol.list_auxiliary_states()
        self._output_names = symbol.list_outputs()
        self._compression_params = compression_params
        self._optimizer: Any = None
        self._kvstore: Any = None
        self._update_on_kvstore: bool | None = None
        self._updater: Any = None
        self._preload_opt_states: str | None = None
        self._grad_req: Any = None
        self._exec_group: DataParallelExecutorGroup | None = None
        self._step: TrainingStep | StoreStep | None = None
        self._data_shapes: Any = None
        self._label_shapes: Any = None
        self._arg_params: dict[str, NDArray] | None = None
        self._aux_params: dict[str, NDArray] | None = None
        self._params_dirty = False

    # -- files ----------------------------------------------------------------------------------------------

    @staticmethod
    def load(prefix: str, epoch: int, load_optimizer_states: bool = False, **kwargs: Any) -> Module:
        """A module from a checkpoint, ready to be bound.

        Args:
            prefix, epoch: as given to ``save_checkpoint``.
            load_optimizer_states: read ``<prefix>-<epoch>.states`` when the optimizer is initialized.
            kwargs: for the constructor.
        """
        symbol, args, auxs = load_checkpoint(prefix, epoch)
        module = Module(symbol=symbol, **kwargs)
        module._arg_params, module._aux_params = args, auxs
        module.params_initialized = True
        if load_optimizer_states:
            module._preload_opt_states = f"{prefix}-{epoch:04d}.states"
        return module

    def save_checkpoint(
        self, prefix: str, epoch: int, save_optimizer_states: bool = False, remove_amp_cast: bool = True
    ) -> None:
        """Write ``<prefix>-symbol.json``, ``<prefix>-<epoch>.params`` and optionally ``<prefix>-<epoch>.states``."""
        arg_params, aux_params = self.get_params()
        save_checkpoint(prefix, epoch, self._symbol, arg_params, aux_params, remove_amp_cast=remove_amp_cast)
        if save_optimizer_states:
            name = f"{prefix}-{epoch:04d}.states"
            self.save_optimizer_states(name)
            logging.info('Saved optimizer state to "%s"', name)

    def save_optimizer_states(self, fname: str) -> None:
        """Write the optimizer's states."""
        require(self.optimizer_initialized, "save_optimizer_states", "init_optimizer()")
        if self._update_on_kvstore:
            self._kvstore.save_optimizer_states(fname)
        else:
            atomic_write(fname, self._updater.get_states())

    def load_optimizer_states(self, fname: str) -> None:
        """Read the optimizer's states."""
        require(self.optimizer_initialized, "load_optimizer_states", "init_optimizer()")
        if self._update_on_kvstore:
            self._kvstore.load_optimizer_states(fname)
            return
        try:
            with open(fname, "rb") as file:
                data = file.read()
        except OSError as error:
            raise MXNetError(f"load_optimizer_states: cannot read '{fname}': {error.strerror}") from error
        self._updater.set_states(data)
        # MXNet's stores keep states under the names of parameters, modules under their numbers.
        numbers = {name: index for index, name in self._optimizer.idx2name.items()}
        for table in (self._updater.states, self._updater.states_synced):
            for key in [key for key in table if key in numbers]:
                table[numbers[key]] = table.pop(key)

    # -- facts ----------------------------------------------------------------------------------------------

    @property
    def data_names(self) -> list[str]:
        """Names of the data inputs."""
        return self._data_names

    @property
    def label_names(self) -> list[str]:
        """Names of the label inputs."""
        return self._label_names

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs."""
        return self._output_names

    @property
    def data_shapes(self) -> list[DataDesc]:
        """Descriptions of the data inputs."""
        require(self.binded, "data_shapes", "bind()")
        return self._data_shapes

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        """Descriptions of the label inputs; None where the module was bound without labels."""
        require(self.binded, "label_shapes", "bind()")
        return self._label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the outputs."""
        require(self.binded, "output_shapes", "bind()")
        assert self._exec_group is not None
        return self._exec_group.get_output_shapes()

    # -- parameters -----------------------------------------------------------------------------------------

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """Copies of the parameters and of the auxiliary states, on the CPU."""
        require(self.binded and self.params_initialized, "get_params", "bind() and init_params()")
        if self._params_dirty:
            self._sync_params()
        return self._arg_params, self._aux_params  # type: ignore[return-value]

    def _sync_params(self) -> None:
        assert self._exec_group is not None
        self._arg_params, self._aux_params = {}, {}
        self._exec_group.get_params(self._arg_params, self._aux_params)
        self._params_dirty = False

    def init_params(
        self,
        initializer: Any = Uniform(0.01),  # noqa: B008 - MXNet's signature
        arg_params: Any = None,
        aux_params: Any = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Give parameters and auxiliary states their values.

        Args:
            initializer: for parameters without a given value.
            arg_params, aux_params: given values. Values that the symbol does not have are not looked at.
            allow_missing: let the initializer fill in for missing values although values are given.
            allow_extra: accepted, see ``set_params``.
        """
        if self.params_initialized and not force_init:
            warnings.warn(
                "Parameters already initialized and force_init=False. init_params call ignored.", stacklevel=2
            )
            return
        require(self.binded, "init_params", "bind() (call bind before initializing the parameters)")
        assert self._exec_group is not None
        group = self._exec_group
        group.flush_family()
        attributes = self._symbol.attr_dict()
        for names, arrays, given in (
            (self._param_names, group.args, arg_params),
            (self._aux_names, group.auxs, aux_params),
        ):
            for name in sorted(names):
                self._init_one(name, arrays[name], given, attributes, initializer, allow_missing)
        self.params_initialized = True
        self._sync_params()

    def _init_one(
        self,
        name: str,
        array: NDArray,
        given: Mapping[str, NDArray] | None,
        attributes: Any,
        initializer: Any,
        allow_missing: bool,
    ) -> None:
        if given is not None and name in given:
            value = given[name]
            if value is not array:
                if value.shape != array.shape:
                    raise MXNetError(
                        f"init_params: '{name}' has shape {array.shape}, the given value has shape {value.shape}"
                    )
                value.copyto(array)
            return
        if given is not None and not allow_missing:
            raise ParameterMissingError(f"{name} is not presented{did_you_mean(name, given)}")
        if initializer is not None:
            initializer(InitDesc(name, attributes.get(name, None)), array)

    def set_params(
        self,
        arg_params: Any,
        aux_params: Any,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Assign values to parameters and auxiliary states.

        Args:
            allow_missing: parameters without a given value keep theirs.
            force_init: assign even where parameters have values already.
            allow_extra: with ``allow_missing``, skip values that the symbol does not have. Without
                ``allow_missing`` they are skipped anyway, as MXNet does.
        """
        if not allow_missing:
            self.init_params(None, arg_params, aux_params, allow_missing, force_init, allow_extra)
            return
        if self.params_initialized and not force_init:
            warnings.warn("Parameters already initialized and force_init=False. set_params call ignored.", stacklevel=2)
            return
        require(self.binded, "set_params", "bind()")
        assert self._exec_group is not None
        self._exec_group.set_params(arg_params, aux_params, allow_extra=allow_extra)
        self._params_dirty = True
        self.params_initialized = True

    # -- binding --------------------------------------------------------------------------------------------

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
        """Allocate arrays for the given input shapes.

        Args:
            data_shapes, label_shapes: lists of ``(name, shape)`` or DataDesc.
            shared_module: a bound module whose parameters are used.
            grad_req: 'write', 'add' or 'null', for all, by name, or as a list.
        """
        if force_rebind:
            self._reset_bind()
        if self.binded:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if not for_training and inputs_need_grad:
            raise ModuleArgumentError("bind: inputs_need_grad needs for_training=True")
        data, labels = parse_descriptions(self._data_names, self._label_names, data_shapes, label_shapes)
        shared = None
        if shared_module is not None:
            require(
                shared_module.binded and shared_module.params_initialized,
                "bind(shared_module=...)",
                "bind() and init_params() of the shared module",
            )
            shared = shared_module._exec_group
        self._exec_group = DataParallelExecutorGroup(
            self._symbol,
            self._context,
            self._work_load_list,
            data,
            labels,
            self._param_names,
            for_training,
            inputs_need_grad,
            shared,
            self.logger,
            self._fixed_param_names,
            grad_req,
            self._state_names,
            self._group2ctxs,
        )
        self.for_training, self.inputs_need_grad, self._grad_req = for_training, inputs_need_grad, grad_req
        self._data_shapes, self._label_shapes = data, labels
        self.binded = True
        self._step = None
        if shared_module is not None:
            self.params_initialized = True
            self._arg_params, self._aux_params = shared_module._arg_params, shared_module._aux_params
        elif self.params_initialized:
            self._exec_group.set_params(self._arg_params or {}, self._aux_params or {})
        if shared_module is not None and shared_module.optimizer_initialized:
            self.borrow_optimizer(shared_module)

    def _reset_bind(self) -> None:
        self.binded = False
        self._exec_group = self._step = None
        self._data_shapes = self._label_shapes = None

    def reshape(self, data_shapes: Any, label_shapes: Any = None) -> None:
        """Allocate inputs of other shapes; parameters stay."""
        require(self.binded, "reshape", "bind()")
        assert self._exec_group is not None
        data, labels = parse_descriptions(self._data_names, self._label_names, data_shapes, label_shapes)
        self._exec_group.reshape(data, labels)
        self._data_shapes, self._label_shapes = data, labels

    # -- optimizer ------------------------------------------------------------------------------------------

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Make the optimizer.

        Args:
            kvstore: None, a name, or a store. The built-in stores of one process have nothing to add to a batch
                that runs as a whole; a store of one's own, or gradient compression, is asked at every step.
            optimizer: a name with ``optimizer_params``, an Optimizer, or an optax GradientTransformation.
        """
        require(self.binded and self.params_initialized, "init_optimizer", "bind() and init_params()")
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring...")
            return
        assert self._exec_group is not None
        if self._params_dirty:
            self._sync_params()
        store = find_store(kvstore, len(self._context), self._compression_params)
        batch = self._exec_group.batch_size * workers(store)
        optimizer = make_optimizer(optimizer, optimizer_params, self.symbol, self._param_names, batch)
        self._optimizer, self._kvstore = optimizer, store
        self._update_on_kvstore = updates_weights(store)
        self._updater = None if self._update_on_kvstore else opt.get_updater(optimizer)
        if store is not None and is_plain(store):
            store.set_optimizer(optimizer)
            self._updater = store._updater  # type: ignore[attr-defined]  # the same states, whoever is asked
        elif store is not None:
            enter(store, self._exec_group, optimizer if self._update_on_kvstore else None)
        self._step = None
        self.optimizer_initialized = True
        if self._preload_opt_states is not None:
            self.load_optimizer_states(self._preload_opt_states)
            self._preload_opt_states = None

    def borrow_optimizer(self, shared_module: Any) -> None:
        """Use the optimizer (and its states) of another module."""
        require(shared_module.optimizer_initialized, "borrow_optimizer", "init_optimizer() of the other module")
        self._optimizer = shared_module._optimizer
        self._kvstore = shared_module._kvstore
        self._update_on_kvstore = shared_module._update_on_kvstore
        self._updater = shared_module._updater
        self._step = None
        self.optimizer_initialized = True

    # -- computing ------------------------------------------------------------------------------------------

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Take a batch in; its outputs are computed when they are needed.

        A batch of another shape than bound is fine as long as the parameters keep theirs.
        """
        require(self.binded and self.params_initialized, "forward", "bind() and init_params()")
        assert self._exec_group is not None
        batch: Any = join_batches(data_batch) if isinstance(data_batch, list) else data_batch
        if not isinstance(getattr(batch, "data", None), (list, tuple)):
            raise ModuleArgumentError(f"forward: data_batch must have a list 'data', got {data_batch!r}")
        group = self._exec_group
        if [tuple(one.shape) for one in batch.data] != group.shapes_of_data:
            self.reshape(*descriptions_for(batch, self._data_shapes, self._label_shapes))
        group.forward(batch, is_train)

    def backward(self, out_grads: Any = None) -> None:
        """Compute gradients of the last forward; they are run together with the update where nobody looks."""
        require(self.binded and self.params_initialized, "backward", "bind() and init_params()")
        assert self._exec_group is not None
        self._exec_group.backward(out_grads)

    def update(self) -> None:
        """Update the parameters with the gradients of the last backward."""
        require(
            self.binded and self.params_initialized and self.optimizer_initialized,
            "update",
            "bind(), init_params() and init_optimizer()",
        )
        assert self._exec_group is not None
        self._params_dirty = True
        if self._step is None:
            self._step = step_of(self._exec_group, self._kvstore, self._updater)
        self._step.run()

    def _compile_count(self) -> int:
        """How many training programs have been compiled."""
        return self._step.compilations() if isinstance(self._step, TrainingStep) else 0

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Outputs of the last forward.

        With ``merge_multi_context`` False, a list of one array per context for every output.
        """
        require(self.binded and self.params_initialized, "get_outputs", "bind() and init_params()")
        assert self._exec_group is not None
        return self._exec_group.get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Gradients of the data inputs after the last backward; the module must be bound with inputs_need_grad."""
        require(
            self.binded and self.params_initialized and self.inputs_need_grad,
            "get_input_grads",
            "bind(inputs_need_grad=True) and init_params()",
        )
        assert self._exec_group is not None
        return self._exec_group.get_input_grads(merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """The values of the state inputs."""
        require(self.binded and self.params_initialized, "get_states", "bind() and init_params()")
        assert self._exec_group is not None
        return self._exec_group.get_states(merge_multi_context)

    def set_states(self, states: Any = None, value: Any = None) -> None:
        """Set the state inputs: to given arrays, or all to one number."""
        require(self.binded and self.params_initialized, "set_states", "bind() and init_params()")
        assert self._exec_group is not None
        self._exec_group.set_states(states, value)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Let a metric see the labels and the outputs of the last forward."""
        require(self.binded and self.params_initialized, "update_metric", "bind() and init_params()")
        assert self._exec_group is not None
        self._exec_group.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Any) -> None:
        """Watch the executor with a Monitor; steps then run in separate parts."""
        require(self.binded, "install_monitor", "bind()")
        assert self._exec_group is not None
        self._exec_group.install_monitor(mon)

    def prepare(self, data_batch: Any, sparse_row_id_fn: Any = None) -> None:
        """Get ready for a batch that will be processed next; only sparse parameters need it."""
        require(self.binded, "prepare", "bind()")
