"""A graph as one pure function of arrays: what executors, hybridized blocks and modules compile.

The function takes ``(arguments..., auxiliary states..., [key])`` and returns ``(outputs..., new auxiliary
states...)``, followed by one truth value for every node that raises for some indices: whether it would
(``Lowered.problem`` turns them into an error). The key is raw key data; the n-th random node adds n to its counter,
so every node draws its own numbers.
"""

from __future__ import annotations

import collections
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.core import Tracer
from jax.experimental.xla_metadata import set_xla_metadata

from gluonjax._base.errors import MXNetError, OperatorError, plain
from gluonjax._engine import inflight, lazy
from gluonjax._engine.graph import Graph, Node, edits
from gluonjax._ops.indexing_points import outside, says_outside
from gluonjax._ops.opdef import Attrs, OpDef, same_dtypes, zero_grad
from gluonjax._ops.random import VALUE_CHECKS
from gluonjax._ops.rules import same_shape

# Backward computes everything again but products and convolutions, for less memory.
MIRROR = os.environ.get("MXNET_BACKWARD_DO_MIRROR", "0") == "1"


def _is_expensive(primitive: Any, *_: Any, **__: Any) -> bool:
    return primitive.name in ("dot_general", "conv_general_dilated")


class Lowered:
    """A graph's function with its calling convention.

    Args:
        graph: the graph.
        train: training mode.
        overrides: output shapes of creation nodes with open dimensions, by position
            (``ShapeTable.overrides``).
        internals: also return every output of every node, hidden ones too, after the auxiliary states.
    """

    def __init__(
        self,
        graph: Graph,
        train: bool,
        overrides: Mapping[int, tuple[int, ...]] | None = None,
        internals: bool = False,
    ) -> None:
        self.graph = graph
        self.train = train
        self.overrides = overrides
        self.arguments = [node.name for node in graph.arguments]
        self.auxiliary = [node.name for node in graph.auxiliary]
        self.output_count = len(graph.entries)
        self.internals = graph.internals(hidden=True) if internals else None
        steps, self.key_count = _steps(graph, train, overrides or {})
        self.steps = steps
        self._whole: dict[tuple[int, ...], bool] = {}
        self.guards = [step for step in steps if step.guarded]
        self.host = any(step.node.op.host for step in steps if step.node.op is not None)
        position = {id(node): index for index, node in enumerate(graph.order)}
        self._arguments = [position[id(node)] for node in graph.arguments]
        self._auxiliary = [position[id(node)] for node in graph.auxiliary]
        self._outputs = [(position[id(node)], index) for node, index in graph.entries]
        shown = () if self.internals is None else self.internals.entries
        self._internals = [(position[id(node)], index) for node, index in shown]
        self._size = len(graph.order)

    @property
    def uses_key(self) -> bool:
        return self.key_count > 0

    @functools.cached_property
    def samples(self) -> bool:
        """Whether some operator's results are random numbers, in bodies of control flow too."""
        return self._contains(lambda op: op.is_sampler)

    @functools.cached_property
    def needs_key(self) -> bool:
        """Whether some operator takes a key, and not only for operators in its bodies."""
        return self._contains(lambda op: op.uses_key)

    def _contains(self, test: Callable[[OpDef], bool]) -> bool:
        return any(
            any(body.lowered._contains(test) for body in step.attrs.subgraphs) if step.node.subgraphs
            else test(step.node.op)  # type: ignore[arg-type]
            for step in self.steps
        )  # fmt: skip

    @functools.cached_property
    def structure(self) -> Any:
        """Equal for graphs that compute the same, whatever the names; None where that cannot be said."""
        found = _structure(self.graph)
        train = self.train and (MIRROR or _reads_train(self.graph))
        return None if found is None else (found, train, tuple(sorted((self.overrides or {}).items())))

    def passes_whole_numbers(self, arguments: Sequence[int] = ()) -> bool:
        """Whether gradients have to pass through whole numbers, as MXNet's do and JAX's do not.

        They do where such values are outputs or become floating point again. Then the graph is differentiated one
        operator at a time (``OpByOp``). Whole numbers that only say positions (``take``, ``pick``) do not count.

        Args:
            arguments: positions of the arguments that are whole numbers and want a gradient.
        """
        key = tuple(arguments)
        found = self._whole.get(key)
        if found is None:
            found = self._whole[key] = self._find_whole(key)
        return found

    def _find_whole(self, arguments: Sequence[int]) -> bool:
        whole = {(self._arguments[index], 0) for index in arguments}
        for step in self.steps:
            op, attrs = step.node.op, step.node.parsed
            if op is None or op.grad is zero_grad or op.on_whole == "zero" or op.dtypes is not same_dtypes:
                continue
            reached = any(source in whole for source in step.sources)
            if op.on_whole == "pass":
                if np.dtype(attrs["dtype"]).kind in "iu":
                    whole.add((step.place, 0))
                elif reached:
                    return True
            elif reached:
                whole.update((step.place, index) for index in range(step.count))
        return any(place in whole for place in self._outputs)

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        """The pure function. Trace it with 64-bit types enabled (``jax.enable_x64(True)``)."""
        if MIRROR and self.train:
            return jax.checkpoint(self._compute, policy=_is_expensive)(*values)
        return self._compute(*values)

    def _compute(self, *values: Any) -> tuple[Any, ...]:
        return self.execute(values, _Step.call)

    @property
    def output_places(self) -> list[tuple[int, int]]:
        """For every output: which node of the graph's order, and which of its results."""
        return self._outputs

    @property
    def variable_places(self) -> list[int]:
        """For every argument and auxiliary state: which node of the graph's order it is."""
        return self._arguments + self._auxiliary

    def execute(self, values: Sequence[Any], call: Callable[[_Step, list[Any]], Sequence[Any]]) -> tuple[Any, ...]:
        """Compute the function's results; ``call(step, values)`` runs one node."""
        key = None
        if self.key_count:
            *values, key = values
        places = self.variable_places
        if len(values) != len(places):
            raise MXNetError(f"graph: got {len(values)} arrays for {len(places)} variables")
        table: list[Sequence[Any]] = [()] * self._size
        for place, value in zip(places, values):
            table[place] = (value,)
        # Every reader sees the states of before this step; of several writers the last one counts.
        states = {place: table[place][0] for place in self._auxiliary}
        flags = []
        for step in self.steps:
            step.run(table, states, key, call)
            if step.guarded:
                operands = [table[place][index] for place, index in step.sources]
                flags.append(outside(step.node.op.name, step.node.parsed, operands))  # type: ignore[union-attr]
        outputs = tuple(table[place][index] for place, index in self._outputs)
        internals = tuple(table[place][index] for place, index in self._internals)
        return outputs + tuple(states[place] for place in self._auxiliary) + internals + tuple(flags)

    def problem(self, results: Sequence[Any]) -> MXNetError | None:
        """What is wrong with results of the function, where an index lay outside of its array."""
        if not self.guards:
            return None
        flags = results[-len(self.guards) :]
        for step, flag in zip(self.guards, flags):
            flag = lazy.force(flag)
            if not isinstance(flag, Tracer) and type(flag) is not inflight.Failed and np.asarray(flag):
                node = step.node
                return OperatorError(
                    f"Error in operator {node.name}: {node.op.name}: "  # type: ignore[union-attr]
                    f"take operator contains indices out of bound (axis {node.parsed.axis}, mode='raise')"
                )
        return None


