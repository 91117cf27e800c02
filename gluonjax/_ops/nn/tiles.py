"""Convolutions whose windows lie side by side (stride = kernel), for a CPU: each window is a pixel of more channels."""

from __future__ import annotations

import math

import jax.numpy as jnp
from jax import Array, lax

from gluonjax._ops.nn.pointwise import pointwise
from gluonjax._ops.nn.windows import strided_slice


def gathered(data: Array, weight: Array) -> Array:
    """Convolve ``(batch, channels, spatial...)`` with ``(filters, channels, kernel...)``, stride = kernel."""
    kernel = weight.shape[2:]
    count = len(kernel)
    axes = tuple(range(2, data.ndim))
    size = tuple(data.shape[axis] // step for axis, step in zip(axes, kernel))
    whole = strided_slice(data, axes, (0,) * count, (1,) * count, [n * step for n, step in zip(size, kernel)])
    shape = [number for pair in zip(size, kernel) for number in pair]
    split = lax.reshape(whole, (*data.shape[:2], *shape))
    order = (0, 1, *range(3, 3 + 2 * count, 2), *range(2, 2 + 2 * count, 2))
    channels = data.shape[1] * math.prod(kernel)
    pixels = lax.reshape(lax.transpose(split, order), (data.shape[0], channels, *size))
    matrix = lax.reshape(weight, (weight.shape[0], channels, *(1,) * count))
    return pointwise(pixels, matrix, axes, 1, (1,) * count)


def scattered(data: Array, weight: Array) -> Array:
    """The transpose: ``(batch, channels, spatial...)`` and ``(channels, filters, kernel...)`` give larger images."""
    kernel = weight.shape[2:]
    count, filters = len(kernel), weight.shape[1]
    size = data.shape[2:]
    outputs = filters * math.prod(kernel)
    matrix = lax.reshape(jnp.moveaxis(weight, 0, -1), (outputs, data.shape[1], *(1,) * count))
    pixels = pointwise(data, matrix, tuple(range(2, data.ndim)), 1, (1,) * count)
    split = lax.reshape(pixels, (data.shape[0], filters, *kernel, *size))
    order = [0, 1, *(axis for number in range(count) for axis in (2 + count + number, 2 + number))]
    return lax.reshape(
        lax.transpose(split, order), (data.shape[0], filters, *(n * step for n, step in zip(size, kernel)))
    )
