"""Module functions that are methods of arrays too: ``x.sum()`` is ``np.sum(x)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gluonjax.numpy import _products, _reductions, _sets, _shapes

# Methods whose order of arguments is the module function's.
PLAIN: dict[str, Callable[..., Any]] = {
    "cumsum": _reductions.cumsum, "dot": _products.dot, "mean": _reductions.mean, "std": _reductions.std,
    "var": _reductions.var, "argmax": _reductions.argmax, "argmin": _reductions.argmin,
    "argsort": _shapes.argsort, "diag": _shapes.diag, "diagonal": _shapes.diagonal, "nonzero": _sets.nonzero,
    "prod": _reductions.prod, "ravel": _shapes.ravel, "repeat": _shapes.repeat, "round": _reductions.around,
    "swapaxes": _shapes.swapaxes, "take": _shapes.take, "tile": _shapes.tile, "flip": _shapes.flip,
    "trace": _shapes.trace,
}  # fmt: skip
# Methods with NumPy's order (axis, out, keepdims), which the module functions of MXNet do not have.
REDUCTIONS = {
    "max": _reductions.max, "min": _reductions.min, "all": _reductions.all, "any": _reductions.any,
}  # fmt: skip


def _plain(name: str, function: Callable[..., Any]) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"``mx.np.{function.__name__}(self, ...)``. {function.__doc__}"
    return method


def _reduction(name: str, function: Callable[..., Any]) -> Any:
    def method(self: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return function(self, axis=axis, keepdims=keepdims, out=out)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"``mx.np.{name}`` of this array. {function.__doc__}"
    return method


def _sum(self: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """The sum over axes."""
    return _reductions.sum(self, axis=axis, dtype=dtype, keepdims=keepdims, out=out)


def _clip(self: Any, min: Any = None, max: Any = None, out: Any = None) -> Any:
    """Values limited to [min, max]."""
    return _reductions.clip(self, min, max, out)


def _sort(self: Any, axis: int = -1, kind: Any = None, order: Any = None) -> None:
    """Bring the elements along an axis into ascending order, in place."""
    self[...] = _shapes.sort(self, axis, kind, order)


def install(cls: Any) -> None:
    """Give the class its methods."""
    for name, function in PLAIN.items():
        setattr(cls, name, _plain(name, function))
    for name, function in REDUCTIONS.items():
        setattr(cls, name, _reduction(name, function))
    cls.sum, cls.clip, cls.sort = _sum, _clip, _sort
