"""Which storage type an operator's result has, in one table; and operators that look at what is stored.

Everything not listed falls back: sparse inputs count as dense and the result is dense.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gluonjax._base.errors import MXNetError
from gluonjax._engine.run import Kernel
from gluonjax._ops import registry
from gluonjax._ops.opdef import OpDef
from gluonjax.ndarray import _invoke
from gluonjax.ndarray._invoke import run_operator
from gluonjax.ndarray._sparse_base import BaseSparseNDArray, sparse_handle
from gluonjax.ndarray._sparse_layout import Layout, union, window
from gluonjax.ndarray.ndarray import NDArray, wrap

# What a rule answers: the storage type and the layout (None: the non-zeros); or None for a dense result.
Plan = tuple[str, Layout | None] | None
Rule = Callable[[Sequence[Any], dict[str, Any]], Plan]


def _layout(handle: Any) -> Layout | None:
    # In a graph there are no arrays yet, only their storage types and shapes.
    layout = handle._layout if isinstance(handle, BaseSparseNDArray) else None
    return layout if layout is not None and layout.raw is None else None


def keep(inputs: Sequence[Any], given: dict[str, Any]) -> Plan:
    """As the first input, with the same places stored."""
    first = inputs[0]
    return (first.stype, _layout(first)) if first.stype != "default" else None


def keep_if(condition: Callable[[float], bool]) -> Rule:
    """As the input where a zero stays zero for this scalar."""

    def rule(inputs: Sequence[Any], given: dict[str, Any]) -> Plan:
        return keep(inputs, given) if condition(float(given.get("scalar", 1.0))) else None

    return rule


def alike(inputs: Sequence[Any], given: dict[str, Any]) -> Plan:
    """Sparse where both inputs are of one sparse type. Rows that either has stay; zeros of csr results go."""
    first, second = inputs
    if first.stype != second.stype or first.stype == "default":
        return None
    return first.stype, union(_layout(first), _layout(second)) if first.stype == "row_sparse" else None


def product(inputs: Sequence[Any], given: dict[str, Any]) -> Plan:
    """A product with a dense array has the sparse one's places."""
    sparse = [one for one in inputs if one.stype != "default"]
    return alike(inputs, given) if len(sparse) == 2 else keep(sparse, given)


def csr_with_dense(inputs: Sequence[Any], given: dict[str, Any]) -> Plan:
    """csr on the left of a dense array."""
    return keep(inputs, given) if [one.stype for one in inputs] == ["csr", "default"] else None


def all_rows(inputs: Sequence[Any], given: dict[str, Any]) -> Plan:
    """row_sparse where every input is."""
    if any(one.stype != "row_sparse" for one in inputs):
        return None
    layout = _layout(inputs[0])
    for one in inputs[1:]:
        layout = union(layout, _layout(one))
    return "row_sparse", layout


def only_csr(inputs: Sequence[Any], given: dict[str, Any]) -> Plan:
    return ("csr", None) if all(one.stype == "csr" for one in inputs) else None


def concat(inputs: Sequence[Any], given: dict[str, Any]) -> Plan:
    """Matrices below each other stay csr."""
    return only_csr(inputs, given) if int(given.get("dim", 1)) == 0 else None


def take(inputs: Sequence[Any], given: dict[str, Any]) -> Plan:
    """Rows of a csr matrix, unless they have to be checked."""
    whole = int(given.get("axis", 0)) == 0 and given.get("mode", "clip") != "raise"
    return ("csr", None) if whole and inputs[0].stype == "csr" and inputs[1].stype == "default" else None


def clip(inputs: Sequence[Any], given: dict[str, Any]) -> Plan:
    zero_stays = float(given.get("a_min", 1)) <= 0 <= float(given.get("a_max", -1))
    return keep(inputs, given) if zero_stays else None


def _bounds(given: Any, length: int, missing: int) -> int:
    if isinstance(given, (tuple, list)):
        given = given[0] if given else None
    return missing if given is None else max(0, min(length, int(given) + (length if int(given) < 0 else 0)))


def slice_rule(inputs: Sequence[Any], given: dict[str, Any]) -> Plan:
    """A rectangle of a csr matrix is csr; steps fall back."""
    matrix, step = inputs[0], given.get("step")
    steps = [step] if isinstance(step, int) else list(step or ())
    if matrix.stype != "csr" or any(one not in (None, 1) for one in steps):
        return None
    begin, end = given.get("begin"), given.get("end")
    layout = _layout(matrix)
    if layout is None or isinstance(begin, str) or isinstance(end, str):
        return "csr", None
    rows, columns = matrix.shape
    firsts, lasts = (list(one) if isinstance(one, (tuple, list)) else [one] for one in (begin, end))
    top, bottom = _bounds(firsts[0], rows, 0), _bounds(lasts[0], rows, rows)
    left = _bounds(firsts[1], columns, 0) if len(firsts) > 1 else 0
    right = _bounds(lasts[1], columns, columns) if len(lasts) > 1 else columns
    return "csr", window(layout, (top, left), (bottom - top, right - left))


