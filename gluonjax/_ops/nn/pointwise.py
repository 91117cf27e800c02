"""Convolutions with a kernel of one element: matrix products, which XLA:CPU does faster than its convolution.

Large images get a product each, as one batched product: 64 to 256 channels at 56×56, batch 8, take 6 ms forward and 6
for each gradient, XLA's convolution 9, 27 and 17. Small images share a product. Each gradient is written as a product
that gives its result in the order in which it is wanted.
"""

from __future__ import annotations

import math

import jax
from jax import Array, lax

from gluonjax._ops.nn.windows import strided_slice

# Below so many positions an image is too small for a product of its own.
LARGE_IMAGE = 20 * 20


def pointwise(data: Array, weight: Array, axes: tuple[int, ...], channel: int, stride: tuple[int, ...]) -> Array:
    """Mix the channels at every position.

    Args:
        data: padded; channels on axis 1, or last.
        weight: ``(filters, channels, 1...)``, or with channels last ``(filters, 1..., channels)``.
        axes: the spatial axes of data.
        channel: the axis of the channels.

    Returns:
        data with ``filters`` channels, at every ``stride``-th position.
    """
    if max(stride) > 1:
        size = [(data.shape[axis] - 1) // step + 1 for axis, step in zip(axes, stride)]
        data = strided_slice(data, axes, (0,) * len(axes), stride, size)
    matrix = lax.reshape(weight, (weight.shape[0], weight.shape[channel]))
    if channel != 1:
        return lax.dot_general(data, matrix, (((channel,), (1,)), ((), ())))
    batch, channels = data.shape[:2]
    filters, positions = weight.shape[0], math.prod(data.shape[2:])
    shape = (batch, filters, *data.shape[2:])
    flat = lax.reshape(data, (batch, channels, positions))
    # A product for each image reads a copy of the matrix, which should be small beside the images.
    if positions >= LARGE_IMAGE and filters * channels <= positions * (filters + channels):
        return lax.reshape(_each_image(matrix, flat), shape)
    product = lax.dot_general(matrix, flat, (((1,), (1,)), ((), ())))
    return lax.reshape(lax.transpose(product, (1, 0, 2)), shape)


@jax.custom_vjp
def _each_image(matrix: Array, images: Array) -> Array:
    """The product of a matrix ``(filters, channels)`` with each image ``(channels, positions)``."""
    copies = lax.broadcast_in_dim(matrix, (images.shape[0], *matrix.shape), (1, 2))
    return lax.dot_general(copies, images, (((2,), (1,)), ((0,), (0,))))


def _each_image_forward(matrix: Array, images: Array) -> tuple[Array, tuple[Array, Array]]:
    return _each_image(matrix, images), (matrix, images)


def _each_image_backward(saved: tuple[Array, Array], head: Array) -> tuple[Array, Array]:
    matrix, images = saved
    of_matrix = lax.reduce_sum(lax.dot_general(head, images, (((2,), (2,)), ((0,), (0,)))), axes=(0,))
    return of_matrix, _each_image(lax.transpose(matrix, (1, 0)), head)


_each_image.defvjp(_each_image_forward, _each_image_backward)
