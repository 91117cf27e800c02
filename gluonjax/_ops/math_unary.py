"""Operators of one array: elementary functions, rounding, casting, gradient switches and size questions.

Everything keeps the array's dtype: a square root of whole numbers is cut off, as in MXNet.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._base.attrs import DType, Traced
from gluonjax._base.dtypes import BFLOAT16, is_floating
from gluonjax._ops.families import (
    Row,
    as_number,
    cut_to,
    in_floating_point,
    refuse_bool,
    register_unary,
    scalar_like,
    sum_of_terms,
)
from gluonjax._ops.opdef import check, operator, zero_grad
from gluonjax._ops.rules import same_shape

AMP_TYPES = (np.dtype(np.float32), np.dtype(np.float16), BFLOAT16)


def absolute(x: Array) -> Array:
    """|x| whose gradient at 0 is 0 on every JAX version: the product with the (constant) sign."""
    return lax.mul(x, lax.sign(x)) if is_floating(x.dtype) else _whole(x, lax.abs)


def _whole(x: Array, signed: Callable[[Array], Array]) -> Array:
    return x if x.dtype.kind == "u" else signed(x)


def _rounding(fn: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Rounding leaves whole numbers alone."""
    return lambda x: fn(x) if is_floating(x.dtype) else x


def _nearest_down(x: Array) -> Array:
    """The nearest whole number; halves go down (MXNet's rint is not half-to-even)."""
    below, above = lax.floor(x), lax.ceil(x)
    return lax.select(x - below <= above - x, below, above)


def _toward_zero(x: Array) -> Array:
    return lax.select(x < 0, lax.ceil(x), lax.floor(x))


round_half_away = _rounding(lax.round)
rint = _rounding(_nearest_down)
truncate = _rounding(_toward_zero)


@jax.custom_jvp
def relu(x: Array) -> Array:
    """max(x, 0) with gradient 0 at 0; NaN stays NaN, in the gradient too (as MXNet's relu_grad)."""
    return lax.select(x <= 0, lax.full_like(x, 0), x)


@relu.defjvp
def _relu_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,), (tangent,) = primals, tangents
    slope = lax.select(x <= 0, lax.full_like(x, 0), lax.select(x != x, x, lax.full_like(x, 1)))
    return relu(x), tangent * slope


def softsign(x: Array) -> Array:
    """x / (1 + |x|)."""
    return x / (1 + absolute(x))


@jax.custom_jvp
def gamma(x: Array) -> Array:
    """The gamma function; NaN at the negative whole numbers, where it has poles of both signs."""
    below = lax.floor(x)
    odd = lax.rem(below, lax.full_like(x, 2)) != 0
    size = lax.exp(lax.lgamma(x))
    # At -0 the pole has the other sign, as in C.
    value = lax.select(((x < 0) & odd) | ((x == 0) & (lax.reciprocal(x) < 0)), -size, size)
    return lax.select((x < 0) & (x == below), lax.full_like(x, math.nan), value)


def _psi(x: Array) -> Array:
    """The digamma function; at its poles MXNet has the largest double, which is infinite in narrower types."""
    pole = (x <= 0) & (x == lax.floor(x))
    largest = float(np.finfo(np.float64).max) if x.dtype == np.float64 else math.inf
    return lax.select(pole, lax.full_like(x, largest), lax.digamma(x))


@gamma.defjvp
def _gamma_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,), (tangent,) = primals, tangents
    value = gamma(x)
    return value, tangent * (value * _psi(x))


@jax.custom_jvp
def gammaln(x: Array) -> Array:
    """Logarithm of the absolute value of the gamma function."""
    return lax.lgamma(x)


@gammaln.defjvp
def _gammaln_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,), (tangent,) = primals, tangents
    return gammaln(x), tangent * _psi(x)


def _reciprocal(x: Array) -> Array:
    return 1 / x


