"""How exact results must be, by type."""

from __future__ import annotations

import numbers
import os
from typing import Any

import numpy as np

from gluonjax._base.dtypes import BFLOAT16

Tolerance = float | dict[np.dtype, float] | None

_EXACT = dict.fromkeys(
    map(np.dtype, ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")), 0.0
)
_FLOATS = (BFLOAT16, np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64))


def default_dtype() -> type:
    """Return the type that test data has unless another is asked for."""
    return np.float32


def default_rtols() -> dict[np.dtype, float]:
    """Return the relative tolerance of every type."""
    return {**dict(zip(_FLOATS, (1e-1, 1e-2, 1e-4, 1e-5))), **_EXACT}


def default_atols() -> dict[np.dtype, float]:
    """Return the absolute tolerance of every type."""
    return {**dict(zip(_FLOATS, (1e-1, 1e-1, 1e-3, 1e-20))), **_EXACT}


def default_numeric_eps() -> dict[np.dtype, float]:
    """Return the step of finite differences for every floating type."""
    return dict(zip(_FLOATS, (2.0**-3, 2.0**-6, 2.0**-9, 2.0**-14)))


def effective_dtype(dat: Any) -> np.dtype:
    """Return the type whose precision an array has: float16 for float32 computed with TF32 on a GPU."""
    dtype = np.dtype(dat.dtype)
    context = getattr(dat, "ctx", None)
    if dtype == np.float32 and getattr(context, "device_type", "cpu") == "gpu":
        # XLA uses TF32 on GPUs that have it, unless the environment says otherwise.
        if os.environ.get("NVIDIA_TF32_OVERRIDE") != "0":
            return np.dtype(np.float16)
    return dtype


def get_tolerance(dat: Any, tol: Tolerance, default_tol: dict[np.dtype, float]) -> float:
    """Return the tolerance for an array: a number as given, or what the tables say of its type."""
    if isinstance(tol, numbers.Number):
        return tol  # pyright: ignore[reportReturnType]
    dtype = effective_dtype(dat)
    return (tol or {}).get(dtype, default_tol[dtype])  # pyright: ignore[reportAttributeAccessIssue]


def get_tols(x: Any, y: Any, rtol: Tolerance, atol: Tolerance) -> tuple[float, float]:
    """Return relative and absolute tolerance for comparing two arrays: the larger of both."""
    both = [value if hasattr(value, "dtype") else np.asarray(value) for value in (x, y)]
    return (
        max(get_tolerance(value, rtol, default_rtols()) for value in both),
        max(get_tolerance(value, atol, default_atols()) for value in both),
    )


def get_atol(atol: float | None = None, dtype: np.dtype = _FLOATS[-1]) -> float:
    """Return ``atol``, or the type's default."""
    return default_atols()[dtype] if atol is None else atol


def get_rtol(rtol: float | None = None, dtype: np.dtype = _FLOATS[-1]) -> float:
    """Return ``rtol``, or the type's default."""
    return default_rtols()[dtype] if rtol is None else rtol


def get_etol(etol: float | None = None) -> float:
    """Return the part of elements that may differ; none by default."""
    return 0 if etol is None else etol
