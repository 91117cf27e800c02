"""``mx.np.linalg``."""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from gluonjax._ops.numpy import host as _host
from gluonjax._ops.numpy import products as _products
from gluonjax.numpy import fallback_linalg as fallback_linalg
from gluonjax.numpy._call import axes_or_none, invoke, kernel_of
from gluonjax.numpy._reductions import wants_array
from gluonjax.numpy.multiarray import ndarray


def _one(fn: Any, a: Any, many: bool = False, **statics: Any) -> Any:
    return invoke(kernel_of(fn, **statics), (wants_array(fn.__name__, "a", a),), ndarray, many=many)


def _in_float(a: Any) -> Any:
    """Whole numbers as float32: MXNet takes them in eigenvalue problems, and only there."""
    return a.astype("float32") if isinstance(a, ndarray) and a.dtype.kind in "iub" else a


def inv(a: ndarray) -> ndarray:
    """The inverse of square matrices."""
    return _one(_products.inv, a)


def det(a: ndarray) -> ndarray:
    """The determinant of square matrices."""
    return _one(_products.det, a)


def slogdet(a: ndarray) -> list[ndarray]:
    """Sign and logarithm of the absolute value of the determinant."""
    return _one(_products.slogdet, a, True)


def cholesky(a: ndarray) -> ndarray:
    """The lower triangular L with L L' = a."""
    return _one(_products.cholesky, a)


def svd(a: ndarray) -> tuple[ndarray, ...]:
    """``ut, l, v`` with ``a = (ut * l) @ v``; the thin decomposition."""
    return tuple(_one(_products.svd, a, True))


def eigh(a: ndarray, UPLO: str = "L") -> tuple[ndarray, ...]:
    """Eigenvalues (ascending) and eigenvectors of symmetric matrices."""
    if UPLO not in ("L", "U", "l", "u"):
        raise ValueError(f"eigh: UPLO has to be 'L' or 'U', got {UPLO!r}")
    return tuple(_one(_products.eigh, _in_float(a), True, uplo=UPLO.upper()))


def eigvalsh(a: ndarray, UPLO: str = "L") -> ndarray:
    """Eigenvalues (ascending) of symmetric matrices."""
    return eigh(a, UPLO)[0]


def eig(a: ndarray) -> tuple[ndarray, ...]:
    """Real eigenvalues and eigenvectors of square matrices. No gradient."""
    a = _in_float(wants_array("eig", "a", a))
    _products.check_matrices("eig", a._value)
    return tuple(_one(_host.eig, a, True, host=True))


def eigvals(a: ndarray) -> ndarray:
    """Real eigenvalues of square matrices. No gradient."""
    a = _in_float(wants_array("eigvals", "a", a))
    _products.check_matrices("eigvals", a._value)
    return _one(_host.eigvals, a, host=True)


def solve(a: ndarray, b: ndarray) -> ndarray:
    """x with a x = b."""
    return invoke(kernel_of(_products.solve), (a, wants_array("solve", "b", b)), ndarray)


def pinv(a: ndarray, rcond: Any = 1e-15, hermitian: bool = False) -> ndarray:
    """The Moore-Penrose pseudo-inverse; singular values below rcond times the largest count as 0."""
    limit = rcond if isinstance(rcond, ndarray) else _numpy.asarray(rcond, a.dtype)
    return invoke(kernel_of(_products.pinv, hermitian=bool(hermitian)), (a, limit), ndarray)


def norm(x: ndarray, ord: Any = None, axis: Any = None, keepdims: bool = False) -> ndarray:
    """Vector norms (one axis) or matrix norms (two axes); of the flattened array by default."""
    if axis is None and ord is None:
        flat = x.reshape(-1)
        result = _one(_products.norm, flat, ord=None, axis=0, keepdims=False)
        return result.reshape((1,) * x.ndim) if keepdims else result
    if axis is None:
        axis = 0 if x.ndim == 1 else (0, 1) if x.ndim == 2 else None
        if axis is None:
            raise ValueError("Improper number of dimensions to norm: give the axis, or an array of 1 or 2 axes.")
    axes = axes_or_none(axis)
    if isinstance(axes, tuple) and len(axes) == 1:
        axes = axes[0]
    if isinstance(ord, str) and ord not in ("fro", "nuc", "inf", "-inf"):
        raise ValueError(f"norm: unknown order {ord!r}; use a number, 'fro', 'nuc', 'inf' or '-inf'")
    order = {"inf": _numpy.inf, "-inf": -_numpy.inf}.get(ord, ord) if isinstance(ord, str) else ord
    return _one(_products.norm, x, ord=order, axis=axes, keepdims=bool(keepdims))


def tensorinv(a: ndarray, ind: int = 2) -> ndarray:
    """The inverse of the linear map that an array of many axes stands for."""
    return _one(_products.tensorinv, a, ind=int(ind))


def tensorsolve(a: ndarray, b: ndarray, axes: Any = None) -> ndarray:
    """x with tensordot(a, x) = b."""
    return invoke(kernel_of(_products.tensorsolve, axes=axes_or_none(axes)), (a, b), ndarray)


def lstsq(a: ndarray, b: ndarray, rcond: Any = "warn") -> tuple[ndarray, ...]:
    """Least squares: the solution, residuals, rank, singular values."""
    limit = None if rcond is None or rcond == "warn" else float(rcond)
    return tuple(invoke(kernel_of(_products.lstsq, rcond=limit), (a, b), ndarray, many=True))


def qr(a: ndarray, mode: str = "reduced") -> tuple[ndarray, ...]:
    """Orthonormal columns q and upper triangular r with a = q r."""
    return tuple(_one(_products.qr, a, True, mode=mode))


def matrix_power(a: ndarray, n: int) -> ndarray:
    """A square matrix multiplied by itself n times."""
    return _one(_products.matrix_power, a, n=int(n))


cond = fallback_linalg.cond
matrix_rank = fallback_linalg.matrix_rank
multi_dot = fallback_linalg.multi_dot