def _over_root_of_width(x: Array) -> Array:
    check(x.ndim > 0, "_contrib_div_sqrt_dim: got a 0-d array, wanted at least one axis; reshape it to (1,)")
    root = math.sqrt(x.shape[-1])
    if not is_floating(x.dtype):
        return lax.div(x, lax.full_like(x, max(int(root), 1)))  # MXNet cuts the root off before it divides
    return in_floating_point(lambda wide: wide / root)(x)


def _times(factor: float) -> Callable[[Array], Array]:
    return lambda x: x * factor


def _log_times(factor: float) -> Callable[[Array], Array]:
    return lambda x: lax.log(x) * factor


def _row(name: str, fn: Callable[[Array], Array], doc: str, npx: bool = False, sparse: bool = True) -> Row:
    """A row for a function that computes in floating point, with its usual other spellings."""
    aliases = (f"_npx_{name}",) * npx + (f"_sparse_{name}",) * sparse
    return Row(name, in_floating_point(fn), doc, aliases)


def _exact(name: str, fn: Callable[[Array], Array], doc: str, grad: Any = None) -> Row:
    """A row for a function that knows whole numbers itself."""
    return Row(name, fn, doc, (f"_sparse_{name}",), grad)


register_unary(
    (
        _exact("abs", absolute, "Absolute value; the gradient at 0 is 0."),
        _exact("sign", lax.sign, "-1, 0 or 1.", zero_grad),
        _exact(
            "round", round_half_away, "Round to the nearest whole number, halves away from zero.", zero_grad
        ),
        _exact("rint", rint, "Round to the nearest whole number, halves down.", zero_grad),
        _exact("ceil", _rounding(lax.ceil), "The smallest whole number that is not below x.", zero_grad),
        _exact("floor", _rounding(lax.floor), "The largest whole number that is not above x.", zero_grad),
        _exact("trunc", truncate, "Cut off the fraction.", zero_grad),
        _exact("fix", truncate, "Round toward zero.", zero_grad),
        _exact("square", lax.square, "x * x."),
        _exact("negative", lax.neg, "-x."),
        _exact("relu", relu, "max(x, 0); the gradient at 0 is 0."),
        Row("logical_not", lambda x: as_number(x == 0, x.dtype), "1 where x is 0, else 0.", (), zero_grad),
        _row("sqrt", lax.sqrt, "Square root."),
        _row("rsqrt", lax.rsqrt, "1 / square root."),
        _row("cbrt", lax.cbrt, "Cube root."),
        _row("rcbrt", lambda x: 1 / lax.cbrt(x), "1 / cube root.", sparse=False),
        _row("reciprocal", _reciprocal, "1 / x.", sparse=False),
        _row("exp", lax.exp, "e to the power x."),
        _row("expm1", lax.expm1, "exp(x) - 1, exact near 0."),
        _row("log", lax.log, "Natural logarithm."),
        _row("log10", _log_times(1 / math.log(10)), "Logarithm to base 10."),
        _row("log2", _log_times(1 / math.log(2)), "Logarithm to base 2."),
        _row("log1p", lax.log1p, "log(1 + x), exact near 0."),
        _row("sin", lax.sin, "Sine of an angle in radians."),
        _row("cos", lax.cos, "Cosine of an angle in radians."),
        _row("tan", lax.tan, "Tangent of an angle in radians."),
        _row("arcsin", lax.asin, "The angle in [-pi/2, pi/2] whose sine is x."),
        _row("arccos", lax.acos, "The angle in [0, pi] whose cosine is x."),
        _row("arctan", lax.atan, "The angle in (-pi/2, pi/2) whose tangent is x."),
        _row("sinh", lax.sinh, "Hyperbolic sine."),
        _row("cosh", lax.cosh, "Hyperbolic cosine."),
        _row("tanh", lax.tanh, "Hyperbolic tangent."),
        _row("arcsinh", lax.asinh, "Inverse hyperbolic sine."),
        _row("arccosh", lax.acosh, "Inverse hyperbolic cosine; NaN below 1."),
        _row("arctanh", lax.atanh, "Inverse hyperbolic tangent; NaN outside [-1, 1]."),
        _row("degrees", _times(180 / math.pi), "Radians to degrees."),
        _row("radians", _times(math.pi / 180), "Degrees to radians."),
        _row("gamma", gamma, "The gamma function.", npx=True),
        _row("gammaln", gammaln, "Logarithm of the absolute value of the gamma function.", npx=True),
        _row("erf", lax.erf, "The error function.", npx=True, sparse=False),
        _row("erfinv", lax.erf_inv, "The inverse of the error function.", npx=True, sparse=False),
        _row("sigmoid", lax.logistic, "1 / (1 + exp(-x))."),
        _row("softsign", softsign, "x / (1 + |x|).", sparse=False),
        Row("_copy", lambda x: x, "A copy.", ("identity",), takes_bool=True),
        Row(
            "BlockGrad",
            lambda x: x,
            "A copy that passes no gradient back.",
            ("stop_gradient", "_sparse_stop_gradient"),
            zero_grad,
            takes_bool=True,
        ),
        Row(
            "zeros_like",
            lambda x: lax.full_like(x, 0),
            "Zeros of the shape and dtype of data.",
            ("_sparse_zeros_like",),
            zero_grad,
            takes_bool=True,
        ),
        Row(
            "ones_like",
            lambda x: lax.full_like(x, 1),
            "Ones of the shape and dtype of data.",
            (),
            zero_grad,
            takes_bool=True,
        ),
        # The gradient of a loss with respect to itself is 1, whatever comes from above.
        Row(
            "make_loss",
            lambda x: x,
            "Mark data as a loss: its gradient is 1, gradients from above are ignored.",
            ("_sparse_make_loss",),
            lambda inputs, outputs, head, attrs: {"data": lax.full_like(inputs.data, 1)},
            takes_bool=True,
        ),
        # Straight-through estimators: the gradient passes as if nothing had been rounded.
        Row(
            "_contrib_round_ste",
            round_half_away,
            "Round; the gradient passes unchanged.",
            ("_sparse__contrib_round_ste",),
            lambda inputs, outputs, head, attrs: {"data": head.output},
        ),
        Row(
            "_contrib_sign_ste",
            lax.sign,
            "-1, 0 or 1; the gradient passes unchanged.",
            ("_sparse__contrib_sign_ste",),
            lambda inputs, outputs, head, attrs: {"data": head.output},
        ),
        Row(
            "_contrib_div_sqrt_dim",
            _over_root_of_width,
            "Divide by the square root of the length of the last axis (attention scores).",
        ),
    )
)


