"""Shapes and dtypes of a graph, inferred forwards and backwards until nothing changes.

Unknown dimensions are ``None`` here. MXNet's 0 (or -1 in numpy mode) exists only in ``from_user`` and
``to_user``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gluonjax._base.attrs import parse_shape
from gluonjax._base.dtypes import CODE_TO_DTYPE, DEFAULT_DTYPE
from gluonjax._base.errors import MXNetError, OperatorError
from gluonjax._base.scopes import modes
from gluonjax._engine import remembered
from gluonjax._engine.graph import Entry, Graph, Node
from gluonjax._engine.lower import bodies_of
from gluonjax._engine.probe import Call, all_known
from gluonjax._ops.opdef import Attrs, Ports, Shape
from gluonjax._ops.rules import merge_shapes

_ROUNDS = 100
# Operators about which MXNet says nothing before their first input is known completely (control_flow_op.h;
# pinned by
# its test_where_partial_shape).
_WHOLE_FIRST_INPUT = frozenset({"where"})
# Operators that keep an unknown dimension unknown, though their bounds would say its size (matrix_op-inl.h; pinned
# by its test_slice_partial_infer).
_KEEPS_UNKNOWN = frozenset({"slice_axis"})


def from_user(shape: Sequence[int] | None, np_shape: bool) -> Shape | None:
    """MXNet's spelling of a shape -> ours; 0 is unknown (-1 in numpy mode), so is legacy ()."""
    if shape is None or (not np_shape and len(shape) == 0):
        return None
    return tuple(None if (dim < 0 if np_shape else dim <= 0) else int(dim) for dim in shape)


def to_user(shape: Shape | None, np_shape: bool) -> tuple[int, ...] | None:
    """Our spelling of a shape -> MXNet's."""
    if shape is None:
        return None if np_shape else ()
    return tuple((-1 if np_shape else 0) if dim is None else dim for dim in shape)


def is_complete(shape: Shape | None) -> bool:
    return shape is not None and None not in shape


def match_names(graph: Graph, known: Mapping[str, Any], source: str) -> None:
    """Raise MXNetError where a name is no variable of the graph."""
    names = [node.name for node in graph.variables]
    for key in known:
        if key not in names:
            listed = "".join(f"\t[{i}]{name}\n" for i, name in enumerate(names))
            raise MXNetError(
                f"{source}Keyword argument name {key} not found.\nCandidate arguments:\n{listed}"
            )


def _where(node: Node, error: Exception) -> MXNetError:
    kind = type(error) if isinstance(error, MXNetError) else OperatorError
    return kind(f"Error in operator {node.name}: {error}")


class _Table:
    """What is known of every entry."""

    def __init__(self, graph: Graph, values: dict[tuple[int, int], Any] | None = None) -> None:
        self.graph = graph
        self.values: dict[tuple[int, int], Any] = {} if values is None else values
        self.done: set[int] = set()
        self.calls: dict[int, Call] = {}

    def get(self, entry: Entry) -> Any:
        return self.values.get((id(entry[0]), entry[1]))

    def outputs(self, node: Node) -> list[Any]:
        return [self.values.get((id(node), index)) for index in range(node.output_count)]

    def call(self, node: Node) -> Call:
        found = self.calls.get(id(node))
        if found is None:
            assert node.op is not None
            attrs = node.parsed
            if node.subgraphs:
                attrs = Attrs({**attrs, "subgraphs": bodies_of(node, False)})
            found = self.calls[id(node)] = Call(node.op, attrs, node.input_labels)
        return found

    def of(self, nodes: Sequence[Node]) -> list[Any]:
        return [self.values.get((id(node), 0)) for node in nodes]

    def run(self, step: Any) -> None:
        """Apply ``step(table, node) -> changed`` over the graph, forwards and backwards, to a fixed point."""
        for _ in range(_ROUNDS):
            changed = False
            for nodes in (self.graph.order, tuple(reversed(self.graph.order))):
                for node in nodes:
                    if node.op is not None and id(node) not in self.done:
                        changed |= step(self, node)
                if len(self.done) == sum(node.op is not None for node in self.graph.order):
                    return
            if not changed:
                return


class ShapeTable(_Table):
    """Shapes of every entry of a graph."""

    def put(self, entry: Entry, shape: Shape | None) -> bool:
        """Add information; True where it is new. Raises OperatorError where it contradicts what is known."""
        if shape is None:
            return False
        key = (id(entry[0]), entry[1])
        old = self.values.get(key)
        new = merge_shapes(old, shape)
        if new == old:
            return False
        self.values[key] = new
        return True

    def complete(self) -> bool:
        """Whether all shapes are known."""
        return all(
            is_complete(self.values.get((id(node), index)))
            for node in self.graph.order for index in range(node.output_count)
        )  # fmt: skip

    def overrides(self) -> dict[int, tuple[int, ...]]:
        """Shapes, by position, of constants such as ``zeros(shape=(0, 10))`` with open dimensions."""
        return {
            position: self.values[(id(node), 0)] for position, node in enumerate(self.graph.order)
            if open_shape(node) and is_complete(self.values.get((id(node), 0)))
        }  # fmt: skip


