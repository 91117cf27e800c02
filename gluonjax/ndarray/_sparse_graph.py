"""Storage types in symbolic graphs: which outputs are sparse, and which gradients.

Programs compute dense values; this only says how the results are presented.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gluonjax._engine.graph import Graph, Node
from gluonjax.ndarray._sparse_base import sparse_handle
from gluonjax.ndarray._sparse_rules import ALIKE, KEEP, RULES, canonical
from gluonjax.ndarray.ndarray import NDArray

_NAMES = {"0": "default", "1": "row_sparse", "2": "csr"}
# Backward keeps the storage type of the head gradient.
_PASS_BACK = frozenset(canonical([*KEEP, *ALIKE, "_square_sum", "_plus_scalar", "_minus_scalar", "clip"]))

Stypes = dict[tuple[int, int], str]


class Stand:
    """Stands for an array of which only storage type and shape are known."""

    __slots__ = ("shape", "stype")

    def __init__(self, stype: str, shape: tuple[int, ...]) -> None:
        self.stype = stype
        self.shape = shape


def declared(node: Node) -> str:
    """The storage type that ``sym.var(stype=...)`` gave a variable."""
    return _NAMES.get(node.attrs.get("__storage_type__", "0"), "default")


def may_be_sparse(graph: Graph, variables: Mapping[str, str]) -> bool:
    """False where no input is sparse and nothing asks for a sparse result, which is nearly always."""
    if any(stype != "default" for stype in variables.values()):
        return True
    return any(
        node.op is not None and (node.op.name == "cast_storage" or "forward_stype" in node.attrs)
        for node in graph.order
    )


def value_stypes(graph: Graph, variables: Mapping[str, str], shapes: Any) -> Stypes:
    """The storage type of every node's first output that is not dense.

    Args:
        variables: storage types by variable name.
        shapes: of entries, with a ``get``.
    """
    found: Stypes = {}
    for node in graph.order:
        if node.op is None:
            stype = variables.get(node.name, "default")
        elif node.op.name == "cast_storage":
            stype = node.parsed["stype"]
        else:
            rule = RULES.get(node.op.name)
            inputs = [
                Stand(found.get((id(source), index), "default"), shapes.get((source, index)) or ())
                for source, index in node.inputs
            ]
            sparse = any(one.stype != "default" for one in inputs) or "forward_stype" in node.attrs
            plan = rule(inputs, dict(node.parsed)) if rule is not None and sparse else None
            stype = "default" if plan is None else plan[0]
        if stype != "default":
            found[id(node), 0] = stype
    return found


def gradient_stypes(graph: Graph, values: Stypes) -> dict[str, str]:
    """The storage types of variables' gradients that are not dense, by name."""
    arriving: dict[tuple[int, int], list[str]] = {}
    for node, index in graph.entries:
        arriving.setdefault((id(node), index), []).append(values.get((id(node), index), "default"))
    found: dict[str, str] = {}
    for node in reversed(graph.order):
        stypes = arriving.get((id(node), 0), [])
        total = stypes[0] if stypes and (len(stypes) == 1 or set(stypes) == {"row_sparse"}) else "default"
        if node.op is None:
            if total != "default":
                found[node.name] = total
            continue
        for position, (source, index) in enumerate(node.inputs):
            arriving.setdefault((id(source), index), []).append(_of_input(node, position, total, values))
    return found


def _of_input(node: Node, position: int, head: str, values: Stypes) -> str:
    assert node.op is not None
    name, attrs = node.op.name, node.parsed
    if name in ("Embedding", "_contrib_SparseEmbedding") and position == 1:
        sparse = name != "Embedding" or attrs.get("sparse_grad")
        return "row_sparse" if sparse else "default"
    if name == "dot" and position == 1 and not (attrs["transpose_a"] or attrs["transpose_b"]):
        left, index = node.inputs[0]
        return "row_sparse" if values.get((id(left), index)) == "csr" else "default"
    return head if name in _PASS_BACK else "default"


def present(arrays: Sequence[NDArray], graph: Graph, values: Stypes) -> list[NDArray]:
    """Outputs as arrays of their storage types."""
    stypes = [values.get((id(node), index), "default") for node, index in graph.entries]
    return [
        array if stype == "default" else sparse_handle(array, stype) for array, stype in zip(arrays, stypes)
    ]
