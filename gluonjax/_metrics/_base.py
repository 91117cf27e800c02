"""What every metric shares: names, registry, local and global values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from gluonjax import registry
from gluonjax._base.errors import MXNetError
from gluonjax._base.scopes import modes

Names = Sequence[str] | None


class MetricInputError(MXNetError, ValueError, AssertionError):
    """Labels and predictions that a metric cannot compare. MXNet raises one of the two Python errors."""


def is_array(value: Any) -> bool:
    """True for one array, as opposed to a list of arrays."""
    return hasattr(value, "asnumpy") or isinstance(value, (np.ndarray, jax.Array))


def host(value: Any) -> np.ndarray:
    """The NumPy array of an NDArray, or of anything array-like."""
    return value.asnumpy() if hasattr(value, "asnumpy") else np.asarray(value)


def check_label_shapes(labels: Any, preds: Any, wrap: bool = False, shape: bool = False) -> tuple[Any, Any]:
    """Raise where labels and predictions do not pair up.

    Args:
        labels: an array or a list of arrays.
        preds: the predictions for them.
        wrap: return single arrays as lists of one.
        shape: compare the arrays' whole shapes, not lengths.

    Returns:
        ``labels, preds``, as lists where ``wrap`` is set.
    """
    got, wanted = (labels.shape, preds.shape) if shape else (len(labels), len(preds))
    if got != wanted:
        raise MetricInputError(f"Shape of labels {got} does not match shape of predictions {wanted}")
    if wrap:
        labels = [labels] if is_array(labels) else labels
        preds = [preds] if is_array(preds) else preds
    return labels, preds


def _after_a_compiled_step(update: Callable[..., None]) -> Callable[..., None]:
    """``update``, put off to the end of every call of a function that ``mx.jit`` compiles."""

    @functools.wraps(update)
    def wrapped(self: Any, labels: Any, preds: Any) -> None:
        if modes.tracer is None:
            update(self, labels, preds)
        else:
            modes.tracer.after(functools.partial(update, self), (labels, preds))

    return wrapped


class EvalMetric:
    """Base of all metrics: a sum and a count, since the last ``reset_local`` and since the last ``reset``.

    A new metric derives from this, implements ``update`` and adds to ``sum_metric`` and ``num_inst``.

    Args:
        name: how logs call it.
        output_names: which predictions ``update_dict`` takes, in order; all where None.
        label_names: which labels ``update_dict`` takes, in order; all where None.
        **kwargs: further settings, to be found again in ``get_config``.
    """

    name: str
    output_names: Names
    label_names: Names
    sum_metric: Any
    num_inst: Any
    global_sum_metric: Any
    global_num_inst: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "update" in vars(cls):
            cls.update = _after_a_compiled_step(cls.update)  # type: ignore[method-assign]

    def __init__(
        self, name: str, output_names: Names = None, label_names: Names = None, **kwargs: Any
    ) -> None:
        self.name = str(name)
        self.output_names = output_names
        self.label_names = label_names
        self._has_global_stats: bool = kwargs.pop("has_global_stats", False)
        self._kwargs = kwargs
        self.reset()

    def __str__(self) -> str:
        return f"EvalMetric: {dict(self.get_name_value())}"

    def get_config(self) -> dict[str, Any]:
        """Return the settings; ``metric.create`` makes the same metric from them."""
        return {
            **self._kwargs,
            "metric": type(self).__name__,
            "name": self.name,
            "output_names": self.output_names,
            "label_names": self.label_names,
        }

    def select(self, label: Mapping[str, Any], pred: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
        """Return the labels and predictions that this metric looks at, in its order."""
        return _pick(label, self.label_names, "label"), _pick(pred, self.output_names, "output")

    def update_dict(self, label: Mapping[str, Any], pred: Mapping[str, Any]) -> None:
        """Take in one batch, given as dictionaries of named arrays."""
        self.update(*self.select(label, pred))

    def update(self, labels: Any, preds: Any) -> None:
        """Take in one batch: a list of labels and the list of predictions for them."""
        raise NotImplementedError(f"{type(self).__name__} must implement update(labels, preds)")

    def reset(self) -> None:
        """Forget everything."""
        self.global_num_inst = 0
        self.global_sum_metric = 0.0
        self.num_inst = 0
        self.sum_metric = 0.0

    def reset_local(self) -> None:
        """Forget the local values and keep the global ones."""
        self.num_inst = 0
        self.sum_metric = 0.0

    def value_of(self, total: Any, count: Any) -> Any:
        """The metric's value for a sum over ``count`` instances."""
        return total / count if count else float("nan")

    def get(self) -> tuple[Any, Any]:
        """Return name and value since the last ``reset_local``; the value is NaN without data."""
        return self.name, self.value_of(self.sum_metric, self.num_inst)

    def get_global(self) -> tuple[Any, Any]:
        """Return name and value since the last ``reset``."""
        if not self._has_global_stats:
            return self.get()
        return self.name, self.value_of(self.global_sum_metric, self.global_num_inst)

    def get_name_value(self) -> list[tuple[str, Any]]:
        """Return ``get()`` as a list of pairs."""
        return _pairs(*self.get())

    def get_global_name_value(self) -> list[tuple[str, Any]]:
        """Return ``get_global()`` as a list of pairs."""
        return _pairs(*self.get_global()) if self._has_global_stats else self.get_name_value()


def _pick(found: Mapping[str, Any], names: Names, what: str) -> list[Any]:
    if names is None:
        return list(found.values())
    return [found[name] for name in names]


def _pairs(name: Any, value: Any) -> list[tuple[str, Any]]:
    return list(
        zip(name if isinstance(name, list) else [name], value if isinstance(value, list) else [value])
    )


register: Callable[..., Any] = registry.get_register_func(EvalMetric, "metric")
alias: Callable[..., Any] = registry.get_alias_func(EvalMetric, "metric")
create_registered: Callable[..., Any] = registry.get_create_func(EvalMetric, "metric")
