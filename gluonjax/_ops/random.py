"""Operators that draw random numbers.

The seven distributions are rows of a table; each row gives three operators: ``_random_<name>`` (scalar
parameters), ``_random_<name>_like`` (the shape of an array) and ``_sample_<name>`` (one distribution per
array element). MXNet's own stream of numbers is not reproduced: the same seed gives other numbers of the
same distribution.
"""

from __future__ import annotations

# Annotations of parameters (Traced, Aux, DType) name kinds of attributes; the values are floats and arrays.
# pyright: reportArgumentType=false, reportOperatorIssue=false, reportAttributeAccessIssue=false
# pyright: reportReturnType=false, reportCallIssue=false, reportRedeclaration=false
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._base.attrs import DType, Traced
from gluonjax._base.dtypes import is_floating
from gluonjax._base.errors import OperatorError
from gluonjax._ops.draws import drawn
from gluonjax._ops.indexing import gather_axis
from gluonjax._ops.opdef import check, operator, zero_grad
from gluonjax._ops.update_rules import HALF

# Range checks of traced attributes, which the operator's function cannot see: the engine calls them before
# dispatch.
VALUE_CHECKS: dict[str, Callable[[dict[str, Any]], None]] = {}

# A Poisson rate beyond this is drawn as if it were this.
LARGEST_RATE = 1e9


def draw_uniform(key: Array, shape: tuple[int, ...], dtype: np.dtype, low: Array, high: Array) -> Array:
    return low + (high - low) * drawn("uniform", key, shape, dtype)


def draw_normal(key: Array, shape: tuple[int, ...], dtype: np.dtype, loc: Array, scale: Array) -> Array:
    return loc + scale * drawn("normal", key, shape, dtype)


def draw_gamma(key: Array, shape: tuple[int, ...], dtype: np.dtype, alpha: Array, beta: Array) -> Array:
    """``beta`` is the scale, so that the mean is alpha * beta."""
    return beta * drawn("gamma", key, shape, dtype, jnp.broadcast_to(alpha, shape))


def draw_exponential(key: Array, shape: tuple[int, ...], dtype: np.dtype, lam: Array) -> Array:
    """``lam`` is the rate; MXNet's Python functions take its inverse, the scale."""
    return drawn("exponential", key, shape, dtype) / lam


def draw_poisson(key: Array, shape: tuple[int, ...], dtype: np.dtype, lam: Array) -> Array:
    rate = lax.clamp(np.asarray(0, dtype), jnp.broadcast_to(lam, shape), np.asarray(LARGEST_RATE, dtype))
    return drawn("poisson", key, shape, dtype, rate).astype(dtype)


def draw_negative_binomial(key: Array, shape: tuple[int, ...], dtype: np.dtype, k: Array, p: Array) -> Array:
    """Failures before the k-th success: a Poisson draw whose rate is drawn from a gamma distribution."""
    first, second = jax.random.split(key)
    k, p = jnp.broadcast_to(k, shape), jnp.broadcast_to(p, shape)
    some = k > 0
    rate = drawn("gamma", first, shape, dtype, lax.select(some, k, lax.full_like(k, 1))) * (1 - p) / p
    return draw_poisson(second, shape, dtype, lax.select(some, rate, lax.full_like(rate, 0)))


def draw_generalized_negative_binomial(
    key: Array, shape: tuple[int, ...], dtype: np.dtype, mu: Array, alpha: Array
) -> Array:
    """Mean ``mu``, variance ``mu + alpha * mu**2``; ``alpha = 0`` is the Poisson distribution."""
    first, second = jax.random.split(key)
    mu, alpha = jnp.broadcast_to(mu, shape), jnp.broadcast_to(alpha, shape)
    mixed = alpha > 0
    spread = lax.select(mixed, alpha, lax.full_like(alpha, 1))
    rate = drawn("gamma", first, shape, dtype, 1 / spread) * spread * mu
    return draw_poisson(second, shape, dtype, lax.select(mixed, rate, mu))


def above(name: str, what: str) -> Callable[[dict[str, Any]], str | None]:
    return lambda attrs: f"{what} has to be positive, got {attrs[name]}" if not attrs[name] > 0 else None


def at_least_zero(name: str, what: str) -> Callable[[dict[str, Any]], str | None]:
    return lambda attrs: f"{what} has to be non-negative, got {attrs[name]}" if not attrs[name] >= 0 else None


def ordered(attrs: dict[str, Any]) -> str | None:
    if attrs["high"] >= attrs["low"]:
        return None
    return f"low must be less or equal to high in uniform distribution, got low={attrs['low']}, high={attrs['high']}"


