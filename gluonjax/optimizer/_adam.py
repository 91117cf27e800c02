"""Optimizers that keep running moments of the gradient: Adam, Adamax, Nadam, FTML."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

from jax import Array, lax

from gluonjax._ops import update_rules as rules
from gluonjax._ops.update_rules import bounded
from gluonjax.optimizer._base import Optimizer, register
from gluonjax.optimizer._state import Layout


def warmth(beta: float, t: Any, xp: Any) -> Any:
    """``1 - beta ** t`` without losing digits for small t, also when t is a traced float32."""
    return -xp.expm1(t * math.log(beta)) if beta > 0 else 1.0


@register
class Adam(Optimizer):
    """Adam with bias correction.

    Args:
        beta1, beta2: decay rates of mean and variance.
        epsilon: added to the root of the variance.
        lazy_update: with a row-sparse gradient, update only the rows it has.
    """

    coefficients: ClassVar[tuple[str, ...]] = ("beta1", "beta2", "epsilon")

    def __init__(
        self, learning_rate: float = 0.001, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8,
        lazy_update: bool = True, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.lazy_update = lazy_update

    @property
    def lazy_rows(self) -> bool:  # type: ignore[override]
        return self.lazy_update

    def formula(self) -> Callable[..., Any]:
        return rules.adam

    def layout(self) -> Layout:
        return ("zeros", "zeros")

    def hyper(self, index: Any, lr: Any, wd: Any, t: Any, xp: Any = math) -> dict[str, Any]:
        corrected = lr * xp.sqrt(warmth(self.beta2, t, xp)) / warmth(self.beta1, t, xp)
        return super().hyper(index, corrected, wd, t, xp)


def adamax(
    weight: Array, grad: Array, mean: Array, largest: Array, *, lr: Any, wd: Any, rescale_grad: Any,
    clip: float | None, beta1: float, beta2: float,
) -> tuple[Array, ...]:  # fmt: skip
    """Adam with the running maximum instead of the variance.

    There is no epsilon in MXNet: a history of zeros only gives NaN.
    """
    full = bounded(grad * rescale_grad + wd * weight, clip)
    mean = mean * beta1 + (1.0 - beta1) * full
    largest = lax.max(beta2 * largest, lax.abs(full))
    return weight - lr * mean / largest, mean, largest


@register
class Adamax(Optimizer):
    """Adam based on the infinity norm.

    Args:
        beta1, beta2: decay rates of mean and maximum.
    """

    coefficients: ClassVar[tuple[str, ...]] = ("beta1", "beta2")
    clips_at_zero: ClassVar[bool] = True

    def __init__(
        self, learning_rate: float = 0.002, beta1: float = 0.9, beta2: float = 0.999, **kwargs: Any
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2

    def formula(self) -> Callable[..., Any]:
        return adamax

    def layout(self) -> Layout:
        return ("zeros", "zeros")

    def hyper(self, index: Any, lr: Any, wd: Any, t: Any, xp: Any = math) -> dict[str, Any]:
        return super().hyper(index, lr / warmth(self.beta1, t, xp), wd, t, xp)


def nadam(
    weight: Array, grad: Array, mean: Array, var: Array, *, lr: Any, wd: Any, rescale_grad: Any, of_grad: Any,
    of_mean: Any, warm: Any, clip: float | None, beta1: float, beta2: float, epsilon: float,
) -> tuple[Array, ...]:  # fmt: skip
    """Adam whose step mixes the new gradient and the next step's momentum."""
    full = bounded(grad * rescale_grad + wd * weight, clip)
    mean = mean * beta1 + (1.0 - beta1) * full
    var = var * beta2 + (1.0 - beta2) * full * full
    return weight - lr * (of_grad * full + of_mean * mean) / (lax.sqrt(var / warm) + epsilon), mean, var


@register
class Nadam(Optimizer):
    """Adam with Nesterov momentum.

    Args:
        beta1, beta2: decay rates of mean and variance.
        epsilon: added to the root of the variance.
        schedule_decay: how fast the momentum warms up.
    """

    coefficients: ClassVar[tuple[str, ...]] = ("beta1", "beta2", "epsilon")
    hyper_names: ClassVar[tuple[str, ...]] = ("lr", "wd", "rescale_grad", "of_grad", "of_mean", "warm")
    carried: ClassVar[tuple[str, ...]] = ("m_schedule",)
    clips_at_zero: ClassVar[bool] = True

    def __init__(
        self, learning_rate: float = 0.001, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8,
        schedule_decay: float = 0.004, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.schedule_decay = schedule_decay
        self.m_schedule: Any = 1.0

    def formula(self) -> Callable[..., Any]:
        return nadam

    def layout(self) -> Layout:
        return ("zeros", "zeros")

    def hyper(self, index: Any, lr: Any, wd: Any, t: Any, xp: Any = math) -> dict[str, Any]:
        now, after = (self.beta1 * (1.0 - 0.5 * 0.96 ** (step * self.schedule_decay)) for step in (t, t + 1))
        # One schedule for all weights: it advances with every weight, not with every step, as in MXNet.
        self.m_schedule = self.m_schedule * now
        return {
            **super().hyper(index, lr, wd, t, xp),
            "of_grad": (1.0 - now) / (1.0 - self.m_schedule),
            "of_mean": after / (1.0 - self.m_schedule * after),
            "warm": warmth(self.beta2, t, xp),
        }


@register
class FTML(Optimizer):
    """Follow the moving leader.

    Args:
        beta1, beta2: decay rates.
        epsilon: added to the root of the variance.
    """

    coefficients: ClassVar[tuple[str, ...]] = ("beta1", "beta2", "epsilon")
    hyper_names: ClassVar[tuple[str, ...]] = ("lr", "wd", "rescale_grad", "t")

    def __init__(
        self, beta1: float = 0.6, beta2: float = 0.999, epsilon: float = 1e-8, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon

    def formula(self) -> Callable[..., Any]:
        return rules.ftml

    def layout(self) -> Layout:
        return ("zeros", "zeros", "zeros")

    def hyper(self, index: Any, lr: Any, wd: Any, t: Any, xp: Any = math) -> dict[str, Any]:
        return {**super().hyper(index, lr, wd, t, xp), "t": t}
