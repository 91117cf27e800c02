"""``mx.random``: the seed, and the samplers of ``mx.nd.random``."""

from __future__ import annotations

from typing import Any

from gluonjax._base.devices import Context as Context
from gluonjax._base.errors import ArgumentTypeError
from gluonjax._base.python_types import integer_types as integer_types
from gluonjax._engine import rng
from gluonjax.ndarray.random import (
    exponential,
    gamma,
    generalized_negative_binomial,
    multinomial,
    negative_binomial,
    normal,
    poisson,
    randint,
    randn,
    shuffle,
    uniform,
)


class SeedError(ArgumentTypeError, ValueError):
    """A seed is no integer."""


def seed(seed_state: int, ctx: Any = "all") -> None:
    """Restart every random stream of the library: operators, initializers, samplers, augmenters.

    Args:
        seed_state: any integer.
        ctx: accepted for compatibility; numbers do not depend on the device here, and all streams restart.

    >>> from gluonjax import nd
    >>> seed(1); a = nd.random.uniform(shape=3)
    >>> seed(1); b = nd.random.uniform(shape=3)
    >>> bool((a == b).min().asscalar())
    True
    """
    try:
        value = int(seed_state)
    except (TypeError, ValueError):
        raise SeedError(f"random.seed: seed_state must be int, got {seed_state!r}") from None
    if ctx != "all":
        Context(ctx)  # complains about what is none
    rng.seed(value)


__all__ = [
    "exponential", "gamma", "generalized_negative_binomial", "multinomial", "negative_binomial", "normal", "poisson",
    "randint", "randn", "seed", "shuffle", "uniform",
]  # fmt: skip
