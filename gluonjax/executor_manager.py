"""``mx.executor_manager``: executors over several contexts, as scripts from before Module use them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gluonjax.context import Context as Context
from gluonjax.context import cpu as cpu
from gluonjax.io import DataDesc as DataDesc
from gluonjax.module import executor_group as _groups
from gluonjax.module._errors import ModuleArgumentError


class DataParallelExecutorGroup:
    """The executors of one symbol.

    Args:
        sym: the network.
        arg_names, param_names: its arguments, and those that are parameters.
        ctx: contexts.
        slices: the part of the batch that each context takes.
        train_data: an iterator, for the names and shapes of the inputs.
        shared_group: a group whose arrays are used.
    """

    def __init__(
        self,
        sym: Any,
        arg_names: Sequence[str],
        param_names: Sequence[str],
        ctx: Sequence[Context],
        slices: Sequence[slice],
        train_data: Any,
        shared_group: DataParallelExecutorGroup | None = None,
    ) -> None:
        workload = [piece.stop - piece.start for piece in slices]
        self._group = _groups.DataParallelExecutorGroup(
            sym,
            ctx,
            workload,
            train_data.provide_data,
            train_data.provide_label,
            param_names,
            True,
            False,
            None if shared_group is None else shared_group._group,
        )
        self.slices = self._group.slices
        self.param_names = list(param_names)
        self.data_names = self._group.data_names
        self.label_names = self._group.label_names
        self.aux_names = self._group.aux_names
        self.shared_data_arrays = self._group.shared_data_arrays
        self._batch: Any = None

    @property
    def train_execs(self) -> list[Any]:
        """The executors."""
        return self._group.execs

    @property
    def param_arrays(self) -> list[list[Any]]:
        """The parameters, each as a list with one array."""
        return self._group.param_arrays

    @property
    def grad_arrays(self) -> list[list[Any]]:
        """The gradients, each as a list with one array."""
        return self._group.grad_arrays

    @property
    def aux_arrays(self) -> list[list[Any]]:
        """The auxiliary states, each as a list with one array."""
        return self._group.aux_arrays

    def load_data_batch(self, data_batch: Any) -> None:
        """Take a batch in."""
        self._batch = data_batch

    def forward(self, is_train: bool = False) -> None:
        """Compute the outputs of the batch."""
        if self._batch is None:
            raise ModuleArgumentError("forward: call load_data_batch() first")
        self._group.forward(self._batch, is_train)

    def backward(self) -> None:
        """Compute the gradients."""
        self._group.backward()

    def update_metric(self, metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Let a metric see labels and outputs."""
        self._group.update_metric(metric, labels, pre_sliced)


class DataParallelExecutorManager:
    """Executors of a symbol, or of one symbol a bucket, with parameters to copy in and out.

    Args:
        symbol: the network.
        ctx: contexts.
        train_data: an iterator.
        arg_names, param_names, aux_names: arguments, parameters and auxiliary states of the symbol.
        work_load_list: each context's share of a batch.
        sym_gen: a function from a bucket key to a symbol.
    """

    def __init__(
        self,
        symbol: Any,
        ctx: Sequence[Context],
        train_data: Any,
        arg_names: Sequence[str] | None,
        param_names: Sequence[str] | None,
        aux_names: Sequence[str] | None,
        work_load_list: Sequence[float] | None = None,
        logger: Any = None,
        sym_gen: Callable[[Any], Any] | None = None,
    ) -> None:
        self.ctx = list(ctx)
        workload = [1] * len(self.ctx) if work_load_list is None else list(work_load_list)
        if len(workload) != len(self.ctx):
            raise ModuleArgumentError(f"work_load_list has {len(workload)} entries for {len(self.ctx)} contexts")
        inputs = {one[0] for one in [*train_data.provide_data, *train_data.provide_label]}
        self.symbol, self.sym_gen = symbol, sym_gen
        self.arg_names = list(arg_names or symbol.list_arguments())
        self.param_names = list(param_names or [name for name in self.arg_names if name not in inputs])
        self.aux_names = list(aux_names or symbol.list_auxiliary_states())
        self.slices = _groups.slices_of(train_data.batch_size, workload)
        self._logger = logger or logging
        self.execgrp = DataParallelExecutorGroup(
            symbol, self.arg_names, self.param_names, self.ctx, self.slices, train_data
        )
        self.curr_execgrp = self.execgrp
        self.execgrp_bucket = {getattr(train_data, "default_bucket_key", None): self.execgrp}
        self._monitor: Any = None

    @property
    def param_arrays(self) -> list[list[Any]]:
        """The parameters, each as a list with one array."""
        return self.execgrp.param_arrays

    @property
    def grad_arrays(self) -> list[list[Any]]:
        """The gradients, each as a list with one array."""
        return self.curr_execgrp.grad_arrays

    @property
    def aux_arrays(self) -> list[list[Any]]:
        """The auxiliary states, each as a list with one array."""
        return self.execgrp.aux_arrays

    def install_monitor(self, monitor: Any) -> None:
        """Watch the executors with a Monitor; not together with buckets."""
        if self.sym_gen is not None:
            raise ModuleArgumentError(
                "Monitoring is not implemented for bucketing; watch one bucket's executors instead"
            )
        self.execgrp._group.install_monitor(monitor)

    def set_params(self, arg_params: Mapping[str, Any], aux_params: Mapping[str, Any]) -> None:
        """Copy values into parameters and auxiliary states."""
        self.execgrp._group.set_params(arg_params, aux_params, allow_extra=True)

    def copy_to(self, arg_params: Mapping[str, Any], aux_params: Mapping[str, Any]) -> None:
        """Copy parameters and auxiliary states out, into existing arrays."""
        group = self.execgrp._group
        group.flush_family()
        for arrays, targets in ((group.args, arg_params), (group.auxs, aux_params)):
            for name, target in targets.items():
                arrays[name].astype(target.dtype).copyto(target)

    def load_data_batch(self, data_batch: Any) -> None:
        """Take a batch in, under the symbol of its bucket."""
        if self.sym_gen is not None:
            key = data_batch.bucket_key
            if key not in self.execgrp_bucket:
                self.execgrp_bucket[key] = DataParallelExecutorGroup(
                    self.sym_gen(key), self.arg_names, self.param_names, self.ctx, self.slices, data_batch, self.execgrp
                )
            self.curr_execgrp = self.execgrp_bucket[key]
        self.curr_execgrp.load_data_batch(data_batch)

    def forward(self, is_train: bool = False) -> None:
        """Compute the outputs of the batch."""
        self.curr_execgrp.forward(is_train=is_train)

    def backward(self) -> None:
        """Compute the gradients."""
        self.curr_execgrp.backward()

    def update_metric(self, metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Let a metric see labels and outputs."""
        self.curr_execgrp.update_metric(metric, labels, pre_sliced)
