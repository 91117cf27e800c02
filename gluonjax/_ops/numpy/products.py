"""Products of matrices and tensors, and linear algebra, with NumPy semantics."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from gluonjax._base.dtypes import is_floating
from gluonjax._ops.lapack import dense
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


def inv(a: Array) -> Array:
    """The inverse of square matrices."""
    check_matrices("inv", a)
    return dense().inv(a)


def det(a: Array) -> Array:
    """The determinant of square matrices."""
    check_matrices("det", a)
    return dense().det(a)


def slogdet(a: Array) -> tuple[Array, Array]:
    """Sign and logarithm of the absolute determinant."""
    check_matrices("slogdet", a)
    sign, logarithm = dense().slogdet(a)
    return sign, logarithm


def cholesky(a: Array) -> Array:
    """The lower triangular L with L L' = a."""
    check_matrices("cholesky", a)
    return dense().cholesky(a)


def svd(a: Array) -> tuple[Array, Array, Array]:
    """``ut, l, v`` with ``a = ut * l @ v``; the thin decomposition."""
    check_matrices("svd", a, square=False)
    return tuple(dense().svd(a, full_matrices=False))  # type: ignore[return-value]


def eigh(a: Array, *, uplo: str) -> tuple[Array, Array]:
    """Eigenvalues (ascending) and eigenvectors of symmetric matrices of which one triangle is read."""
    check_matrices("eigh", a)
    values, vectors = dense().eigh(a, UPLO=uplo, symmetrize_input=False)
    return values, vectors


def solve(a: Array, b: Array) -> Array:
    """x with a x = b."""
    check_matrices("solve", a)
    _same("solve", a, b)
    return dense().solve(a, b)


def pinv(a: Array, rcond: Array, *, hermitian: bool) -> Array:
    """The Moore-Penrose pseudo-inverse."""
    check_matrices("pinv", a, square=False)
    return dense().pinv(a, rtol=rcond, hermitian=hermitian)


def norm(a: Array, *, ord: Any, axis: Any, keepdims: bool) -> Array:
    """Vector or matrix norms over axes."""
    wide = a.astype(np.float32) if not is_floating(a.dtype) else a
    return jnp.linalg.norm(wide, ord=ord, axis=axis, keepdims=keepdims)


def tensorinv(a: Array, *, ind: int) -> Array:
    """The inverse of the linear map that an array of many axes stands for."""
    return dense().tensorinv(a, ind=ind)


def tensorsolve(a: Array, b: Array, *, axes: Any) -> Array:
    """x with tensordot(a, x) = b."""
    return dense().tensorsolve(a, b, axes=axes)


def lstsq(a: Array, b: Array, *, rcond: float | None) -> tuple[Array, Array, Array, Array]:
    """Least squares: solution, residuals, rank, singular values."""
    return tuple(dense().lstsq(a, b, rcond=rcond))  # type: ignore[return-value]


def qr(a: Array, *, mode: str) -> tuple[Array, Array]:
    """Orthonormal columns q and upper triangular r with a = q r."""
    return tuple(dense().qr(a, mode=mode))  # type: ignore[return-value]


def matrix_power(a: Array, *, n: int) -> Array:
    """A matrix multiplied by itself n times."""
    return jnp.linalg.matrix_power(a, n)
