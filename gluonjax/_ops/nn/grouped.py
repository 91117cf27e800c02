"""Convolutions of small groups for a CPU: multiply-adds of shifted slices, as in depthwise convolutions.

With 8 channels a group, 32 groups at 56×56 and batch 8 take 17 ms, as separate convolutions 37.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._ops.nn.windows import convolved, correlated_size, interleave, offsets, pad_axes, strided_slice

# Up to this many products for each output, of so many channels: more are better off in a product of matrices.
MOST_PRODUCTS = 72
MOST_CHANNELS = 8
# Weight gradients come from separate convolutions; so many at most.
MOST_PARTS = 128

Tap = tuple[tuple[int, ...], tuple[int, ...]]


def suits(weight: Array, channel: int, groups: int) -> bool:
    """Whether ``small_groups`` is the way to convolve with a weight ``(filters, channels / groups, kernel...)``."""
    few = weight.shape[1] <= MOST_CHANNELS and math.prod(weight.shape[1:]) <= MOST_PRODUCTS
    return channel == 1 and groups > 1 and few


@functools.partial(jax.custom_vjp, nondiff_argnums=(2, 3, 4))
def small_groups(
    data: Array, weight: Array, groups: int, stride: tuple[int, ...], dilate: tuple[int, ...]
) -> Array:
    """Convolve padded data, channels first.

    Args:
        data: ``(batch, groups * channels, padded spatial...)``.
        weight: ``(groups * filters, channels, kernel...)``.
    """
    axes = tuple(range(2, data.ndim))
    size = correlated_size(data, axes, weight.shape[2:], stride, dilate)
    taps = list(zip(offsets(weight.shape[2:], dilate), np.ndindex(*weight.shape[2:])))
    mixed = _mix(_grouped(data, groups, 1), _grouped(weight, groups, 0), taps, stride, size)
    return lax.reshape(mixed, (data.shape[0], weight.shape[0], *size))


def _grouped(array: Array, groups: int, axis: int) -> Array:
    """An axis split into groups and their members."""
    shape = array.shape
    return lax.reshape(array, (*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :]))


def _mix(data: Array, kernels: Array, taps: Sequence[Tap], stride: Sequence[int], size: Sequence[int]) -> Array:
    """``(batch, groups, filters, size...)``: all channels ``(batch, groups, channels, spatial...)`` of a group mixed.

    Args:
        kernels: ``(groups, filters, channels, kernel...)``.
        taps: where a slice starts, and the element of the kernel that it is multiplied with.
    """
    axes = range(3, data.ndim)
    shape = (*data.shape[:2], kernels.shape[1], *size)
    total = None
    for number in range(data.shape[2]):
        channel = lax.slice_in_dim(data, number, number + 1, axis=2)
        for start, index in taps:
            part = lax.broadcast_in_dim(
                strided_slice(channel, axes, start, stride, size), shape, tuple(range(data.ndim))
            )
            weight = lax.broadcast_in_dim(kernels[(slice(None), slice(None), number, *index)], shape, (1, 2))
            product = lax.mul(part, weight)
            total = product if total is None else lax.add(total, product)
    assert total is not None
    return total


def _forward(
    data: Array, weight: Array, groups: int, stride: tuple[int, ...], dilate: tuple[int, ...]
) -> tuple[Array, tuple[Array, Array]]:
    return small_groups(data, weight, groups, stride, dilate), (data, weight)


def _backward(
    groups: int, stride: tuple[int, ...], dilate: tuple[int, ...], saved: tuple[Array, Array], head: Array
) -> tuple[Array, Array]:
    data, weight = saved
    _, pullback = jax.vjp(lambda kernels: _in_parts(data, kernels, groups, stride, dilate), weight)
    return _data_gradient(data, weight, head, groups, stride, dilate), pullback(head)[0]


def _data_gradient(
    data: Array, weight: Array, head: Array, groups: int, stride: tuple[int, ...], dilate: tuple[int, ...]
) -> Array:
    """Elements of data at the same place modulo the stride form a plane; each is a convolution of head."""
    axes = tuple(range(2, data.ndim))
    kernel, size = weight.shape[2:], head.shape[2:]
    extent = [-(-data.shape[axis] // jump) for axis, jump in zip(axes, stride)]
    furthest = [(count - 1) * step // jump for count, step, jump in zip(kernel, dilate, stride)]
    padded = pad_axes(head, axes, 0, furthest, [n - m for n, m in zip(extent, size)], (0,) * len(axes))
    split, kernels = _grouped(padded, groups, 1), jnp.swapaxes(_grouped(weight, groups, 0), 1, 2)
    taps: dict[tuple[int, ...], list[Tap]] = {}
    for start, index in zip(offsets(kernel, dilate), np.ndindex(*kernel)):
        phase = tuple(begin % jump for begin, jump in zip(start, stride))
        back = tuple(far - begin // jump for far, begin, jump in zip(furthest, start, stride))
        taps.setdefault(phase, []).append((back, index))
    shape = (*data.shape[:2], *extent)
    planes = {
        phase: lax.reshape(_mix(split, kernels, those, (1,) * len(axes), extent), shape)
        for phase, those in taps.items()
    }
    whole = interleave(planes, axes, stride)
    return strided_slice(whole, axes, (0,) * len(axes), (1,) * len(axes), data.shape[2:])


def _in_parts(
    data: Array, weight: Array, groups: int, stride: tuple[int, ...], dilate: tuple[int, ...]
) -> Array:
    """The same as separate convolutions. Two groups share one, with zeros between them: faster than half as wide."""
    merged = 2 if groups % 2 == 0 and max(stride) == 1 else 1
    while groups // merged > MOST_PARTS and groups % (2 * merged) == 0:
        merged *= 2
    count, channels = groups // merged, weight.shape[1]
    filters, kernel = weight.shape[0] // groups, weight.shape[2:]
    split = lax.reshape(weight, (count, merged, filters, 1, channels, *kernel))
    own = jnp.eye(merged, dtype=weight.dtype).reshape(1, merged, 1, merged, *(1,) * (1 + len(kernel)))
    kernels = lax.reshape(lax.mul(*jnp.broadcast_arrays(split, own)),
                          (count, merged * filters, merged * channels, *kernel))  # fmt: skip
    parts = [
        convolved(part, lax.squeeze(own_kernel, (0,)), stride, dilate)
        for part, own_kernel in zip(
            lax.split(data, (merged * channels,) * count, axis=1), lax.split(kernels, (1,) * count, axis=0)
        )
    ]
    return lax.concatenate(parts, 1)


small_groups.defvjp(_forward, _backward)
