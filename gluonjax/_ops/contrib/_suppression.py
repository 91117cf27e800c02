"""Choosing boxes one by one: what non-maximum suppression and its relatives share."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import Array, lax


def suppress(alive: Array, rivals: Callable[[Array], Array], steps: int | None = None) -> Array:
    """Walk through boxes in order of preference; each one that is still alive removes its rivals behind it.

    Args:
        alive: ``(boxes,)``, bool; boxes in order of preference.
        rivals: number of a box -> ``(boxes,)``, bool: which boxes it excludes.
        steps: how many boxes take part (default: all).

    Returns:
        ``(boxes,)``, bool: which are left.
    """
    place = jnp.arange(alive.shape[0], dtype=jnp.int32)

    def step(number: Array, alive: Array) -> Array:
        return alive & ~(rivals(number) & (place > number) & alive[number])

    return lax.fori_loop(np.int32(0), np.int32(alive.shape[0] if steps is None else steps), step, alive)


def kept_first(keep: Array) -> tuple[Array, Array]:
    """Positions of the kept elements in order, followed by the others; and which of these places hold one."""
    order = jnp.argsort(~keep, stable=True).astype(jnp.int32)
    return order, jnp.arange(keep.shape[0], dtype=jnp.int32) < keep.sum(dtype=jnp.int32)


def descending(scores: Array) -> Array:
    """Positions from the highest score to the lowest, equal ones in their order."""
    return jnp.argsort(-scores, stable=True).astype(jnp.int32)


def corners(boxes: Array, center: bool) -> tuple[Array, Array, Array, Array]:
    """Left, top, right, bottom of ``(..., 4)`` boxes given by corners or by center and size."""
    a, b, c, d = (boxes[..., index] for index in range(4))
    return (a - c / 2, b - d / 2, a + c / 2, b + d / 2) if center else (a, b, c, d)


def areas(boxes: Array, center: bool) -> Array:
    """Areas of ``(..., 4)`` boxes; 0 where a side is negative."""
    a, b, c, d = (boxes[..., index] for index in range(4))
    width, height = (c, d) if center else (c - a, d - b)
    return jnp.where((width < 0) | (height < 0), 0, width * height).astype(boxes.dtype)


def overlaps(first: Array, second: Array, center: bool = False) -> Array:
    """Intersection over union of boxes that broadcast against each other; 0 where they do not meet."""
    left, top, right, bottom = corners(first, center)
    other_left, other_top, other_right, other_bottom = corners(second, center)
    width = jnp.maximum(jnp.minimum(right, other_right) - jnp.maximum(left, other_left), 0)
    height = jnp.maximum(jnp.minimum(bottom, other_bottom) - jnp.maximum(top, other_top), 0)
    shared = width * height
    union = areas(first, center) + areas(second, center) - shared
    return jnp.where(shared <= 0, 0, shared / jnp.where(shared <= 0, 1, union)).astype(first.dtype)
