"""Operators that sort: sort, argsort, topk.

Ties keep their order of position in both directions. NaN counts as the largest value (MXNet leaves its place
open: the comparison it sorts by is no order then).
"""

from __future__ import annotations

from typing import Literal

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._base.attrs import DType
from gluonjax._ops.opdef import Attrs, check, operator, zero_grad
from gluonjax._ops.shape_rules import normalize_axis

FLOAT32 = np.dtype(np.float32)
INT32 = np.dtype(np.int32)


# From this many elements on, a CPU sorts packed keys: XLA's sort of pairs calls a comparison for each.
LARGE = 1 << 12
# The same bits as whole numbers, for the dtypes that fit into half of a key.
_BITS = {4: np.dtype(np.int32), 2: np.dtype(np.int16), 1: np.dtype(np.int8)}


def _packed_order(data: Array, axis: int, is_ascend: bool) -> Array:
    """The int32 positions of the sorted elements: one sort of numbers that hold an element's rank and position."""
    if jnp.issubdtype(data.dtype, jnp.floating):
        signed = _BITS[data.dtype.itemsize]
        largest = np.iinfo(signed).max
        bits = lax.bitcast_convert_type(jnp.where(data == 0, jnp.zeros((), data.dtype), data), signed)
        rank = jnp.where(data != data, largest, jnp.where(bits < 0, bits ^ largest, bits))
    else:
        rank = data
    wide = rank.astype(np.int64)
    position = lax.broadcasted_iota(np.dtype(np.int64), data.shape, axis)
    # Ties keep their order of position in both directions.
    keys = lax.sort(((wide if is_ascend else ~wide) << 32) | position, dimension=axis)
    return (keys & np.int64(0xFFFFFFFF)).astype(INT32)


def _sorted_by_packing(data: Array, axis: int, is_ascend: bool) -> tuple[Array, Array]:
    indices = _packed_order(lax.stop_gradient(data), axis, is_ascend)
    return jnp.take_along_axis(data, indices, axis=axis), indices


def ordered(data: Array, axis: int, is_ascend: bool) -> tuple[Array, Array]:
    """The values sorted along an axis, and the int32 positions that they came from."""
    if data.size < LARGE or data.dtype.itemsize > 4 or data.dtype == bool:
        return _sorted_pairs(data, axis, is_ascend)
    return lax.platform_dependent(
        data, cpu=lambda array: _sorted_by_packing(array, axis, is_ascend),
        default=lambda array: _sorted_pairs(array, axis, is_ascend),
    )  # fmt: skip


def _sorted_pairs(data: Array, axis: int, is_ascend: bool) -> tuple[Array, Array]:
    positions = lax.broadcasted_iota(INT32, data.shape, axis)
    if not is_ascend:
        # Sorting the mirrored array upwards and mirroring the result keeps ties in their order.
        data, positions = lax.rev(data, (axis,)), lax.rev(positions, (axis,))
    values, indices = lax.sort((data, positions), dimension=axis, is_stable=True, num_keys=1)
    if not is_ascend:
        values, indices = lax.rev(values, (axis,)), lax.rev(indices, (axis,))
    return values, indices


def _flat_or_axis(data: Array, axis: int | None, where: str) -> tuple[Array, int]:
    if axis is None:
        return lax.reshape(data, (data.size,)), 0
    check(data.ndim > 0, f"{where}: got a 0-d array, wanted at least one dimension")
    return data, normalize_axis(axis, data.ndim, f"{where}: Invalid axis! {where}")


@operator("sort", aliases=("_npi_sort",), outputs=("output0",))
def sort(data: Array, *, axis: int | None = -1, is_ascend: bool = True) -> Array:
    """Sort along one axis.

    Args:
        data: array of any shape.
        axis: the axis; the array is flattened first where it is None.
        is_ascend: smallest first.

    Returns:
        The sorted array.
    """
    data, position = _flat_or_axis(data, axis, "sort")
    if data.size >= LARGE:
        return ordered(data, position, is_ascend)[0]
    if not is_ascend:
        return lax.rev(lax.sort(data, dimension=position), (position,))
    return lax.sort(data, dimension=position)


@operator("argsort", aliases=("_npi_argsort",), grad=zero_grad)
def argsort(
    data: Array, *, axis: int | None = -1, is_ascend: bool = True, dtype: DType = FLOAT32  # type: ignore[assignment]
) -> Array:  # fmt: skip
    """The positions of the elements in sorted order.

    Args:
        data: array of any shape.
        axis: the axis; the array is flattened first where it is None.
        is_ascend: smallest first.
        dtype: data type of the positions; float32 as in MXNet, exact only up to 2**24.

    Returns:
        The positions along the axis.
    """
    data, position = _flat_or_axis(data, axis, "argsort")
    return ordered(data, position, is_ascend)[1].astype(dtype)


def _topk_outputs(attrs: Attrs) -> tuple[str, ...]:
    return ("output0", "output1") if attrs.ret_typ == "both" else ("output",)


@operator("topk", aliases=("_npx_topk",), outputs=_topk_outputs)
def topk(
    data: Array,
    *,
    axis: int | None = -1,
    k: int = 1,
    ret_typ: Literal["both", "indices", "mask", "value"] = "indices",
    is_ascend: bool = False,
    dtype: DType = FLOAT32,  # type: ignore[assignment]
) -> Array | tuple[Array, Array]:
    """The largest elements along one axis, or their positions.

    Args:
        data: array of any shape.
        axis: the axis; the array is flattened first where it is None.
        k: how many; all where it is not positive.
        ret_typ: the positions, the values, both (values first), or a mask with ones at the chosen elements.
        is_ascend: the smallest elements instead.
        dtype: data type of the positions.

    Returns:
        Arrays with size k along the axis; a mask has the shape of ``data``.
    """
    flat, position = _flat_or_axis(data, axis, "topk")
    size = flat.shape[position]
    check(k <= size, f"topk: k must be smaller than {size}, get k = {k}")
    count = k if k > 0 else size
    if ret_typ == "mask":
        return lax.reshape(_mask(lax.stop_gradient(flat), position, count, is_ascend), data.shape)
    values, indices = _largest(flat, position, count, is_ascend)
    if ret_typ == "value":
        return values
    positions = indices.astype(dtype)
    return (values, positions) if ret_typ == "both" else positions


def _largest(data: Array, axis: int, count: int, is_ascend: bool) -> tuple[Array, Array]:
    floats = jnp.issubdtype(data.dtype, jnp.floating)
    if not is_ascend and floats and count < data.shape[axis]:
        values, indices = lax.top_k(jnp.moveaxis(data, axis, -1), count)
        return jnp.moveaxis(values, -1, axis), jnp.moveaxis(indices, -1, axis).astype(INT32)
    values, indices = ordered(data, axis, is_ascend)
    return lax.slice_in_dim(values, 0, count, axis=axis), lax.slice_in_dim(indices, 0, count, axis=axis)


def _mask(data: Array, axis: int, count: int, is_ascend: bool) -> Array:
    chosen = _largest(data, axis, count, is_ascend)[1]
    mask = jnp.zeros(data.shape, data.dtype)
    return jnp.put_along_axis(mask, chosen, jnp.ones((), data.dtype), axis=axis, inplace=False)
