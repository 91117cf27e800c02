"""Operators that choose elements along one axis: take, pick, one_hot, Embedding, where, boolean_mask.

MXNet's rule for indices outside of the array is said per operator: nearly all of these clip silently.
"""

from __future__ import annotations

import functools
import math
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.core import Tracer

from gluonjax._base.aligned import empty
from gluonjax._base.attrs import DType
from gluonjax._ops.nn.sums import on_cpu
from gluonjax._ops.opdef import Attrs, Shape, check, operator, zero_grad
from gluonjax._ops.rules import merge_shapes
from gluonjax._ops.shape_rules import Inputs, Outputs, normalize_axis

FLOAT32 = np.dtype(np.float32)
INT32 = np.dtype(np.int32)
INT64 = np.dtype(np.int64)
CLIP = lax.GatherScatterMode.CLIP


def whole_numbers(indices: Array) -> Array:
    """Indices as integers; fractions are cut off towards zero, as a C cast does."""
    if indices.dtype in (INT32, INT64):
        return indices
    return indices.astype(INT64 if indices.dtype == np.float64 else INT32)


def wrap_index(indices: Array, size: int) -> Array:
    """Indices modulo the size, never negative."""
    rest = lax.rem(indices, lax.full_like(indices, max(size, 1)))
    return lax.select(lax.lt(rest, lax.full_like(rest, 0)), rest + size, rest)


def gather_axis(data: Array, indices: Array | np.ndarray, axis: int) -> Array:
    """The slices of ``data`` along one axis at clipped indices of any shape, which replace the axis."""
    front, back = axis, data.ndim - axis - 1
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(*range(front), *range(front + indices.ndim, front + indices.ndim + back)),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
    )
    sizes = (*data.shape[:axis], 1, *data.shape[axis + 1 :])
    return lax.gather(data, lax.expand_dims(indices, (indices.ndim,)), numbers, sizes, mode=CLIP)


def _gather_each(name: str, data: Array, indices: Array, axis: int) -> Array:
    """One element along the axis for every position of the other axes: ``indices`` lacks the axis."""
    if not data.size:
        check(not indices.size, f"{name}: axis {axis} of data {data.shape} has no element to take")
        return lax.full(indices.shape, 0, data.dtype)
    others = tuple(index for index in range(data.ndim) if index != axis)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
        operand_batching_dims=others,
        start_indices_batching_dims=tuple(range(len(others))),
    )
    return lax.gather(data, lax.expand_dims(indices, (indices.ndim,)), numbers, (1,) * data.ndim, mode=CLIP)


@operator("take", aliases=("_npi_take",), dtypes="free")
def take(
    a: Array, indices: Array, *, axis: int = 0, mode: Literal["clip", "raise", "wrap"] = "clip"
) -> Array:
    """Take slices along one axis.

    Args:
        a: array of any shape.
        indices: array of any shape and type.
        axis: the axis to take from.
        mode: what an index outside of the axis means: the nearest end, an error, or counting around.

    Returns:
        ``a`` with the axis replaced by the shape of ``indices``.
    """
    position = normalize_axis(axis, a.ndim, "take")
    index = whole_numbers(indices)
    check(
        a.shape[position] > 0 or indices.size == 0,
        f"take: cannot take from axis {position} of size 0, got shape {a.shape}",
    )
    if mode == "wrap":
        index = wrap_index(index, a.shape[position])
    return gather_axis(a, index, position)


@operator("batch_take", dtypes="free")
def batch_take(a: Array, indices: Array) -> Array:
    """Take one element of every row.

    Args:
        a: ``(..., n)``.
        indices: one index for every row; outside ones clip.

    Returns:
        The elements, in the shape of ``indices``.
    """
    check(a.ndim > 0, "batch_take: got a 0-d array, wanted at least one dimension")
    rows = math.prod(a.shape[:-1])
    check(
        rows == indices.size,
        f"batch_take: Index array's size must be the same as data array's size excluding the last dimension, "
        f"got {indices.shape} for {a.shape}",
    )
    index = lax.reshape(whole_numbers(indices), (rows,))
    return lax.reshape(_gather_each("batch_take", lax.reshape(a, (rows, a.shape[-1])), index, 1), indices.shape)


