"""Sliding windows: layouts, and products and maxima written as shifted slices.

XLA's CPU backend is slow at three things that MXNet's is not: depthwise and grouped convolutions (above all
their gradients) and the scatter in the gradient of max pooling. Written as a sum over the kernel's
positions of strided slices, they become elementwise loops.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.experimental.xla_metadata import set_xla_metadata

from gluonjax._ops.nn.sums import on_cpu
from gluonjax._ops.opdef import check

LAYOUTS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


def spatial_axes(name: str, layout: str | None, dimensions: int) -> tuple[int, ...]:
    """Where the spatial axes are in a layout (default: channels first)."""
    allowed = LAYOUTS[dimensions]
    check(
        layout is None or layout in allowed,
        f"{name}: layout {layout!r} does not fit a kernel with {dimensions} dimensions, wanted "
        f"{' or '.join(allowed)}",
    )
    first = 1 if layout is not None and layout.endswith("C") else 2
    return tuple(range(first, first + dimensions))


def per_axis(name: str, what: str, given: tuple[int, ...], dimensions: int, default: int) -> tuple[int, ...]:
    """One number for each spatial axis; an empty tuple stands for the default."""
    if not given:
        return (default,) * dimensions
    check(
        len(given) == dimensions,
        f"{name}: {what} must have the same number of dimensions with kernel_size, got "
        f"{what.lower()}={given} for a "
        f"kernel with {dimensions} dimensions",
    )
    return given


def offsets(kernel: Sequence[int], dilate: Sequence[int] | None = None) -> Iterator[tuple[int, ...]]:
    """The positions of a kernel's elements, row by row."""
    steps = dilate or (1,) * len(kernel)
    return itertools.product(*(range(0, size * step, step) for size, step in zip(kernel, steps)))


def strided_slice(
    data: Array, axes: Sequence[int], start: Sequence[int], stride: Sequence[int], size: Sequence[int]
) -> Array:
    """``size`` elements from ``start`` in steps of ``stride`` along some axes."""
    low, high, step = [0] * data.ndim, list(data.shape), [1] * data.ndim
    for axis, begin, jump, count in zip(axes, start, stride, size):
        low[axis], high[axis], step[axis] = begin, begin + (count - 1) * jump + 1, jump
    return lax.slice(data, low, high, step)


def pad_axes(
    data: Array,
    axes: Sequence[int],
    value: float,
    low: Sequence[int],
    high: Sequence[int],
    interior: Sequence[int],
) -> Array:
    """Pad some axes; ``interior`` elements go between neighbours."""
    config = [(0, 0, 0)] * data.ndim
    for axis, *amounts in zip(axes, low, high, interior):
        config[axis] = (amounts[0], amounts[1], amounts[2])
    if all(entry == (0, 0, 0) for entry in config):
        return data
    return lax.pad(data, jnp.asarray(value, data.dtype), config)


