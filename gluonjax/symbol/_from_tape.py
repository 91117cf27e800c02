"""The symbol of a recorded computation: ``autograd.get_symbol``."""

from __future__ import annotations

import math
from typing import Any

from gluonjax._base.errors import MXNetError
from gluonjax._engine import tape
from gluonjax._engine.graph import Graph
from gluonjax._engine.graph import Node as GraphNode
from gluonjax._ops import registry
from gluonjax.symbol.symbol import Symbol


def symbol_of(entry: Any) -> Symbol:
    """The graph that leads to a tape entry; leaves and values that were not recorded become variables."""
    made: dict[Any, list[tuple[GraphNode, int]]] = {}
    variables: dict[int, tuple[GraphNode, int]] = {}
    pending = [entry.node] if type(entry) is tape.Entry else []
    while pending:
        node = pending[-1]
        if node.number in made:
            pending.pop()
            continue
        missing = [p.node for p in node.parents if type(p) is tape.Entry and p.node.number not in made]
        if missing:
            pending.extend(missing)
            continue
        made[node.number] = _outputs(node, made, variables)
        pending.pop()
    return Symbol(Graph([_entry(entry, made, variables)]))


def _entry(parent: Any, made: Any, variables: dict[int, tuple[GraphNode, int]]) -> tuple[GraphNode, int]:
    if type(parent) is tape.Entry:
        return made[parent.node.number][parent.index]
    found = variables.get(id(parent))
    if found is None:
        found = variables[id(parent)] = (GraphNode(None, f"var{len(variables)}"), 0)
    return found


def _outputs(node: tape.Node, made: Any, variables: Any) -> list[tuple[GraphNode, int]]:
    source = node.kernel.source if node.kernel is not None else None
    if source is None:
        name = node.kernel.name if node.kernel is not None else "a custom function"
        raise MXNetError(f"get_symbol: {name} was recorded, which has no form as a symbol")
    name = f"node{node.number}"
    if source[0] == "view":
        return [(_view_node(node, source[1], name, _entry(node.parents[0], made, variables)), 0)]
    arity = len(node.parents)
    if source[0] == "graph":
        graph = source[1]
        inputs = graph.arguments + graph.auxiliary
        entries = [_input(node, i, made, variables) for i in range(len(inputs))]
        replaced = graph.replace({id(variable): one for variable, one in zip(inputs, entries)})
        return list(replaced.entries)
    _, op, attrs, traced = source
    count = arity - len(traced) - (1 if op.uses_key else 0)
    attrs = dict(attrs)
    attrs.update({key: op.attr_table[key].kind.show(node.values[count + i]) for i, key in enumerate(traced)})
    entries = [_input(node, i, made, variables) for i in range(count)]
    graph_node = GraphNode(op, name, attrs, entries)
    return [(graph_node, index) for index in range(len(node.outputs))]


def _input(node: tape.Node, index: int, made: Any, variables: Any) -> tuple[GraphNode, int]:
    parent = node.parents[index]
    return _entry(parent if parent is not None else node.values[index], made, variables)


def _view_node(node: tape.Node, shape: tuple[int, ...], name: str, source: tuple[GraphNode, int]) -> GraphNode:
    offset, size = int(node.values[1]), math.prod(shape)
    reshape, cut = registry.get("Reshape"), registry.get("slice")
    flat = GraphNode(reshape, f"{name}_flat", {"shape": "(-1,)"}, [source])
    part = GraphNode(cut, f"{name}_part", {"begin": f"({offset},)", "end": f"({offset + size},)"}, [(flat, 0)])
    return GraphNode(reshape, name, {"shape": str(shape)}, [(part, 0)])