def pick_element(data: Array, index: Array, axis: int | None, keepdims: bool, mode: str) -> Array:
    """One element along an axis for every position of the other axes; the 0-d result of a vector stays "
    "0-d."""
    check(axis is not None, "pick: axis=None is not supported by pick yet. Must specify an axis.")
    position = normalize_axis(axis or 0, data.ndim, "pick")
    rest = (*data.shape[:position], *data.shape[position + 1 :])
    kept = (*data.shape[:position], 1, *data.shape[position + 1 :])
    check(
        index.shape in (rest, kept) or (not rest and index.shape == (1,)),
        f"pick: Shape inconsistent, Provided = {list(index.shape)}, inferred shape={list(rest)}",
    )
    chosen = whole_numbers(lax.reshape(index, rest))
    if mode == "wrap":
        chosen = wrap_index(chosen, data.shape[position])
    picked = _gather_each("pick", data, chosen, position)
    return lax.reshape(picked, kept) if keepdims else picked


@operator("pick", aliases=("choose_element_0index",), dtypes="free")
def pick(
    data: Array,
    index: Array,
    *,
    axis: int | None = -1,
    keepdims: bool = False,
    mode: Literal["clip", "wrap"] = "clip",
) -> Array:
    """Pick one element along an axis for every position of the other axes.

    Args:
        data: array of any shape.
        index: the shape of ``data`` without the axis, or with size one there.
        axis: the axis.
        keepdims: keep the axis with size one.
        mode: what an index outside of the axis means: the nearest end, or counting around.

    Returns:
        The picked elements; of a vector, an array of shape ``(1,)``.
    """
    picked = pick_element(data, index, axis, keepdims, mode)
    return picked if picked.ndim else lax.reshape(picked, (1,))


@operator("_npx_pick", dtypes="free")
def npx_pick(
    data: Array,
    index: Array,
    *,
    axis: int | None = -1,
    keepdims: bool = False,
    mode: Literal["clip", "wrap"] = "clip",
) -> Array:
    """Pick one element along an axis for every position of the other axes, with NumPy's shapes.

    Args:
        data: array of any shape.
        index: the shape of ``data`` without the axis, or with size one there.
        axis: the axis.
        keepdims: keep the axis with size one.
        mode: what an index outside of the axis means: the nearest end, or counting around.

    Returns:
        The picked elements; of a vector, a 0-d array.
    """
    return pick_element(data, index, axis, keepdims, mode)


@operator("fill_element_0index", dtypes="free")
def fill_element_0index(lhs: Array, mhs: Array, rhs: Array) -> Array:
    """Replace one element of every row.

    Args:
        lhs: ``(m, n)``.
        mhs: ``(m,)``, the new elements.
        rhs: ``(m,)``, the columns; rows with one outside of the array stay as they are.

    Returns:
        ``(m, n)``.
    """
    check(
        lhs.ndim == 2 and mhs.shape == rhs.shape == lhs.shape[:1],
        f"fill_element_0index: wanted shapes (m, n), (m,) and (m,), got {lhs.shape}, {mhs.shape} and "
        f"{rhs.shape}",
    )
    columns = lax.broadcasted_iota(INT32, lhs.shape, 1)
    here = lax.eq(columns, lax.broadcast_in_dim(whole_numbers(rhs).astype(INT32), lhs.shape, (0,)))
    return lax.select(here, lax.broadcast_in_dim(mhs.astype(lhs.dtype), lhs.shape, (0,)), lhs)


@operator("one_hot", aliases=("_npx_one_hot",), grad=zero_grad)
def one_hot(
    indices: Array, *, depth: int, on_value: float = 1.0, off_value: float = 0.0, dtype: DType = FLOAT32  # type: ignore[assignment]
) -> Array:  # fmt: skip
    """Write every index as a row that marks its position.

    Args:
        indices: array of any shape.
        depth: the length of a row.
        on_value: the mark.
        off_value: everything else; an index outside of the row leaves no mark.
        dtype: data type of the result.

    Returns:
        ``indices.shape + (depth,)``.
    """
    check(depth >= 0, f"one_hot: depth cannot be negative, got {depth}")
    shape = (*indices.shape, depth)
    # A NaN must mark nothing; a plain cast would make it 0 on some devices.
    index = whole_numbers(indices)
    if jnp.issubdtype(indices.dtype, jnp.floating):
        index = lax.select(lax.eq(indices, indices), index, lax.full_like(index, -1))
    marked = lax.eq(
        lax.broadcast_in_dim(index, shape, range(indices.ndim)),
        lax.broadcasted_iota(index.dtype, shape, indices.ndim),
    )
    return lax.select(marked, lax.full(shape, on_value, dtype), lax.full(shape, off_value, dtype))


