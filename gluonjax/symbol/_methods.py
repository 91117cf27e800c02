"""Operators that are methods of symbols too: ``x.sum(axis=1)`` is ``sym.sum(x, axis=1)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from gluonjax._ops import registry
from gluonjax.base import NotImplementedForSymbol
from gluonjax.symbol.register import make_function

NAMES = (
    "abs arccos arccosh arcsin arcsinh arctan arctanh argmax argmax_channel argmin argsort broadcast_axes "
    "broadcast_like broadcast_to cbrt ceil clip cos cosh degrees depth_to_space exp expm1 fix flip floor "
    "log log10 "
    "log1p log2 log_softmax max mean min nanprod nansum norm one_hot ones_like pad pick prod radians rcbrt "
    "reciprocal "
    "relu repeat reshape reshape_like rint round rsqrt shape_array sigmoid sign sin sinh size_array slice "
    "slice_axis "
    "slice_like softmax softmin sort space_to_depth split sqrt square sum swapaxes take tan tanh tile topk "
    "transpose "
    "trunc zeros_like"
).split()

# Methods of arrays that have no meaning before a symbol is bound.
ARRAY_ONLY = ("wait_to_read", "asnumpy", "asscalar", "copy", "as_in_context", "detach", "backward")


def operator_method(name: str, method_name: str | None = None) -> Callable[..., Any]:
    """The method that calls the operator function ``name`` with the symbol as its first argument."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return make_function(registry.get(name), name, type(self))(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = method_name or name
    method.__doc__ = f"``sym.{name}(self, ...)``."
    return method


def _refused(name: str) -> Callable[..., Any]:
    def method(self: Any) -> NoReturn:
        raise NotImplementedForSymbol(method, None)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = "Arrays only; a symbol has no values before it is bound."
    return method


def install(cls: type[Any]) -> None:
    """Give a symbol class its operator methods."""
    for name in NAMES:
        setattr(cls, name, operator_method(name))
    cls.astype = operator_method("cast", "astype")
    for name in ARRAY_ONLY:
        setattr(cls, name, _refused(name))
