"""Executors: a symbol with the arrays it computes from, compiled once per training mode."""

from __future__ import annotations

import collections
import functools
import operator
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from gluonjax._base.devices import Context
from gluonjax._base.dtypes import is_floating, to_dtype
from gluonjax._base.errors import ArgumentTypeError, ArgumentValueError, MXNetError
from gluonjax._base.scopes import modes
from gluonjax._engine import infer, rng
from gluonjax._engine.cold import run_cold
from gluonjax._engine.graph import Graph, Node, edits
from gluonjax._engine.heads import needs_head
from gluonjax._engine.lower import Lowered, lower
from gluonjax._engine.merge import merge_equal
from gluonjax._engine.op_by_op import OpByOp
from gluonjax._engine.profile import recorder
from gluonjax._engine.pullback import Pullback, apply_pullback
from gluonjax._engine.run import Kernel
from gluonjax._engine.tape import is_number
from gluonjax._executor_monitor import Watch, values_of
from gluonjax._ops.opdef import zero_grad
from gluonjax.ndarray import _sparse_graph
from gluonjax.ndarray._creation import zeros
from gluonjax.ndarray._invoke import cast
from gluonjax.ndarray.ndarray import NDArray, _move, wrap

NEEDS_HEAD = (
    "Because the last operator is not Loss function, head_gradient is required when calling backward. If "
    "you are "
    "attempting to minimize the output as an objective, please modify your network and pass it through the "
    "make_loss "
    "symbol."
)

# Graphs above these sizes keep residuals from the start; smaller ones may be interpreted and differentiated
# later.
_MANY_NODES = 300
# Steps after which a set of wanted gradients gets a program of its own.
_OFTEN = 50
_MANY_ELEMENTS = 1_000_000


# Symbols that are built anew (unrolled cells, say) compute the same under other names: their programs are shared.
_MOST_SHARED = 64
_shared: collections.OrderedDict[Any, Kernel] = collections.OrderedDict()


def _kernel_of(name: str, lowered: Lowered) -> Kernel:
    """The kernel of a graph's function, or that of an equal graph."""
    key = None if lowered.structure is None else (lowered.internals is None, edits.count, lowered.structure)
    found = None if key is None else _shared.get(key)
    if found is None:
        found = Kernel(name, lowered.__call__, host=lowered.host, steady=lowered.samples)
        if key is not None:
            _shared[key] = found
            while len(_shared) > _MOST_SHARED:
                _shared.popitem(last=False)
    return found


@dataclass
class Bound:
    """What ``Symbol.bind`` hands to an executor: a graph with its arrays, in the graph's order."""

    graph: Graph
    arguments: list[NDArray]
    gradients: list[NDArray | None]
    auxiliary: list[NDArray]
    shapes: infer.ShapeTable


