"""Sums, means, extremes and the like: module functions with NumPy's arguments."""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from gluonjax._base.errors import ArgumentTypeError
from gluonjax._ops.numpy import elementwise, reduce
from gluonjax.numpy._call import UnsupportedArgument, axes_or_none, dtype_or_none, invoke, kernel_of
from gluonjax.numpy.multiarray import ndarray


def wants_array(name: str, argument: str, value: Any) -> ndarray:
    """The value, which has to be an ``mx.np`` array."""
    if not isinstance(value, ndarray):
        raise ArgumentTypeError(f"{name}: argument {argument} must be an mx.np array, got {type(value).__name__}")
    return value


def sum(
    a: ndarray,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    out: Any = None,
) -> ndarray:
    """The sum of the elements over axes; booleans are counted as int64.

    >>> from gluonjax import np
    >>> np.sum(np.ones((2, 3)), axis=1)
    array([3., 3.])
    """
    wants_array("sum", "a", a)
    kernel = kernel_of(
        reduce.sum,
        axis=axes_or_none(axis),
        dtype=dtype_or_none(dtype),
        keepdims=bool(keepdims),
        initial=initial,
    )
    return invoke(kernel, (a,), ndarray, out)


def prod(
    a: ndarray,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
) -> ndarray:
    """The product of the elements over axes."""
    wants_array("prod", "a", a)
    kernel = kernel_of(
        reduce.prod,
        axis=axes_or_none(axis),
        dtype=dtype_or_none(dtype),
        keepdims=bool(keepdims),
        initial=initial,
    )
    return invoke(kernel, (a,), ndarray, out)


product = prod