def zeros_like(inputs: Sequence[Any], given: dict[str, Any]) -> Plan:
    first = inputs[0]
    return first.stype, Layout(first.stype, first.shape, places=np.zeros(0, np.int64))


def as_second(inputs: Sequence[Any], given: dict[str, Any]) -> Plan:
    return (inputs[1].stype, None) if inputs[1].stype != "default" else None


def quadratic(inputs: Sequence[Any], given: dict[str, Any]) -> Plan:
    return keep(inputs, given) if inputs[0].stype == "csr" and float(given.get("c", 0)) == 0 else None


def square_sum(inputs: Sequence[Any], given: dict[str, Any]) -> Plan:
    """Row sums of squares that keep their axis are row_sparse."""
    first = inputs[0]
    axis = given.get("axis")
    axis = axis[0] if isinstance(axis, (tuple, list)) and len(axis) == 1 else axis
    if first.stype != "row_sparse" or axis not in (1, -1) or not _true(given.get("keepdims", False)):
        return None
    layout = _layout(first)
    shape = (first.shape[0], 1)
    return "row_sparse", None if layout is None else layout.of_shape(shape)


def _true(value: Any) -> bool:
    return value in (True, 1, "True", "true", "1")


def dot(inputs: Sequence[Any], given: dict[str, Any]) -> Plan:
    """What ``forward_stype`` asks for; else csr for dense x csr, row_sparse for csr.T x anything but csr."""
    wanted = given.get("forward_stype")
    if wanted in ("csr", "row_sparse"):
        return wanted, None
    if wanted == "default":
        return None
    turned, other = _true(given.get("transpose_a", False)), _true(given.get("transpose_b", False))
    left, right = (one.stype for one in inputs)
    if left == "default" and right == "csr" and not turned:
        return "csr", None
    if left == "csr" and right != "csr" and turned and not other and len(inputs[1].shape) == 2:
        return "row_sparse", None
    return None


def retained(inputs: Sequence[Any], given: dict[str, Any]) -> Plan:
    data, indices = inputs
    if not isinstance(indices, NDArray):
        return "row_sparse", None
    rows = indices.asnumpy().astype(np.int64)
    rows = rows[(rows >= 0) & (rows < data.shape[0])]
    return "row_sparse", Layout("row_sparse", data.shape, places=rows)


KEEP = (
    "BlockGrad _contrib_gradientmultiplier _contrib_round_ste _contrib_sign_ste _copy _div_scalar "
    "_mul_scalar abs arcsin arcsinh arctan arctanh cbrt ceil degrees expm1 fix floor log1p make_loss "
    "negative radians relu rint round sign sin sinh sqrt square tan tanh trunc _scatter_plus_scalar "
    "_scatter_minus_scalar"
).split()
ALIKE = "elemwise_add elemwise_sub _maximum _minimum _hypot _grad_add".split()

RULES: dict[str, Rule] = {
    **dict.fromkeys(KEEP, keep),
    **dict.fromkeys(ALIKE, alike),
    "_plus_scalar": keep_if(lambda scalar: scalar == 0),
    "_minus_scalar": keep_if(lambda scalar: scalar == 0),
    "_equal_scalar": keep_if(lambda scalar: scalar != 0),
    "_not_equal_scalar": keep_if(lambda scalar: scalar == 0),
    "_greater_scalar": keep_if(lambda scalar: scalar >= 0),
    "_greater_equal_scalar": keep_if(lambda scalar: scalar > 0),
    "_lesser_scalar": keep_if(lambda scalar: scalar <= 0),
    "_lesser_equal_scalar": keep_if(lambda scalar: scalar < 0),
    "elemwise_mul": product,
    "broadcast_mul": csr_with_dense,
    "broadcast_div": csr_with_dense,
    "_scatter_elemwise_div": lambda inputs, given: (
        keep(inputs, given) if inputs[0].stype == "row_sparse" else None
    ),
    "add_n": all_rows,
    "ElementWiseSum": all_rows,
    "Concat": concat,
    "take": take,
    "clip": clip,
    "slice": slice_rule,
    "zeros_like": zeros_like,
    "_identity_with_attr_like_rhs": as_second,
    "_contrib_quadratic": quadratic,
    "_square_sum": square_sum,
    "dot": dot,
    "_sparse_retain": retained,
}


def canonical(names: Sequence[str]) -> list[str]:
    """Operators' own names for any of their names; unknown ones are left out."""
    return [op.name for name in names if (op := registry.find(name)) is not None]


# Rules are looked up by an operator's own name; any of its names may stand above.
RULES.update({op: RULES[name] for name in tuple(RULES) for op in canonical([name])})


