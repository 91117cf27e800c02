"""Metrics that compare classes: accuracy, F1, correlation coefficients of the confusion matrix."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import numpy as np

from gluonjax._base.errors import OutOfBoundsError
from gluonjax._metrics._base import EvalMetric, MetricInputError, alias, check_label_shapes, host, register
from gluonjax._metrics._device import DeviceMetric, Measured


def _count_equal(xp: ModuleType, label: Any, pred: Any, axis: int) -> Measured:
    if pred.shape != label.shape:
        pred = xp.argmax(pred, axis=axis)
    classes, wanted = (array.reshape(-1).astype(xp.int32) for array in (pred, label))
    return (classes == wanted).sum(), wanted.shape[0]


@register
@alias("acc")
class Accuracy(DeviceMetric):
    """The part of predictions whose class is the label.

    Args:
        axis: the axis of the predictions that holds the classes; predictions shaped as the labels are
        classes.

    >>> metric = Accuracy()
    >>> metric.update([np.array([0, 1])], [np.array([[0.9, 0.1], [0.8, 0.2]])])
    >>> metric.get()
    ('accuracy', 0.5)
    """

    measure = staticmethod(_count_equal)

    def __init__(
        self, axis: int = 1, name: str = "accuracy", output_names: Any = None, label_names: Any = None
    ) -> None:
        super().__init__(name, output_names, label_names, axis=axis)
        self.axis = axis

    def settings(self) -> tuple[Any, ...]:
        return (self.axis,)

    def check(self, label: Any, pred: Any) -> None:
        if pred.shape == label.shape:
            return
        dimensions = len(pred.shape)
        if not -dimensions <= self.axis < dimensions:
            raise OutOfBoundsError(
                f"Accuracy: axis {self.axis} exceeds the input dimension of {dimensions}; predictions are "
                f"{pred.shape}, labels {label.shape}"
            )
        left = pred.size // pred.shape[self.axis] if pred.size else 0
        if label.size != left:
            raise MetricInputError(
                f"Shape of labels {label.size} does not match shape of predictions {left}: "
                f"Accuracy got labels {label.shape} and predictions {pred.shape}, classes on axis {self.axis}"
            )


def _count_among_best(xp: ModuleType, label: Any, pred: Any, top_k: int) -> Measured:
    scores = pred.astype(xp.float32)
    wanted = label.reshape(-1).astype(xp.int32)
    if scores.ndim == 1:
        # MXNet compares the labels with the order of the scores here (metric.py, TopKAccuracy.update).
        return (xp.argpartition(scores, scores.shape[0] - top_k) == wanted).sum(), wanted.shape[0]
    classes = scores.shape[1]
    if top_k >= classes:
        return ((wanted >= 0) & (wanted < classes)).sum(), wanted.shape[0]
    best = xp.argpartition(scores, classes - top_k, axis=1)[:, classes - top_k :]
    return (best == wanted[:, None]).sum(), wanted.shape[0]


@register
@alias("top_k_accuracy", "top_k_acc")
class TopKAccuracy(DeviceMetric):
    """The part of predictions where the label is among the ``top_k`` best classes.

    Args:
        top_k: how many of the best classes count; at least 2.
    """

    measure = staticmethod(_count_among_best)

    def __init__(
        self,
        top_k: int = 1,
        name: str = "top_k_accuracy",
        output_names: Any = None,
        label_names: Any = None,
    ) -> None:
        super().__init__(name, output_names, label_names, top_k=top_k)
        if top_k <= 1:
            raise MetricInputError(
                f"TopKAccuracy: Please use Accuracy if top_k is no more than 1, got top_k={top_k}"
            )
        self.top_k = top_k
        self.name += f"_{top_k}"

    def settings(self) -> tuple[Any, ...]:
        return (self.top_k,)

    def get_config(self) -> dict[str, Any]:
        """Return the settings; unlike MXNet's, they make a metric of the same name."""
        return {**super().get_config(), "name": self.name.removesuffix(f"_{self.top_k}")}

    def check(self, label: Any, pred: Any) -> None:
        if len(pred.shape) > 2:
            raise MetricInputError(
                f"TopKAccuracy: Predictions should be no more than 2 dims, got {pred.shape}"
            )
        if label.size != pred.shape[0]:
            raise MetricInputError(
                f"Shape of labels {label.size} does not match shape of predictions {pred.shape[0]}"
            )
        if len(pred.shape) == 1 and self.top_k > pred.shape[0]:
            raise MetricInputError(f"TopKAccuracy: top_k={self.top_k} of {pred.shape[0]} scores")


class Confusion:
    """Counts of a two-class problem: rows are labels, columns predictions, ``[[tn, fp], [fn, tp]]``."""

    def __init__(self) -> None:
        self.counts = np.zeros((2, 2), np.int64)

    def add(self, label: Any, pred: Any) -> None:
        """Count one batch: labels ``(n,)`` of zeros and ones, predictions ``(n, classes)``."""
        scores, classes = host(pred), host(label).astype(np.int32)
        check_label_shapes(classes, scores)
        if len(np.unique(classes)) > 2:
            raise MetricInputError(
                f"F1 and MCC: currently only supports binary classification, "
                f"got the labels {np.unique(classes)[:5]}"
            )
        found = np.argmax(scores, axis=1) == 1
        wanted = classes.reshape(-1) == 1
        np.add.at(self.counts, (wanted.astype(int), found.astype(int)), 1)

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    def fscore(self) -> float:
        """Harmonic mean of precision and recall; 0 where undefined."""
        hits = self.counts[1, 1]
        errors = self.counts[0, 1] + self.counts[1, 0]
        return float(2 * hits / (2 * hits + errors)) if hits else 0.0

    def matthews(self) -> float:
        """Matthews' correlation; marginal sums of zero are left out of the denominator, as MXNet does."""
        if not self.total:
            return 0.0
        counts = self.counts.astype(np.float64)
        margins = [margin for axis in (0, 1) for margin in counts.sum(axis=axis) if margin]
        return float(np.linalg.det(counts) / math.sqrt(math.prod(margins)))


