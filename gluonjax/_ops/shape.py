"""Operators that rearrange one array: reshape, transpose, squeeze, diagonals, blocks, patches and plain copies."""

from __future__ import annotations

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

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
)

INT64 = np.dtype(np.int64)


@operator("Reshape", aliases=("reshape",))
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
        shape: sizes and codes: 0 copies a dimension, -1 is inferred, -2 copies all that remain, -3 merges two,
            -4 splits one into the two sizes that follow.
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
            f"squeeze: cannot select an axis to squeeze out which has size={data.shape[index]} not equal to one, "
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
            0 <= first <= last <= ndim,
            f"reshape_like: {name}_begin={begin} and {name}_end={end} do not name a range of {ndim} dimensions",
        )
        return first, last

    first, last = bounds(lhs_begin, lhs_end, lhs.ndim, "lhs")
    source_first, source_last = bounds(rhs_begin, rhs_end, rhs.ndim, "rhs")
    shape = (*lhs.shape[:first], *rhs.shape[source_first:source_last], *lhs.shape[last:])
    check(
        math.prod(shape) == lhs.size,
        f"reshape_like: Cannot reshape lhs with shape {lhs.shape} to new shape {shape} because they have different size",
    )
    return lax.reshape(lhs, shape)


def _check_blocks(name: str, data: Array, block: int) -> None:
    check(data.ndim == 4, f"{name}: requires exactly a 4D tensor (batch, channel, height, width), got {data.shape}")
    check(block > 0, f"{name}: block_size must be a positive integer value, got {block}")


@operator("depth_to_space")
def depth_to_space(data: Array, *, block_size: int) -> Array:
    """Move groups of channels into square blocks of pixels.

    Args:
        data: ``(n, c, h, w)``, with c a multiple of ``block_size ** 2``.
        block_size: the side of a block.

    Returns:
        ``(n, c / block_size ** 2, h * block_size, w * block_size)``.
    """
    _check_blocks("depth_to_space", data, block_size)
    count, channels, height, width = data.shape
    check(
        channels % block_size**2 == 0,
        f"depth_to_space: the channel axis should be a multiple of block_size ** 2 = {block_size**2}, got {channels}",
    )
    kept = channels // block_size**2
    split = lax.reshape(data, (count, block_size, block_size, kept, height, width))
    return lax.reshape(
        lax.transpose(split, (0, 3, 4, 1, 5, 2)), (count, kept, height * block_size, width * block_size)
    )


@operator("space_to_depth")
def space_to_depth(data: Array, *, block_size: int) -> Array:
    """Move square blocks of pixels into channels; undoes ``depth_to_space``.

    Args:
        data: ``(n, c, h, w)``, with h and w multiples of ``block_size``.
        block_size: the side of a block.

    Returns:
        ``(n, c * block_size ** 2, h / block_size, w / block_size)``.
    """
    _check_blocks("space_to_depth", data, block_size)
    count, channels, height, width = data.shape
    check(
        height % block_size == 0 and width % block_size == 0,
        f"space_to_depth: height and width should be multiples of block_size={block_size}, got {height} and {width}",
    )
    rows, columns = height // block_size, width // block_size
    split = lax.reshape(data, (count, channels, rows, block_size, columns, block_size))
    return lax.reshape(lax.transpose(split, (0, 3, 5, 1, 2, 4)), (count, channels * block_size**2, rows, columns))


