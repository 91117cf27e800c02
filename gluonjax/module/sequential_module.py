"""SequentialModule: a chain of modules, each fed with the outputs of the one before."""

from __future__ import annotations

import copy
import logging
from typing import Any

from gluonjax.initializer import Uniform
from gluonjax.module._errors import ModuleArgumentError, NameMismatchError, require
from gluonjax.module.base_module import BaseModule


class SequentialModule(BaseModule):
    """A chain of modules. Add them in order, then use the whole as one module::

    chain = SequentialModule()
    chain.add(features).add(classifier, take_labels=True, auto_wiring=True)
    """

    META_TAKE_LABELS = "take_labels"
    META_AUTO_WIRING = "auto_wiring"

    def __init__(self, logger: Any = logging) -> None:
        super().__init__(logger=logger)
        self._modules: list[Any] = []
        self._metas: list[dict[str, Any]] = []
        self._label_shapes: Any = None
        self._data_shapes: Any = None
        self._meta_keys = {self.META_TAKE_LABELS, self.META_AUTO_WIRING}

    def add(self, module: Any, **kwargs: Any) -> SequentialModule:
        """Add a module at the end; returns the chain.

        Args:
            kwargs: ``take_labels=True`` gives the module the labels; ``auto_wiring=True`` feeds the outputs before
                it under the names of its data inputs.
        """
        for key in kwargs:
            if key not in self._meta_keys:
                raise ModuleArgumentError(f'Unknown meta "{key}", a typo? There are {sorted(self._meta_keys)}')
        self._modules.append(module)
        self._metas.append(kwargs)
        self.binded = self.params_initialized = self.optimizer_initialized = False
        return self

    def _ends(self) -> tuple[Any, Any]:
        if not self._modules:
            raise ModuleArgumentError("SequentialModule is empty: add modules first")
        return self._modules[0], self._modules[-1]

    @property
    def data_names(self) -> Any:
        """Names of the data inputs."""
        return self._ends()[0].data_names if self._modules else []

    @property
    def output_names(self) -> Any:
        """Names of the outputs."""
        return self._ends()[1].output_names if self._modules else []

    @property
    def data_shapes(self) -> Any:
        """Descriptions of the data inputs."""
        require(self.binded, "data_shapes", "bind()")
        return self._ends()[0].data_shapes

    @property
    def label_shapes(self) -> Any:
        """Descriptions of the labels; None where no module takes them."""
        require(self.binded, "label_shapes", "bind()")
        return self._label_shapes

    @property
    def output_shapes(self) -> Any:
        """Names and shapes of the outputs."""
        require(self.binded, "output_shapes", "bind()")
        return self._ends()[1].output_shapes

    def get_params(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Parameters and auxiliary states of all modules."""
        require(self.binded and self.params_initialized, "get_params", "bind() and init_params()")
        arguments: dict[str, Any] = {}
        auxiliary: dict[str, Any] = {}
        for module in self._modules:
            own_arguments, own_auxiliary = module.get_params()
            arguments.update(own_arguments)
            auxiliary.update(own_auxiliary)
        return arguments, auxiliary

    def init_params(
        self,
        initializer: Any = Uniform(0.01),  # noqa: B008 - MXNet's signature
        arg_params: Any = None,
        aux_params: Any = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Give the parameters of all modules their values; a name may occur in one module only."""
        if self.params_initialized and not force_init:
            return
        require(self.binded, "init_params", "bind()")
        for module in self._modules:
            module.init_params(
                initializer=initializer,
                arg_params=arg_params,
                aux_params=aux_params,
                allow_missing=allow_missing,
                force_init=force_init,
                allow_extra=allow_extra,
            )
        owners: dict[tuple[str, str], int] = {}
        for number, module in enumerate(self._modules):
            for kind, names in zip(("parameter", "auxiliary state"), module.get_params()):
                for name in names:
                    first = owners.setdefault((kind, name), number)
                    if first != number:
                        raise ModuleArgumentError(
                            f'Duplicated parameter names: {kind} "{name}" is in module {number} '
                            f"({type(module).__name__}) and in module {first} ({type(self._modules[first]).__name__}); "
                            "give the layers different names"
                        )
        self.params_initialized = True

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
        """Bind all modules, each for the output shapes of the one before."""
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if inputs_need_grad and not for_training:
            raise ModuleArgumentError("bind: inputs_need_grad needs for_training=True")
        if shared_module is not None:
            raise ModuleArgumentError("Shared module is not supported")
        if not self._modules:
            raise ModuleArgumentError("Attempting to bind an empty SequentialModule")
        flowing = data_shapes
        for number, (module, meta) in enumerate(zip(self._modules, self._metas)):
            if meta.get(self.META_AUTO_WIRING, False):
                names = module.data_names
                if len(names) != len(flowing):
                    raise NameMismatchError(
                        f"bind: module {number} has the inputs {list(names)}, {len(flowing)} arrays come from before it"
                    )
                flowing = [(name, tuple(one[1])) for name, one in zip(names, flowing)]
            module.bind(
                data_shapes=flowing,
                label_shapes=label_shapes if meta.get(self.META_TAKE_LABELS) else None,
                for_training=for_training,
                inputs_need_grad=inputs_need_grad or (for_training and number > 0),
                force_rebind=force_rebind,
                shared_module=None,
                grad_req=grad_req,
            )
            flowing = module.output_shapes
        takes_labels = any(meta.get(self.META_TAKE_LABELS) for meta in self._metas)
        self._label_shapes = label_shapes if takes_labels else None
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self.binded = True

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Make an optimizer for every module."""
        require(self.binded and self.params_initialized, "init_optimizer", "bind() and init_params()")
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring.")
            return
        for module in self._modules:
            module.init_optimizer(kvstore, optimizer, optimizer_params, force_init=force_init)
        self.optimizer_initialized = True

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Run a batch through the chain."""
        require(self.binded and self.params_initialized, "forward", "bind() and init_params()")
        batch = copy.copy(data_batch)
        last = self._ends()[1]
        for module in self._modules:
            module.forward(batch, is_train=is_train)
            if module is last:
                break
            batch.data = module.get_outputs()
            if hasattr(batch, "provide_data"):
                batch.provide_data = [(one[0], array.shape) for one, array in zip(module.output_shapes, batch.data)]

    def backward(self, out_grads: Any = None) -> None:
        """Compute gradients, from the last module to the first."""
        require(self.binded and self.params_initialized, "backward", "bind() and init_params()")
        for module in reversed(self._modules):
            module.backward(out_grads=out_grads)
            if module is not self._modules[0]:
                out_grads = module.get_input_grads()

    def update(self) -> None:
        """Update the parameters of all modules."""
        require(
            self.binded and self.params_initialized and self.optimizer_initialized,
            "update",
            "bind(), init_params() and init_optimizer()",
        )
        for module in self._modules:
            module.update()

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Outputs of the last module."""
        require(self.binded and self.params_initialized, "get_outputs", "bind() and init_params()")
        return self._ends()[1].get_outputs(merge_multi_context=merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Gradients of the first module's data inputs."""
        require(
            self.binded and self.params_initialized and self.inputs_need_grad,
            "get_input_grads",
            "bind(inputs_need_grad=True) and init_params()",
        )
        return self._ends()[0].get_input_grads(merge_multi_context=merge_multi_context)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Let a metric see the labels and the outputs of every module that takes labels."""
        require(self.binded and self.params_initialized, "update_metric", "bind() and init_params()")
        for module, meta in zip(self._modules, self._metas):
            if meta.get(self.META_TAKE_LABELS):
                module.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Any) -> None:
        """Watch all modules with a Monitor."""
        require(self.binded, "install_monitor", "bind()")
        for module in self._modules:
            module.install_monitor(mon)
