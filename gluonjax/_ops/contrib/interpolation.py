"""Reading images between their pixels, and pooling regions of them: what the spatial operators share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._ops.indexing import gather_axis

# Regions are worked on together up to this many elements of intermediate results, else in batches.
REGION_LIMIT = 1 << 25


def _spread(values: Array, shape: tuple[int, ...]) -> Array:
    """The values once for each channel."""
    return lax.broadcast_in_dim(values, shape, tuple(range(1, len(shape))))


def bilinear(image: Array, y: Array, x: Array, outside: str = "zero") -> Array:
    """An image at real positions, interpolated between the four pixels around each.

    Written in few equations: networks of new shapes are traced again, and that costs more than small images do.

    Args:
        image: ``(channels, height, width)``.
        y: rows, any shape; float.
        x: columns, the same shape.
        outside: ``"zero"``: pixels beyond the edge are 0; ``"edge"``: they repeat the edge.

    Returns:
        ``(channels, *y.shape)``; differentiable in the image and in the positions.
    """
    channels, height, width = image.shape
    flat = lax.reshape(image, (channels, height * width))
    rows, columns = (_two_nearest(at, size, outside) for at, size in ((y, height), (x, width)))
    total = None
    for row, weight_y in rows:
        start = lax.mul(row, lax.full_like(row, width))
        for column, weight_x in columns:
            found = gather_axis(flat, lax.add(start, column), 1)
            part = lax.mul(found, _spread(lax.mul(weight_y, weight_x), found.shape))
            total = part if total is None else lax.add(total, part)
    assert total is not None
    return total


def _two_nearest(position: Array, size: int, outside: str) -> list[tuple[Array, Array]]:
    """The whole positions below and above real ones along an axis, cut off at its ends, with their weights."""
    below = lax.floor(lax.stop_gradient(position))
    share = lax.sub(position, below)
    first = lax.convert_element_type(below, np.int32)
    found = []
    for place, weight in (
        (first, lax.sub(lax.full_like(share, 1), share)), (lax.add(first, lax.full_like(first, 1)), share)
    ):  # fmt: skip
        inner = lax.clamp(np.int32(0), place, np.int32(size - 1))
        if outside == "zero":
            weight = lax.select(lax.eq(inner, place), weight, lax.full_like(weight, 0))
        found.append((inner, weight))
    return found


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
