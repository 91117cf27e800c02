"""Samples of every operator, one file per family."""

from __future__ import annotations

import hashlib
import importlib
import pathlib

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


def head_gradients(shapes: list[tuple[int, ...]], dtypes: list[np.dtype]) -> list[np.ndarray]:
    """The head gradients that recorder and suite use for a sample's outputs."""
    draw = np.random.RandomState(7)
    return [draw.uniform(-1, 1, shape).astype(dtype) for shape, dtype in zip(shapes, dtypes)]


def differentiable(sample: Sample) -> tuple[int, ...]:
    """The inputs whose gradients are looked at."""
    if sample.grad is not None:
        return sample.grad
    return tuple(i for i, array in enumerate(sample.inputs) if array.dtype.kind == "f")
