"""Operators that are methods of arrays too: ``x.relu()`` is ``nd.relu(x)``."""

from __future__ import annotations

from typing import Any

from gluonjax._ops import registry
from gluonjax.ndarray.register import make_function

NAMES = (
    "abs arccos arccosh arcsin arcsinh arctan arctanh argmax argmax_channel argmin argsort broadcast_axes cbrt ceil "
    "clip cos cosh degrees depth_to_space diag exp expm1 fix flip floor log log10 log1p log2 log_softmax max mean "
    "min nanprod nansum norm one_hot ones_like pad pick prod radians rcbrt reciprocal relu repeat reshape_like rint "
    "round rsqrt shape_array sigmoid sign sin sinh size_array slice slice_axis slice_like softmax softmin sort "
    "space_to_depth split sqrt square sum swapaxes take tan tanh tile topk trunc zeros_like"
).split()


def install(cls: Any) -> None:
    """Give a handle class its operator methods."""
    offered = set(registry.names())
    for name in NAMES:
        if name in offered and name not in cls.__dict__:
            setattr(cls, name, _Method(name, cls))


class _Method:
    """A method that takes its own place when it is first asked for."""

    def __init__(self, name: str, cls: Any) -> None:
        self._name, self._cls = name, cls

    def __get__(self, handle: Any, owner: Any = None) -> Any:
        method = _method(make_function(registry.get(self._name), self._name, self._cls), self._name)
        setattr(self._cls, self._name, method)
        return method.__get__(handle, owner)


def _method(function: Any, name: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"``mx.nd.{name}(self, ...)``. " + (function.__doc__ or "")
    return method
