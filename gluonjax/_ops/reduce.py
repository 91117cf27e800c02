"""Reductions over axes: sums, products, extremes, norms, moments, and the running sum.

Results keep the array's dtype (uint8 sums wrap around); half precision accumulates in float32. A reduction
over all axes has the shape (1,), as everywhere in ``mx.nd``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from jax import Array, lax

from gluonjax._base.attrs import DType
from gluonjax._base.dtypes import is_floating
from gluonjax._ops.families import FLOAT32, FLOAT64, INT64, cut_to, is_half
from gluonjax._ops.math_unary import absolute
from gluonjax._ops.opdef import Attrs, check, operator, zero_grad
from gluonjax._ops.products import product

Axes = tuple[int, ...] | None
Reducer = Callable[[Array, tuple[int, ...]], Array]


def reduced_axes(name: str, shape: tuple[int, ...], axis: Axes, exclude: bool = False) -> tuple[int, ...]:
    """The axes that disappear: none given means all, ``exclude`` means all but the given ones."""
    ndim = len(shape)
    if not axis:
        return tuple(range(ndim))
    axes = sorted(entry + ndim if entry < 0 else entry for entry in axis)
    for entry in axes:
        check(
            0 <= entry < ndim,
            f"{name}: Reduction axis {list(axis)} Exceeds input dimensions {list(shape)}; "
            f"axes go from {-ndim} to {ndim - 1}",
        )
    check(
        len(set(axes)) == len(axes),
        f"{name}: Reduction axes have duplicates {list(axis)}; name each axis once",
    )
    return tuple(entry for entry in range(ndim) if (entry in axes) != exclude)


def kept_shape(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    """The shape of the result; without any axis left it is (1,)."""
    if keepdims:
        return tuple(1 if entry in axes else size for entry, size in enumerate(shape)) or (1,)
    return tuple(size for entry, size in enumerate(shape) if entry not in axes) or (1,)


def _reduce(reducer: Reducer, data: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    """Apply a reducer; half precision goes through float32 and comes back."""
    wide = lax.convert_element_type(data, FLOAT32) if is_half(data.dtype) else data
    result = reducer(wide, axes)
    shape = kept_shape(data.shape, axes, keepdims)
    if result.shape != shape:
        result = lax.reshape(result, shape)
    return lax.convert_element_type(result, data.dtype) if result.dtype != data.dtype else result


def total(data: Array, axes: tuple[int, ...]) -> Array:
    """Sum in the array's own dtype; for booleans: any."""
    return lax.reduce_or(data, axes) if data.dtype == np.bool_ else lax.reduce_sum(data, axes)


def average(data: Array, axes: tuple[int, ...]) -> Array:
    """Mean; whole numbers are cut off toward zero (after a sum that may wrap around, as in MXNet)."""
    count = math.prod(data.shape[axis] for axis in axes)
    summed = total(data, axes)
    if is_floating(data.dtype):
        return lax.div(summed, lax.full_like(summed, count)) if count else lax.full_like(summed, math.nan)
    if data.dtype == np.bool_ or not count:
        return summed
    wide = lax.convert_element_type(summed, INT64)
    return cut_to(lax.div(wide, lax.full_like(wide, count)), data.dtype)


def _without_nan(neutral: float, reducer: Reducer) -> Reducer:
    def reduce(data: Array, axes: tuple[int, ...]) -> Array:
        if is_floating(data.dtype):
            data = lax.select(lax.ne(data, data), lax.full_like(data, neutral), data)
        return reducer(data, axes)

    return reduce


def _largest(data: Array, axes: tuple[int, ...]) -> Array:
    return lax.reduce_or(data, axes) if data.dtype == np.bool_ else lax.reduce_max(data, axes)


def _smallest(data: Array, axes: tuple[int, ...]) -> Array:
    return lax.reduce_and(data, axes) if data.dtype == np.bool_ else lax.reduce_min(data, axes)


def _every_tie(inputs: Any, outputs: Any, head: Any, attrs: Attrs) -> dict[str, Array]:
    """Gradient of an extreme: every element that equals it gets the whole of it (JAX would share it out)."""
    data = inputs.data
    axes = reduced_axes("max", data.shape, attrs.axis, attrs.exclude)
    shape = kept_shape(data.shape, axes, True)
    value, gradient = (
        lax.reshape(each, shape if data.ndim else ()) for each in (outputs.output, head.output)
    )
    everywhere = tuple(range(data.ndim))
    hit = lax.eq(data, lax.broadcast_in_dim(value, data.shape, everywhere))
    gradient = lax.broadcast_in_dim(gradient, data.shape, everywhere)
    return {"data": lax.select(hit, gradient, lax.full_like(gradient, 0))}


