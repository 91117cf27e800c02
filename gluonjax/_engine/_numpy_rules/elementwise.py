"""Rules for the primitives that work on each element by itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from gluonjax._engine._numpy_rules.site import (
    BFLOAT16,
    FLOAT32,
    Function,
    Rule,
    Site,
    identity,
    is_floating,
    is_half,
)


def _plain(function: Function) -> Rule:
    """A rule for a NumPy function that does on every dtype exactly what the primitive does."""
    return lambda site: function


def _same_dtype(function: Function) -> Rule:
    """Like `_plain`, for primitives that may ask for another output dtype (mul's `out_dtype`)."""

    def rule(site: Site) -> Function:
        dtype = site.outs[0].dtype
        if all(operand.dtype == dtype for operand in site.ins):
            return function
        return lambda x, y: function(x.astype(dtype), y.astype(dtype))

    return rule


def _special(name: str, fix: Function | None = None) -> Rule:
    """A rule for a function of `scipy.special`; half precision goes through float32.

    SciPy is imported when the first such equation is built: most programs need none of it.
    """

    def rule(site: Site) -> Function | None:
        import scipy.special

        function = getattr(scipy.special, name)
        dtype = site.outs[0].dtype
        if not is_floating(dtype):
            return None
        wide = FLOAT32 if is_half(dtype) else dtype

        def compute(*arguments: Any) -> Any:
            if wide is not dtype:
                arguments = tuple(argument.astype(wide) for argument in arguments)
            result = function(*arguments)
            if fix is not None:
                result = fix(result, *arguments)
            return result if result.dtype == dtype else result.astype(dtype)

        return compute

    return rule


def _even_at_infinity(result: Any, x: Any) -> Any:
    """XLA's lgamma is infinite at both ends; SciPy's is minus infinity at the lower one."""
    return np.where(np.isinf(x), np.abs(x), result)


def _pole_at_zero(result: Any, x: Any) -> Any:
    """JAX's digamma is minus infinity at zeros of both signs; SciPy's tells them apart."""
    return np.where(x == 0, np.asarray(-np.inf, result.dtype), result)


# ---------------------------------------------------------------------------------------------- arithmetic


def _divide_integers(x: Any, y: Any) -> Any:
    """Integer division toward zero; anything divided by zero is all ones (-1), as XLA has it."""
    by_zero = y == 0
    safe = np.where(by_zero, np.ones_like(y), y) if by_zero.any() else y
    quotient = np.floor_divide(x - np.fmod(x, safe), safe)
    return np.where(by_zero, ~np.zeros_like(quotient), quotient) if safe is not y else quotient


def _remainder_integers(x: Any, y: Any) -> Any:
    """Integer remainder with the sign of the dividend; x modulo zero is x."""
    by_zero = y == 0
    if not by_zero.any():
        return np.fmod(x, y)
    return np.where(by_zero, x, np.fmod(x, np.where(by_zero, np.ones_like(y), y)))


def _divide(site: Site) -> Function:
    return _divide_integers if site.ins[0].dtype.kind in "iu" else np.true_divide


def _remainder(site: Site) -> Function:
    return _remainder_integers if site.ins[0].dtype.kind in "iu" else np.fmod


def _power_by_squaring(x: Any, exponent: int) -> Any:
    """x to a positive constant power by repeated squaring: the order of multiplications that XLA uses."""
    result = None
    while exponent:
        if exponent & 1:
            result = x if result is None else np.multiply(result, x)
        exponent >>= 1
        if exponent:
            x = np.multiply(x, x)
    return result


def _integer_power(site: Site) -> Function:
    exponent = int(site.params["y"])
    dtype = site.outs[0].dtype
    if exponent == 0:
        return lambda x: np.ones(np.shape(x), dtype)
    if exponent == 1:
        return identity
    if exponent == 2:
        return np.square
    if exponent == 3:
        return lambda x: np.multiply(np.multiply(x, x), x)
    if exponent == -1:
        return np.reciprocal
    if exponent < 0:
        return lambda x: np.reciprocal(_power_by_squaring(x, -exponent))
    return lambda x: _power_by_squaring(x, exponent)


def _power_integers(x: Any, y: Any) -> Any:
    """Integer powers that wrap around; a negative exponent leaves only powers of 1 and -1."""
    if y.dtype.kind == "i":
        negative = y < 0
        if negative.any():
            result = np.power(x, np.where(negative, np.zeros_like(y), y).astype(x.dtype))
            odd = (y & 1).astype(bool)
            units = np.where(x == 1, 1, np.where(x == -1, np.where(odd, -1, 1), 0)).astype(x.dtype)
            return np.where(negative, units, result)
    return np.power(x, y.astype(x.dtype))


def _power(site: Site) -> Function:
    base, exponent = site.ins[0].dtype, site.ins[1].dtype
    if base.kind in "iu":
        return _power_integers
    if base == exponent:
        return np.power
    return lambda x, y: np.power(x, y.astype(base))


def _reciprocal_root(x: Any) -> Any:
    root = np.sqrt(x)
    return np.reciprocal(root)


def _sign(site: Site) -> Function:
    if is_floating(site.ins[0].dtype):
        # np.sign loses the sign of zero, which XLA keeps
        return lambda x: np.where(x == 0, x, np.sign(x))
    return np.sign


def _logistic(x: Any) -> Any:
    one = np.ones((), x.dtype)
    return np.true_divide(one, np.add(one, np.exp(np.negative(x))))


def _logistic_rule(site: Site) -> Function:
    dtype = site.outs[0].dtype
    if is_half(dtype):
        return lambda x: _logistic(x.astype(FLOAT32)).astype(dtype)
    return _logistic


def _round(site: Site) -> Function | None:
    method = getattr(site.params["rounding_method"], "name", None)
    if method == "TO_NEAREST_EVEN":
        return np.rint
    if method != "AWAY_FROM_ZERO":
        return None
    half = np.asarray(0.5, site.ins[0].dtype)

    def away_from_zero(x: Any) -> Any:
        whole = np.trunc(x)
        step = np.greater_equal(np.abs(np.subtract(x, whole)), half).astype(x.dtype)
        return np.add(whole, np.copysign(step, x))

    return away_from_zero


def _polynomial(site: Site) -> Function:
    """Horner's rule; coefficients come lowest degree first."""

    def polynomial(x: Any, *coefficients: Any) -> Any:
        result = coefficients[-1]
        for coefficient in coefficients[-2::-1]:
            result = np.add(np.multiply(result, x), coefficient)
        return result

    return polynomial


def _polygamma(site: Site) -> Function:
    """Derivatives of digamma; SciPy wants the order as an integer."""
    import scipy.special

    dtype = site.outs[0].dtype
    return lambda order, x: scipy.special.polygamma(order.astype(np.int64), x).astype(dtype)


def _one_minus_square(x: Any) -> Any:
    one = np.ones((), x.dtype)
    return np.multiply(np.subtract(one, x), np.add(one, x))


# ---------------------------------------------------------------------------------------------------- bits


def _shift_right_logical(site: Site) -> Function:
    dtype = site.ins[0].dtype
    if dtype.kind == "u":
        return np.right_shift
    unsigned = np.dtype(f"u{dtype.itemsize}")
    return lambda x, y: np.right_shift(x.view(unsigned), y.view(unsigned)).view(dtype)


def _population_count(site: Site) -> Function:
    dtype = site.ins[0].dtype
    unsigned = np.dtype(f"u{dtype.itemsize}")
    return lambda x: np.bitwise_count(x.view(unsigned)).astype(dtype)


def _count_leading_zeros(site: Site) -> Function:
    dtype = site.ins[0].dtype
    unsigned = np.dtype(f"u{dtype.itemsize}")
    bits = dtype.itemsize * 8

    def count(x: Any) -> Any:
        rest = np.asarray(x).view(unsigned)
        length = np.zeros_like(rest)
        shift = bits // 2
        while shift:
            high = rest >> unsigned.type(shift)
            move = high != 0
            length += np.where(move, unsigned.type(shift), unsigned.type(0))
            rest = np.where(move, high, rest)
            shift //= 2
        return (unsigned.type(bits) - length - rest).astype(dtype)

    return count


def _reduce_precision(site: Site) -> Function | None:
    """Rounds to fewer exponent and mantissa bits without changing the dtype."""
    dtype = site.ins[0].dtype
    exponent_bits, mantissa_bits = site.params["exponent_bits"], site.params["mantissa_bits"]
    layout = {2: (8, 7) if dtype == BFLOAT16 else (5, 10), 4: (8, 23), 8: (11, 52)}[dtype.itemsize]
    if exponent_bits >= layout[0] and mantissa_bits >= layout[1]:
        return identity
    wide_exponent, wide_mantissa = layout
    unsigned = np.dtype(f"u{dtype.itemsize}").type
    drop = wide_mantissa - mantissa_bits
    bias, new_bias = (1 << (wide_exponent - 1)) - 1, (1 << (exponent_bits - 1)) - 1
    sign_bit = unsigned(1 << (dtype.itemsize * 8 - 1))
    infinity = unsigned(((1 << wide_exponent) - 1) << wide_mantissa)
    largest, smallest = (
        unsigned((bias + new_bias) << wide_mantissa),
        unsigned((bias - new_bias + 1) << wide_mantissa),
    )
    exponent_mask = infinity

    def reduce_precision(x: Any) -> Any:
        bits = np.asarray(x).view(unsigned)
        sign, magnitude = bits & sign_bit, bits & ~sign_bit
        if drop > 0:
            lowest_kept = (magnitude >> unsigned(drop)) & unsigned(1)
            magnitude = magnitude + (unsigned((1 << (drop - 1)) - 1) + lowest_kept)
            magnitude = magnitude & ~unsigned((1 << drop) - 1)
        if exponent_bits < wide_exponent:
            exponent = magnitude & exponent_mask
            magnitude = np.where(exponent > largest, infinity, magnitude)
            magnitude = np.where(exponent < smallest, unsigned(0), magnitude)
        result = (magnitude | sign).view(dtype)
        return np.where(np.isnan(x), x, result)

    return reduce_precision


# ------------------------------------------------------------------------------------------------- choices


def _select(site: Site) -> Function:
    count = len(site.ins) - 1
    if count == 1:
        return lambda which, case: case
    if count == 2:
        if site.ins[0].dtype.kind == "b":
            return lambda which, no, yes: np.where(which, yes, no)
        return lambda which, first, second: np.where(which != 0, second, first)

    def select(which: Any, *cases: Any) -> Any:
        result = cases[-1]
        for position in range(count - 2, -1, -1):
            result = np.where(which <= position, cases[position], result)
        return result

    return select


def _clamp(low: Any, x: Any, high: Any) -> Any:
    return np.minimum(np.maximum(low, x), high)


# --------------------------------------------------------------------------------------------- conversions


def _float_to_integer(source: np.dtype, target: np.dtype) -> Function:
    """Truncates toward zero; what does not fit becomes the nearest integer that does, NaN becomes zero."""
    info = np.iinfo(target)
    wide = np.dtype(np.float64) if source.itemsize == 8 or target.itemsize == 4 else FLOAT32
    if target.itemsize == 8:
        wide = np.dtype(np.float64)
    # the first float at or above the range's end: comparing with it is exact where max itself is no float
    too_low, too_high = np.asarray(float(info.min) - 1.0, wide), np.asarray(float(info.max) + 1.0, wide)
    if target.itemsize == 8 and target.kind == "i":
        too_low = np.asarray(np.nextafter(float(info.min), -np.inf), wide)

    def convert(x: Any) -> Any:
        if x.size and not (
            too_low < np.minimum.reduce(x, axis=None) and np.maximum.reduce(x, axis=None) < too_high
        ):
            x = x.astype(wide)
            inside = (x > too_low) & (x < too_high)
            result = np.where(inside, x, wide.type(0)).astype(target)
            result = np.where(x >= too_high, target.type(info.max), result)
            return np.where(x <= too_low, target.type(info.min), result)
        return x.astype(target)

    return convert


def _convert(site: Site) -> Function:
    source, target = site.ins[0].dtype, site.outs[0].dtype
    if source == target:
        return identity
    if target.kind in "iu" and is_floating(source):
        return _float_to_integer(source, target)
    if source.kind == "c" and target.kind != "c":
        part = np.dtype(f"f{source.itemsize // 2}")
        convert_part = _convert(site._replace(ins=(site.ins[0]._replace(dtype=part),)))
        return lambda x: convert_part(x.real)
    if target.kind == "b":
        zero = np.zeros((), source)
        return lambda x: np.not_equal(x, zero)
    return lambda x: x.astype(target)


def _to_complex(site: Site) -> Function:
    dtype = site.outs[0].dtype

    def combine(real: Any, imaginary: Any) -> Any:
        out = np.empty(np.broadcast_shapes(np.shape(real), np.shape(imaginary)), dtype)
        out.real, out.imag = real, imaginary
        return out

    return combine


def _total_order(function: Function) -> Rule:
    """`lt_to` and its kind: floats ordered by sign and bits, so that -0 < +0 and NaN has a place."""

    def rule(site: Site) -> Function:
        dtype = site.ins[0].dtype
        if not is_floating(dtype):
            return function
        signed = np.dtype(f"i{dtype.itemsize}")
        magnitude = signed.type(np.iinfo(signed).max)

        def key(x: Any) -> Any:
            bits = np.asarray(x).view(signed)
            return np.where(bits < 0, bits ^ magnitude, bits)

        return lambda x, y: function(key(x), key(y))

    return rule


def _exponential(x: Any) -> Any:
    """e to the x; NumPy's float32 version may be two units off, so small arrays go through float64."""
    if x.dtype == FLOAT32 and x.size <= 1024:
        return np.exp(x, dtype=np.float64).astype(FLOAT32)
    return np.exp(x)


UNARY = {
    "neg": np.negative, "abs": np.abs, "floor": np.floor, "ceil": np.ceil, "is_finite": np.isfinite,
    "exp": _exponential, "exp2": np.exp2, "log": np.log, "log2": np.log2, "log1p": np.log1p, "expm1": np.expm1,
    "sqrt": np.sqrt, "rsqrt": _reciprocal_root, "cbrt": np.cbrt, "square": np.square,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "not": np.invert, "real": np.real, "imag": np.imag, "conj": np.conj,
    "one_minus_square": _one_minus_square,
}  # fmt: skip

BINARY = {
    "sub": np.subtract, "max": np.maximum, "min": np.minimum, "atan2": np.arctan2, "nextafter": np.nextafter,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "shift_left": np.left_shift, "shift_right_arithmetic": np.right_shift,
}  # fmt: skip

SPECIAL = {
    "erf": "erf", "erfc": "erfc", "erf_inv": "erfinv", "igamma": "gammainc", "igammac": "gammaincc",
    "bessel_i0e": "i0e", "bessel_i1e": "i1e", "regularized_incomplete_beta": "betainc", "zeta": "zeta",
}  # fmt: skip

RULES: dict[str, Rule] = {
    **{name: _plain(function) for name, function in (UNARY | BINARY).items()},
    **{name: _special(function) for name, function in SPECIAL.items()},
    "lgamma": _special("gammaln", _even_at_infinity),
    "digamma": _special("psi", _pole_at_zero),
    "add": _same_dtype(np.add),
    "add_any": _same_dtype(np.add),
    "mul": _same_dtype(np.multiply),
    "div": _divide,
    "rem": _remainder,
    "pow": _power,
    "integer_pow": _integer_power,
    "sign": _sign,
    "logistic": _logistic_rule,
    "round": _round,
    "shift_right_logical": _shift_right_logical,
    "population_count": _population_count,
    "clz": _count_leading_zeros,
    "reduce_precision": _reduce_precision,
    "select_n": _select,
    "clamp": lambda site: _clamp,
    "convert_element_type": _convert,
    "complex": _to_complex,
    "polynomial": _polynomial,
    "polygamma": _polygamma,
    "eq_to": _total_order(np.equal),
    "le_to": _total_order(np.less_equal),
    "lt_to": _total_order(np.less),
}
