"""Linear algebra on the matrices in the last two axes, in the manner of BLAS and LAPACK.

Leading axes are batches. Symmetric inputs are read from one triangle (the lower one, where there is no
choice); their gradients are symmetric, as MXNet's are. A matrix that cannot be factored gives NaN (MXNet raises,
but only when the result is waited for).
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._ops.dot import contract
from gluonjax._ops.lapack import each_matrix, half_in_single
from gluonjax._ops.opdef import Attrs, check, operator
from gluonjax._ops.shape_rules import normalize_axis


def _swap(matrix: Array) -> Array:
    """The matrix transposed."""
    return lax.transpose(matrix, (*range(matrix.ndim - 2), matrix.ndim - 1, matrix.ndim - 2))


def _check_square(name: str, matrix: Array) -> None:
    check(
        matrix.ndim >= 2 and matrix.shape[-1] == matrix.shape[-2],
        f"{name}: Input operand must be a tensor of square matrices, got {matrix.shape}",
    )


def _check_floating(name: str, matrix: Array) -> None:
    check(
        jnp.issubdtype(matrix.dtype, jnp.floating),
        f"{name}: This operation only supports floating point types, not {matrix.dtype}; cast with .astype",
    )


def _matmul(left: Array, right: Array, transpose_a: bool = False, transpose_b: bool = False) -> Array:
    batch = left.ndim - 2
    return contract(left, right, (batch + (not transpose_a), batch + transpose_b), batch)


def _triangle(matrix: Array, lower: bool) -> Array:
    rows, columns = (lax.broadcasted_iota(np.dtype(np.int32), matrix.shape, matrix.ndim - axis) for axis in (2, 1))
    keep = lax.ge(rows, columns) if lower else lax.le(rows, columns)
    return lax.select(keep, matrix, lax.full_like(matrix, 0))


@jax.custom_jvp
def _symmetric(matrix: Array) -> Array:
    """The matrix itself, whose tangents count as those of a symmetric matrix."""
    return matrix


@_symmetric.defjvp
def _symmetric_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    return primals[0], (tangents[0] + _swap(tangents[0])) * 0.5


@jax.custom_jvp
def _mirrored(matrix: Array) -> Array:
    """The lower triangle on both sides: JAX's gradient of ``eigh`` reads the whole matrix, its result half of it."""
    rows, columns = (lax.broadcasted_iota(np.dtype(np.int32), matrix.shape, matrix.ndim - axis) for axis in (2, 1))
    return lax.select(lax.ge(rows, columns), matrix, _swap(matrix))


@_mirrored.defjvp
def _mirrored_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    return _mirrored(primals[0]), _symmetric_jvp(primals, tangents)[1]


def _vector_of_numbers(values: Array) -> Array:
    """One number for every matrix; of a single matrix, an array of shape ``(1,)``."""
    return values if values.ndim else lax.reshape(values, (1,))


def _scaled(values: Array, factor: float) -> Array:
    return values if factor == 1 else (values * factor).astype(values.dtype)


def _rows_last_but_one(name: str, axis: int, *arrays: Array) -> tuple[list[Array], int]:
    """Move the axis that counts rows to the last place but one; say where it was."""
    ndim = arrays[0].ndim
    check(
        ndim >= 2 and all(array.ndim == ndim for array in arrays),
        f"{name}: all inputs need the same number of dimensions, two or more, got {[a.shape for a in arrays]}",
    )
    position = normalize_axis(axis, ndim, name)
    check(
        position != ndim - 1,
        f"{name}: axis={axis} counts rows and cannot be the last axis, which counts columns",
    )
    if position == ndim - 2:
        return list(arrays), position
    return [jnp.moveaxis(array, position, -2) for array in arrays], position


def _gemm(name: str, left: Array, right: Array, transpose_a: bool, transpose_b: bool, alpha: float) -> Array:
    check(
        left.shape[:-2] == right.shape[:-2],
        f"{name}: Shapes of inputs 0, 1 must be the same, except on row/col axis, got {left.shape} and {right.shape}",
    )
    inner, other = left.shape[-2 if transpose_a else -1], right.shape[-1 if transpose_b else -2]
    check(
        inner == other,
        f"{name}: Incompatible matrix dimensions for multiplication, got {inner} and {other} from "
        f"{left.shape} "
        f"(transpose_a={transpose_a}) and {right.shape} (transpose_b={transpose_b})",
    )
    return _scaled(_matmul(left, right, transpose_a, transpose_b), alpha)


