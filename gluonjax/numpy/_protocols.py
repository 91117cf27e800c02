"""What NumPy's own functions do with ``mx.np`` arrays: they go to the function of the same name."""

from __future__ import annotations

from typing import Any

import numpy as np

from gluonjax.numpy.multiarray import ndarray

_UFUNC_NAMES = {"divide": "true_divide", "remainder": "mod", "conjugate": "positive", "invert": "bitwise_not"}


def _module() -> Any:
    import gluonjax.numpy

    return gluonjax.numpy


def call_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """``numpy.<ufunc>(...)`` with an ``mx.np`` array among the inputs."""
    if method != "__call__":
        raise TypeError(f"numpy.{ufunc.__name__}.{method} is not supported on mx.np arrays; use a function of mx.np")
    function = getattr(_module(), str(_UFUNC_NAMES.get(ufunc.__name__, ufunc.__name__)), None)
    if function is None:
        raise TypeError(f"mx.np has no function {ufunc.__name__!r}; convert with asnumpy() first")
    out = options.pop("out", None)
    if out is not None:
        options["out"] = out[0] if isinstance(out, tuple) else out
    return function(*inputs, **options)


def call_function(func: Any, args: Any, kwargs: Any) -> Any:
    """``numpy.<func>(...)`` with an ``mx.np`` array among the arguments."""
    place = _module()
    if func.__module__ == "numpy.linalg" or ".linalg" in func.__module__:
        place = place.linalg
    function = getattr(place, func.__name__, None)
    if function is not None:
        return function(*args, **kwargs)
    return run_on_numpy(func, args, kwargs)


def run_on_numpy(func: Any, args: Any, kwargs: Any) -> Any:
    """Run a NumPy function on copies and convert its result back. No gradient flows through."""
    plain_args = tuple(to_numpy(value) for value in args)
    return from_numpy(func(*plain_args, **{name: to_numpy(value) for name, value in kwargs.items()}))


def to_numpy(value: Any) -> Any:
    """NumPy arrays for all arrays in nested containers."""
    if isinstance(value, ndarray):
        return value.asnumpy()
    if isinstance(value, (list, tuple)):
        return type(value)(to_numpy(entry) for entry in value)
    return value


def from_numpy(value: Any) -> Any:
    """``mx.np`` arrays for all NumPy arrays (and array scalars) in nested containers."""
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "fiub":
        return _module().array(value, dtype=value.dtype)
    if isinstance(value, tuple):
        return tuple(from_numpy(entry) for entry in value)
    if isinstance(value, list):
        return [from_numpy(entry) for entry in value]
    return value
