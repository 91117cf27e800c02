"""Module functions for products of matrices and tensors."""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from gluonjax._ops.numpy import products
from gluonjax.numpy._call import check_where, invoke, kernel_of
from gluonjax.numpy._reductions import wants_array
from gluonjax.numpy.multiarray import ndarray


def dot(a: ndarray, b: ndarray, out: Any = None) -> ndarray:
    """The dot product: of vectors, of matrices, or of the last axis and the last but one.

    >>> from gluonjax import np
    >>> np.dot(np.ones(3), np.ones(3))
    array(3.)
    """
    return invoke(kernel_of(products.dot), (wants_array("dot", "a", a), wants_array("dot", "b", b)), ndarray, out)


def matmul(a: ndarray, b: ndarray, out: Any = None, **kwargs: Any) -> ndarray:
    """The matrix product of the last two axes; the others broadcast."""
    if kwargs:
        check_where("matmul", kwargs)
    pair = (wants_array("matmul", "a", a), wants_array("matmul", "b", b))
    return invoke(kernel_of(products.matmul), pair, ndarray, out)


def tensordot(a: ndarray, b: ndarray, axes: Any = 2) -> ndarray:
    """Sums of products over the last ``axes`` of ``a`` and the first of ``b``, or over pairs of axes."""
    if isinstance(axes, (int, _numpy.integer)):
        pairs: Any = int(axes)
    else:
        if len(axes) != 2:
            raise ValueError("Axes must consist of two arrays.")
        pairs = tuple((side,) if isinstance(side, int) else tuple(side) for side in axes)
        if len(pairs[0]) != len(pairs[1]):
            raise ValueError("Axes length mismatch")
    return invoke(kernel_of(products.tensordot, axes=pairs), (a, b), ndarray)


def inner(a: ndarray, b: ndarray) -> ndarray:
    """Products summed over the last axis of both."""
    return invoke(kernel_of(products.inner), (a, b), ndarray)


def outer(a: ndarray, b: ndarray) -> ndarray:
    """All products of the elements of two flattened arrays."""
    return invoke(kernel_of(products.outer), (a, b), ndarray)


def vdot(a: ndarray, b: ndarray) -> ndarray:
    """The sum of products of two flattened arrays."""
    return invoke(kernel_of(products.vdot), (a, b), ndarray)


def kron(a: ndarray, b: ndarray) -> ndarray:
    """The Kronecker product."""
    return invoke(kernel_of(products.kron), (a, b), ndarray)


def einsum(*operands: Any, **kwargs: Any) -> ndarray:
    """Sums of products in Einstein's notation, e.g. ``einsum('ij,jk->ik', a, b)``."""
    out = kwargs.pop("out", None)
    kwargs.pop("optimize", None)
    if kwargs:
        raise TypeError(f"einsum() got an unexpected keyword argument '{next(iter(kwargs))}'")
    if not operands or not isinstance(operands[0], str):
        raise ValueError("einsum: the first argument has to be the subscripts, a string")
    return invoke(kernel_of(products.einsum, subscripts=operands[0]), operands[1:], ndarray, out)


def polyval(p: Any, x: Any) -> Any:
    """A polynomial, highest power first, at x."""
    if isinstance(p, ndarray) and isinstance(x, ndarray):
        return invoke(kernel_of(products.polyval), (p, x), ndarray)
    if isinstance(p, ndarray) or isinstance(x, ndarray):
        raise TypeError("polyval: p and x have to be mx.np arrays both, or neither")
    return _numpy.polyval(p, x)
