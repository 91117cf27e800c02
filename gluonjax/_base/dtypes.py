"""MXNet's data types: their codes in files, their names, and the NumPy types behind them."""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy as np

from gluonjax._base.errors import ArgumentTypeError, did_you_mean

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

# The numbers MXNet writes into .params files and symbol JSON (``__dtype__``).
CODE_TO_DTYPE: dict[int, np.dtype] = {
    0: np.dtype(np.float32),
    1: np.dtype(np.float64),
    2: np.dtype(np.float16),
    3: np.dtype(np.uint8),
    4: np.dtype(np.int32),
    5: np.dtype(np.int8),
    6: np.dtype(np.int64),
    7: np.dtype(np.bool_),
    8: np.dtype(np.int16),
    9: np.dtype(np.uint16),
    10: np.dtype(np.uint32),
    11: np.dtype(np.uint64),
    12: BFLOAT16,
}
DTYPE_TO_CODE: dict[np.dtype, int] = {dtype: code for code, dtype in CODE_TO_DTYPE.items()}
NAME_TO_DTYPE: dict[str, np.dtype] = {dtype.name: dtype for dtype in DTYPE_TO_CODE}

DEFAULT_DTYPE = np.dtype(np.float32)


@functools.lru_cache(maxsize=512)
def _to_dtype_cached(value: Any) -> np.dtype:
    if isinstance(value, str):
        found = NAME_TO_DTYPE.get(value)
        if found is not None:
            return found
        try:
            return np.dtype(value)
        except TypeError:
            raise ArgumentTypeError(
                f"data type '{value}' not understood{did_you_mean(value, NAME_TO_DTYPE)}"
            ) from None
    try:
        return np.dtype(value)
    except TypeError:
        raise ArgumentTypeError(f"data type {value!r} not understood") from None


def to_dtype(value: Any) -> np.dtype:
    """Return the NumPy dtype for a name, a NumPy or Python type, a dtype, or ``None`` (the default, float32).

    >>> to_dtype("float16"), to_dtype(None), to_dtype(int)
    (dtype('float16'), dtype('float32'), dtype('int64'))
    """
    if value is None:
        return DEFAULT_DTYPE
    return _to_dtype_cached(value)


FLOATS = frozenset([np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64), BFLOAT16])
# MXNet gives gradients to whole-number arrays too (rounded to their type).
NUMBERS = FLOATS | {np.dtype(kind) for kind in (np.int8, np.uint8, np.int32, np.int64)}


def is_floating(dtype: np.dtype) -> bool:
    """True for every floating type, bfloat16 included."""
    return dtype.kind == "f" or dtype == BFLOAT16


def user_type(dtype: np.dtype) -> Any:
    """What ``NDArray.dtype`` shows: the scalar class (``numpy.float32``), as in MXNet."""
    return dtype.type