@operator("hard_sigmoid", unify=same_shape)
def hard_sigmoid(data: Array, *, alpha: float = 0.2, beta: float = 0.5) -> Array:
    """Clip ``alpha * data + beta`` to [0, 1]; the gradient is 0 at and beyond both ends.

    Args:
        data: floating point array of any shape.
        alpha: slope.
        beta: value at 0.

    Returns:
        array of the shape and dtype of data.
    """
    check(
        is_floating(data.dtype),
        f"hard_sigmoid: This operator only supports floating point types, not {data.dtype}; cast data first",
    )
    line = data * alpha + beta
    return lax.select(line <= 0, lax.full_like(line, 0), lax.select(line >= 1, lax.full_like(line, 1), line))


@operator("smooth_l1", aliases=("_npx_smooth_l1",), unify=same_shape)
def smooth_l1(data: Array, *, scalar: Traced = 1.0) -> Array:  # type: ignore[assignment]
    """Quadratic near 0 and linear beyond.

    ``(s * x)**2 / 2`` where ``|x| < 1 / s**2``, else ``|x| - 1 / (2 * s**2)``.

    Args:
        data: array of any shape.
        scalar: s, where the curve turns linear.

    Returns:
        array of the shape and dtype of data.
    """
    refuse_bool("smooth_l1", data)

    def curve(x: Array) -> Array:
        squared = scalar_like(scalar, x.dtype) ** 2
        size = absolute(x)
        near = lax.min(size, lax.broadcast(1 / squared, size.shape))
        return near * near * squared * 0.5 + (size - near)

    return in_floating_point(curve)(data)


