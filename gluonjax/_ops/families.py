"""Row helpers: operators that differ in one function are rows of a table, and a loop here registers them.

MXNet's rules for the whole family live here once: results keep the array's dtype, whole-number arrays compute
in floating point and are cut off, elementwise operators do not broadcast, scalars take the array's dtype.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.custom_derivatives import SymbolicZero

from gluonjax._base.attrs import Traced
from gluonjax._base.dtypes import is_floating
from gluonjax._ops.opdef import OnWhole, check, operator
from gluonjax._ops.rules import same_shape

_signatures: dict[tuple[types.CodeType, tuple[str, ...]], inspect.Signature] = {}
FLOAT32, FLOAT64, INT64 = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int64)


@dataclass(frozen=True)
class Row:
    """One operator of a family: name, function, one sentence about it, other spellings, gradient rule."""

    name: str
    fn: Callable[..., Array]
    doc: str
    aliases: tuple[str, ...] = ()
    grad: Any = None
    takes_bool: bool = False
    on_whole: OnWhole = "derive"


def is_half(dtype: np.dtype) -> bool:
    """True for float16 and bfloat16."""
    return is_floating(dtype) and dtype.itemsize == 2


def refuse_bool(name: str, *arrays: Array) -> None:
    """Raise OperatorError for boolean arrays, as MXNet's arithmetic does."""
    for array in arrays:
        check(
            array.dtype != np.bool_,
            f"Operator {name} does not support boolean type; cast the array first: x.astype('float32')",
        )


def cut_to(values: Array, dtype: np.dtype) -> Array:
    """Convert floating point values as a C cast does: toward zero, small whole numbers wrap around.

    XLA saturates instead (-1.0 becomes uint8 0, where MXNet has 255), hence the detour over 64 bits.
    """
    if dtype.kind in "iu" and dtype.itemsize < 4 and is_floating(values.dtype):
        values = lax.convert_element_type(values, INT64)
    return lax.convert_element_type(values, dtype)


def _snapped(values: Array) -> Array:
    """Numbers that are whole up to a few last bits, made whole."""
    nearest = lax.round(values, lax.RoundingMethod.TO_NEAREST_EVEN)
    return lax.select(lax.abs(values - nearest) <= lax.abs(nearest) * 4e-15, nearest, values)


def in_floating_point(fn: Callable[..., Array]) -> Callable[..., Array]:
    """Make a floating point function accept every dtype and return the dtype it was given.

    Half precision computes in float32. Whole numbers compute in float64 as in MXNet and are cut off, but for results
    that are whole up to rounding: so cbrt(27) is 3 although the last bit of a cube root may be wrong.
    """

    @functools.wraps(fn)
    def call(*arrays: Array) -> Array:
        dtype = arrays[0].dtype
        if not is_floating(dtype):
            return cut_to(_snapped(fn(*(lax.convert_element_type(array, FLOAT64) for array in arrays))), dtype)
        if is_half(dtype):
            return lax.convert_element_type(
                fn(*(lax.convert_element_type(array, FLOAT32) for array in arrays)), dtype
            )
        return fn(*arrays)

    return call


def scalar_like(scalar: Any, dtype: np.dtype) -> Array:
    """A scalar attribute as a 0-d array of the given dtype: 2.5 becomes int32 2, -2 becomes uint8 254."""
    if isinstance(scalar, (bool, int, float)):
        scalar = np.float64(scalar)
    return cut_to(jnp.asarray(scalar), dtype)


def scalar_operands(data: Array, scalar: Any, is_int: bool) -> tuple[Array, Array]:
    """The array and the scalar in the one dtype that MXNet computes in.

    ``is_int=False`` says that the scalar has a fraction: whole-number arrays then become float64. With the
    default the scalar is cut off instead (booleans become int64).
    """
    if not is_floating(data.dtype):
        if not is_int:
            data = lax.convert_element_type(data, FLOAT64)
        elif data.dtype == np.bool_:
            data = lax.convert_element_type(data, INT64)
    return data, scalar_like(scalar, data.dtype)


def broadcast_shapes(name: str, left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    """The common shape of two arrays (aligned at the last axis). Raises OperatorError where there is none."""
    rank = max(len(left), len(right))
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in (left, right)]
    for a, b in zip(*padded):
        check(
            a == b or a == 1 or b == 1,
            f"{name}: operands could not be broadcast together with shapes {list(left)} {list(right)}; "
            "each pair of dimensions must be equal or one of them 1 (reshape or expand_dims first)",
        )
    return tuple(b if a == 1 else a for a, b in zip(*padded))


def broadcast_array(array: Array, shape: tuple[int, ...]) -> Array:
    """The array repeated to a shape; its gradient is summed in float32 where the array is half precision."""
    if array.shape == shape:
        return array
    axes = tuple(range(len(shape) - array.ndim, len(shape)))
    if is_half(array.dtype):
        wide = lax.broadcast_in_dim(lax.convert_element_type(array, FLOAT32), shape, axes)
        return lax.convert_element_type(wide, array.dtype)
    return lax.broadcast_in_dim(array, shape, axes)