def _register(
    name: str, reducer: Reducer, doc: str, aliases: tuple[str, ...] = (), extreme: bool = False
) -> None:
    def apply(data: Array, *, axis: Axes = None, keepdims: bool = False, exclude: bool = False) -> Array:
        axes = reduced_axes(name, data.shape, axis, exclude)
        check(
            not extreme or math.prod(data.shape) > 0,
            f"{name}: Reduction input's size should > 0 {list(data.shape)}; an empty array has no {name}",
        )
        return _reduce(reducer, data, axes, keepdims)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = f"""{doc}

    Args:
        data: array of any shape.
        axis: axis or axes to reduce; all of them by default.
        keepdims: keep reduced axes with length 1.
        exclude: reduce all axes but the given ones.

    Returns:
        array of the dtype of data; of shape (1,) where no axis is left.
    """
    operator(name, aliases=aliases, grad=_every_tie if extreme else None)(apply)


_register("sum", total, "Sum over axes.", ("sum_axis", "_sparse_sum"))
_register("mean", average, "Mean over axes.", ("_sparse_mean",))
_register("prod", product, "Product over axes.")
_register("nansum", _without_nan(0.0, total), "Sum over axes that counts NaN as 0.")
_register("nanprod", _without_nan(1.0, product), "Product over axes that counts NaN as 1.")
_register(
    "max", _largest, "The largest element over axes; all tied elements get the gradient.", ("max_axis",), True
)
_register(
    "min",
    _smallest,
    "The smallest element over axes; all tied elements get the gradient.",
    ("min_axis",),
    True,
)


@operator("_square_sum")
def square_sum(data: Array, *, axis: Axes = None, keepdims: bool = False, exclude: bool = False) -> Array:
    """Sum of squares over axes.

    Args:
        data: array of any shape.
        axis: axis or axes to reduce; all of them by default.
        keepdims: keep reduced axes with length 1.
        exclude: reduce all axes but the given ones.

    Returns:
        array of the dtype of data; of shape (1,) where no axis is left.
    """
    axes = reduced_axes("_square_sum", data.shape, axis, exclude)
    return _reduce(lambda wide, over: lax.reduce_sum(wide * wide, over), data, axes, keepdims)


@operator("norm", aliases=("_sparse_norm",))
def norm(
    data: Array, *, ord: int = 2, axis: Axes = None, out_dtype: DType | None = None, keepdims: bool = False
) -> Array:
    """The L1 or L2 norm over axes.

    Args:
        data: array of any shape.
        ord: 1 (sum of absolute values) or 2 (root of the sum of squares).
        axis: axis or axes to reduce; all of them by default.
        out_dtype: the result's dtype; that of data by default.
        keepdims: keep reduced axes with length 1.

    Returns:
        array of shape (1,) where no axis is left.
    """
    check(ord in (1, 2), f"norm only supports ord=1 and ord=2, got ord={ord}")
    axes = reduced_axes("norm", data.shape, axis)
    wide = data
    if not is_floating(data.dtype):
        wide = lax.convert_element_type(data, FLOAT64)
    elif is_half(data.dtype):
        wide = lax.convert_element_type(data, FLOAT32)
    if ord == 1:
        result = lax.reduce_sum(absolute(wide), axes)
    else:
        result = lax.sqrt(lax.reduce_sum(wide * wide, axes))
    result = lax.reshape(result, kept_shape(data.shape, axes, keepdims))
    target = data.dtype if out_dtype is None else np.dtype(out_dtype)  # type: ignore[call-overload]
    return result if result.dtype == target else cut_to(result, target)


# From this many elements on: the extreme, then its first place; XLA is three times slower at both at once on a CPU.
_LARGE = 1 << 16


def _first_extreme(data: Array, axis: int, extreme: Callable[..., Array]) -> Array:
    best = lax.broadcast_in_dim(
        extreme(data, (axis,)), data.shape, tuple(i for i in range(data.ndim) if i != axis)
    )
    found = (data == best) | (data != data)
    place = lax.broadcasted_iota(np.dtype(np.int32), data.shape, axis)
    return lax.reduce_min(lax.select(found, place, lax.full_like(place, data.shape[axis])), (axis,))


