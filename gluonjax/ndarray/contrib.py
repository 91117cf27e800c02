"""``mx.nd.contrib``: operators from the registry, and functions made of operators."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gluonjax._engine import rng
from gluonjax.ndarray import _creation
from gluonjax.ndarray._control_flow import cond as cond
from gluonjax.ndarray._control_flow import foreach as foreach
from gluonjax.ndarray._control_flow import while_loop as while_loop
from gluonjax.ndarray.ndarray import NDArray


def isinf(data: NDArray) -> NDArray:
    """1 where an element is plus or minus infinity, else 0.

    >>> from gluonjax import nd
    >>> nd.contrib.isinf(nd.array([1, float("inf")])).asnumpy().tolist()
    [0.0, 1.0]
    """
    values: Any = data
    return abs(values) == np.inf


def isfinite(data: NDArray) -> NDArray:
    """1 where an element is neither infinite nor NaN, else 0."""
    values: Any = data
    return (values == values) * (abs(values) != np.inf)


def isnan(data: NDArray) -> NDArray:
    """1 where an element is NaN, else 0."""
    result: Any = data != data
    return result


def rand_zipfian(
    true_classes: NDArray, num_sampled: int, range_max: int, ctx: Any = None
) -> tuple[NDArray, NDArray, NDArray]:
    """Draw classes from an approximately Zipfian distribution over ``[0, range_max)``, with replacement.

    Returns:
        The samples (int64), the expected counts of the true classes, and those of the samples.
    """
    spread = math.log(range_max + 1)
    draw = np.random.RandomState(rng.host_seed()).uniform(0, spread, num_sampled)
    sampled = (np.exp(draw).astype(np.int64) - 1) % range_max

    def expected(classes: np.ndarray) -> np.ndarray:
        wide = classes.astype(np.float64)
        return np.log((wide + 2.0) / (wide + 1.0)) / spread * num_sampled

    return (
        _creation.array(sampled, ctx, np.int64),
        _creation.array(expected(true_classes.asnumpy()), ctx, np.float64),
        _creation.array(expected(sampled), ctx, np.float64),
    )
