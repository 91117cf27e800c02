"""Python operators between ``mx.np`` arrays and numbers, and the functions of the same rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gluonjax._base.errors import ArgumentTypeError
from gluonjax._engine.run import Kernel
from gluonjax._ops import registry
from gluonjax._ops.numpy import elementwise
from gluonjax._ops.opdef import zero_grad
from gluonjax.ndarray._invoke import run_operator
from gluonjax.ndarray.ndarray import NDArray
from gluonjax.numpy._call import check_where, invoke, kernel_of
from gluonjax.numpy.multiarray import ndarray

NUMBERS = (int, float, bool, np.number, np.bool_)


class Kernels(NamedTuple):
    """The three ways to run one row, and what two Python numbers give."""

    name: str
    arrays: Kernel
    scalar: Kernel
    swapped: Kernel
    numbers: Callable[[Any, Any], Any]


# Names in NumPy where they differ from the row's.
_ON_NUMBERS = {"true_divide": np.true_divide, "mod": np.mod}


def _kernels(name: str) -> Kernels:
    return Kernels(
        name,
        kernel_of(elementwise.binary, name=name),
        kernel_of(elementwise.with_scalar, name=name, swapped=False),
        kernel_of(elementwise.with_scalar, name=name, swapped=True),
        _ON_NUMBERS.get(name) or getattr(np, name),
    )


ROWS: dict[str, Kernels] = {name: _kernels(name) for name in elementwise.BINARY}

METHODS: dict[str, tuple[str, bool]] = {
    "__add__": ("add", False), "__radd__": ("add", True),
    "__sub__": ("subtract", False), "__rsub__": ("subtract", True),
    "__mul__": ("multiply", False), "__rmul__": ("multiply", True),
    "__truediv__": ("true_divide", False), "__rtruediv__": ("true_divide", True),
    "__div__": ("true_divide", False), "__rdiv__": ("true_divide", True),
    "__mod__": ("mod", False), "__rmod__": ("mod", True),
    "__pow__": ("power", False), "__rpow__": ("power", True),
    "__and__": ("bitwise_and", False), "__rand__": ("bitwise_and", True),
    "__or__": ("bitwise_or", False), "__ror__": ("bitwise_or", True),
    "__xor__": ("bitwise_xor", False), "__rxor__": ("bitwise_xor", True),
    "__eq__": ("equal", False), "__ne__": ("not_equal", False),
    "__gt__": ("greater", False), "__ge__": ("greater_equal", False),
    "__lt__": ("less", False), "__le__": ("less_equal", False),
}  # fmt: skip

IN_PLACE = {
    "__iadd__": "add", "__isub__": "subtract", "__imul__": "multiply", "__itruediv__": "true_divide",
    "__idiv__": "true_divide", "__imod__": "mod", "__ipow__": "power", "__iand__": "bitwise_and",
    "__ior__": "bitwise_or", "__ixor__": "bitwise_xor",
}  # fmt: skip

# Legacy operators that do for one ``mx.np`` array what they do for an NDArray.
UNARY = {
    "abs": "abs", "absolute": "abs", "fabs": "abs", "negative": "negative", "reciprocal": "reciprocal",
    "sign": "sign", "rint": "rint", "ceil": "ceil", "floor": "floor", "trunc": "trunc", "fix": "fix",
    "square": "square", "sqrt": "sqrt", "cbrt": "cbrt", "exp": "exp", "expm1": "expm1", "log": "log",
    "log10": "log10", "log2": "log2", "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan",
    "arcsin": "arcsin", "arccos": "arccos", "arctan": "arctan", "sinh": "sinh", "cosh": "cosh",
    "tanh": "tanh",
    "arcsinh": "arcsinh", "arccosh": "arccosh", "arctanh": "arctanh", "degrees": "degrees",
    "rad2deg": "degrees", "radians": "radians", "deg2rad": "radians",
}  # fmt: skip

TESTS = {
    "isnan": elementwise.isnan, "isinf": elementwise.isinf, "isfinite": elementwise.isfinite,
    "isposinf": elementwise.isposinf, "isneginf": elementwise.isneginf, "signbit": elementwise.signbit,
    "logical_not": elementwise.logical_not, "bitwise_not": elementwise.invert, "invert": elementwise.invert,
}  # fmt: skip


def refuse(value: Any) -> TypeError:
    """The error for an operand that is neither an ``mx.np`` array nor a number."""
    return TypeError(f"type {type(value)} not supported; use a number or mx.np.array(...)")


def apply(row: Kernels, left: Any, right: Any, out: Any = None) -> Any:
    """One row on two operands: arrays, or an array and a number, or two numbers."""
    if isinstance(left, ndarray):
        if isinstance(right, ndarray):
            return invoke(row.arrays, (left, right), ndarray, out)
        if isinstance(right, NUMBERS):
            return invoke(row.scalar, (left, float(right)), ndarray, out)
        raise refuse(right)
    if isinstance(right, ndarray):
        if isinstance(left, NUMBERS):
            return invoke(row.swapped, (right, float(left)), ndarray, out)
        raise refuse(left)
    if isinstance(left, NUMBERS) and isinstance(right, NUMBERS):
        return row.numbers(left, right)
    raise refuse(right if isinstance(left, NUMBERS) else left)


def binary_function(name: str, row_name: str) -> Callable[..., Any]:
    """The module function of a row, e.g. ``np.add``."""
    row = ROWS[row_name]

    def function(x1: Any, x2: Any, out: Any = None, **kwargs: Any) -> Any:
        if kwargs:
            check_where(name, kwargs)
        return apply(row, x1, x2, out)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "gluonjax.numpy"
    function.__doc__ = f"Element by element ``{row_name}`` of arrays or numbers, with broadcasting."
    return function


def unary_function(name: str) -> Callable[..., Any]:
    """The module function of one array, e.g. ``np.exp``."""
    legacy = registry.get(UNARY[name]) if name in UNARY else None
    kernel = kernel_of(TESTS[name]) if legacy is None else None
    if legacy is not None and legacy.grad is zero_grad:
        # Recorded all the same, so that backward writes zeros as in MXNet.
        legacy, kernel = None, Kernel(name, legacy.pure(legacy.parse({}), False))

    def function(x: Any, out: Any = None, **kwargs: Any) -> Any:
        if kwargs:
            check_where(name, kwargs)
        if isinstance(x, ndarray):
            if out is not None:
                _check_out(name, x, out)
            if legacy is not None:
                return run_operator(legacy, (x,), {}, out, ndarray)
            assert kernel is not None
            return invoke(kernel, (x,), ndarray, out)
        if isinstance(x, NUMBERS):
            return getattr(np, name)(x)
        raise refuse(x)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "gluonjax.numpy"
    function.__doc__ = f"Element by element ``{name}`` of an array or a number."
    return function


def _check_out(name: str, x: Any, out: Any) -> None:
    if not isinstance(out, NDArray):
        raise ArgumentTypeError(f"{name}: out wants an ndarray, got {type(out).__name__}")


def install(cls: Any) -> None:
    """Give the class its arithmetic methods."""
    for method, (name, swapped) in METHODS.items():
        setattr(cls, method, _method(method, ROWS[name], swapped))
    for method, name in IN_PLACE.items():
        setattr(cls, method, _in_place(method, ROWS[name]))
    negative, absolute = registry.get("negative"), registry.get("abs")

    def __neg__(self: Any) -> Any:
        return run_operator(negative, (self,), {}, None, cls)

    def __abs__(self: Any) -> Any:
        return run_operator(absolute, (self,), {}, None, cls)

    def __pos__(self: Any) -> Any:
        return self.copy()

    cls.__neg__, cls.__abs__, cls.__pos__ = __neg__, __abs__, __pos__


def _method(method: str, row: Kernels, swapped: bool) -> Any:
    with_number = row.swapped if swapped else row.scalar

    def call(self: Any, other: Any) -> Any:
        kind = type(other)
        if kind is ndarray:
            return invoke(row.arrays, (other, self) if swapped else (self, other), ndarray)
        if kind is float or kind is int:
            return invoke(with_number, (self, float(other)), ndarray)
        return apply(row, other, self) if swapped else apply(row, self, other)

    call.__name__ = method
    call.__doc__ = f"``{row.name}`` of this array and another operand."
    return call


def _in_place(method: str, row: Kernels) -> Any:
    def call(self: Any, other: Any) -> Any:
        return apply(row, self, other, self)

    call.__name__ = method
    call.__doc__ = f"Write the result of ``{row.name}`` into this array."
    return call