@operator("clip", aliases=("_npi_clip", "_sparse_clip"), unify=same_shape)
def clip(data: Array, *, a_min: Traced, a_max: Traced) -> Array:
    """Limit values to [a_min, a_max]; the gradient is 1 at both edges and 0 beyond.

    Args:
        data: array of any shape.
        a_min: lower limit.
        a_max: upper limit; it wins where a_min is larger.

    Returns:
        array of the shape and dtype of data.
    """
    refuse_bool("clip", data)
    low, high = (lax.broadcast(_limit(bound, data.dtype), data.shape) for bound in (a_min, a_max))
    return lax.select(data > high, high, lax.select(data < low, low, data))


def _limit(bound: Any, dtype: np.dtype) -> Array:
    """A limit in the array's dtype; limits outside the range of whole numbers limit nothing."""
    if not is_floating(dtype):
        info = np.iinfo(dtype)
        # float64 cannot hold the largest 64-bit integers: take the next float below them.
        largest = float(info.max) if info.bits < 64 else math.nextafter(float(info.max), 0.0)
        bound = lax.clamp(np.float64(info.min), jnp.asarray(bound, np.float64), np.float64(largest))
    return lax.convert_element_type(bound, dtype)


@operator("Cast", aliases=("cast", "_npi_cast", "_npx_cast"), unify=same_shape, on_whole="pass")
def cast(data: Array, *, dtype: DType) -> Array:
    """Convert to another data type; whole-number targets cut the fraction off.

    Args:
        data: array of any shape.
        dtype: the new data type.

    Returns:
        array of the shape of data.
    """
    target = np.dtype(dtype)  # type: ignore[call-overload]
    return lax.ne(data, lax.full_like(data, 0)) if target == np.bool_ else cut_to(data, target)


@operator("amp_cast", unify=same_shape)
def amp_cast(data: Array, *, dtype: DType) -> Array:
    """Cast float32 and half precision arrays to dtype; leave every other array as it is.

    Args:
        data: array of any shape.
        dtype: the new data type.

    Returns:
        array of the shape of data.
    """
    return cut_to(data, np.dtype(dtype)) if data.dtype in AMP_TYPES else data  # type: ignore[call-overload]


@operator(
    "amp_multicast",
    variadic="num_outputs",
    dtypes="free",
    outputs=lambda attrs: tuple(f"output{index}" for index in range(attrs.num_outputs)),
)
def amp_multicast(*data: Array, num_outputs: int, cast_narrow: bool = False) -> tuple[Array, ...]:
    """Give all float32 and half precision arrays one common type; leave every other array as it is.

    Args:
        data: num_outputs arrays, each of any shape.
        num_outputs: how many arrays there are.
        cast_narrow: take the narrowest type instead of the widest.

    Returns:
        as many arrays, of unchanged shapes.
    """
    check(
        num_outputs == len(data),
        f"amp_multicast: num_outputs is {num_outputs}, but {len(data)} arrays came; make them equal",
    )
    types = [array.dtype for array in data if array.dtype in AMP_TYPES]
    halves = [dtype for dtype in types if dtype != AMP_TYPES[0]]
    # MXNet starts from the first array's type. Of two half precisions the first is the widest, the last the narrowest.
    if cast_narrow and halves:
        target = halves[-1]
    elif AMP_TYPES[0] not in types and data[0].dtype == "float64":
        target = data[0].dtype
    else:
        target = AMP_TYPES[0] if AMP_TYPES[0] in types or not halves else halves[0]
    return tuple(lax.convert_element_type(x, target) if x.dtype in AMP_TYPES else x for x in data)