@operator("_linalg_gemm", aliases=("linalg_gemm",))
def gemm(
    A: Array,
    B: Array,
    C: Array,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    beta: float = 1.0,
    axis: int = -2,
) -> Array:
    """Multiply and add matrices: ``alpha * A @ B + beta * C``.

    Args:
        A: ``(..., n, k)``.
        B: ``(..., k, m)``.
        C: ``(..., n, m)``.
        transpose_a: use A transposed.
        transpose_b: use B transposed.
        alpha: factor of the product.
        beta: factor of C.
        axis: the axis that counts rows.

    Returns:
        ``(..., n, m)``.
    """
    (left, right, added), position = _rows_last_but_one("_linalg_gemm", axis, A, B, C)
    product = _gemm("_linalg_gemm", left, right, transpose_a, transpose_b, alpha)
    check(
        product.shape == added.shape,
        f"_linalg_gemm: the product has shape {product.shape} and C has {added.shape}; they must agree",
    )
    result = product + _scaled(added, beta)
    return result if position == A.ndim - 2 else jnp.moveaxis(result, -2, position)


@operator("_linalg_gemm2", aliases=("linalg_gemm2",))
def gemm2(
    A: Array,
    B: Array,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    axis: int = -2,
) -> Array:
    """Multiply matrices: ``alpha * A @ B``.

    Args:
        A: ``(..., n, k)``.
        B: ``(..., k, m)``.
        transpose_a: use A transposed.
        transpose_b: use B transposed.
        alpha: factor of the product.
        axis: the axis that counts rows.

    Returns:
        ``(..., n, m)``.
    """
    (left, right), position = _rows_last_but_one("_linalg_gemm2", axis, A, B)
    product = _gemm("_linalg_gemm2", left, right, transpose_a, transpose_b, alpha)
    return product if position == A.ndim - 2 else jnp.moveaxis(product, -2, position)


@operator("_linalg_potrf", aliases=("linalg_potrf",), unlisted=("lower",))
@half_in_single
def potrf(A: Array, *, lower: bool = True) -> Array:
    """The Cholesky factor of symmetric positive definite matrices.

    Args:
        A: ``(..., n, n)``.
        lower: the lower triangular factor, else the upper one.

    Returns:
        The triangular L with ``L @ L.T = A``, or U with ``U.T @ U = A``.
    """
    _check_square("_linalg_potrf", A)
    # The triangle that is read is the one that is asked for.
    matrix = _symmetric(A) if lower else _swap(_symmetric(A))
    factor = each_matrix(lambda one: lax.linalg.cholesky(one, symmetrize_input=False), matrix)
    return factor if lower else _swap(factor)


@operator("_linalg_potri", aliases=("linalg_potri",), unlisted=("lower",))
@half_in_single
def potri(A: Array, *, lower: bool = True) -> Array:
    """The inverse of a matrix, from its Cholesky factor.

    Args:
        A: ``(..., n, n)``, the triangular factor.
        lower: the factor is the lower triangular one, else the upper one.

    Returns:
        The inverse of ``A @ A.T`` (of ``A.T @ A`` for an upper factor).
    """
    _check_square("_linalg_potri", A)
    A = A if lower else _swap(A)

    def inverted(factor: Array) -> Array:
        identity = jnp.broadcast_to(jnp.eye(factor.shape[-1], dtype=factor.dtype), factor.shape)
        return lax.linalg.triangular_solve(factor, identity, left_side=True, lower=True)

    inverse = each_matrix(inverted, A)
    return _matmul(inverse, inverse, transpose_a=True)


def _check_sides(name: str, A: Array, B: Array, rightside: bool) -> None:
    _check_square(name, A)
    check(
        A.shape[:-2] == B.shape[:-2] and A.ndim == B.ndim and B.shape[-1 if rightside else -2] == A.shape[-1],
        f"{name}: Incompatible matrix dimensions for multiplication, got {A.shape} and {B.shape} with "
        f"rightside={rightside}",
    )


