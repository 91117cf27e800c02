"""Pooling: the maximum, mean, sum or p-norm of windows."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._ops.nn.sums import on_cpu
from gluonjax._ops.nn.windows import (
    Windows,
    offsets,
    pad_axes,
    per_axis,
    spatial_axes,
    strided_slice,
    window_max,
)
from gluonjax._ops.opdef import check, operator
from gluonjax._ops.rules import check_floating

# Up to this many elements along an axis, a chain of slices beats XLA's window primitives on CPU.
SLICED_WINDOW = 25
# Windows of more elements are summed axis by axis, or their maximum is found so.
SMALL_WINDOW = 9
MOST_MAXIMA = 9


def _output_size(size: int, kernel: int, stride: int, pad: int, convention: str) -> int:
    room = size + 2 * pad
    if convention == "same":
        return -(-room // stride)
    return 1 + ((room - kernel) // stride if convention == "valid" else -((kernel - room) // stride))


def _far_padding(size: int, kernel: int, stride: int, pad: int, outputs: int) -> int:
    """Padding at the far end, so that the last window is whole."""
    return max((outputs - 1) * stride + kernel - size - pad, 0)


def _total_along(
    data: Array, axis: int, count: int, stride: int, size: int
) -> Array:
    """The sums of windows along one axis."""
    parts = [strided_slice(data, (axis,), (start,), (stride,), (size,)) for start in range(count)]
    return functools.reduce(lax.add, parts)


def _total_side_by_side(data: Array, axes: Sequence[int], kernel: Sequence[int], size: Sequence[int]) -> Array:
    """The sum of windows that do not overlap."""
    whole = [number * width for number, width in zip(size, kernel)]
    data = strided_slice(data, axes, (0,) * len(axes), (1,) * len(axes), whole)
    shape: list[int] = []
    windows: list[int] = []
    for axis, extent in enumerate(data.shape):
        if axis not in axes:
            shape.append(extent)
            continue
        which = list(axes).index(axis)
        shape += [size[which], kernel[which]]
        windows.append(len(shape) - 1)
    return lax.reduce_sum(lax.reshape(data, shape), axes=tuple(windows))


def _total(
    data: Array, axes: Sequence[int], kernel: Sequence[int], stride: Sequence[int], size: Sequence[int]
) -> Array:
    """The sum of each window of padded data."""
    if on_cpu() and np.prod(kernel) > SMALL_WINDOW and tuple(kernel) == tuple(stride):
        return _total_side_by_side(data, axes, kernel, size)
    if on_cpu() and max(kernel) <= SLICED_WINDOW:
        if np.prod(kernel) > SMALL_WINDOW:
            for each in zip(axes, kernel, stride, size):
                data = _total_along(data, *each)
                # Without the barrier XLA computes the sums along one axis anew for each along the next.
                data = lax.optimization_barrier(data)
            return data
        parts = [strided_slice(data, axes, start, stride, size) for start in offsets(kernel)]
        return functools.reduce(lax.add, parts)
    dimensions, steps = [1] * data.ndim, [1] * data.ndim
    for axis, count, jump in zip(axes, kernel, stride):
        dimensions[axis], steps[axis] = count, jump
    # The start value is NumPy's: JAX differentiates the sum and the maximum only where it can read it.
    return lax.reduce_window(data, np.zeros((), data.dtype), lax.add, dimensions, steps, "VALID")


def _maximum(data: Array, how: Windows) -> Array:
    """The maximum of each window."""
    if on_cpu() and max(how.kernel) <= SLICED_WINDOW:
        if np.prod(how.kernel) <= MOST_MAXIMA:
            return window_max(data, how)
        # From the last axis to the first, so that the first of equal maxima gets the gradient.
        for which in reversed(range(len(how.axes))):
            data = window_max(data, _only(how, which, data))
        return data
    dimensions, steps = [1] * data.ndim, [1] * data.ndim
    for axis, count, jump in zip(how.axes, how.kernel, how.stride):
        dimensions[axis], steps[axis] = count, jump
    least = np.asarray(-np.inf, data.dtype)
    return lax.reduce_window(how.padded(data), least, lax.max, dimensions, steps, "VALID")


def _only(how: Windows, which: int, data: Array) -> Windows:
    """The windows along one of the axes, of data that may be pooled along others already."""
    image = tuple(data.shape[axis] for axis in how.axes)
    settings = ((how.kernel, 1), (how.stride, 1), (how.low, 0))
    kernel, stride, low = (
        tuple(value if number == which else plain for number, value in enumerate(values)) for values, plain in settings
    )
    size = tuple(n if number == which else same for number, (n, same) in enumerate(zip(how.size, image)))
    return Windows(how.axes, kernel, stride, image, size, low, how.filler)


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def _global_max(data: Array, axes: tuple[int, ...]) -> Array:
    """The maximum over all positions; the first of equal maxima gets the gradient."""
    kept = tuple(1 if axis in axes else n for axis, n in enumerate(data.shape))
    # Rows first: a CPU compares whole rows, but goes through one row number by number.
    rows = lax.reduce_max(data, axes=axes[:1])
    if len(axes) > 1:
        rows = lax.reduce_max(lax.optimization_barrier(rows), axes=tuple(axis - 1 for axis in axes[1:]))
    return lax.reshape(rows, kept)


def _global_max_forward(data: Array, axes: tuple[int, ...]) -> tuple[Any, tuple[Array, Any]]:
    best = _global_max(data, axes)
    return best, (data, best)


def _global_max_backward(axes: tuple[int, ...], saved: tuple[Array, Array], head: Array) -> tuple[Array]:
    data, best = saved
    everywhere = tuple(range(data.ndim))
    number = lax.full(data.shape, 0, jnp.int32)
    for axis in axes:
        number = number * data.shape[axis] + lax.broadcasted_iota(jnp.int32, data.shape, axis)
    reaches = lax.eq(data, lax.broadcast_in_dim(best, data.shape, everywhere))
    beyond = lax.full_like(number, np.iinfo(np.int32).max)
    places = lax.reduce_min(lax.select(reaches, number, beyond), axes=axes[:1])
    if len(axes) > 1:
        places = lax.reduce_min(lax.optimization_barrier(places), axes=tuple(axis - 1 for axis in axes[1:]))
    first = lax.broadcast_in_dim(lax.reshape(places, best.shape), data.shape, everywhere)
    spread = lax.broadcast_in_dim(head, data.shape, everywhere)
    return (lax.select(lax.eq(number, first), spread, lax.full_like(spread, 0)),)


_global_max.defvjp(_global_max_forward, _global_max_backward)


def _root(total: Array, power: int) -> Array:
    return {1: lambda x: x, 2: lax.sqrt, 3: lax.cbrt}[power](total)


def _window_counts(
    sizes: Sequence[int], kernel: Sequence[int], stride: Sequence[int], pad: Sequence[int],
    outputs: Sequence[int],
    include_pad: bool,
) -> np.ndarray:  # fmt: skip
    """By how much the sum of each window is divided; padding beyond ``pad`` ('full' windows) never counts."""
    counts = np.ones(())
    for size, width, step, amount, number in zip(sizes, kernel, stride, pad, outputs):
        start = np.arange(number) * step - amount
        end = np.minimum(start + width, size + amount)
        if not include_pad:
            start, end = np.maximum(start, 0), np.minimum(end, size)
        counts = np.multiply.outer(counts, np.maximum(end - start, 1))
    return counts


@operator("Pooling", aliases=("_npx_pooling",))
def pooling(
    data: Array, *, kernel: tuple[int, ...] = (), pool_type: Literal["avg", "lp", "max", "sum"] = "max",
    global_pool: bool = False, cudnn_off: bool = False,
    pooling_convention: Literal["full", "same", "valid"] = "valid",
    stride: tuple[int, ...] = (), pad: tuple[int, ...] = (), p_value: int | None = None,
    count_include_pad: bool | None = None,
    layout: Literal["NCDHW", "NCHW", "NCW", "NDHWC", "NHWC", "NWC"] | None = None,
) -> Array:  # fmt: skip
    """Summarize windows of each channel by their maximum, mean, sum or p-norm.

    Args:
        data: ``(batch, channels, spatial...)``, or with a layout such as NHWC ``(batch, spatial...,
            channels)``.
        kernel: the window; not needed with ``global_pool``, where one window covers everything.
        pooling_convention: ``valid`` drops incomplete windows at the far end, ``full`` keeps them.
        p_value: 1, 2 or 3, for ``pool_type="lp"``.
        count_include_pad: whether padding counts in the mean (it does by default).

    Returns:
        The layout of data, one element for each window. The first of equal maxima receives the gradient.
    """
    name = "Pooling"
    check(
        3 <= data.ndim <= 5,
        f"{name}: Input data should be  3D in (batch, channel, x) Or 4D in (batch, channel, y, x)  Or "
        f"5D in (batch, channel, d, y, x), got {data.shape}",
    )
    floating = jnp.issubdtype(data.dtype, jnp.floating)
    check(floating, f"{name}: This operation only support floating point types, not {data.dtype}")
    check(pool_type != "lp" or p_value is not None, f"{name}: pool_type='lp' needs p_value (1, 2 or 3)")
    check(pool_type != "lp" or p_value in (1, 2, 3), f"{name}: p value of {p_value} is not supported yet...")
    dimensions = data.ndim - 2
    axes = spatial_axes(name, layout, dimensions)
    sizes = tuple(data.shape[axis] for axis in axes)
    wide = (
        data
        if data.dtype.itemsize >= 4 or pool_type == "max"
        else lax.convert_element_type(data, jnp.float32)
    )
    power = (p_value or 1) if pool_type == "lp" else 1
    if global_pool:
        return _pool_everything(wide, axes, pool_type, power).astype(data.dtype)
    check(
        len(kernel) > 0,
        f"{name}: kernel is missing (0D pooling not supported); give kernel or global_pool=True",
    )
    check(
        len(kernel) == dimensions,
        f"{name}: kernel={kernel} needs {dimensions} numbers for data {data.shape}",
    )
    # 1.9.1 does not count the numbers of stride and pad; what goes beyond the kernel's dimensions is not looked at,
    # and its own test of pooling_convention='same' writes pad=(0, 0, 0) for one dimension.
    stride = per_axis(name, "Stride", stride[:dimensions], dimensions, 1)
    pad = per_axis(name, "Pad", pad[:dimensions], dimensions, 0)
    check(
        min((*kernel, *stride)) > 0, f"{name}: kernel and stride must be positive, got {kernel} and {stride}"
    )
    if pooling_convention == "same":
        check(
            dimensions == 1,
            f"{name}: pooling_convention='same' supports data with one spatial axis, got {data.shape}",
        )
        check(not any(pad), f"{name}: Same pooling convention disables the use of pad parameter.")
    for size, width, amount in zip(sizes, kernel, pad):
        check(
            width <= size + 2 * amount,
            f"{name}: kernel size ({width}) exceeds input ({size} padded to {size + 2 * amount})",
        )
    outputs = tuple(_output_size(*each, pooling_convention) for each in zip(sizes, kernel, stride, pad))
    far = [_far_padding(*each) for each in zip(sizes, kernel, stride, pad, outputs)]
    # A window entirely in the padding gives the least finite number, as in MXNet.
    filler = float(jnp.finfo(data.dtype).min) if pool_type == "max" else 0.0
    if power > 1:
        wide = lax.integer_pow(wide, power)
    if pool_type == "max":
        return _maximum(wide, Windows(axes, kernel, stride, sizes, outputs, pad, filler))
    padded = pad_axes(wide, axes, filler, pad, far, (0,) * dimensions)
    total = _total(padded, axes, kernel, stride, outputs)
    if power > 1 and on_cpu():
        total = lax.optimization_barrier(total)  # else its gradient computes the root anew for each element of a window
    if pool_type == "avg":
        counts = _window_counts(sizes, kernel, stride, pad, outputs, count_include_pad is not False)
        total = _divide(total, counts, axes)
    return _root(total, power).astype(data.dtype)


def _divide(total: Array, counts: np.ndarray, axes: Sequence[int]) -> Array:
    if counts.size and (counts == counts.flat[0]).all():
        return lax.mul(total, lax.full_like(total, 1 / counts.flat[0]))
    factors = jnp.asarray(1 / counts, total.dtype)
    return lax.mul(total, lax.broadcast_in_dim(factors, total.shape, tuple(axes)))


def _pool_everything(data: Array, axes: tuple[int, ...], pool_type: str, power: int) -> Array:
    kept = tuple(1 if axis in axes else n for axis, n in enumerate(data.shape))
    if pool_type == "max" and 0 in [data.shape[axis] for axis in axes]:
        return lax.full(kept, jnp.finfo(data.dtype).min, data.dtype)  # the largest of no numbers
    if pool_type == "max":
        return _global_max(data, axes)
    total = lax.reshape(lax.reduce_sum(lax.integer_pow(data, power) if power > 1 else data, axes=axes), kept)
    if pool_type == "avg":
        total = lax.mul(
            total, lax.full_like(total, 1 / max(int(np.prod([data.shape[axis] for axis in axes])), 1))
        )
    return _root(total, power)


@operator("Pooling_v1")
def pooling_v1(
    data: Array, *, kernel: tuple[int, ...] = (), pool_type: Literal["avg", "max", "sum"] = "max",
    global_pool: bool = False, pooling_convention: Literal["full", "valid"] = "valid",
    stride: tuple[int, ...] = (), pad: tuple[int, ...] = (),
) -> Array:  # fmt: skip
    """The first version of ``Pooling``, for old files.

    It differs: padding is 0 for the maximum too, the mean always divides by the size of the whole window,
    and all equal maxima of a window receive the gradient.

    Args:
        data: ``(batch, channels, height, width)``.

    Returns:
        ``(batch, channels, ...)``, one element for each window.
    """
    name = "Pooling_v1"
    check(data.ndim == 4, f"{name}: Input data should be 4D in (batch, channel, y, x), got {data.shape}")
    check_floating(name, data)
    if global_pool and 0 in data.shape[2:]:
        # Of no numbers the sum is 0, the mean NaN, the maximum minus infinity.
        return lax.full((*data.shape[:2], 1, 1), {"sum": 0.0, "avg": np.nan, "max": -np.inf}[pool_type], data.dtype)
    if global_pool:
        kernel, stride, pad = data.shape[2:], (1, 1), (0, 0)
    check(
        len(kernel) == 2 and min(kernel) > 0,
        f"{name}: kernel={kernel} needs 2 positive numbers (1D and 3D kernel not implemented)",
    )
    stride = per_axis(name, "Stride", stride[:2], 2, 1)
    check(min(stride) > 0, f"{name}: stride={stride} must be positive")
    pad = per_axis(name, "Pad", pad[:2], 2, 0)
    sizes = data.shape[2:]
    for size, width, amount in zip(sizes, kernel, pad):
        check(
            width <= size + 2 * amount,
            f"{name}: kernel size ({width}) exceeds input ({size} padded to {size + 2 * amount})",
        )
    outputs = tuple(_output_size(*each, pooling_convention) for each in zip(sizes, kernel, stride, pad))
    far = [_far_padding(*each) for each in zip(sizes, kernel, stride, pad, outputs)]
    beyond = [max(more - amount, 0) for more, amount in zip(far, pad)]
    padded = pad_axes(data, (2, 3), 0.0, pad, [more - extra for more, extra in zip(far, beyond)], (0, 0))
    if pool_type == "max":
        # 'full' windows may stick out beyond the padding: what lies there is cut off and never the maximum.
        whole = pad_axes(padded, (2, 3), -np.inf, (0, 0), beyond, (0, 0))
        parts = [strided_slice(whole, (2, 3), start, stride, outputs) for start in offsets(kernel)]
        return _max_shared(tuple(parts))
    whole = pad_axes(padded, (2, 3), 0.0, (0, 0), beyond, (0, 0))
    total = _total(whole, (2, 3), kernel, stride, outputs)
    return lax.mul(total, lax.full_like(total, 1 / (kernel[0] * kernel[1]))) if pool_type == "avg" else total


@jax.custom_jvp
def _max_shared(parts: tuple[Array, ...]) -> Array:
    """Elementwise maximum of arrays; every one that attains it has the derivative 1."""
    return functools.reduce(lax.max, parts)


@_max_shared.defjvp
def _max_shared_tangent(
    primals: tuple[tuple[Array, ...]], tangents: tuple[tuple[Array, ...]]
) -> tuple[Array, Array]:
    best = _max_shared(primals[0])
    moves = [
        lax.select(lax.eq(part, best), move, lax.full_like(move, 0))
        for part, move in zip(primals[0], tangents[0])
    ]
    return best, functools.reduce(lax.add, moves)
