"""Products of two matrices in one thread.

NumPy's OpenBLAS divides a product among threads that wait for each other by spinning: on two busy cores ``(32, 128)``
times ``(128, 384)`` took 15 ms of the processors' time, in one thread 0.05. Calls that are interpreted are small or
happen a few times, and other programs want the cores, too. NumPy cannot be told the number of threads for a call, and
telling its library is telling it for the user's own products. So products large enough to be divided, and too small
for that to pay, go to SciPy's copy of OpenBLAS, which has one thread in any case (``_ops/lapack.py``).
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from gluonjax._engine._numpy_rules.site import Function
from gluonjax._ops import lapack

# Products (of matrices, of a matrix and a vector) below these sizes are not divided.
_MATRICES, _VECTORS = 1 << 18, 9216
# From this size on dividing pays even so: a layer of 784 by 256 units, batch 128, takes half the time in two threads.
_WORTH_THREADS = 1 << 23
_LETTERS = {np.dtype(np.float32): "s", np.dtype(np.float64): "d"}


def product(rows: int, depth: int, columns: int, dtype: np.dtype) -> Function:
    """The quickest ``matmul`` for matrices of these sizes.

    Args:
        rows, depth, columns: it takes ``(rows, depth)`` and ``(depth, columns)``.
        dtype: of both, and of the result.
    """
    letter, narrow = _LETTERS.get(dtype), min(rows, columns) == 1
    if (
        letter is None
        or not (_VECTORS if narrow else _MATRICES) < rows * depth * columns < _WORTH_THREADS
        or "OPENBLAS_NUM_THREADS" in os.environ
    ):
        return np.matmul
    lapack.one_thread()
    import scipy.linalg.blas

    multiply: Any = getattr(scipy.linalg.blas, f"{letter}gemm")
    apply: Any = getattr(scipy.linalg.blas, f"{letter}gemv")

    # BLAS has columns side by side where NumPy has rows, so it is asked for the transposed result; `_turned` gives
    # transposed operands without a copy.
    def matrices(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        (left, turn_left), (right, turn_right) = _turned(y), _turned(x)
        return multiply(1.0, left, right, trans_a=turn_left, trans_b=turn_right).T

    def row_times(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        matrix, turn = _turned(y)
        return apply(1.0, matrix, x[0], trans=turn)[None]

    def times_column(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        matrix, turn = _turned(x)
        return apply(1.0, matrix, y[:, 0], trans=1 - turn)[:, None]

    if not narrow or depth == 1:
        return matrices
    return row_times if rows == 1 else times_column


def _turned(matrix: np.ndarray) -> tuple[np.ndarray, int]:
    """A matrix whose columns are contiguous, and whether that is still to be transposed to get the transposed one."""
    if matrix.flags.f_contiguous:
        return matrix, 1
    return np.ascontiguousarray(matrix).T, 0
