"""A graph called on handles: one compiled forward (and backward) for each mode and each set of shapes.

This is what hybridized blocks and ``CachedOp`` run. A call is one launch; while recording it is one tape entry,
whose backward is one launch too.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from gluonjax._base.errors import OperatorError
from gluonjax._base.scopes import modes
from gluonjax._engine import rng
from gluonjax._engine.cold import run_cold
from gluonjax._engine.graph import Graph
from gluonjax._engine.infer import infer_shapes, open_shape
from gluonjax._engine.lazy import Origin, put_off
from gluonjax._engine.lower import Lowered, lower
from gluonjax._engine.op_by_op import OpByOp
from gluonjax._engine.profile import recorder
from gluonjax._engine.pullback import Pullback
from gluonjax._engine.run import Kernel, is_tracer
from gluonjax._engine.tape import Node, wanted_inputs
from gluonjax.ndarray._invoke import commit, new_handle
from gluonjax.ndarray._recompiling import Compilations
from gluonjax.ndarray._returning import Returning

# A graph of so few operators that all suit NumPy runs so at its first call with shapes that it has not met, as its
# operators would without the graph: compiling pays for what comes again.
SHORT = 16


class CachedGraph:
    """Runs a graph on arrays.

    Args:
        graph: what to run.
        name: what errors call it.
        compilations: what counts the programs; graphs of one block share it.
        inputs: names of the variables that are inputs rather than parameters.
    """

    def __init__(
        self, graph: Graph, name: str, compilations: Compilations | None = None, inputs: Sequence[str] = ()
    ) -> None:
        self.graph = graph
        self.compilations = compilations
        self._inputs = inputs
        self.name = name
        self.arguments = [node.name for node in graph.arguments]
        self.auxiliary = [node.name for node in graph.auxiliary]
        # Creation nodes such as zeros(shape=(0, 8)) take their open dimensions from the inputs.
        self._has_open_shapes = any(node.op is not None and open_shape(node) for node in graph.order)
        self._programs: dict[Any, tuple[Lowered, Kernel]] = {}
        self._open_shapes: dict[Any, tuple[dict[int, Any], Any]] = {}
        # The shapes of earlier calls of a short graph.
        self._met: set[Any] = set()
        self._origin = Origin()
        self._returning = Returning()

    @functools.cached_property
    def _is_short(self) -> bool:
        return sum(node.op is not None for node in self.graph.order) <= SHORT

    @functools.cached_property
    def needs_values(self) -> bool:
        """True where an operator's output shape depends on values, so that the graph cannot be compiled."""
        return any(node.op is not None and node.op.host for node in self.graph.order)

    def _program(self, handles: Sequence[Any]) -> tuple[Lowered, Kernel]:
        overrides = None
        key: Any = (modes.training, modes.np_shape)
        if self._has_open_shapes:
            overrides, more = self._overrides(handles)
            key = (*key, more)
        found = self._programs.get(key)
        if found is None:
            lowered = lower(self.graph, modes.training, overrides)
            program: Any = lowered
            if self.compilations is not None:
                program = self.compilations.counted(lowered, self.arguments + self.auxiliary, self._inputs)
            kernel = Kernel(self.name, program, interpretable=False, source=("graph", self.graph))
            found = self._programs[key] = (lowered, kernel)
        return found

    def _overrides(self, handles: Sequence[Any]) -> tuple[dict[int, Any], Any]:
        """The shapes that open constants take for these inputs, and the same hashable; inferred once for each set."""
        shapes = tuple([handle.shape for handle in handles])
        key = (modes.np_shape, shapes)
        found = self._open_shapes.get(key)
        if found is None:
            known = dict(zip(self.arguments + self.auxiliary, shapes))
            overrides = infer_shapes(self.graph, known, modes.np_shape).overrides()
            found = self._open_shapes[key] = (overrides, tuple(sorted(overrides.items())))
        return found

    def __call__(self, handles: Sequence[Any], cls: Any) -> list[Any]:
        """Run on handles for the arguments followed by those for the auxiliary states; commit the states.

        Returns:
            One handle of class ``cls`` for every output.
        """
        lowered, kernel = self._program(handles)
        ctx = handles[0]._cell.ctx
        values = [handle._raw for handle in handles]
        if np.ndarray in map(type, values):
            self._returning.upload(values, [handle._cell for handle in handles])
        if lowered.key_count:
            values.append(rng.take_keys(lowered.key_count))
        count = lowered.output_count
        parents: list[Any] | None = None
        if modes.recording:
            parents = [handle._entry for handle in handles]
            if not any(parents):
                parents = None
        node = None
        plan = None
        timed = None
        by_parts = recorder.op_by_op or (parents is not None and lowered.passes_whole_numbers())
        if by_parts and not any(is_tracer(value) for value in values):
            timed = OpByOp(lowered, values, ctx.is_host)
        cold: Any = None
        if self._is_short and ctx.is_host and timed is None and modes.tracer is None:
            shapes = (kernel, parents is None, *[value.shape for value in values])
            if shapes not in self._met:
                self._met.add(shapes)
                wanted = () if parents is None else wanted_inputs(values, parents)
                cold = run_cold(kernel, lowered, values, wanted)
        if parents is None:
            if cold is not None:
                results = cold[0]
            else:
                results = kernel.run(values, ctx.is_host) if timed is None else timed.forward()
            results = self._checked(lowered, kernel, values, results)
        else:
            if lowered.key_count:
                parents.append(None)
            pullback: Any = None
            if cold is not None:
                results = cold[0]
                pullback = Pullback(cold[1])
            elif timed is not None:
                results = timed.forward()
                pullback = Pullback(functools.partial(timed.backward, wanted=wanted_inputs(values, parents)))
            elif self._origin.on and not lowered.guards and not any(is_tracer(value) for value in values):
                plan = kernel.plan_of(values)
                results = put_off(kernel, values, plan.structs, self._origin)
            else:
                results, pullback = kernel.with_pullback(values, wanted_inputs(values, parents), count)
            results = self._checked(lowered, kernel, values, results)
            outputs = [(result.shape, result.dtype) for result in results[:count]]
            node = Node(kernel, values, parents, outputs, ctx.is_host, pullback, plan=plan)
        if self.auxiliary and modes.training:
            for handle, value in zip(handles[len(self.arguments) :], results[count:]):
                commit(handle, value)
        return [new_handle(cls, value, ctx, node, index) for index, value in enumerate(results[:count])]

    @staticmethod
    def _checked(lowered: Lowered, kernel: Kernel, values: Sequence[Any], results: Sequence[Any]) -> Sequence[Any]:
        """The results, or results that raise where they are read because an index lay outside."""
        problem = lowered.problem(results) if lowered.guards else None
        return results if problem is None else kernel.fail(problem, values)