def open_shape(node: Node) -> bool:
    """True for a constant or sample whose shape has unknown (0 or -1) dimensions, filled in from its users."""
    if node.op is None or node.inputs or "shape" not in node.parsed:
        return False
    shape = node.parsed["shape"]
    if not shape and node.op.name.startswith("_random_"):
        return True
    if not isinstance(shape, tuple):
        return False
    constants = ("_zeros", "_ones", "_full", "_zeros_without_dtype")
    return any(dim <= 0 for dim in shape) or (shape == () and node.op.name in constants)


def infer_shapes(graph: Graph, known: Mapping[str, Shape | None], np_shape: bool = False) -> ShapeTable:
    """Infer as much as possible. Raises MXNetError naming the operator where shapes contradict each other.

    Args:
        known: shapes of variables by name, unknown dimensions None.
    """
    given = {node.name: known.get(node.name) for node in graph.variables}
    for node in graph.variables:
        if given[node.name] is None and "__shape__" in node.attrs:
            given[node.name] = from_user(parse_shape(node.attrs["__shape__"]), np_shape)
    found = remembered.find(graph, ("shapes", np_shape), given)
    if found is not None:
        return ShapeTable(graph, found)
    table = ShapeTable(graph)
    for node in graph.variables:
        table.put((node, 0), given[node.name])
    # Creation operators whose zeros are sizes in numpy mode are complete by themselves.
    table.run(_shape_step if not np_shape else _np_shape_step)
    if table.complete():
        remembered.keep(graph, ("shapes", np_shape), given, table.values)
    return table


def _np_shape_step(table: ShapeTable, node: Node) -> bool:
    return _shape_step(table, node, False)


def _shape_step(table: ShapeTable, node: Node, zero_is_open: bool = True) -> bool:
    op = node.op
    assert op is not None
    call = table.call(node)
    inputs = [table.get(entry) for entry in node.inputs]
    outputs = table.outputs(node)
    changed = False
    try:
        if zero_is_open and open_shape(node):
            own = node.parsed["shape"]
            if own:
                changed |= table.put((node, 0), tuple(dim if dim > 0 else None for dim in own))
            if is_complete(table.get((node, 0))):
                table.done.add(id(node))
            return changed
        if op.name in _WHOLE_FIRST_INPUT and not is_complete(inputs[0]):
            return False
        if node.subgraphs:
            inputs, outputs = _look_into_bodies(node, inputs, outputs, not zero_is_open)
        by_label = dict(zip(call.labels, inputs))
        conflict: OperatorError | None = None
        if op.param_shapes is not None:
            for label, shape in op.param_shapes(by_label, node.parsed).items():
                try:
                    if label in by_label:
                        by_label[label] = _fill(by_label[label], shape)
                except OperatorError as error:
                    conflict = error  # what was given may still be another shape that the operator takes
        if op.unify is not None:
            by_label, outputs = op.unify(by_label, outputs, node.parsed)
        inputs = [by_label.get(label, shape) for label, shape in zip(call.labels, inputs)]
        whole = all(is_complete(shape) for shape in inputs)
        if conflict is not None and not (whole and call.accepts(inputs)):
            raise conflict
        if not op.host:
            if whole and op.name == "_cond" and all(is_complete(shape) for shape in outputs):
                table.done.add(id(node))  # its bodies have said everything, which is quicker than tracing them
            elif whole:
                exact = call.exact_shapes(inputs)  # type: ignore[arg-type]
                outputs = [merge_shapes(old, new) for old, new in zip(outputs, exact)]
                table.done.add(id(node))
            elif all(shape is not None for shape in inputs):
                partial = call.partial_shapes(inputs)
                if op.name in _KEEPS_UNKNOWN:
                    partial = [_open_where(inputs[0], shape) for shape in partial]
                outputs = [_merge_quietly(old, new) for old, new in zip(outputs, partial)]
                inputs = call.solve_backwards(inputs, outputs)
        for entry, shape in zip(node.inputs, inputs):
            changed |= table.put(entry, shape)
        for index, shape in enumerate(outputs):
            changed |= table.put((node, index), shape)
    except MXNetError as error:
        raise _where(node, error) from None
    return changed


def _look_into_bodies(
    node: Node, inputs: list[Shape | None], outputs: list[Shape | None], np_shape: bool
) -> tuple[list[Shape | None], list[Shape | None]]:
    """What the subgraphs of a loop or branch say about its inputs and outputs."""
    assert node.op is not None
    for graph, ports in zip(node.subgraphs, node.op.bodies(node.parsed, len(node.inputs))):
        variables = graph.variables
        known = {
            variable.name: _one_step(inputs[index]) if index in ports.sliced else inputs[index]
            for variable, index in zip(variables, ports.inputs)
        }
        table = infer_shapes(graph, known, np_shape)
        if not ports.outputs:
            _must_be_one_number(node, table.get(graph.entries[0]))
        length = _length(ports, inputs)
        for variable, index in zip(variables, ports.inputs):
            shape = table.get((variable, 0))
            if index in ports.sliced:
                # A vector's elements come as vectors of one element.
                vector = inputs[index] is not None and len(inputs[index] or ()) == 1
                shape = None if shape is None or vector else (length, *shape)
            inputs[index] = merge_shapes(inputs[index], shape)
        for inner, outer in ports.outputs:
            shape = table.get(graph.entries[inner])
            if outer in ports.stacked:
                shape = None if shape is None else (length, *shape)
            outputs[outer] = merge_shapes(outputs[outer], shape)
    return inputs, outputs