def lower(
    graph: Graph, train: bool, overrides: Mapping[int, tuple[int, ...]] | None = None, internals: bool = False
) -> Lowered:
    """The graph's function; made once per graph, mode and open shapes."""
    key = ("lowered", edits.count, train, tuple(sorted((overrides or {}).items())), internals)
    found = graph.programs.get(key)
    if found is None:
        found = graph.programs[key] = Lowered(graph, train, overrides, internals)
    return found


def _reads_train(graph: Graph) -> bool:
    """Whether some operator computes something else in training mode."""
    return any(
        node.op is not None and (node.op.uses_train or any(map(_reads_train, node.subgraphs))) for node in graph.order
    )


def _structure(graph: Graph) -> Any:
    position = {id(node): index for index, node in enumerate(graph.order)}
    nodes = []
    for node in graph.order:
        if node.op is not None and (node.op.host or node.op.open_inputs):
            return None
        bodies = tuple(map(_structure, node.subgraphs))
        if None in bodies:
            return None
        sources = tuple((position[id(source)], index) for source, index in node.inputs)
        nodes.append((node.op, repr(node.parsed), sources, bodies))
    return tuple(nodes), tuple((position[id(node)], index) for node, index in graph.entries)


class Body:
    """A subgraph as its control-flow operator calls it.

    Args:
        lowered: the subgraph's function.
    """

    def __init__(self, lowered: Lowered) -> None:
        self.lowered = lowered
        position = {id(node): index for index, node in enumerate(lowered.graph.variables)}
        # Which of the subgraph's variables each argument and auxiliary state of the function is.
        self.order = [position[id(node)] for node in (*lowered.graph.arguments, *lowered.graph.auxiliary)]

    @property
    def uses_key(self) -> bool:
        return self.lowered.uses_key

    def __eq__(self, other: object) -> bool:
        """Equal bodies compute the same: what is known of one holds for the other."""
        if self is other:
            return True
        mine = self.lowered.structure
        return (
            isinstance(other, Body) and mine is not None and mine == other.lowered.structure
            and self.order == other.order
        )  # fmt: skip

    def __hash__(self) -> int:
        return hash(self.lowered.structure)

    def __call__(self, values: Sequence[Any], key: Any) -> tuple[Any, ...]:
        """Outputs for values in the order of the subgraph's variables; ``key`` is raw key data.

        Moving statistics inside of a body are read and not updated, as in MXNet.
        """
        given = [values[index] for index in self.order]
        results = self.lowered(*given, key) if self.uses_key else self.lowered(*given)
        return results[: self.lowered.output_count]