def padded_slice(
    data: Array, axes: Sequence[int], start: Sequence[int], stride: Sequence[int], size: Sequence[int],
    filler: float = 0.0,
) -> Array:  # fmt: skip
    """``strided_slice`` that may begin before the data (a negative start) or end after it: there it is ``filler``.

    Data that is padded as a whole costs XLA's CPU backend a copy of it; padding of slices happens on their way.
    """
    first = [min(max(-(begin // jump), 0), count) for begin, jump, count in zip(start, stride, size)]
    end = [
        min((data.shape[axis] - 1 - begin) // jump + 1, count)
        for axis, begin, jump, count in zip(axes, start, stride, size)
    ]
    if any(a >= b for a, b in zip(first, end)):
        shape = list(data.shape)
        for axis, count in zip(axes, size):
            shape[axis] = count
        return lax.full(shape, filler, data.dtype)
    inside = strided_slice(
        data, axes, [begin + jump * a for begin, jump, a in zip(start, stride, first)], stride,
        [b - a for a, b in zip(first, end)],
    )  # fmt: skip
    return pad_axes(inside, axes, filler, first, [n - b for n, b in zip(size, end)], (0,) * len(first))


def convolved(data: Array, weight: Array, stride: tuple[int, ...], dilate: tuple[int, ...]) -> Array:
    """XLA's convolution of padded data, channels first."""
    numbers = lax.ConvDimensionNumbers(*(tuple(range(data.ndim)),) * 3)
    return lax.conv_general_dilated(
        data, weight, stride, [(0, 0)] * len(stride), rhs_dilation=dilate, dimension_numbers=numbers
    )


# From this many elements in a window along one axis on, its maximum is found by doubling.
WORTH_DOUBLING = 6
# Elements beyond which nine passes over data cost nine times its way from memory.
TOO_LARGE_FOR_CACHE = 1 << 21

# ---- depthwise products ----------------------------------------------------------------------------------


@functools.partial(jax.custom_vjp, nondiff_argnums=(2, 3, 4))
def depthwise(
    data: Array, weight: Array, axes: tuple[int, ...], stride: tuple[int, ...], dilate: tuple[int, ...]
) -> Array:
    """Correlate each channel of padded data with its own kernel.

    Args:
        data: the padded data.
        weight: ``(channels, kernel...)``.
        axes: the spatial axes of data; the one axis left besides the first holds the channels.
    """
    kernel = weight.shape[1:]
    size = correlated_size(data, axes, kernel, stride, dilate)
    channel = _channel_axis(data.ndim, axes)
    total = None
    for start, index in zip(offsets(kernel, dilate), np.ndindex(*kernel)):
        part = strided_slice(data, axes, start, stride, size)
        part = lax.mul(part, lax.broadcast_in_dim(weight[(slice(None), *index)], part.shape, (channel,)))
        total = part if total is None else lax.add(total, part)
    assert total is not None
    return total


def _channel_axis(ndim: int, axes: Sequence[int]) -> int:
    return next(axis for axis in range(1, ndim) if axis not in axes)


def correlated_size(
    data: Array, axes: Sequence[int], kernel: Sequence[int], stride: Sequence[int], dilate: Sequence[int]
) -> list[int]:
    """How many positions a kernel has along each spatial axis of padded data."""
    return [
        (data.shape[axis] - (count - 1) * step - 1) // jump + 1
        for axis, count, step, jump in zip(axes, kernel, dilate, stride)
    ]


def _depthwise_forward(
    data: Array, weight: Array, axes: tuple[int, ...], stride: tuple[int, ...], dilate: tuple[int, ...]
) -> tuple[Any, tuple[Array, Array]]:
    return depthwise(data, weight, axes, stride, dilate), (data, weight)


def _depthwise_backward(
    axes: tuple[int, ...],
    stride: tuple[int, ...],
    dilate: tuple[int, ...],
    saved: tuple[Array, Array],
    head: Array,
) -> tuple[Any, Array]:
    data, weight = saved
    kernel = weight.shape[1:]
    reach = [(count - 1) * step for count, step in zip(kernel, dilate)]
    size = [head.shape[axis] for axis in axes]
    # The gradient of data is the correlation of the spread-out head gradient with the mirrored kernel.
    rest = [data.shape[axis] - ((n - 1) * jump + 1) for axis, n, jump in zip(axes, size, stride)]
    spread = pad_axes(head, axes, 0, reach, rest, [jump - 1 for jump in stride])
    mirrored = lax.rev(weight, tuple(range(1, weight.ndim)))
    data_gradient = depthwise(spread, mirrored, axes, (1,) * len(axes), dilate)
    starts = list(offsets(kernel, dilate))
    if data.size < TOO_LARGE_FOR_CACHE or data.shape[0] == 1 or max(stride) > 1:
        last = axes[0] == 2
        per_tap = (_taps_of_rows if last else _taps_of_images)(data, head, axes, starts, stride)
    else:
        per_tap = _taps_image_by_image(data, head, axes, starts, stride)
    return data_gradient, lax.reshape(lax.transpose(per_tap, (1, 0)), weight.shape)


def _taps_of_rows(
    data: Array, head: Array, axes: tuple[int, ...], starts: list[tuple[int, ...]], stride: tuple[int, ...]
) -> Array:
    """``(taps, channels)``: sums of products of head with shifted data, channels first.

    Images become rows in which a shift along any axis is one offset, so that short images make long loops too.
    """
    batch, channels = data.shape[:2]
    planes, extent = _planes(data, axes, stride)
    inner = extent[1:]
    wide = pad_axes(head, axes[1:], 0, (0,) * len(inner), [n - head.shape[a] for n, a in zip(inner, axes[1:])],
                    (0,) * len(inner))  # fmt: skip
    row = lax.reshape(wide, (batch, channels, math.prod(wide.shape[2:])))
    steps = [math.prod(extent[number + 1 :]) for number in range(len(extent))]
    sums = []
    for start in starts:
        shift = sum((begin // jump) * step for begin, jump, step in zip(start, stride, steps))
        plane = planes[tuple(begin % jump for begin, jump in zip(start, stride))]
        flat = lax.reshape(plane, (batch, channels, math.prod(extent)))
        missing = max(shift + row.shape[2] - flat.shape[2], 0)  # there head is padding
        part = lax.slice_in_dim(pad_axes(flat, (2,), 0, (0,), (missing,), (0,)), shift, shift + row.shape[2], axis=2)
        sums.append(lax.reduce_sum(lax.mul(part, row), axes=(0,)))
    return lax.reduce_sum(lax.optimization_barrier(jnp.stack(sums)), axes=(2,))


def _planes(
    data: Array, axes: tuple[int, ...], stride: tuple[int, ...]
) -> tuple[dict[tuple[int, ...], Array], list[int]]:
    """The elements at each place modulo the stride as an array of its own, all of one spatial shape, and that shape."""
    extent = [-(-data.shape[axis] // jump) for axis, jump in zip(axes, stride)]
    if max(stride) == 1:
        return {(0,) * len(axes): data}, extent
    room = [n * jump - data.shape[axis] for n, axis, jump in zip(extent, axes, stride)]
    whole = pad_axes(data, axes, 0, (0,) * len(axes), room, (0,) * len(axes))
    return {phase: strided_slice(whole, axes, phase, stride, extent) for phase in np.ndindex(*stride)}, extent


def _row_products(
    data: Array, head: Array, axes: tuple[int, ...], starts: list[tuple[int, ...]], stride: tuple[int, ...]
) -> Array:
    """``(taps, channels and spatial axes but the first)``, summed over the batch and the first spatial axis."""
    size = [head.shape[axis] for axis in axes]
    return jnp.stack(
        [
            lax.reduce_sum(lax.mul(strided_slice(data, axes, start, stride, size), head), axes=(0, axes[0]))
            for start in starts
        ]
    )


def _sum_of_rows(total: Array, data: Array, axes: tuple[int, ...]) -> Array:
    channel = _channel_axis(data.ndim, axes)
    channel -= axes[0] < channel  # the batch has gone, the taps have come
    return lax.reduce_sum(total, axes=tuple(axis for axis in range(1, total.ndim) if axis != channel))


def _taps_of_images(
    data: Array, head: Array, axes: tuple[int, ...], starts: list[tuple[int, ...]], stride: tuple[int, ...]
) -> Array:
    """As ``_taps_of_rows``, for any layout."""
    return _sum_of_rows(lax.optimization_barrier(_row_products(data, head, axes, starts, stride)), data, axes)


def _taps_image_by_image(
    data: Array, head: Array, axes: tuple[int, ...], starts: list[tuple[int, ...]], stride: tuple[int, ...]
) -> Array:
    """As ``_taps_of_images``; all taps find an image in the cache."""

    def add_image(total: Array, image: tuple[Array, Array]) -> tuple[Array, None]:
        one, its_head = (lax.expand_dims(part, (0,)) for part in image)
        return lax.add(total, _row_products(one, its_head, axes, starts, stride)), None

    rest = [extent for axis, extent in enumerate(head.shape) if axis not in (0, axes[0])]
    total, _ = lax.scan(add_image, lax.full((len(starts), *rest), 0, data.dtype), (data, head))
    return _sum_of_rows(total, data, axes)


depthwise.defvjp(_depthwise_forward, _depthwise_backward)


# ---- maxima ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Windows:
    """Where the windows over some axes are.

    Attributes:
        image: the sizes of the data along the axes.
        size: the number of windows along each.
        low: how far the first window begins before the data.
        filler: what lies around the data.
    """

    axes: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    image: tuple[int, ...]
    size: tuple[int, ...]
    low: tuple[int, ...]
    filler: float

    def padded(self, data: Array) -> Array:
        """The data with what the windows see around it."""
        return pad_axes(data, self.axes, self.filler, self.low, self.high, (0,) * len(self.axes))

    @property
    def high(self) -> list[int]:
        """How far the last window ends behind the data."""
        parts = zip(self.size, self.stride, self.kernel, self.low, self.image)
        return [max((count - 1) * jump + width - low - n, 0) for count, jump, width, low, n in parts]


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def window_max(data: Array, how: Windows) -> Array:
    """The maximum of each window of data that is not padded; the gradient goes to the first maximum of a window."""
    if _doubles(how):
        return _max_with_place(how.padded(data), how, place=False)[0]
    parts = [
        padded_slice(data, how.axes, [a - b for a, b in zip(start, how.low)], how.stride, how.size, how.filler)
        for start in offsets(how.kernel)
    ]
    return functools.reduce(lax.max, parts)


def _doubles(how: Windows) -> bool:
    return sorted(how.kernel)[:-1] == [1] * (len(how.kernel) - 1) and max(how.kernel) >= WORTH_DOUBLING


def _max_with_place(data: Array, how: Windows, place: bool = True) -> tuple[Array, Array | None]:
    """The maxima of padded data, and the number of the element that each is."""
    if _doubles(how):
        width = max(how.kernel)
        return _max_by_doubling(data, how.axes, how.kernel.index(width), width, how.stride, how.size, place)
    best, where = None, None
    for number, start in enumerate(offsets(how.kernel)):
        part = strided_slice(data, how.axes, start, how.stride, how.size)
        if best is None:
            best, where = part, lax.full(part.shape, 0, jnp.int32) if place else None
            continue
        if where is not None:
            where = lax.select(lax.gt(part, best), lax.full_like(where, number), where)
        best = lax.max(best, part)
    assert best is not None
    return best, where


def _max_by_doubling(
    data: Array, axes: tuple[int, ...], wide: int, width: int, stride: tuple[int, ...], size: tuple[int, ...],
    place: bool,
) -> tuple[Array, Array | None]:  # fmt: skip
    """Windows along one axis: maxima of 2 neighbours, of 4 and so on, the last two of which overlap."""
    axis = axes[wide]

    def joined(a: Array, b: Array, first: Array | None, second: Array | None, apart: int) -> tuple[Any, Any]:
        if first is None or second is None:
            return lax.max(a, b), None
        return lax.max(a, b), lax.select(lax.gt(b, a), lax.add(second, lax.full_like(second, apart)), first)

    best, where = data, lax.full(data.shape, 0, jnp.int32) if place else None
    reach = 1
    while 2 * reach < width:
        left, right = (0, best.shape[axis] - reach), (reach, best.shape[axis])
        parts = [None if one is None else [lax.slice_in_dim(one, *at, axis=axis) for at in (left, right)]
                 for one in (best, where)]  # fmt: skip
        assert parts[0] is not None
        best, where = joined(*parts[0], *(parts[1] or (None, None)), reach)
        # Without the barrier XLA computes all steps anew for each of the next.
        best, where = lax.optimization_barrier((best, where))
        reach *= 2
    starts = [tuple(shift if number == wide else 0 for number in range(len(axes))) for shift in (0, width - reach)]
    ends = [[None if one is None else strided_slice(one, axes, start, stride, size) for start in starts]
            for one in (best, where)]  # fmt: skip
    return joined(ends[0][0], ends[0][1], ends[1][0], ends[1][1], width - reach)  # type: ignore[arg-type]


def _max_forward(data: Array, how: Windows) -> tuple[Array, Array]:
    padded = how.padded(data)
    if not on_cpu():
        return _max_with_place(padded, how)  # type: ignore[return-value]
    # In one program with its gradient, XLA:CPU would compute the places anew for each of the planes there (50 ms
    # instead of 10 for a 3x3 window); it leaves calls alone that must not be inlined.
    with set_xla_metadata(inlineable="false"):
        return _places_apart(padded, how)


@functools.partial(jax.jit, static_argnums=(1,))
def _places_apart(data: Array, how: Windows) -> tuple[Array, Array]:
    return _max_with_place(data, how)  # type: ignore[return-value]


def _max_backward(how: Windows, where: Array, head: Array) -> tuple[Array]:
    # Elements at the same place modulo the stride form a plane; each plane is a sum of shifted head
    # gradients.
    # Planes are interleaved once at the end: padding between elements is what XLA is slow at.
    axes, stride, one = how.axes, how.stride, (1,) * len(how.axes)
    whole_size = [low + n + high for low, n, high in zip(how.low, how.image, how.high)]
    lengths = [-(-n // jump) for n, jump in zip(whole_size, stride)]
    furthest = [(count - 1) // jump for count, jump in zip(how.kernel, stride)]
    room = [length - n for length, n in zip(lengths, how.size)]
    head = pad_axes(head, axes, 0, furthest, room, (0,) * len(axes))
    where = pad_axes(where, axes, -1, furthest, room, (0,) * len(axes))
    planes: dict[tuple[int, ...], Array] = {}
    for number, start in enumerate(offsets(how.kernel)):
        back = [far - begin // jump for far, begin, jump in zip(furthest, start, stride)]
        here, part = (strided_slice(array, axes, back, one, lengths) for array in (where, head))
        part = lax.select(lax.eq(here, lax.full_like(here, number)), part, lax.full_like(part, 0))
        phase = tuple(begin % jump for begin, jump in zip(start, stride))
        planes[phase] = part if phase not in planes else lax.add(planes[phase], part)
    return (strided_slice(interleave(planes, axes, stride), axes, how.low, one, how.image),)


def interleave(
    planes: dict[tuple[int, ...], Array], axes: tuple[int, ...], stride: tuple[int, ...]
) -> Array:
    """The array whose element ``stride * i + phase`` is element i of the plane ``phase`` (zero where there is none)."""
    some = next(iter(planes.values()))
    if all(jump == 1 for jump in stride):
        return some
    stacked = [planes.get(phase, lax.full_like(some, 0)) for phase in np.ndindex(*stride)]
    joined = lax.concatenate([lax.expand_dims(plane, (0,)) for plane in stacked], 0)
    joined = lax.reshape(joined, (*stride, *some.shape))
    order: list[int] = []
    for axis in range(some.ndim):
        order.append(axis + len(stride))
        if axis in axes:
            order.append(axes.index(axis))
    shape = [n * stride[axes.index(axis)] if axis in axes else n for axis, n in enumerate(some.shape)]
    return lax.reshape(lax.transpose(joined, order), shape)


window_max.defvjp(_max_forward, _max_backward)
