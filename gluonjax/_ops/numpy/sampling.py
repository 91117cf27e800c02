"""Random draws with NumPy's parameters. Locations and scales are differentiable (the draw is reparametrized).

The last positional argument is raw key data, uint32[2]; parameters are arrays that broadcast with ``size``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._ops.draws import drawn
from gluonjax._ops.lapack import each_matrix

Draw = Callable[..., Array]


def _uniform(key: Array, shape: tuple[int, ...], dtype: Any, low: Array, high: Array) -> Array:
    return low + (high - low) * drawn("uniform", key, shape, dtype)


def _normal(key: Array, shape: tuple[int, ...], dtype: Any, loc: Array, scale: Array) -> Array:
    return loc + scale * drawn("normal", key, shape, dtype)


def _lognormal(key: Array, shape: tuple[int, ...], dtype: Any, mean: Array, sigma: Array) -> Array:
    return lax.exp(_normal(key, shape, dtype, mean, sigma))


def _gumbel(key: Array, shape: tuple[int, ...], dtype: Any, loc: Array, scale: Array) -> Array:
    return loc + scale * jax.random.gumbel(key, shape, dtype)


def _logistic(key: Array, shape: tuple[int, ...], dtype: Any, loc: Array, scale: Array) -> Array:
    return loc + scale * jax.random.logistic(key, shape, dtype)


def _exponential(key: Array, shape: tuple[int, ...], dtype: Any, scale: Array) -> Array:
    return scale * drawn("exponential", key, shape, dtype)


def _rayleigh(key: Array, shape: tuple[int, ...], dtype: Any, scale: Array) -> Array:
    return scale * lax.sqrt(2 * drawn("exponential", key, shape, dtype))


def _weibull(key: Array, shape: tuple[int, ...], dtype: Any, a: Array) -> Array:
    return drawn("exponential", key, shape, dtype) ** (1 / a)


def _pareto(key: Array, shape: tuple[int, ...], dtype: Any, a: Array) -> Array:
    return lax.expm1(drawn("exponential", key, shape, dtype) / a)


def _power(key: Array, shape: tuple[int, ...], dtype: Any, a: Array) -> Array:
    return (-lax.expm1(-drawn("exponential", key, shape, dtype))) ** (1 / a)


def _gamma(key: Array, shape: tuple[int, ...], dtype: Any, alpha: Array, scale: Array) -> Array:
    return scale * jax.random.gamma(key, jnp.broadcast_to(alpha, shape), shape, dtype)


def _beta(key: Array, shape: tuple[int, ...], dtype: Any, a: Array, b: Array) -> Array:
    first, second = jax.random.split(key)
    x = jax.random.gamma(first, jnp.broadcast_to(a, shape), shape, dtype)
    return x / (x + jax.random.gamma(second, jnp.broadcast_to(b, shape), shape, dtype))


def _chisquare(key: Array, shape: tuple[int, ...], dtype: Any, df: Array) -> Array:
    return 2 * jax.random.gamma(key, jnp.broadcast_to(df / 2, shape), shape, dtype)


def _bernoulli(key: Array, shape: tuple[int, ...], dtype: Any, prob: Array) -> Array:
    return (jax.random.uniform(key, shape, prob.dtype) < prob).astype(dtype)


DRAWS: dict[str, Draw] = {
    "uniform": _uniform, "normal": _normal, "lognormal": _lognormal, "gumbel": _gumbel, "logistic": _logistic,
    "exponential": _exponential, "rayleigh": _rayleigh, "weibull": _weibull, "pareto": _pareto,
    "power": _power,
    "gamma": _gamma, "beta": _beta, "chisquare": _chisquare, "bernoulli": _bernoulli,
}  # fmt: skip


def draw(*values: Array, name: str, size: tuple[int, ...] | None, dtype: np.dtype) -> Array:
    """Draw from a row of ``DRAWS``; ``size=None`` takes the common shape of the parameters."""
    *parameters, key = values
    shape = jnp.broadcast_shapes(*(p.shape for p in parameters)) if size is None else size
    # Half precision has too few numbers in [0, 1): draws run in float32.
    run = np.dtype(np.float64) if dtype == np.float64 else np.dtype(np.float32)
    cast = [p.astype(run) for p in parameters]
    numbers = DRAWS[name](jax.random.wrap_key_data(key), shape, dtype if name == "bernoulli" else run, *cast)
    return numbers.astype(dtype)


def randint(low: Array, high: Array, key: Array, *, size: tuple[int, ...], dtype: np.dtype) -> Array:
    """Whole numbers in [low, high)."""
    return jax.random.randint(jax.random.wrap_key_data(key), size, low, high, np.dtype(np.int64)).astype(dtype)


def choice(*values: Array, count: int, size: tuple[int, ...], replace: bool) -> Array:
    """Positions in ``range(count)``, all equally likely or with the given probabilities."""
    *weights, key = values
    p = weights[0].astype(np.float32) if weights else None
    options = jnp.arange(count, dtype=np.int64)
    return jax.random.choice(jax.random.wrap_key_data(key), options, size, replace, p)


def permutation(a: Array, key: Array) -> Array:
    """The rows of an array in random order."""
    return jax.random.permutation(jax.random.wrap_key_data(key), a)


def multinomial(pvals: Array, key: Array, *, n: int, size: tuple[int, ...]) -> Array:
    """How often each outcome came in n trials, ``size`` times; int64."""
    outcomes = pvals.shape[-1]
    if outcomes == 0 or 0 in size:
        return jnp.zeros((*size, outcomes), np.int64)
    logits = jnp.log(pvals.astype(np.float32))
    drawn = jax.random.categorical(jax.random.wrap_key_data(key), logits, shape=(*size, n))
    counted = jax.nn.one_hot(drawn, outcomes, dtype=np.int64)
    return counted.sum(axis=-2)


def multivariate_normal(mean: Array, cov: Array, key: Array, *, size: tuple[int, ...] | None) -> Array:
    """Vectors with that mean and covariance."""
    batch = jnp.broadcast_shapes(mean.shape[:-1], cov.shape[:-2])
    shape = (*(size or ()), *batch, mean.shape[-1])
    run = np.dtype(np.float32) if mean.dtype.itemsize < 4 else mean.dtype
    noise = jax.random.normal(jax.random.wrap_key_data(key), shape, run)
    factor = each_matrix(jnp.linalg.cholesky, cov.astype(run))
    return mean + jnp.einsum("...ij,...j->...i", factor, noise).astype(mean.dtype)
