"""Symbols of constants, and functions of symbols or numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gluonjax._base.errors import ArgumentTypeError, ArgumentValueError
from gluonjax._ops import registry
from gluonjax.symbol._arithmetic import binary, is_number, with_number
from gluonjax.symbol._compose import SymbolBase
from gluonjax.symbol.register import make_function
from gluonjax.symbol.symbol import Symbol


def _call(name: str, /, *args: Any, **kwargs: Any) -> Any:
    return make_function(registry.get(name), name, Symbol)(*args, **kwargs)


def zeros(shape: Any, dtype: Any = None, **kwargs: Any) -> Symbol:
    """A symbol of zeros; a 0 in the shape is a dimension that its users determine.

    >>> zeros((2, 3)).eval()[0].shape
    (2, 3)
    """
    return _call("_zeros", shape=shape, dtype=np.float32 if dtype is None else dtype, **kwargs)


def ones(shape: Any, dtype: Any = None, **kwargs: Any) -> Symbol:
    """A symbol of ones."""
    return _call("_ones", shape=shape, dtype=np.float32 if dtype is None else dtype, **kwargs)


def full(shape: Any, val: Any, dtype: Any = None, **kwargs: Any) -> Symbol:
    """A symbol of one value everywhere."""
    return _call(
        "_full", shape=shape, dtype=np.float32 if dtype is None else dtype, value=float(val), **kwargs
    )


def arange(
    start: Any,
    stop: Any = None,
    step: Any = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    name: str | None = None,
    dtype: Any = None,
) -> Symbol:
    """Evenly spaced values ``start, start + step, ...`` below ``stop``, each ``repeat`` times."""
    return _call(
        "_arange", start=start, stop=stop, step=step, repeat=repeat, infer_range=infer_range, name=name,
        dtype=np.float32 if dtype is None else dtype,
    )  # fmt: skip


def linspace(
    start: Any, stop: Any, num: int, endpoint: bool = True, name: str | None = None, dtype: Any = None
) -> Symbol:
    """``num`` evenly spaced values from ``start`` to ``stop``."""
    return _call(
        "_linspace", start=start, stop=stop, num=num, endpoint=endpoint, name=name,
        dtype=np.float32 if dtype is None else dtype,
    )  # fmt: skip


def eye(N: int, M: int = 0, k: int = 0, dtype: Any = None, **kwargs: Any) -> Symbol:
    """A matrix with ones on its ``k``-th diagonal."""
    return _call("_eye", N, M, k, dtype=np.float32 if dtype is None else dtype, **kwargs)


def histogram(a: Symbol, bins: Any = 10, range: Any = None, **kwargs: Any) -> Symbol:
    """Counts and edges of a histogram; ``bins`` is a number (with ``range``) or a symbol of edges."""
    if isinstance(bins, SymbolBase):
        return _call("_histogram", data=a, bins=bins, **kwargs)
    if isinstance(bins, (int, np.integer)):
        if range is None:
            raise ArgumentValueError("histogram: null range is not supported in symbol mode; give range=(low, high)")
        return _call("_histogram", data=a, bin_cnt=int(bins), range=range, **kwargs)
    raise ArgumentValueError(f"histogram: bins argument should be either an integer or a Symbol, got {bins!r}")


def split_v2(ary: Symbol, indices_or_sections: Any, axis: int = 0, squeeze_axis: bool = False) -> Symbol:
    """Split along an axis into equal sections (a number) or at positions (a tuple)."""
    if isinstance(indices_or_sections, (int, np.integer)):
        indices, sections = [], int(indices_or_sections)
    elif isinstance(indices_or_sections, (tuple, list)):
        indices, sections = [0, *indices_or_sections], 0
    else:
        raise ArgumentValueError(
            f"split_v2: indices_or_sections must either int or tuple of ints, got {indices_or_sections!r}"
        )
    return _call("_split_v2", ary, indices=indices, axis=axis, squeeze_axis=squeeze_axis, sections=sections)


def _of_two(
    name: str,
    two: tuple[str, str],
    number: tuple[str, str],
    flipped: tuple[str, str],
    plain: Callable[[Any, Any], Any],
    doc: str,
) -> Callable[[Any, Any], Any]:
    def function(left: Any, right: Any) -> Any:
        if isinstance(left, SymbolBase):
            if isinstance(right, SymbolBase):
                return binary(left, right, two)
            if is_number(right):
                return with_number(left, right, number)
        elif is_number(left):
            if isinstance(right, SymbolBase):
                return with_number(right, left, flipped)
            if is_number(right):
                return plain(left, right)
        raise ArgumentTypeError(f"{name}: types ({type(left)}, {type(right)}) not supported")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


_MAX, _MIN, _HYPOT = (("_maximum_scalar", "_maximumscalar"), ("_minimum_scalar", "_minimumscalar"),
                      ("_hypot_scalar", "_hypotscalar"))  # fmt: skip
maximum = _of_two(
    "maximum", ("_maximum", "_maximum"), _MAX, _MAX, max, "Elementwise larger one of two symbols or numbers."
)
minimum = _of_two(
    "minimum", ("_minimum", "_minimum"), _MIN, _MIN, min, "Elementwise smaller one of two symbols or numbers."
)
hypot = _of_two(
    "hypot",
    ("_hypot", "_hypot"),
    _HYPOT,
    _HYPOT,
    np.hypot,
    "``sqrt(left**2 + right**2)`` of symbols or numbers.",
)
_POWER = _of_two(
    "pow", ("_power", "_power"), ("_power_scalar", "_powerscalar"), ("_rpower_scalar", "_rpowerscalar"), pow,
    "``base ** exp`` of symbols or numbers.",
)  # fmt: skip


def pow(base: Any, exp: Any) -> Any:
    """``base ** exp`` elementwise; each a symbol or a number.

    >>> from gluonjax import sym
    >>> pow(2, sym.var("x")).name
    '_rpowerscalar0'
    """
    return _POWER(base, exp)


def power(base: Any, exp: Any) -> Any:
    """Another name of ``pow``."""
    return _POWER(base, exp)
