"""The arrays and the executor of a module, and what of a training step has been asked for so far.

A batch is taken in at once; running is put off until a result is wanted, so that forward, backward and update can be
one program. Contexts that are one device (or labels of it) share a single executor over the whole batch; so do
distinct devices, over which a fused step then deals out the batch (``_mesh.py``).
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from gluonjax._base.devices import Context
from gluonjax._base.dtypes import is_floating, to_dtype
from gluonjax._base.errors import MXNetError, did_you_mean
from gluonjax._engine.heads import needs_head
from gluonjax.executor import NEEDS_HEAD, Executor
from gluonjax.io import DataDesc
from gluonjax.module._binding import ArrayPlan, contexts_of_groups, requests_of
from gluonjax.module._errors import ModuleArgumentError, ModuleStateError, NameMismatchError, UnknownLabelError
from gluonjax.module._slices import batch_axis, deal, gather, slices_of
from gluonjax.ndarray import NDArray
from gluonjax.ndarray._invoke import new_handle


class DataParallelExecutorGroup:
    """One bound executor with bookkeeping; ``execs`` lists it as MXNet's data-parallel group does.

    Args:
        symbol: the network.
        contexts, workload: where to run, and each context's share of a batch.
        data_shapes, label_shapes: descriptions of the inputs.
        param_names: arguments that are parameters.
        shared_group: a group whose parameters, gradients and inputs are used.
        grad_req: 'write', 'add' or 'null'; for all, as a list, or by name.
        group2ctxs: contexts by ``ctx_group``.
    """

    def __init__(
        self,
        symbol: Any,
        contexts: Sequence[Context],
        workload: Sequence[float] | None,
        data_shapes: Sequence[Any],
        label_shapes: Sequence[Any] | None,
        param_names: Sequence[str],
        for_training: bool,
        inputs_need_grad: bool,
        shared_group: DataParallelExecutorGroup | None = None,
        logger: Any = logging,
        fixed_param_names: Sequence[str] | None = None,
        grad_req: Any = "write",
        state_names: Sequence[str] | None = None,
        group2ctxs: Any = None,
    ) -> None:
        self.symbol = symbol
        self.contexts = list(contexts)
        self.workload = list(workload or [1] * len(self.contexts))
        self.logger = logger
        self.param_names = list(param_names)
        self.fixed_param_names = list(fixed_param_names or ())
        self.state_names = list(state_names or ())
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        self.arg_names = symbol.list_arguments()
        self.aux_names = symbol.list_auxiliary_states()
        self.output_names = symbol.list_outputs()
        self.output_axes = [batch_axis(symbol[index].attr("__layout__")) for index in range(len(self.output_names))]
        self._placing = contexts_of_groups(symbol, group2ctxs, self.contexts)
        data = [one[0] for one in data_shapes]
        self.grad_req = requests_of(
            grad_req, self.arg_names, self.param_names, self.fixed_param_names, data, for_training, inputs_need_grad
        )
        pool = {} if shared_group is None else shared_group.shared_data_arrays[0]
        self.shared_data_arrays: list[dict[str, NDArray]] = [pool for _ in self.contexts]
        # Groups that share parameters: whatever one of them put off must run before another changes an array.
        self._family: weakref.WeakSet[Any] = weakref.WeakSet() if shared_group is None else shared_group._family
        self._family.add(self)
        self.monitor: Any = None
        self.gradients_wanted = False
        self.pending: str | None = None
        self.is_train = False
        # Results of a fused step, which the executor has not seen.
        self._unseen: Sequence[Any] | None = None
        self._outputs: list[NDArray] | None = None
        self.bind_exec(data_shapes, label_shapes, shared_group)

    # -- binding ---------------------------------------------------------------------------------------------

    def decide_slices(self, data_shapes: Sequence[Any]) -> list[int]:
        """Deal the batch out to the contexts; returns the batch axis of every input."""
        axes = [batch_axis(getattr(one, "layout", "NCHW")) for one in data_shapes]
        sizes = {tuple(one[1])[axis] for one, axis in zip(data_shapes, axes) if axis >= 0}
        if len(sizes) > 1:
            raise ModuleArgumentError(
                f"all data must have the same batch size, got {[(one[0], tuple(one[1])) for one in data_shapes]}"
            )
        if sizes:
            self.batch_size = sizes.pop()
            self.slices = slices_of(self.batch_size, self.workload)
        return axes

    def bind_exec(
        self,
        data_shapes: Sequence[Any],
        label_shapes: Sequence[Any] | None,
        shared_group: DataParallelExecutorGroup | None = None,
        reshape: bool = False,
    ) -> None:
        """Allocate arrays for these inputs and make the executor; parameters that exist are kept."""
        data, labels = _described(data_shapes), _described(label_shapes or ())
        unknown = [one.name for one in labels if one.name not in self.arg_names]
        if unknown:
            raise UnknownLabelError(
                f"bind: label_shapes names {unknown}, but the symbol's inputs are {self.arg_names}"
                f"{did_you_mean(unknown[0], self.arg_names)}"
            )
        self.flush()
        before = self if reshape else shared_group
        plan = ArrayPlan(self, data, labels, before)
        axes = self.decide_slices(data)
        if labels:
            axes = [*axes, *self.decide_slices(labels)]
        self.data_shapes, self.label_shapes = data, (labels or None)
        self.data_names, self.label_names = [one.name for one in data], [one.name for one in labels]
        self.input_axes = dict(zip([*self.data_names, *self.label_names], axes))
        self.shapes_of_data = [tuple(one.shape) for one in data]
        self.args, self.grads, self.auxs = plan.arrays()
        old = getattr(self, "executor", None)
        self.executor: Executor = self.symbol.bind(self.contexts[0], self.args, self.grads, self.grad_req, self.auxs)
        self.executor.grad_req = self.grad_req  # type: ignore[attr-defined]  # MXNet's executors carry it
        self._output_shapes, self._output_types = plan.output_shapes, plan.output_types
        self._lacks_heads: bool | None = None
        self._unseen = None
        self._outputs = None
        if reshape and old is not None:
            # A callback that was set on the executor itself goes on watching, as in MXNet.
            self.executor._monitor = old._monitor
        if self.monitor is not None:
            self.monitor.exes = [one for one in self.monitor.exes if one is not old]
            self.monitor.install(self.executor)

    def reshape(self, data_shapes: Sequence[Any], label_shapes: Sequence[Any] | None) -> None:
        """Bind for other input shapes; parameters, gradients and states are kept."""
        self.bind_exec(data_shapes, label_shapes, reshape=True)

    def get_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the outputs."""
        return list(zip(self.output_names, self._output_shapes))

    # -- arrays ----------------------------------------------------------------------------------------------

    @property
    def execs(self) -> list[Executor]:
        """The executors; what they hold is up to date. Later steps keep it so, which means running in parts."""
        self._settle()
        return [self.executor]

    @property
    def param_arrays(self) -> list[list[NDArray]]:
        """The parameters, each as a list with one array."""
        self.flush_family()
        return [[self.args[name]] for name in self.param_names if name in self.args]

    @property
    def grad_arrays(self) -> list[list[NDArray | None]]:
        """The gradients of the parameters, each as a list with one array."""
        self._settle()
        return [[self.grads.get(name)] for name in self.param_names if name in self.args]

    @property
    def aux_arrays(self) -> list[list[NDArray]]:
        """The auxiliary states, each as a list with one array."""
        self.flush()
        return [[self.auxs[name]] for name in self.aux_names]

    @property
    def input_grad_arrays(self) -> list[list[NDArray | None]]:
        """The gradients of the data inputs, each as a list with one array."""
        self._settle()
        return [[self.grads.get(name)] for name in self.data_names]

    def set_params(
        self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray], allow_extra: bool = False
    ) -> None:
        """Copy values into parameters and auxiliary states."""
        self.flush_family()
        try:
            self.executor.copy_params_from(arg_params, aux_params, allow_extra_params=allow_extra)
        except ValueError as error:
            raise NameMismatchError(str(error)) from None

    def get_params(self, arg_params: dict[str, NDArray], aux_params: dict[str, NDArray]) -> None:
        """Put copies of parameters and auxiliary states, on the CPU, into two dicts."""
        self.flush()
        for names, arrays, target in (
            (self.param_names, self.args, arg_params),
            (self.aux_names, self.auxs, aux_params),
        ):
            target.update({name: arrays[name].copyto(Context("cpu")) for name in names if name in arrays})

    # -- a step in parts -------------------------------------------------------------------------------------

    def load(self, batch: Any) -> None:
        """Put a batch into the input arrays."""
        self.flush_family()
        labels = getattr(batch, "label", None) or ()
        for names, values in ((self.data_names, batch.data), (self.label_names, labels)):
            for name, value in zip(names, values):
                target = self.args.get(name)
                if target is not None:
                    _put(name, value, target)

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Take a batch in; the outputs are computed when something of them is needed."""
        self.load(data_batch)
        self.is_train = self.for_training if is_train is None else bool(is_train)
        self.pending = "forward"
        self._outputs = None
        self._unseen = None
        if self.monitor is not None or self.executor._monitor is not None:
            self.flush()

    def backward(self, out_grads: Any = None) -> None:
        """Ask for a backward of the last forward."""
        if not self.for_training:
            raise ModuleStateError("re-bind with for_training=True to run backward")
        if self.pending == "forward" and out_grads is None and self.is_train:
            if self._heads_missing():
                raise MXNetError(NEEDS_HEAD)
            self.pending = "forward_backward"
            return
        self.flush()
        heads = None
        if out_grads is not None:
            given = [out_grads] if isinstance(out_grads, NDArray) else list(out_grads)
            heads = [gather(one, axis, self.contexts[0]) for one, axis in zip(given, self.output_axes)]
        self.executor.backward(heads)

    def _heads_missing(self) -> bool:
        """True where an output is no loss, so that backward needs its head gradient."""
        if self._lacks_heads is None:
            bound = self.executor._bound
            reaching = self.executor._reaching()
            arrays = [*bound.arguments, *bound.auxiliary]
            nodes = (*bound.graph.arguments, *bound.graph.auxiliary)
            known = {id(node): to_dtype(array.dtype) for node, array in zip(nodes, arrays)}
            self._lacks_heads = False
            for index, (node, _) in enumerate(bound.graph.entries):
                own = to_dtype(self._output_types[index])
                if not is_floating(own) or id(node) not in reaching:
                    continue
                dtypes = [known.get(id(source), own) for source, _ in node.inputs]
                if needs_head(bound.graph, index, True, [bound.shapes.get(one) for one in node.inputs], dtypes):
                    self._lacks_heads = True
                    break
        return self._lacks_heads

    def flush(self) -> None:
        """Run what has been asked for."""
        pending, self.pending = self.pending, None
        if pending is None:
            return
        # Handles of their own: the executor's are written again at its next forward.
        self._outputs = [new_handle(NDArray, out._value, out.context) for out in self.executor.forward(self.is_train)]
        if pending == "forward_backward":
            self.executor.backward()

    def flush_family(self) -> None:
        """Run what any group with the same parameters has been asked for: an array is about to change."""
        for group in list(self._family):
            group.flush()

    def finish_step(self, outputs: list[NDArray]) -> None:
        """A fused step has run everything, and left these outputs."""
        self.pending = None
        self._outputs = outputs
        self._unseen = [one._value for one in outputs]

    def _settle(self) -> None:
        """Make the executor's outputs and gradients those of the last step, and keep it so from now on."""
        self.gradients_wanted = True
        self.flush()
        unseen, self._unseen = self._unseen, None
        if unseen is not None:
            self.executor._show(unseen)

    # -- results ---------------------------------------------------------------------------------------------

    def outputs(self) -> list[NDArray]:
        """Outputs of the last forward."""
        self.flush()
        if self._outputs is None:
            self._outputs = list(self.executor.outputs)
        return self._outputs

    def get_outputs(self, merge_multi_context: bool = True, begin: int = 0, end: int | None = None) -> list[Any]:
        """Outputs of the last forward; not merged, a list of one array per context for each."""
        chosen = slice(begin, end)
        return self._shown(self.outputs()[chosen], self.output_axes[chosen], merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Gradients of the data inputs."""
        if not self.inputs_need_grad:
            raise ModuleStateError("get_input_grads: bind with inputs_need_grad=True first")
        self._settle()
        arrays = [self.grads.get(name) for name in self.data_names]  # None where grad_req is "null"
        return self._shown(arrays, [self.input_axes[name] for name in self.data_names], merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """The values of the state inputs."""
        self.flush()
        return self._shown(
            [self.args[name] for name in self.state_names], [0] * len(self.state_names), merge_multi_context
        )

    def _shown(self, arrays: Sequence[NDArray | None], axes: Sequence[int], merged: bool) -> list[Any]:
        if merged:
            return list(arrays)
        return [
            [None] * len(self.contexts) if array is None else deal(array, axis, self.slices, self.contexts)
            for array, axis in zip(arrays, axes)
        ]

    def set_states(self, states: Any = None, value: Any = None) -> None:
        """Set the state inputs: to given arrays, or all to one number."""
        if (states is None) == (value is None):
            raise ModuleArgumentError("At least one of states & value must be specified, and not both.")
        self.flush_family()
        for index, name in enumerate(self.state_names):
            self.args[name][:] = value if states is None else gather(states[index], 0, self.contexts[0])

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool) -> None:
        """Let a metric see labels and outputs by name."""
        if pre_sliced:
            axes = [self.input_axes[name] for name in self.label_names]
            labels = [gather(list(parts), axis, self.contexts[0]) for parts, axis in zip(zip(*labels), axes)]
        named = dict(zip(self.label_names, labels or ()))
        eval_metric.update_dict(named, dict(zip(self.output_names, self.outputs())))

    def install_monitor(self, mon: Any) -> None:
        """Watch the executor; steps run in parts from now on."""
        self.flush()
        self.monitor = mon
        mon.install(self.executor)


def _described(shapes: Sequence[Any]) -> list[DataDesc]:
    return [one if isinstance(one, DataDesc) else DataDesc(*one) for one in shapes]


def _put(name: str, value: Any, target: NDArray) -> None:
    """Give an input its new content, without a copy where nothing differs: contents never change in place."""
    if tuple(value.shape) != target.shape:
        raise MXNetError(
            f"forward: '{name}' has shape {tuple(value.shape)}, the module is bound for {target.shape}; give the batch "
            "provide_data and provide_label, or call reshape()"
        )
    same = isinstance(value, NDArray) and value.stype == "default" and value.context is target.context
    if same and value.dtype == target.dtype:
        target._write(value._value)
    else:
        target[:] = value
