"""Element by element with NumPy semantics: the dtype rules of ``mx.np``, the functions behind each name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._base.dtypes import is_floating
from gluonjax._ops import math_binary as legacy
from gluonjax._ops.families import broadcast_array, broadcast_shapes, scalar_like
from gluonjax._ops.opdef import check

INT64 = np.dtype(np.int64)
FLOAT32 = np.dtype(np.float32)
BOOL = np.dtype(np.bool_)


def promoted(name: str, left: np.dtype, right: np.dtype, whole: bool = True) -> np.dtype:
    """The dtype that two different dtypes meet in.

    A floating type wins over whole numbers whatever its width, the wider of two floating types wins, and
    whole
    numbers meet only where ``whole`` allows it (and never int8 with uint8, as in MXNet).
    """
    if left == right:
        return left
    if is_floating(left) and is_floating(right):
        return left if left.itemsize >= right.itemsize else right
    if is_floating(left):
        return left
    if is_floating(right):
        return right
    check(
        whole and not {left.name, right.name} == {"int8", "uint8"},
        f"{name}: does not support the mixed types {left.name} and {right.name}; cast one with astype",
    )
    return np.promote_types(left, right)


def _mixed(name: str, left: np.dtype, right: np.dtype) -> np.dtype:
    return promoted(name, left, right)


def _mixed_with_float(name: str, left: np.dtype, right: np.dtype) -> np.dtype:
    check(left != BOOL or right != BOOL, f"{name}: does not support two boolean arrays; cast one with astype")
    return promoted(name, left, right, whole=False)


def _same(name: str, left: np.dtype, right: np.dtype) -> np.dtype:
    check(
        left == right,
        f"{name}: wants two arrays of one type, got {left.name} and {right.name}; cast one with astype",
    )
    return left


def _same_number(name: str, left: np.dtype, right: np.dtype) -> np.dtype:
    check(left != BOOL, f"{name}: does not support boolean arrays; cast with astype")
    return _same(name, left, right)


def _whole(name: str, left: np.dtype, right: np.dtype) -> np.dtype:
    check(not is_floating(left), f"{name}: wants integers or booleans, got {left.name}; cast with astype")
    return _same(name, left, right)


def _quotient(name: str, left: np.dtype, right: np.dtype) -> np.dtype:
    if is_floating(left) != is_floating(right):
        return left if is_floating(left) else right
    check(
        left == right,
        f"{name}: does not support the mixed types {left.name} and {right.name}; cast one with astype",
    )
    return left if is_floating(left) else FLOAT32


def _multiply(a: Array, b: Array) -> Array:
    return a & b if a.dtype == BOOL else lax.mul(a, b)


def _add(a: Array, b: Array) -> Array:
    return a | b if a.dtype == BOOL else lax.add(a, b)


def _power(a: Array, b: Array) -> Array:
    # 0 ** 0 is 1 and only False ** True is false.
    return a | ~b if a.dtype == BOOL else legacy.power(a, b)


def _in_float(fn: Callable[..., Array]) -> Callable[[Array, Array], Array]:
    """Whole numbers compute in float64 and are cut off, as MXNet does."""

    def call(a: Array, b: Array) -> Array:
        if is_floating(a.dtype):
            return fn(a, b)
        wide = [lax.convert_element_type(each, np.float64) for each in (a, b)]
        return lax.convert_element_type(fn(*wide), a.dtype)

    return call


def _copysign(a: Array, b: Array) -> Array:
    size = lax.abs(a)
    negative = jnp.signbit(b)
    return lax.select(negative, -size, size)


def _ldexp(a: Array, b: Array) -> Array:
    # MXNet multiplies by 2 ** b, so that b may be fractional and has a gradient.
    return a * lax.exp2(b)


class Row(NamedTuple):
    """The function of two arrays of one dtype, and the rule for that dtype."""

    fn: Callable[[Array, Array], Array]
    dtype: Callable[[str, np.dtype, np.dtype], np.dtype]


BINARY: dict[str, Row] = {
    "add": Row(_add, _mixed),
    "subtract": Row(lax.sub, _mixed_with_float),
    "multiply": Row(_multiply, _mixed),
    "true_divide": Row(lax.div, _quotient),
    "mod": Row(legacy.modulo, _mixed_with_float),
    "power": Row(_power, _mixed),
    "maximum": Row(legacy.maximum, _same_number),
    "minimum": Row(legacy.minimum, _same_number),
    "hypot": Row(legacy.hypotenuse, _same_number),
    "arctan2": Row(_in_float(lax.atan2), _same_number),
    "copysign": Row(_in_float(_copysign), _same_number),
    "ldexp": Row(_in_float(_ldexp), _same_number),
    "bitwise_and": Row(lax.bitwise_and, _whole),
    "bitwise_or": Row(lax.bitwise_or, _whole),
    "bitwise_xor": Row(lax.bitwise_xor, _whole),
    "lcm": Row(jnp.lcm, _whole),
    "equal": Row(lax.eq, _same),
    "not_equal": Row(lax.ne, _same),
    "greater": Row(lax.gt, _same),
    "greater_equal": Row(lax.ge, _same),
    "less": Row(lax.lt, _same),
    "less_equal": Row(lax.le, _same),
}
_BITS = ("bitwise_and", "bitwise_or", "bitwise_xor")
_COMPARISONS = ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal")


def binary(a: Array, b: Array, *, name: str) -> Array:
    """Two arrays with broadcasting; ``name`` is a row of ``BINARY``."""
    row = BINARY[name]
    dtype = row.dtype(name, a.dtype, b.dtype)
    shape = broadcast_shapes(name, a.shape, b.shape)
    a, b = (each if each.dtype == dtype else lax.convert_element_type(each, dtype) for each in (a, b))
    return row.fn(broadcast_array(a, shape), broadcast_array(b, shape))


def with_scalar(a: Array, scalar: Any, *, name: str, swapped: bool) -> Array:
    """An array and a number; the number takes the array's dtype (2.5 becomes 2 for integers)."""
    dtype = a.dtype
    if name == "true_divide" and not is_floating(dtype):
        a = lax.convert_element_type(a, FLOAT32)
    elif name in _BITS:
        check(not is_floating(dtype), f"{name}: wants integers or booleans, got {dtype.name}; cast with astype")
    elif dtype == BOOL:
        check(name != "lcm", "lcm: does not support boolean arrays; cast with astype")
        a = lax.convert_element_type(a, INT64)
    elif name == "lcm":
        check(not is_floating(dtype), f"lcm: wants integers, got {dtype.name}; cast with astype")
    number = lax.broadcast(scalar_like(scalar, a.dtype), a.shape)
    return BINARY[name].fn(number, a) if swapped else BINARY[name].fn(a, number)