# Operators whose one input MXNet's monitors call input0.
_UNNAMED = frozenset(
    "Activation BlockGrad Cast Flatten Reshape SwapAxis abs clip exp log mean relu sigmoid slice_axis sqrt square sum "
    "tanh transpose _plus_scalar _minus_scalar _mul_scalar _div_scalar".split()
)


def show_internals(cached: CachedGraph, handles: Sequence[Any], callback: Any, monitor_all: bool) -> None:
    """Compute every operator of a graph and show its results, as the next call of the graph will have them.

    Args:
        handles: for the arguments and the auxiliary states.
        callback: ``callback(name, operator, array)``; names are bytes, as MXNet gives them.
        monitor_all: show the inputs of every operator too.
    """
    lowered, _ = cached._program(handles)
    shown = lower(cached.graph, modes.training, lowered.overrides, internals=True)
    ctx = handles[0]._cell.ctx
    values = [handle._value for handle in handles]
    if shown.key_count:
        values.append(rng.next_keys())
    results = Kernel(f"{cached.name}_internals", shown, interpretable=False).run(values, ctx.is_host)
    assert shown.internals is not None
    first = len(results) - len(shown.internals.entries)
    table = {
        (id(node), index): value for (node, index), value in zip(shown.internals.entries, results[first:])
    }

    def show(name: str, op: str, entry: Any) -> None:
        node, index = entry
        if (id(node), index) in table:  # hidden outputs are not computed
            callback(name.encode(), op.encode(), new_handle(type(handles[0]), table[id(node), index], ctx))

    for node in cached.graph.order:
        if node.op is None:
            continue
        if monitor_all:
            labels = ("input0",) if node.op.name in _UNNAMED else node.input_labels
            for label, entry in zip(labels, node.inputs):
                show(f"{node.name}_{label}", node.op.name, entry)
        for index in range(node.visible_count):
            show(node.output_name(index), node.op.name, (node, index))


class CachedOp:
    """A symbol as a function of arrays, compiled: what ``mx.nd.CachedOp`` is.

    Args:
        sym: the symbol. Arrays are passed in the order of ``sym.list_inputs()``.
        flags: accepted.
    """

    def __init__(self, sym: Any, flags: Any = ()) -> None:
        self._run = CachedGraph(sym._graph, "cached_op")
        position = {name: index for index, name in enumerate(sym.list_inputs())}
        self._order = [position[name] for name in self._run.arguments + self._run.auxiliary]

    def __call__(self, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """Run; a single output is returned bare."""
        if len(args) != len(self._order):
            raise OperatorError(f"CachedOp: wants {len(self._order)} arrays, got {len(args)}")
        outputs = self._run([args[index] for index in self._order], type(args[0]))
        if out is not None:
            targets = out if isinstance(out, (list, tuple)) else [out]
            for target, value in zip(targets, outputs):
                target._write(value._value, value._cell.entry)
            return out
        return outputs[0] if len(outputs) == 1 else outputs
