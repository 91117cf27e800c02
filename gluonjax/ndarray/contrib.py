"""``mx.nd.contrib``: operators from the registry, and functions made of operators."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gluonjax._engine import rng
from gluonjax._ops import registry
from gluonjax.ndarray import _creation
from gluonjax.ndarray._control_flow import cond as cond
from gluonjax.ndarray._control_flow import foreach as foreach
from gluonjax.ndarray._control_flow import while_loop as while_loop
from gluonjax.ndarray._invoke import run_operator
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


def _factor(rescale_grad: Any, like: NDArray) -> NDArray:
    """The factor of gradients as an array where the weight is; a factor that is not finite skips the step."""
    if isinstance(rescale_grad, NDArray):
        return rescale_grad.as_in_context(like.context)
    return _creation.full((1,), rescale_grad, ctx=like.context)


def _update(name: str, arrays: list[Any], out: Any, attrs: dict[str, Any]) -> Any:
    attrs.pop("name", None)
    return run_operator(registry.get(name), arrays, attrs, out, NDArray)


def adamw_update(
    weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, rescale_grad: Any, lr: float, eta: float,
    beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8, wd: float = 0, clip_gradient: float = -1,
    out: Any = None, name: str | None = None, **kwargs: Any,
) -> Any:  # fmt: skip
    """One step of AdamW; ``rescale_grad`` is a number or an array."""
    attrs = dict(lr=lr, eta=eta, beta1=beta1, beta2=beta2, epsilon=epsilon, wd=wd, clip_gradient=clip_gradient)
    return _update("_adamw_update", [weight, grad, mean, var, _factor(rescale_grad, weight)], out, {**attrs, **kwargs})


def mp_adamw_update(
    weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, weight32: NDArray, rescale_grad: Any, lr: float,
    eta: float, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8, wd: float = 0,
    clip_gradient: float = -1, out: Any = None, name: str | None = None, **kwargs: Any,
) -> Any:  # fmt: skip
    """One step of AdamW with a float32 copy of the weight; ``rescale_grad`` is a number or an array."""
    attrs = dict(lr=lr, eta=eta, beta1=beta1, beta2=beta2, epsilon=epsilon, wd=wd, clip_gradient=clip_gradient)
    arrays = [weight, grad, mean, var, weight32, _factor(rescale_grad, weight)]
    return _update("_mp_adamw_update", arrays, out, {**attrs, **kwargs})


def _interleaved(*columns: Any) -> list[Any]:
    """The arrays of the first weight, then those of the second, ..."""
    return [array for row in zip(*columns) for array in row]


def multi_adamw_update(
    weights: Any, grads: Any, mean: Any, var: Any, rescale_grad: Any, lrs: Any, wds: Any, etas: Any, out: Any = None,
    name: str | None = None, size: int = 0, **kwargs: Any,
) -> Any:  # fmt: skip
    """One step of AdamW for several weights: lists of arrays, and one number for each in lrs, wds and etas."""
    arrays = [*_interleaved(weights, grads, mean, var), _factor(rescale_grad, weights[0])]
    attrs = dict(num_weights=size or len(weights), lrs=lrs, wds=wds, etas=etas, **kwargs)
    return _update("_multi_adamw_update", arrays, out, attrs)


def multi_mp_adamw_update(
    weights: Any, grads: Any, mean: Any, var: Any, weights32: Any, rescale_grad: Any, lrs: Any, wds: Any, etas: Any,
    out: Any = None, name: str | None = None, size: int = 0, **kwargs: Any,
) -> Any:  # fmt: skip
    """``multi_adamw_update`` with float32 copies of the weights."""
    arrays = [*_interleaved(weights, grads, mean, var, weights32), _factor(rescale_grad, weights[0])]
    attrs = dict(num_weights=size or len(weights), lrs=lrs, wds=wds, etas=etas, **kwargs)
    return _update("_multi_mp_adamw_update", arrays, out, attrs)


def multi_lamb_update(
    weights: Any, grads: Any, mean: Any, var: Any, step_count: Any, lrs: Any, wds: Any, out: Any = None,
    num_tensors: int = 0, **kwargs: Any,
) -> Any:  # fmt: skip
    """One step of LAMB for several weights: lists of arrays, and one number for each in step_count, lrs and wds."""
    attrs = dict(num_tensors=num_tensors or len(weights), step_count=step_count, learning_rates=lrs, wds=wds, **kwargs)
    return _update("_multi_lamb_update", _interleaved(weights, grads, mean, var), out, attrs)


def multi_mp_lamb_update(
    weights: Any, grads: Any, mean: Any, var: Any, weights32: Any, step_count: Any, lrs: Any, wds: Any, out: Any = None,
    num_tensors: int = 0, **kwargs: Any,
) -> Any:  # fmt: skip
    """``multi_lamb_update`` with float32 copies of the weights."""
    attrs = dict(num_tensors=num_tensors or len(weights), step_count=step_count, learning_rates=lrs, wds=wds, **kwargs)
    return _update("_multi_mp_lamb_update", _interleaved(weights, grads, mean, var, weights32), out, attrs)
