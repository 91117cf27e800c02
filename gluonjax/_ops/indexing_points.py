"""Operators that read and write elements at points, each given by one index per axis.

Where MXNet raises for an index outside of the array (``gather_nd``, and ``take`` with ``mode='raise'``),
``bounds_problem`` tells the engine what is wrong with concrete indices before it runs the operator. Under a
trace such indices clip on reading and are dropped on writing; a compiled graph with a ``take`` of ``mode='raise'``
also computes whether they were (``outside``), and the engine makes its results raise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._ops.indexing import INT64, whole_numbers
from gluonjax._ops.opdef import Attrs, check, operator, zero_grad
from gluonjax._ops.shape_rules import known_shape

CLIP, DROP = lax.GatherScatterMode.CLIP, lax.GatherScatterMode.FILL_OR_DROP


def _nd_positions(indices: Array, shape: Sequence[int], where: str) -> Array:
    """Columns of indices ``(m, ...)`` as ``(..., m)``; negative ones count from the end."""
    check(
        indices.ndim > 1,
        f"{where}: requires index tensor to have at least 2 dimensions, got {indices.shape}; one row per "
        "indexed axis",
    )
    check(
        indices.shape[0] <= len(shape),
        f"{where}: Number of indices exceeds data dimension, got {indices.shape[0]} rows of indices for "
        f"{tuple(shape)}",
    )
    index = lax.transpose(whole_numbers(indices), (*range(1, indices.ndim), 0))
    sizes = np.array(shape[: indices.shape[0]], index.dtype)
    from_end = index + lax.broadcast_in_dim(sizes, index.shape, (index.ndim - 1,))
    return lax.select(lax.lt(index, lax.full_like(index, 0)), from_end, index)


def _gather_positions(data: Array, positions: Array) -> Array:
    depth, batch = positions.shape[-1], positions.ndim - 1
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(range(batch, batch + data.ndim - depth)),
        collapsed_slice_dims=tuple(range(depth)),
        start_index_map=tuple(range(depth)),
    )
    return lax.gather(data, positions, numbers, (*(1,) * depth, *data.shape[depth:]), mode=CLIP)


def _scatter_positions(base: Array, positions: Array, values: Array, add: bool) -> Array:
    depth, batch = positions.shape[-1], positions.ndim - 1
    wanted = (*positions.shape[:-1], *base.shape[depth:])
    check(
        values.shape == wanted,
        f"scatter_nd: data of shape {values.shape} does not fit the indices, wanted {wanted} to write into "
        f"{base.shape}",
    )
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=tuple(range(batch, values.ndim)),
        inserted_window_dims=tuple(range(depth)),
        scatter_dims_to_operand_dims=tuple(range(depth)),
    )
    write = lax.scatter_add if add else lax.scatter
    return write(base, positions, values, numbers, mode=DROP)


@operator("gather_nd", aliases=("_npi_gather_nd", "_npx_gather_nd"), dtypes="free")
def gather_nd(data: Array, indices: Array) -> Array:
    """Gather elements or slices at given points.

    Args:
        data: array of any shape.
        indices: ``(m, y1, ..., yk)``: row i holds the indices into axis i; negative ones count from the end.

    Returns:
        ``(y1, ..., yk) + data.shape[m:]``.
    """
    return _gather_positions(data, _nd_positions(indices, data.shape, "gather_nd"))


def _scatter_nd_gradient(inputs: Any, outputs: Any, head: Any, attrs: Attrs) -> dict[str, Array]:
    # Where several values meet at one point, each of them gets the whole gradient, as in MXNet.
    positions = _nd_positions(inputs.indices, attrs.shape, "scatter_nd")
    return {"data": _gather_positions(head.output, positions)}


@operator("scatter_nd", dtypes="free", grad=_scatter_nd_gradient)
def scatter_nd(data: Array, indices: Array, *, shape: tuple[int, ...]) -> Array:
    """Write elements or slices at given points of an array of zeros.

    Args:
        data: ``(y1, ..., yk) + shape[m:]``.
        indices: ``(m, y1, ..., yk)``, as in ``gather_nd``; points outside of ``shape`` are refused.
        shape: the shape of the result.

    Returns:
        The array of that shape.
    """
    base = lax.full(known_shape("scatter_nd", shape), 0, data.dtype)
    return _scatter_positions(base, _nd_positions(indices, shape, "scatter_nd"), data, add=False)


@operator("_backward_gather_nd", dtypes="free")
def accumulate_nd(data: Array, indices: Array, *, shape: tuple[int, ...]) -> Array:
    """Add up elements or slices at given points of an array of zeros: the gradient of ``gather_nd``.

    Args:
        data: ``(y1, ..., yk) + shape[m:]``.
        indices: ``(m, y1, ..., yk)``, as in ``gather_nd``.
        shape: the shape of the result.

    Returns:
        The array of that shape.
    """
    base = lax.full(known_shape("_backward_gather_nd", shape), 0, data.dtype)
    return _scatter_positions(base, _nd_positions(indices, shape, "_backward_gather_nd"), data, add=True)


@operator("_scatter_set_nd", aliases=("_npi_scatter_set_nd",), dtypes="free")
def scatter_set_nd(lhs: Array, rhs: Array, indices: Array, *, shape: tuple[int, ...]) -> Array:
    """Write elements or slices at given points of an array.

    Args:
        lhs: the array to write into.
        rhs: ``(y1, ..., yk) + lhs.shape[m:]``.
        indices: ``(m, y1, ..., yk)``, as in ``gather_nd``.
        shape: the shape of ``lhs``.

    Returns:
        ``lhs`` with the points replaced.
    """
    check(lhs.shape == shape, f"_scatter_set_nd: shape={shape} must be that of lhs, got {lhs.shape}")
    return _scatter_positions(lhs, _nd_positions(indices, shape, "_scatter_set_nd"), rhs, add=False)


@operator("_contrib_index_copy", dtypes="free")
def index_copy(old_tensor: Array, index_vector: Array, new_tensor: Array) -> Array:
    """Replace some rows of an array.

    Args:
        old_tensor: ``(n, ...)``.
        index_vector: ``(m,)``, the rows to replace; outside ones are dropped.
        new_tensor: ``(m, ...)``, the new rows.

    Returns:
        ``(n, ...)``.
    """
    wanted = (*index_vector.shape, *old_tensor.shape[1:])
    check(
        index_vector.ndim == 1 and new_tensor.shape == wanted,
        f"index_copy: wanted an index vector (m,) and new rows (m, ...), got {index_vector.shape} and "
        f"{new_tensor.shape} for {old_tensor.shape}",
    )
    check(
        new_tensor.shape[0] <= old_tensor.shape[0],
        f"index_copy: {new_tensor.shape[0]} new rows are more than the {old_tensor.shape[0]} rows that there are",
    )
    check(
        new_tensor.dtype == old_tensor.dtype,
        f"index_copy: new rows of {new_tensor.dtype} do not fit into {old_tensor.dtype}; cast them with astype",
    )
    positions = lax.expand_dims(whole_numbers(index_vector), (1,))
    return _scatter_positions(old_tensor, positions, new_tensor, add=False)


def _strides(shape: Sequence[int]) -> list[int]:
    """How many elements one step along each axis skips; the first size is not needed and may be -1."""
    return [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]


@operator("_ravel_multi_index", aliases=("ravel_multi_index",), grad=zero_grad)
def ravel_multi_index(data: Array, *, shape: tuple[int, ...] = ()) -> Array:
    """Turn points into positions in the flattened array.

    Args:
        data: ``(number of axes, n)``, one column for each point.
        shape: the shape of the array that the points index; the first size may be -1.

    Returns:
        ``(n,)``, of the same data type.
    """
    check(
        data.ndim > 0 and data.shape[0] == len(shape),
        "_ravel_multi_index: First dimension of input of ravel operator does not match shape parameter "
        "dimension, "
        f"got {data.shape} for shape={shape}",
    )
    strides = np.array(_strides(shape)).astype(data.dtype)
    weighted = data * lax.broadcast_in_dim(strides, data.shape, (0,))
    return lax.reduce(weighted, np.zeros((), data.dtype), lax.add, (0,))


@operator("_unravel_index", aliases=("unravel_index",), grad=zero_grad)
def unravel_index(data: Array, *, shape: tuple[int, ...] = ()) -> Array:
    """Turn positions in a flattened array into points.

    Args:
        data: ``(n,)`` or any other shape.
        shape: the shape of the array that the points index; the first size may be -1.

    Returns:
        ``(number of axes,) + data.shape``, of the same data type.
    """
    check(len(shape) > 0, f"_unravel_index: wanted the shape of the indexed array, got shape={shape}")
    rest = data if jnp.issubdtype(data.dtype, jnp.integer) else data.astype(INT64)
    rows = []
    for axis in reversed(range(len(shape))):
        if axis == 0:
            rows.append(rest)  # MXNet leaves what is left over in the first row, unchecked.
            break
        size = lax.full_like(rest, shape[axis])
        rows.append(lax.rem(rest, size))
        rest = lax.div(rest, size)
    stacked = lax.concatenate([lax.expand_dims(row, (0,)) for row in reversed(rows)], 0)
    return stacked.astype(data.dtype)


def bounds_problem(name: str, attrs: Attrs, inputs: Sequence[Any]) -> str | None:
    """What is wrong with concrete indices for an operator that refuses outside ones, or None.

    Args:
        name: the operator's own name.
        attrs: its parsed attributes.
        inputs: concrete arrays in the order of the operator's inputs.

    Returns:
        The message for an OutOfBoundsError, or None where all is well or the operator does not care.
    """
    if name == "take" and attrs.mode == "raise":
        shape = np.shape(inputs[0])
        if not -len(shape) <= attrs.axis < len(shape):
            return None  # the operator itself says so
        size = shape[attrs.axis]
        indices = np.asarray(inputs[1])
        outside = indices[~((indices >= 0) & (indices < size))]
        if outside.size:
            return (
                f"take: take operator contains indices out of bound, got {outside.flat[0]} for axis "
                f"{attrs.axis} of "
                f"size {size}"
            )
    if name in ("gather_nd", "scatter_nd", "_scatter_set_nd", "_backward_gather_nd"):
        shape = np.shape(inputs[0]) if name == "gather_nd" else attrs.shape
        indices = np.asarray(inputs[2] if name == "_scatter_set_nd" else inputs[1])
        for axis, (row, size) in enumerate(zip(np.atleast_1d(indices), shape)):
            outside = row[~((row >= -size) & (row < size))]  # NaN is outside too
            if outside.size:
                return (
                    f"{name}: index {outside.flat[0]:.0f} is out of bounds for axis {axis} with size {size}"
                )
    return None


def outside(name: str, attrs: Attrs, inputs: Sequence[Any]) -> Any:
    """Whether an index lies outside, as one truth value of traced or concrete inputs.

    For ``take`` with ``mode='raise'``; in compiled graphs the others clip or drop such indices.
    """
    size = inputs[0].shape[attrs.axis]
    indices = inputs[1]
    return ((indices >= 0) & (indices < size)).all() ^ True  # NaN is outside too


def says_outside(name: str, attrs: Attrs) -> bool:
    """Whether an operator with these attributes raises in compiled graphs too, when its results are read."""
    return name == "take" and attrs.mode == "raise"


# Operators for which ``bounds_problem`` may have something to say.
CHECKS_BOUNDS = frozenset({"take", "gather_nd", "scatter_nd", "_scatter_set_nd", "_backward_gather_nd"})
