"""Operators between arrays and numbers: which registered operator each Python operator stands for.

One table serves the methods of NDArray and the module functions (``nd.add``, ``nd.maximum``, ...).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gluonjax._ops import registry
from gluonjax._ops.opdef import OpDef
from gluonjax.ndarray._invoke import run_operator


class Row(NamedTuple):
    """Array-array operator, array-scalar operator, scalar-array operator, and the same on two numbers."""

    arrays: str
    scalar: str
    reversed: str
    numbers: Callable[[Any, Any], Any]


TABLE: dict[str, Row] = {
    "add": Row("broadcast_add", "_plus_scalar", "_plus_scalar", operator.add),
    "subtract": Row("broadcast_sub", "_minus_scalar", "_rminus_scalar", operator.sub),
    "multiply": Row("broadcast_mul", "_mul_scalar", "_mul_scalar", operator.mul),
    "divide": Row("broadcast_div", "_div_scalar", "_rdiv_scalar", operator.truediv),
    "modulo": Row("broadcast_mod", "_mod_scalar", "_rmod_scalar", operator.mod),
    "power": Row("broadcast_power", "_power_scalar", "_rpower_scalar", operator.pow),
    "maximum": Row("broadcast_maximum", "_maximum_scalar", "_maximum_scalar", lambda a, b: a if a > b else b),
    "minimum": Row("broadcast_minimum", "_minimum_scalar", "_minimum_scalar", lambda a, b: a if a < b else b),
    "equal": Row("broadcast_equal", "_equal_scalar", "_equal_scalar", lambda a, b: 1 if a == b else 0),
    "not_equal": Row("broadcast_not_equal", "_not_equal_scalar", "_not_equal_scalar", lambda a, b: int(a != b)),
    "greater": Row("broadcast_greater", "_greater_scalar", "_lesser_scalar", lambda a, b: int(a > b)),
    "greater_equal": Row(
        "broadcast_greater_equal", "_greater_equal_scalar", "_lesser_equal_scalar", lambda a, b: int(a >= b)
    ),
    "lesser": Row("broadcast_lesser", "_lesser_scalar", "_greater_scalar", lambda a, b: int(a < b)),
    "lesser_equal": Row(
        "broadcast_lesser_equal", "_lesser_equal_scalar", "_greater_equal_scalar", lambda a, b: int(a <= b)
    ),
    "logical_and": Row(
        "broadcast_logical_and", "_logical_and_scalar", "_logical_and_scalar", lambda a, b: int(bool(a and b))
    ),
    "logical_or": Row(
        "broadcast_logical_or", "_logical_or_scalar", "_logical_or_scalar", lambda a, b: int(bool(a or b))
    ),
    "logical_xor": Row(
        "broadcast_logical_xor", "_logical_xor_scalar", "_logical_xor_scalar", lambda a, b: int(bool(a) ^ bool(b))
    ),
    "hypot": Row("broadcast_hypot", "_hypot_scalar", "_hypot_scalar", np.hypot),
}  # fmt: skip

METHODS: dict[str, tuple[str, bool]] = {
    "__add__": ("add", False), "__radd__": ("add", True),
    "__sub__": ("subtract", False), "__rsub__": ("subtract", True),
    "__mul__": ("multiply", False), "__rmul__": ("multiply", True),
    "__truediv__": ("divide", False), "__rtruediv__": ("divide", True),
    "__div__": ("divide", False), "__rdiv__": ("divide", True),
    "__mod__": ("modulo", False), "__rmod__": ("modulo", True),
    "__pow__": ("power", False), "__rpow__": ("power", True),
    "__eq__": ("equal", False), "__ne__": ("not_equal", False),
    "__gt__": ("greater", False), "__ge__": ("greater_equal", False),
    "__lt__": ("lesser", False), "__le__": ("lesser_equal", False),
}  # fmt: skip

# MXNet has no __ipow__: ``a **= 2`` binds the name to a new array.
IN_PLACE = {
    "__iadd__": "add", "__isub__": "subtract", "__imul__": "multiply", "__itruediv__": "divide",
    "__idiv__": "divide", "__imod__": "modulo",
}  # fmt: skip

NUMBERS = (int, float, bool, np.number, np.bool_)


class Operators(NamedTuple):
    arrays: OpDef
    scalar: OpDef
    reversed: OpDef


def operators(name: str) -> Operators:
    """The operator definitions of one row."""
    row = TABLE[name]
    return Operators(registry.get(row.arrays), registry.get(row.scalar), registry.get(row.reversed))


def binary(ops: Operators, left: Any, right: Any, swapped: bool, out: Any, cls: Any) -> Any:
    """``left op right`` where left is an array; with ``swapped``, ``right op left``."""
    kind = type(right)
    if kind is float or kind is int or isinstance(right, NUMBERS):
        op = ops.reversed if swapped else ops.scalar
        return run_operator(op, (left,), {"scalar": float(right)}, out, cls)
    if isinstance(right, cls):
        pair = (right, left) if swapped else (left, right)
        return run_operator(ops.arrays, pair, {}, out, cls)
    if hasattr(right, "_cell"):
        pair = (right, left) if swapped else (left, right)
        return run_operator(ops.arrays, pair, {}, out, type(left))
    if isinstance(right, np.ndarray):
        # MXNet refuses NumPy operands; here they take the array's dtype and context.
        from gluonjax.ndarray._creation import array

        return binary(ops, left, array(right, left.context, left.dtype), swapped, out, type(left))
    raise TypeError(f"type {type(right)} not supported; use a number or mx.nd.array(...)")


def install(cls: Any) -> None:
    """Give a handle class its arithmetic methods."""
    for method, (name, swapped) in METHODS.items():
        setattr(cls, method, _method(cls, method, operators(name), swapped))
    for method, name in IN_PLACE.items():
        setattr(cls, method, _in_place(cls, method, operators(name)))
    negative, absolute = registry.get("negative"), registry.get("abs")

    def __neg__(self: Any) -> Any:
        return run_operator(negative, (self,), {}, None, cls)

    def __abs__(self: Any) -> Any:
        return run_operator(absolute, (self,), {}, None, cls)

    cls.__neg__, cls.__abs__ = __neg__, __abs__


def _method(cls: Any, method: str, ops: Operators, swapped: bool) -> Any:
    arrays, scalar = ops.arrays, (ops.reversed if swapped else ops.scalar)

    def call(self: Any, other: Any) -> Any:
        kind = type(other)
        if kind is cls:
            return run_operator(arrays, (other, self) if swapped else (self, other), {}, None, cls)
        if kind is float or kind is int:
            return run_operator(scalar, (self,), {"scalar": float(other)}, None, cls)
        return binary(ops, self, other, swapped, None, cls)

    call.__name__ = method
    call.__doc__ = f"``self`` and ``other`` through ``{arrays.name}`` (or ``{scalar.name}`` for a number)."
    return call


def _in_place(cls: Any, method: str, ops: Operators) -> Any:
    arrays, scalar = ops.arrays, ops.scalar

    def call(self: Any, other: Any) -> Any:
        kind = type(other)
        if kind is cls:
            return run_operator(arrays, (self, other), {}, self, cls)
        if kind is float or kind is int:
            return run_operator(scalar, (self,), {"scalar": float(other)}, self, cls)
        return binary(ops, self, other, False, self, cls)

    call.__name__ = method
    call.__doc__ = f"Write the result of ``{ops.arrays.name}`` into this array."
    return call
