"""Metrics that are a sum over a count, computed where the arrays are and read only when somebody asks.

``update`` starts one small compiled computation and remembers its two results without waiting for them. They
are added up in float64 on the host, so that long epochs keep every digit, when ``get``, ``sum_metric`` or
``num_inst`` is read, or when many have gathered and the oldest are long done.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from gluonjax._base.dtypes import BFLOAT16
from gluonjax._base.errors import TracedValueError
from gluonjax._metrics._base import EvalMetric, check_label_shapes, is_array

MOST_PENDING = 256

Measured = tuple[Any, Any]


class DeviceMetric(EvalMetric):
    """A metric given by one pure function of a label and a prediction.

    A subclass sets ``measure``: ``(xp, label, pred, *settings) -> (sum, count)``, where ``xp`` is ``numpy``
    or ``jax.numpy``, and ``settings`` where the function takes some.
    """

    measure: ClassVar[Callable[..., Measured]]

    def __init__(self, name: str, output_names: Any = None, label_names: Any = None, **kwargs: Any) -> None:
        self._pending: list[Measured] = []
        self._local = [0.0, 0]
        self._global = [0.0, 0]
        super().__init__(name, output_names, label_names, has_global_stats=True, **kwargs)

    def settings(self) -> tuple[Any, ...]:
        """What ``measure`` takes after label and prediction; hashable."""
        return ()

    def pairs(self, labels: Any, preds: Any) -> list[tuple[Any, Any]]:
        """The label of every prediction; raises where they do not pair up."""
        labels, preds = check_label_shapes(labels, preds, True)
        return list(zip(labels, preds))

    def check(self, label: Any, pred: Any) -> None:
        """Raise where the shapes cannot be compared; looks at shapes only."""

    def update(self, labels: Any, preds: Any) -> None:
        """Take in one batch, a list of labels and the predictions for them; does not wait for values."""
        for label, pred in self.pairs(labels, preds):
            label_value, pred_value = content(label), content(pred)
            self.check(label_value, pred_value)
            self.accumulate(*_measure_now(type(self).measure, self.settings(), label_value, pred_value))

    def pure_update(self, labels: Sequence[Any], preds: Sequence[Any]) -> Measured:
        """Return ``(sum, count)`` of one batch of JAX arrays, without touching the metric.

        For use inside compiled functions; hand the results to ``accumulate`` afterwards.
        """
        total: Any = 0.0
        count: Any = 0
        for label, pred in self.pairs(labels, preds):
            self.check(label, pred)
            one, number = type(self).measure(jnp, label, pred, *self.settings())
            total, count = total + one, count + number
        return total, count

    def accumulate(self, total: Any, count: Any) -> None:
        """Add a sum over ``count`` instances; both may be device scalars that are still being computed."""
        if len(self._pending) >= MOST_PENDING:
            self._settle(self._pending[: MOST_PENDING // 2])
            del self._pending[: MOST_PENDING // 2]
        self._pending.append((total, count))

    def _settle(self, results: list[Measured]) -> None:
        for total, count in jax.device_get(results):
            for kept in (self._local, self._global):
                kept[0] += float(total)
                kept[1] += count.item() if hasattr(count, "item") else count

    def _read(self, kept: list[Any], position: int) -> Any:
        if self._pending:
            results, self._pending = self._pending, []
            self._settle(results)
        return kept[position]

    def _write(self, kept: list[Any], position: int, value: Any) -> None:
        self._read(kept, position)
        kept[position] = value

    def reset(self) -> None:
        """Forget everything; results still being computed are dropped, not awaited."""
        self._pending = []
        self._local[:] = self._global[:] = [0.0, 0]

    def reset_local(self) -> None:
        """Forget the local values and keep the global ones."""
        self._read(self._global, 0)
        self._local[:] = [0.0, 0]

    @property
    def sum_metric(self) -> Any:
        """The sum since the last ``reset_local``."""
        return self._read(self._local, 0)

    @sum_metric.setter
    def sum_metric(self, value: Any) -> None:
        self._write(self._local, 0, value)

    @property
    def num_inst(self) -> Any:
        """The number of instances since the last ``reset_local``."""
        return self._read(self._local, 1)

    @num_inst.setter
    def num_inst(self, value: Any) -> None:
        self._write(self._local, 1, value)

    @property
    def global_sum_metric(self) -> Any:
        """The sum since the last ``reset``."""
        return self._read(self._global, 0)

    @global_sum_metric.setter
    def global_sum_metric(self, value: Any) -> None:
        self._write(self._global, 0, value)

    @property
    def global_num_inst(self) -> Any:
        """The number of instances since the last ``reset``."""
        return self._read(self._global, 1)

    @global_num_inst.setter
    def global_num_inst(self, value: Any) -> None:
        self._write(self._global, 1, value)


def fusible(metric: Any) -> list[DeviceMetric] | None:
    """The metrics in ``metric`` if a compiled step may call their ``pure_update``, else None.

    A class that overrides ``update``, ``update_dict`` or ``accumulate`` is not fusible: its own code must
    run.
    """
    if isinstance(metric, DeviceMetric):
        own = [name for name in ("update", "update_dict") if _overridden(metric, name)]
        return None if own else [metric]
    children = getattr(metric, "metrics", None)
    if isinstance(children, list) and type(metric).__name__ == "CompositeEvalMetric":
        if metric.label_names is not None or metric.output_names is not None:
            return None
        found = [fusible(child) for child in children]
        return (
            None if any(part is None for part in found) else [leaf for part in found for leaf in part or ()]
        )
    return None


def _overridden(metric: DeviceMetric, name: str) -> bool:
    owner = next(klass for klass in type(metric).__mro__ if name in vars(klass))
    return not owner.__module__.startswith("gluonjax._metrics.")


def content(array: Any) -> Any:
    """The NumPy or JAX array behind an NDArray, read without waiting for it."""
    value = getattr(array, "_value", array) if hasattr(array, "asnumpy") else array
    if isinstance(value, Tracer):
        raise TracedValueError(
            "metric.update was called with a value that is being traced (inside jit or hybridize). "
            "Call it after the compiled function, or use metric.pure_update inside and "
            "metric.accumulate after it"
        )
    return value if is_array(value) else np.asarray(value)


def _on_host(value: Any) -> bool:
    """True where looking at the values costs no waiting and no transfer."""
    if isinstance(value, np.ndarray):
        return True
    return all(device.platform == "cpu" for device in value.devices()) and value.is_ready()


@functools.lru_cache(maxsize=256)
def _compiled(measure: Callable[..., Measured], settings: tuple[Any, ...]) -> Callable[[Any, Any], Measured]:
    return jax.jit(lambda label, pred: measure(jnp, label, pred, *settings))


def _measure_now(
    measure: Callable[..., Measured], settings: tuple[Any, ...], label: Any, pred: Any
) -> Measured:
    # Finished values on the CPU are looked at with NumPy: compiling for every new shape would cost far more.
    if _on_host(label) and _on_host(pred):
        return measure(np, np.asarray(label), np.asarray(pred), *settings)
    if isinstance(label, jax.Array) and isinstance(pred, jax.Array) and label.devices() != pred.devices():
        label = jax.device_put(label, pred.sharding)
    with jax.enable_x64(True):
        return _compiled(measure, settings)(label, pred)


def wide(xp: ModuleType, *arrays: Any) -> list[Any]:
    """The arrays as floats of one type wide enough: float64 where one of them needs it, else float32."""
    small = all(
        array.dtype == BFLOAT16 or array.dtype.kind == "b" or _fits_float32(array.dtype) for array in arrays
    )
    return [array.astype(xp.float32 if small else xp.float64) for array in arrays]


def _fits_float32(dtype: np.dtype) -> bool:
    return dtype.itemsize <= (4 if dtype.kind == "f" else 2)
