"""Descent along the gradient: SGD, NAG, Signum, and the variants DCASGD and SGLD."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from gluonjax._engine import rng
from gluonjax._ops import update_rules as rules
from gluonjax._ops.update_rules import bounded
from gluonjax.optimizer._base import Optimizer, aggregation_size, register
from gluonjax.optimizer._state import Layout


@register
class SGD(Optimizer):
    """Stochastic gradient descent with momentum and weight decay.

    ``state = momentum * state - lr * (clip(rescale_grad * grad) + wd * weight)``, ``weight += state``.

    Args:
        momentum: 0 for none (and then no state).
        lazy_update: with a row-sparse gradient, update only the rows it has.

    >>> from gluonjax import nd
    >>> sgd, weight = SGD(learning_rate=0.5), nd.ones((2,))
    >>> sgd.update(0, weight, nd.ones((2,)), sgd.create_state(0, weight))
    >>> weight.asnumpy().tolist()
    [0.5, 0.5]
    """

    master_first: ClassVar[bool] = False

    def __init__(self, momentum: float = 0.0, lazy_update: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum
        self.lazy_update = lazy_update
        self.aggregate_num = aggregation_size(4)

    @property
    def lazy_rows(self) -> bool:  # type: ignore[override]
        return self.lazy_update

    def formula(self) -> Callable[..., Any]:
        # A negative momentum is taken as none, as in MXNet, though its state is made.
        return rules.sgd_momentum if self.momentum > 0 else rules.sgd

    def layout(self) -> Layout:
        return "zeros" if self.momentum else None

    def static(self) -> dict[str, Any]:
        own = {"momentum": self.momentum} if self.momentum > 0 else {}
        return {**super().static(), **own}


@register
class ccSGD(SGD):
    """The old name of SGD."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)


@register
class NAG(Optimizer):
    """Nesterov's accelerated gradient.

    Args:
        momentum: 0 for plain descent.
    """

    master_first: ClassVar[bool] = False

    def __init__(self, momentum: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum

    def formula(self) -> Callable[..., Any]:
        return rules.nesterov if self.momentum else rules.sgd

    def layout(self) -> Layout:
        return "zeros" if self.momentum else None

    @property
    def lazy_rows(self) -> bool:  # type: ignore[override]
        return not self.momentum  # MXNet calls the operator of SGD then

    def static(self) -> dict[str, Any]:
        own = {"momentum": max(self.momentum, 0.0)} if self.momentum else {}
        return {**super().static(), **own}


@register
class Signum(Optimizer):
    """Steps along the sign of the momentum, or of the gradient if there is no momentum.

    Args:
        momentum: 0 for signSGD.
        wd_lh: decoupled weight decay.
    """

    def __init__(
        self, learning_rate: float = 0.01, momentum: float = 0.9, wd_lh: float = 0.0, **kwargs: Any
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.momentum = momentum
        self.wd_lh = wd_lh

    def formula(self) -> Callable[..., Any]:
        return rules.signum if self.momentum else rules.sign_sgd

    def layout(self) -> Layout:
        return "zeros" if self.momentum else None

    def static(self) -> dict[str, Any]:
        own = {"momentum": max(self.momentum, 0.0), "wd_lh": self.wd_lh} if self.momentum else {}
        return {**super().static(), **own}


def delay_compensated(
    weight: Array, grad: Array, *states: Array, lr: Any, wd: Any, rescale_grad: Any, clip: float | None,
    momentum: float, lamda: float,
) -> tuple[Array, ...]:  # fmt: skip
    """Descent whose gradient is corrected by how far the weight has moved since the gradient was asked for."""
    *mom, previous = states
    scaled = bounded(grad * rescale_grad, clip)
    step = -lr * (scaled + wd * weight + lamda * scaled * scaled * (weight - previous))
    if mom:
        step = mom[0] * momentum + step
    return (weight + step, *([step] if mom else []), weight)


@register
class DCASGD(Optimizer):
    """Asynchronous descent with delay compensation.

    Args:
        momentum: 0 for none.
        lamda: strength of the compensation.
    """

    coefficients: ClassVar[tuple[str, ...]] = ("momentum", "lamda")
    clips_at_zero: ClassVar[bool] = True

    def __init__(self, momentum: float = 0.0, lamda: float = 0.04, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum
        self.weight_previous: dict[Any, Any] = {}
        self.lamda = lamda

    def formula(self) -> Callable[..., Any]:
        return delay_compensated

    def layout(self) -> Layout:
        return ("zeros" if self.momentum else None, "copy")


NOISE_NAMES = ("noise0", "noise1", "noise2", "noise3")


def langevin(
    weight: Array, grad: Array, *, lr: Any, wd: Any, rescale_grad: Any, clip: float | None, **noise: Any
) -> tuple[Array, ...]:
    """Descent at half rate plus normal noise of variance ``lr``: the weights sample from the posterior."""
    pieces = jnp.stack([noise[name].astype(np.uint32) for name in NOISE_NAMES]).reshape((2, 2))
    key = jax.random.wrap_key_data(pieces[:, 0] * np.uint32(1 << 16) + pieces[:, 1], impl="threefry2x32")
    moved = weight - lr / 2 * (bounded(grad * rescale_grad, clip) + wd * weight)
    return (moved + jnp.sqrt(lr) * jax.random.normal(key, weight.shape, weight.dtype),)


@register
class SGLD(Optimizer):
    """Stochastic gradient Langevin dynamics. The noise comes from ``mx.random``'s stream."""

    hyper_names: ClassVar[tuple[str, ...]] = ("lr", "wd", "rescale_grad", *NOISE_NAMES)
    clips_at_zero: ClassVar[bool] = True

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)

    def formula(self) -> Callable[..., Any]:
        return langevin

    def hyper(self, index: Any, lr: Any, wd: Any, t: Any, xp: Any = math) -> dict[str, Any]:
        # A key is two 32-bit words; 16-bit pieces pass exactly through float32.
        first, second = rng.take_keys() if xp is math else (index + 1, t)
        pieces = (first // 65536, first % 65536, second // 65536, second % 65536)
        return {**super().hyper(index, lr, wd, t, xp), **dict(zip(NOISE_NAMES, pieces))}
