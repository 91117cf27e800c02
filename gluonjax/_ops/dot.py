"""Products: dot, batch_dot, khatri_rao."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from jax import Array, lax

from gluonjax._ops.opdef import check, operator

FLOAT32 = np.dtype(np.float32)


def contract(lhs: Array, rhs: Array, axes: tuple[int, int], batch: int = 0) -> Array:
    """Sum over one axis of each array; the first ``batch`` axes run together. Small floats add up in "
    "float32."""
    numbers = (((axes[0],), (axes[1],)), (tuple(range(batch)), tuple(range(batch))))
    small = lhs.dtype.itemsize < 4 and lhs.dtype.kind not in "iub"
    product = lax.dot_general(lhs, rhs, numbers, preferred_element_type=FLOAT32 if small else lhs.dtype)
    return product.astype(lhs.dtype) if small else product


@operator("dot", aliases=("_sparse_dot",))
def dot(
    lhs: Array,
    rhs: Array,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: Literal[None, "csr", "default", "row_sparse"] = None,
) -> Array:
    """Sum over the last axis of ``lhs`` and the first axis of ``rhs``.

    Args:
        lhs: array with one dimension or more.
        rhs: array with one dimension or more.
        transpose_a: sum over the first axis of ``lhs`` instead.
        transpose_b: sum over the last axis of ``rhs`` instead.
        forward_stype: storage type hint for sparse results; the values do not depend on it.

    Returns:
        The remaining axes of both; of two vectors, an array of shape ``(1,)``.
    """
    check(lhs.ndim > 0 and rhs.ndim > 0, "dot: got a 0-d array, wanted at least one dimension")
    vectors = lhs.ndim == rhs.ndim == 1
    check(
        not (vectors and (transpose_a or transpose_b)),
        "dot: Cannot transpose vectors; leave transpose_a and transpose_b out",
    )
    left, right = 0 if transpose_a else lhs.ndim - 1, rhs.ndim - 1 if transpose_b else 0
    check(
        lhs.shape[left] == rhs.shape[right],
        f"dot shape error: {list(lhs.shape)} X {list(rhs.shape)}: axis {left} of lhs and axis {right} of "
        "rhs must be "
        f"equally long (transpose_a={transpose_a}, transpose_b={transpose_b})",
    )
    product = contract(lhs, rhs, (left, right))
    return lax.reshape(product, (1,)) if vectors else product


@operator("batch_dot", aliases=("_npx_batch_dot",))
def batch_dot(
    lhs: Array,
    rhs: Array,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: Literal[None, "csr", "default", "row_sparse"] = None,
) -> Array:
    """Multiply the matrices in the last two axes, batch by batch.

    Args:
        lhs: ``(..., n, k)``, with three dimensions or more.
        rhs: ``(..., k, m)``, with the same leading dimensions.
        transpose_a: ``lhs`` is ``(..., k, n)``.
        transpose_b: ``rhs`` is ``(..., m, k)``.
        forward_stype: storage type hint; the values do not depend on it.

    Returns:
        ``(..., n, m)``.
    """
    shapes = f"{list(lhs.shape)} X {list(rhs.shape)} trans_a={transpose_a} trans_b={transpose_b}"
    check(
        lhs.ndim == rhs.ndim and lhs.ndim >= 3,
        f"batch_dot currently only support N-D*N-D array (N >= 3), got {shapes}; use dot for matrices",
    )
    batch = lhs.ndim - 2
    check(
        lhs.shape[:batch] == rhs.shape[:batch],
        f"batch_dot shape error (the leading batch dimensions must be equal): {shapes}",
    )
    left = batch if transpose_a else batch + 1
    right = batch + 1 if transpose_b else batch
    check(lhs.shape[left] == rhs.shape[right], f"batch_dot shape error (shape mismatch): {shapes}")
    return contract(lhs, rhs, (left, right), batch)


@operator("khatri_rao", variadic="num_args")
def khatri_rao(*args: Array) -> Array:
    """The Kronecker product of matrices, column by column.

    Args:
        args: matrices ``(n_i, k)``.

    Returns:
        ``(n_1 * n_2 * ..., k)``.
    """
    check(len(args) > 0, "khatri_rao: wanted at least one matrix, got none")
    columns = args[0].shape[-1] if args[0].ndim else 0
    for index, matrix in enumerate(args):
        check(
            matrix.ndim == 2 and matrix.shape[1] == columns,
            f"khatri_rao: all inputs must be matrices with {columns} columns, got {matrix.shape} for input "
            f"{index}",
        )
    product = args[0]
    for matrix in args[1:]:
        shape = (product.shape[0], matrix.shape[0], columns)
        outer = lax.broadcast_in_dim(product, shape, (0, 2)) * lax.broadcast_in_dim(matrix, shape, (1, 2))
        product = lax.reshape(outer, (math.prod(shape[:2]), columns))
    return product
