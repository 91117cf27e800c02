"""Near bucket lengths made one: batches padded up to the next multiple of a step, so that fewer programs compile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gluonjax.io import DataBatch, DataDesc
from gluonjax.module._errors import ModuleArgumentError
from gluonjax.ndarray import NDArray, array


class BucketPadding:
    """Pads batches whose bucket key is their length.

    Args:
        step: keys are rounded up to a multiple of it.
        largest: no key becomes larger than this one.
        data_value, label_value: what the new places hold.
    """

    def __init__(self, step: int, largest: int, data_value: float, label_value: float) -> None:
        if step < 1:
            raise ModuleArgumentError(f"pad_buckets: step must be positive, got {step}")
        self.step, self.largest = step, largest
        self.data_value, self.label_value = data_value, label_value

    def key(self, length: Any) -> Any:
        """The bucket that takes batches of this length."""
        if not isinstance(length, (int, np.integer)) or length > self.largest:
            return length
        return min(-(-int(length) // self.step) * self.step, self.largest)

    def batch(self, given: Any) -> Any:
        """The batch of its new bucket; the same object where its length stays."""
        length, wanted = given.bucket_key, self.key(given.bucket_key)
        if wanted == length:
            return given
        shapes = [
            None if descs is None else [self._described(desc, length, wanted) for desc in descs]
            for descs in (given.provide_data, given.provide_label)
        ]
        data = self._arrays(given.data, given.provide_data, shapes[0], self.data_value)
        return DataBatch(
            data, self.labels(given, given.label, shapes[1]), pad=given.pad, index=given.index, bucket_key=wanted,
            provide_data=shapes[0], provide_label=shapes[1],
        )  # fmt: skip

    def labels(self, given: Any, labels: Any, descriptions: Any = None) -> Any:
        """Labels of a batch, padded."""
        if not labels or given.provide_label is None:
            return labels
        wanted = self.key(given.bucket_key)
        shapes = descriptions or [self._described(one, given.bucket_key, wanted) for one in given.provide_label]
        return self._arrays(labels, given.provide_label, shapes, self.label_value)

    @staticmethod
    def _described(desc: Any, length: int, wanted: int) -> DataDesc:
        layout = getattr(desc, "layout", None) or "N"
        batch_axis = layout.find("N")
        shape = [wanted if size == length and axis != batch_axis else size for axis, size in enumerate(desc[1])]
        return DataDesc(desc[0], tuple(shape), getattr(desc, "dtype", np.float32), layout)

    @staticmethod
    def _arrays(arrays: Sequence[NDArray], old: Any, new: Any, value: float) -> list[NDArray]:
        found = []
        for one, before, after in zip(arrays, old, new):
            extra = [(0, b - a) for a, b in zip(before[1], after[1])]
            padded = np.pad(one.asnumpy(), extra, constant_values=value)
            found.append(array(padded, ctx=one.context, dtype=one.dtype))
        return found
