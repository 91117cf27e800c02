"""Products of matrices and tensors, and linear algebra, with NumPy semantics."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._base.dtypes import is_floating
from gluonjax._ops.lapack import each_matrix, half_in_single, prepare
from gluonjax._ops.opdef import check

_HIGH = jax.lax.Precision.HIGHEST


def _same(name: str, a: Array, b: Array) -> None:
    check(
        a.dtype == b.dtype,
        f"{name}: wants two arrays of one type, got {a.dtype.name} and {b.dtype.name}; cast one with astype",
    )


def _agree(name: str, a: Array, b: Array, left: int, right: int) -> None:
    check(
        left == right,
        f"{name}: shapes {list(a.shape)} and {list(b.shape)} not aligned: {left} (of the first) != {right} "
        "(of the second)",
    )


def dot(a: Array, b: Array) -> Array:
    """NumPy's dot: inner products of the last axis of ``a`` and the last but one of ``b``; numbers scale."""
    if a.ndim and b.ndim:
        _same("dot", a, b)
        _agree("dot", a, b, a.shape[-1], b.shape[max(b.ndim - 2, 0)])
    return jnp.dot(a, b, precision=_HIGH, preferred_element_type=None)


def matmul(a: Array, b: Array) -> Array:
    """Matrix product of the last two axes, the others broadcast."""
    _same("matmul", a, b)
    check(
        a.ndim > 0 and b.ndim > 0,
        "matmul: Multiplication by scalars is not allowed; use multiply or *",
    )
    _agree("matmul", a, b, a.shape[-1], b.shape[max(b.ndim - 2, 0)])
    return jnp.matmul(a, b, precision=_HIGH)


def tensordot(a: Array, b: Array, *, axes: Any) -> Array:
    """Sum of products over pairs of axes."""
    _same("tensordot", a, b)
    return jnp.tensordot(a, b, axes=axes, precision=_HIGH)


def inner(a: Array, b: Array) -> Array:
    """Products summed over the last axis of both."""
    _same("inner", a, b)
    return jnp.inner(a, b, precision=_HIGH)


def outer(a: Array, b: Array) -> Array:
    """All products of the elements of two flattened arrays."""
    return jnp.outer(a, b)


def vdot(a: Array, b: Array) -> Array:
    """The sum of products of two flattened arrays."""
    _same("vdot", a, b)
    return jnp.dot(a.reshape(-1), b.reshape(-1), precision=_HIGH)


def kron(a: Array, b: Array) -> Array:
    """The Kronecker product."""
    return jnp.kron(a, b)


def einsum(*arrays: Array, subscripts: str) -> Array:
    """Sums of products written in Einstein's notation."""
    return jnp.einsum(subscripts, *arrays, precision=_HIGH)


def polyval(p: Array, x: Array) -> Array:
    """A polynomial, highest power first, at x."""
    _same("polyval", p, x)
    return jnp.polyval(p, x)


def check_matrices(name: str, a: Array, square: bool = True) -> None:
    """Refuse what is no stack of (square) floating matrices."""
    check(is_floating(a.dtype), f"{name}: Array type {a.dtype.name} is unsupported in linalg; cast to float32")
    check(a.ndim >= 2, f"{name}: array must be at least two-dimensional, got shape {list(a.shape)}")
    check(
        not square or a.shape[-1] == a.shape[-2],
        f"{name}: Input A's last two dimension must be equal, got shape {list(a.shape)}",
    )


@half_in_single
def inv(a: Array) -> Array:
    """The inverse of square matrices."""
    check_matrices("inv", a)
    return each_matrix(jnp.linalg.inv, a)


@half_in_single
def det(a: Array) -> Array:
    """The determinant of square matrices."""
    check_matrices("det", a)
    return each_matrix(jnp.linalg.det, a)