def bodies_of(node: Node, train: bool) -> tuple[Body, ...]:
    """The subgraphs of a control-flow node as functions; the same objects at every call."""
    found = []
    for graph in node.subgraphs:
        key = ("body", edits.count, train)
        if key not in graph.programs:
            graph.programs[key] = Body(lower(graph, train))
        found.append(graph.programs[key])
    return tuple(found)


class _Step:
    """One node's call inside the function."""

    __slots__ = (
        "attrs", "count", "fn", "guarded", "joins", "kernel", "labels", "mutated", "node", "number", "place",
        "sources",
    )  # fmt: skip

    def __init__(
        self,
        node: Node,
        attrs: Attrs,
        place: int,
        sources: Sequence[tuple[int, int]],
        fn: Callable[..., tuple[Any, ...]],
        number: int,
    ) -> None:
        self.node = node
        # The node's attributes with open shapes filled in, and with the bodies of control flow.
        self.attrs = attrs
        self.place = place
        self.sources = sources
        self.fn = fn
        # Whether gradients meet here that should be added up once.
        self.joins = False
        # Runs this node alone, and the numbers it takes behind the inputs; made by who needs it.
        self.kernel: Any = None
        self.count = node.output_count
        # Whether the function says of this node that indices lay outside.
        self.guarded = says_outside(node.op.name, node.parsed)  # type: ignore[union-attr]
        self.labels = node.input_labels
        # (which state, which of the results) for every rewritten input that is a variable
        self.mutated = [
            (sources[index][0], self.count + offset) for offset, index in enumerate(node.mutated)
            if node.inputs[index][0].op is None
        ]  # fmt: skip
        self.number = number

    def call(self, values: list[Any]) -> Sequence[Any]:
        """The node's results, in the trace of the whole function."""
        with jax.named_scope(self.node.name or self.node.op.name):  # type: ignore[union-attr]
            results = self.fn(*values)
        return tuple(map(_add_up_once, results)) if self.joins else results

    def run(
        self, table: list[Sequence[Any]], states: dict[int, Any], key: Any,
        call: Callable[[_Step, list[Any]], Sequence[Any]],
    ) -> None:  # fmt: skip
        values = [table[place][index] for place, index in self.sources]
        op = self.node.op
        assert op is not None
        check = VALUE_CHECKS.get(op.name)
        try:
            if check is not None:
                check(self.node.parsed)
            if len(values) > 1:
                op.dtypes(dict(zip(self.labels, (np.dtype(v.dtype) for v in values))), self.node.parsed)
            if op.uses_key:
                values.append(key + np.array([0, self.number], np.uint32) if self.number else key)
            results = call(self, values)
        except Exception as error:
            raise self._explain(error, values) from error
        table[self.place] = results[: self.count]
        for state, index in self.mutated:
            states[state] = results[index]

    def _explain(self, error: Exception, values: Sequence[Any]) -> MXNetError:
        kind = type(error) if isinstance(error, MXNetError) else OperatorError
        text = plain(error)
        if text.startswith("Error in operator"):
            return kind(text)
        op = self.node.op
        assert op is not None
        shown = ", ".join(
            f"{label} {np.dtype(value.dtype).name}{list(value.shape)}"
            for label, value in zip(self.labels, values)
        )
        return kind(f"Error in operator {self.node.name}: {text} ({op.name}; inputs: {shown or 'none'})")


