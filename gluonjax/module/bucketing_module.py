"""BucketingModule: one set of parameters under several symbols, one for every length of a sequence, say."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from gluonjax import ndarray as nd
from gluonjax import symbol as symbols
from gluonjax.initializer import Uniform
from gluonjax.model import load_params
from gluonjax.module._errors import ModuleArgumentError, require
from gluonjax.module._padding import BucketPadding
from gluonjax.module.base_module import BaseModule, as_list, check_input_names
from gluonjax.module.module import CPU, Module
from gluonjax.name import NameManager

Generated = tuple[Any, Any, Any]


class BucketingModule(BaseModule):
    """Modules by bucket key that share parameters, gradients and the optimizer.

    Each batch names its bucket (``DataBatch.bucket_key``); the bucket's symbol is made and compiled when its first
    batch comes.

    Args:
        sym_gen: ``sym_gen(bucket_key) -> (symbol, data_names, label_names)``.
        default_bucket_key: the bucket whose symbol has all parameters; ``bind`` binds it.
        context, work_load_list, fixed_param_names, state_names, group2ctxs, compression_params: as for Module.
    """

    def __init__(
        self,
        sym_gen: Callable[[Any], Generated],
        default_bucket_key: Any = None,
        logger: Any = logging,
        context: Any = CPU,
        work_load_list: Any = None,
        fixed_param_names: Any = None,
        state_names: Any = None,
        group2ctxs: Any = None,
        compression_params: Any = None,
    ) -> None:
        super().__init__(logger=logger)
        if default_bucket_key is None:
            raise ModuleArgumentError("BucketingModule: give default_bucket_key, the key of the largest bucket")
        if not callable(sym_gen):
            raise ModuleArgumentError(f"BucketingModule: sym_gen must be a function of a bucket key, got {sym_gen!r}")
        self._sym_gen = sym_gen
        self._default_bucket_key = default_bucket_key
        self._context = context
        self._options = {
            "context": context,
            "work_load_list": work_load_list,
            "fixed_param_names": fixed_param_names,
            "state_names": state_names,
            "group2ctxs": group2ctxs,
            "compression_params": compression_params,
        }
        symbol, data_names, label_names = self._generate(default_bucket_key)
        for names, kind, strict in (
            (data_names, "data", True),
            (label_names, "label", False),
            (state_names, "state", True),
            (fixed_param_names, "fixed_param", True),
        ):
            check_input_names(symbol, list(names or ()), kind, strict)
        self._buckets: dict[Any, Module] = {}
        self._curr_module: Module | None = None
        self._curr_bucket_key: Any = None
        self._grad_req: Any = None
        self._monitor: Any = None
        self._params_dirty = False
        self._padding: BucketPadding | None = None
        self._last_batch: Any = None

    def pad_buckets(self, step: int, data_value: float = 0, label_value: float = 0) -> None:
        """Share one bucket, and so one compiled program, among lengths up to the next multiple of ``step``.

        Batches are padded along every axis (but that of the batch) as long as their bucket key. The padding must not
        count: give labels the value that the loss and the metric ignore. Not in MXNet.

        Args:
            step: bucket keys are rounded up to its multiples, at most to the default key.
            data_value, label_value: what the new places hold.
        """
        self._padding = BucketPadding(step, self._default_bucket_key, data_value, label_value)

    def compile_counts(self) -> dict[Any, int]:
        """How many training programs each bucket has compiled so far; one is enough for each. Not in MXNet."""
        return {key: module._compile_count() for key, module in self._buckets.items()}

    def _padded(self, batch: Any) -> Any:
        return batch if self._padding is None else self._padding.batch(batch)

    def _generate(self, bucket_key: Any) -> Generated:
        # Automatic names count from zero in every bucket, so that the same layer has the same name in all.
        with NameManager():
            return self._sym_gen(bucket_key)

    def _make(self, bucket_key: Any) -> Module:
        symbol, data_names, label_names = self._generate(bucket_key)
        return Module(symbol, data_names, label_names, logger=self.logger, **self._options)

    def _current(self) -> Module:
        if self._curr_module is None:
            require(False, "BucketingModule", "bind()")
        return self._curr_module  # type: ignore[return-value]

    # -- facts -----------------------------------------------------------------------------------------------

    @property
    def data_names(self) -> Any:
        """Names of the data inputs of the current bucket."""
        return self._current().data_names if self.binded else self._generate(self._default_bucket_key)[1]

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs of the current bucket."""
        if self.binded:
            return self._current().output_names
        return self._generate(self._default_bucket_key)[0].list_outputs()

    @property
    def data_shapes(self) -> Any:
        """Descriptions of the data inputs of the current bucket."""
        require(self.binded, "data_shapes", "bind()")
        return self._current().data_shapes

    @property
    def label_shapes(self) -> Any:
        """Descriptions of the label inputs of the current bucket."""
        require(self.binded, "label_shapes", "bind()")
        return self._current().label_shapes

    @property
    def output_shapes(self) -> Any:
        """Names and shapes of the outputs of the current bucket."""
        require(self.binded, "output_shapes", "bind()")
        return self._current().output_shapes

    @property
    def symbol(self) -> Any:
        """The symbol of the current bucket."""
        require(self.binded, "symbol", "bind()")
        return self._current().symbol

    # -- parameters ------------------------------------------------------------------------------------------

    def get_params(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Copies of the parameters and of the auxiliary states, on the CPU."""
        require(self.params_initialized, "get_params", "init_params()")
        module = self._current()
        module._params_dirty = module._params_dirty or self._params_dirty
        self._params_dirty = False
        return module.get_params()

    def init_params(
        self,
        initializer: Any = Uniform(0.01),  # noqa: B008 - MXNet's signature
        arg_params: Any = None,
        aux_params: Any = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Give parameters and auxiliary states their values; see ``Module.init_params``."""
        if self.params_initialized and not force_init:
            return
        require(self.binded, "init_params", "bind()")
        self._current().init_params(initializer, arg_params, aux_params, allow_missing, force_init, allow_extra)
        self._params_dirty = False
        self.params_initialized = True

    def set_params(
        self,
        arg_params: Any,
        aux_params: Any,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Assign values to parameters and auxiliary states; see ``Module.set_params``."""
        if not allow_missing:
            self.init_params(None, arg_params, aux_params, allow_missing, force_init, allow_extra)
            return
        if self.params_initialized and not force_init:
            warnings.warn("Parameters already initialized and force_init=False. set_params call ignored.", stacklevel=2)
            return
        self._current().set_params(arg_params, aux_params, allow_missing, force_init, allow_extra)
        self._params_dirty = True
        self.params_initialized = True

    # -- binding ---------------------------------------------------------------------------------------------

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
        """Allocate arrays for the default bucket, with the given input shapes; other buckets follow as they come."""
        if shared_module is not None:
            raise ModuleArgumentError("shared_module for BucketingModule is not supported")
        values = self.get_params() if self.params_initialized and self.binded else None
        if force_rebind and self.binded:
            self.binded = False
            self._buckets, self._curr_module, self._curr_bucket_key = {}, None, None
        if self.binded:
            self.logger.warning("Already bound, ignoring bind()")
            return
        key = self._default_bucket_key
        module = self._buckets.get(key) or self._make(key)
        module.bind(data_shapes, label_shapes, for_training, inputs_need_grad, grad_req=grad_req)
        self.for_training, self.inputs_need_grad, self._grad_req = for_training, inputs_need_grad, grad_req
        self.binded = True
        self._buckets[key] = self._curr_module = module
        self._curr_bucket_key = key
        if self._monitor is not None:
            module.install_monitor(self._monitor)
        if values is not None:
            self.set_params(*values)

    def _bound(self, bucket_key: Any, data_shapes: Any, label_shapes: Any) -> Module:
        module = self._buckets.get(bucket_key)
        if module is None:
            module = self._make(bucket_key)
        if not module.binded:
            module.bind(
                data_shapes,
                label_shapes,
                self.for_training,
                self.inputs_need_grad,
                shared_module=self._buckets[self._default_bucket_key],
                grad_req=self._grad_req,
            )
            if self._monitor is not None:
                module.install_monitor(self._monitor)
            self._buckets[bucket_key] = module
        return module

    def switch_bucket(self, bucket_key: Any, data_shapes: Any, label_shapes: Any = None) -> None:
        """Make a bucket the current one.

        Args:
            bucket_key: any hashable value.
            data_shapes, label_shapes: used when the bucket comes for the first time.
        """
        require(self.binded, "switch_bucket", "bind before switching bucket: bind()")
        self._curr_module = self._bound(bucket_key, data_shapes, label_shapes)
        self._curr_bucket_key = bucket_key

    def prepare(self, data_batch: Any, sparse_row_id_fn: Any = None) -> None:
        """Bind the bucket of a batch that will come next."""
        require(self.binded and self.params_initialized, "prepare", "bind() and init_params()")
        data_batch = self._padded(data_batch)
        module = self._bound(data_batch.bucket_key, data_batch.provide_data, data_batch.provide_label)
        module.prepare(data_batch, sparse_row_id_fn=sparse_row_id_fn)

    # -- training --------------------------------------------------------------------------------------------

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Make the optimizer, one for all buckets; see ``Module.init_optimizer``."""
        require(self.binded and self.params_initialized, "init_optimizer", "bind() and init_params()")
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring.")
            return
        # The default bucket has every parameter, so its numbering holds for all of them.
        main = self._buckets[self._default_bucket_key]
        main.init_optimizer(kvstore, optimizer, optimizer_params, force_init=force_init)
        for module in self._buckets.values():
            if module is not main and module.binded:
                module.borrow_optimizer(main)
        self.optimizer_initialized = True

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Take a batch in, under the symbol of its bucket."""
        require(self.binded and self.params_initialized, "forward", "bind() and init_params()")
        self._last_batch = data_batch
        data_batch = self._padded(data_batch)
        self.switch_bucket(data_batch.bucket_key, data_batch.provide_data, data_batch.provide_label)
        self._current().forward(data_batch, is_train=is_train)

    def backward(self, out_grads: Any = None) -> None:
        """Compute gradients of the last forward."""
        require(self.binded and self.params_initialized, "backward", "bind() and init_params()")
        self._current().backward(out_grads=out_grads)

    def update(self) -> None:
        """Update the parameters with the gradients of the last backward."""
        require(
            self.binded and self.params_initialized and self.optimizer_initialized,
            "update",
            "bind(), init_params() and init_optimizer()",
        )
        self._params_dirty = True
        self._current().update()

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Outputs of the last forward."""
        require(self.binded and self.params_initialized, "get_outputs", "bind() and init_params()")
        return self._current().get_outputs(merge_multi_context=merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Gradients of the data inputs after the last backward."""
        require(
            self.binded and self.params_initialized and self.inputs_need_grad,
            "get_input_grads",
            "bind(inputs_need_grad=True) and init_params()",
        )
        return self._current().get_input_grads(merge_multi_context=merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """The values of the state inputs."""
        require(self.binded and self.params_initialized, "get_states", "bind() and init_params()")
        return self._current().get_states(merge_multi_context=merge_multi_context)

    def set_states(self, states: Any = None, value: Any = None) -> None:
        """Set the state inputs of the current bucket."""
        require(self.binded and self.params_initialized, "set_states", "bind() and init_params()")
        self._current().set_states(states, value)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Let a metric see the labels and the outputs of the last forward."""
        require(self.binded and self.params_initialized, "update_metric", "bind() and init_params()")
        if self._padding is not None and not pre_sliced:
            labels = self._padding.labels(self._last_batch, labels)
        self._current().update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Any) -> None:
        """Watch the executors of all buckets with a Monitor."""
        require(self.binded, "install_monitor", "bind()")
        self._monitor = mon
        for module in self._buckets.values():
            module.install_monitor(mon)

    # -- files -----------------------------------------------------------------------------------------------

    def save_checkpoint(self, prefix: str, epoch: int, remove_amp_cast: bool = False) -> None:
        """Write ``<prefix>-<epoch>.params``, ``<prefix>-<key>-symbol.json`` for every bucket, and their keys."""
        require(bool(self._buckets), "save_checkpoint (Empty BucketingModule cannot be saved)", "bind()")
        if not all(isinstance(key, int) for key in self._buckets):
            raise ModuleArgumentError(f"save_checkpoint: bucket keys must be whole numbers, got {list(self._buckets)}")
        self.save_params(f"{prefix}-{epoch:04d}.params")
        for key in self._buckets:
            self._generate(key)[0].save(f"{prefix}-{key}-symbol.json", remove_amp_cast=remove_amp_cast)
        nd.save(f"{prefix}.buckets", nd.array(list(self._buckets), dtype="int32"))

    @staticmethod
    def load(
        prefix: str, epoch: int, sym_gen: Any = None, default_bucket_key: Any = None, **kwargs: Any
    ) -> BucketingModule:
        """A module from what ``save_checkpoint`` wrote, ready to be bound.

        Args:
            sym_gen, default_bucket_key, kwargs: for the constructor.
        """
        keys = [int(key) for key in as_list(nd.load(f"{prefix}.buckets"))[0].asnumpy()]
        table = {key: symbols.load(f"{prefix}-{key}-symbol.json") for key in keys}
        return BucketingModule.load_dict(table, sym_gen, default_bucket_key, *load_params(prefix, epoch), **kwargs)

    @staticmethod
    def load_dict(
        sym_dict: Mapping[Any, Any] | None = None,
        sym_gen: Any = None,
        default_bucket_key: Any = None,
        arg_params: Any = None,
        aux_params: Any = None,
        **kwargs: Any,
    ) -> BucketingModule:
        """A module from symbols by bucket key and parameter values, ready to be bound."""
        for name, value in (
            ("sym_dict", sym_dict),
            ("sym_gen", sym_gen),
            ("default_bucket_key", default_bucket_key),
            ("arg_params", arg_params),
            ("aux_params", aux_params),
        ):
            if value is None:
                raise ModuleArgumentError(f"BucketingModule.load: {name} is required")
        assert sym_dict is not None
        if default_bucket_key not in sym_dict:
            raise ModuleArgumentError(
                f"BucketingModule.load: there is no bucket {default_bucket_key!r}; there are {list(sym_dict)}"
            )
        found = BucketingModule(sym_gen, default_bucket_key, **kwargs)
        for key, symbol in sym_dict.items():
            _, data_names, label_names = found._generate(key)
            found._buckets[key] = Module(symbol, data_names, label_names, logger=found.logger, **found._options)
        main = found._curr_module = found._buckets[default_bucket_key]
        main._arg_params, main._aux_params = arg_params, aux_params
        main.params_initialized = found.params_initialized = True
        return found
