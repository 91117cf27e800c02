"""``mx.np``: arrays and functions with NumPy semantics.

Arrays are ``mx.np.ndarray``, a handle like ``mx.nd.NDArray`` on the same memory and the same tape; functions are
pure functions of ``_ops/numpy`` run through the engine.
"""

from __future__ import annotations

import sys as _sys

import gluonjax.ndarray as _nd
from gluonjax.numpy import _arithmetic, _methods, arrayprint, function_base, io, multiarray, stride_tricks, utils
from gluonjax.numpy import fallback as fallback
from gluonjax.numpy import fallback_linalg as fallback_linalg
from gluonjax.numpy._creation import (
    arange, array, asarray, blackman, copy, empty, empty_like, eye, full, full_like, hamming, hanning, identity,
    indices, linspace, logspace, ones, ones_like, zeros, zeros_like,
)  # fmt: skip
from gluonjax.numpy._products import dot, einsum, inner, kron, matmul, outer, polyval, tensordot, vdot
from gluonjax.numpy._reductions import (
    all, amax, amin, any, argmax, argmin, around, average, clip, count_nonzero, cumsum, diff, ediff1d, max, mean,
    median, min, nan_to_num, percentile, prod, product, quantile, round, round_, sometrue, std, sum, var, where,
)  # fmt: skip
from gluonjax.numpy._sets import (
    argwhere, bincount, delete, diag_indices_from, flatnonzero, histogram, insert, may_share_memory, nonzero,
    shares_memory, unique, unravel_index,
)  # fmt: skip
from gluonjax.numpy._shapes import (
    append, argsort, array_split, atleast_1d, atleast_2d, atleast_3d, broadcast_arrays, broadcast_to, column_stack,
    concatenate, diag, diagflat, diagonal, dsplit, dstack, expand_dims, flip, fliplr, flipud, hsplit, hstack,
    meshgrid, moveaxis, ndim, pad, ravel, repeat, reshape, resize, roll, rollaxis, rot90, row_stack, shape, size,
    sort, split, squeeze, stack, swapaxes, take, take_along_axis, tile, trace, transpose, tril, vsplit, vstack,
)  # fmt: skip
from gluonjax.numpy.arrayprint import set_printoptions
from gluonjax.numpy.io import genfromtxt
from gluonjax.numpy.multiarray import ndarray
from gluonjax.numpy.utils import (
    NAN, NINF, NZERO, PINF, PZERO, NaN, bool, bool_, e, finfo, float16, float32, float64, inf, int8, int32, int64,
    nan, newaxis, pi, uint8,
)  # fmt: skip

_arithmetic.install(ndarray)
_methods.install(ndarray)

_here = _sys.modules[__name__]
for _name in _arithmetic.ROWS:
    setattr(_here, _name, _arithmetic.binary_function(_name, _name))
divide = _arithmetic.binary_function("divide", "true_divide")
remainder = _arithmetic.binary_function("remainder", "mod")
for _name in (*_arithmetic.UNARY, *_arithmetic.TESTS):
    setattr(_here, _name, _arithmetic.unary_function(_name))
for _name in (*fallback.NAMES, *_arithmetic.ROWS):
    if not hasattr(_here, _name):
        setattr(_here, _name, getattr(fallback, _name))

from gluonjax.numpy import _op, linalg, random  # noqa: E402

# MXNet defines all functions in mxnet.numpy.multiarray; scripts import them from there too.
for _name, _value in list(vars(_here).items()):
    if not _name.startswith("_") and callable(_value) and not hasattr(multiarray, _name):
        setattr(multiarray, _name, _value)

# hybrid_forward reaches these functions as F.np.
_nd.np = _here  # type: ignore[attr-defined]
