"""Gamma and Poisson samples of whole arrays: every step tries again for all elements that still have no sample.

``jax.random`` draws a gamma sample with keys and loops of its own for each element, and a Poisson sample with one
random number for each step of a search. With one block of random bits for each try of all elements, a quarter of a
million samples cost a tenth of that.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

# Below this rate a Poisson sample is found by adding up probabilities.
_SMALL_RATE = 10.0
# More steps than that search has for such rates, and more tries than any rejection needs (each fails at most half the
# time): a guard against numbers that are none.
_MOST_STEPS = 200
_FLOAT64 = np.dtype(np.float64)


def _constant(value: float, like: Array) -> Any:
    return np.asarray(value, like.dtype)


def _between_0_and_1(words: Array, dtype: np.dtype) -> Array:
    """Random words as numbers in the open interval: none is 0 or 1, so logarithms are finite."""
    info = jnp.finfo(dtype)
    whole = lax.shift_right_logical(words, np.asarray(info.bits - info.nmant, words.dtype))
    middle = lax.add(lax.convert_element_type(whole, dtype), np.asarray(0.5, dtype))
    return lax.mul(middle, np.asarray(2.0**-info.nmant, dtype))


def _pair(key: Array, number: Any, shape: tuple[int, ...], dtype: np.dtype) -> tuple[Array, Array]:
    """Two independent numbers in (0, 1) for every element, from one block of bits where that suffices.

    Every try has a key of its own, a fixed distance from the one before; deriving it with ``fold_in`` would double
    what there is to compile.
    """
    distance = lax.mul(lax.convert_element_type(number, np.uint32), np.uint32(0x9E3779B9))
    words = lax.add(jax.random.key_data(key), lax.pad(lax.reshape(distance, (1,)), np.uint32(0), ((0, 1, 0),)))
    key = jax.random.wrap_key_data(words)
    if dtype == np.float32:
        words = jax.random.bits(key, shape, jnp.uint64)
        high = lax.convert_element_type(lax.shift_right_logical(words, np.uint64(32)), np.uint32)
        return _between_0_and_1(high, dtype), _between_0_and_1(lax.convert_element_type(words, np.uint32), dtype)
    words = jax.random.bits(key, (2, *shape), jnp.uint64)
    return _between_0_and_1(words[0], dtype), _between_0_and_1(words[1], dtype)


def _any(mask: Array) -> Array:
    return lax.reduce_or(mask, tuple(range(mask.ndim)))


def gamma(key: Array, alpha: Array) -> Array:
    """Gamma samples of scale 1 by the method of Marsaglia and Tsang.

    Args:
        key: a JAX key.
        alpha: the shape parameters, float32 or float64; NaN gives NaN.

    Returns:
        One sample for every element of alpha.
    """
    dtype, one = np.dtype(alpha.dtype), _constant(1, alpha)
    # Below 1 the parameter is raised by 1 and the sample scaled down by a power of a uniform number.
    low = lax.lt(alpha, one)
    d = lax.sub(lax.select(low, lax.add(alpha, one), alpha), _constant(1 / 3, alpha))
    c = lax.rsqrt(lax.mul(d, _constant(9, alpha)))
    usual = lax.bitwise_and(lax.gt(d, _constant(0, alpha)), lax.lt(d, _constant(math.inf, alpha)))

    def go_on(state: tuple[Array, ...]) -> Array:
        number = state[0]
        more = lax.bitwise_and(_any(state[1]), lax.lt(number, np.int32(_MOST_STEPS)))
        return lax.bitwise_or(more, lax.eq(number, np.int32(0)))

    def once_more(state: tuple[Array, ...]) -> tuple[Array, ...]:
        # Step 0 only draws the numbers for the power: a second block of bits elsewhere would take longer to compile.
        number, waiting, found, power = state
        first, second = _pair(key, number, alpha.shape, dtype)
        start = lax.broadcast(lax.eq(number, np.int32(0)), alpha.shape)
        power = lax.select(start, first, power)
        x = lax.mul(lax.erf_inv(lax.sub(lax.add(first, first), one)), _constant(math.sqrt(2), alpha))
        root = lax.add(one, lax.mul(c, x))
        positive = lax.gt(root, _constant(0, alpha))
        root = lax.select(positive, root, lax.full_like(root, 1))
        cube = lax.mul(lax.mul(root, root), root)
        likely = lax.add(
            lax.mul(lax.mul(x, x), _constant(0.5, alpha)), lax.mul(d, lax.add(lax.sub(one, cube), lax.log(cube)))
        )
        taken = lax.bitwise_and(lax.bitwise_and(waiting, positive), lax.lt(lax.log(second), likely))
        taken = lax.bitwise_and(taken, lax.bitwise_not(start))
        return lax.add(number, np.int32(1)), lax.bitwise_xor(waiting, taken), lax.select(taken, cube, found), power

    nothing = lax.full_like(alpha, math.nan)
    start = (jnp.asarray(0, np.int32), usual, nothing, lax.full_like(alpha, 1))
    _, _, cube, power = lax.while_loop(go_on, once_more, start)
    scaled = lax.exp(lax.div(lax.log(power), alpha))
    return lax.mul(lax.mul(d, cube), lax.select(low, scaled, lax.full_like(scaled, 1)))


def poisson(key: Array, rate: Array) -> Array:
    """Poisson samples: small rates by inversion, others by Hörmann's transformed rejection (PTRS).

    Args:
        key: a JAX key.
        rate: the means, at least 0.

    Returns:
        Whole numbers as float64, one for every element of rate.
    """
    rate = lax.convert_element_type(rate, _FLOAT64)
    small = lax.lt(rate, _constant(_SMALL_RATE, rate))
    point, rejected = _reject(key, rate, lax.bitwise_not(small))
    return lax.select(small, _count_up(point, lax.select(small, rate, lax.full_like(rate, 0))), rejected)


def _count_up(point: Array, rate: Array) -> Array:
    """How many probabilities, added up, stay below uniform numbers."""

    def go_on(state: tuple[Array, ...]) -> Array:
        number, _, total, _ = state
        return lax.bitwise_and(_any(lax.gt(point, total)), lax.lt(number, _constant(_MOST_STEPS, rate)))

    def count(state: tuple[Array, ...]) -> tuple[Array, ...]:
        number, each, total, found = state
        number = lax.add(number, _constant(1, rate))
        above = lax.convert_element_type(lax.gt(point, total), _FLOAT64)
        each = lax.mul(each, lax.div(rate, lax.broadcast(number, rate.shape)))
        return number, each, lax.add(total, each), lax.add(found, above)

    none = lax.exp(lax.neg(rate))
    return lax.while_loop(go_on, count, (jnp.asarray(0, _FLOAT64), none, none, lax.full_like(rate, 0)))[3]


def _log_factorial(whole: Array) -> Array:
    """By Stirling's series, three further on, where it is exact to eight digits: ``lgamma`` takes long to compile."""
    x = whole + 4
    series = (1 / 12 - (1 / 360 - 1 / (1260 * x * x)) / (x * x)) / x
    return (x - 0.5) * lax.log(x) - x + 0.5 * math.log(2 * math.pi) + series - lax.log((x - 1) * (x - 2) * (x - 3))


