"""Dropout."""

from __future__ import annotations

import math
from typing import Literal

import jax
import jax.numpy as jnp
from jax import Array, lax

from gluonjax._ops.opdef import check, operator


def keep_mask(key: Array, shape: tuple[int, ...], drop: float, like: Array) -> Array:
    """Random factors: 0 with probability ``drop``, otherwise ``1 / (1 - drop)``, so that the mean is 1."""
    if drop >= 1:
        return lax.full(shape, 0, like.dtype)
    limit = round((1 - drop) * 2**16)
    if abs(limit / 2**16 - (1 - drop)) <= 1e-4 * min(drop, 1 - drop):
        # Half a random word decides about an element: drawing words is what dropout costs.
        count = math.prod(shape)
        words = jax.random.bits(key, (-(-count // 2),), jnp.uint32)
        low = lax.bitwise_and(words, lax.full_like(words, 2**16 - 1))
        high = lax.shift_right_logical(words, lax.full_like(words, 16))
        bits = lax.reshape(lax.slice_in_dim(lax.concatenate([low, high], 0), 0, count), shape)
    else:
        bits = jax.random.bits(key, shape, jnp.uint32)
        limit = min(round((1 - drop) * 2**32), 2**32 - 1)
    kept = lax.lt(bits, lax.full_like(bits, limit))
    return lax.select(kept, lax.full(shape, 1 / (1 - drop), like.dtype), lax.full(shape, 0, like.dtype))


@operator("Dropout", aliases=("_npx_dropout",), outputs=("output", "mask"), visible=1)
def dropout(
    data: Array, *, p: float = 0.5, mode: Literal["always", "training"] = "training", axes: tuple[int, ...] = (),
    cudnn_off: bool | None = False, train: bool, key: Array,
) -> tuple[Array, Array]:  # fmt: skip
    """Set random elements to zero while training, and scale the others up by ``1 / (1 - p)``.

    Args:
        data: any floating array.
        p: probability of dropping an element.
        mode: ``"always"`` drops in prediction too.
        axes: axes along which all elements share one decision (variational dropout).

    Returns:
        The data after dropping; hidden, the mask that was applied.
    """
    check(0 <= p <= 1, f"Dropout: value {p} for Parameter p exceed bound [0,1]")
    floating = jnp.issubdtype(data.dtype, jnp.floating)
    check(floating, f"Dropout: This operation only support floating point types, not {data.dtype}")
    for axis in axes:
        check(0 <= axis < data.ndim, f"Dropout: axis {axis} is out of range for data {data.shape}")
    shape = tuple(1 if i in axes else size for i, size in enumerate(data.shape))
    if p == 0 or not (train or mode == "always"):
        return data, lax.full(shape, 1, data.dtype)
    # 1.9.1 multiplies 0 by an infinite scale where everything is dropped, and its test_dropout asks for that NaN.
    mask = keep_mask(key, shape, p, data) if p < 1 else lax.full(shape, math.nan, data.dtype)
    factors = mask if shape == data.shape else lax.broadcast_in_dim(mask, data.shape, tuple(range(data.ndim)))
    return lax.mul(data, factors), mask
