"""``mx.npx.random``: the seed, and draws that NumPy has no name for."""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from gluonjax._ops import registry
from gluonjax.ndarray._invoke import run_operator
from gluonjax.numpy import random as _random
from gluonjax.numpy._call import shape_of
from gluonjax.numpy.multiarray import ndarray
from gluonjax.random import seed as _seed


def seed(seed: int, ctx: Any = "all") -> None:
    """Restart every random stream of the library; ``ctx`` is accepted for compatibility."""
    _seed(seed, ctx)


def bernoulli(
    prob: Any = None, logit: Any = None, size: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> ndarray:
    """1 with that probability (or log odds), else 0."""
    if (prob is None) == (logit is None):
        raise ValueError("Either `prob` or `logit` must be specified, but not both. "
                         f"Received prob={prob}, logit={logit}")  # fmt: skip
    if prob is not None:
        known = _random._known(prob)
        if known is not None and not ((known >= 0) & (known <= 1)).all():
            raise ValueError(f"random.bernoulli: expected 0 <= prob <= 1, got {prob}")
    else:
        if isinstance(logit, ndarray):
            prob = run_operator(registry.get("sigmoid"), (logit,), {}, None, ndarray)
        else:
            prob = 1 / (1 + _numpy.exp(-_numpy.asarray(logit, _numpy.float64)))
    return _random.draw("bernoulli", (prob,), size, dtype, ctx, out)


def _batched(name: str, parameters: tuple[Any, Any], batch_shape: Any, dtype: Any, ctx: Any) -> ndarray:
    common = _numpy.broadcast_shapes(*(p.shape if isinstance(p, ndarray) else () for p in parameters))
    size = (*(() if batch_shape is None else shape_of(batch_shape)), *common)
    return _random.draw(name, parameters, size, dtype, ctx)


def uniform_n(low: Any = 0.0, high: Any = 1.0, batch_shape: Any = None, dtype: Any = None, ctx: Any = None) -> ndarray:
    """Uniform draws of shape ``batch_shape`` + the common shape of the parameters."""
    return _batched("uniform", (low, high), batch_shape, dtype, ctx)


def normal_n(loc: Any = 0.0, scale: Any = 1.0, batch_shape: Any = None, dtype: Any = None, ctx: Any = None) -> ndarray:
    """Normal draws of shape ``batch_shape`` + the common shape of the parameters."""
    return _batched("normal", (loc, scale), batch_shape, dtype, ctx)