def run(op: OpDef, inputs: Sequence[Any], given: dict[str, Any], out: Any) -> Any:
    """Run an operator of which some input is sparse."""
    special = SPECIAL.get(op.name)
    if special is not None:
        done = special(op, inputs, given, out)
        if done is not None:
            return done
    rule = RULES.get(op.name)
    plan = None if rule is None else rule(inputs, given)
    result = run_operator(op, [_dense(one) for one in inputs], given, out, NDArray)
    if plan is None or isinstance(result, (list, tuple)):
        return result
    stype, layout = plan
    if out is None:
        return sparse_handle(result, stype, layout)
    if (
        isinstance(result, BaseSparseNDArray)
        and result.stype == stype
        and (layout is None or layout.raw is None)
    ):
        result._layout = layout
    return result


def _dense(handle: Any) -> Any:
    return handle._as_class(NDArray) if handle._stype_name != "default" else handle


def _only_stored(op: OpDef, inputs: Sequence[Any], given: dict[str, Any], out: Any) -> Any:
    """The ``_scatter_`` operators compute on what is stored and leave the rest zero."""
    first = inputs[0]
    if first.stype == "default" or (op.name == "_scatter_elemwise_div" and first.stype == "csr"):
        return None
    layout = _layout(first)
    if layout is None:
        return None
    result = run_operator(op, [_dense(one) for one in inputs], given, None, NDArray)
    mask = wrap(np.ascontiguousarray(np.broadcast_to(layout.mask(), first.shape)), first.context)
    zeros = wrap(np.zeros(first.shape, first.dtype), first.context)
    result = run_operator(registry.get("where"), (mask, result, zeros), {}, None, NDArray)
    made = sparse_handle(result, first.stype, layout)
    if out is None:
        return made
    made.copyto(out)
    return out


def _count_stored(op: OpDef, inputs: Sequence[Any], given: dict[str, Any], out: Any) -> Any:
    """``getnnz`` counts stored elements, explicit zeros too."""
    first = inputs[0]
    if first.stype != "csr":
        raise MXNetError(f"Operator not implemented: {op.name} of a {first.stype} array; wanted csr")
    axis = given.get("axis")
    starts = first._parts().indptr
    if axis in (None, "None"):
        return wrap(np.array([starts[-1]], np.int64), first.context)
    if int(axis) != 1:
        raise MXNetError(f"getnnz with axis = {axis} is not supported yet; use None or 1")
    return wrap(np.diff(starts), first.context)


def _rows_written(base: Any, rows: Any, new: Any) -> tuple[Any]:
    import jax.numpy as jnp

    return (jnp.asarray(base).at[rows].set(new),)


_ROWS_WRITTEN = Kernel("rows_written", _rows_written)


def _lazy_update(op: OpDef, inputs: Sequence[Any], given: dict[str, Any], out: Any) -> Any:
    """Optimizer steps with a row_sparse gradient touch only the rows it stores, weights and states alike."""
    gradient = inputs[1]
    lazy = _true(given.pop("lazy_update", True)) if "lazy_update" in op.attr_table else True
    if op.name == "ftrl_update" and inputs[0].stype != "row_sparse":
        # MXNet updates every row of a dense weight here, whatever the gradient stores.
        return None
    if gradient.stype != "row_sparse" or not lazy:
        if "lazy_update" in op.attr_table:
            given["lazy_update"] = lazy
        return None
    weight, context = inputs[0], inputs[0].context
    rows = gradient._layout.find()
    target = weight.copy() if out is None else out
    if out is not None and out is not weight:
        weight.copyto(out)
    if not len(rows):
        return target
    indices = wrap(rows, context)
    pick = registry.get("take")
    taken = [run_operator(pick, (_dense(one), indices), {"axis": 0}, None, NDArray) for one in inputs]
    result = run_operator(op, taken, given, None, NDArray)
    changed = [(target, result[0] if isinstance(result, list) else result)]
    attrs = op.parse({name: value for name, value in given.items() if name not in op.traced} | _zeros(op))
    changed += [(inputs[index], taken[index]) for index in op.mutates(attrs, len(inputs))]
    for handle, new in changed:
        handle._write(_ROWS_WRITTEN.run((handle._value, rows, new._value), context.is_host)[0])
    return target


def _zeros(op: OpDef) -> dict[str, float]:
    return {name: 0.0 for name in op.traced}


SPECIAL: dict[str, Callable[..., Any]] = {
    "_scatter_plus_scalar": _only_stored,
    "_scatter_minus_scalar": _only_stored,
    "_scatter_elemwise_div": _only_stored,
    "_contrib_getnnz": _count_stored,
    "sgd_update": _lazy_update,
    "sgd_mom_update": _lazy_update,
    "adam_update": _lazy_update,
    "ftrl_update": _lazy_update,
    "_sparse_adagrad_update": _lazy_update,
}

_invoke.use_storage(run)
