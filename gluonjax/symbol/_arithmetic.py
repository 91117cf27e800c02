"""Arithmetic and comparison of symbols with symbols and numbers."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from gluonjax._base.errors import ArgumentTypeError
from gluonjax._ops import registry
from gluonjax.base import NotImplementedForSymbol
from gluonjax.symbol._compose import SymbolBase, create

# method -> ((operator, name hint) for a symbol, for a number, for a number on the left). The hints are what
# MXNet's automatic names begin with; they follow the capitalized aliases (_PlusScalar) and are irregular where
# MXNet's are.
_Pair = tuple[str, str]
_TABLE: dict[str, tuple[_Pair, _Pair, _Pair | None]] = {
    "add": (("elemwise_add", "_plus"), ("_plus_scalar", "_plusscalar"), ("_plus_scalar", "_plusscalar")),
    "sub": (
        ("elemwise_sub", "_minus"),
        ("_minus_scalar", "_minusscalar"),
        ("_rminus_scalar", "_rminusscalar"),
    ),
    "mul": (("elemwise_mul", "_mul"), ("_mul_scalar", "_mulscalar"), ("_mul_scalar", "_mulscalar")),
    "truediv": (("elemwise_div", "_div"), ("_div_scalar", "_divscalar"), ("_rdiv_scalar", "_rdivscalar")),
    "mod": (("_mod", "_mod"), ("_mod_scalar", "_modscalar"), ("_rmod_scalar", "_rmodscalar")),
    "pow": (("_power", "_power"), ("_power_scalar", "_powerscalar"), ("_rpower_scalar", "_rpower_scalar")),
    "eq": (("_equal", "_equal"), ("_equal_scalar", "_equal_scalar"), None),
    "ne": (("_not_equal", "_not_equal"), ("_not_equal_scalar", "_not_equal_scalar"), None),
    "gt": (("_greater", "_greater"), ("_greater_scalar", "_greater_scalar"), None),
    "ge": (("_greater_equal", "_greater_equal"), ("_greater_equal_scalar", "_greater_equal_scalar"), None),
    "lt": (("_lesser", "_lesser"), ("_lesser_scalar", "_lesser_scalar"), None),
    "le": (("_lesser_equal", "_lesser_equal"), ("_lesser_equal_scalar", "_lesser_equal_scalar"), None),
}

_IN_PLACE = {"iadd": "+=", "isub": "-=", "imul": "*=", "itruediv": "/=", "imod": "%="}


def binary(symbol: SymbolBase, other: SymbolBase, pair: _Pair, name: str | None = None) -> Any:
    """An operator of two symbols."""
    op = registry.get(pair[0])
    labels = op.input_names
    return create(op, pair[1], (), {labels[0]: symbol, labels[1]: other}, {}, name, None, type(symbol))


def with_number(symbol: SymbolBase, number: Any, pair: _Pair, name: str | None = None) -> Any:
    """An operator of a symbol and a number."""
    op = registry.get(pair[0])
    return create(op, pair[1], (), {op.input_names[0]: symbol}, {"scalar": number}, name, None, type(symbol))


def is_number(value: Any) -> bool:
    return isinstance(value, (Number, np.generic))


def _refuse(other: Any) -> NoReturn:
    raise ArgumentTypeError(f"type {type(other)} not supported")


def _forward(two: _Pair, number: _Pair) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if isinstance(other, SymbolBase):
            return binary(self, other, two)
        if is_number(other):
            return with_number(self, other, number)
        _refuse(other)

    return method


def _reversed(two: _Pair, number: _Pair) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if isinstance(other, SymbolBase):
            return binary(other, self, two)
        if is_number(other):
            return with_number(self, other, number)
        _refuse(other)

    return method


def _in_place(name: str, alias: str) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> NoReturn:
        raise NotImplementedForSymbol(method, alias, other)

    method.__name__ = name
    return method


class Arithmetic(SymbolBase):
    """The operators of Python's syntax. They do not broadcast; ``broadcast_add`` and its family do."""

    __slots__ = ()

    if TYPE_CHECKING:  # what the loop below adds

        def _binary(self, other: Any) -> Self: ...

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _binary
        __mod__ = __rmod__ = __pow__ = __rpow__ = __gt__ = __ge__ = __lt__ = __le__ = _binary

    def __neg__(self) -> Any:
        return with_number(self, -1.0, _TABLE["mul"][1])

    def __abs__(self) -> Any:
        op = registry.get("abs")
        return create(op, "abs", (), {op.input_names[0]: self}, {}, None, None, type(self))

    def __bool__(self) -> bool:
        raise NotImplementedForSymbol(self.__bool__, "bool")

    # Equality is an operator of the graph, so symbols cannot be keys of dictionaries.
    __hash__ = None  # type: ignore[assignment]


for _name, (_two, _number, _right) in _TABLE.items():
    _method = _forward(_two, _number)
    _method.__name__ = f"__{_name}__"
    _method.__doc__ = f"A symbol for the operator {_two[0]} (or {_number[0]} with a number)."
    setattr(Arithmetic, _method.__name__, _method)
    if _right is not None:
        _method = _reversed(_two, _right)
        _method.__name__ = f"__r{_name}__"
        setattr(Arithmetic, _method.__name__, _method)
for _name, _alias in _IN_PLACE.items():
    setattr(Arithmetic, f"__{_name}__", _in_place(f"__{_name}__", _alias))
