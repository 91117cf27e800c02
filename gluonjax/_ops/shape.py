"""Operators that rearrange one array: reshape, transpose, squeeze, diagonals, plain copies; and its "
"indices."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._ops.families import scalar_like
from gluonjax._ops.opdef import Attrs, check, operator, zero_grad
from gluonjax._ops.rules import same_shape
from gluonjax._ops.shape_rules import (
    axis_order,
    expanded,
    infer_reshape,
    legacy_target_shape,
    normalize_axes,
    normalize_axis,
    permuted,
    same_size,
)

INT64 = np.dtype(np.int64)


@operator("Reshape", aliases=("reshape",), unify=same_size)
def reshape(
    data: Array,
    *,
    shape: tuple[int, ...] = (),
    reverse: bool = False,
    target_shape: tuple[int, ...] = (),
    keep_highest: bool = False,
) -> Array:
    """Give the array another shape with the same elements in the same order.

    Args:
        data: array of any shape.
        shape: sizes and codes: 0 copies a dimension, -1 is inferred, -2 copies all that remain, -3 merges
            two, -4 splits one into the two sizes that follow.
        reverse: match the codes from the right.
        target_shape: the old spelling, where 0 is inferred.
        keep_highest: with ``target_shape``, copy the first dimension.

    Returns:
        The array in its new shape.
    """
    if shape or not target_shape:
        return lax.reshape(data, infer_reshape(data.shape, shape, reverse))
    return lax.reshape(data, legacy_target_shape(data.shape, target_shape, keep_highest))


@operator("Flatten", aliases=("flatten", "_npx_batch_flatten"))
def flatten(data: Array) -> Array:
    """Merge all axes but the first.

    Args:
        data: ``(d1, d2, ..., dk)``.

    Returns:
        ``(d1, d2 * ... * dk)``; a vector becomes ``(d1, 1)``.
    """
    check(data.ndim > 0, "Flatten: got a 0-d array, wanted at least one dimension")
    return lax.reshape(data, (data.shape[0], math.prod(data.shape[1:])))


_transpose_order = axis_order("transpose")
_swap_order = axis_order("SwapAxis")


@operator("transpose", unify=permuted(_transpose_order))
def transpose(data: Array, *, axes: tuple[int, ...] = ()) -> Array:
    """Permute the axes.

    Args:
        data: array of any shape.
        axes: the input axis that each output axis shows; empty reverses them all.

    Returns:
        The permuted array.
    """
    return lax.transpose(data, _transpose_order(data.ndim, Attrs(axes=axes)))


@operator("SwapAxis", aliases=("swapaxes", "_npi_swapaxes"), unify=permuted(_swap_order))
def swap_axis(data: Array, *, dim1: int = 0, dim2: int = 0) -> Array:
    """Exchange two axes.

    Args:
        data: array of any shape.
        dim1: the first axis.
        dim2: the second axis.

    Returns:
        The array with both axes exchanged.
    """
    return lax.transpose(data, _swap_order(data.ndim, Attrs(dim1=dim1, dim2=dim2)))


@operator("expand_dims", aliases=("_npi_expand_dims",), unify=expanded)
def expand_dims(data: Array, *, axis: int) -> Array:
    """Put in a new axis of size one.

    Args:
        data: array of any shape.
        axis: its position in the result; negative counts from the end.

    Returns:
        The array with one dimension more.
    """
    position = normalize_axis(axis, data.ndim + 1, "expand_dims")
    return lax.reshape(data, (*data.shape[:position], 1, *data.shape[position:]))


@operator("squeeze")
def squeeze(data: Array, *, axis: tuple[int, ...] | None = None) -> Array:
    """Drop axes of size one.

    Args:
        data: array of any shape.
        axis: which axes to drop; all of size one where it is not given.

    Returns:
        The array without these axes, but with one axis at least: ``(1, 1)`` becomes ``(1,)`` as in MXNet.
    """
    if axis is None:
        dropped = tuple(index for index, size in enumerate(data.shape) if size == 1)
    else:
        dropped = normalize_axes(axis, data.ndim, "squeeze")
    for index in dropped:
        check(
            data.shape[index] == 1,
            f"squeeze: cannot select an axis to squeeze out which has size={data.shape[index]} not equal to "
            "one, "
            f"got axis {index} of shape {data.shape}",
        )
    shape = tuple(size for index, size in enumerate(data.shape) if index not in dropped)
    return lax.reshape(data, shape or (1,))


@operator("reverse", aliases=("flip",), unify=same_shape)
def reverse(data: Array, *, axis: tuple[int, ...]) -> Array:
    """Reverse the order of the elements along some axes.

    Args:
        data: array of any shape.
        axis: the axes.

    Returns:
        An array of the same shape.
    """
    return lax.rev(data, normalize_axes(axis, data.ndim, "reverse"))


@operator("reshape_like", aliases=("_npx_reshape_like",), dtypes="free")
def reshape_like(
    lhs: Array,
    rhs: Array,
    *,
    lhs_begin: int | None = None,
    lhs_end: int | None = None,
    rhs_begin: int | None = None,
    rhs_end: int | None = None,
) -> Array:
    """Give ``lhs`` the shape of ``rhs``, or replace a range of its dimensions by a range of those of ``rhs``.

    Args:
        lhs: the array to reshape.
        rhs: the array whose shape is taken.
        lhs_begin: first dimension of ``lhs`` to replace.
        lhs_end: the dimension of ``lhs`` to stop before.
        rhs_begin: first dimension of ``rhs`` to take.
        rhs_end: the dimension of ``rhs`` to stop before.

    Returns:
        ``lhs`` in its new shape.
    """

    def bounds(begin: int | None, end: int | None, ndim: int, name: str) -> tuple[int, int]:
        first = 0 if begin is None else begin + ndim * (begin < 0)
        last = ndim if end is None else end + ndim * (end < 0)
        check(
            0 <= first < last <= ndim or (begin is None and end is None),
            f"reshape_like: {name}_begin={begin} and {name}_end={end} do not name a range of {ndim} "
            "dimensions",
        )
        return first, last

    first, last = bounds(lhs_begin, lhs_end, lhs.ndim, "lhs")
    source_first, source_last = bounds(rhs_begin, rhs_end, rhs.ndim, "rhs")
    shape = (*lhs.shape[:first], *rhs.shape[source_first:source_last], *lhs.shape[last:])
    check(
        math.prod(shape) == lhs.size,
        f"reshape_like: Cannot reshape lhs with shape {lhs.shape} to new shape {shape} because they have "
        "different size",
    )
    return lax.reshape(lhs, shape)


@operator("diag")
def diag(data: Array, *, k: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """Extract a diagonal, or build a matrix with one.

    Args:
        data: a vector, or an array with two dimensions or more.
        k: which diagonal; positive ones lie above the main one.
        axis1: for arrays, the axis that counts rows.
        axis2: for arrays, the axis that counts columns.

    Returns:
        For a vector of length n the square matrix of side ``n + |k|``; for an array its diagonals as the last
        axis.
    """
    check(data.ndim > 0, "diag: got a 0-d array, wanted at least one dimension")
    if data.ndim == 1:
        return jnp.diag(data, k)
    first, second = (
        normalize_axis(axis1, data.ndim, "diag axis1"),
        normalize_axis(axis2, data.ndim, "diag axis2"),
    )
    check(first != second, f"diag: axis1 and axis2 cannot refer to the same axis {first}")
    rows, columns = data.shape[first], data.shape[second]
    length = min(rows + min(k, 0), columns - max(k, 0))
    check(length >= 0, f"diag: Diagonal does not exist: k={k} of shape {data.shape}")
    if length == 0:
        rest = [size for axis, size in enumerate(data.shape) if axis not in (first, second)]
        return lax.full((*rest, 0), 0, data.dtype)
    return jnp.diagonal(data, k, first, second)


@operator("_copyto", aliases=("_npi_copyto",), unify=same_shape)
def copy_to(data: Array) -> Array:
    """Copy the array; the engine places the copy.

    Args:
        data: array of any shape.

    Returns:
        The same values.
    """
    return data


@operator("_CrossDeviceCopy", unify=same_shape)
def cross_device_copy(data: Array) -> Array:
    """Copy the array between devices in a graph that spans several.

    Args:
        data: array of any shape.

    Returns:
        The same values.
    """
    return data


@operator("_contrib_arange_like", aliases=("_npx_arange_like",), grad=zero_grad)
def arange_like(
    data: Array,
    *,
    start: float = 0.0,
    step: float = 1.0,
    repeat: int = 1,
    ctx: str = "",
    axis: int | None = None,
) -> Array:
    """Count up in the shape of an array, or along one of its axes.

    Args:
        data: array of any shape; only its shape and data type matter.
        start: the first number.
        step: the difference between numbers.
        repeat: how often each number comes.
        ctx: ignored; the result lives where ``data`` lives.
        axis: count along this axis only.

    Returns:
        An array of the shape of ``data``, or a vector as long as the axis.
    """
    check(repeat > 0, f"arange_like: only supports repeat > 0, got {repeat}")
    shape = data.shape if axis is None else (data.shape[normalize_axis(axis, data.ndim, "arange_like")],)
    count = lax.iota(INT64, math.prod(shape))
    if repeat > 1:
        count = lax.div(count, lax.full_like(count, repeat))
    values = count.astype(data.dtype) * scalar_like(step, data.dtype) + scalar_like(start, data.dtype)
    return lax.reshape(values, shape)


@operator("_contrib_index_array", grad=zero_grad)
def index_array(data: Array, *, axes: tuple[int, ...] | None = None) -> Array:
    """The index of every element.

    Args:
        data: array of any shape ``(d1, ..., dk)``; only its shape matters.
        axes: which parts of the index to show; all where it is not given.

    Returns:
        int64 ``(d1, ..., dk, number of axes)``.
    """
    wanted = (
        range(data.ndim)
        if axes is None
        else [normalize_axis(axis, data.ndim, "index_array") for axis in axes]
    )
    parts = [lax.broadcasted_iota(INT64, (*data.shape, 1), axis) for axis in wanted]
    return lax.concatenate(parts, data.ndim) if parts else lax.full((*data.shape, 0), 0, INT64)
