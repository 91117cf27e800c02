"""Which outputs need a head gradient: loss operators compute their gradient without looking at one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from gluonjax._base.dtypes import is_floating
from gluonjax._base.errors import MXNetError
from gluonjax._engine.graph import Graph, Node
from gluonjax._ops.opdef import zero_grad


def needs_head(graph: Graph, output: int, train: bool, shapes: Sequence[Any], dtypes: Sequence[Any]) -> bool:
    """True where the gradient of an output's operator depends on the output's head gradient.

    Args:
        output: position among the graph's outputs.
        shapes, dtypes: of the inputs of the node behind it.
    """
    node, index = graph.entries[output]
    if node.op is None:
        return True
    if node.op.grad is zero_grad:
        return False
    key = ("needs head", id(node), index, train, tuple(shapes), tuple(dtypes))
    found = graph.programs.get(key)
    if found is None:
        found = graph.programs[key] = _depends(node, index, train, shapes, dtypes)
    return found


def _depends(node: Node, index: int, train: bool, shapes: Sequence[Any], dtypes: Sequence[Any]) -> bool:
    op = node.op
    assert op is not None
    if op.host or any(shape is None or None in shape for shape in shapes):
        return True
    pure = op.pure(node.parsed, train)
    structs = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in zip(shapes, dtypes)]
    wanted = [i for i, dtype in enumerate(dtypes) if is_floating(np.dtype(dtype))]
    if not wanted:
        return False
    key = [np.zeros(2, np.uint32)] if op.uses_key else []

    def gradient(head: Any, *values: Any) -> Any:
        def one_output(*some: Any) -> Any:
            full = list(values)
            for position, value in zip(wanted, some):
                full[position] = value
            return pure(*full, *key)[index]

        _, pullback = jax.vjp(one_output, *(values[i] for i in wanted))
        return pullback(head)

    try:
        with jax.enable_x64(True):
            head = jax.eval_shape(pure, *structs, *key)[index]
            if not is_floating(np.dtype(head.dtype)):
                return False
            closed = jax.make_jaxpr(gradient)(jax.ShapeDtypeStruct(head.shape, head.dtype), *structs)
    except (MXNetError, TypeError, ValueError):
        return True
    return _reaches(closed.jaxpr)


def _reaches(jaxpr: Any) -> bool:
    """True where an output depends on the first input (calls depend on all they take)."""
    tainted = {id(jaxpr.invars[0])}
    for equation in jaxpr.eqns:
        if any(id(variable) in tainted for variable in equation.invars):
            tainted.update(id(variable) for variable in equation.outvars)
    return any(id(variable) in tainted for variable in jaxpr.outvars)