class Executor:
    """Computes a symbol and its gradients from bound arrays; made by ``bind`` and ``simple_bind``.

    Args:
        handle: graph and arrays.
        symbol: what is computed.
        ctx: where.
        grad_req: 'write', 'add' or 'null' for every argument.
        group2ctx: accepted; one executor computes on one context.
    """

    def __init__(
        self, handle: Bound, symbol: Any, ctx: Context, grad_req: list[str], group2ctx: Any = None
    ) -> None:
        self._bound = handle
        self._symbol = symbol
        self._ctx = ctx
        self._grad_req = grad_req
        self._group2ctx = group2ctx
        self.arg_arrays = handle.arguments
        self.grad_arrays = handle.gradients
        self.aux_arrays = handle.auxiliary
        self._outputs: list[NDArray] | None = None
        self._values: list[Any] | None = None
        self._pullback: Any = None
        self._trained = False
        # Whether forward passes must all run in the same way.
        self._settled = False
        self._monitor: Watch | None = None
        self._merges = os.environ.get("MXNET_ELIMINATE_COMMON_EXPR", "1") != "0"
        self._open_shapes = handle.shapes.overrides()
        self._kernels: dict[tuple[bool, bool, int], Kernel] = {}

    # -- arrays ----------------------------------------------------------------------------------------------

    @property
    def arg_dict(self) -> dict[str, NDArray]:
        """Arguments by name."""
        return _by_name([node.name for node in self._bound.graph.arguments], self.arg_arrays)

    @property
    def grad_dict(self) -> dict[str, NDArray | None]:
        """Gradient arrays by argument name; None where none is computed."""
        return _by_name([node.name for node in self._bound.graph.arguments], self.grad_arrays)

    @property
    def aux_dict(self) -> dict[str, NDArray]:
        """Auxiliary states by name."""
        return _by_name([node.name for node in self._bound.graph.auxiliary], self.aux_arrays)

    @property
    def output_dict(self) -> dict[str, NDArray]:
        """Outputs by name."""
        return _by_name(self._bound.graph.output_names, self.outputs)

    @property
    def outputs(self) -> list[NDArray]:
        """The outputs of the last ``forward``; before the first one, of the arrays as they are."""
        if self._outputs is None:
            lowered = self._lowered(False)
            self._show(
                self._kernel(False).run(self._gather(lowered, False), self._ctx.is_host)[
                    : lowered.output_count
                ]
            )
        assert self._outputs is not None
        return self._outputs

    def _show(self, results: Sequence[Any]) -> None:
        """Write results into the output arrays: whoever holds one sees the new values, as in MXNet."""
        old = self._outputs
        if old is None or any(
            a.shape != r.shape or to_dtype(a.dtype) != r.dtype for a, r in zip(old, results)
        ):
            self._outputs = [wrap(result, self._ctx) for result in results]
            self._present_sparse()
            return
        for array, result in zip(old, results):
            array._write(result)

    def _present_sparse(self) -> None:
        """Give outputs the storage types that follow from those of the arguments."""
        graph, arrays = self._bound.graph, (*self.arg_arrays, *self.aux_arrays)
        stypes = {node.name: array.stype for node, array in zip((*graph.arguments, *graph.auxiliary), arrays)}
        if self._outputs is not None and _sparse_graph.may_be_sparse(graph, stypes):
            values = _sparse_graph.value_stypes(graph, stypes, self._bound.shapes)
            self._outputs = _sparse_graph.present(self._outputs, graph, values)

    # -- running ---------------------------------------------------------------------------------------------

    def _overrides(self) -> dict[int, tuple[int, ...]]:
        """Shapes of constants whose dimensions their users determined, by position in the graph."""
        return self._open_shapes

    def _lowered(self, train: bool, internals: bool = False) -> Lowered:
        return lower(self._bound.graph, train, self._overrides(), internals)

    def _kernel(self, train: bool, internals: bool = False) -> Kernel:
        mine = self._kernels.get((train, internals, edits.count))
        if mine is None:
            lowered = self._lowered(train, internals)
            # Executors of one symbol share compiled programs: rebinding and reshaping cost nothing twice.
            programs = self._bound.graph.programs
            mine = programs.get(("kernel", id(lowered)))
            if mine is None:
                mine = programs[("kernel", id(lowered))] = _kernel_of(self._symbol.name or "graph", lowered)
            self._kernels[train, internals, edits.count] = mine
        return mine

    def _gather(self, lowered: Lowered, draw: bool = True) -> list[Any]:
        values = [
            array._value if array.context is self._ctx else _move(array._value, array.context, self._ctx)
            for array in (*self.arg_arrays, *self.aux_arrays)
        ]
        if lowered.uses_key:
            values.append(rng.take_keys(lowered.key_count) if draw else np.zeros(2, np.uint32))
        return values

    def _requested(self, kind: Callable[[np.dtype], bool]) -> tuple[int, ...]:
        """Positions of the arguments of such dtypes that have a gradient array and ask for a gradient."""
        return tuple(
            index
            for index, (array, gradient, request) in enumerate(
                zip(self.arg_arrays, self.grad_arrays, self._grad_req)
            )
            if request != "null" and gradient is not None and kind(to_dtype(array.dtype))
        )

    def _wanted(self) -> tuple[int, ...]:
        """Positions of the arguments whose gradients are computed."""
        return self._requested(is_floating)

    def _whole(self) -> tuple[int, ...]:
        """Positions of the arguments of whole numbers that have a gradient array."""
        return self._requested(lambda dtype: is_number(dtype) and not is_floating(dtype))

    def forward(self, is_train: bool = False, **kwargs: Any) -> list[NDArray]:
        """Compute the outputs.

        Args:
            is_train: training mode; ``backward`` may follow, and auxiliary states are updated.
            kwargs: new contents of arguments by name, NDArrays or NumPy arrays.
        """
        if kwargs:
            self._load(kwargs)
        train = bool(is_train)
        lowered, kernel = self._lowered(train), self._kernel(train)
        values = self._gather(lowered)
        count = lowered.output_count
        self._pullback = None
        wanted = self._wanted() if train else ()
        whole = self._whole() if train else ()
        by_parts = recorder.op_by_op or (train and lowered.passes_whole_numbers(whole))
        if by_parts:
            wanted = tuple(sorted((*wanted, *whole)))
        watch = self._monitor
        if watch is not None and not wanted:
            shown = self._lowered(train, True)
            results = self._kernel(train, True).run(values, self._ctx.is_host)
            assert shown.internals is not None
            entries = [(id(node), index) for node, index in shown.internals.entries]
            watch.forward(self._bound.graph, dict(zip(entries, results[count + len(self.aux_arrays) :])))
        elif watch is not None or by_parts:
            # Watched and timed training steps run operator by operator, so that backward has parts to show; so do
            # graphs in which gradients pass through whole numbers.
            parts = OpByOp(lowered, values, self._ctx.is_host)
            results = parts.forward()
            if watch is not None:
                watch.forward(self._bound.graph, values_of(parts, self._bound.graph, values))
            seen = None if watch is None else watch.backward
            self._pullback = Pullback(functools.partial(parts.backward, wanted=wanted, seen=seen), wanted)
        elif (
            self._ctx.is_host and not self._settled
            and (cold := run_cold(kernel, lowered, values, wanted)) is not None
        ):  # fmt: skip
            results, pull = cold
            if wanted:
                self._pullback = Pullback(pull, wanted)
        elif wanted and self._keeps_residuals(kernel, values):
            differentiated = self._differentiated(kernel, wanted, count)
            results, self._pullback = kernel.with_pullback(values, differentiated, count)
            if differentiated != wanted:
                chosen = operator.itemgetter(*map(differentiated.index, wanted), 0)
                pullback = self._pullback
                self._pullback = Pullback(lambda heads: chosen(apply_pullback(pullback, heads))[:-1], wanted)
        else:
            results = kernel.run(values, self._ctx.is_host, None if values else self._ctx.jax_device)
        problem = lowered.problem(results)
        if problem is not None:
            results = kernel.fail(problem, values)
        self._values, self._trained = values, train
        self._show(results[:count])
        if train:
            for array, value in zip(self.aux_arrays, results[count:]):
                array._write(value)
        return self.outputs

    def _differentiated(self, kernel: Kernel, wanted: tuple[int, ...], count: int) -> tuple[int, ...]:
        """The arguments whose gradients the compiled program gives: the wanted ones, or all.

        Executors of one symbol that want different gradients share a program that gives all of them, until one of
        the sets has been asked for so often that a program of its own is worth compiling.
        """
        asked = kernel.asked
        asked[wanted] = asked.get(wanted, 0) + 1
        if len(asked) == 1 or asked[wanted] > _OFTEN or kernel.has_pullback(wanted, count):
            return wanted
        return tuple(i for i, array in enumerate(self.arg_arrays) if is_floating(to_dtype(array.dtype)))

    def _settle(self, train: bool, calls: int) -> None:
        """Let that many forward passes run in one tier of the engine."""
        kernel = self._kernel(train)
        self._settled = True
        if not kernel.host and self._ctx.is_host:
            kernel.settle(self._gather(self._lowered(train), draw=False), calls)

    def _load(self, arrays: Mapping[str, Any]) -> None:
        table = self.arg_dict
        for name, array in arrays.items():
            if not isinstance(array, (NDArray, np.ndarray)):
                raise ArgumentValueError(
                    f"only accept keyword argument of NDArrays and numpy.ndarray, got {name}={array!r}"
                )
            if name not in table:
                raise ArgumentTypeError(f"Unknown argument {name}")
            if table[name].shape != array.shape:
                raise ArgumentValueError(
                    f"Shape not match! Argument {name}, need: {table[name].shape}, received: {array.shape}"
                )
            table[name][:] = array

    def _keeps_residuals(self, kernel: Kernel, values: Sequence[Any]) -> bool:
        if kernel.host:
            return False
        large = (
            not self._ctx.is_host
            or len(self._bound.graph.order) > _MANY_NODES
            or sum(value.size for value in values) > _MANY_ELEMENTS
        )
        if not large and kernel.interprets(values):
            return False
        return all(is_floating(dtype) for dtype in self._output_dtypes(values))

    def _output_dtypes(self, values: Sequence[Any]) -> tuple[np.dtype, ...]:
        programs = self._bound.graph.programs
        lowered = self._lowered(False)
        key = ("output dtypes", id(lowered), *((value.shape, value.dtype) for value in values))
        if key not in programs:
            with jax.enable_x64(True):
                results = jax.eval_shape(
                    lowered.__call__, *(jax.ShapeDtypeStruct(v.shape, v.dtype) for v in values)
                )
            programs[key] = tuple(np.dtype(result.dtype) for result in results[: lowered.output_count])
        return programs[key]

    def backward(self, out_grads: Any = None, is_train: bool = True) -> None:
        """Compute gradients of the arguments, into the gradient arrays.

        Args:
            out_grads: head gradients: an NDArray, a list, or a dict by output name. Loss operators need none.
            is_train: training mode of the forward pass, where none was run.
        """
        if self._values is None:
            self.forward(is_train)
        values, outputs, wanted = self._values, self.outputs, self._wanted()
        assert values is not None
        if isinstance(self._pullback, Pullback) and self._pullback.wanted is not None:
            wanted = self._pullback.wanted
        heads = self._heads(out_grads, outputs, values)
        self._clear_whole_number_gradients()
        if not wanted:
            return
        if self._pullback is not None:
            gradients = apply_pullback(self._pullback, tuple(heads))
        else:
            present = tuple(i for i, output in enumerate(outputs) if is_floating(to_dtype(output.dtype)))
            kernel = self._kernel(self._trained).backward(wanted, present, len(values))
            gradients = kernel.run([*values, *(heads[i] for i in present)], self._ctx.is_host)
        for index, value in zip(wanted, gradients):
            self._deliver(index, value)

    def _deliver(self, index: int, value: Any) -> None:
        target = self.grad_arrays[index]
        assert target is not None
        value = _move(value, self._ctx, target.context) if target.context is not self._ctx else value
        if value.dtype != to_dtype(target.dtype):
            value = cast(value, to_dtype(target.dtype), target.context.is_host)
        if self._grad_req[index] == "add":
            target._accumulate(value)
        else:
            target._write(value)

    def _clear_whole_number_gradients(self) -> None:
        for array, gradient, request in zip(self.arg_arrays, self.grad_arrays, self._grad_req):
            if request == "write" and gradient is not None and not is_floating(to_dtype(array.dtype)):
                gradient[:] = 0

    def _heads(self, given: Any, outputs: Sequence[NDArray], values: Sequence[Any]) -> list[Any]:
        if given is None:
            grads: list[Any] = []
        elif isinstance(given, NDArray):
            grads = [given]
        elif isinstance(given, Mapping):
            grads = [given[name] for name in self._bound.graph.output_names]
        else:
            grads = list(given)
        for grad in grads:
            if grad is not None and not isinstance(grad, NDArray):
                raise ArgumentTypeError(f"inputs must be NDArray: out_grads has {type(grad)}")
        heads = []
        for index, output in enumerate(outputs):
            grad = grads[index] if index < len(grads) else None
            dtype = to_dtype(output.dtype)
            if grad is None:
                if is_floating(dtype) and self._wanted() and self._head_needed(index):
                    raise MXNetError(NEEDS_HEAD)
                if not is_floating(dtype) and isinstance(self._pullback, Pullback):
                    heads.append(None)  # outputs of whole numbers do not disturb those that are losses
                    continue
                heads.append(np.ones(output.shape, dtype) if self._ctx.is_host else _ones(output))
                continue
            if grad.shape != output.shape:
                if not self._head_needed(index):  # MXNet does not look at it
                    heads.append(np.ones(output.shape, dtype) if self._ctx.is_host else _ones(output))
                    continue
                raise MXNetError(
                    f"backward: the head gradient of output {index} "
                    f"({self._bound.graph.output_names[index]}) has shape "
                    f"{grad.shape}, the output has {output.shape}"
                )
            value = (
                _move(grad._value, grad.context, self._ctx) if grad.context is not self._ctx else grad._value
            )
            heads.append(value if value.dtype == dtype else cast(value, dtype, self._ctx.is_host))
        return heads

    def _head_needed(self, output: int) -> bool:
        node = self._bound.graph.entries[output][0]
        table = self._bound.shapes
        if id(node) not in self._reaching():
            return False
        known = {
            id(n): to_dtype(a.dtype)
            for n, a in zip(
                (*self._bound.graph.arguments, *self._bound.graph.auxiliary),
                (*self.arg_arrays, *self.aux_arrays),
            )
        }
        floats = [known.get(id(source), to_dtype(self.outputs[output].dtype)) for source, _ in node.inputs]
        return needs_head(
            self._bound.graph, output, self._trained, [table.get(e) for e in node.inputs], floats
        )

    def _reaching(self) -> set[int]:
        """Nodes through which a gradient could flow to an argument that wants one."""
        wanted = {id(self._bound.graph.arguments[index]) for index in self._wanted()}
        for node in self._bound.graph.order:
            if (
                node.op is not None
                and node.op.grad is not zero_grad
                and any(id(s) in wanted for s, _ in node.inputs)
            ):
                wanted.add(id(node))
        return wanted

    # -- monitoring ------------------------------------------------------------------------------------------

    def set_monitor_callback(
        self, callback: Callable[[str, NDArray], Any] | None, monitor_all: bool = False
    ) -> None:
        """Call ``callback(name, array)`` for every output of every operator at each ``forward``.

        Args:
            monitor_all: also for the inputs of every operator.
        """
        self._monitor = None if callback is None else Watch(callback, monitor_all, self._ctx)

    # -- parameters and shapes -------------------------------------------------------------------------------

    def copy_params_from(
        self,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray] | None = None,
        allow_extra_params: bool = False,
    ) -> None:
        """Copy values into the arguments and auxiliary states; dtypes of the executor stay.

        Raises ValueError for a name that the symbol does not have, unless ``allow_extra_params``.
        """
        for what, given, table in (
            ("arguments", arg_params, self.arg_dict),
            ("auxiliary states", aux_params or {}, self.aux_dict),
        ):
            for name, array in given.items():
                if name in table:
                    array.astype(table[name].dtype, copy=False).copyto(table[name])
                elif not allow_extra_params:
                    raise ArgumentValueError(f'Find name "{name}" that is not in the {what}')

    def reshape(
        self, partial_shaping: bool = False, allow_up_sizing: bool = False, **kwargs: Any
    ) -> Executor:
        """An executor of the same symbol for other shapes that shares memory with this one where it can.

        Args:
            partial_shaping: allow arguments that are not named to change their shapes.
            allow_up_sizing: allow new, larger arrays.
            kwargs: new shapes by argument name.
        """
        graph = self._bound.graph
        names = {node.name for node in graph.variables}
        known = {
            name: infer.from_user(tuple(s), modes.np_shape) for name, s in kwargs.items() if name in names
        }
        unknown = sorted(set(kwargs) - names)
        if unknown:
            raise MXNetError(f"reshape: {unknown[0]} is no argument; arguments are {sorted(names)}")
        shapes = infer.infer_shapes(graph, known, modes.np_shape)

        def fit(node: Node, array: NDArray | None) -> NDArray | None:
            shape = shapes.get((node, 0))
            if not infer.is_complete(shape):
                raise MXNetError(
                    f"reshape: cannot infer the shape of {node.name}; give the shapes of more inputs"
                )
            if array is None or array.shape == shape:
                return array
            if node.name not in kwargs and not partial_shaping:
                raise MXNetError(
                    f"Shape of unspecifie arg: {node.name} changed from {array.shape} to {shape}. This can "
                    f"cause the "
                    "new executor to not share parameters with the old one. Please check for error in "
                    "network. "
                    "If this is intended, set partial_shaping=True to suppress this warning."
                )
            size = int(np.prod(shape, dtype=np.int64))
            if size <= array.size:
                return array.reshape((-1,))[:size].reshape(shape)
            if not allow_up_sizing:
                raise MXNetError(
                    f"New shape of arg: {node.name} is larger than original. First making a big executor "
                    f"and then down "
                    "sizing it is more efficient than the reverse. If you really want to up size, set "
                    "allow_up_sizing=True to enable allocation of new arrays."
                )
            return zeros(shape, ctx=array.context, dtype=array.dtype)

        bound = Bound(
            graph,
            [fit(node, array) for node, array in zip(graph.arguments, self.arg_arrays)],  # type: ignore[misc]
            [fit(node, array) for node, array in zip(graph.arguments, self.grad_arrays)],
            [fit(node, array) for node, array in zip(graph.auxiliary, self.aux_arrays)],  # type: ignore[misc]
            shapes,
        )
        made = Executor(bound, self._symbol, self._ctx, self._grad_req, self._group2ctx)
        made._monitor = self._monitor
        return made

    # -- description -----------------------------------------------------------------------------------------

    def debug_str(self) -> str:
        """The graph's nodes and an estimate of the memory that running it takes."""
        return (
            f"{self._symbol.debug_str()}Total {self._memory_estimate() >> 20} MB allocated\n"
            "Total 0 TempSpace resource requested\n"
        )

    def _memory_estimate(self) -> int:
        """Bytes of all results where gradients will be computed, else of the two largest."""
        reaching = self._reaching()
        sizes, kept = [0, 0], 0
        for node in self._bound.graph.order:
            if node.op is None:
                continue
            for index in range(node.visible_count):
                shape = self._bound.shapes.get((node, index)) or ()
                size = 4 * int(np.prod([dim or 0 for dim in shape], dtype=np.int64))
                sizes.append(size)
                kept += size
        differentiated = any(id(node) in reaching for node, _ in self._bound.graph.entries)
        return kept if differentiated else sum(sorted(sizes)[-2:])

    def get_optimized_symbol(self) -> Any:
        """The symbol with equal expressions merged, unless MXNET_ELIMINATE_COMMON_EXPR was 0 at binding.

        It is for looking at; what runs is optimized by XLA.
        """
        return type(self._symbol)(merge_equal(self._bound.graph)) if self._merges else self._symbol.__copy__()


def _by_name(names: Sequence[str], arrays: Sequence[Any]) -> dict[str, Any]:
    if len(set(names)) != len(names):
        raise ArgumentValueError(f"Duplicate names detected, {list(names)}")
    return dict(zip(names, arrays))


def _ones(output: NDArray) -> Any:
    return _move(np.ones(output.shape, to_dtype(output.dtype)), Context("cpu"), output.context)
