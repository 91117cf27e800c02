"""What iterators hand out, and the simplest of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gluonjax._base.errors import ArgumentTypeError, MXNetError


class InputError(MXNetError, AssertionError, ValueError):
    """Data that an iterator cannot take. MXNet raises AssertionError for most of these."""


class _NameAndShape(NamedTuple):
    name: str
    shape: tuple[int, ...]


class DataDesc(_NameAndShape):
    """Name, shape, type and layout of one input. Equal to, and unpacked as, the pair ``(name, shape)``.

    Args:
        name: the variable that it feeds.
        shape: the shape of a batch.
        dtype: the type of its values.
        layout: one letter an axis; ``N`` is the batch axis.

    >>> DataDesc("data", (32, 3, 224, 224)).layout
    'NCHW'
    """

    dtype: Any
    layout: str | None

    def __new__(
        cls, name: str, shape: Sequence[int], dtype: Any = np.float32, layout: str | None = "NCHW"
    ) -> DataDesc:
        made = super().__new__(cls, name, shape)  # pyright: ignore[reportArgumentType]
        made.dtype = dtype
        made.layout = layout
        return made

    def __repr__(self) -> str:
        return f"DataDesc[{self.name},{self.shape},{self.dtype},{self.layout}]"

    @staticmethod
    def get_batch_axis(layout: str | None) -> int:
        """Return the position of the batch axis in a layout; 0 without one, -1 where it has no batch axis.

        >>> DataDesc.get_batch_axis("TNC")
        1
        """
        return 0 if layout is None else layout.find("N")

    @staticmethod
    def get_list(
        shapes: Sequence[tuple[str, Any]], types: Sequence[tuple[str, Any]] | None
    ) -> list[DataDesc]:
        """Return descriptions from a list of names and shapes and, where given, one of names and types."""
        if types is None:
            return [DataDesc(name, shape) for name, shape in shapes]
        by_name: Mapping[str, Any] = dict(types)
        return [DataDesc(name, shape, by_name[name]) for name, shape in shapes]


class DataBatch:
    """One batch: lists of arrays for the inputs and the labels.

    Args:
        data: the inputs, one array each.
        label: the labels, one array each.
        pad: how many rows at the end are filling and do not count.
        index: which instances the rows are.
        bucket_key: which of a bucketing module's graphs it is for.
        provide_data: descriptions of ``data``, where they differ from batch to batch.
        provide_label: descriptions of ``label``.
    """

    def __init__(
        self,
        data: Sequence[Any] | None,
        label: Sequence[Any] | None = None,
        pad: int | None = None,
        index: Any = None,
        bucket_key: Any = None,
        provide_data: Any = None,
        provide_label: Any = None,
    ) -> None:
        for what, value in (("Data", data), ("Label", label)):
            if value is not None and not isinstance(value, (list, tuple)):
                raise InputError(
                    f"DataBatch: {what} must be list of NDArrays, got {type(value).__name__}; put it in []"
                )
        self.data, self.label = data, label
        self.provide_data, self.provide_label = provide_data, provide_label
        self.pad = pad
        self.index = index
        self.bucket_key = bucket_key

    def __str__(self) -> str:
        shapes = [array.shape for array in self.data or ()]
        label_shapes = [array.shape for array in self.label] if self.label else None
        return f"{type(self).__name__}: data shapes: {shapes} label shapes: {label_shapes}"


class DataIter:
    """Base of iterators: ``iter_next`` moves on, ``getdata`` and its sisters look at where it stands.

    A subclass implements these, or ``next`` alone, and has ``provide_data`` and ``provide_label``.

    Args:
        batch_size: the number of rows of a batch.
    """

    def __init__(self, batch_size: int = 0) -> None:
        self.batch_size = batch_size

    def __iter__(self) -> Iterator[DataBatch]:
        return self

    def __next__(self) -> DataBatch:
        return self.next()

    def reset(self) -> None:
        """Go back to the start."""

    def next(self) -> DataBatch:
        """Return the next batch. Raises StopIteration at the end."""
        if not self.iter_next():
            raise StopIteration
        return DataBatch(self.getdata(), self.getlabel(), self.getpad(), self.getindex())

    def iter_next(self) -> Any:
        """Move to the next batch; False at the end."""

    def getdata(self) -> Any:
        """Return the inputs of the current batch."""

    def getlabel(self) -> Any:
        """Return the labels of the current batch."""

    def getindex(self) -> Any:
        """Return which instances the current batch holds, or None."""
        return None

    def getpad(self) -> Any:
        """Return how many rows of the current batch are filling."""


class HoldingIter(DataIter):
    """An iterator whose answers come from a ready batch, ``current_batch``."""

    current_batch: Any = None

    def _held(self) -> DataBatch:
        if self.current_batch is None:
            raise InputError(
                f"{type(self).__name__}: there is no current batch; call iter_next() or next() first"
            )
        return self.current_batch

    def getdata(self) -> Any:
        return self._held().data

    def getlabel(self) -> Any:
        return self._held().label

    def getindex(self) -> Any:
        return self._held().index

    def getpad(self) -> Any:
        return self._held().pad


class ResizeIter(HoldingIter):
    """Another iterator, cut or repeated to a number of batches an epoch.

    Args:
        data_iter: the iterator to take from.
        size: batches an epoch.
        reset_internal: ``reset`` also resets ``data_iter``.
    """

    def __init__(self, data_iter: Any, size: int, reset_internal: bool = True) -> None:
        super().__init__(data_iter.batch_size)
        self.data_iter = data_iter
        self.provide_data, self.provide_label = data_iter.provide_data, data_iter.provide_label
        self.reset_internal = reset_internal
        self.size = size
        self.cur = 0
        if hasattr(data_iter, "default_bucket_key"):
            self.default_bucket_key = data_iter.default_bucket_key

    def reset(self) -> None:
        self.cur = 0
        if self.reset_internal:
            self.data_iter.reset()

    def iter_next(self) -> bool:
        if self.cur == self.size:
            return False
        try:
            batch = self.data_iter.next()
        except StopIteration:
            self.data_iter.reset()
            batch = self._first_after_reset()
        self.current_batch = batch
        self.cur += 1
        return True

    def _first_after_reset(self) -> Any:
        try:
            return self.data_iter.next()
        except StopIteration:
            raise InputError(
                f"ResizeIter: {type(self.data_iter).__name__} has no batch at all, even after reset()"
            ) from None


def refuse_positional(name: str, given: tuple[Any, ...]) -> None:
    """Raise for positional arguments where MXNet takes keywords only."""
    if given:
        raise ArgumentTypeError(f"{name} can only accept keyword arguments, got {len(given)} positional")
