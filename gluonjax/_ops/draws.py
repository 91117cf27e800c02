"""The draws that random operators are made of, each written once for two uses.

As part of a program (`drawn`) a draw takes its words from ``jax.random.bits``. Eager calls of any shape share one
compiled program instead (`block_of`) that makes a fixed number of samples from some position on: every word depends on
the key and on its position only, so that the numbers are the same. Where samples are rejected, a program tries once for
samples at any positions (`attempt_of`), and whoever calls it tries again for those that were not accepted.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import Array, lax

from gluonjax._ops import samplers
from gluonjax._ops.samplers import Words

#: So many samples a block program makes, and so many are tried for at a time.
BLOCK = 1 << 14
TRIED = 1 << 12
#: So many words a block program for words makes: more at a time take a third of the time each, as nothing else is done.
WORDS = 1 << 16
# Positions of words are 32-bit numbers in block programs, and a draw may take two blocks of words.
_MOST = 1 << 31
_MARK = "gluonjax_draw"
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def _unit(words: Array, dtype: np.dtype) -> Array:
    """Words as numbers in [0, 1)."""
    info = jax.numpy.finfo(dtype)
    whole = lax.shift_right_logical(words, lax.full_like(words, info.bits - info.nmant))
    return lax.mul(lax.convert_element_type(whole, dtype), np.asarray(2.0**-info.nmant, dtype))


def _uniform(words: Words, dtype: np.dtype) -> Array:
    return _unit(words(1, dtype.itemsize * 8)[0], dtype)


def _normal(words: Words, dtype: np.dtype) -> Array:
    """By the inverse error function of a number in (-1, 1)."""
    low = np.nextafter(np.asarray(-1, dtype), np.asarray(0, dtype))
    between = lax.add(lax.mul(_uniform(words, dtype), np.asarray(1, dtype) - low), low)
    return lax.mul(lax.erf_inv(lax.max(between, low)), np.asarray(math.sqrt(2), dtype))


def _exponential(words: Words, dtype: np.dtype) -> Array:
    return lax.neg(lax.log1p(lax.neg(_uniform(words, dtype))))


def _gamma(words: Words, dtype: np.dtype, alpha: Array) -> Array:
    return samplers.gamma(words, alpha)


def _poisson(words: Words, dtype: np.dtype, rate: Array) -> Array:
    return samplers.poisson(words, rate)


def _whole(words: Words, dtype: np.dtype, low: Array, span: Array) -> Array:
    """Whole numbers from ``low`` on: the upper half of a 64-bit word times the (uint64) size of the range.

    No number is likelier than another by more than one in 2**64 divided by that size; and there is no division.
    """
    half, upper = np.uint64(32), lax.shift_right_logical
    word = words(1, 64)[0]
    shape = word.shape

    def every(value: Any) -> Array:
        return lax.broadcast_in_dim(value, shape, ())

    shift, lower = every(half), every(np.uint64(0xFFFFFFFF))
    high, rest = upper(word, shift), lax.bitwise_and(word, lower)
    span_high, span_rest = every(upper(span, half)), every(lax.bitwise_and(span, np.uint64(0xFFFFFFFF)))
    first = lax.add(lax.mul(high, span_rest), upper(lax.mul(rest, span_rest), shift))
    second = lax.add(lax.mul(rest, span_high), lax.bitwise_and(first, lower))
    place = lax.add(lax.mul(high, span_high), lax.add(upper(first, shift), upper(second, shift)))
    # Sums of 64 bits go around, as they must for ranges of more than half of all numbers.
    number = lax.add(place, every(lax.convert_element_type(low, np.uint64)))
    return lax.convert_element_type(number, dtype)


class Draw(NamedTuple):
    """One row: how words become samples, and up to how many samples NumPy makes them as fast as compiled blocks."""

    form: Callable[..., Array]
    few: int


DRAWS = {
    "uniform": Draw(_uniform, 32768),
    "normal": Draw(_normal, BLOCK),
    "exponential": Draw(_exponential, BLOCK),
    "whole": Draw(_whole, BLOCK),
    "gamma": Draw(_gamma, 1024),
    "poisson": Draw(_poisson, 1024),
}


class Rejection(NamedTuple):
    """How samples that are tried for until they are accepted are made outside of one program.

    Args:
        dtype: what the parameter is converted to; None: it stays as it is.
        attempt: pairs of numbers and the parameter -> samples, whether each is accepted.
        base: one more number and the parameter -> what ``join`` takes.
        wants_base: for which parameters there is a base.
        join: samples and bases of the elements that have one -> results.
        wants_sample: for which parameters samples are tried for.
    """

    dtype: np.dtype | None
    attempt: Callable[..., tuple[Array, Array]]
    base: Callable[..., Array]
    wants_base: Callable[[Any], Any]
    join: Callable[[Any, Any], Any]
    wants_sample: Callable[[Any], Any]


REJECTIONS = {
    "gamma": Rejection(
        None, samplers.gamma_attempt, samplers.gamma_factor, samplers.is_low, np.multiply,
        lambda alpha: (alpha > alpha.dtype.type(-2 / 3)) & (alpha < np.inf),
    ),
    "poisson": Rejection(
        np.dtype(np.float64), samplers.poisson_attempt, samplers.count_up, samplers.is_small,
        lambda sample, base: base, lambda rate: ~samplers.is_small(rate),
    ),
}  # fmt: skip


# ------------------------------------------------------------------------------------------- inside of programs


@functools.lru_cache(maxsize=4096)
def _marked(name: str, shape: tuple[int, ...], dtype: np.dtype) -> Callable[..., Array]:
    """The draw as a jitted function whose name tells the engine what it is."""

    def draw(key: Array, *parameters: Array) -> Array:
        return DRAWS[name].form(_words_of(key, shape), dtype, *parameters)

    draw.__name__ = draw.__qualname__ = f"{_MARK}_{name}_{'x'.join(map(str, shape))}"
    return jax.jit(draw)


def _words_of(key: Array, shape: tuple[int, ...]) -> Words:
    def words(count: int, width: int, number: Any = None) -> tuple[Array, ...]:
        source = key
        if number is not None:
            moved = lax.pad(lax.reshape(samplers.distance(number), (1,)), np.uint32(0), ((0, 1, 0),))
            source = jax.random.wrap_key_data(lax.add(jax.random.key_data(key), moved))
        kind = np.dtype(f"u{width // 8}")
        if count == 1:
            return (jax.random.bits(source, shape, kind),)
        drawn = jax.random.bits(source, (count, *shape), kind)
        return tuple(lax.index_in_dim(drawn, index, keepdims=False) for index in range(count))

    return words


def drawn(name: str, key: Array, shape: tuple[int, ...], dtype: np.dtype, *parameters: Array) -> Array:
    """Samples of a row of ``DRAWS``.

    Args:
        name: which row.
        key: a JAX key.
        shape: shape of the result.
        dtype: float32 or float64; ``poisson`` gives float64 always. ``whole``: int32 or int64.
        parameters: arrays of the result's shape: one for ``gamma`` and ``poisson``; for ``whole`` two numbers, the
            lowest (int64) and how many there are (uint64); else none.

    Returns:
        Samples of scale 1 and location 0.
    """
    return _marked(name, tuple(shape), np.dtype(dtype))(key, *parameters)


def draw_named(function_name: Any, shape: tuple[int, ...]) -> str | None:
    """Which draw of that shape a jitted function is; None if it is none (mapped over keys, say)."""
    mark, _, rest = str(function_name).partition(_MARK + "_")
    name, _, sizes = rest.rpartition("_")
    found = not mark and name in DRAWS and sizes == "x".join(map(str, shape)) and math.prod(shape) < _MOST
    return name if found else None


# --------------------------------------------------------------------------------------------------- in blocks


def _threefry(key: tuple[Array, Array], second: Array) -> tuple[Array, Array]:
    """The threefry-2x32 block function of (0, second), its rounds written out.

    So it is compiled in half the time that JAX's loop takes, and runs three times as fast.
    """
    shape = second.shape
    schedule = (*key, lax.bitwise_xor(lax.bitwise_xor(*key), np.uint32(0x1BD11BDA)))
    turns = {turn: lax.full(shape, turn, np.uint32) for row in _ROTATIONS for r in row for turn in (r, 32 - r)}
    x = lax.broadcast(schedule[0], shape)
    y = lax.add(second, lax.broadcast(schedule[1], shape))
    for block in range(5):
        for turn in _ROTATIONS[block % 2]:
            x = lax.add(x, y)
            turned = lax.bitwise_or(lax.shift_left(y, turns[turn]), lax.shift_right_logical(y, turns[32 - turn]))
            y = lax.bitwise_xor(turned, x)
        x = lax.add(x, lax.broadcast(schedule[(block + 1) % 3], shape))
        y = lax.add(y, lax.broadcast(lax.add(schedule[(block + 2) % 3], np.uint32(block + 1)), shape))
    return x, y


def _words_at(data: Array, positions: Array, total: Array) -> Words:
    """The words that some positions of a draw of ``total`` samples have."""

    def words(count: int, width: int, number: Any = None) -> tuple[Array, ...]:
        first = lax.index_in_dim(data, 0, keepdims=False)
        if number is not None:
            first = lax.add(first, samplers.distance(number))
        key = first, lax.index_in_dim(data, 1, keepdims=False)
        found = []
        for index in range(count):
            behind = lax.mul(total, np.uint32(index))
            high, low = _threefry(key, lax.add(positions, lax.broadcast(behind, positions.shape)))
            if width == 32:
                found.append(lax.bitwise_xor(high, low))
            else:
                wide = lax.convert_element_type(high, np.uint64)
                wide = lax.shift_left(wide, lax.full_like(wide, 32))
                found.append(lax.bitwise_or(wide, lax.convert_element_type(low, np.uint64)))
        return tuple(found)

    return words


def block_of(name: str, dtype: np.dtype) -> Callable[..., Array]:
    """The samples ``start`` to ``start + BLOCK`` of a draw.

    Returns:
        A function of the key's words (2,), the start, the number of all samples (both uint32), and numbers that are
        parameters of the draw.
    """

    def block(data: Array, start: Array, total: Array, *parameters: Array) -> Array:
        positions = lax.add(lax.iota(np.dtype(np.uint32), BLOCK), lax.broadcast(start, (BLOCK,)))
        return DRAWS[name].form(_words_at(data, positions, total), dtype, *parameters)

    block.__name__ = block.__qualname__ = f"{_MARK}_{name}_block"
    return block


def words_of_block(width: int) -> Callable[..., Array]:
    """``WORDS`` random words from some position on: what ``jax.random.bits`` gives for a key.

    Returns:
        A function of the key's words (2,) and the first position (uint32).
    """

    def block(data: Array, start: Array) -> Array:
        positions = lax.add(lax.iota(np.dtype(np.uint32), WORDS), lax.broadcast(start, (WORDS,)))
        return _words_at(data, positions, lax.full((), 0, np.uint32))(1, width)[0]

    block.__name__ = block.__qualname__ = f"{_MARK}_words_block"
    return block


def attempt_of(name: str, dtype: np.dtype) -> Callable[..., tuple[Array, Array]]:
    """One attempt for samples at some positions of a draw.

    Returns:
        A function of the key's words (2,), the number of the attempt from 1 on, the positions (``TRIED``,), the number
        of all samples, and the parameter (``TRIED``,); it answers with samples and whether each is accepted.
    """

    def attempt(data: Array, number: Array, positions: Array, total: Array, parameter: Array) -> tuple[Array, Array]:
        first, second = samplers.pair(_words_at(data, positions, total), number, dtype)
        return REJECTIONS[name].attempt(first, second, parameter)

    attempt.__name__ = attempt.__qualname__ = f"{_MARK}_{name}_attempt"
    return attempt


def base_of(name: str, dtype: np.dtype) -> Callable[..., Array]:
    """The bases at some positions of a draw, as ``attempt_of`` says it."""

    def base(data: Array, number: Array, positions: Array, total: Array, parameter: Array) -> Array:
        first, _ = samplers.pair(_words_at(data, positions, total), number, dtype)
        return REJECTIONS[name].base(first, parameter)

    base.__name__ = base.__qualname__ = f"{_MARK}_{name}_base"
    return base


__all__ = [
    "BLOCK", "DRAWS", "REJECTIONS", "TRIED", "WORDS", "attempt_of", "base_of", "block_of", "draw_named", "drawn",
    "words_of_block",
]  # fmt: skip
