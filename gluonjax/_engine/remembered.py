"""What was inferred of graphs: binding infers again what has been inferred before, knowing more.

Only tables in which nothing is unknown are kept. They hold for equal graphs, too: cells that are unrolled again, or
networks that are built for every test.
"""

from __future__ import annotations

import collections
from collections.abc import Mapping
from typing import Any, NamedTuple

from gluonjax._engine.graph import Graph, edits

Values = dict[tuple[int, int], Any]

# So many tables are kept for equal graphs.
_MOST = 256
_equal_graphs: collections.OrderedDict[Any, list[tuple[int, int, Any]]] = collections.OrderedDict()


class _Kept(NamedTuple):
    """A table of one graph, and what it followed from."""

    edits: int
    given: dict[str, Any]
    values: Values


def latest(graph: Graph, what: Any) -> Values | None:
    """The last table of this graph, from whatever it followed."""
    kept: _Kept | None = graph.programs.get(("inferred", what))
    return kept.values if kept is not None and kept.edits == edits.count else None


def find(graph: Graph, what: Any, given: Mapping[str, Any]) -> Values | None:
    """The table that inference would end with.

    Args:
        what: which inference.
        given: what is known of the variables by name, None for nothing.
    """
    kept: _Kept | None = graph.programs.get(("inferred", what))
    if kept is not None and kept.edits == edits.count and _follows(graph, kept, given):
        return kept.values
    key = _key(graph, what, given)
    rows = None if key is None else _equal_graphs.get(key)
    if rows is None:
        return None
    values = {(id(graph.order[position]), index): value for position, index, value in rows}
    graph.programs["inferred", what] = _Kept(edits.count, dict(given), values)
    return values


def _follows(graph: Graph, kept: _Kept, given: Mapping[str, Any]) -> bool:
    """Whether all is known now from which the table followed, and nothing that it does not say."""
    for node in graph.variables:
        value, before = given[node.name], kept.given[node.name]
        if value is None:
            if before is not None:
                return False
        elif (before is None or value != before) and value != kept.values[id(node), 0]:
            return False
    return True


def keep(graph: Graph, what: Any, given: Mapping[str, Any], values: Values) -> None:
    """Remember a table in which nothing is unknown; nobody may write into it any more."""
    graph.programs["inferred", what] = _Kept(edits.count, dict(given), values)
    key = _key(graph, what, given)
    if key is not None:
        positions = {id(node): position for position, node in enumerate(graph.order)}
        _equal_graphs[key] = [(positions[node], index, value) for (node, index), value in values.items()]
        while len(_equal_graphs) > _MOST:
            _equal_graphs.popitem(last=False)


def _key(graph: Graph, what: Any, given: Mapping[str, Any]) -> Any:
    """Equal for equal graphs of which the same is known; None where that cannot be said."""
    cached = ("built like", edits.count)
    if cached not in graph.programs:
        graph.programs[cached] = _built_like(graph)
    built = graph.programs[cached]
    return None if built is None else (what, built, tuple(given.items()))


def _built_like(graph: Graph) -> Any:
    """Operators, their attributes and inputs; None where operators have bodies or are the user's."""
    positions = {id(node): position for position, node in enumerate(graph.order)}
    nodes = []
    for node in graph.order:
        if node.op is None:
            nodes.append(node.name)
            continue
        if node.subgraphs or node.op.open_inputs:
            return None
        sources = tuple([(positions[id(source)], index) for source, index in node.inputs])
        nodes.append((node.op.name, tuple(node.attrs.items()), sources))
    return tuple(nodes)
