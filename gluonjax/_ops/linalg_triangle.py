"""Operators that move diagonals and triangles of square matrices into vectors and back."""

from __future__ import annotations

import math

import numpy as np
from jax import Array, lax

from gluonjax._ops.indexing import gather_axis
from gluonjax._ops.opdef import check, operator

INT32 = np.dtype(np.int32)


def triangle_positions(side: int, offset: int, lower: bool) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the entries of a triangle, in the order in which MXNet packs them.

    An offset names the diagonal at which the triangle ends: positive ones mean the upper triangle, negative
    ones the lower one, and only for 0 does ``lower`` decide. Upper triangles are packed column by column.
    """
    rows, columns = np.tril_indices(side, -abs(offset))
    below = offset < 0 or (offset == 0 and lower)
    return (rows, columns) if below else (columns, rows)


def packed_side(count: int, offset: int) -> int:
    """The side of the matrix whose triangle packs into ``count`` numbers."""
    side = (math.isqrt(8 * count + 1) - 1) // 2
    check(
        side * (side + 1) // 2 == count,
        "_linalg_maketrian: Input tensor of maketrian has an invalid dimension for the last axis, got "
        f"{count}; "
        "wanted n * (n + 1) / 2",
    )
    return side + abs(offset)


def _diagonal_positions(count: int, offset: int) -> tuple[np.ndarray, np.ndarray]:
    along = np.arange(count)
    return along + max(-offset, 0), along + max(offset, 0)


def _extract(matrices: Array, rows: np.ndarray, columns: np.ndarray) -> Array:
    side = matrices.shape[-1]
    flat = lax.reshape(matrices, (*matrices.shape[:-2], side * side))
    return gather_axis(flat, np.asarray(rows * side + columns, INT32), flat.ndim - 1)


def _place(values: Array, rows: np.ndarray, columns: np.ndarray, side: int) -> Array:
    count = values.shape[-1]
    # Every entry of the matrix reads its number from the vector, or the zero put after it.
    source = np.full((side, side), count, INT32)
    source[rows, columns] = np.arange(count)
    padding = [(0, 0, 0)] * (values.ndim - 1) + [(0, 1, 0)]
    padded = lax.pad(values, lax.full((), 0, values.dtype), padding)
    return gather_axis(padded, source, values.ndim - 1)


def _check_offset(name: str, matrices: Array, offset: int) -> int:
    check(
        matrices.ndim >= 2 and matrices.shape[-1] == matrices.shape[-2],
        f"{name}: Input operand must be a tensor of square matrices, got {matrices.shape}",
    )
    count = matrices.shape[-1] - abs(offset)
    check(
        count > 0,
        f"{name}: Illegal offset {offset} for diag/trian extraction of matrix with dimension "
        f"{matrices.shape[-1]}",
    )
    return count


@operator("_linalg_extractdiag", aliases=("linalg_extractdiag",))
def extract_diagonal(A: Array, *, offset: int = 0) -> Array:
    """Extract one diagonal of square matrices.

    Args:
        A: ``(..., n, n)``.
        offset: which diagonal; positive ones lie above the main one.

    Returns:
        ``(..., n - |offset|)``.
    """
    count = _check_offset("_linalg_extractdiag", A, offset)
    return _extract(A, *_diagonal_positions(count, offset))


@operator("_linalg_makediag", aliases=("linalg_makediag",))
def make_diagonal(A: Array, *, offset: int = 0) -> Array:
    """Build square matrices that are zero but for one diagonal.

    Args:
        A: ``(..., n)``, the diagonals.
        offset: which diagonal; positive ones lie above the main one.

    Returns:
        ``(..., n + |offset|, n + |offset|)``.
    """
    check(A.ndim >= 1, "_linalg_makediag: got a 0-d array, wanted at least one dimension")
    count = A.shape[-1]
    return _place(A, *_diagonal_positions(count, offset), count + abs(offset))


@operator("_linalg_extracttrian", aliases=("linalg_extracttrian",))
def extract_triangle(A: Array, *, offset: int = 0, lower: bool = True) -> Array:
    """Pack one triangle of square matrices into vectors.

    Args:
        A: ``(..., n, n)``.
        offset: the diagonal at which the triangle ends; positive ones mean the upper triangle.
        lower: with offset 0, which triangle.

    Returns:
        ``(..., m * (m + 1) / 2)`` with ``m = n - |offset|``.
    """
    _check_offset("_linalg_extracttrian", A, offset)
    return _extract(A, *triangle_positions(A.shape[-1], offset, lower))


@operator("_linalg_maketrian", aliases=("linalg_maketrian",))
def make_triangle(A: Array, *, offset: int = 0, lower: bool = True) -> Array:
    """Build square matrices that are zero but for one triangle.

    Args:
        A: ``(..., m * (m + 1) / 2)``, the packed triangles.
        offset: the diagonal at which the triangle ends; positive ones mean the upper triangle.
        lower: with offset 0, which triangle.

    Returns:
        ``(..., n, n)`` with ``n = m + |offset|``.
    """
    check(A.ndim >= 1, "_linalg_maketrian: got a 0-d array, wanted at least one dimension")
    side = packed_side(A.shape[-1], offset)
    return _place(A, *triangle_positions(side, offset, lower), side)