@half_in_single
def slogdet(a: Array) -> tuple[Array, Array]:
    """Sign and logarithm of the absolute determinant."""
    check_matrices("slogdet", a)
    sign, logarithm = each_matrix(jnp.linalg.slogdet, a)
    return sign, logarithm


@half_in_single
def cholesky(a: Array) -> Array:
    """The lower triangular L with L L' = a."""
    check_matrices("cholesky", a)
    return each_matrix(jnp.linalg.cholesky, a)


@half_in_single
def svd(a: Array) -> tuple[Array, Array, Array]:
    """``ut, l, v`` with ``a = ut * l @ v``; the thin decomposition."""
    check_matrices("svd", a, square=False)
    return tuple(each_matrix(lambda one: jnp.linalg.svd(one, full_matrices=False), a))  # type: ignore[return-value]


@half_in_single
def eigh(a: Array, *, uplo: str) -> tuple[Array, Array]:
    """Eigenvalues (ascending) and eigenvectors of symmetric matrices of which one triangle is read."""
    check_matrices("eigh", a)
    values, vectors = each_matrix(lambda one: jnp.linalg.eigh(one, UPLO=uplo, symmetrize_input=False), a)
    return values, vectors


@half_in_single
def solve(a: Array, b: Array) -> Array:
    """x with a x = b."""
    check_matrices("solve", a)
    _same("solve", a, b)
    prepare()
    if max(a.ndim, b.ndim) == 2:
        return jnp.linalg.solve(a, b)
    columns = b if b.ndim > 1 else lax.expand_dims(b, (1,))
    batch = jnp.broadcast_shapes(a.shape[:-2], columns.shape[:-2])
    both = [jnp.broadcast_to(one, (*batch, *one.shape[-2:])) for one in (a, columns)]
    solved = each_matrix(jnp.linalg.solve, *both)
    return solved if b.ndim > 1 else lax.squeeze(solved, (solved.ndim - 1,))


@half_in_single
def pinv(a: Array, rcond: Array, *, hermitian: bool) -> Array:
    """The Moore-Penrose pseudo-inverse."""
    check_matrices("pinv", a, square=False)
    if rcond.ndim:
        prepare()
        return jnp.linalg.pinv(a, rtol=rcond, hermitian=hermitian)
    return each_matrix(lambda one: jnp.linalg.pinv(one, rtol=rcond, hermitian=hermitian), a)


@half_in_single
def norm(a: Array, *, ord: Any, axis: Any, keepdims: bool) -> Array:
    """Vector or matrix norms over axes."""
    wide = a.astype(np.float32) if not is_floating(a.dtype) else a
    return jnp.linalg.norm(wide, ord=ord, axis=axis, keepdims=keepdims)


@half_in_single
def tensorinv(a: Array, *, ind: int) -> Array:
    """The inverse of the linear map that an array of many axes stands for."""
    prepare()
    return jnp.linalg.tensorinv(a, ind=ind)


@half_in_single
def tensorsolve(a: Array, b: Array, *, axes: Any) -> Array:
    """x with tensordot(a, x) = b."""
    prepare()
    return jnp.linalg.tensorsolve(a, b, axes=axes)


@half_in_single
def lstsq(a: Array, b: Array, *, rcond: float | None) -> tuple[Array, Array, Array, Array]:
    """Least squares: solution, residuals, rank, singular values."""
    prepare()
    return tuple(jnp.linalg.lstsq(a, b, rcond=rcond))  # type: ignore[return-value]


@half_in_single
def qr(a: Array, *, mode: str) -> tuple[Array, Array]:
    """Orthonormal columns q and upper triangular r with a = q r."""
    return tuple(each_matrix(lambda one: jnp.linalg.qr(one, mode=mode), a))  # type: ignore[return-value]


@half_in_single
def matrix_power(a: Array, *, n: int) -> Array:
    """A matrix multiplied by itself n times."""
    return jnp.linalg.matrix_power(a if n >= 0 else each_matrix(jnp.linalg.inv, a), abs(n))
