"""Many random words in NumPy programs: compiled blocks make them once that pays.

The words are the same, so that it does not matter for the numbers of a script who makes them, nor from when on.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np

from gluonjax._engine.compile import Jitted, at_once
from gluonjax._ops.draws import WORDS, words_of_block

# Fewer words than these NumPy makes as fast as a block, all of which is made.
_FEW = 1 << 14
# What NumPy takes for a word, in nanoseconds; compiled blocks take a seventh.
_EACH_NS = 18
# Positions are 32-bit numbers in blocks.
_MOST = 1 << 32


class _Spent:
    """How many words NumPy has made that blocks might have made."""

    words = 0


def pay(count: int) -> bool:
    """Whether so many words are better made by blocks; compiling these must have been earned by earlier calls."""
    from gluonjax._engine import run

    if not _FEW < count <= _MOST:
        return False
    if _Spent.words * _EACH_NS > run.PRICE_NS:
        return True
    _Spent.words += count
    return False


@functools.cache
def _block(width: int) -> Jitted:
    return Jitted(words_of_block(width))


@functools.cache
def _cpu() -> Any:
    return jax.local_devices(backend="cpu")[0]


def fill(words: np.ndarray, key: np.ndarray) -> None:
    """Write the words of positions 0, 1, 2, ...

    Args:
        words: a vector of unsigned integers, to be written.
        key: two uint32 words.
    """
    block = _block(64 if words.dtype.itemsize == 8 else 32)
    with at_once(), jax.default_device(_cpu()):
        for start in range(0, words.size, WORDS):
            part = words[start : start + WORDS]
            part[:] = np.asarray(block(key, np.uint32(start)))[: part.size]
