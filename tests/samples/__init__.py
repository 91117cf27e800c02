"""Samples of every operator, one file per family."""

from __future__ import annotations

import hashlib
import importlib
import pathlib
from collections.abc import Sequence

import numpy as np

from tests.samples._sample import ErrorSample, Sample

FAMILIES = sorted(
    path.stem for path in pathlib.Path(__file__).parent.glob("*.py") if not path.stem.startswith("_")
)


def samples_of(family: str) -> list[Sample]:
    """The samples of one file."""
    return list(importlib.import_module(f"tests.samples.{family}").SAMPLES)


def error_samples_of(family: str) -> list[ErrorSample]:
    """The error samples of one file."""
    return list(getattr(importlib.import_module(f"tests.samples.{family}"), "ERROR_SAMPLES", []))


def fingerprint(sample: Sample) -> str:
    """Changes where a sample changes, so that stale recordings are noticed."""
    digest = hashlib.sha256(f"{sample.op}|{sorted(sample.attrs.items())}|{sample.train}".encode())
    for array in sample.inputs:
        digest.update(f"{array.shape}{array.dtype}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def floating(dtype: np.dtype) -> bool:
    """Whether a dtype has fractions. NumPy does not know bfloat16: both libraries show it as two opaque bytes."""
    return np.dtype(dtype).kind == "f" or is_bfloat16(dtype)


def is_bfloat16(dtype: np.dtype) -> bool:
    """Whether a dtype is JAX's or MXNet's bfloat16."""
    return np.dtype(dtype).kind == "V" and np.dtype(dtype).itemsize == 2


def head_gradients(shapes: list[tuple[int, ...]], dtypes: list[np.dtype]) -> list[np.ndarray]:
    """The head gradients that recorder and suite use for a sample's outputs."""
    draw = np.random.RandomState(7)
    return [_cast(draw.uniform(-1, 1, shape), dtype) for shape, dtype in zip(shapes, dtypes)]


def _cast(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if not is_bfloat16(dtype):
        return array.astype(dtype)
    # The upper half of a float32, cut off: the same numbers for either library's type.
    return (np.asarray(array, np.float32).view(np.uint32) >> 16).astype(np.uint16).view(dtype)


def differentiable(sample: Sample) -> tuple[int, ...]:
    """The inputs whose gradients are looked at."""
    if sample.grad is not None:
        return sample.grad
    return tuple(i for i, array in enumerate(sample.inputs) if floating(array.dtype))


def rewritten(before: Sequence[np.ndarray], after: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """The inputs that a call has changed (states of optimizers, moving averages), by ``state`` and number."""
    pairs = enumerate(zip(before, after))
    return {f"state{i}": new for i, (old, new) in pairs if np.asarray(old).tobytes() != new.tobytes()}