def _embedding_shapes(known: dict[str, Shape | None], attrs: Attrs) -> dict[str, Shape]:
    return {"weight": (attrs.input_dim, attrs.output_dim)}


def _embedding_dtypes(dtypes: dict[str, Any], attrs: Attrs) -> dict[str, Any]:
    weight = dtypes.get("weight") or np.dtype(attrs.dtype)
    return {"data": dtypes.get("data") or FLOAT32, "weight": weight}


def _embed(data: Array, weight: Array, input_dim: int, output_dim: int) -> Array:
    check(
        weight.shape == (input_dim, output_dim),
        f"Embedding: Shape inconsistent, Provided = {list(weight.shape)}, inferred shape=({input_dim}, "
        f"{output_dim})",
    )
    return gather_axis(weight, whole_numbers(data), 0)


@operator(
    "Embedding",
    aliases=("_npx_embedding", "_sparse_Embedding"),
    param_shapes=_embedding_shapes,
    dtypes=_embedding_dtypes,
)
def embedding(
    data: Array,
    weight: Array,
    *,
    input_dim: int,
    output_dim: int,
    dtype: DType = FLOAT32,  # type: ignore[assignment]
    sparse_grad: bool = False,
) -> Array:
    """Look up a row of the weight for every index.

    Args:
        data: indices of any shape and type; outside ones clip silently, as in MXNet.
        weight: ``(input_dim, output_dim)``.
        input_dim: the number of rows.
        output_dim: the length of a row.
        dtype: data type of the weight where it is created.
        sparse_grad: whether the gradient of the weight is meant to be row-sparse; the values are the same.

    Returns:
        ``data.shape + (output_dim,)``.
    """
    return _embed(data, weight, input_dim, output_dim)


@operator(
    "_contrib_SparseEmbedding", param_shapes=_embedding_shapes, dtypes=_embedding_dtypes, unlisted=("deterministic",)
)
def sparse_embedding(
    data: Array,
    weight: Array,
    *,
    input_dim: int,
    output_dim: int,
    dtype: DType = FLOAT32,  # type: ignore[assignment]
    sparse_grad: bool = False,
    deterministic: bool = False,
) -> Array:
    """Look up a row of the weight for every index; the old name of ``Embedding(sparse_grad=True)``.

    Args:
        data: indices of any shape and type; outside ones clip silently.
        weight: ``(input_dim, output_dim)``.
        input_dim: the number of rows.
        output_dim: the length of a row.
        dtype: data type of the weight where it is created.
        sparse_grad: accepted, and always meant.
        deterministic: accepted; gradients always add up in one order.

    Returns:
        ``data.shape + (output_dim,)``.
    """
    return _embed(data, weight, input_dim, output_dim)


def _where_shapes(inputs: Inputs, outputs: Outputs, attrs: Attrs) -> tuple[Inputs, Outputs]:
    shape: Shape | None = outputs[0]
    for name in ("x", "y"):
        shape = merge_shapes(shape, inputs[name])
    return {"condition": inputs["condition"], "x": shape, "y": shape}, [shape]


def _where_dtypes(dtypes: dict[str, Any], attrs: Attrs) -> dict[str, Any]:
    known = dtypes.get("x") or dtypes.get("y")
    for name in ("x", "y"):
        found = dtypes.get(name)
        check(
            found is None or found == known,
            f"where: x and y need one data type, got {dtypes.get('x')} and {dtypes.get('y')}; cast one with "
            ".astype()",
        )
    return {"condition": dtypes.get("condition") or known, "x": known, "y": known}


@operator("where", aliases=("_sparse_where",), unify=_where_shapes, dtypes=_where_dtypes)
def where(condition: Array, x: Array, y: Array) -> Array:
    """Choose between two arrays, element by element or row by row.

    Args:
        condition: the shape of ``x``, or a vector with one entry for each row; nonzero chooses ``x``.
        x: array of any shape.
        y: array of the same shape.

    Returns:
        The chosen elements.
    """
    check(x.shape == y.shape, f"where: x and y need one shape, got {x.shape} and {y.shape}")
    by_row = condition.ndim == 1 and x.ndim > 1 and condition.shape == x.shape[:1]
    check(
        condition.shape == x.shape or by_row,
        f"where: condition has shape {condition.shape}, wanted {x.shape}, or a vector with one entry for "
        "each row",
    )
    chosen = lax.ne(condition, lax.full_like(condition, 0))
    if by_row:
        chosen = lax.broadcast_in_dim(chosen, x.shape, (0,))
    return lax.select(chosen, x, y)


