"""Making arrays with NumPy semantics; the default dtype is float32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as _numpy

from gluonjax._base.devices import Context, current_context
from gluonjax._base.dtypes import to_dtype
from gluonjax._base.errors import ArgumentTypeError, MXNetError
from gluonjax._engine.run import is_tracer
from gluonjax._ops.numpy import elementwise
from gluonjax.ndarray._invoke import new_handle
from gluonjax.ndarray.ndarray import NDArray, _to_value, wrap
from gluonjax.numpy._call import UnsupportedArgument, dtype_or_none, invoke, kernel_of, shape_of, write_out
from gluonjax.numpy.multiarray import ndarray

FLOAT32 = _numpy.float32


def array(object: Any, dtype: Any = None, ctx: Context | None = None) -> ndarray:
    """Copy an array-like into a new array.

    NumPy arrays and ``mx.np`` arrays keep their dtype, everything else becomes float32.

    >>> from gluonjax import np
    >>> np.array([1, 2])
    array([1., 2.])
    """
    place = Context(ctx) if ctx is not None else current_context()
    if isinstance(object, NDArray):
        if not isinstance(object, ndarray):
            raise ValueError(
                "to make an mx.np.ndarray of an mx.nd.NDArray, use its as_np_ndarray(), which copies nothing"
            )
        copied = object.astype(object.dtype if dtype is None else dtype)
        return copied if ctx is None else copied.as_in_ctx(place)
    if dtype is None:
        dtype = object.dtype if hasattr(object, "dtype") and not isinstance(object, _numpy.bool_) else FLOAT32
    elif is_tracer(object):
        dtype = to_dtype(dtype)
    if isinstance(object, (list, tuple)):
        object = _without_handles(object)
    try:
        value = _to_value(object, to_dtype(dtype), place)
    except TypeError as error:
        raise TypeError(f"{error}") from None
    except ValueError as error:
        raise TypeError(f"np.array: cannot make an array of {type(object).__name__}: {error}") from None
    if isinstance(value, _numpy.ndarray) and value.dtype == _numpy.object_:
        raise ArgumentTypeError(f"np.array: cannot make an array of {type(object).__name__}")
    return new_handle(ndarray, value, place)


def _without_handles(source: Sequence[Any]) -> Any:
    if not any(isinstance(entry, (NDArray, list, tuple)) for entry in source):
        return source
    return [
        entry.asnumpy() if isinstance(entry, NDArray) else _without_handles(entry) if isinstance(entry,
        (list, tuple))
        else entry
        for entry in source
    ]  # fmt: skip


def asarray(a: Any, dtype: Any = None, ctx: Context | None = None) -> ndarray:
    """The array itself where it is one already (of that dtype), else a new one."""
    if isinstance(a, ndarray) and (dtype is None or a.dtype == to_dtype(dtype)):
        return a
    return array(a, dtype, ctx)


def _check_order(name: str, order: str) -> None:
    if order != "C":
        raise UnsupportedArgument(name, f"only supports C-order, while received {order}; use order='C'")


def _dimensions(name: str, shape: Any) -> tuple[int, ...]:
    dims = shape_of(shape)
    if any(n < 0 for n in dims):
        raise MXNetError(f"{name}: negative dimensions are not allowed, got shape {dims}")
    return dims


def _filled(name: str, shape: Any, value: Any, dtype: Any, order: str, ctx: Any) -> ndarray:
    _check_order(name, order)
    content = _numpy.full(_dimensions(name, shape), value, to_dtype(dtype))
    return wrap(content, None if ctx is None else Context(ctx), ndarray)


def zeros(shape: Any, dtype: Any = None, order: str = "C", ctx: Any = None) -> ndarray:
    """An array of zeros."""
    return _filled("zeros", shape, 0, dtype, order, ctx)


def ones(shape: Any, dtype: Any = FLOAT32, order: str = "C", ctx: Any = None) -> ndarray:
    """An array of ones."""
    return _filled("ones", shape, 1, dtype, order, ctx)


def empty(shape: Any, dtype: Any = FLOAT32, order: str = "C", ctx: Any = None) -> ndarray:
    """An array whose content does not matter (here: zeros)."""
    return _filled("empty", shape, 0, dtype, order, ctx)


def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", ctx: Any = None, out: Any = None) -> ndarray:
    """An array filled with one value, or with an array that broadcasts to the shape."""
    _check_order("full", order)
    if isinstance(fill_value, ndarray):
        from gluonjax.numpy._shapes import broadcast_to

        result = broadcast_to(fill_value, shape_of(shape))
        result = result if dtype is None else result.astype(dtype)
    else:
        if dtype is None:
            dtype = _numpy.bool_ if isinstance(fill_value, (bool, _numpy.bool_)) else FLOAT32
        result = _filled("full", shape, fill_value, dtype, order, ctx)
    return result if out is None else _into(out, result)


def _into(out: Any, result: ndarray) -> Any:
    write_out("out", out, result._value, None, 0)
    return out


def _like(name: str, a: Any, value: Any, dtype: Any, order: str, ctx: Any, out: Any) -> ndarray:
    _check_order(name, order)
    if not isinstance(a, ndarray):
        if isinstance(a, (int, float)):
            return array(value, dtype or FLOAT32, ctx)
        raise TypeError(f"{name}: wants an mx.np array, got {type(a).__name__}")
    kernel = kernel_of(elementwise.full_like, value=float(value), dtype=dtype_or_none(dtype))
    result = invoke(kernel, (a,), ndarray, out)
    return result if ctx is None else result.as_in_ctx(Context(ctx))


def zeros_like(a: Any, dtype: Any = None, order: str = "C", ctx: Any = None, out: Any = None) -> ndarray:
    """Zeros in the shape (and dtype) of another array."""
    return _like("zeros_like", a, 0, dtype, order, ctx, out)


def ones_like(a: Any, dtype: Any = None, order: str = "C", ctx: Any = None, out: Any = None) -> ndarray:
    """Ones in the shape (and dtype) of another array."""
    return _like("ones_like", a, 1, dtype, order, ctx, out)


def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "C", ctx: Any = None, out: Any = None
) -> ndarray:
    """One value in the shape (and dtype) of another array."""
    if isinstance(fill_value, bool) and dtype is None:
        dtype = _numpy.bool_
    return _like("full_like", a, fill_value, dtype, order, ctx, out)


def empty_like(prototype: Any, dtype: Any = None, order: str = "C", subok: bool = False, shape: Any = None) -> ndarray:
    """An array in the shape (and dtype) of another one, whose content does not matter."""
    if order != "C" or subok or shape is not None:
        raise UnsupportedArgument("empty_like", "only order='C', subok=False and shape=None are supported")
    return _like("empty_like", prototype, 0, dtype, order, None, None)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, ctx: Any = None) -> ndarray:
    """Evenly spaced values in [start, stop); float32 unless told otherwise."""
    if start is None and stop is None:
        raise ValueError("start and stop cannot be both None")
    if step == 0:
        raise ZeroDivisionError("step cannot be 0")
    step = 1 if step is None else step
    low: Any = 0 if stop is None else start
    high: Any = start if stop is None else stop
    count = max(0, int(_numpy.ceil((high - low) / step)))
    kind = to_dtype(dtype)
    if all(float(n).is_integer() for n in (low, step)):
        values = int(low) + int(step) * _numpy.arange(count, dtype=_numpy.int64)
    else:
        values = low + step * _numpy.arange(count, dtype=_numpy.float64)
    return wrap(values.astype(kind), None if ctx is None else Context(ctx), ndarray)


def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None,
    axis: int = 0, ctx: Any = None,
) -> Any:  # fmt: skip
    """``num`` evenly spaced values from ``start`` to ``stop``; with ``retstep`` also their distance."""
    if isinstance(start, (list, tuple, _numpy.ndarray, NDArray)) or isinstance(stop, (list, tuple, NDArray)):
        raise UnsupportedArgument("linspace", "start and stop have to be numbers")
    if axis != 0:
        raise UnsupportedArgument("linspace", "the axis of numbers is 0")
    values, step = _numpy.linspace(start, stop, num, endpoint, retstep=True)
    result = wrap(values.astype(to_dtype(dtype)), None if ctx is None else Context(ctx), ndarray)
    return (result, float(step)) if retstep else result


def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: float = 10.0, dtype: Any = None,
    axis: int = 0, ctx: Any = None,
) -> ndarray:  # fmt: skip
    """``num`` values from base**start to base**stop, evenly spaced on the logarithmic scale."""
    if isinstance(start, (list, tuple, _numpy.ndarray, NDArray)) or isinstance(stop, (list, tuple, NDArray)):
        raise UnsupportedArgument("logspace", "start and stop have to be numbers")
    if axis != 0:
        raise UnsupportedArgument("logspace", "the axis of numbers is 0")
    values = _numpy.logspace(start, stop, num, endpoint, base)
    return wrap(values.astype(to_dtype(dtype)), None if ctx is None else Context(ctx), ndarray)


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = FLOAT32, **kwargs: Any) -> ndarray:
    """Ones on the k-th diagonal of an (N, M) array of zeros."""
    ctx = kwargs.pop("ctx", None)
    kwargs.pop("order", None)
    if kwargs:
        raise TypeError(f"eye() got an unexpected keyword argument '{next(iter(kwargs))}'")
    for size in (N, N if M is None else M):
        if isinstance(size, float) or size < 0:
            raise MXNetError(f"eye: sizes have to be non-negative integers, got {size}")
    value = _numpy.eye(N, M, int(k), dtype=to_dtype(dtype))
    return wrap(value, None if ctx is None else Context(ctx), ndarray)


def identity(n: int, dtype: Any = None, ctx: Any = None) -> ndarray:
    """The n x n identity matrix."""
    if not isinstance(n, int):
        raise TypeError(f"identity: n has to be an int, got {type(n).__name__}")
    if n < 0:
        raise ValueError(f"identity: n cannot be negative, got {n}")
    return eye(n, dtype=dtype, ctx=ctx)


def indices(dimensions: Any, dtype: Any = _numpy.int32, ctx: Any = None) -> ndarray:
    """The positions of a grid, one leading entry for every axis."""
    if not isinstance(dimensions, (tuple, list)):
        raise ValueError("The dimensions must be sequence of ints")
    value = _numpy.indices(dimensions).astype(to_dtype(dtype))
    return wrap(value, None if ctx is None else Context(ctx), ndarray)


def _window(name: str, weights: tuple[float, ...]) -> Any:
    def window(M: int, dtype: Any = FLOAT32, ctx: Any = None) -> ndarray:
        if M < 1:
            return zeros((0,), dtype, ctx=ctx)
        phase = 2 * _numpy.pi * _numpy.arange(M) / (M - 1) if M > 1 else _numpy.array([_numpy.pi])
        value = sum(weight * _numpy.cos(order * phase) for order, weight in enumerate(weights))
        value = value if M > 1 else _numpy.ones(1)
        return wrap(_numpy.asarray(value, to_dtype(dtype)), None if ctx is None else Context(ctx), ndarray)

    window.__name__ = window.__qualname__ = name
    window.__doc__ = f"The {name} window of M points."
    return window


hanning = _window("hanning", (0.5, -0.5))
hamming = _window("hamming", (0.54, -0.46))
blackman = _window("blackman", (0.42, -0.5, 0.08))


def copy(a: ndarray, out: Any = None) -> ndarray:
    """A new array with the same content."""
    return invoke(kernel_of(elementwise.identity), (a,), ndarray, out)
