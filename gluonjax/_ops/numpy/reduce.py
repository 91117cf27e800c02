"""Reductions and running sums with NumPy semantics."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._base.dtypes import is_floating
from gluonjax._ops.families import cut_to, is_half
from gluonjax._ops.opdef import check

Axes = int | tuple[int, ...] | None

BOOL = np.dtype(np.bool_)
INT64 = np.dtype(np.int64)
FLOAT32 = np.dtype(np.float32)


def axes_of(name: str, ndim: int, axis: Axes) -> tuple[int, ...]:
    """The axes to reduce, counted from the front. ``()`` reduces nothing."""
    if axis is None:
        return tuple(range(ndim))
    listed = (axis,) if isinstance(axis, int) else tuple(axis)
    for one in listed:
        check(
            -ndim <= one < ndim,
            f"{name}: axis {one} is out of bounds for an array with {ndim} dimensions; "
            f"axes go from {-ndim} to {ndim - 1}",
        )
    positions = tuple(sorted(one % ndim for one in listed))
    check(len(set(positions)) == len(positions), f"{name}: axis {axis} names one axis twice")
    return positions


def _kept(result: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    return lax.expand_dims(result, axes) if keepdims else result


def _accumulate(a: Array, dtype: np.dtype | None) -> tuple[Array, np.dtype]:
    """The array in the dtype that sums run in, and the dtype of the result: booleans count as int64."""
    result = dtype or (INT64 if a.dtype == BOOL else a.dtype)
    run = FLOAT32 if is_half(result) else result
    return (a if a.dtype == run else lax.convert_element_type(a, run)), result


def _initial(name: str, total: Array, initial: float | None, combine: Callable[[Any, Any], Any]) -> Array:
    return total if initial is None else combine(total, lax.full_like(total, initial))


def sum(a: Array, *, axis: Axes, dtype: np.dtype | None, keepdims: bool, initial: float | None = None) -> Array:
    """The sum over axes."""
    axes = axes_of("sum", a.ndim, axis)
    wide, result = _accumulate(a, dtype)
    total = _initial("sum", lax.reduce_sum(wide, axes), initial, lax.add)
    return _kept(lax.convert_element_type(total, result), axes, keepdims)


def prod(a: Array, *, axis: Axes, dtype: np.dtype | None, keepdims: bool, initial: float | None = None) -> Array:
    """The product over axes."""
    axes = axes_of("prod", a.ndim, axis)
    wide, result = _accumulate(a, dtype)
    total = _initial("prod", jnp.prod(wide, axis=axes, dtype=wide.dtype), initial, lax.mul)
    return _kept(lax.convert_element_type(total, result), axes, keepdims)


def _count(a: Array, axes: tuple[int, ...]) -> int:
    return math.prod(a.shape[axis] for axis in axes)


def mean(a: Array, *, axis: Axes, dtype: np.dtype | None, keepdims: bool) -> Array:
    """The mean over axes; that of whole numbers is float32, that of nothing is 0."""
    axes = axes_of("mean", a.ndim, axis)
    result = dtype or (a.dtype if is_floating(a.dtype) else FLOAT32)
    # Sums of many whole numbers do not fit float32's 24 bits, so they run in float64.
    run = np.dtype(np.float64) if not is_floating(a.dtype) else FLOAT32 if is_half(a.dtype) else a.dtype
    wide = lax.convert_element_type(a, run)
    total = lax.reduce_sum(wide, axes) / max(_count(a, axes), 1)
    return _kept(cut_to(total, result) if not is_floating(result) else total.astype(result), axes, keepdims)


def var(a: Array, *, axis: Axes, dtype: np.dtype | None, ddof: int, keepdims: bool, root: bool) -> Array:
    """The variance over axes, or with ``root`` the standard deviation; whole numbers keep their dtype."""
    name = "std" if root else "var"
    check(a.dtype != BOOL, f"{name}: does not support boolean arrays; cast with astype")
    axes = axes_of(name, a.ndim, axis)
    result = dtype or a.dtype
    run = np.dtype(np.float64) if not is_floating(a.dtype) else FLOAT32 if is_half(a.dtype) else a.dtype
    wide = lax.convert_element_type(a, run)
    center = lax.expand_dims(lax.reduce_sum(wide, axes) / max(_count(a, axes), 1), axes)
    distance = wide - center
    total = lax.reduce_sum(distance * distance, axes) / (_count(a, axes) - ddof)
    total = lax.sqrt(total) if root else total
    return _kept(cut_to(total, result) if not is_floating(result) else total.astype(result), axes, keepdims)


def _extreme(a: Array, axes: tuple[int, ...], largest: bool) -> Array:
    if a.dtype == BOOL:
        return lax.reduce_or(a, axes) if largest else lax.reduce_and(a, axes)
    return lax.reduce_max(a, axes) if largest else lax.reduce_min(a, axes)


def _ties(a: Array, axes: tuple[int, ...], largest: bool) -> Array:
    """Every element that equals the extreme gets the whole gradient (JAX would share it out)."""

    @jax.custom_jvp
    def reduce(values: Array) -> Array:
        return _extreme(values, axes, largest)

    def tangent(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
        out = reduce(primals[0])
        hit = primals[0] == lax.expand_dims(out, axes)
        chosen = lax.select(hit, tangents[0], lax.full_like(tangents[0], 0))
        return out, lax.reduce_sum(chosen, axes)

    reduce.defjvp(tangent)
    return reduce(a)


def extreme(a: Array, *, axis: Axes, keepdims: bool, largest: bool, initial: float | None = None) -> Array:
    """The largest (or smallest) element over axes; every tie gets the gradient."""
    name = "max" if largest else "min"
    axes = axes_of(name, a.ndim, axis)
    check(
        _count(a, axes) > 0 or math.prod(a.shape[i] for i in range(a.ndim) if i not in axes) == 0,
        f"{name}: zero-size array to reduction operation {name}imum which has no identity ({list(a.shape)})",
    )
    result = _ties(a, axes, largest) if is_floating(a.dtype) else _extreme(a, axes, largest)
    return _kept(result, axes, keepdims)


def position(a: Array, *, axis: int | None, largest: bool, keepdims: bool = False) -> Array:
    """Where the largest (or smallest) element is, as int64; the first of several."""
    name = "argmax" if largest else "argmin"
    check(a.dtype != BOOL, f"{name}: does not support boolean arrays; cast with astype")
    check(a.size > 0, f"{name}: attempt to search an empty array of shape {list(a.shape)}")
    if a.ndim == 0 and axis in (0, -1):
        axis = None  # as NumPy: the only element of a number may be looked for along axis 0
    if axis is not None:
        axes_of(name, a.ndim, axis)
    find = jnp.argmax if largest else jnp.argmin
    return find(a, axis=axis, keepdims=keepdims).astype(INT64)


def truth(a: Array, *, axis: Axes, keepdims: bool, every: bool) -> Array:
    """Whether every (or any) element over axes is nonzero."""
    axes = axes_of("all" if every else "any", a.ndim, axis)
    nonzero = a if a.dtype == BOOL else a != 0
    return _kept((lax.reduce_and if every else lax.reduce_or)(nonzero, axes), axes, keepdims)


def cumsum(a: Array, *, axis: int | None, dtype: np.dtype | None) -> Array:
    """Running sums along an axis, or of the flattened array."""
    wide, result = _accumulate(a, dtype)
    if axis is None:
        wide, axis = wide.reshape(-1), 0
    else:
        (axis,) = axes_of("cumsum", a.ndim, axis)
    return lax.convert_element_type(lax.cumsum(wide, axis), result)


def average(a: Array, weights: Array | None = None, *, axis: Axes) -> tuple[Array, Array]:
    """The weighted mean over axes, and the sum of the weights."""
    axes = axes_of("average", a.ndim, axis)
    check(a.dtype != BOOL, "average: does not support boolean arrays; cast with astype")
    if weights is None:
        total = mean(a, axis=axes, dtype=a.dtype, keepdims=False)
        return total, lax.full(total.shape, _count(a, axes), a.dtype)
    if weights.shape != a.shape:
        check(
            len(axes) == 1 and weights.shape == (a.shape[axes[0]],),
            f"average: weights of shape {list(weights.shape)} fit neither the array {list(a.shape)} nor one "
            "axis of it; give weights of the array's shape, or 1-D weights and an axis",
        )
        spread = lax.broadcast_in_dim(weights, a.shape, axes)
    else:
        spread = weights
    spread = spread.astype(a.dtype)
    scale = lax.reduce_sum(spread, axes)
    return lax.reduce_sum(a * spread, axes) / scale, scale


def average_scale(a: Array, weights: Array, *, axis: Axes) -> tuple[Array, Array]:
    """``average`` with 1-D weights: the sum of weights keeps the shape of the weights' own sum, a number."""
    result, scale = average(a, weights, axis=axis)
    return (
        (result, lax.reduce_sum(weights, tuple(range(weights.ndim)))) if weights.shape != a.shape else (result, scale)
    )


def quantile(a: Array, q: Array, *, axis: Axes, method: str, keepdims: bool, percent: bool) -> Array:
    """The q-th quantile (or percentile) over axes; float32 unless the array is float64."""
    result = a.dtype if a.dtype == np.float64 else FLOAT32
    axes = axes_of("quantile", a.ndim, axis)
    share = q.astype(np.float64) / 100 if percent else q.astype(np.float64)
    wide = a.astype(np.float64)
    return jnp.quantile(wide, share, axis=axes, method=method, keepdims=keepdims).astype(result)


def difference(a: Array, *, n: int, axis: int) -> Array:
    """The n-th difference along an axis."""
    check(a.dtype != BOOL, "diff: does not support boolean arrays; cast with astype")
    axes_of("diff", a.ndim, axis)
    return jnp.diff(a, n=n, axis=axis)