# Graphs of fewer nodes than this compile fast whatever they contain.
_LONG = 150


@jax.jit
def _times_one(value: Any) -> Any:
    return value * 1


@jax.custom_vjp
def _add_up_once(value: Any) -> Any:
    """The value itself; its gradient is computed once, however many use it.

    XLA repeats cheap elementwise work in every fusion that needs it. Along the cell states of an unrolled LSTM that
    grows with the square of the length: 40 steps of two layers took 23 s to compile and take 6 s so (one core).
    """
    return value


def _add_up_once_forward(value: Any) -> tuple[Any, None]:
    return value, None


def _add_up_once_backward(_: None, head: Any) -> tuple[Any]:
    if jax.default_backend() != "cpu":
        return (jax.lax.optimization_barrier(head),)
    # XLA:CPU drops such barriers before it fuses, but leaves calls alone that must not be inlined.
    with set_xla_metadata(inlineable="false"):
        return (_times_one(head),)


_add_up_once.defvjp(_add_up_once_forward, _add_up_once_backward)


def _steps(graph: Graph, train: bool, overrides: Mapping[int, tuple[int, ...]]) -> tuple[list[_Step], int]:
    position = {id(node): index for index, node in enumerate(graph.order)}
    steps = []
    keys = 0
    for place, node in enumerate(graph.order):
        if node.op is None:
            continue
        attrs = node.parsed
        if place in overrides:
            attrs = Attrs(attrs)
            attrs["shape"] = tuple(overrides[place])
        if node.subgraphs:
            attrs = Attrs({**attrs, "subgraphs": bodies_of(node, train)})
        sources = [(position[id(source)], index) for source, index in node.inputs]
        steps.append(_Step(node, attrs, place, sources, node.op.pure(attrs, train), keys))
        if node.op.uses_key:
            keys += 1
    if len(graph.order) > _LONG:
        uses = collections.Counter(source for step in steps for source in step.sources)
        for step in steps:
            is_elementwise = step.node.op.unify is same_shape  # type: ignore[union-attr]
            step.joins = is_elementwise and step.count == 1 and uses[step.place, 0] > 1
    return steps, keys