def _must_be_one_number(node: Node, shape: Shape | None) -> None:
    if shape is not None and is_complete(shape) and math.prod([dim or 0 for dim in shape]) != 1:
        assert node.op is not None
        raise OperatorError(f"{node.op.name[1:]}: the condition must be one number, got the shape {shape}")


def _one_step(shape: Shape | None) -> Shape | None:
    return shape if shape is None else shape[1:] or (1,)


def _length(ports: Ports, inputs: list[Shape | None]) -> int | None:
    if ports.length is not None:
        return ports.length
    return next((shape[0] for index in ports.sliced if (shape := inputs[index]) is not None), None)


def _open_where(given: Shape | None, shape: Shape | None) -> Shape | None:
    """The shape, unknown along the axes along which the given one is."""
    if given is None or shape is None:
        return shape
    return tuple(None if before is None else dim for before, dim in zip(given, shape))


def _fill(given: Shape | None, inferred: Shape) -> Shape | None:
    if given is not None and len(given) == len(inferred) and all(
        a is None or b is None or a == b for a, b in zip(given, inferred)
    ):  # fmt: skip
        return merge_shapes(given, inferred)
    if given is None:
        return inferred
    provided = "[" + ",".join("-1" if dim is None else str(dim) for dim in given) + "]"
    wanted = "(" + ",".join("?" if dim is None else str(dim) for dim in inferred) + ")"
    raise OperatorError(f"Shape inconsistent, Provided = {provided}, inferred shape={wanted}")


def _merge_quietly(old: Shape | None, new: Shape | None) -> Shape | None:
    try:
        return merge_shapes(old, new)
    except OperatorError:
        return old


class DtypeTable(_Table):
    """Dtypes of every entry of a graph."""

    def put(self, entry: Entry, dtype: np.dtype | None) -> bool:
        key = (id(entry[0]), entry[1])
        old = self.values.get(key)
        if dtype is None or (old is not None and old == dtype):
            return False
        if old is not None:
            raise OperatorError(f"Incompatible attr: expected {old}, got {dtype}")
        self.values[key] = dtype
        return True


def infer_dtypes(
    graph: Graph, known: Mapping[str, np.dtype], fill: bool = False, shapes: ShapeTable | None = None
) -> DtypeTable:
    """Infer as much as possible. Raises MXNetError naming the operator where dtypes contradict each other.

    Args:
        known: dtypes of variables by name.
        fill: give variables that nothing determines the default, float32.
        shapes: known shapes; without them operators are asked about stand-in shapes.
    """
    if shapes is None:
        # What was inferred of the shapes before will do as well as stand-ins, and is quicker.
        values = remembered.latest(graph, ("shapes", modes.np_shape))
        shapes = None if values is None else ShapeTable(graph, values)
    given = {node.name: known.get(node.name) for node in graph.variables}
    for node in graph.variables:
        if given[node.name] is None and int(node.attrs.get("__dtype__", -1)) >= 0:
            given[node.name] = CODE_TO_DTYPE[int(node.attrs["__dtype__"])]
    what = "dtypes", shapes is not None
    found = remembered.find(graph, what, given)
    if found is not None:
        return DtypeTable(graph, found)
    table = DtypeTable(graph)
    for node in graph.variables:
        table.put((node, 0), given[node.name])

    def step(table: DtypeTable, node: Node) -> bool:
        return _dtype_step(table, node, shapes)

    table.run(step)
    if fill:
        for node in graph.variables:
            if table.get((node, 0)) is None:
                table.put((node, 0), DEFAULT_DTYPE)
                table.run(step)
    elif all_known([table.get((node, i)) for node in graph.order for i in range(node.output_count)]):
        remembered.keep(graph, what, given, table.values)
    return table


def _dtype_step(table: DtypeTable, node: Node, shapes: ShapeTable | None) -> bool:
    call = table.call(node)
    inputs = [table.get(entry) for entry in node.inputs]
    outputs = table.outputs(node)
    known_shapes = [shapes.get(entry) if shapes is not None else None for entry in node.inputs]
    changed = False
    try:
        inputs = call.input_dtypes(inputs, outputs, known_shapes)
        for entry, dtype in zip(node.inputs, inputs):
            changed |= table.put(entry, dtype)
        if not all_known(outputs):
            for index, dtype in enumerate(call.output_dtypes(inputs, known_shapes)):
                changed |= table.put((node, index), dtype)
        if all_known(inputs) and all_known(table.outputs(node)):
            table.done.add(id(node))
    except MXNetError as error:
        raise _where(node, error) from None
    return changed