def mean(a: ndarray, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> ndarray:
    """The mean over axes; that of whole numbers is float32."""
    wants_array("mean", "a", a)
    kernel = kernel_of(reduce.mean, axis=axes_or_none(axis), dtype=dtype_or_none(dtype), keepdims=bool(keepdims))
    return invoke(kernel, (a,), ndarray, out)


def _spread(a: ndarray, axis: Any, dtype: Any, out: Any, ddof: int, keepdims: bool, root: bool) -> ndarray:
    wants_array("std" if root else "var", "a", a)
    kernel = kernel_of(
        reduce.var,
        axis=axes_or_none(axis),
        dtype=dtype_or_none(dtype),
        ddof=ddof,
        keepdims=bool(keepdims),
        root=root,
    )
    return invoke(kernel, (a,), ndarray, out)


def std(
    a: ndarray, axis: Any = None, dtype: Any = None, out: Any = None, ddof: int = 0, keepdims: bool = False
) -> ndarray:
    """The standard deviation over axes."""
    return _spread(a, axis, dtype, out, ddof, keepdims, True)


def var(
    a: ndarray, axis: Any = None, dtype: Any = None, out: Any = None, ddof: int = 0, keepdims: bool = False
) -> ndarray:
    """The variance over axes."""
    return _spread(a, axis, dtype, out, ddof, keepdims, False)


def _extreme(name: str, a: ndarray, axis: Any, keepdims: bool, out: Any) -> ndarray:
    wants_array(name, "a", a)
    kernel = kernel_of(reduce.extreme, axis=axes_or_none(axis), keepdims=bool(keepdims), largest=name == "max")
    return invoke(kernel, (a,), ndarray, out)


def max(a: ndarray, axis: Any = None, keepdims: bool = False, out: Any = None) -> ndarray:
    """The largest element over axes; every tie gets the gradient."""
    return _extreme("max", a, axis, keepdims, out)


def min(a: ndarray, axis: Any = None, keepdims: bool = False, out: Any = None) -> ndarray:
    """The smallest element over axes; every tie gets the gradient."""
    return _extreme("min", a, axis, keepdims, out)


amax, amin = max, min


def _position(a: ndarray, axis: Any, out: Any, largest: bool) -> ndarray:
    wants_array("argmax" if largest else "argmin", "a", a)
    kernel = kernel_of(reduce.position, axis=None if axis is None else int(axis), largest=largest)
    return invoke(kernel, (a,), ndarray, out)


def argmax(a: ndarray, axis: Any = None, out: Any = None) -> ndarray:
    """The int64 position of the largest element along an axis, or in the flattened array."""
    return _position(a, axis, out, True)


def argmin(a: ndarray, axis: Any = None, out: Any = None) -> ndarray:
    """The int64 position of the smallest element along an axis, or in the flattened array."""
    return _position(a, axis, out, False)


def _truth(a: ndarray, axis: Any, keepdims: bool, out: Any, every: bool) -> ndarray:
    wants_array("all" if every else "any", "a", a)
    kernel = kernel_of(reduce.truth, axis=axes_or_none(axis), keepdims=bool(keepdims), every=every)
    return invoke(kernel, (a,), ndarray, out)


def all(a: ndarray, axis: Any = None, keepdims: bool = False, out: Any = None) -> ndarray:
    """Whether all elements over axes are nonzero."""
    return _truth(a, axis, keepdims, out, True)


def any(a: ndarray, axis: Any = None, keepdims: bool = False, out: Any = None) -> ndarray:
    """Whether any element over axes is nonzero."""
    return _truth(a, axis, keepdims, out, False)


sometrue = any


def cumsum(a: ndarray, axis: Any = None, dtype: Any = None, out: Any = None) -> ndarray:
    """Running sums along an axis, or of the flattened array."""
    wants_array("cumsum", "a", a)
    kernel = kernel_of(reduce.cumsum, axis=None if axis is None else int(axis), dtype=dtype_or_none(dtype))
    return invoke(kernel, (a,), ndarray, out)


def average(a: ndarray, axis: Any = None, weights: Any = None, returned: bool = False, out: Any = None) -> Any:
    """The weighted mean over axes; with ``returned`` a list of it and the sum of the weights."""
    wants_array("average", "a", a)
    axes = axes_or_none(axis)
    inputs = (a,) if weights is None else (a, wants_array("average", "weights", weights))
    fn = reduce.average if weights is None else reduce.average_scale
    results = invoke(kernel_of(fn, axis=axes), inputs, ndarray, None, many=True)
    if out is not None:
        out[...] = results[0]
        results[0] = out
    return results if returned else results[0]


def _quantile(
    name: str,
    a: ndarray,
    q: Any,
    axis: Any,
    out: Any,
    overwrite_input: Any,
    interpolation: str,
    keepdims: bool,
) -> ndarray:
    wants_array(name, "a", a)
    if overwrite_input is not None:
        raise UnsupportedArgument(name, "overwrite_input is not supported; leave it out")
    share = q if isinstance(q, ndarray) else _numpy.asarray(q, _numpy.float64)
    kernel = kernel_of(
        reduce.quantile, axis=axes_or_none(axis), method=interpolation, keepdims=bool(keepdims),
        percent=name == "percentile",
    )  # fmt: skip
    return invoke(kernel, (a, share), ndarray, out)


def percentile(
    a: ndarray, q: Any, axis: Any = None, out: Any = None, overwrite_input: Any = None,
    interpolation: str = "linear", keepdims: bool = False,
) -> ndarray:  # fmt: skip
    """The q-th percentile (0 to 100) over axes."""
    return _quantile("percentile", a, q, axis, out, overwrite_input, interpolation, keepdims)


def quantile(
    a: ndarray, q: Any, axis: Any = None, out: Any = None, overwrite_input: Any = None,
    interpolation: str = "linear", keepdims: bool = False,
) -> ndarray:  # fmt: skip
    """The q-th quantile (0 to 1) over axes."""
    return _quantile("quantile", a, q, axis, out, overwrite_input, interpolation, keepdims)


def median(
    a: ndarray, axis: Any = None, out: Any = None, overwrite_input: Any = None, keepdims: bool = False
) -> ndarray:
    """The middle value over axes."""
    return quantile(a, 0.5, axis, out, overwrite_input, keepdims=keepdims)


def around(x: Any, decimals: int = 0, out: Any = None, **kwargs: Any) -> Any:
    """Rounded to ``decimals`` places; ties go to the even neighbour."""
    if isinstance(x, ndarray):
        return invoke(kernel_of(elementwise.around, decimals=int(decimals)), (x,), ndarray, out)
    if isinstance(x, (int, float, _numpy.generic)):
        number: Any = x
        return _numpy.around(number, decimals)
    raise TypeError(f"type {type(x)} not supported")


round = around
round_ = around


def clip(a: Any, a_min: Any, a_max: Any, out: Any = None) -> Any:
    """Values limited to [a_min, a_max]; None leaves a side open."""
    if a_min is None and a_max is None:
        raise ValueError("array_clip: must set either max or min")
    if not isinstance(a, ndarray):
        return _numpy.clip(a, a_min, a_max)
    low, high = (None if n is None else float(n) for n in (a_min, a_max))
    return invoke(kernel_of(elementwise.clip, low=low, high=high), (a,), ndarray, out)


def nan_to_num(
    x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None, **kwargs: Any
) -> Any:
    """NaN and infinities replaced by finite numbers; with ``copy=False`` in place."""
    if not isinstance(x, ndarray):
        return _numpy.nan_to_num(x, copy, nan, posinf, neginf)
    limits = [None if n is None else float(n) for n in (posinf, neginf)]
    kernel = kernel_of(elementwise.nan_to_num, nan=float(nan), posinf=limits[0], neginf=limits[1])
    return invoke(kernel, (x,), ndarray, None if copy else x)


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """``x`` where the condition holds, else ``y``; with the condition alone, the positions where it holds."""
    if x is None and y is None:
        from gluonjax.numpy._sets import nonzero

        return nonzero(condition)
    if x is None or y is None:
        raise ValueError("either both or neither of x and y should be given")
    if not isinstance(condition, ndarray):
        chosen = x if condition != 0 else y
        from gluonjax.numpy._creation import array

        return chosen if isinstance(chosen, ndarray) else array(chosen)
    arrays = [each for each in (x, y) if isinstance(each, ndarray)]
    dtype = arrays[0]._cell.value.dtype if len(arrays) == 1 else _numpy.dtype(_numpy.float32)
    sides = [each if isinstance(each, ndarray) else _numpy.asarray(each).astype(dtype) for each in (x, y)]
    return invoke(kernel_of(elementwise.where), (condition, *sides), ndarray)


def diff(a: ndarray, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> ndarray:
    """The n-th difference of neighbours along an axis."""
    wants_array("diff", "a", a)
    if prepend is not None or append is not None:
        raise UnsupportedArgument("diff", "prepend and append are not supported; concatenate them first")
    return invoke(kernel_of(reduce.difference, n=int(n), axis=int(axis)), (a,), ndarray)


def ediff1d(ary: ndarray, to_end: Any = None, to_begin: Any = None) -> ndarray:
    """The differences of neighbours in the flattened array, between two optional ends."""
    from gluonjax.numpy._creation import array
    from gluonjax.numpy._shapes import concatenate

    wants_array("ediff1d", "ary", ary)
    middle = diff(ary.reshape(-1))
    ends = [
        None if end is None else (end if isinstance(end, ndarray) else array(end, dtype=ary.dtype)).reshape(-1)
        for end in (to_begin, to_end)
    ]
    parts = [part for part in (ends[0], middle, ends[1]) if part is not None]
    return parts[0] if len(parts) == 1 else concatenate(parts)


def count_nonzero(a: ndarray, axis: Any = None, keepdims: bool = False) -> ndarray:
    """How many elements over axes are nonzero."""
    nonzero: Any = a != 0
    return sum(nonzero, axis, keepdims=keepdims)
