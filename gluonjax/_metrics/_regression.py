"""Metrics on real values: mean errors and correlation."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from gluonjax._metrics._base import EvalMetric, MetricInputError, alias, check_label_shapes, host, register
from gluonjax._metrics._device import DeviceMetric, Measured, wide


def _mean_error(error: Callable[[ModuleType, Any], Any]) -> Callable[[ModuleType, Any, Any], Measured]:
    """The ``measure`` of a mean over one batch; every batch counts as one instance, whatever its size."""

    def measure(xp: ModuleType, label: Any, pred: Any) -> Measured:
        difference = xp.subtract(*(_as_matrix(array) for array in wide(xp, label, pred)))
        return error(xp, difference), 1

    return measure


def _as_matrix(array: Any) -> Any:
    return array.reshape(-1, 1) if array.ndim == 1 else array


class _MeanError(DeviceMetric):
    def check(self, label: Any, pred: Any) -> None:
        first, second = (
            (*array.shape, 1) if len(array.shape) == 1 else array.shape for array in (label, pred)
        )
        try:
            np.broadcast_shapes(first, second)
        except ValueError:
            raise MetricInputError(
                f"{type(self).__name__}: operands could not be broadcast together with shapes "
                f"{first} {second}; "
                "labels and predictions must have the same shape"
            ) from None


@register
class MAE(_MeanError):
    """Mean absolute error, averaged over batches.

    >>> metric = MAE()
    >>> metric.update([np.array([1.0, 2.0])], [np.array([1.5, 4.0])])
    >>> metric.get()
    ('mae', 1.25)
    """

    measure = staticmethod(_mean_error(lambda xp, difference: xp.abs(difference).mean()))

    def __init__(self, name: str = "mae", output_names: Any = None, label_names: Any = None) -> None:
        super().__init__(name, output_names, label_names)


@register
class MSE(_MeanError):
    """Mean squared error, averaged over batches."""

    measure = staticmethod(_mean_error(lambda xp, difference: xp.square(difference).mean()))

    def __init__(self, name: str = "mse", output_names: Any = None, label_names: Any = None) -> None:
        super().__init__(name, output_names, label_names)


@register
class RMSE(_MeanError):
    """Root of the mean squared error of a batch, averaged over batches."""

    measure = staticmethod(_mean_error(lambda xp, difference: xp.sqrt(xp.square(difference).mean())))

    def __init__(self, name: str = "rmse", output_names: Any = None, label_names: Any = None) -> None:
        super().__init__(name, output_names, label_names)


class _Moments:
    """Running sums for a correlation over batches, kept around the running means for accuracy."""

    def __init__(self) -> None:
        self.count = 0
        self.means = np.zeros(2)
        self.products = np.zeros((2, 2))

    def add(self, values: np.ndarray) -> None:
        """Merge a batch of pairs, shape ``(2, n)``."""
        number = values.shape[1]
        if not number:
            return
        means = values.mean(axis=1)
        centred = values - means[:, None]
        shift = means - self.means
        total = self.count + number
        self.products += centred @ centred.T + np.outer(shift, shift) * (self.count * number / total)
        self.means += shift * (number / total)
        self.count = total

    def correlation(self) -> float:
        return float(self.products[0, 1] / np.sqrt(self.products[0, 0] * self.products[1, 1]))


@register
@alias("pearsonr")
class PearsonCorrelation(EvalMetric):
    """Pearson's correlation of labels and predictions.

    Args:
        average: ``"macro"`` averages the correlation of every batch, ``"micro"`` takes all instances
        together.
    """

    def __init__(
        self,
        name: str = "pearsonr",
        output_names: Any = None,
        label_names: Any = None,
        average: str = "macro",
    ) -> None:
        self.average = average
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def reset(self) -> None:
        """Forget everything."""
        super().reset()
        self.reset_micro()

    def reset_micro(self) -> None:
        """Forget the running moments of ``average="micro"``."""
        self._moments = _Moments()

    def update_variance(self, new_values: Any, *aggregate: Any) -> tuple[Any, Any, Any]:
        """Add values to a running ``(count, mean, sum of squared deviations)``, which is returned."""
        count, mean, squares = aggregate
        values = np.asarray(new_values, np.float64)
        total = count + values.size
        shifted = mean + (values - mean).sum() / total
        return total, shifted, squares + ((values - mean) * (values - shifted)).sum()

    def update_cov(self, label: Any, pred: Any) -> None:
        """Add instances to the running moments of ``average="micro"``."""
        self._moments.add(np.stack([np.ravel(pred), np.ravel(label)]).astype(np.float64))

    def update(self, labels: Any, preds: Any) -> None:
        labels, preds = check_label_shapes(labels, preds, True)
        for label, pred in zip(labels, preds):
            check_label_shapes(label, pred, False, True)
            values = np.stack([host(pred).ravel(), host(label).ravel()]).astype(np.float64)
            self.num_inst += 1
            self.global_num_inst += 1
            if self.average == "macro":
                correlation = np.corrcoef(values[0], values[1])[0, 1]
                self.sum_metric += correlation
                self.global_sum_metric += correlation
            else:
                self._moments.add(values)

    def get(self) -> tuple[str, float]:
        if self.average == "macro" or not self.num_inst:
            return super().get()
        return self.name, self._moments.correlation()

    def get_global(self) -> tuple[str, float]:
        # MXNet answers 0 for "micro" here; the moments are global, so the value is known.
        if self.average == "macro" or not self.global_num_inst:
            return super().get_global()
        return self.name, self._moments.correlation()