def _number_test(test: Callable[[Array], Array]) -> Callable[[Array], Array]:
    def call(a: Array) -> Array:
        return test(a) if is_floating(a.dtype) else lax.full(a.shape, False, BOOL)

    return call


def isfinite(a: Array) -> Array:
    """True where a number is neither infinite nor NaN."""
    return lax.is_finite(a) if is_floating(a.dtype) else lax.full(a.shape, True, BOOL)


isnan = _number_test(lambda a: a != a)
isinf = _number_test(lambda a: lax.abs(a) == np.inf)
isposinf = _number_test(lambda a: a == np.inf)
isneginf = _number_test(lambda a: a == -np.inf)
signbit = _number_test(jnp.signbit)


def logical_not(a: Array) -> Array:
    """True where an element is zero."""
    return ~a if a.dtype == BOOL else a == 0


def invert(a: Array) -> Array:
    """Every bit the other way round; for booleans, not."""
    check(
        not is_floating(a.dtype),
        f"bitwise_not: wants integers or booleans, got {a.dtype.name}; cast with astype",
    )
    return lax.bitwise_not(a)


def around(a: Array, *, decimals: int) -> Array:
    """Rounded to ``decimals`` places, ties to the even neighbour. No gradient."""
    check(a.dtype != BOOL, "around: does not support boolean arrays; cast with astype")
    if not is_floating(a.dtype) and decimals >= 0:
        return a
    return lax.stop_gradient(jnp.round(a, decimals)).astype(a.dtype)


def nan_to_num(a: Array, *, nan: float, posinf: float | None, neginf: float | None) -> Array:
    """NaN and infinities replaced by finite numbers."""
    return jnp.nan_to_num(a, nan=nan, posinf=posinf, neginf=neginf) if is_floating(a.dtype) else a


def clip(a: Array, *, low: float | None, high: float | None) -> Array:
    """Values limited to [low, high]; the gradient passes where the value is inside, edges included."""
    if low is not None:
        a = legacy.maximum(a, lax.full_like(a, low))
    return a if high is None else legacy.minimum(a, lax.full_like(a, high))


def cast(a: Array, *, dtype: np.dtype) -> Array:
    """The array in another dtype."""
    return a.astype(dtype)


def identity(a: Array) -> Array:
    """The same values."""
    return a


def where(condition: Array, x: Array, y: Array) -> Array:
    """``x`` where the condition is nonzero, else ``y``; all three broadcast."""
    if x.dtype != y.dtype:
        dtype = promoted("where", x.dtype, y.dtype)
        x, y = x.astype(dtype), y.astype(dtype)
    truth = condition if condition.dtype == BOOL else condition != 0
    shape = broadcast_shapes("where", broadcast_shapes("where", truth.shape, x.shape), y.shape)
    truth, x, y = (broadcast_array(each, shape) for each in (truth, x, y))
    return lax.select(truth, x, y)


def full_like(a: Array, *, value: float, dtype: np.dtype | None) -> Array:
    """An array of the shape of ``a`` filled with one value."""
    return lax.full(a.shape, value, dtype or a.dtype)
