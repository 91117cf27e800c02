"""Probability densities (or masses) of drawn samples: ``_random_pdf_normal`` and its relatives.

``sample`` has the parameters' shape plus axes of draws; each row of draws has its own parameters. Gradients reach the
parameters, and the sample where the distribution is continuous.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._ops.opdef import check, operator
from gluonjax._ops.update_rules import HALF

LOG_ROOT_TWO_PI = 0.5 * float(np.log(2 * np.pi))


def log_uniform(x: Array, low: Array, high: Array) -> Array:
    """MXNet does not look whether the sample lies in the range.

    Neither do we. The sample gets no gradient.
    """
    return -lax.log(high - low) + 0 * lax.stop_gradient(x)


def log_normal(x: Array, mu: Array, sigma: Array) -> Array:
    standard = (x - mu) / sigma
    return -0.5 * standard * standard - lax.log(sigma) - LOG_ROOT_TWO_PI


def log_gamma(x: Array, alpha: Array, beta: Array) -> Array:
    """Here ``beta`` is the rate, although the sampler takes it as the scale: MXNet's two halves disagree."""
    return alpha * lax.log(beta) + (alpha - 1) * lax.log(x) - beta * x - lax.lgamma(alpha)


def log_exponential(x: Array, lam: Array) -> Array:
    return lax.log(lam) - lam * x


def log_poisson(x: Array, lam: Array) -> Array:
    x = lax.stop_gradient(x)
    return x * lax.log(lam) - lax.lgamma(x + 1) - lam


def log_negative_binomial(x: Array, k: Array, p: Array) -> Array:
    x = lax.stop_gradient(x)
    ways = lax.lgamma(x + k) - lax.lgamma(x + 1) - lax.lgamma(k)
    return ways + k * lax.log(p) + x * lax.log(1 - p)


def log_generalized_negative_binomial(x: Array, mu: Array, alpha: Array) -> Array:
    return log_negative_binomial(x, 1 / alpha, 1 / (mu * alpha + 1))


def log_dirichlet(x: Array, alpha: Array) -> Array:
    """The last axis holds one point of the simplex."""
    total = lax.lgamma(jnp.sum(alpha, axis=-1)) - jnp.sum(lax.lgamma(alpha), axis=-1)
    return jnp.sum((alpha - 1) * lax.log(x), axis=-1) + total


def density(name: str, log_density: Callable[..., Array], point_axes: int, sample: Array, *parameters: Array,
            is_log: bool) -> Array:  # fmt: skip
    """Evaluate a log density with parameters repeated over the axes of draws; half precision in float32."""
    shape = parameters[0].shape
    rows = shape[: len(shape) - point_axes]
    point = shape[len(shape) - point_axes :]
    fits = sample.shape[: len(rows)] == rows and sample.shape[sample.ndim - point_axes :] == point
    check(
        all(p.shape == shape for p in parameters) and fits and sample.ndim >= len(shape),
        f"{name}: sample has shape {sample.shape}, parameters {[p.shape for p in parameters]}; "
        f"the sample's shape must "
        "begin with the parameters'",
    )
    inner = np.dtype(np.float32) if sample.dtype in HALF else sample.dtype
    axes = (*range(len(rows)), *range(sample.ndim - point_axes, sample.ndim))
    lifted = [lax.broadcast_in_dim(p.astype(inner), sample.shape, axes) for p in parameters]
    value = log_density(sample.astype(inner), *lifted)
    return (value if is_log else lax.exp(value)).astype(sample.dtype)


# Name, log density, names of the parameters.
ROWS: tuple[tuple[str, Callable[..., Array], tuple[str, ...]], ...] = (
    ("uniform", log_uniform, ("low", "high")),
    ("normal", log_normal, ("mu", "sigma")),
    ("gamma", log_gamma, ("alpha", "beta")),
    ("exponential", log_exponential, ("lam",)),
    ("poisson", log_poisson, ("lam",)),
    ("negative_binomial", log_negative_binomial, ("k", "p")),
    ("generalized_negative_binomial", log_generalized_negative_binomial, ("mu", "alpha")),
    ("dirichlet", log_dirichlet, ("alpha",)),
)


def _register(short: str, log_density: Callable[..., Array], names: tuple[str, ...]) -> None:
    name = f"_random_pdf_{short}"
    points = 1 if short == "dirichlet" else 0

    def pdf(sample: Array, *parameters: Array, is_log: bool) -> Array:
        return density(name, log_density, points, sample, *parameters, is_log=is_log)

    tensor = inspect.Parameter.POSITIONAL_OR_KEYWORD
    flag = inspect.Parameter("is_log", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=bool)
    run: Any = pdf
    run.__signature__ = inspect.Signature([*(inspect.Parameter(n, tensor) for n in ("sample", *names)), flag])
    run.__annotations__ = {"is_log": bool}
    run.__name__ = run.__qualname__ = name
    run.__doc__ = (
        f"The density of samples under the {short.replace('_', ' ')} distribution.\n\nArgs:\n"
        f"    sample: parameters' shape, then axes of draws.\n    {', '.join(names)}: "
        f"parameters, of one shape.\n"
        "    is_log: return the logarithm.\n\nReturns:\n    One number per sample."
    )
    operator(name, aliases=(f"random_pdf_{short}",))(run)


for _row in ROWS:
    _register(*_row)
