"""The text of ``Symbol.debug_str``."""

from __future__ import annotations

from collections.abc import Iterator

from gluonjax._engine.graph import Entry, Graph, Node


def debug_text(graph: Graph) -> str:
    """Every node with its inputs and attributes, in MXNet's layout."""
    return "\n".join(_lines(graph)) + "\n"


def _lines(graph: Graph) -> Iterator[str]:
    heads = {id(node): node for node, _ in graph.entries}
    head = graph.entries[0][0]
    if len(heads) == 1 and head.op is not None and not head.inputs:
        yield f"AtomicFunctor  Op:{head.op.name}"
        return
    yield "Symbol Outputs:"
    for number, (node, index) in enumerate(graph.entries):
        yield f"\toutput[{number}]={node.name}({index})"
    version: dict[int, int] = {}
    for node in graph.order:
        if node.op is None:
            yield f"Variable:{node.name}"
            continue
        for index in node.mutated:
            source = id(node.inputs[index][0])
            version[source] = version.get(source, 0) + 1
        yield from _node_lines(node, version)


def _node_lines(node: Node, version: dict[int, int]) -> Iterator[str]:
    def shown(entry: Entry) -> str:
        source, index = entry
        suffix = f" version={version.get(id(source), 0)}" if source.op is None else ""
        return f"{source.name}({index}){suffix}"

    assert node.op is not None
    yield "--------------------"
    yield f"Op:{node.op.name}, Name={node.name}"
    if node.inputs:
        yield "Inputs:"
        for number, entry in enumerate(node.inputs):
            yield f"\targ[{number}]={shown(entry)}"
    if node.attrs:
        yield "Attrs:"
        for key, text in sorted(node.attrs.items()):
            yield f"\t{key}={text}"
