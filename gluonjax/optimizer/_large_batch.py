"""Optimizers for large batches: LARS, LAMB and LBSGD adapt the learning rate per layer."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import jax

from gluonjax._ops import update_rules as rules
from gluonjax.optimizer._base import Optimizer, aggregation_size, check_arrays, register
from gluonjax.optimizer._sgd import SGD
from gluonjax.optimizer._state import Layout


@register
class LARS(SGD):
    """SGD whose rate is scaled per layer by the ratio of the norms of weight and gradient.

    Parameters named ``*gamma``, ``*beta`` and ``*bias`` keep the plain rate.

    Args:
        momentum: 0 for none.
        lazy_update: as in SGD.
        eta: the LARS coefficient.
        eps: added to the denominator.
        momentum_correction: scale the momentum when a scheduler changes the rate.
    """

    hyper_names: ClassVar[tuple[str, ...]] = ("lr", "wd", "rescale_grad", "momentum", "adapt")
    carried: ClassVar[tuple[str, ...]] = ("last_lr", "cur_lr")

    def __init__(
        self, momentum: float = 0.0, lazy_update: bool = True, eta: float = 0.001, eps: float = 0,
        momentum_correction: bool = True, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(momentum, lazy_update, **kwargs)
        self.momentum_correction = momentum_correction
        self.eta = eta
        self.eps = eps
        self.skip = 0
        self.last_lr: Any = None
        self.cur_lr: Any = None

    @property
    def lazy_rows(self) -> bool:  # type: ignore[override]
        return False  # the norms need whole arrays

    @staticmethod
    def _decays(name: str) -> bool:
        return name.endswith("_weight")

    def _get_lrs(self, indices: Sequence[Any]) -> list[float]:
        rate = self.learning_rate
        self.last_lr = rate if self.cur_lr is None else self.cur_lr
        self.cur_lr = rate
        return [rate * factor for factor in self._factors(indices, "lr_mult", self.lr_mult)]

    def formula(self) -> Callable[..., Any]:
        return rules.lars

    def static(self) -> dict[str, Any]:
        return {**Optimizer.static(self), "eta": self.eta, "eps": self.eps}

    def hyper(self, index: Any, lr: Any, wd: Any, t: Any, xp: Any = math) -> dict[str, Any]:
        momentum: Any = max(self.momentum, 0.0)
        if self.momentum_correction and momentum:
            if isinstance(self.last_lr, jax.Array):
                momentum = momentum * xp.where(self.last_lr == 0, 1.0, self.cur_lr / self.last_lr)
            elif self.last_lr != 0:
                momentum = momentum * (self.cur_lr / self.last_lr)
        plain = str(self.idx2name.get(index, index)).endswith(("gamma", "beta", "bias"))
        return {**super().hyper(index, lr, wd, t, xp), "momentum": momentum, "adapt": 0.0 if plain else 1.0}


@register
class LAMB(Optimizer):
    """Adam with decoupled decay whose steps are scaled per layer by the ratio of norms.

    Args:
        beta1, beta2, epsilon: as in Adam.
        lower_bound, upper_bound: limits of the norm of the weight; None for none.
        bias_correction: correct the moments for their start at zero.
    """

    coefficients: ClassVar[tuple[str, ...]] = ("beta1", "beta2", "epsilon", "bias_correction")
    hyper_names: ClassVar[tuple[str, ...]] = ("lr", "wd", "rescale_grad", "t")

    def __init__(
        self, learning_rate: float = 0.001, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-6,
        lower_bound: float | None = None, upper_bound: float | None = None, bias_correction: bool = True, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.lower_bound, self.upper_bound = lower_bound, upper_bound
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon
        self.bias_correction = bias_correction
        self.aggregate_num = max(1, min(45, aggregation_size(45)))

    def formula(self) -> Callable[..., Any]:
        return rules.lamb

    def layout(self) -> Layout:
        return ("zeros", "zeros")

    def static(self) -> dict[str, Any]:
        # A bound of 0 is no bound, as in MXNet.
        bounds = {"lower_bound": self.lower_bound or None, "upper_bound": self.upper_bound or None}
        return {**super().static(), **bounds}

    def hyper(self, index: Any, lr: Any, wd: Any, t: Any, xp: Any = math) -> dict[str, Any]:
        return {**super().hyper(index, lr, wd, t, xp), "t": t}


@register
class LBSGD(Optimizer):
    """SGD that sums gradients over ``batch_scale`` calls and warms its rate up.

    Args:
        momentum: 0 for none.
        multi_precision: keep a float32 master copy of half-precision weights.
        warmup_strategy: ``'linear'``, ``'power2'``, ``'sqrt'``, or ``'lars'`` for a rate from norms.
        warmup_epochs, updates_per_epoch: how long the rate warms up.
        batch_scale: gradients summed per update; also the factor that the rate reaches.
        begin_epoch, num_epochs: where training starts and ends.
    """

    def __init__(
        self, momentum: float = 0.0, multi_precision: bool = False, warmup_strategy: str = "linear",
        warmup_epochs: int = 5, batch_scale: int = 1, updates_per_epoch: int = 32, begin_epoch: int = 0,
        num_epochs: int = 60, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(multi_precision=multi_precision, **kwargs)
        logging.info("Running Large-Batch SGD Algorithm")
        logging.info(
            "(Batch_scale=%f, warmup_epochs=%d, warmup_strategy=%s, updates_per_epoch=%d)",
            batch_scale, warmup_epochs, warmup_strategy, updates_per_epoch,
        )  # fmt: skip
        self.momentum = momentum
        self.warmup_epochs, self.warmup_strategy = warmup_epochs, warmup_strategy
        self.num_epochs, self.batch_scale = num_epochs, batch_scale
        self.updates_per_epoch = updates_per_epoch
        self.init_updates = begin_epoch * updates_per_epoch
        self.cumgrads: dict[Any, dict[str, Any]] = {}
        self.lbmult = self.admult = 1
        self.adaptive = False

    def formula(self) -> Callable[..., Any]:
        return rules.sgd_momentum if self.momentum else rules.sgd

    def layout(self) -> Layout:
        return "zeros" if self.momentum else None

    def static(self) -> dict[str, Any]:
        own = {"momentum": max(self.momentum, 0.0)} if self.momentum else {}
        return {**super().static(), **own}

    def _warmup_factor(self, updates: int) -> float:
        length = self.warmup_epochs * self.updates_per_epoch
        top = float(self.batch_scale)
        if updates >= length:
            return top
        if length <= 1:
            return 1.0
        part = updates / length
        shape = {"linear": part, "power2": part * part, "sqrt": math.sqrt(part)}.get(self.warmup_strategy)
        return 1.0 if shape is None else 1.0 + (top - 1) * shape

    def _norm_factor(self, weight: Any, grad: Any, wd: float) -> float:
        of_weight, of_grad = (float((array * array).sum().asscalar()) for array in (weight, grad))
        return min(max(math.sqrt(of_weight / (of_grad + wd * of_weight + 1e-18)), 0.01), 100.0)

    def _collect(self, index: Any, grad: Any) -> dict[str, Any]:
        """Add the gradient to what is collected for a weight."""
        old = self.cumgrads.get(index)
        if old is None or old["num_cums"] <= 0:
            new = {"cum_grad": grad.copy(), "num_cums": self.init_updates + 1}
        else:
            new = {"cum_grad": old["cum_grad"] + grad, "num_cums": old["num_cums"] + 1}
        self.cumgrads[index] = new
        return new

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Collect the gradient; at the end of a large batch, update the weight."""
        check_arrays("LBSGD", weight, grad)
        # The rate is read before counting, unlike in the other optimizers, as in MXNet.
        lr, wd = self._get_lr(index), self._get_wd(index)
        self._update_count(index)
        collected = self._collect(index, grad)
        if collected["num_cums"] % self.batch_scale:
            return
        mean = collected["cum_grad"] / self.batch_scale
        if self.warmup_strategy == "lars":
            factor = self._norm_factor(weight, mean, wd)
        else:
            factor = self._warmup_factor(collected["num_cums"])
        hyper = {name: float(v) for name, v in super().hyper(index, lr * factor, wd, 1).items()}
        self.apply(weight, mean, state, hyper)
        collected["cum_grad"] = 0
