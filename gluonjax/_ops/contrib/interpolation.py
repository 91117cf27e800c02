"""Reading images between their pixels, and pooling regions of them: what the spatial operators share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

# Regions are worked on together up to this many elements of intermediate results, else in batches.
REGION_LIMIT = 1 << 25


def pixels(image: Array, row: Array, column: Array) -> Array:
    """The pixels of ``(channels, height, width)`` at whole positions, which are cut off at the edges.

    Returns:
        ``(channels, *row.shape)``.
    """
    channels, height, width = image.shape
    zero = np.int32(0)
    place = lax.clamp(zero, row, np.int32(height - 1)) * width + lax.clamp(zero, column, np.int32(width - 1))
    return jnp.take(lax.reshape(image, (channels, height * width)), place, axis=1, mode="clip")


def bilinear(image: Array, y: Array, x: Array, outside: str = "zero") -> Array:
    """An image at real positions, interpolated between the four pixels around each.

    Args:
        image: ``(channels, height, width)``.
        y: rows, any shape; float.
        x: columns, the same shape.
        outside: ``"zero"``: pixels beyond the edge are 0; ``"edge"``: they repeat the edge.

    Returns:
        ``(channels, *y.shape)``; differentiable in the image and in the positions.
    """
    height, width = image.shape[1:]
    top, left = lax.floor(lax.stop_gradient(y)), lax.floor(lax.stop_gradient(x))
    down, right = y - top, x - left
    row, column = top.astype(jnp.int32), left.astype(jnp.int32)
    total = None
    for step_y, weight_y in ((0, 1 - down), (1, down)):
        for step_x, weight_x in ((0, 1 - right), (1, right)):
            here, there = row + step_y, column + step_x
            weight = weight_y * weight_x
            if outside == "zero":
                inside = (here >= 0) & (here < height) & (there >= 0) & (there < width)
                weight = lax.select(inside, weight, lax.full_like(weight, 0))
            part = pixels(image, here, there) * weight
            total = part if total is None else total + part
    assert total is not None
    return total


def over_regions(function: Callable[..., Any], regions: tuple[Array, ...], work: int) -> Any:
    """``function`` of every region (rows of the arrays), all at once or, where that is large, in batches.

    Args:
        work: elements that one region needs.
    """
    count = regions[0].shape[0]
    if count * work <= REGION_LIMIT or count == 0:
        return jax.vmap(function)(*regions)
    return lax.map(lambda rows: function(*rows), regions, batch_size=max(REGION_LIMIT // work, 1))


def single(value: float) -> float:
    """The float32 nearest to a number: what MXNet keeps of a ``float`` attribute, also for float64 data."""
    return float(np.float32(value))


def round_half_away(value: Array) -> Array:
    """C's ``round``."""
    return lax.round(value, lax.RoundingMethod.AWAY_FROM_ZERO)


def grid_axis(size: int) -> np.ndarray:
    """Positions from -1 to 1."""
    steps = np.arange(size) * 2.0
    return -1.0 + (steps / (size - 1) if size > 1 else np.full(1, np.nan))


def triangle_weights(
    start: Array, step: Array, samples: Array | int, bins: int, size: int, candidates: int
) -> Array:
    """How much each pixel along one axis counts in the mean over the samples of each bin.

    Bin ``p`` has samples at ``start + p * step + (i + 0.5) * step / samples``. Samples beyond ``[-1, size]``
    count as 0; those beyond the first and last pixel take that pixel.

    Args:
        start: where bin 0 starts, a scalar.
        step: the length of a bin, a scalar.
        samples: how many samples a bin has; an array if it depends on data.
        candidates: 0 to look at all samples (then ``samples`` is an int), else how many samples can lie
            within one pixel of a pixel.

    Returns:
        ``(bins, size)``.
    """
    dtype = start.dtype
    number = jnp.arange(bins, dtype=dtype)[:, None, None]
    pixel = jnp.arange(size, dtype=dtype)[None, :, None]
    spacing = step / jnp.asarray(samples, dtype)
    first = start + number * step
    if candidates:
        nearest = jnp.maximum(lax.ceil((pixel - 1 - first) / spacing - 0.5) - 1, 0)
        index = nearest + jnp.arange(candidates, dtype=dtype)
    else:
        index = jnp.arange(samples, dtype=dtype)[None, None, :]
    y = first + (index + 0.5) * spacing
    valid = (index >= 0) & (index < samples) & (y >= -1) & (y <= size)
    clamped = jnp.clip(y, 0, size - 1)
    weight = jnp.maximum(1 - jnp.abs(clamped - pixel), 0)
    total = jnp.where(valid, weight, 0).sum(axis=2)
    return (total / jnp.asarray(samples, dtype)).astype(dtype)