def equal_shapes(name: str, *arrays: Array) -> None:
    """Raise OperatorError unless all arrays have one shape (elementwise operators do not broadcast)."""
    for index, array in enumerate(arrays):
        check(
            array.shape == arrays[0].shape,
            f"{name}: Incompatible attr in node at {index}-th input: expected {list(arrays[0].shape)}, "
            f"got {list(array.shape)}; {name} does not broadcast: use the broadcast_ operators",
        )


def as_number(truth: Array, dtype: np.dtype) -> Array:
    """Comparisons give 1 and 0 in the dtype of their operands."""
    return lax.convert_element_type(truth, dtype)


def sum_of_terms(like: Array, *terms: tuple[Any, Callable[[], Array]]) -> Array:
    """The tangent ``sum(tangent * factor())`` over those tangents that are not known to be zero."""
    total: Array | None = None
    for tangent, factor in terms:
        if isinstance(tangent, SymbolicZero) or not is_floating(np.dtype(tangent.dtype)):
            continue
        term = lax.mul(tangent, factor())
        total = term if total is None else lax.add(total, term)
    return lax.full_like(like, 0) if total is None else total


def register_unary(rows: Iterable[Row]) -> None:
    """Register operators of one array ``data`` without attributes."""
    for row in rows:

        def apply(data: Array, *, _row: Row) -> Array:
            if not _row.takes_bool:
                refuse_bool(_row.name, data)
            return _row.fn(data)

        _register(
            row,
            _bind(apply, row, ("data",), "data: array of any shape."),
            "array of the shape and dtype of data.",
        )


def register_elementwise(rows: Iterable[Row]) -> None:
    """Register operators of two arrays of one shape."""
    for row in rows:

        def apply(lhs: Array, rhs: Array, *, _row: Row) -> Array:
            equal_shapes(_row.name, lhs, rhs)
            refuse_bool(_row.name, lhs)
            return _row.fn(lhs, rhs)

        text = "lhs: array of any shape.\n    rhs: array of the same shape and dtype."
        _register(row, _bind(apply, row, ("lhs", "rhs"), text), "array of the shape and dtype of lhs.")


def register_broadcast(rows: Iterable[Row]) -> None:
    """Register operators of two arrays whose shapes are broadcast against each other."""
    for row in rows:

        def apply(lhs: Array, rhs: Array, *, _row: Row) -> Array:
            refuse_bool(_row.name, lhs)
            shape = broadcast_shapes(_row.name, lhs.shape, rhs.shape)
            return _row.fn(broadcast_array(lhs, shape), broadcast_array(rhs, shape))

        text = "lhs: array of any shape.\n    rhs: array of the same dtype whose shape broadcasts with lhs."
        function = _bind(apply, row, ("lhs", "rhs"), text)
        _register(row, function, "array of the broadcast shape.", unify=None)


def register_scalar(rows: Iterable[Row]) -> None:
    """Register operators of one array and the attributes ``scalar`` and ``is_int``."""
    for row in rows:

        def apply(data: Array, *, scalar: Traced = 1.0, is_int: bool = True, _row: Row) -> Array:  # type: ignore[assignment]
            return _row.fn(*scalar_operands(data, scalar, is_int))

        text = (
            "data: array of any shape.\n    scalar: number; it takes the dtype of data (int32: 2.5 is 2).\n"
            "    is_int: False computes whole-number data in float64 instead."
        )
        _register(row, _bind(apply, row, ("data", "scalar", "is_int"), text), "array of the shape of data.")


def _bind(
    apply: Callable[..., Array], row: Row, names: tuple[str, ...], arguments: str
) -> Callable[..., Array]:
    """Fix the row, and give the function the name, docstring and signature that the registry reads."""

    def call(*arrays: Array, **attributes: Any) -> Array:
        return apply(*arrays, _row=row, **attributes)

    known = (apply.__code__, names)  # the rows of a table share it
    if known not in _signatures:
        signature = inspect.signature(apply)
        kept = [parameter for parameter in signature.parameters.values() if parameter.name in names]
        _signatures[known] = signature.replace(parameters=kept)
    call.__signature__ = _signatures[known]  # type: ignore[attr-defined]
    call.__annotations__ = {k: v for k, v in apply.__annotations__.items() if k in names or k == "return"}
    call.__name__ = call.__qualname__ = row.name
    call.__doc__ = f"{row.doc}\n\nArgs:\n    {arguments}\n"
    return call


def _register(row: Row, function: Callable[..., Array], result: str, unify: Any = same_shape) -> None:
    function.__doc__ = f"{function.__doc__}\nReturns:\n    {result}"
    operator(row.name, aliases=row.aliases, grad=row.grad, unify=unify, on_whole=row.on_whole)(function)
