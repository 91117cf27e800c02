"""LAPACK on a CPU: one thread for each call.

JAX's CPU backend calls SciPy's OpenBLAS from several threads at a time. OpenBLAS then starts threads of its own in
each call, which wait for each other: triangular systems (16 of 256×256) took 550 ms with their gradients instead of
31, and now and then the process stood still for good. So before the first of these operators is traced, SciPy's copy of
OpenBLAS (not NumPy's) is told to use one thread, unless OPENBLAS_NUM_THREADS says what the user wants.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import os
import pathlib
from types import ModuleType

import jax.numpy as jnp
from jax import lax

from gluonjax._ops.nn.sums import on_cpu

_SETTERS = ("scipy_openblas_set_num_threads", "scipy_openblas_set_num_threads64_", "openblas_set_num_threads")


def decompositions() -> ModuleType:
    """``jax.lax.linalg``, ready for use."""
    prepare()
    return lax.linalg


def dense() -> ModuleType:
    """``jax.numpy.linalg``, ready for use."""
    prepare()
    return jnp.linalg


def prepare() -> None:
    """Gives OpenBLAS one thread where JAX's CPU backend is going to call it."""
    if on_cpu() and "OPENBLAS_NUM_THREADS" not in os.environ:
        _one_thread()


@functools.cache
def _one_thread() -> None:
    importlib.import_module("scipy.linalg.cython_lapack")  # JAX loads it too, and takes LAPACK's functions from it
    scipy = pathlib.Path(importlib.import_module("scipy").__path__[0])
    for folder in (scipy.parent / "scipy.libs", scipy / ".dylibs", scipy / ".libs"):
        for path in folder.glob("*openblas*"):
            library = ctypes.CDLL(str(path))
            for name in _SETTERS:
                if hasattr(library, name):
                    getattr(library, name)(1)
