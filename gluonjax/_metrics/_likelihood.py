"""Metrics on probabilities and losses: cross entropy, perplexity, mean loss."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import numpy as np

from gluonjax._base.errors import OutOfBoundsError
from gluonjax._metrics._base import MetricInputError, alias, is_array, register
from gluonjax._metrics._device import DeviceMetric, Measured, wide


def _minus_log_of_label(xp: ModuleType, label: Any, pred: Any, eps: float) -> Measured:
    classes = label.reshape(-1).astype(xp.int32)
    (probabilities,) = wide(xp, pred)
    rows = xp.arange(classes.shape[0], dtype=xp.int32)
    if xp is np:
        limit = pred.shape[1]
        if classes.size and not (-limit <= classes.min() and classes.max() < limit):
            raise OutOfBoundsError(
                f"cross entropy: labels reach from {classes.min()} to {classes.max()}, "
                f"but the predictions have {limit} classes, 0 to {limit - 1}"
            )
        chosen = probabilities[rows, classes]
    else:
        # A label outside of the classes cannot raise without waiting for it; it makes the metric NaN.
        chosen = probabilities.at[rows, classes].get(mode="fill", fill_value=math.nan)
    return -xp.log(chosen + eps).sum(), classes.shape[0]


@register
@alias("ce")
class CrossEntropy(DeviceMetric):
    """Mean of ``-log(p + eps)``, p the probability predicted for the label's class.

    Args:
        eps: keeps the logarithm finite.

    >>> metric = CrossEntropy()
    >>> metric.update([np.array([1])], [np.array([[0.5, 0.5]])])
    >>> round(metric.get()[1], 4)
    0.6931
    """

    measure = staticmethod(_minus_log_of_label)

    def __init__(
        self,
        eps: float = 1e-12,
        name: str = "cross-entropy",
        output_names: Any = None,
        label_names: Any = None,
    ) -> None:
        super().__init__(name, output_names, label_names, eps=eps)
        self.eps = eps

    def settings(self) -> tuple[Any, ...]:
        return (self.eps,)

    def check(self, label: Any, pred: Any) -> None:
        if len(pred.shape) < 2 or label.size != pred.shape[0]:
            raise MetricInputError(
                f"{type(self).__name__}: got labels {label.shape} and predictions {pred.shape}; "
                "wanted one label for each row of predictions (rows, classes)"
            )


@register
@alias("nll_loss")
class NegativeLogLikelihood(CrossEntropy):
    """Mean negative log likelihood of the labels' classes.

    Args:
        eps: keeps the logarithm finite.
    """

    def __init__(
        self, eps: float = 1e-12, name: str = "nll-loss", output_names: Any = None, label_names: Any = None
    ) -> None:
        super().__init__(eps, name, output_names, label_names)


def _minus_log_kept(xp: ModuleType, label: Any, pred: Any, ignore_label: Any, axis: int) -> Measured:
    (probabilities,) = wide(xp, pred)
    labels = label.reshape(-1)
    at_end = xp.moveaxis(probabilities, axis, -1)
    table = at_end.reshape(-1, at_end.shape[-1])
    # As pick does by default: a class that does not exist becomes the nearest that does.
    classes = xp.clip(labels.astype(xp.int32), 0, table.shape[1] - 1)
    chosen = xp.take_along_axis(table, classes[:, None], axis=1)[:, 0]
    logs = -xp.log(xp.maximum(chosen, 1e-10))
    if ignore_label is None:
        return logs.sum(), labels.shape[0]
    kept = labels != xp.asarray(ignore_label).astype(labels.dtype)
    return xp.where(kept, logs, xp.zeros_like(logs)).sum(), kept.sum()


@register
class Perplexity(DeviceMetric):
    """Exponential of the mean negative log probability of the labels' classes.

    Args:
        ignore_label: a label that does not count, padding for example; None counts all.
        axis: the axis of the predictions that holds the classes.
    """

    measure = staticmethod(_minus_log_kept)

    def __init__(
        self,
        ignore_label: int | None,
        axis: int = -1,
        name: str = "perplexity",
        output_names: Any = None,
        label_names: Any = None,
    ) -> None:
        super().__init__(name, output_names, label_names, ignore_label=ignore_label)
        self.ignore_label = ignore_label
        self.axis = axis

    def settings(self) -> tuple[Any, ...]:
        return self.ignore_label, self.axis

    def check(self, label: Any, pred: Any) -> None:
        if label.size * pred.shape[-1] != pred.size:
            raise MetricInputError(
                f"Perplexity: shape mismatch: {label.shape} vs. {pred.shape}; "
                "wanted one label for each row of classes"
            )

    def value_of(self, total: Any, count: Any) -> float:
        return math.exp(total / count) if count else math.nan


def _sum_of(xp: ModuleType, label: Any, pred: Any) -> Measured:
    (values,) = wide(xp, pred)
    return values.sum(), pred.size


@register
class Loss(DeviceMetric):
    """Mean of the predictions themselves, which are losses. Labels are not looked at.

    >>> metric = Loss()
    >>> metric.update(None, [np.array([1.0, 2.0]), np.array([6.0])])
    >>> metric.get()
    ('loss', 3.0)
    """

    measure = staticmethod(_sum_of)

    def __init__(self, name: str = "loss", output_names: Any = None, label_names: Any = None) -> None:
        super().__init__(name, output_names, label_names)

    def update(self, _: Any, preds: Any) -> None:
        """Take in one batch of losses; an array or a list of them."""
        super().update(_, preds)

    def pairs(self, labels: Any, preds: Any) -> list[tuple[Any, Any]]:
        return [(pred, pred) for pred in ([preds] if is_array(preds) else preds)]


@register
class Torch(Loss):
    """The name that ``Loss`` had for losses of the Torch bridge."""

    def __init__(self, name: str = "torch", output_names: Any = None, label_names: Any = None) -> None:
        super().__init__(name, output_names, label_names)


@register
class Caffe(Loss):
    """The name that ``Loss`` had for losses of the Caffe bridge."""

    def __init__(self, name: str = "caffe", output_names: Any = None, label_names: Any = None) -> None:
        super().__init__(name, output_names, label_names)
