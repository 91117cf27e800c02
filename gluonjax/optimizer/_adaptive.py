"""Optimizers with a learning rate per coordinate: AdaGrad, RMSProp, AdaDelta, Ftrl; and Test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from jax import Array, lax

from gluonjax._ops import update_rules as rules
from gluonjax._ops.update_rules import bounded
from gluonjax.optimizer._base import Optimizer, register
from gluonjax.optimizer._state import Layout


@register
class AdaGrad(Optimizer):
    """Steps divided by the root of the sum of squared gradients.

    Args:
        eps: added to the sum of squares.
    """

    clips_at_zero: ClassVar[bool] = True
    lazy_rows = True

    def __init__(self, eps: float = 1e-7, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def formula(self) -> Callable[..., Any]:
        return rules.adagrad

    def layout(self) -> Layout:
        return "zeros"

    def static(self) -> dict[str, Any]:
        return {**super().static(), "epsilon": self.float_stable_eps}


@register
class RMSProp(Optimizer):
    """Steps divided by the running root mean square of gradients.

    Args:
        gamma1: decay rate of the mean square.
        gamma2: momentum of the centered form.
        epsilon: added to the mean square.
        centered: Graves' form, which also keeps the mean gradient.
        clip_weights: limit of every element of the new weight.
    """

    def __init__(
        self, learning_rate: float = 0.001, gamma1: float = 0.9, gamma2: float = 0.9, epsilon: float = 1e-8,
        centered: bool = False, clip_weights: float | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.gamma1 = gamma1
        self.gamma2 = gamma2
        self.centered = centered
        self.epsilon = epsilon
        self.clip_weights = clip_weights

    def formula(self) -> Callable[..., Any]:
        return rules.rmsprop_centered if self.centered else rules.rmsprop

    def layout(self) -> Layout:
        return ("zeros", "zeros", "zeros") if self.centered else ("zeros",)

    def static(self) -> dict[str, Any]:
        own = {"gamma1": self.gamma1, "epsilon": self.epsilon, "clip_weights": self.clip_weights or None}
        if self.centered:
            own["gamma2"] = self.gamma2
        return {**super().static(), **own}


def adadelta(
    weight: Array, grad: Array, squares: Array, steps: Array, *, lr: Any, wd: Any, rescale_grad: Any,
    clip: float | None, rho: float, epsilon: float,
) -> tuple[Array, ...]:  # fmt: skip
    """The ratio of two running root mean squares sets the rate, so ``lr`` has no effect."""
    scaled = bounded(grad * rescale_grad, clip)
    squares = squares * rho + (1.0 - rho) * scaled * scaled
    step = lax.sqrt(steps + epsilon) / lax.sqrt(squares + epsilon) * scaled
    steps = steps * rho + (1.0 - rho) * step * step
    return weight - (step + wd * weight), squares, steps


@register
class AdaDelta(Optimizer):
    """A method without a learning rate.

    Args:
        rho: decay rate of both averages.
        epsilon: added to both averages.
    """

    coefficients: ClassVar[tuple[str, ...]] = ("rho", "epsilon")
    clips_at_zero: ClassVar[bool] = True

    def __init__(self, rho: float = 0.90, epsilon: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rho = rho
        self.epsilon = epsilon

    def formula(self) -> Callable[..., Any]:
        return adadelta

    def layout(self) -> Layout:
        return ("zeros", "zeros")


@register
class Ftrl(Optimizer):
    """Follow the regularized leader, for sparse linear models.

    Args:
        lamda1: L1 strength.
        learning_rate: the initial rate.
        beta: smooths the rate per coordinate.
    """

    coefficients: ClassVar[tuple[str, ...]] = ("lamda1", "beta")
    lazy_rows = True
    lazy_rows_of_dense = False

    def __init__(
        self, lamda1: float = 0.01, learning_rate: float = 0.1, beta: float = 1, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.lamda1 = lamda1
        self.beta = beta
        # Set here and not by the base class: a scheduler keeps its own base rate, as in MXNet.
        self.lr = learning_rate

    def formula(self) -> Callable[..., Any]:
        return rules.ftrl

    def layout(self) -> Layout:
        return ("zeros", "zeros")


def add_gradient(
    weight: Array, grad: Array, state: Array, *, lr: Any, wd: Any, rescale_grad: Any, clip: float | None
) -> tuple[Array, ...]:
    new = weight + grad * rescale_grad
    return new, new


@register
class Test(Optimizer):
    """Adds the rescaled gradient; MXNet's own tests of key-value stores use it."""

    __test__ = False  # not a test class for pytest

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)

    def formula(self) -> Callable[..., Any]:
        return add_gradient

    def layout(self) -> Layout:
        return "zeros"

    def _update_count(self, index: Any) -> None:
        """MXNet's Test optimizer counts nothing."""
        for one in index if isinstance(index, (list, tuple)) else [index]:
            self._index_update_count.setdefault(one, self.begin_num_update)