class _ConfusionMetric(EvalMetric):
    """A score of the two-class confusion counts, per batch ("macro") or over all instances ("micro")."""

    def __init__(self, name: str, output_names: Any, label_names: Any, average: str) -> None:
        self.average = average
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def score(self, counts: Confusion) -> float:
        raise NotImplementedError

    def update(self, labels: Any, preds: Any) -> None:
        labels, preds = check_label_shapes(labels, preds, True)
        batch = Confusion()
        for label, pred in zip(labels, preds):
            batch.add(label, pred)
        if self.average == "macro":
            score = self.score(batch)
            self.sum_metric += score
            self.global_sum_metric += score
            self.num_inst += 1
            self.global_num_inst += 1
            return
        self._counts.counts += batch.counts
        self._global_counts.counts += batch.counts
        self.num_inst, self.global_num_inst = self._counts.total, self._global_counts.total
        self.sum_metric = self.score(self._counts) * self.num_inst
        self.global_sum_metric = self.score(self._global_counts) * self.global_num_inst

    def reset(self) -> None:
        """Forget everything."""
        super().reset()
        self._counts, self._global_counts = Confusion(), Confusion()

    def reset_local(self) -> None:
        """Forget the local values and keep the global ones."""
        super().reset_local()
        self._counts = Confusion()


@register
class F1(_ConfusionMetric):
    """F1 score of a two-class problem.

    Args:
        average: ``"macro"`` averages the score of every batch, ``"micro"`` takes all instances together.

    >>> metric = F1()
    >>> metric.update([np.array([0, 1, 1])], [np.array([[0.3, 0.7], [0.0, 1.0], [0.4, 0.6]])])
    >>> metric.get()
    ('f1', 0.8)
    """

    def __init__(
        self, name: str = "f1", output_names: Any = None, label_names: Any = None, average: str = "macro"
    ) -> None:
        super().__init__(name, output_names, label_names, average)

    def score(self, counts: Confusion) -> float:
        return counts.fscore()


@register
class MCC(_ConfusionMetric):
    """Matthews correlation coefficient of a two-class problem.

    Args:
        average: ``"macro"`` averages the coefficient of every batch, ``"micro"`` takes all instances
        together.
    """

    def __init__(
        self, name: str = "mcc", output_names: Any = None, label_names: Any = None, average: str = "macro"
    ) -> None:
        super().__init__(name, output_names, label_names, average)

    def score(self, counts: Confusion) -> float:
        return counts.matthews()


@register
class PCC(EvalMetric):
    """Correlation of predicted and true classes: Matthews' coefficient for any number of classes.

    The confusion matrix grows with the largest class seen.
    """

    def __init__(
        self,
        name: str = "pcc",
        output_names: Any = None,
        label_names: Any = None,
        has_global_stats: bool = True,
    ) -> None:
        self.k = 2
        super().__init__(name, output_names, label_names, has_global_stats=has_global_stats)

    def update(self, labels: Any, preds: Any) -> None:
        labels, preds = check_label_shapes(labels, preds, True)
        for label, pred in zip(labels, preds):
            wanted, found = host(label).astype(np.int32), host(pred)
            found = found.argmax(axis=1) if found.shape != wanted.shape else found.astype(np.int32)
            wanted, found = wanted.reshape(-1), found.reshape(-1)
            check_label_shapes(wanted, found)
            if wanted.size:
                self._grow(1 + int(max(wanted.max(), found.max())))
                np.add.at(self.lcm, (found, wanted), 1)
                np.add.at(self.gcm, (found, wanted), 1)
        self.num_inst += 1
        self.global_num_inst += 1

    def _grow(self, classes: int) -> None:
        more = classes - self.k
        if more > 0:
            self.lcm, self.gcm = (np.pad(matrix, (0, more)) for matrix in (self.lcm, self.gcm))
            self.k = classes

    @staticmethod
    def _correlation(matrix: np.ndarray) -> float:
        total = matrix.sum()
        found, wanted = matrix.sum(axis=1), matrix.sum(axis=0)
        spread = (found @ (total - found)) * (wanted @ (total - wanted))
        if spread == 0:
            return math.nan
        return float((matrix.trace() * total - found @ wanted) / math.sqrt(spread))

    @property
    def sum_metric(self) -> float:
        """The local correlation times the number of updates."""
        return self._correlation(self.lcm) * self.num_inst

    @property
    def global_sum_metric(self) -> float:
        """The global correlation times the number of updates."""
        return self._correlation(self.gcm) * self.global_num_inst

    def reset(self) -> None:
        """Forget everything."""
        self.global_num_inst = 0.0
        self.gcm = np.zeros((self.k, self.k))
        self.reset_local()

    def reset_local(self) -> None:
        """Forget the local values and keep the global ones."""
        self.num_inst = 0.0
        self.lcm = np.zeros((self.k, self.k))
