"""Sums over all but the channels, in the order that a CPU does fast.

XLA:CPU adds the innermost axis up one number after the other, which takes long and rounds each time. Adding whole
images to each other first, and the rows of what remains, are loops over contiguous memory that vectorize: 4 times as
fast at (8, 64, 112, 112), 6 times at (8, 128, 28, 28). A product with ones instead of the last sums is as fast, but a
network of many such sums compiles 1.4 times as long.
"""

from __future__ import annotations

import jax
from jax import Array, lax

# Smaller sums take no time.
WORTH_STAGES = 1 << 14
# What images leave is added row by row from so many elements on.
WORTH_ROWS = 1 << 19


def on_cpu() -> bool:
    """True where programs are compiled for a CPU."""
    return jax.default_backend() == "cpu"


def sum_over(data: Array, axes: tuple[int, ...]) -> Array:
    """``reduce_sum``; on a CPU in stages where the innermost axis is among several."""
    least = WORTH_STAGES
    while len(axes) > 1 and data.ndim - 1 in axes and data.size >= least and on_cpu():
        outer = min(axes, key=lambda axis: (axis == data.ndim - 1, data.shape[axis] < 4, axis))
        # Without the barrier XLA makes one sum of two again.
        data = lax.optimization_barrier(lax.reduce_sum(data, axes=(outer,)))
        axes = tuple(axis - (axis > outer) for axis in axes if axis != outer)
        least = WORTH_ROWS
    return lax.reduce_sum(data, axes=axes)