@operator("_linalg_trmm", aliases=("linalg_trmm",))
def trmm(
    A: Array,
    B: Array,
    *,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
) -> Array:
    """Multiply by triangular matrices: ``alpha * A @ B``.

    Args:
        A: ``(..., n, n)``, of which one triangle is read.
        B: ``(..., n, m)``, or ``(..., m, n)`` with ``rightside``.
        transpose: use A transposed.
        rightside: ``alpha * B @ A`` instead.
        lower: which triangle of A to read.
        alpha: factor of the product.

    Returns:
        An array of the shape of B.
    """
    _check_sides("_linalg_trmm", A, B, rightside)
    triangle = _triangle(A, lower)
    product = _matmul(B, triangle, False, transpose) if rightside else _matmul(triangle, B, transpose, False)
    return _scaled(product, alpha)


@operator("_linalg_trsm", aliases=("linalg_trsm",))
@half_in_single
def trsm(
    A: Array,
    B: Array,
    *,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
) -> Array:
    """Solve triangular systems: the X with ``A @ X = alpha * B``.

    Args:
        A: ``(..., n, n)``, of which one triangle is read.
        B: ``(..., n, m)``, or ``(..., m, n)`` with ``rightside``.
        transpose: use A transposed.
        rightside: the X with ``X @ A = alpha * B`` instead.
        lower: which triangle of A to read.
        alpha: factor of B.

    Returns:
        An array of the shape of B.
    """
    _check_sides("_linalg_trsm", A, B, rightside)
    solve = functools.partial(lax.linalg.triangular_solve, left_side=not rightside, lower=lower, transpose_a=transpose)
    return each_matrix(solve, A, _scaled(B, alpha))


@operator("_linalg_sumlogdiag", aliases=("linalg_sumlogdiag",))
def sumlogdiag(A: Array) -> Array:
    """The sum of the logarithms of the diagonal.

    Args:
        A: ``(..., n, n)``.

    Returns:
        One number for every matrix; of a single matrix, an array of shape ``(1,)``.
    """
    _check_square("_linalg_sumlogdiag", A)
    return _vector_of_numbers(jnp.sum(lax.log(jnp.diagonal(A, 0, -2, -1)), axis=-1))


@operator("_linalg_syrk", aliases=("linalg_syrk",))
def syrk(A: Array, *, transpose: bool = False, alpha: float = 1.0) -> Array:
    """Multiply matrices by their own transpose: ``alpha * A @ A.T``.

    Args:
        A: ``(..., n, m)``.
        transpose: ``alpha * A.T @ A`` instead.
        alpha: factor of the product.

    Returns:
        ``(..., n, n)``, or ``(..., m, m)`` with ``transpose``.
    """
    check(A.ndim >= 2, f"_linalg_syrk: wanted matrices, got {A.shape}")
    return _scaled(_matmul(A, A, transpose, not transpose), alpha)


@operator("_linalg_gelqf", aliases=("linalg_gelqf",), outputs=("output0", "output1"))
@half_in_single
def gelqf(A: Array) -> tuple[Array, Array]:
    """The LQ factors of matrices: ``A = L @ Q`` with orthonormal rows of Q.

    Args:
        A: ``(..., n, m)`` with n at most m.

    Returns:
        Q ``(..., n, m)`` and the lower triangular L ``(..., n, n)``.
    """
    check(
        A.ndim >= 2 and A.shape[-2] <= A.shape[-1],
        f"_linalg_gelqf: Input A shape wrong: Last dimension must be >= than second to last, got {A.shape}",
    )
    orthonormal, upper = each_matrix(lambda one: lax.linalg.qr(one, full_matrices=False), _swap(A))
    return _swap(orthonormal), _swap(upper)


@operator("_linalg_syevd", outputs=("output0", "output1"))
@half_in_single
def syevd(A: Array) -> tuple[Array, Array]:
    """The eigenvectors and eigenvalues of symmetric matrices: ``A = U.T @ diag(L) @ U``.

    Args:
        A: ``(..., n, n)``.

    Returns:
        U ``(..., n, n)``, whose rows are eigenvectors, and L ``(..., n)`` in increasing order. The largest
        component of every eigenvector is positive.
    """
    _check_square("_linalg_syevd", A)
    if A.shape[-1] == 0:
        return A, lax.reshape(A, A.shape[:-1])
    eigh = functools.partial(lax.linalg.eigh, lower=True, symmetrize_input=False)
    columns, values = each_matrix(eigh, _mirrored(A))
    rows = _swap(columns)
    fixed = lax.stop_gradient(rows)
    largest = jnp.take_along_axis(fixed, jnp.argmax(jnp.abs(fixed), axis=-1, keepdims=True), axis=-1)
    return lax.select(jnp.broadcast_to(largest < 0, rows.shape), -rows, rows), values


