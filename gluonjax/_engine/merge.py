"""Equal expressions computed once: what MXNet calls common subexpression elimination."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gluonjax._engine.graph import Entry, Graph, Node
from gluonjax._ops import registry


def merge_equal(graph: Graph) -> Graph:
    """The graph with equal nodes merged: same operator, attributes and inputs, nothing random.

    An output that becomes the same as an earlier one is copied, so that outputs stay separate arrays.
    """
    known: dict[Any, Node] = {}

    def build(node: Node, inputs: list[Entry]) -> tuple[Node, Mapping[int, Entry] | None]:
        fresh = node.with_inputs(inputs)
        if node.op is None or node.op.uses_key or node.op.host or node.mutated or node.subgraphs:
            return fresh, None
        where = tuple((id(source), index) for source, index in inputs)
        return known.setdefault((node.op, tuple(sorted(node.attrs.items())), where), fresh), None

    merged = graph.rebuild(build)
    seen: set[tuple[int, int]] = set()
    entries: list[Entry] = []
    for (node, index), (original, _) in zip(merged.entries, graph.entries):
        if (id(node), index) in seen and original.op is not None:
            node, index = (
                Node(registry.get("_copy"), f"{node.name}_copy{len(entries)}", {}, [(node, index)]),
                0,
            )
        seen.add((id(node), index))
        entries.append((node, index))
    return Graph(entries)
