"""What estimator and handlers check about metrics."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from gluonjax.gluon._errors import ArgumentError
from gluonjax.gluon.loss import SoftmaxCrossEntropyLoss
from gluonjax.metric import Accuracy, CompositeEvalMetric, EvalMetric


def _check_metrics(metrics: Any) -> list[EvalMetric]:
    """One metric, a composite, or a list, as a list of single metrics."""
    if isinstance(metrics, CompositeEvalMetric):
        return [single for part in metrics.metrics for single in _check_metrics(part)]
    if isinstance(metrics, EvalMetric):
        return [metrics]
    listed = metrics or []
    if isinstance(listed, str) or not all(isinstance(metric, EvalMetric) for metric in listed):
        raise ArgumentError(
            f"metrics must be a Metric or a list of Metric, refer to mxnet.metric.EvalMetric: {metrics}"
        )
    return listed


def _check_handler_metric_ref(handler: Any, known_metrics: Collection[EvalMetric]) -> None:
    """Refuse a handler that holds a metric which nobody updates."""
    for attribute, held in vars(handler).items():
        if "metric" not in attribute:
            continue
        for metric in held if isinstance(held, (list, tuple)) else [held]:
            if isinstance(metric, EvalMetric) and not any(metric is known for known in known_metrics):
                raise ArgumentError(
                    f"Event handler {type(handler).__name__} refers to a metric instance {metric} outside of the "
                    "known training and validation metrics. Please use the metrics from estimator.train_metrics and "
                    "estimator.val_metrics instead."
                )


def _suggest_metric_for_loss(loss: Any) -> EvalMetric | None:
    return Accuracy() if isinstance(loss, SoftmaxCrossEntropyLoss) else None