@dataclass(frozen=True)
class Distribution:
    """One row.

    How to draw, the parameters' names with defaults, their names as arrays, and what is checked.
    """

    name: str
    draw: Callable[..., Array]
    scalars: dict[str, float]
    arrays: tuple[str, ...]
    checks: tuple[Callable[[dict[str, Any]], str | None], ...]
    about: str
    short_names: tuple[str, ...] = ()


DISTRIBUTIONS = (
    Distribution("uniform", draw_uniform, {"low": 0.0, "high": 1.0}, ("low", "high"), (ordered,),
                 "the uniform distribution on [low, high)", ("uniform", "random_uniform")),
    Distribution("normal", draw_normal, {"loc": 0.0, "scale": 1.0}, ("mu", "sigma"),
                 (above("scale", "scale parameter in gaussian"),),
                 "the normal distribution with that mean and standard deviation", ("normal", "random_normal")),
    Distribution("gamma", draw_gamma, {"alpha": 1.0, "beta": 1.0}, ("alpha", "beta"),
                 (above("alpha", "alpha parameter in gamma distribution"),
                  above("beta", "beta parameter in gamma distribution")),
                 "the gamma distribution with shape alpha and scale beta", ("random_gamma",)),
    Distribution("exponential", draw_exponential, {"lam": 1.0}, ("lam",),
                 (above("lam", "lambda parameter in exponential distribution"),),
                 "the exponential distribution with rate lam", ("random_exponential",)),
    Distribution("poisson", draw_poisson, {"lam": 1.0}, ("lam",),
                 (at_least_zero("lam", "lambda parameter in poisson distribution"),),
                 "the Poisson distribution with rate lam (as floating numbers)", ("random_poisson",)),
    Distribution("negative_binomial", draw_negative_binomial, {"k": 1.0, "p": 1.0}, ("k", "p"),
                 (at_least_zero("k", "k parameter in negative binomial distribution"),
                  at_least_zero("p", "p parameter in negative binomial distribution")),
                 "the number of failures before the k-th success of probability p", ("random_negative_binomial",)),
    Distribution("generalized_negative_binomial", draw_generalized_negative_binomial, {"mu": 1.0, "alpha": 1.0},
                 ("mu", "alpha"),
                 (at_least_zero("mu", "mu parameter in generalized negative binomial distribution"),
                  at_least_zero("alpha", "alpha parameter in generalized negative binomial distribution")),
                 "the negative binomial distribution with mean mu and dispersion alpha",
                 ("random_generalized_negative_binomial",)),
)  # fmt: skip


def _draw_as(draw: Callable[..., Array], key: Array, shape: Any, dtype: Any, parameters: Any) -> Array:
    """Draw in float32 or float64 and round to the wanted dtype."""
    wanted = np.dtype(np.float32) if dtype is None else np.dtype(dtype)
    check(
        is_floating(wanted),
        f"random numbers: dtype {wanted} is no floating type; use float16, float32 or float64",
    )
    inner = np.dtype(np.float32) if wanted in HALF else wanted
    values = [lax.convert_element_type(value, inner) for value in parameters]
    return draw(key, tuple(shape), inner, *values).astype(wanted)


def _given(name: str, shape: tuple[int, ...] | None) -> tuple[int, ...]:
    check(bool(shape), f"{name}: shape is not given; write shape=(2, 3)")
    return _positive(name, tuple(shape or ()))


