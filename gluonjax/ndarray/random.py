"""``mx.nd.random``: samplers that take numbers or arrays as parameters."""

from __future__ import annotations

from typing import Any

from gluonjax._base.errors import MXNetError
from gluonjax._ops import registry
from gluonjax.ndarray._invoke import NULL, run_operator
from gluonjax.ndarray.ndarray import NDArray


def _draw(
    scalar_op: str, array_op: str, parameters: dict[str, Any], shape: Any, dtype: Any, ctx: Any, out: Any,
    extra: dict[str, Any],
) -> Any:  # fmt: skip
    given = {name: value for name, value in extra.items() if value is not NULL}
    if shape is not NULL and shape is not None:
        given["shape"] = (int(shape),) if isinstance(shape, int) else tuple(shape)
    if dtype is not NULL and dtype is not None:
        given["dtype"] = dtype
    arrays = [value for value in parameters.values() if isinstance(value, NDArray)]
    if arrays:
        if len(arrays) != len(parameters):
            raise MXNetError(
                f"{array_op}: the distribution's parameters must all be arrays or all be numbers, got "
                + ", ".join(f"{name}: {type(value).__name__}" for name, value in parameters.items())
            )
        return run_operator(registry.get(array_op), arrays, given, out, NDArray)
    given.update(parameters)
    if "shape" not in given:
        first = out[0] if isinstance(out, (list, tuple)) else out
        given["shape"] = (1,) if first is None else first.shape
    if ctx is not None:
        given["ctx"] = ctx
    return run_operator(registry.get(scalar_op), (), given, out, NDArray)


def uniform(
    low: Any = 0, high: Any = 1, shape: Any = NULL, dtype: Any = NULL, ctx: Any = None, out: Any = None, **kwargs: Any
) -> NDArray:
    """Samples from the uniform distribution on ``[low, high)``.

    Args:
        low, high: numbers, or arrays of one shape (then ``shape`` samples are drawn for each pair).
        shape: shape of the result (of each group for array parameters).

    >>> from gluonjax import nd
    >>> nd.random.uniform(0, 1, shape=(2, 2)).shape
    (2, 2)
    """
    return _draw("_random_uniform", "_sample_uniform", {"low": low, "high": high}, shape, dtype, ctx, out, kwargs)


def normal(
    loc: Any = 0, scale: Any = 1, shape: Any = NULL, dtype: Any = NULL, ctx: Any = None, out: Any = None, **kwargs: Any
) -> NDArray:
    """Samples from the normal distribution with mean ``loc`` and standard deviation ``scale``."""
    names = {"loc": loc, "scale": scale}
    if isinstance(loc, NDArray) or isinstance(scale, NDArray):
        names = {"mu": loc, "sigma": scale}
    return _draw("_random_normal", "_sample_normal", names, shape, dtype, ctx, out, kwargs)


def randn(*shape: int, **kwargs: Any) -> NDArray:
    """Samples from the normal distribution, with the shape as positional arguments."""
    loc, scale = kwargs.pop("loc", 0), kwargs.pop("scale", 1)
    dtype, ctx, out = kwargs.pop("dtype", NULL), kwargs.pop("ctx", None), kwargs.pop("out", None)
    if kwargs:
        raise TypeError(f"randn: unexpected keyword arguments {sorted(kwargs)}")
    return normal(loc, scale, shape or NULL, dtype, ctx, out)


def poisson(
    lam: Any = 1, shape: Any = NULL, dtype: Any = NULL, ctx: Any = None, out: Any = None, **kwargs: Any
) -> NDArray:
    """Samples from the Poisson distribution with rate ``lam``."""
    return _draw("_random_poisson", "_sample_poisson", {"lam": lam}, shape, dtype, ctx, out, kwargs)


def exponential(
    scale: Any = 1, shape: Any = NULL, dtype: Any = NULL, ctx: Any = None, out: Any = None, **kwargs: Any
) -> NDArray:
    """Samples from the exponential distribution with mean ``scale``."""
    return _draw("_random_exponential", "_sample_exponential", {"lam": 1.0 / scale}, shape, dtype, ctx, out, kwargs)


def gamma(
    alpha: Any = 1, beta: Any = 1, shape: Any = NULL, dtype: Any = NULL, ctx: Any = None, out: Any = None, **kwargs: Any
) -> NDArray:
    """Samples from the gamma distribution with shape ``alpha`` and scale ``beta``."""
    return _draw("_random_gamma", "_sample_gamma", {"alpha": alpha, "beta": beta}, shape, dtype, ctx, out, kwargs)


def negative_binomial(
    k: Any = 1, p: Any = 1, shape: Any = NULL, dtype: Any = NULL, ctx: Any = None, out: Any = None, **kwargs: Any
) -> NDArray:
    """Samples of the number of failures before ``k`` successes of probability ``p``."""
    return _draw(
        "_random_negative_binomial", "_sample_negative_binomial", {"k": k, "p": p}, shape, dtype, ctx, out, kwargs
    )


def generalized_negative_binomial(
    mu: Any = 1, alpha: Any = 1, shape: Any = NULL, dtype: Any = NULL, ctx: Any = None, out: Any = None, **kwargs: Any
) -> NDArray:
    """Samples from the negative binomial distribution with mean ``mu`` and dispersion ``alpha``."""
    return _draw(
        "_random_generalized_negative_binomial", "_sample_generalized_negative_binomial",
        {"mu": mu, "alpha": alpha}, shape, dtype, ctx, out, kwargs,
    )  # fmt: skip


def multinomial(
    data: NDArray, shape: Any = NULL, get_prob: bool = False, out: Any = None, dtype: Any = "int32", **kwargs: Any
) -> Any:
    """Indices drawn with the probabilities in the last axis; with ``get_prob`` their log-likelihoods too."""
    given: dict[str, Any] = {"get_prob": get_prob, "dtype": dtype, **kwargs}
    if shape is not NULL and shape is not None:
        given["shape"] = shape
    return run_operator(registry.get("_sample_multinomial"), (data,), given, out, NDArray)


def shuffle(data: NDArray, **kwargs: Any) -> NDArray:
    """The rows of ``data`` in random order."""
    out = kwargs.pop("out", None)
    return run_operator(registry.get("_shuffle"), (data,), kwargs, out, NDArray)


def randint(
    low: Any, high: Any, shape: Any = NULL, dtype: Any = NULL, ctx: Any = None, out: Any = None, **kwargs: Any
) -> NDArray:
    """Integers drawn uniformly from ``[low, high)``."""
    given: dict[str, Any] = {"low": low, "high": high, "shape": (1,) if out is None else out.shape, **kwargs}
    if shape is not NULL and shape is not None:
        given["shape"] = shape
    if dtype is not NULL and dtype is not None:
        given["dtype"] = dtype
    if ctx is not None:
        given["ctx"] = ctx
    return run_operator(registry.get("_random_randint"), (), given, out, NDArray)
