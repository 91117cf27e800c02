"""``mx.sym.random``: samplers whose parameters are numbers or symbols."""

from __future__ import annotations

from typing import Any

from gluonjax._base.errors import ArgumentValueError
from gluonjax._base.python_types import numeric_types as numeric_types
from gluonjax._ops import registry
from gluonjax.ndarray._invoke import NULL
from gluonjax.symbol._compose import SymbolBase
from gluonjax.symbol.register import make_function, namespace
from gluonjax.symbol.symbol import Symbol

_like, _names = namespace("random", globals(), lambda: Symbol)


def _call(name: str, /, *args: Any, **kwargs: Any) -> Any:
    return make_function(registry.get(name), name, Symbol)(*args, **kwargs)


def _draw(family: str, parameters: dict[str, Any], sampled: tuple[str, ...], kwargs: dict[str, Any]) -> Any:
    """The sampler for numbers (``_random_*``) or, with one draw a row, for symbols (``_sample_*``)."""
    symbols = [isinstance(value, SymbolBase) for value in parameters.values()]
    if not any(symbols):
        return _call(f"_random_{family}", **parameters, **kwargs)
    if not all(symbols):
        shown = ", ".join(f"{name}: {type(value).__name__}" for name, value in parameters.items())
        raise ArgumentValueError(
            f"random.{family}: distribution parameters must all be symbols or all be numbers, got {shown}"
        )
    return _call(f"_sample_{family}", **dict(zip(sampled, parameters.values())), **kwargs)


def uniform(low: Any = 0, high: Any = 1, shape: Any = NULL, dtype: Any = NULL, **kwargs: Any) -> Symbol:
    """Samples from the uniform distribution on ``[low, high)``.

    >>> uniform(0, 1, shape=(2, 3)).infer_shape()[1]
    [(2, 3)]
    """
    return _draw(
        "uniform", {"low": low, "high": high}, ("low", "high"), {"shape": shape, "dtype": dtype, **kwargs}
    )


def normal(loc: Any = 0, scale: Any = 1, shape: Any = NULL, dtype: Any = NULL, **kwargs: Any) -> Symbol:
    """Samples from the normal distribution with mean ``loc`` and standard deviation ``scale``."""
    return _draw(
        "normal", {"loc": loc, "scale": scale}, ("mu", "sigma"), {"shape": shape, "dtype": dtype, **kwargs}
    )


def randn(*shape: int, **kwargs: Any) -> Symbol:
    """Samples from the normal distribution, with the shape as positional arguments."""
    loc, scale = kwargs.pop("loc", 0), kwargs.pop("scale", 1)
    kwargs.pop("data", None)  # MXNet's samplers have no inputs and drop what is given as one
    return normal(loc, scale, shape=shape, **kwargs)


def poisson(lam: Any = 1, shape: Any = NULL, dtype: Any = NULL, **kwargs: Any) -> Symbol:
    """Samples from the Poisson distribution with rate ``lam``."""
    return _draw("poisson", {"lam": lam}, ("lam",), {"shape": shape, "dtype": dtype, **kwargs})


def exponential(scale: Any = 1, shape: Any = NULL, dtype: Any = NULL, **kwargs: Any) -> Symbol:
    """Samples from the exponential distribution with mean ``scale``."""
    return _draw("exponential", {"lam": 1.0 / scale}, ("lam",), {"shape": shape, "dtype": dtype, **kwargs})


def gamma(alpha: Any = 1, beta: Any = 1, shape: Any = NULL, dtype: Any = NULL, **kwargs: Any) -> Symbol:
    """Samples from the gamma distribution with shape ``alpha`` and scale ``beta``."""
    return _draw(
        "gamma", {"alpha": alpha, "beta": beta}, ("alpha", "beta"), {"shape": shape, "dtype": dtype, **kwargs}
    )


def negative_binomial(k: Any = 1, p: Any = 1, shape: Any = NULL, dtype: Any = NULL, **kwargs: Any) -> Symbol:
    """Samples of the number of failures before ``k`` successes of probability ``p``."""
    return _draw(
        "negative_binomial", {"k": k, "p": p}, ("k", "p"), {"shape": shape, "dtype": dtype, **kwargs}
    )


def generalized_negative_binomial(
    mu: Any = 1, alpha: Any = 1, shape: Any = NULL, dtype: Any = NULL, **kwargs: Any
) -> Symbol:
    """Samples from the negative binomial distribution with mean ``mu`` and dispersion ``alpha``."""
    rest = {"shape": shape, "dtype": dtype, **kwargs}
    return _draw("generalized_negative_binomial", {"mu": mu, "alpha": alpha}, ("mu", "alpha"), rest)


def multinomial(
    data: Symbol, shape: Any = NULL, get_prob: bool = True, dtype: Any = "int32", **kwargs: Any
) -> Symbol:
    """Indices drawn with the probabilities in the last axis of ``data``, and their log-likelihoods."""
    return _call("_sample_multinomial", data, shape=shape, get_prob=get_prob, dtype=dtype, **kwargs)


def shuffle(data: Symbol, **kwargs: Any) -> Symbol:
    """The rows of ``data`` in random order."""
    return _call("_shuffle", data, **kwargs)


def randint(low: Any, high: Any, shape: Any = NULL, dtype: Any = NULL, **kwargs: Any) -> Symbol:
    """Integers drawn uniformly from ``[low, high)``."""
    return _call("_random_randint", low=low, high=high, shape=shape, dtype=dtype, **kwargs)


def __getattr__(name: str) -> Any:
    return _like(name)


def __dir__() -> list[str]:
    return _names()
