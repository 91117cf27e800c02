"""Operators of two arrays: arithmetic, comparisons and logic, with and without broadcasting.

``elemwise_*`` and the names that start with an underscore want equal shapes; ``broadcast_*`` broadcast.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np
from jax import Array, lax

from gluonjax._base.dtypes import is_floating
from gluonjax._ops.families import (
    Row,
    as_number,
    cut_to,
    equal_shapes,
    in_floating_point,
    is_half,
    refuse_bool,
    register_broadcast,
    register_elementwise,
    sum_of_terms,
)
from gluonjax._ops.opdef import operator, zero_grad
from gluonjax._ops.rules import same_shape


def divide(a: Array, b: Array) -> Array:
    """a / b; whole numbers are cut off toward zero, and x / 0 is 0 for them (MXNet's process dies there)."""
    if is_floating(a.dtype):
        return lax.div(a, b)
    by_zero = lax.eq(b, lax.full_like(b, 0))
    return lax.select(by_zero, lax.full_like(a, 0), lax.div(a, lax.select(by_zero, lax.full_like(b, 1), b)))


def maximum(a: Array, b: Array) -> Array:
    """The larger one; a takes the whole gradient where both are equal, NaN wins."""
    return lax.select(_or_nan(lax.ge(a, b), a), a, b)


def minimum(a: Array, b: Array) -> Array:
    """The smaller one; a takes the whole gradient where both are equal, NaN wins."""
    return lax.select(_or_nan(lax.le(a, b), a), a, b)


def _or_nan(truth: Array, values: Array) -> Array:
    return lax.bitwise_or(truth, lax.ne(values, values)) if is_floating(values.dtype) else truth


def modulo(a: Array, b: Array) -> Array:
    """Remainder with the sign of b, and 0 where b is 0. Gradient: 1 to a, -floor(a / b) to b."""
    return _modulo_with_gradient(a, b) if is_floating(a.dtype) else _modulo(a, b)


def _modulo(a: Array, b: Array) -> Array:
    # The operators of arrays (!=, &) trace as nested functions, in ten times the time.
    zero = lax.full_like(b, 0)
    by_zero = lax.eq(b, zero)
    rest = lax.rem(a, lax.select(by_zero, lax.full_like(b, 1), b))
    if b.dtype.kind != "u":
        other_sign = lax.ne(lax.lt(rest, zero), lax.lt(b, zero))
        rest = lax.select(lax.bitwise_and(lax.ne(rest, zero), other_sign), lax.add(rest, b), rest)
    return lax.select(by_zero, zero, rest)


@jax.custom_jvp
def _modulo_with_gradient(a: Array, b: Array) -> Array:
    return _modulo(a, b)


@functools.partial(_modulo_with_gradient.defjvp, symbolic_zeros=True)
def _modulo_tangent(primals: Any, tangents: Any) -> tuple[Array, Array]:
    a, b = primals
    out = _modulo_with_gradient(a, b)
    return out, sum_of_terms(
        out,
        (tangents[0], lambda: lax.full_like(out, 1)),
        (tangents[1], lambda: lax.neg(lax.floor(lax.div(a, b)))),
    )


def power(a: Array, b: Array) -> Array:
    """a ** b; whole numbers compute in float64 and are cut off, so 3 ** -1 is 0."""
    if is_floating(a.dtype):
        return lax.pow(a, b)
    wide = [lax.convert_element_type(operand, np.float64) for operand in (a, b)]
    return cut_to(lax.pow(*wide), a.dtype)


@in_floating_point
def hypotenuse(a: Array, b: Array) -> Array:
    """sqrt(a*a + b*b) without overflow in the squares."""
    return _hypotenuse(a, b)


@jax.custom_jvp
def _hypotenuse(a: Array, b: Array) -> Array:
    a, b = lax.abs(a), lax.abs(b)
    large, small = lax.max(a, b), lax.min(a, b)
    one = lax.full_like(large, 1)
    plain = lax.bitwise_or(lax.eq(large, lax.full_like(large, 0)), lax.eq(large, lax.full_like(large, np.inf)))
    ratio = lax.div(small, lax.select(plain, one, large))
    return lax.select(plain, large, lax.mul(large, lax.sqrt(lax.add(lax.mul(ratio, ratio), one))))


@functools.partial(_hypotenuse.defjvp, symbolic_zeros=True)
def _hypotenuse_tangent(primals: Any, tangents: Any) -> tuple[Array, Array]:
    out = _hypotenuse(*primals)
    terms = [(t, functools.partial(lax.div, p, out)) for p, t in zip(primals, tangents)]
    return out, sum_of_terms(out, *terms)


def _comparison(compare: Any) -> Any:
    return lambda a, b: as_number(compare(a, b), a.dtype)


def _logic(combine: Any) -> Any:
    def apply(a: Array, b: Array) -> Array:
        zero = lax.full_like(a, 0)
        return as_number(combine(lax.ne(a, zero), lax.ne(b, zero)), a.dtype)

    return apply


equal, not_equal = _comparison(lax.eq), _comparison(lax.ne)
greater, greater_equal = _comparison(lax.gt), _comparison(lax.ge)
lesser, lesser_equal = _comparison(lax.lt), _comparison(lax.le)
logical_and, logical_or = _logic(lax.bitwise_and), _logic(lax.bitwise_or)
logical_xor = _logic(lax.bitwise_xor)


register_elementwise(
    (
        Row(
            "elemwise_add",
            lax.add,
            "Add two arrays of one shape.",
            ("_Plus", "_add", "_plus", "_sparse_elemwise_add"),
        ),
        Row(
            "elemwise_sub",
            lax.sub,
            "Subtract two arrays of one shape.",
            ("_Minus", "_minus", "_sub", "_sparse_elemwise_sub"),
        ),
        Row(
            "elemwise_mul",
            lax.mul,
            "Multiply two arrays of one shape.",
            ("_Mul", "_mul", "_sparse_elemwise_mul"),
        ),
        Row(
            "elemwise_div",
            divide,
            "Divide two arrays of one shape; whole numbers are cut off toward zero.",
            ("_Div", "_div", "_sparse_elemwise_div"),
        ),
        Row("_grad_add", lax.add, "Add two gradients (used where several paths meet)."),
        Row("_scatter_elemwise_div", divide, "Divide where lhs is stored; dense arrays everywhere."),
        Row("_mod", modulo, "Remainder with the sign of the divisor.", ("_Mod",), on_whole="zero"),
        Row("_power", power, "Raise lhs to the power rhs.", ("_Power",)),
        Row("_hypot", hypotenuse, "The hypotenuse of a right triangle with legs lhs and rhs.", ("_Hypot",)),
        Row(
            "_maximum", maximum, "The larger of two numbers; lhs takes the gradient of a tie.", ("_Maximum",)
        ),
        Row(
            "_minimum", minimum, "The smaller of two numbers; lhs takes the gradient of a tie.", ("_Minimum",)
        ),
        Row("_equal", equal, "1 where lhs == rhs, else 0.", ("_Equal",), zero_grad),
        Row("_not_equal", not_equal, "1 where lhs != rhs, else 0.", ("_Not_Equal",), zero_grad),
        Row("_greater", greater, "1 where lhs > rhs, else 0.", ("_Greater",), zero_grad),
        Row("_greater_equal", greater_equal, "1 where lhs >= rhs, else 0.", ("_Greater_Equal",), zero_grad),
        Row("_lesser", lesser, "1 where lhs < rhs, else 0.", ("_Lesser",), zero_grad),
        Row("_lesser_equal", lesser_equal, "1 where lhs <= rhs, else 0.", ("_Lesser_Equal",), zero_grad),
        Row("_logical_and", logical_and, "1 where both are nonzero, else 0.", ("_Logical_And",), zero_grad),
        Row("_logical_or", logical_or, "1 where any is nonzero, else 0.", ("_Logical_Or",), zero_grad),
        Row(
            "_logical_xor",
            logical_xor,
            "1 where exactly one is nonzero, else 0.",
            ("_Logical_Xor",),
            zero_grad,
        ),
    )
)

register_broadcast(
    (
        Row(
            "broadcast_add",
            lax.add,
            "Add two arrays with broadcasting.",
            ("broadcast_plus", "_sparse_broadcast_add", "_sparse_broadcast_plus"),
        ),
        Row(
            "broadcast_sub",
            lax.sub,
            "Subtract two arrays with broadcasting.",
            ("broadcast_minus", "_sparse_broadcast_sub", "_sparse_broadcast_minus"),
        ),
        Row("broadcast_mul", lax.mul, "Multiply two arrays with broadcasting.", ("_sparse_broadcast_mul",)),
        Row(
            "broadcast_div",
            divide,
            "Divide with broadcasting; whole numbers are cut off toward zero.",
            ("_sparse_broadcast_div",),
        ),
        Row("broadcast_mod", modulo, "Remainder with the sign of the divisor, with broadcasting.", on_whole="zero"),
        Row("broadcast_power", power, "Raise lhs to the power rhs, with broadcasting."),
        Row("broadcast_hypot", hypotenuse, "The hypotenuse of legs lhs and rhs, with broadcasting."),
        Row(
            "broadcast_maximum",
            maximum,
            "The larger of two numbers; lhs takes the gradient of a tie.",
            ("_npi_maximum",),
        ),
        Row(
            "broadcast_minimum",
            minimum,
            "The smaller of two numbers; lhs takes the gradient of a tie.",
            ("_npi_minimum",),
        ),
        Row("broadcast_equal", equal, "1 where lhs == rhs, else 0, with broadcasting.", (), zero_grad),
        Row(
            "broadcast_not_equal", not_equal, "1 where lhs != rhs, else 0, with broadcasting.", (), zero_grad
        ),
        Row("broadcast_greater", greater, "1 where lhs > rhs, else 0, with broadcasting.", (), zero_grad),
        Row(
            "broadcast_greater_equal",
            greater_equal,
            "1 where lhs >= rhs, else 0, with broadcasting.",
            (),
            zero_grad,
        ),
        Row("broadcast_lesser", lesser, "1 where lhs < rhs, else 0, with broadcasting.", (), zero_grad),
        Row(
            "broadcast_lesser_equal",
            lesser_equal,
            "1 where lhs <= rhs, else 0, with broadcasting.",
            (),
            zero_grad,
        ),
        Row(
            "broadcast_logical_and",
            logical_and,
            "1 where both are nonzero, with broadcasting.",
            (),
            zero_grad,
        ),
        Row("broadcast_logical_or", logical_or, "1 where any is nonzero, with broadcasting.", (), zero_grad),
        Row(
            "broadcast_logical_xor",
            logical_xor,
            "1 where exactly one is nonzero, with broadcasting.",
            (),
            zero_grad,
        ),
    )
)


@operator(
    "add_n",
    aliases=("ElementWiseSum", "_sparse_ElementWiseSum", "_sparse_add_n"),
    variadic="num_args",
    unify=same_shape,
)
def add_n(*args: Array) -> Array:
    """Add any number of arrays of one shape.

    Args:
        args: one or more arrays of one shape and dtype.

    Returns:
        array of that shape; half precision is added up in float32.
    """
    equal_shapes("add_n", *args)
    refuse_bool("add_n", args[0])
    if len(args) < 3 or not is_half(args[0].dtype):
        return functools.reduce(lax.add, args)
    total = functools.reduce(lax.add, [lax.convert_element_type(array, np.float32) for array in args])
    return lax.convert_element_type(total, args[0].dtype)


@operator("_identity_with_attr_like_rhs", unify=same_shape)
def identity_with_attr_like_rhs(lhs: Array, rhs: Array) -> Array:
    """Return lhs, which must look like rhs (shape information flows from rhs to lhs).

    Args:
        lhs: array of any shape.
        rhs: array of the same shape; its values are not used.

    Returns:
        lhs.
    """
    equal_shapes("_identity_with_attr_like_rhs", lhs, rhs)
    return lhs
