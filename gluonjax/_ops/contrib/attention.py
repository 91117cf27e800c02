"""Multi-head attention on interleaved projections (``interleaved_matmul_*``)."""

from __future__ import annotations

import math

import jax.numpy as jnp
from jax import Array, lax

from gluonjax._ops.opdef import check, operator

_EXACT = lax.Precision.HIGHEST


def _heads(name: str, data: Array, heads: int, parts: int) -> Array:
    """``(length, batch, heads * parts * size)`` -> ``(length, batch, heads, parts, size)``."""
    check(data.ndim == 3, f"{name}: input should be 3D in seq_length-batch-{parts}*proj_dim, got {data.shape}")
    check(heads > 0, f"{name}: heads must be positive, got {heads}")
    length, batch, width = data.shape
    check(
        width % (heads * parts) == 0,
        f"{name}: the last dimension {width} must be a multiple of {parts} * heads = {parts * heads}",
    )
    return data.reshape(length, batch, heads, parts, width // (heads * parts))


def _scores(queries: Array, keys: Array) -> Array:
    """Scaled products of ``(length, batch, heads, size)`` queries and keys: ``(batch * heads, queries, keys)``."""
    scale = 1 / math.sqrt(max(queries.shape[-1], 1))
    product = jnp.einsum("qbhd,kbhd->bhqk", queries * jnp.asarray(scale, queries.dtype), keys, precision=_EXACT)
    return product.reshape(product.shape[0] * product.shape[1], queries.shape[0], keys.shape[0])


def _mix(name: str, attention: Array, values: Array) -> Array:
    """Values ``(keys, batch, heads, size)`` averaged by attention: ``(queries, batch, heads * size)``."""
    keys, batch, heads, size = values.shape
    check(attention.ndim == 3, f"{name}: attention should be 3D in batch-seq_length-seq_length, got {attention.shape}")
    check(
        attention.shape[0] == batch * heads and attention.shape[2] == keys,
        f"{name}: attention must be ({batch * heads}, queries, {keys}) for these inputs, got {attention.shape}",
    )
    weights = attention.reshape(batch, heads, attention.shape[1], keys)
    # Each head's values in one piece: a product that is to put the axes in another order takes half as long again.
    own = jnp.einsum("bhqk,bhkd->bhqd", weights, values.transpose(1, 2, 0, 3), precision=_EXACT)
    mixed = own.transpose(2, 0, 1, 3)
    return mixed.reshape(attention.shape[1], batch, heads * size)


@operator("_contrib_interleaved_matmul_selfatt_qk")
def selfatt_qk(queries_keys_values: Array, *, heads: int) -> Array:
    """Scores of self attention.

    Args:
        queries_keys_values: ``(length, batch, heads * 3 * size)``: for each head its query, key and value.

    Returns:
        ``(batch * heads, length, length)``: products of queries and keys over the root of their size.
    """
    parts = _heads("interleaved_matmul_selfatt_qk", queries_keys_values, heads, 3)
    return _scores(parts[:, :, :, 0], parts[:, :, :, 1])


@operator("_contrib_interleaved_matmul_selfatt_valatt")
def selfatt_valatt(queries_keys_values: Array, attention: Array, *, heads: int) -> Array:
    """Values of self attention, averaged.

    Args:
        queries_keys_values: ``(length, batch, heads * 3 * size)``.
        attention: ``(batch * heads, length, length)`` weights.

    Returns:
        ``(length, batch, heads * size)``.
    """
    name = "interleaved_matmul_selfatt_valatt"
    length = queries_keys_values.shape[0]
    check(
        attention.ndim == 3 and attention.shape[1] == length,
        f"{name}: attention.shape[1] should be {length}, the length of queries_keys_values, got {attention.shape}",
    )
    return _mix(name, attention, _heads(name, queries_keys_values, heads, 3)[:, :, :, 2])


@operator("_contrib_interleaved_matmul_encdec_qk")
def encdec_qk(queries: Array, keys_values: Array, *, heads: int) -> Array:
    """Scores of attention from one sequence to another.

    Args:
        queries: ``(queries, batch, heads * size)``.
        keys_values: ``(keys, batch, heads * 2 * size)``: for each head its key and value.

    Returns:
        ``(batch * heads, queries, keys)``.
    """
    name = "interleaved_matmul_encdec_qk"
    asked, parts = _heads(name, queries, heads, 1), _heads(name, keys_values, heads, 2)
    check(
        asked.shape[1] == parts.shape[1] and asked.shape[-1] == parts.shape[-1],
        f"{name}: queries {queries.shape} and keys_values {keys_values.shape} do not belong together",
    )
    return _scores(asked[:, :, :, 0], parts[:, :, :, 0])


@operator("_contrib_interleaved_matmul_encdec_valatt")
def encdec_valatt(keys_values: Array, attention: Array, *, heads: int) -> Array:
    """Values of attention from one sequence to another, averaged.

    Args:
        keys_values: ``(keys, batch, heads * 2 * size)``.
        attention: ``(batch * heads, queries, keys)`` weights.

    Returns:
        ``(queries, batch, heads * size)``.
    """
    name = "interleaved_matmul_encdec_valatt"
    return _mix(name, attention, _heads(name, keys_values, heads, 2)[:, :, :, 1])
