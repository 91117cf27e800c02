"""LAPACK on a CPU: one thread for each call, and a call for each matrix.

JAX's CPU backend calls SciPy's OpenBLAS from the threads of a pool. Two things go wrong there:

- OpenBLAS starts threads of its own in each call, which wait for each other: triangular systems (16 of 256×256) took
  550 ms with their gradients instead of 31. So before the first of these operators is traced, SciPy's copy of OpenBLAS
  (not NumPy's) is told to use one thread, unless OPENBLAS_NUM_THREADS says what the user wants.
- A call for many matrices hands them to the pool's other threads and waits. Where as many such calls run at a time as
  the pool has threads (a solution and its gradient, on two cores), all threads wait, for good. A call for one matrix
  works where it is; several of them, independent of each other, keep the cores as busy.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import math
import os
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import Array, lax

from gluonjax._base.dtypes import is_floating
from gluonjax._ops.nn.sums import on_cpu

_SETTERS = ("scipy_openblas_set_num_threads", "scipy_openblas_set_num_threads64_", "openblas_set_num_threads")
# How many matrices are worked on at a time; a loop goes through the batch.
_TOGETHER = 4
# JAX hands nothing over where 200,000 operations are to be done; decompositions take up to 48 for each of these.
_FEW_PRODUCTS = 4096


def each_matrix(function: Callable[..., Any], *matrices: Array) -> Any:
    """``function`` of every matrix in the last two axes; the leading axes are those of the results too.

    Args:
        function: pure; of single matrices where a batch of them would be divided among threads, else of all of them.
        matrices: ``(..., rows, columns)``, with equal leading axes.
    """
    prepare()
    batch = matrices[0].shape[:-2]
    count = math.prod(batch)
    products = max(math.prod(matrix.shape[-2:]) * max(matrix.shape[-2:]) for matrix in matrices)
    if count < 2 or count * products <= _FEW_PRODUCTS or not on_cpu():
        return function(*matrices)
    flat = [lax.reshape(matrix, (count, *matrix.shape[-2:])) for matrix in matrices]
    whole = count - count % _TOGETHER
    parts = []
    if whole > _TOGETHER:
        rows = [lax.reshape(matrix[:whole], (whole // _TOGETHER, _TOGETHER, *matrix.shape[1:])) for matrix in flat]
        found = lax.map(lambda group: _side_by_side(function, group), rows)
        parts.append(jax.tree.map(lambda result: lax.reshape(result, (whole, *result.shape[2:])), found))
        flat = [matrix[whole:] for matrix in flat]
    if flat[0].shape[0]:
        parts.append(_side_by_side(function, flat))
    return jax.tree.map(lambda *some: _joined(some, batch), *parts)


def half_in_single(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, computed in float32 where it is given half precision, which LAPACK does not have."""

    @functools.wraps(function)
    def call(*matrices: Array, **attrs: Any) -> Any:
        dtype = matrices[0].dtype
        if dtype.itemsize != 2 or not is_floating(dtype):
            return function(*matrices, **attrs)
        wide = [matrix.astype(np.float32) if matrix.dtype == dtype else matrix for matrix in matrices]
        results = function(*wide, **attrs)
        return jax.tree.map(lambda found: found.astype(dtype) if found.dtype == np.float32 else found, results)

    return call


def _side_by_side(function: Callable[..., Any], matrices: Sequence[Array]) -> Any:
    """``function`` of a few matrices, one by one."""
    found = [function(*(matrix[number] for matrix in matrices)) for number in range(matrices[0].shape[0])]
    return jax.tree.map(lambda *some: lax.concatenate([lax.expand_dims(one, (0,)) for one in some], 0), *found)


def _joined(parts: Sequence[Array], batch: tuple[int, ...]) -> Array:
    whole = parts[0] if len(parts) == 1 else lax.concatenate(parts, 0)
    return lax.reshape(whole, (*batch, *whole.shape[1:]))


def prepare() -> None:
    """Gives OpenBLAS one thread where JAX's CPU backend is going to call it."""
    if on_cpu() and "OPENBLAS_NUM_THREADS" not in os.environ:
        one_thread()


@functools.cache
def one_thread() -> None:
    """Gives SciPy's OpenBLAS one thread."""
    importlib.import_module("scipy.linalg.cython_lapack")  # JAX loads it too, and takes LAPACK's functions from it
    scipy = pathlib.Path(importlib.import_module("scipy").__path__[0])
    for folder in (scipy.parent / "scipy.libs", scipy / ".dylibs", scipy / ".libs"):
        for path in folder.glob("*openblas*"):
            library = ctypes.CDLL(str(path))
            for name in _SETTERS:
                if hasattr(library, name):
                    getattr(library, name)(1)