@operator("diag")
def diag(data: Array, *, k: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """Extract a diagonal, or build a matrix with one.

    Args:
        data: a vector, or an array with two dimensions or more.
        k: which diagonal; positive ones lie above the main one.
        axis1: for arrays, the axis that counts rows.
        axis2: for arrays, the axis that counts columns.

    Returns:
        For a vector of length n the square matrix of side ``n + |k|``; for an array its diagonals as the last axis.
    """
    check(data.ndim > 0, "diag: got a 0-d array, wanted at least one dimension")
    if data.ndim == 1:
        return jnp.diag(data, k)
    first, second = normalize_axis(axis1, data.ndim, "diag axis1"), normalize_axis(axis2, data.ndim, "diag axis2")
    check(first != second, f"diag: axis1 and axis2 cannot refer to the same axis {first}")
    rows, columns = data.shape[first], data.shape[second]
    length = max(min(rows + min(k, 0), columns - max(k, 0)), 0)
    if length == 0:
        rest = [size for axis, size in enumerate(data.shape) if axis not in (first, second)]
        return lax.full((*rest, 0), 0, data.dtype)
    return jnp.diagonal(data, k, first, second)


def _patches(
    data: Array, kernel: tuple[int, ...], stride: tuple[int, ...], dilate: tuple[int, ...], pad: tuple[int, ...]
) -> Array:
    """All windows of ``data`` (n, c, *space) as columns: (n, c * window size, number of windows)."""
    padded = lax.pad(data, lax.full((), 0, data.dtype), [(0, 0, 0), (0, 0, 0), *((p, p, 0) for p in pad)])
    space = padded.shape[2:]
    counts = [(s - (d * (k - 1) + 1)) // step + 1 for s, k, d, step in zip(space, kernel, dilate, stride)]
    windows = []
    for position in itertools.product(*map(range, kernel)):
        start = [p * d for p, d in zip(position, dilate)]
        limit = [s + (n - 1) * step + 1 for s, n, step in zip(start, counts, stride)]
        part = lax.slice(padded, (0, 0, *start), (*padded.shape[:2], *limit), (1, 1, *stride))
        windows.append(lax.reshape(part, (*padded.shape[:2], 1, math.prod(counts))))
    joined = lax.concatenate(windows, 2)
    return lax.reshape(joined, (data.shape[0], data.shape[1] * math.prod(kernel), math.prod(counts)))


def _window(
    name: str, space: tuple[int, ...], kernel: tuple[int, ...], stride: tuple[int, ...], dilate: tuple[int, ...],
    pad: tuple[int, ...],
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:  # fmt: skip
    """Fill in and check stride, dilate and pad for a kernel over the given space."""
    count = len(kernel)
    stride, dilate, pad = stride or (1,) * count, dilate or (1,) * count, pad or (0,) * count
    check(
        count == len(space) == len(stride) == len(dilate) == len(pad),
        f"{name}: kernel={kernel}, stride={stride}, dilate={dilate} and pad={pad} need one number for each of the "
        f"{len(space)} spatial dimensions",
    )
    check(all(v > 0 for v in (*kernel, *stride, *dilate)), f"{name}: kernel, stride and dilate must be positive")
    for size, k, d, p in zip(space, kernel, dilate, pad):
        check(d * (k - 1) + 1 <= size + 2 * p, f"{name}: kernel size exceed input, got kernel={kernel} on {space}")
    return stride, dilate, pad


@operator("im2col")
def im2col(
    data: Array,
    *,
    kernel: tuple[int, ...],
    stride: tuple[int, ...] = (),
    dilate: tuple[int, ...] = (),
    pad: tuple[int, ...] = (),
) -> Array:
    """Write every window of an image as a column.

    Args:
        data: ``(n, c, *space)``.
        kernel: the size of a window.
        stride: the steps between windows.
        dilate: the steps inside of a window.
        pad: zeros around the image.

    Returns:
        ``(n, c * product(kernel), number of windows)``.
    """
    stride, dilate, pad = _window("im2col", data.shape[2:], kernel, stride, dilate, pad)
    return _patches(data, kernel, stride, dilate, pad)


@operator("col2im")
def col2im(
    data: Array,
    *,
    output_size: tuple[int, ...],
    kernel: tuple[int, ...],
    stride: tuple[int, ...] = (),
    dilate: tuple[int, ...] = (),
    pad: tuple[int, ...] = (),
) -> Array:
    """Add up columns into an image, each where ``im2col`` would have read it.

    Args:
        data: ``(n, c * product(kernel), number of windows)``.
        output_size: the spatial size of the image.
        kernel: the size of a window.
        stride: the steps between windows.
        dilate: the steps inside of a window.
        pad: zeros around the image.

    Returns:
        ``(n, c, *output_size)``.
    """
    stride, dilate, pad = _window("col2im", output_size, kernel, stride, dilate, pad)
    size = math.prod(kernel)
    check(data.ndim == 3, f"col2im: wanted (n, c * product(kernel), windows), got {data.shape}")
    check(
        data.shape[1] % size == 0,
        f"col2im: the second dim of input shape should be multiples of kernel size {size}, got {data.shape[1]}",
    )
    image = jax.ShapeDtypeStruct((data.shape[0], data.shape[1] // size, *output_size), data.dtype)

    def columns(picture: Array) -> Array:
        return _patches(picture, kernel, stride, dilate, pad)

    windows = jax.eval_shape(columns, image).shape
    check(
        windows == data.shape,
        f"col2im: output size does not match convolution parameters, got {data.shape}, wanted {windows}",
    )
    return jax.linear_transpose(columns, image)(data)[0]


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
    data: Array, *, start: float = 0.0, step: float = 1.0, repeat: int = 1, ctx: str = "", axis: int | None = None
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
    values = count.astype(data.dtype) * jnp.asarray(step, data.dtype) + jnp.asarray(start, data.dtype)
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
    wanted = range(data.ndim) if axes is None else [normalize_axis(axis, data.ndim, "index_array") for axis in axes]
    parts = [lax.broadcasted_iota(INT64, (*data.shape, 1), axis) for axis in wanted]
    return lax.concatenate(parts, data.ndim) if parts else lax.full((*data.shape, 0), 0, INT64)
