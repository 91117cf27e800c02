"""A module that is trained with stochastic variance-reduced gradients.

Every ``update_freq`` epochs the gradient over all data is computed at the parameters of that moment. A step then
follows ``gradient(now) - gradient(then) + full gradient(then)``, the first two of the same batch.
"""

from __future__ import annotations

import logging
from typing import Any

from gluonjax import optimizer as opt
from gluonjax.contrib.svrg_optimization.svrg_optimizer import _SVRGOptimizer
from gluonjax.module import Module as Module
from gluonjax.module._errors import ModuleArgumentError, NameMismatchError
from gluonjax.module._stores import find_store, workers
from gluonjax.module.module import CPU
from gluonjax.ndarray import NDArray, zeros


class _FrequencyTypeError(NameMismatchError, TypeError):
    """``update_freq`` is no integer."""


class SVRGModule(Module):
    """A Module with variance reduction.

    Args:
        symbol, data_names, label_names, logger, context, work_load_list, fixed_param_names, state_names, group2ctxs,
            compression_params: as for ``Module``.
        update_freq: after how many epochs the full gradient is computed anew.
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
        update_freq: int | None = None,
    ) -> None:
        options = (
            symbol, data_names, label_names, logger, context, work_load_list, fixed_param_names, state_names,
            group2ctxs, compression_params,
        )  # fmt: skip
        super().__init__(*options)
        if not isinstance(update_freq, int):
            raise _FrequencyTypeError(f"update_freq in SVRGModule must be an integer, got {update_freq!r}")
        if update_freq <= 0:
            raise ModuleArgumentError(f"update_freq in SVRGModule must be a positive integer, got {update_freq}")
        self.update_freq = update_freq
        # Holds the parameters of the last full gradient.
        self._mod_aux = Module(*options)
        self._ctx_len = len(self._context)
        # The full gradient: one dict, because one executor computes the batches of all contexts.
        self._param_dict: list[dict[str, NDArray]] = []

    def _reset_bind(self) -> None:
        super()._reset_bind()
        self._mod_aux._reset_bind()

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
        """Allocate arrays for the given input shapes, for the parameters now and then."""
        options = (
            data_shapes, label_shapes, for_training, inputs_need_grad, force_rebind, shared_module, grad_req,
        )  # fmt: skip
        super().bind(*options)
        if for_training:
            self._mod_aux.bind(*options)

    def reshape(self, data_shapes: Any, label_shapes: Any = None) -> None:
        """Allocate inputs of other shapes; parameters stay."""
        super().reshape(data_shapes, label_shapes=label_shapes)
        self._mod_aux.reshape(data_shapes, label_shapes=label_shapes)

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Make the optimizer that follows the reduced gradients; arguments as for ``Module``."""
        parameters = self.get_params()[0]
        self._param_dict = [{name: zeros(v.shape, ctx=self._context[0]) for name, v in parameters.items()}]
        wrapped = self._create_optimizer(_SVRGOptimizer.__name__, optimizer, kvstore, optimizer_params)
        super().init_optimizer(kvstore, wrapped, optimizer_params, force_init)

    def _create_optimizer(self, optimizer: str, default_opt: Any, kvstore: Any, optimizer_params: Any) -> Any:
        """The user's optimizer in the wrapper that knows the names of full gradients."""
        assert self._exec_group is not None
        names = list(self._exec_group.param_names)
        names += [f"{name}_full" for name in self._param_dict[0]]
        batch = self._exec_group.batch_size * workers(find_store(kvstore, self._ctx_len, None))
        options = {"rescale_grad": 1.0 / batch, **dict(optimizer_params)}
        return opt.create(optimizer, default_optimizer=default_opt, param_idx2name=dict(enumerate(names)), **options)

    # -- computing -------------------------------------------------------------------------------------------

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Take a batch in; in training mode also for the parameters of the last full gradient."""
        super().forward(data_batch, is_train)
        if is_train:
            self._mod_aux.forward(data_batch, is_train)

    def backward(self, out_grads: Any = None) -> None:
        """Compute both gradients of the last forward."""
        super().backward(out_grads)
        if self._mod_aux.binded:
            self._mod_aux.backward(out_grads)

    def update(self) -> None:
        """Reduce the gradients of the last backward and update the parameters with them."""
        self._update_svrg_gradients()
        super().update()

    def _update_svrg_gradients(self) -> None:
        assert self._exec_group is not None and self._mod_aux._exec_group is not None
        now, then = self._exec_group.grad_arrays, self._mod_aux._exec_group.grad_arrays
        for name, (gradient,), (before,) in zip(self._exec_group.param_names, now, then):
            if gradient is not None and before is not None:
                gradient[:] = gradient - before + self._param_dict[0][name]

    def update_full_grads(self, train_data: Any) -> None:
        """Compute the mean gradient over all batches at the present parameters.

        Args:
            train_data: an iterator.
        """
        group = self._mod_aux._exec_group
        assert group is not None
        self._mod_aux.set_params(*self.get_params())
        train_data.reset()
        # MXNet adds to what is left of the last time, and so do we.
        (totals,) = self._param_dict
        batches = pad = 0
        for batch in train_data:
            self._mod_aux.forward(batch, is_train=True)
            self._mod_aux.backward()
            for name, (gradient,) in zip(group.param_names, group.grad_arrays):
                if gradient is not None:
                    totals[name] = totals[name] + gradient
            batches, pad = batches + 1, batch.pad or 0
        for name in totals:
            totals[name] = totals[name] / (batches - pad / train_data.batch_size)

    def _train_epoch(self, train_data: Any, metric: Any, epoch: int, *rest: Any) -> None:
        if epoch % self.update_freq == 0:
            self.update_full_grads(train_data)
        train_data.reset()
        super()._train_epoch(train_data, metric, epoch, *rest)

    def prepare(self, data_batch: Any, sparse_row_id_fn: Any = None) -> None:
        """Get ready for a batch that will be processed next."""
        super().prepare(data_batch, sparse_row_id_fn=sparse_row_id_fn)
        self._mod_aux.prepare(data_batch, sparse_row_id_fn=sparse_row_id_fn)
