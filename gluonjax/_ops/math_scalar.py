"""Operators of an array and a number: ``x + 2``, ``2 - x``, ``x > 0``.

The number is an attribute that changes from call to call without a new compilation. It takes the array's
dtype.
"""

from __future__ import annotations

from collections.abc import Callable

from jax import Array, lax

from gluonjax._base.dtypes import is_floating
from gluonjax._ops import math_binary as binary
from gluonjax._ops.families import Row, register_scalar
from gluonjax._ops.opdef import zero_grad

Binary = Callable[[Array, Array], Array]


def _repeated(scalar: Array, data: Array) -> Array:
    return lax.broadcast(scalar, data.shape)


def _full(fn: Binary) -> Binary:
    """data first, the scalar repeated to data's shape (for functions that select between operands)."""
    return lambda data, scalar: fn(data, _repeated(scalar, data))


def _swapped(fn: Binary) -> Binary:
    """The scalar first, repeated to data's shape."""
    return lambda data, scalar: fn(_repeated(scalar, data), data)


def _divide(data: Array, scalar: Array) -> Array:
    return lax.div(data, scalar) if is_floating(data.dtype) else binary.divide(data, _repeated(scalar, data))


def _power(data: Array, scalar: Array) -> Array:
    return lax.pow(data, scalar) if is_floating(data.dtype) else binary.power(data, _repeated(scalar, data))


# Unlike two arrays, an array equal to the scalar keeps its gradient on both sides (maximum: >=, minimum: <=).
register_scalar(
    (
        Row("_plus_scalar", lax.add, "data + scalar.", ("_PlusScalar",)),
        Row("_minus_scalar", lax.sub, "data - scalar.", ("_MinusScalar",)),
        Row(
            "_rminus_scalar", lambda data, scalar: lax.sub(scalar, data), "scalar - data.", ("_RMinusScalar",)
        ),
        # MXNet's gradient node of gradientmultiplier, which nd.contrib shows, multiplies.
        Row("_mul_scalar", lax.mul, "data * scalar.", ("_MulScalar", "_contrib_backward_gradientmultiplier")),
        Row("_div_scalar", _divide, "data / scalar; whole numbers are cut off toward zero.", ("_DivScalar",)),
        Row(
            "_rdiv_scalar",
            _swapped(binary.divide),
            "scalar / data; whole numbers are cut off toward zero.",
            ("_RDivScalar",),
        ),
        Row(
            "_mod_scalar",
            _full(binary.modulo),
            "Remainder of data / scalar with the sign of the scalar.",
            ("_ModScalar",),
            on_whole="zero",
        ),
        Row(
            "_rmod_scalar",
            _swapped(binary.modulo),
            "Remainder of scalar / data with the sign of data.",
            ("_RModScalar",),
            on_whole="zero",
        ),
        Row("_power_scalar", _power, "data ** scalar.", ("_PowerScalar",)),
        Row("_rpower_scalar", _swapped(binary.power), "scalar ** data.", ("_RPowerScalar",)),
        Row(
            "_hypot_scalar",
            _full(binary.hypotenuse),
            "sqrt(data**2 + scalar**2).",
            ("_HypotScalar", "_npi_hypot_scalar"),
        ),
        Row(
            "_maximum_scalar",
            _full(binary.maximum),
            "The larger of data and scalar; a tie keeps the gradient.",
            ("_MaximumScalar", "_npi_maximum_scalar"),
        ),
        Row(
            "_minimum_scalar",
            _full(binary.minimum),
            "The smaller of data and scalar; a tie keeps the gradient.",
            ("_MinimumScalar", "_npi_minimum_scalar"),
        ),
        Row("_scatter_plus_scalar", lax.add, "data + scalar on stored values; for dense arrays on all."),
        Row("_scatter_minus_scalar", lax.sub, "data - scalar on stored values; for dense arrays on all."),
        Row("_equal_scalar", binary.equal, "1 where data == scalar, else 0.", ("_EqualScalar",), zero_grad),
        Row(
            "_not_equal_scalar",
            binary.not_equal,
            "1 where data != scalar, else 0.",
            ("_NotEqualScalar",),
            zero_grad,
        ),
        Row(
            "_greater_scalar",
            binary.greater,
            "1 where data > scalar, else 0.",
            ("_GreaterScalar",),
            zero_grad,
        ),
        Row(
            "_greater_equal_scalar",
            binary.greater_equal,
            "1 where data >= scalar, else 0.",
            ("_GreaterEqualScalar",),
            zero_grad,
        ),
        Row("_lesser_scalar", binary.lesser, "1 where data < scalar, else 0.", ("_LesserScalar",), zero_grad),
        Row(
            "_lesser_equal_scalar",
            binary.lesser_equal,
            "1 where data <= scalar, else 0.",
            ("_LesserEqualScalar",),
            zero_grad,
        ),
        Row(
            "_logical_and_scalar",
            binary.logical_and,
            "1 where data and scalar are nonzero.",
            ("_LogicalAndScalar",),
            zero_grad,
        ),
        Row(
            "_logical_or_scalar",
            binary.logical_or,
            "1 where data or scalar is nonzero.",
            ("_LogicalOrScalar",),
            zero_grad,
        ),
        Row(
            "_logical_xor_scalar",
            binary.logical_xor,
            "1 where exactly one of data and scalar is nonzero.",
            ("_LogicalXorScalar",),
            zero_grad,
        ),
    )
)
