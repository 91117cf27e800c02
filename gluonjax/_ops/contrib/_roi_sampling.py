"""ROIAlign for a CPU: region after region, sample after sample, reading and writing whole pixels' channels.

The products of ``roi.py`` suit devices that multiply matrices; a CPU is ten times faster at the few pixels that the
samples touch. Pooling is linear in the images: its pullback spreads a gradient over the same pixels, and the
pullback of that is pooling again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax


@dataclass(frozen=True)
class Grid:
    """How regions are cut into bins and samples, and the images' shape ``(batch, channels, height, width)``."""

    images: tuple[int, ...]
    rows: int
    columns: int
    scale: float
    samples: int
    aligned: bool


def _axis(grid: Grid, low: Array, high: Array, bins: int) -> tuple[Array, Array, Array]:
    """Where bin 0 starts, how long a bin is, how many samples it has."""
    shift = 0.5 if grid.aligned else 0.0
    start = low * grid.scale - shift
    length = high * grid.scale - shift - start
    step = (length if grid.aligned else jnp.maximum(length, 1)) / bins
    if grid.samples > 0:
        return start, step, jnp.full((), grid.samples, jnp.int32)
    # A region without end has no samples: a NaN, an infinity or more than an int32 holds is a negative number in C++.
    countable = (step > 0) & (step < 2.0**31)
    return start, step, jnp.where(countable, lax.ceil(step), 0).astype(jnp.int32)


def _neighbours(position: Array, size: int) -> tuple[Array, Array, Array, Array]:
    """The two pixels around positions along an axis, the weight of the second, and which positions count."""
    valid = (position >= -1) & (position <= size)
    inside = jnp.clip(position, 0, size - 1)
    first = lax.floor(inside).astype(jnp.int32)
    return first, jnp.minimum(first + 1, size - 1), inside - first.astype(position.dtype), valid


def _over_samples(grid: Grid, roi: Array, visit: Callable[[Array, Array, Any], Any], start: Any) -> Any:
    """``visit(pixels (bins, 4), weights (bins, 4), state)`` for each sample; weights hold the mean's divisor."""
    batch, _, height, width = grid.images
    top, high, count_y = _axis(grid, roi[2], roi[4], grid.rows)
    left, wide, count_x = _axis(grid, roi[1], roi[3], grid.columns)
    image = roi[0].astype(jnp.int32)
    exists = (image >= 0) & (image < batch)
    dtype = roi.dtype
    share = 1 / jnp.maximum(count_y * count_x, 1).astype(dtype)
    row, column = jnp.arange(grid.rows, dtype=dtype), jnp.arange(grid.columns, dtype=dtype)

    def one(number: Array, state: Any) -> Any:
        index_y, index_x = (number // count_x).astype(dtype), (number % count_x).astype(dtype)
        y = top + row * high + (index_y + 0.5) * high / count_y.astype(dtype)
        x = left + column * wide + (index_x + 0.5) * wide / count_x.astype(dtype)
        y0, y1, down, valid_y = _neighbours(y, height)
        x0, x1, right, valid_x = _neighbours(x, width)
        ys, xs = jnp.stack([y0, y0, y1, y1]), jnp.stack([x0, x1, x0, x1])
        weight_y = jnp.where(valid_y, jnp.stack([1 - down, 1 - down, down, down]), 0)
        weight_x = jnp.where(valid_x, jnp.stack([1 - right, right, 1 - right, right]), 0)
        pixels = (ys[:, :, None] * width + xs[:, None, :]).reshape(4, -1).T
        weights = (weight_y[:, :, None] * weight_x[:, None, :]).reshape(4, -1).T
        first = jnp.clip(image, 0, batch - 1) * (height * width)
        return visit(first + pixels, weights * share, state)

    return lax.fori_loop(0, jnp.where(exists, count_y * count_x, 0), one, start)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def pool(grid: Grid, images: Array, rois: Array) -> Array:
    """``(batch, channels, height, width)`` and ``(regions, 5)`` -> ``(regions, channels, rows, columns)``."""
    channels = grid.images[1]
    pixels = jnp.moveaxis(images, 1, 3).reshape(-1, channels)

    def one(roi: Array) -> Array:
        def read(places: Array, weights: Array, total: Array) -> Array:
            values = jnp.take(pixels, places, axis=0, mode="clip")
            return total + (values * weights[:, :, None]).sum(axis=1)

        return _over_samples(grid, roi, read, jnp.zeros((grid.rows * grid.columns, channels), images.dtype))

    bins = lax.map(one, rois)
    return jnp.moveaxis(bins.reshape(-1, grid.rows, grid.columns, channels), 3, 1)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def spread(grid: Grid, head: Array, rois: Array) -> Array:
    """The transpose of ``pool``: a gradient of its result, as one of the images."""
    batch, channels, height, width = grid.images
    heads = jnp.moveaxis(head, 1, 3).reshape(head.shape[0], grid.rows * grid.columns, channels)

    def one(number: Array, images: Array) -> Array:
        mine = lax.dynamic_index_in_dim(heads, number, keepdims=False)

        def write(places: Array, weights: Array, state: Array) -> Array:
            parts = mine[:, None, :] * weights[:, :, None]
            return state.at[places.reshape(-1)].add(parts.reshape(-1, channels), mode="drop")

        return _over_samples(grid, lax.dynamic_index_in_dim(rois, number, keepdims=False), write, images)

    flat = lax.fori_loop(0, rois.shape[0], one, jnp.zeros((batch * height * width, channels), head.dtype))
    return jnp.moveaxis(flat.reshape(batch, height, width, channels), 3, 1)


def _pool_forward(grid: Grid, images: Array, rois: Array) -> tuple[Array, Array]:
    return pool(grid, images, rois), rois


def _pool_backward(grid: Grid, rois: Array, head: Array) -> tuple[Array, Array]:
    return spread(grid, head, rois), jnp.zeros_like(rois)


def _spread_forward(grid: Grid, head: Array, rois: Array) -> tuple[Array, Array]:
    return spread(grid, head, rois), rois


def _spread_backward(grid: Grid, rois: Array, head: Array) -> tuple[Array, Array]:
    return pool(grid, head, rois), jnp.zeros_like(rois)


pool.defvjp(_pool_forward, _pool_backward)
spread.defvjp(_spread_forward, _spread_backward)