def _position(name: str, find: Callable[..., Array], data: Array, axis: int | None, keepdims: bool) -> Array:
    """Where the extreme is, in the dtype of data; the first of several, and NaN counts as the extreme."""
    shape = data.shape
    if axis is None:
        axes, flat = tuple(range(len(shape))), lax.reshape(data, (math.prod(shape),))
        along = 0
    else:
        check(
            -len(shape) <= axis < len(shape),
            f"{name}: axis {axis} exceeds the input dimension of {len(shape)}; "
            f"axes go from {-len(shape)} to {len(shape) - 1}",
        )
        along = axis % len(shape)
        axes, flat = (along,), data
    kept = kept_shape(shape, axes, keepdims)
    if math.prod(kept) == 0:
        return lax.full(kept, 0, data.dtype)
    check(flat.shape[along] > 0, f"{name}: attempt to search an empty axis of shape {list(shape)}")
    wide = flat.shape[along] > np.iinfo(np.int32).max
    if flat.size < _LARGE or wide:
        index = find(flat, along, np.int64 if wide else np.int32)
    else:
        index = _first_extreme(flat, along, lax.reduce_min if find is lax.argmin else lax.reduce_max)
    return lax.reshape(lax.convert_element_type(index, data.dtype), kept)


@operator("argmax", grad=zero_grad)
def argmax(data: Array, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """The position of the largest element along an axis, or in the flattened array.

    Args:
        data: array of any shape.
        axis: axis to search; the flattened array by default.
        keepdims: keep the searched axis with length 1.

    Returns:
        positions in the dtype of data (float32 positions are exact up to 2**24, as in MXNet).
    """
    return _position("argmax", lax.argmax, data, axis, keepdims)


@operator("argmin", grad=zero_grad)
def argmin(data: Array, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """The position of the smallest element along an axis, or in the flattened array.

    Args:
        data: array of any shape.
        axis: axis to search; the flattened array by default.
        keepdims: keep the searched axis with length 1.

    Returns:
        positions in the dtype of data (float32 positions are exact up to 2**24, as in MXNet).
    """
    return _position("argmin", lax.argmin, data, axis, keepdims)


@operator("argmax_channel", grad=zero_grad)
def argmax_channel(data: Array) -> Array:
    """The position of the largest element along axis 1.

    Args:
        data: array (batch, channels, ...).

    Returns:
        positions (batch, ...) in the dtype of data.
    """
    return _position("argmax_channel", lax.argmax, data, 1, False)


@operator("moments", outputs=("output0", "output1"))
def moments(data: Array, *, axes: Axes = None, keepdims: bool = False) -> tuple[Array, Array]:
    """Mean and variance over axes.

    Args:
        data: array of any shape.
        axes: axes to reduce; they must be named.
        keepdims: keep reduced axes with length 1.

    Returns:
        two arrays of one shape: mean and (biased) variance.
    """
    check(
        bool(axes),
        "moments: Empty axes is not supported; name all axes for the moments of the whole array, "
        f"axes={tuple(range(data.ndim))}",
    )
    over = reduced_axes("moments", data.shape, axes)
    wide = lax.convert_element_type(data, FLOAT32) if is_half(data.dtype) else data
    mean = lax.reshape(average(wide, over), kept_shape(data.shape, over, True))
    distance = wide - mean
    variance = average(distance * distance, over)
    shape = kept_shape(data.shape, over, keepdims)
    results = (lax.convert_element_type(lax.reshape(each, shape), data.dtype) for each in (mean, variance))
    return tuple(results)  # type: ignore[return-value]


@operator("_np_cumsum", aliases=("cumsum",))
def cumsum(a: Array, *, axis: int | None = None, dtype: DType | None = None) -> Array:
    """The running sum along an axis, or of the flattened array.

    Args:
        a: array of any shape.
        axis: axis to sum along; the flattened array by default.
        dtype: the result's dtype; that of a by default (int64 for booleans).

    Returns:
        array of the shape of a, or of one axis.
    """
    if axis is None:
        a, axis = lax.reshape(a, (math.prod(a.shape),)), 0
    if not a.size:
        axis = 0  # 1.9.1 does not look at the axis
    check(
        -a.ndim <= axis < a.ndim,
        f"cumsum: axis value {axis} out of range; axes go from {-a.ndim} to {a.ndim - 1}",
    )
    target = INT64 if a.dtype == np.bool_ else a.dtype
    if dtype is not None:
        target = np.dtype(dtype)  # type: ignore[call-overload]
    working = FLOAT32 if is_half(target) else target
    a = a if a.dtype == working else lax.convert_element_type(a, working)
    result = lax.cumsum(a, axis % a.ndim)
    return result if working == target else lax.convert_element_type(result, target)
