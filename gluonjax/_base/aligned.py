"""NumPy memory that JAX's CPU reads where it lies.

JAX takes an argument that begins at a multiple of 64 bytes as it is and copies any other at every call: 27 ms for
51 MB. NumPy begins large arrays 16 bytes after a page.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

ALIGNMENT = 64
# Smaller copies take less time than looking where to put them.
WORTH_IT = 1 << 16


def empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array with undefined content that begins at a multiple of ``ALIGNMENT`` bytes."""
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size].view(dtype).reshape(shape)


def copied(source: np.ndarray, dtype: Any = None) -> np.ndarray:
    """A C-ordered copy in a type (default: the source's), as C casts; aligned where it is large."""
    wanted = source.dtype if dtype is None else np.dtype(dtype)
    if source.size * wanted.itemsize < WORTH_IT or wanted.hasobject:
        return np.array(source, dtype=wanted, order="C", copy=True)
    found = empty(source.shape, wanted)
    np.copyto(found, source, casting="unsafe")
    return found