def _determinants(A: Array) -> Array:
    # The determinant of nothing is the product of nothing.
    return each_matrix(jnp.linalg.det, A) if A.shape[-1] else jnp.prod(A, axis=(-2, -1))


@operator("_linalg_det", aliases=("linalg_det",))
@half_in_single
def det(A: Array) -> Array:
    """The determinants of matrices.

    Args:
        A: ``(..., n, n)``.

    Returns:
        One number for every matrix; of a single matrix, an array of shape ``(1,)``.
    """
    _check_square("_linalg_det", A)
    _check_floating("_linalg_det", A)
    return _vector_of_numbers(_determinants(A))


@operator("_npi_det")
@half_in_single
def npi_det(A: Array) -> Array:
    """The determinants of matrices, with NumPy's shapes.

    Args:
        A: ``(..., n, n)``.

    Returns:
        One number for every matrix; of a single matrix, a 0-d array.
    """
    _check_square("_npi_det", A)
    return _determinants(A)


def _slogdet_gradient(inputs: Any, outputs: Any, head: Any, attrs: Attrs) -> dict[str, Array]:
    """The transposed inverse for the logarithm; zero for a singular matrix, as MXNet has it."""
    matrix = inputs.A
    flat = (*matrix.shape[:-2], 1, 1)
    singular = jnp.broadcast_to(jnp.reshape(outputs.output0 == 0, flat), matrix.shape)
    unit = jnp.broadcast_to(jnp.eye(matrix.shape[-1], dtype=matrix.dtype), matrix.shape)
    inverse_of = half_in_single(functools.partial(each_matrix, jnp.linalg.inv))
    inverse = _swap(inverse_of(lax.select(singular, unit, matrix)))
    product = jnp.reshape(head.output1, flat) * inverse
    return {"A": lax.select(singular, lax.full_like(product, 0), product)}


@operator("_linalg_slogdet", aliases=("linalg_slogdet",), outputs=("output0", "output1"), grad=_slogdet_gradient)
@half_in_single
def slogdet(A: Array) -> tuple[Array, Array]:
    """The signs and the logarithms of the absolute values of determinants.

    Args:
        A: ``(..., n, n)``.

    Returns:
        Signs and logarithms, one of each for every matrix; of a single matrix, arrays of shape ``(1,)``.
    """
    _check_square("_linalg_slogdet", A)
    _check_floating("_linalg_slogdet", A)
    sign, logarithm = each_matrix(jnp.linalg.slogdet, A)
    return _vector_of_numbers(sign), _vector_of_numbers(logarithm)


@operator("_npi_slogdet", outputs=("output0", "output1"), grad=_slogdet_gradient)
@half_in_single
def npi_slogdet(A: Array) -> tuple[Array, Array]:
    """The signs and the logarithms of the absolute values of determinants, with NumPy's shapes.

    Args:
        A: ``(..., n, n)``.

    Returns:
        Signs and logarithms, one of each for every matrix; of a single matrix, 0-d arrays.
    """
    _check_square("_npi_slogdet", A)
    sign, logarithm = each_matrix(jnp.linalg.slogdet, A)
    return sign, logarithm


@operator("_linalg_inverse", aliases=("linalg_inverse", "_npi_inv"))
@half_in_single
def inverse(A: Array) -> Array:
    """The inverses of matrices.

    Args:
        A: ``(..., n, n)``.

    Returns:
        ``(..., n, n)``.
    """
    _check_square("_linalg_inverse", A)
    _check_floating("_linalg_inverse", A)
    return _inverse(A)


@jax.custom_jvp
def _inverse(A: Array) -> Array:
    return each_matrix(jnp.linalg.inv, A)


@_inverse.defjvp
def _inverse_tangent(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    """Two products, where JAX solves two systems more."""
    inverse = _inverse(primals[0])
    return inverse, -_matmul(_matmul(inverse, tangents[0]), inverse)