@operator(
    "_contrib_boolean_mask",
    aliases=("_npi_boolean_mask",),
    dtypes="free",
    host=True,
    heavy=True,
)
def boolean_mask(data: Array, index: Array, *, axis: int = 0) -> Array:
    """Keep the slices along one axis whose mask is not zero.

    Args:
        data: array of any shape.
        index: a vector as long as the axis; it must be a concrete value.
        axis: the axis.

    Returns:
        The kept slices; nothing kept is an empty array.
    """
    position = normalize_axis(axis, data.ndim, "boolean_mask")
    check(
        index.shape == (data.shape[position],),
        f"boolean_mask: the mask has shape {index.shape}, wanted ({data.shape[position]},) for axis "
        f"{position} of "
        f"{data.shape}",
    )
    mask = np.asarray(lax.stop_gradient(index))  # concrete also while data is differentiated
    kept = np.flatnonzero(mask).astype(np.int32)
    back = np.full(index.shape, -1, np.int32)
    back[kept] = np.arange(len(kept), dtype=np.int32)
    return _kept_slices(data, kept, back, position)  # type: ignore[arg-type]


@functools.partial(jax.custom_vjp, nondiff_argnums=(3,))
def _kept_slices(data: Array, kept: Array, back: Array, axis: int) -> Array:
    """The slices at ``kept``; ``back`` tells for each slice of data where it went (-1: nowhere)."""
    if not _in_host_memory(data):
        return gather_axis(data, kept, axis)
    found = empty((*data.shape[:axis], len(kept), *data.shape[axis + 1 :]), data.dtype)
    return np.take(np.asarray(data), kept, axis, found, mode="clip")  # type: ignore[return-value]


def _in_host_memory(*arrays: Any) -> bool:
    """Whether NumPy may copy the slices: XLA:CPU takes ten times as long."""
    return on_cpu() and not any(isinstance(array, Tracer) for array in arrays)


def _kept_forward(data: Array, kept: Array, back: Array, axis: int) -> tuple[Array, tuple[Array, Array]]:
    return _kept_slices(data, kept, back, axis), (kept, back)


def _kept_backward(axis: int, saved: tuple[Array, Array], head: Array) -> tuple[Array, None, None]:
    kept, back = saved
    if not _in_host_memory(kept, back, head):
        return _returned_slices(axis, back, head), None, None
    found = empty((*head.shape[:axis], len(back), *head.shape[axis + 1 :]), head.dtype)
    before = (slice(None),) * axis
    found[(*before, np.flatnonzero(np.less(back, 0)))] = 0
    found[(*before, np.asarray(kept))] = np.asarray(head)
    return found, None, None  # type: ignore[return-value]


@functools.partial(jax.jit, static_argnums=(0,))
def _returned_slices(axis: int, back: Array, head: Array) -> Array:
    # Reading where each slice went takes a third of the time of adding the gradients to zeros.
    shape = (*head.shape[:axis], back.shape[0], *head.shape[axis + 1 :])
    if not head.shape[axis]:
        return jnp.zeros(shape, head.dtype)
    found = lax.broadcast_in_dim(lax.ge(back, lax.full_like(back, 0)), shape, (axis,))
    return lax.select(found, gather_axis(head, back, axis), jnp.zeros(shape, head.dtype))


_kept_slices.defvjp(_kept_forward, _kept_backward)


@operator("_onehot_encode", dtypes="free", grad=zero_grad)
def onehot_encode(lhs: Array, rhs: Array) -> Array:
    """Write indices as rows that mark their positions; the deprecated form of ``one_hot``.

    Args:
        lhs: ``(n,)``, the indices.
        rhs: ``(n, depth)``, which tells the shape.

    Returns:
        ``(n, depth)``.
    """
    check(
        rhs.ndim == 2 and lhs.shape == rhs.shape[:1],
        f"_onehot_encode: wanted shapes (n,) and (n, depth), got {lhs.shape} and {rhs.shape}",
    )
    return one_hot(lhs, depth=rhs.shape[1], dtype=lhs.dtype)  # MXNet wants one dtype, and calls it that of lhs