@jax.custom_jvp
def _scaled_gradient(x: Array, factor: Array) -> Array:
    return x


@functools.partial(_scaled_gradient.defjvp, symbolic_zeros=True)
def _scaled_gradient_tangent(primals: Any, tangents: Any) -> tuple[Array, Array]:
    x, factor = primals
    return x, sum_of_terms(x, (tangents[0], lambda: lax.broadcast(factor, x.shape)))


@operator("_contrib_gradientmultiplier", unify=same_shape)
def gradient_multiplier(data: Array, *, scalar: Traced = 1.0, is_int: bool = True) -> Array:  # type: ignore[assignment]
    """Return data unchanged, and multiply its gradient by scalar (gradient reversal for a negative one).

    Args:
        data: array of any shape.
        scalar: factor of the gradient.
        is_int: accepted for MXNet's sake.

    Returns:
        data.
    """
    return _scaled_gradient(data, scalar_like(scalar, data.dtype)) if is_floating(data.dtype) else data


@operator("_contrib_quadratic", unify=same_shape)
def quadratic(data: Array, *, a: float = 0.0, b: float = 0.0, c: float = 0.0) -> Array:
    """``a * x**2 + b * x + c``.

    Args:
        data: array of any shape.
        a: factor of the square.
        b: factor of x.
        c: constant.

    Returns:
        array of the shape and dtype of data.
    """
    refuse_bool("_contrib_quadratic", data)
    return in_floating_point(lambda x: (a * x + b) * x + c)(data)


@operator("shape_array", aliases=("_npx_shape_array",), grad=zero_grad)
def shape_array(data: Array) -> Array:
    """The shape of data, as an array.

    Args:
        data: array of any shape.

    Returns:
        int64 array (ndim,).
    """
    return jnp.asarray(np.asarray(data.shape, np.int64))


@operator("size_array", grad=zero_grad)
def size_array(data: Array) -> Array:
    """The number of elements of data, as an array.

    Args:
        data: array of any shape.

    Returns:
        int64 array (1,).
    """
    return jnp.asarray(np.asarray([math.prod(data.shape)], np.int64))


def _finite(name: str, arrays: tuple[Array, ...]) -> Array:
    for array in arrays:
        check(
            is_floating(array.dtype),
            f"{name}: This operator only supports floating point types, not {array.dtype}; cast it first",
        )
    answers = [lax.reduce_and(lax.is_finite(array), tuple(range(array.ndim))) for array in arrays]
    return lax.reshape(as_number(functools.reduce(lax.bitwise_and, answers), np.dtype(np.float32)), (1,))


@operator("all_finite", grad=zero_grad)
def all_finite(data: Array, *, init_output: bool = True) -> Array:
    """1 if no element is infinite or NaN, else 0.

    Args:
        data: floating point array of any shape.
        init_output: accepted for MXNet's sake; the result never depends on what ``out`` held before.

    Returns:
        float32 array (1,).
    """
    return _finite("all_finite", (data,))


@operator("multi_all_finite", variadic="num_arrays", grad=zero_grad)
def multi_all_finite(*data: Array, num_arrays: int = 1, init_output: bool = True) -> Array:
    """1 if no element of any array is infinite or NaN, else 0.

    Args:
        data: num_arrays floating point arrays of one dtype, each of any shape.
        num_arrays: how many arrays there are.
        init_output: accepted for MXNet's sake; the result never depends on what ``out`` held before.

    Returns:
        float32 array (1,).
    """
    check(
        num_arrays == len(data),
        f"Operator multi_all_finite expects {num_arrays} inputs, but got {len(data)} instead; "
        f"pass num_arrays={len(data)}",
    )
    return _finite("multi_all_finite", data)
