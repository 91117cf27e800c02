"""Convolutions of few channels, such as colours, for a CPU.

XLA:CPU is slow at the gradient of such data: 142 ms for 64 filters of 3×3 on eight pictures of 224×224, where one
product and shifted sums take 32.
"""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.experimental.xla_metadata import set_xla_metadata

from gluonjax._ops.nn.windows import convolved, correlated_size, offsets, strided_slice

# Up to this many products for an output, products of shifted channels beat XLA's convolution too; more of them
# where rows are read without gaps.
MOST_PRODUCTS = 49
MOST_WITHOUT_STRIDE = 81
# With a stride, more filters than products make a product of matrices faster than the sums; beyond these products so
# many filters are enough. Without a stride so many products and filters do (3-d of colours 7 ms instead of 10).
FEWEST_FILTERS = 16
MANY_PRODUCTS, MANY_FILTERS = 72, 32
# Beyond so many elements in what the outputs see of all images, one image at a time stays in the cache: 36 ms instead
# of 59 for the first layer of ResNet on eight pictures, XLA's convolution 67.
MOST_PATCHES = 1 << 22
# Small images go in groups of up to so many.
GROUPED_PATCHES = 1 << 20
# A channel's share of a product's result is written once for each element of the kernel.
MOST_TAPS = 200
MOST_CHANNELS = 9


def suits(weight: Array, channel: int) -> bool:
    """Whether ``few_channels`` is the way to convolve with a weight ``(filters, channels, kernel...)``."""
    return channel == 1 and weight.shape[1] <= MOST_CHANNELS and math.prod(weight.shape[1:]) <= MOST_TAPS


@functools.partial(jax.custom_vjp, nondiff_argnums=(2, 3))
def few_channels(data: Array, weight: Array, stride: tuple[int, ...], dilate: tuple[int, ...]) -> Array:
    """Convolve padded data, channels first.

    Args:
        data: ``(batch, channels, padded spatial...)``.
        weight: ``(filters, channels, kernel...)``.
    """
    filters, products = weight.shape[0], math.prod(weight.shape[1:])
    if max(stride) > 1:
        shifts = filters <= products <= MOST_PRODUCTS
    else:
        shifts = products <= MOST_WITHOUT_STRIDE and (products < MANY_PRODUCTS or filters < MANY_FILTERS)
    if shifts:
        # XLA:CPU would compute all products anew for each of their uses, in sums on one core: 42 ms instead of 22 for a
        # convolution and a loss with their gradients. It leaves calls alone that must not be inlined.
        with set_xla_metadata(inlineable="false"):
            return _shifted(data, weight, stride, dilate)
    return (_patched if filters >= FEWEST_FILTERS else convolved)(data, weight, stride, dilate)


def _patched(data: Array, weight: Array, stride: tuple[int, ...], dilate: tuple[int, ...]) -> Array:
    """Products of the kernels with what each output sees."""
    kernel, filters = weight.shape[2:], weight.shape[0]
    size = correlated_size(data, tuple(range(2, data.ndim)), kernel, stride, dilate)
    matrix = lax.reshape(jnp.moveaxis(weight, 1, -1), (filters, math.prod(weight.shape[1:])))

    def product(images: Array) -> Array:
        copies = lax.broadcast_in_dim(matrix, (images.shape[0], *matrix.shape), (1, 2))
        return lax.dot_general(copies, _gathered(images, kernel, stride, dilate), (((2,), (1,)), ((0,), (0,))))

    batch, seen = data.shape[0], math.prod(weight.shape[1:]) * math.prod(size)
    if batch * seen > MOST_PATCHES:
        count = next(n for n in (4, 2, 1) if n == 1 or (batch % n == 0 and n * seen <= GROUPED_PATCHES))
        found = lax.map(product, lax.reshape(data, (batch // count, count, *data.shape[1:])))
    else:
        found = product(data)
    return lax.reshape(found, (data.shape[0], filters, *size))


@functools.partial(jax.jit, static_argnums=(2, 3))
def _shifted(data: Array, weight: Array, stride: tuple[int, ...], dilate: tuple[int, ...]) -> Array:
    axes = tuple(range(2, data.ndim))
    kernel = weight.shape[2:]
    size = correlated_size(data, axes, kernel, stride, dilate)
    shape = (data.shape[0], weight.shape[0], *size)
    total = None
    for number in range(data.shape[1]):
        channel = lax.slice_in_dim(data, number, number + 1, axis=1)
        for start, index in zip(offsets(kernel, dilate), np.ndindex(*kernel)):
            part = strided_slice(channel, axes, start, stride, size)
            product = lax.mul(
                lax.broadcast_in_dim(part, shape, tuple(range(data.ndim))),
                lax.broadcast_in_dim(weight[(slice(None), number, *index)], shape, (1,)),
            )
            total = product if total is None else lax.add(total, product)
    assert total is not None
    return total


def _gathered(data: Array, kernel: tuple[int, ...], stride: tuple[int, ...], dilate: tuple[int, ...]) -> Array:
    """As ``_patches``, axis by axis: fewer slices, each of which XLA:CPU compiles a loop for."""
    found = data
    for axis in range(data.ndim - 1, 1, -1):
        width, jump, step = kernel[axis - 2], stride[axis - 2], dilate[axis - 2]
        size = correlated_size(found, (axis,), (width,), (jump,), (step,))
        parts = [strided_slice(found, (axis,), start, (jump,), size) for start in offsets((width,), (step,))]
        found = lax.concatenate(parts, 1)
    return lax.reshape(found, (*found.shape[:2], math.prod(found.shape[2:])))


def _forward(
    data: Array, weight: Array, stride: tuple[int, ...], dilate: tuple[int, ...]
) -> tuple[Array, tuple[Array, Array]]:
    return few_channels(data, weight, stride, dilate), (data, weight)


def _patches(data: Array, kernel: tuple[int, ...], stride: tuple[int, ...], dilate: tuple[int, ...]) -> Array:
    """``(batch, taps * channels, outputs)``: what each output sees of padded data."""
    axes = tuple(range(2, data.ndim))
    size = correlated_size(data, axes, kernel, stride, dilate)
    shape = (*data.shape[:2], math.prod(size))
    parts = [lax.reshape(strided_slice(data, axes, start, stride, size), shape) for start in offsets(kernel, dilate)]
    return lax.concatenate(parts, 1)


def _backward(
    stride: tuple[int, ...], dilate: tuple[int, ...], saved: tuple[Array, Array], head: Array
) -> tuple[Array, Array]:
    data, weight = saved
    kernel = weight.shape[2:]
    batch, filters, outputs = head.shape[0], head.shape[1], math.prod(head.shape[2:])
    flat = lax.reshape(head, (batch, filters, outputs))
    matrix = lax.reshape(jnp.moveaxis(weight, 0, -1), (weight.shape[1], math.prod(kernel), filters))
    matrix = lax.reshape(jnp.swapaxes(matrix, 0, 1), (weight.shape[1] * math.prod(kernel), filters))
    copies = lax.broadcast_in_dim(matrix, (batch, *matrix.shape), (1, 2))
    of_patches = lax.dot_general(copies, flat, (((2,), (1,)), ((0,), (0,))))
    (of_data,) = jax.linear_transpose(lambda values: _patches(values, kernel, stride, dilate), data)(of_patches)
    _, pullback = jax.vjp(lambda kernels: convolved(data, kernels, stride, dilate), weight)
    return of_data, pullback(head)[0]


few_channels.defvjp(_forward, _backward)
