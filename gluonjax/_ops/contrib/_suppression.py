"""Choosing boxes one by one: what non-maximum suppression and its relatives share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._ops.ordering import ordered

# Up to so many boxes, all pairs are compared at once.
_MOST_PAIRED = 1024


def each_image(function: Callable[..., Any], *arrays: Array) -> Any:
    """``function`` of every row of the arrays: a CPU does one after the other, with loops only as long as needed."""
    return lax.platform_dependent(
        *arrays, cpu=lambda *rows: lax.map(lambda row: function(*row), rows),
        default=lambda *rows: jax.vmap(function)(*rows),
    )  # fmt: skip


def suppress(alive: Array, rivals: Callable[[Array], Array], most: int | None = None) -> Array:
    """Walk through boxes in order of preference; each one that is still alive removes its rivals behind it.

    Args:
        alive: ``(boxes,)``, bool; boxes in order of preference.
        rivals: number of a box -> ``(boxes,)``, bool: which boxes it excludes.
        most: how many survivors are wanted; those behind them may be wrong.

    Returns:
        ``(boxes,)``, bool: which are left.
    """
    count = alive.shape[0]
    if count <= _MOST_PAIRED:
        return _settled(alive, jax.vmap(rivals)(jnp.arange(count, dtype=jnp.int32)))
    place = jnp.arange(count, dtype=jnp.int32)

    def next_after(number: Array | np.int32, alive: Array) -> Array:
        return jnp.min(jnp.where(alive & (place > number), place, count), initial=np.int32(count))

    def more(state: tuple[Array, Array, Array]) -> Array:
        number, survivors, _ = state
        return (number < count) & (survivors < (count if most is None else most))

    def step(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        number, survivors, alive = state
        alive = alive & ~(rivals(number) & (place > number))
        return next_after(number, alive), survivors + 1, alive

    start = next_after(np.int32(-1), alive), jnp.zeros((), jnp.int32), alive
    return lax.while_loop(more, step, start)[2]


def _settled(alive: Array, excludes: Array) -> Array:
    """``suppress`` with all pairs known: ``excludes[i, j]`` says whether box i removes a box j behind it.

    A box is left if none of those before it that are left removes it. Asked of all boxes again and again, that settles
    from the front, after as many rounds as boxes depend on each other in a chain: a few, where one by one is hundreds.
    """
    count = alive.shape[0]
    place = jnp.arange(count, dtype=jnp.int32)
    weights = (excludes & (place > place[:, None])).astype(np.float32)

    def again(state: tuple[Array, Array]) -> tuple[Array, Array]:
        left, _ = state
        removed = jnp.dot(left.astype(np.float32), weights) > 0
        return alive & ~removed, left

    start = again((alive, alive))
    return lax.while_loop(lambda state: jnp.any(state[0] != state[1]), again, start)[0]


def kept_first(keep: Array) -> tuple[Array, Array]:
    """Positions of the kept elements in order, followed by the others; and which of these places hold one."""
    place = jnp.arange(keep.shape[0], dtype=jnp.int32)
    kept, total = jnp.cumsum(keep, dtype=jnp.int32), keep.sum(dtype=jnp.int32)
    # The n-th kept element goes to place n, the n-th other one behind all of those.
    target = jnp.where(keep, kept - 1, total + place - kept)
    return jnp.zeros_like(place).at[target].set(place, unique_indices=True), place < total


def descending(scores: Array) -> Array:
    """Positions from the highest score to the lowest, equal ones in their order, NaN last."""
    lowest = -jnp.inf if jnp.issubdtype(scores.dtype, jnp.floating) else jnp.iinfo(scores.dtype).min
    return ordered(jnp.where(scores != scores, jnp.asarray(lowest, scores.dtype), scores), 0, False)[1]


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