def _positive(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    check(min(shape, default=0) >= 0, f"{name}: inferring shapes failed: shape {shape} has a negative dimension")
    return shape


def _keyword(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _named(function: Callable[..., Any], name: str, doc: str, parameters: list[inspect.Parameter]) -> None:
    """Give a generic function the signature that the operator is read from."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    function.__signature__ = inspect.Signature(parameters)
    function.__annotations__ = {
        p.name: p.annotation for p in parameters if p.annotation is not inspect.Parameter.empty
    }


def _register_scalar(row: Distribution) -> None:
    name = f"_random_{row.name}"

    def draw(*, key: Array, shape: Any, ctx: str, dtype: Any, **values: Any) -> Array:
        return _draw_as(row.draw, key, _given(name, shape), dtype, [values[n] for n in row.scalars])

    _named(draw, name, f"Draw from {row.about}.\n\nArgs:\n    {', '.join(row.scalars)}: parameters.\n"
           "    shape: shape of the result.\n    ctx: device of the result.\n    dtype: floating "
           "type (float32).\n\n"
           "Returns:\n    An array of the given shape.", [
        *(_keyword(n, Traced, default) for n, default in row.scalars.items()),
        _keyword("shape", tuple[int, ...] | None, None), _keyword("ctx", str, ""),
        _keyword("dtype", DType | None, None), _keyword("key", Any),
    ])  # fmt: skip
    operator(name, aliases=row.short_names, grad=zero_grad)(draw)

    def draw_like(data: Array, *, key: Array, **values: Any) -> Array:
        return _draw_as(row.draw, key, data.shape, data.dtype, [values[n] for n in row.scalars])

    _named(draw_like, name + "_like", f"Draw from {row.about}, in the shape of an array.\n\nArgs:\n"
           f"    data: gives shape and dtype.\n    {', '.join(row.scalars)}: parameters.\n\n"
           "Returns:\n    An array like data.", [
        inspect.Parameter("data", inspect.Parameter.POSITIONAL_OR_KEYWORD),
        *(_keyword(n, Traced, default) for n, default in row.scalars.items()), _keyword("key", Any),
    ])  # fmt: skip
    operator(name + "_like", grad=zero_grad)(draw_like)

    def check_values(attrs: dict[str, Any]) -> None:
        for problem in (test(attrs) for test in row.checks):
            if problem:
                raise OperatorError(f"{name}: {problem}")

    VALUE_CHECKS[name] = VALUE_CHECKS[name + "_like"] = check_values


def _register_sample(row: Distribution) -> None:
    name = f"_sample_{row.name}"

    def draw(*parameters: Array, key: Array, shape: Any, dtype: Any) -> Array:
        shapes = {p.shape for p in parameters}
        check(
            len(shapes) == 1,
            f"{name}: {' and '.join(row.arrays)} have shapes {sorted(shapes)}; they must agree",
        )
        whole = parameters[0].shape + _positive(name, tuple(shape))
        lifted = [lax.broadcast_in_dim(p, whole, range(p.ndim)) for p in parameters]
        return _draw_as(row.draw, key, whole, dtype, lifted)

    _named(draw, name, f"Draw for each element of the parameters from {row.about}.\n\nArgs:\n"
           f"    {', '.join(row.arrays)}: parameters, arrays of one shape.\n"
           "    shape: how many draws per element, appended to the parameters' shape.\n"
           "    dtype: floating type (float32).\n\nReturns:\n    Shape of the parameters + shape.", [
        *(inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in row.arrays),
        _keyword("shape", tuple[int, ...], ()), _keyword("dtype", DType | None, None), _keyword("key", Any),
    ])  # fmt: skip
    operator(name, aliases=(f"sample_{row.name}",), grad=zero_grad)(draw)


for _row in DISTRIBUTIONS:
    _register_scalar(_row)
    _register_sample(_row)


@operator("_random_randint", aliases=("random_randint", "_npi_random_randint"), grad=zero_grad)
def random_randint(
    *, low: Traced, high: Traced, shape: tuple[int, ...] | None = None, ctx: str = "", dtype: DType | None = None,
    key: Any,
) -> Array:  # fmt: skip
    """Draw whole numbers from [low, high).

    Args:
        low, high: the range; high itself is not drawn.
        shape: shape of the result.
        ctx: device of the result.
        dtype: int32 (the default) or int64.

    Returns:
        An integer array of the given shape.
    """
    wanted = np.dtype(np.int32) if dtype is None else np.dtype(dtype)
    check(wanted in (np.int32, np.int64), f"_random_randint: dtype {wanted}; use int32 or int64")
    first, last = (lax.convert_element_type(value, np.int64) for value in (low, high))
    # Where the range is empty, its lower end.
    span = lax.max(lax.sub(*(lax.convert_element_type(end, np.uint64) for end in (last, first))), np.uint64(1))
    return drawn("whole", key, _given("_random_randint", shape), wanted, first, span)


def _check_randint(attrs: dict[str, Any]) -> None:
    low, high = attrs["low"], attrs["high"]
    if not high >= low:
        raise OperatorError(
            f"_random_randint: low must be less or equal to high in uniform distribution, got low={low}, high={high}"
        )


VALUE_CHECKS["_random_randint"] = _check_randint


_INT32 = np.dtype(np.int32)


@operator(
    "_sample_multinomial",
    aliases=("sample_multinomial",),
    outputs=lambda attrs: ("output", "log_prob") if attrs.get_prob else ("output",),
)
def sample_multinomial(
    data: Array, *, shape: tuple[int, ...] = (), get_prob: bool = False, dtype: DType = _INT32, key: Any
) -> Any:  # fmt: skip
    """Draw indices with given probabilities.

    Args:
        data: (k,) or (..., k), probabilities along the last axis.
        shape: how many draws per row.
        get_prob: also return the log probability of what was drawn; its gradient reaches data (policy
            gradients).
        dtype: type of the indices.

    Returns:
        Indices of shape (...) + shape; one row without shape gives (1,). With get_prob, (indices, log
        probability).
    """
    check(data.ndim >= 1, "_sample_multinomial: data has no axis of probabilities; give shape (k,) or (n, k)")
    classes, rows = data.shape[-1], data.shape[:-1]
    result_shape = (rows + _positive("_sample_multinomial", tuple(shape))) or (1,)
    if 0 in result_shape:
        # MXNet looks at the dtype and the classes when it draws.
        indices = lax.full(result_shape, 0, dtype)
        return (indices, lax.full(result_shape, 0, data.dtype)) if get_prob else indices
    check(is_floating(data.dtype), f"_sample_multinomial: data has dtype {data.dtype}; it must be floating")
    check(classes > 0, f"_sample_multinomial: data {data.shape} has no classes to draw from")
    most = 2 ** (jnp.finfo(dtype).nmant + 1) if is_floating(dtype) else np.iinfo(dtype).max
    check(
        classes <= most,
        f"_sample_multinomial: {classes} classes do not fit into {np.dtype(dtype).name}, which counts to {most}",
    )
    per_row = int(np.prod(shape, dtype=np.int64))
    table = lax.stop_gradient(data).astype(np.float32).reshape((-1, classes))
    total = jnp.cumsum(table, axis=1)
    points = drawn("uniform", key, (table.shape[0], per_row), np.dtype(np.float32)) * total[:, -1:]
    picked = jax.vmap(lambda edges, point: jnp.searchsorted(edges, point, side="right"))(total, points)
    picked = lax.min(picked.astype(np.int32), np.int32(classes - 1))
    indices = picked.astype(dtype).reshape(result_shape)
    if not get_prob:
        return indices
    chosen = jnp.take_along_axis(data.reshape((-1, classes)), picked, axis=1)
    return indices, lax.log(chosen).reshape(result_shape)


@operator("_shuffle", aliases=("shuffle", "_npi_shuffle"), grad=zero_grad)
def shuffle(data: Array, *, key: Any) -> Array:
    """Put the entries along the first axis into a random order.

    Args:
        data: any shape.

    Returns:
        The same rows in another order.
    """
    check(data.ndim >= 1, "_shuffle: data has no axis to shuffle; give an array of one dimension or more")
    return gather_axis(data, _random_order(key, data.shape[0]), 0)


def _random_order(key: Any, count: int) -> Array:
    """The int32 positions 0 to ``count - 1`` in a random order: one sort of numbers that hold a draw and a position."""
    drawn = jax.random.bits(key, (count,), jnp.uint32).astype(np.int64)
    position = lax.iota(np.dtype(np.int64), count)
    return (lax.sort((drawn << 32) | position) & np.int64(0xFFFFFFFF)).astype(np.int32)


@operator("_sample_unique_zipfian", host=True, outputs=("samples", "num_tries"), grad=zero_grad)
def sample_unique_zipfian(*, range_max: int, shape: tuple[int, ...] | None = None, key: Any) -> Any:
    """Draw classes without repetition from an approximately Zipfian distribution (sampled softmax).

    Class c has probability ``log((c + 2) / (c + 1)) / log(range_max + 1)``.

    Args:
        range_max: the number of classes.
        shape: (rows, draws per row).

    Returns:
        int64 samples (rows, draws), unique within a row, and int64 (rows,) how many draws that took.
    """
    check(
        shape is not None and len(shape) == 2 and min(shape) >= 0,
        f"_sample_unique_zipfian: shape is {shape}; it must have two dimensions (rows, draws per row)",
    )
    rows, draws = shape or (0, 0)
    check(
        draws <= range_max,
        f"_sample_unique_zipfian: {draws} different classes are wanted of {range_max}; draw fewer",
    )
    words = np.asarray(jax.random.key_data(key)).reshape(-1)
    source = np.random.Generator(np.random.Philox([int(word) for word in words]))
    samples = np.empty((rows, draws), np.int64)
    tries = np.zeros((rows,), np.int64)
    span = np.log(range_max + 1)
    for row in range(rows):
        seen: dict[int, None] = {}
        while len(seen) < draws:
            tries[row] += 1
            seen.setdefault(min(int(np.exp(source.random() * span)), range_max) - 1)
        samples[row] = list(seen)
    return samples, tries


__all__ = ["DISTRIBUTIONS", "VALUE_CHECKS"]
