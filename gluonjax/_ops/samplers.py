"""Gamma and Poisson samples of whole arrays: every step tries again for all elements that still have no sample.

``jax.random`` draws a gamma sample with keys and loops of its own for each element, and a Poisson sample with one
random number for each step of a search. With one block of random bits for each try of all elements, a quarter of a
million samples cost a tenth of that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

# Below this rate a Poisson sample is found by adding up probabilities.
_SMALL_RATE = 10.0
# More steps than that search has for such rates, and more tries than any rejection needs (each fails at most half the
# time): a guard against numbers that are none.
MOST_STEPS = 200
_FLOAT64 = np.dtype(np.float64)


def _constant(value: float, like: Array) -> Any:
    return np.asarray(value, like.dtype)


def _between_0_and_1(words: Array, dtype: np.dtype) -> Array:
    """Random words as numbers in the open interval: none is 0 or 1, so logarithms are finite."""
    info = jnp.finfo(dtype)
    whole = lax.shift_right_logical(words, np.asarray(info.bits - info.nmant, words.dtype))
    middle = lax.add(lax.convert_element_type(whole, dtype), np.asarray(0.5, dtype))
    return lax.mul(middle, np.asarray(2.0**-info.nmant, dtype))


#: Random words for every sample: ``words(count, width, number)`` gives ``count`` arrays of unsigned integers of
#: ``width`` bits, other ones for every number.
Words = Callable[..., "tuple[Array, ...]"]


def distance(number: Any) -> Any:
    """How far the key of a try is from that of the draw; ``fold_in`` would double what there is to compile."""
    return lax.mul(lax.convert_element_type(number, np.uint32), np.uint32(0x9E3779B9))


def pair(words: Words, number: Any, dtype: np.dtype) -> tuple[Array, Array]:
    """Two independent numbers in (0, 1) for every element, from one block of bits where that suffices."""
    if dtype == np.float32:
        (drawn,) = words(1, 64, number)
        high = lax.convert_element_type(lax.shift_right_logical(drawn, np.uint64(32)), np.uint32)
        return _between_0_and_1(high, dtype), _between_0_and_1(lax.convert_element_type(drawn, np.uint32), dtype)
    first, second = words(2, 64, number)
    return _between_0_and_1(first, dtype), _between_0_and_1(second, dtype)


def _any(mask: Array) -> Array:
    return lax.reduce_or(mask, tuple(range(mask.ndim)))


def is_low(alpha: Any) -> Any:
    """Below 1 the parameter is raised by 1 and the sample scaled down by a power of a uniform number."""
    return alpha < 1


def gamma_attempt(first: Array, second: Array, alpha: Array) -> tuple[Array, Array]:
    """Samples from pairs of numbers in (0, 1), and whether each is accepted; low alphas are raised by 1."""
    one = _constant(1, alpha)
    d = lax.sub(lax.select(is_low(alpha), lax.add(alpha, one), alpha), _constant(1 / 3, alpha))
    c = lax.rsqrt(lax.mul(d, _constant(9, alpha)))
    x = lax.mul(lax.erf_inv(lax.sub(lax.add(first, first), one)), _constant(math.sqrt(2), alpha))
    root = lax.add(one, lax.mul(c, x))
    positive = lax.gt(root, _constant(0, alpha))
    root = lax.select(positive, root, lax.full_like(root, 1))
    cube = lax.mul(lax.mul(root, root), root)
    likely = lax.add(
        lax.mul(lax.mul(x, x), _constant(0.5, alpha)), lax.mul(d, lax.add(lax.sub(one, cube), lax.log(cube)))
    )
    return lax.mul(d, cube), lax.bitwise_and(positive, lax.lt(lax.log(second), likely))


def gamma_factor(point: Array, alpha: Array) -> Array:
    """What scales the samples of low alphas down."""
    return lax.exp(lax.div(lax.log(point), alpha))


def gamma(words: Words, alpha: Array) -> Array:
    """Gamma samples of scale 1 by the method of Marsaglia and Tsang.

    Args:
        words: random words for every element.
        alpha: the shape parameters, float32 or float64; NaN gives NaN.

    Returns:
        One sample for every element of alpha.
    """
    usual = lax.bitwise_and(lax.gt(alpha, _constant(-2 / 3, alpha)), lax.lt(alpha, _constant(math.inf, alpha)))
    sample, point = _repeat(words, gamma_attempt, alpha, usual)
    factor = gamma_factor(point, alpha)
    return lax.mul(sample, lax.select(is_low(alpha), factor, lax.full_like(factor, 1)))


def _repeat(words: Words, attempt: Any, parameter: Array, wanted: Array) -> tuple[Array, Array]:
    """Try again until every wanted sample is accepted; NaN where none is wanted.

    Returns:
        The samples, and for every element a number in (0, 1) that has nothing to do with them.
    """
    dtype = np.dtype(parameter.dtype)

    def go_on(state: tuple[Array, ...]) -> Array:
        number, waiting, _, _ = state
        return (number == 0) | (_any(waiting) & (number < MOST_STEPS))

    def once_more(state: tuple[Array, ...]) -> tuple[Array, ...]:
        # Step 0 only draws the other numbers: a second block of bits elsewhere would take longer to compile.
        number, waiting, found, point = state
        first, second = pair(words, number, dtype)
        start = lax.broadcast(number == 0, parameter.shape)
        sample, accepted = attempt(first, second, parameter)
        taken = accepted & waiting & ~start
        return number + np.int32(1), waiting ^ taken, lax.select(taken, sample, found), lax.select(start, first, point)

    nothing = lax.full_like(parameter, math.nan)
    start = (jnp.asarray(0, np.int32), wanted, nothing, lax.full_like(parameter, 1))
    _, _, sample, point = lax.while_loop(go_on, once_more, start)
    return sample, point


def is_small(rate: Any) -> Any:
    """Whether a rate is for adding up probabilities."""
    return rate < _SMALL_RATE


def poisson(words: Words, rate: Array) -> Array:
    """Poisson samples: small rates by inversion, others by Hörmann's transformed rejection (PTRS).

    Args:
        words: random words for every element.
        rate: the means, at least 0.

    Returns:
        Whole numbers as float64, one for every element of rate.
    """
    rate = lax.convert_element_type(rate, _FLOAT64)
    small = is_small(rate)
    rejected, point = _repeat(words, poisson_attempt, rate, lax.bitwise_not(small))
    return lax.select(small, count_up(point, lax.select(small, rate, lax.full_like(rate, 0))), rejected)


def count_up(point: Array, rate: Array) -> Array:
    """How many probabilities, added up, stay below uniform numbers."""

    def go_on(state: tuple[Array, ...]) -> Array:
        number, _, total, _ = state
        return lax.bitwise_and(_any(lax.gt(point, total)), lax.lt(number, _constant(MOST_STEPS, rate)))

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


def poisson_attempt(first: Array, second: Array, rate: Array) -> tuple[Array, Array]:
    """Samples from pairs of numbers in (0, 1), and whether each is accepted, for rates of 10 and more."""
    mean = lax.max(rate, _constant(_SMALL_RATE, rate))
    logarithm = lax.log(mean)
    b = 0.931 + 2.53 * lax.sqrt(mean)
    a = -0.059 + 0.02483 * b
    inverse = lax.log(1.1239 + 1.1328 / (b - 3.4))
    enough = 0.9277 - 3.6224 / (b - 2)
    u = first - 0.5
    edge = 0.5 - lax.abs(u)
    sample = lax.floor((2 * a / edge + b) * u + mean + 0.43)
    surely = (edge >= 0.07) & (second <= enough)
    possible = (sample >= 0) & ((edge >= 0.013) | (second <= edge))
    likely = lax.log(second) + inverse - lax.log(a / (edge * edge) + b)
    return sample, surely | (
        possible & (likely <= sample * logarithm - mean - _log_factorial(lax.abs(sample)))
    )


__all__ = [
    "MOST_STEPS", "Words", "count_up", "distance", "gamma", "gamma_attempt", "gamma_factor", "is_low", "is_small",
    "pair", "poisson", "poisson_attempt",
]  # fmt: skip
