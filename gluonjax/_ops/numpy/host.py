"""Functions whose result shape depends on values: they run on the host, on NumPy arrays, never compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray


def nonzero(a: Array) -> tuple[Array, ...]:
    """The int64 positions of nonzero elements, one array for every axis."""
    return tuple(part.astype(np.int64) for part in np.nonzero(np.atleast_1d(a)))


def nonzero_rows(a: Array) -> tuple[Array]:
    """The int64 positions of nonzero elements, one row for every element."""
    return (np.argwhere(np.atleast_1d(a)).astype(np.int64),)


def unique(a: Array, *, index: bool, inverse: bool, counts: bool, axis: int | None) -> tuple[Array, ...]:
    """The distinct elements in order, with positions and counts where wanted (int64)."""
    found = np.unique(a, return_index=index, return_inverse=inverse, return_counts=counts, axis=axis)
    parts = found if isinstance(found, tuple) else (found,)
    rest = [part.astype(np.int64) for part in parts[1:]]
    if inverse:
        place = 1 if index else 0
        rest[place] = rest[place].reshape(-1)
    return (parts[0], *rest)


def bincount(x: Array, weights: Array | None = None, *, minlength: int) -> tuple[Array]:
    """How often each whole number occurs, or the sum of its weights."""
    found = np.bincount(x, weights, minlength)
    return (found.astype(x.dtype if weights is None else weights.dtype),)


def histogram(a: Array, bins: Array | None = None, *, count: int, low: float | None, high: float | None) -> Any:
    """Counts (int64) and bin edges (of the array's dtype)."""
    limits = None if low is None or high is None else (low, high)
    counts, edges = np.histogram(a, count if bins is None else bins, limits)
    return counts.astype(np.int64), edges.astype(a.dtype if a.dtype.kind == "f" else np.float32)


def _in_single(a: Array) -> Array:
    """Half precision as float32: LAPACK has none."""
    return a.astype(np.float32) if a.dtype.itemsize == 2 else a


def eig(a: Array) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors; only the real parts exist, as in MXNet."""
    values, vectors = np.linalg.eig(_in_single(a))
    return np.real(values).astype(a.dtype), np.real(vectors).astype(a.dtype)


def eigvals(a: Array) -> tuple[Array]:
    """The (real) eigenvalues of square matrices."""
    return (np.real(np.linalg.eigvals(_in_single(a))).astype(a.dtype),)
