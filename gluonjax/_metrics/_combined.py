"""Metrics made of others, metrics made of functions, and ``create``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gluonjax._metrics._base import (
    EvalMetric,
    alias,
    check_label_shapes,
    create_registered,
    host,
    is_array,
    register,
)


def create(metric: Any, *args: Any, **kwargs: Any) -> EvalMetric:
    """Make a metric.

    Args:
        metric: a name, a list of anything accepted here, a function ``(label, pred) -> value or (sum,
        count)`` of
            NumPy arrays, a ready metric, or what ``get_config`` returned (dict or JSON).
        *args: further arguments for the metric.
        **kwargs: further arguments for the metric.

    >>> create("acc").get()
    ('accuracy', nan)
    """
    if isinstance(metric, list):
        combined = CompositeEvalMetric()
        for child in metric:
            combined.add(create(child, *args, **kwargs))
        return combined
    if callable(metric):
        return CustomMetric(metric, *args, **kwargs)
    return create_registered(metric, *args, **kwargs)


@register
@alias("composite")
class CompositeEvalMetric(EvalMetric):
    """Several metrics that see the same batches.

    Args:
        metrics: anything that ``create`` accepts, in a list.
    """

    def __init__(
        self,
        metrics: list[Any] | None = None,
        name: str = "composite",
        output_names: Any = None,
        label_names: Any = None,
    ) -> None:
        self.metrics: list[EvalMetric] = [create(metric) for metric in metrics or []]
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def add(self, metric: Any) -> None:
        """Add one more metric, or anything that ``create`` accepts."""
        self.metrics.append(create(metric))

    def get_metric(self, index: int) -> Any:
        """Return the metric at ``index``; out of range, a ValueError is returned (not raised) as in MXNet."""
        try:
            return self.metrics[index]
        except IndexError:
            return ValueError(f"Metric index {index} is out of range 0 and {len(self.metrics)}")

    def update_dict(self, labels: Mapping[str, Any], preds: Mapping[str, Any]) -> None:
        """Take in one batch of named arrays; only the names asked for reach the metrics."""
        for metric in self.metrics:
            metric.update_dict(_only(labels, self.label_names), _only(preds, self.output_names))

    def update(self, labels: Any, preds: Any) -> None:
        for metric in self.metrics:
            metric.update(labels, preds)

    def reset(self) -> None:
        """Reset every metric."""
        for metric in self.metrics:
            metric.reset()

    def reset_local(self) -> None:
        """Reset the local values of every metric."""
        for metric in self.metrics:
            metric.reset_local()

    def get(self) -> tuple[list[str], list[Any]]:
        """Return all names and all values."""
        return _joined(metric.get() for metric in self.metrics)

    def get_global(self) -> tuple[list[str], list[Any]]:
        """Return all names and all global values."""
        return _joined(metric.get_global() for metric in self.metrics)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "metrics": [metric.get_config() for metric in self.metrics]}


def _only(arrays: Mapping[str, Any], names: Any) -> Mapping[str, Any]:
    return arrays if names is None else {name: array for name, array in arrays.items() if name in names}


def _joined(results: Any) -> tuple[list[str], list[Any]]:
    names: list[str] = []
    values: list[Any] = []
    for name, value in results:
        names += [name] if isinstance(name, str) else list(name)
        values += list(value) if isinstance(value, (list, tuple)) else [value]
    return names, values


@register
class CustomMetric(EvalMetric):
    """A metric made of a function.

    Args:
        feval: ``(label, pred) -> value``, or ``-> (sum, count)``, on NumPy arrays.
        name: the metric's name; the function's where None.
        allow_extra_outputs: accept more predictions than labels.
    """

    def __init__(
        self,
        feval: Callable[[Any, Any], Any],
        name: str | None = None,
        allow_extra_outputs: bool = False,
        output_names: Any = None,
        label_names: Any = None,
    ) -> None:
        if name is None:
            own = str(getattr(feval, "__name__", type(feval).__name__))
            name = f"custom({own})" if "<" in own else own
        super().__init__(
            name,
            output_names,
            label_names,
            feval=feval,
            allow_extra_outputs=allow_extra_outputs,
            has_global_stats=True,
        )
        self._feval = feval
        self._allow_extra_outputs = allow_extra_outputs

    def update(self, labels: Any, preds: Any) -> None:
        if not self._allow_extra_outputs:
            labels, preds = check_label_shapes(labels, preds, True)
        elif is_array(labels) and is_array(preds):
            labels, preds = [labels], [preds]
        for label, pred in zip(labels, preds):
            result = self._feval(host(label), host(pred))
            total, count = result if isinstance(result, tuple) else (result, 1)
            self.sum_metric += total
            self.global_sum_metric += total
            self.num_inst += count
            self.global_num_inst += count

    def get_config(self) -> dict[str, Any]:
        raise NotImplementedError("CustomMetric cannot be serialized: it holds a Python function")


def np(
    numpy_feval: Callable[[Any, Any], Any], name: str | None = None, allow_extra_outputs: bool = False
) -> CustomMetric:
    """Make a metric of a function on NumPy arrays: ``(label, pred) -> value or (sum, count)``.

    >>> np(lambda label, pred: float((label == pred).mean()), name="same").get()
    ('same', nan)
    """
    return CustomMetric(numpy_feval, name, allow_extra_outputs)
