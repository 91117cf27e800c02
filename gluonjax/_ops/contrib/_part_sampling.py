"""Deformable position-sensitive pooling for a CPU: the samples of a bin as a product of weights of rows and columns.

The samples of a bin lie on a grid, so that their sum is the bin's channels between a vector for the rows and one for
the columns; of all regions together, that is one matrix product for each bin. XLA:CPU is slow at adding to single
pixels instead: a gradient for 64 regions of 7×7 bins and 21 channels with 16 samples each takes 460 ms so, and 21 as
products.
"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._ops.contrib.interpolation import over_regions

# Pixels of all images, for each sample of a bin, up to which products take less time than single pixels.
MOST_PIXELS = 512

Positions = Callable[[Array, Array], tuple[Array, Array]]


def suits(images: tuple[int, ...], output_dim: int, classes: int, samples: int) -> bool:
    """Whether ``pool_parts`` is the way for images ``(batch, channels, height, width)`` and samples along a side."""
    pixels = images[0] * images[2] * images[3]
    return output_dim % classes == 0 and 0 < pixels <= MOST_PIXELS * samples * samples


def pool_parts(
    data: Array, rois: Array, trans: Array, positions: Positions, classes: int, groups: int, group: np.ndarray
) -> Array:
    """``(regions, output_dim, bins, bins)``, the means of the samples that lie inside the images.

    Args:
        data: ``(batch, output_dim * groups ** 2, height, width)``.
        positions: a region and its offsets -> columns and rows of samples, each ``(classes, bins, bins, samples)``.
        classes: how many ranges of output channels have offsets of their own.
        group: ``(bins,)``: the group of channels that a row (or column) of bins reads.
    """
    batch, channels, height, width = data.shape
    bins, share = len(group), channels // (groups * groups * classes)
    parts = data.reshape(batch, classes, share, groups, groups, height, width)
    if groups != bins:
        parts = parts[:, :, :, group][:, :, :, :, group]
    # For each class and bin: the lines of all images, and its channels in each of them.
    lines = parts.transpose(1, 3, 4, 0, 5, 2, 6).reshape(classes, bins, bins, batch * height, share * width)
    exact = lax.Precision.HIGHEST

    def pool(roi: Array, moves: Array) -> Array:
        x, y = positions(roi, moves)
        of_rows, count_y = _axis_weights(y, height)
        of_columns, count_x = _axis_weights(x, width)
        own = (jnp.arange(batch, dtype=jnp.int32) == roi[0].astype(jnp.int32)).astype(data.dtype)
        spread = (own[:, None] * of_rows[..., None, :]).reshape(classes, bins, bins, batch * height)
        narrow = jnp.einsum("kpql,kpqlx->kpqx", spread, lines, precision=exact)
        narrow = narrow.reshape(classes, bins, bins, share, width)
        total = (narrow * of_columns[..., None, :]).sum(axis=4)
        count = (count_y * count_x)[..., None]
        mean = jnp.where(count > 0, total / jnp.maximum(count, 1).astype(data.dtype), 0).astype(data.dtype)
        return mean.transpose(0, 3, 1, 2).reshape(classes * share, bins, bins)

    return over_regions(pool, (rois, trans), classes * bins * bins * (share * width + batch * height))


def _axis_weights(position: Array, size: int) -> tuple[Array, Array]:
    """Of ``(..., samples)`` along an axis: how much each of its pixels counts in their sum; how many are inside.

    A position on a pixel has that pixel on both sides, and so no slope, as in MXNet.
    """
    inside = (position >= -0.5) & (position <= size - 0.5)
    place = cut(position, size - 1)
    fixed = lax.stop_gradient(place)
    below, above = lax.floor(fixed)[..., None], lax.ceil(fixed)[..., None]
    far = (place - lax.floor(fixed))[..., None]
    pixel = jnp.arange(size, dtype=position.dtype)
    weight = jnp.where(pixel == below, 1 - far, 0) + jnp.where(pixel == above, far, 0)
    return jnp.where(inside[..., None], weight, 0).sum(axis=-2), inside.sum(axis=-1)


def cut(value: Array, high: int) -> Array:
    """``clip(value, 0, high)``, without slope where it cuts."""
    return jnp.where((value < 0) | (value > high), lax.stop_gradient(jnp.clip(value, 0, high)), value)
