"""``mx.lr_scheduler``: learning rates as functions of the number of updates."""

from __future__ import annotations

import itertools
import logging
import math
from math import pi as pi

from gluonjax._base.errors import MXNetError

# What schedulers log; scripts read these lines.
CHANGED = "Update[%d]: Change learning rate to %0.5e"
ARRIVED = "Update[%d]: now learning rate arrived at %0.5e, will not change in the future"


class SchedulerError(MXNetError, ValueError, AssertionError):
    """A scheduler was made or called with values that make no sense."""


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise SchedulerError(message)


class LRScheduler:
    """Base class: a warm-up from ``warmup_begin_lr`` to ``base_lr``, then whatever the subclass says.

    Args:
        base_lr: the initial learning rate.
        warmup_steps: updates during which the rate warms up.
        warmup_begin_lr: the rate of the first update, if there is a warm-up.
        warmup_mode: ``'linear'``, or ``'constant'`` for ``warmup_begin_lr`` until the warm-up ends.
    """

    def __init__(
        self,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        name = type(self).__name__
        _require(
            isinstance(warmup_steps, int), f"{name}: warmup_steps must be an integer, got {warmup_steps!r}"
        )
        _require(
            warmup_begin_lr <= base_lr,
            f"{name}: Base lr has to be higher than warmup_begin_lr; got {base_lr} and {warmup_begin_lr}",
        )
        _require(warmup_steps >= 0, f"{name}: Warmup steps has to be positive or 0, got {warmup_steps}")
        _require(
            warmup_mode in ("linear", "constant"),
            f"{name}: Supports only linear and constant modes of warmup, got {warmup_mode!r}",
        )
        self.base_lr = base_lr
        self.warmup_steps = warmup_steps
        self.warmup_final_lr = base_lr
        self.warmup_begin_lr = warmup_begin_lr
        self.warmup_mode = warmup_mode

    def get_warmup_lr(self, num_update: int) -> float:
        """The rate of an update during the warm-up."""
        _require(
            num_update < self.warmup_steps,
            f"{type(self).__name__}: update {num_update} is not in the warm-up of {self.warmup_steps} steps",
        )
        if self.warmup_mode == "constant":
            return self.warmup_begin_lr
        rise = self.warmup_final_lr - self.warmup_begin_lr
        return self.warmup_begin_lr + rise * float(num_update) / float(self.warmup_steps)

    def __call__(self, num_update: int) -> float:
        """The learning rate when ``num_update`` updates have been done."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(num_update)")


class FactorScheduler(LRScheduler):
    """Multiply the rate by ``factor`` every ``step`` updates, down to ``stop_factor_lr``.

    >>> schedule = FactorScheduler(step=2, factor=0.5, base_lr=1.0)
    >>> [schedule(n) for n in (1, 2, 3, 5)]
    [1.0, 1.0, 0.5, 0.25]
    """

    def __init__(
        self, step: int, factor: float = 1, stop_factor_lr: float = 1e-8, base_lr: float = 0.01, warmup_steps: int = 0,
        warmup_begin_lr: float = 0, warmup_mode: str = "linear",
    ) -> None:  # fmt: skip
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        _require(
            step >= 1, f"FactorScheduler: Schedule step must be greater or equal than 1 round, got {step}"
        )
        _require(
            factor <= 1.0, f"FactorScheduler: Factor must be no more than 1 to make lr reduce, got {factor}"
        )
        self.step = step
        self.factor = factor
        self.stop_factor_lr = stop_factor_lr
        self.count = 0

    def __call__(self, num_update: int) -> float:
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        intervals = max(0, (num_update - self.count - 1) // self.step)
        self.count += intervals * self.step
        for _ in range(intervals):
            reduced = self.base_lr * self.factor
            stopped = reduced < self.stop_factor_lr
            self.base_lr = self.stop_factor_lr if stopped else reduced
            logging.info(ARRIVED if stopped else CHANGED, num_update, self.base_lr)
        return self.base_lr


class MultiFactorScheduler(LRScheduler):
    """Multiply the rate by ``factor`` after each of the given numbers of updates.

    >>> schedule = MultiFactorScheduler(step=[2, 4], factor=0.5, base_lr=1.0)
    >>> [schedule(n) for n in (2, 3, 4, 5)]
    [1.0, 0.5, 0.5, 0.25]
    """

    def __init__(
        self, step: list[int], factor: float = 1, base_lr: float = 0.01, warmup_steps: int = 0,
        warmup_begin_lr: float = 0, warmup_mode: str = "linear",
    ) -> None:  # fmt: skip
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        _require(
            isinstance(step, list) and len(step) >= 1,
            f"MultiFactorScheduler: step must be a list of update numbers such as [100, 200], got {step!r}",
        )
        _require(
            all(later > earlier for earlier, later in itertools.pairwise(step)),
            f"MultiFactorScheduler: Schedule step must be an increasing integer list, got {step}",
        )
        _require(
            step[0] >= 1,
            f"MultiFactorScheduler: Schedule step must be greater or equal than 1 round, got {step}",
        )
        _require(
            factor <= 1.0,
            f"MultiFactorScheduler: Factor must be no more than 1 to make lr reduce, got {factor}",
        )
        self.step = step
        self.cur_step_ind = 0
        self.factor = factor
        self.count = 0

    def __call__(self, num_update: int) -> float:
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        while self.cur_step_ind < len(self.step) and num_update > self.step[self.cur_step_ind]:
            self.count = self.step[self.cur_step_ind]
            self.cur_step_ind += 1
            self.base_lr *= self.factor
            logging.info(CHANGED, num_update, self.base_lr)
        return self.base_lr


class _DecayScheduler(LRScheduler):
    """A curve from ``base_lr`` to ``final_lr`` that ends at ``max_update``."""

    def __init__(
        self, max_update: int, base_lr: float, final_lr: float, warmup_steps: int, warmup_begin_lr: float,
        warmup_mode: str,
    ) -> None:  # fmt: skip
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        name = type(self).__name__
        _require(isinstance(max_update, int), f"{name}: max_update must be an integer, got {max_update!r}")
        _require(
            max_update >= 1, f"{name}: maximum number of updates must be strictly positive, got {max_update}"
        )
        self.base_lr_orig = self.base_lr
        self.max_update = max_update
        self.final_lr = final_lr
        self.max_steps = self.max_update - self.warmup_steps

    def _remaining(self, done: float) -> float:
        """How much of the way is left, from 1 to 0, when a part of the steps is done."""
        raise NotImplementedError(f"{type(self).__name__} must define _remaining(done)")

    def __call__(self, num_update: int) -> float:
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        if num_update <= self.max_update:
            done = float(num_update - self.warmup_steps) / float(self.max_steps)
            self.base_lr = self.final_lr + (self.base_lr_orig - self.final_lr) * self._remaining(done)
        return self.base_lr


class PolyScheduler(_DecayScheduler):
    """Polynomial decay of power ``pwr`` to ``final_lr`` at ``max_update``.

    >>> schedule = PolyScheduler(max_update=10, base_lr=1.0, pwr=2)
    >>> [schedule(n) for n in (0, 5, 10, 11)]
    [1.0, 0.25, 0.0, 0.0]
    """

    def __init__(
        self, max_update: int, base_lr: float = 0.01, pwr: float = 2, final_lr: float = 0, warmup_steps: int = 0,
        warmup_begin_lr: float = 0, warmup_mode: str = "linear",
    ) -> None:  # fmt: skip
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.power = pwr

    def _remaining(self, done: float) -> float:
        return pow(1 - done, self.power)


class CosineScheduler(_DecayScheduler):
    """Half a cosine from ``base_lr`` to ``final_lr`` at ``max_update``.

    >>> schedule = CosineScheduler(max_update=10, base_lr=1.0)
    >>> [round(schedule(n), 6) for n in (0, 5, 10, 11)]
    [1.0, 0.5, 0.0, 0.0]
    """

    def __init__(
        self, max_update: int, base_lr: float = 0.01, final_lr: float = 0, warmup_steps: int = 0,
        warmup_begin_lr: float = 0, warmup_mode: str = "linear",
    ) -> None:  # fmt: skip
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)

    def _remaining(self, done: float) -> float:
        return (1 + math.cos(math.pi * done)) / 2


__all__ = ["CosineScheduler", "FactorScheduler", "LRScheduler", "MultiFactorScheduler", "PolyScheduler"]