def _reject(key: Array, rate: Array, wanted: Array) -> tuple[Array, Array]:
    """A uniform number for every element, and samples where they are wanted, for rates of 10 and more."""
    mean = lax.select(wanted, rate, lax.full_like(rate, _SMALL_RATE))
    logarithm = lax.log(mean)
    b = 0.931 + 2.53 * lax.sqrt(mean)
    a = -0.059 + 0.02483 * b
    inverse = lax.log(1.1239 + 1.1328 / (b - 3.4))
    enough = 0.9277 - 3.6224 / (b - 2)

    def go_on(state: tuple[Array, ...]) -> Array:
        number, waiting, _, _ = state
        return (number == 0) | (_any(waiting) & (number < _MOST_STEPS))

    def once_more(state: tuple[Array, ...]) -> tuple[Array, ...]:
        # Step 0 only draws the uniform numbers.
        number, waiting, found, point = state
        first, second = _pair(key, number, rate.shape, _FLOAT64)
        start = lax.broadcast(number == 0, rate.shape)
        point = lax.select(start, first, point)
        u = first - 0.5
        edge = 0.5 - lax.abs(u)
        sample = lax.floor((2 * a / edge + b) * u + mean + 0.43)
        surely = (edge >= 0.07) & (second <= enough)
        possible = (sample >= 0) & ((edge >= 0.013) | (second <= edge))
        likely = lax.log(second) + inverse - lax.log(a / (edge * edge) + b)
        taken = surely | (possible & (likely <= sample * logarithm - mean - _log_factorial(lax.abs(sample))))
        taken = taken & waiting & ~start
        return number + np.int32(1), waiting ^ taken, lax.select(taken, sample, found), point

    start = (jnp.asarray(0, np.int32), wanted, lax.full_like(rate, 0), lax.full_like(rate, 0))
    _, _, found, point = lax.while_loop(go_on, once_more, start)
    return point, found


__all__ = ["gamma", "poisson"]
