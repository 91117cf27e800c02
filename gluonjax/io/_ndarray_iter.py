"""Batches of arrays that are in memory."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from gluonjax._base.errors import MXNetError
from gluonjax.io._batch import DataBatch, DataDesc, DataIter, InputError
from gluonjax.io._sources import CsrSource, Rows, Source, named_sources
from gluonjax.ndarray import NDArray

MODES = ("pad", "discard", "roll_over")


class SparseModeError(MXNetError, NotImplementedError):
    """A csr source with a ``last_batch_handle`` that would have to mix rows of both ends."""


class NDArrayIter(DataIter):
    """Batches of arrays, in order or shuffled.

    Args:
        data: an NDArray, a NumPy array, an HDF5 data set, a csr matrix, or a list or dictionary of them;
        first
            axes are equally long.
        label: the labels, in the same forms.
        batch_size: rows of a batch.
        shuffle: draw a new order at every ``reset``, with ``numpy.random``.
        last_batch_handle: ``"pad"`` fills the last batch from the start, ``"discard"`` drops it,
        ``"roll_over"``
            keeps its rows for the next epoch.
        data_name: the name where ``data`` is one array; numbered where it is a list.
        label_name: the same for labels.
        layout: ``N`` in it is the axis of the rows.

    >>> batches = NDArrayIter(np.arange(5), batch_size=2)
    >>> [(batch.data[0].asnumpy().tolist(), batch.pad) for batch in batches]
    [([0.0, 1.0], 0), ([2.0, 3.0], 0), ([4.0, 0.0], 1)]
    """

    def __init__(
        self,
        data: Any,
        label: Any = None,
        batch_size: int = 1,
        shuffle: bool = False,
        last_batch_handle: str = "pad",
        data_name: str = "data",
        label_name: str = "softmax_label",
        layout: str = "NCHW",
    ) -> None:
        super().__init__(batch_size)
        if batch_size < 1:
            raise InputError(f"NDArrayIter: batch_size must be at least 1, got {batch_size}")
        self.shuffle = shuffle
        self.last_batch_handle = last_batch_handle
        self.layout = layout
        self._data = named_sources(data, data_name, allow_empty=False)
        self._label = named_sources(label, label_name, allow_empty=True)
        if last_batch_handle not in MODES:
            # MXNet discards the last batch then, without a word.
            warnings.warn(
                f"NDArrayIter: unknown last_batch_handle {last_batch_handle!r}, as 'discard'", stacklevel=2
            )
        if last_batch_handle in ("pad", "roll_over") and any(
            isinstance(source, CsrSource) for _, source in self._data + self._label
        ):
            raise SparseModeError(
                "`NDArrayIter` only supports ``CSRNDArray`` with `last_batch_handle` set to `discard`."
            )
        self.num_data = self._check_rows()
        self.num_source = len(self._data) + len(self._label)
        self.idx = np.arange(self.num_data)
        self.cursor = -batch_size
        self._order: np.ndarray | None = None
        self._left_over = np.zeros(0, np.int64)
        self._rows: tuple[int, Rows] | None = None
        self.reset()

    def _check_rows(self) -> int:
        first_name, first = self._data[0]
        rows = first.shape[self._axis(first)]
        for name, source in self._data[1:] + self._label:
            found = source.shape[self._axis(source)]
            if found < rows:
                raise InputError(
                    f"NDArrayIter: {name!r} has {found} rows (shape {source.shape}), "
                    f"but {first_name!r} has {rows}"
                )
        return rows

    def _axis(self, source: Source) -> int:
        axis = max(self.layout.find("N"), 0)
        return axis if axis < len(source.shape) else 0

    @property
    def data(self) -> list[tuple[str, Any]]:
        """Names and arrays of the data, in the current order of rows."""
        return self._ordered(self._data)

    @property
    def label(self) -> list[tuple[str, Any]]:
        """Names and arrays of the labels, in the current order of rows."""
        return self._ordered(self._label)

    @property
    def data_list(self) -> list[Any]:
        """The arrays of data and labels."""
        return [array for _, array in self.data + self.label]

    def _ordered(self, sources: list[tuple[str, Source]]) -> list[tuple[str, Any]]:
        order = self._order
        return [
            (name, source.whole() if order is None else source.take(order, self._axis(source)))
            for name, source in sources
        ]

    @property
    def provide_data(self) -> list[DataDesc]:
        """Descriptions of the data of a batch."""
        return self._describe(self._data)

    @property
    def provide_label(self) -> list[DataDesc]:
        """Descriptions of the labels of a batch."""
        return self._describe(self._label)

    def _describe(self, sources: list[tuple[str, Source]]) -> list[DataDesc]:
        found = []
        for name, source in sources:
            axis = self._axis(source)
            shape = (*source.shape[:axis], self.batch_size, *source.shape[axis + 1 :])
            found.append(DataDesc(name, shape, source.dtype, self.layout))
        return found

    def hard_reset(self) -> None:
        """Go back to the start and forget rows kept for the next epoch."""
        self._shuffle_rows()
        self._left_over = self._left_over[:0]
        self.cursor = -self.batch_size
        self._rows = None

    def reset(self) -> None:
        """Start the next epoch; in a new order where ``shuffle`` is set."""
        kept = self._left_over[:0]
        if self.last_batch_handle == "roll_over" and -self.batch_size < self.cursor < self.num_data:
            rows = self._numbers(self._current_rows())
            kept = rows if len(rows) < self.batch_size else kept
        self._shuffle_rows()
        self._left_over = kept
        self.cursor = -len(kept) - self.batch_size
        self._rows = None

    def _shuffle_rows(self) -> None:
        if self.shuffle:
            # As in MXNet, an epoch's order permutes that of the epoch before, so that seeds give the same
            # epochs.
            np.random.shuffle(self.idx)
            self._order = self.idx.copy() if self._order is None else self._order[self.idx]

    def iter_next(self) -> bool:
        self.cursor += self.batch_size
        return self.cursor < self.num_data

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        rows = self._current_rows()
        count = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
        if count != self.batch_size:
            raise StopIteration
        return DataBatch(self._take(self._data, rows), self._take(self._label, rows), self.getpad(), None)

    def _current_rows(self) -> Rows:
        """The rows of the batch at the cursor; fewer than a batch where the mode does not fill it."""
        if self._rows is not None and self._rows[0] == self.cursor:
            return self._rows[1]
        start, stop = self.cursor, self.cursor + self.batch_size
        if start >= self.num_data or stop <= 0:
            raise InputError(
                "DataIter needs reset." if start > 0 else "NDArrayIter: call iter_next() or next() first"
            )
        if 0 <= start and stop <= self.num_data and self._order is None:
            rows: Rows = slice(start, stop)
        else:
            rows = self._in_order(max(start, 0), min(stop, self.num_data))
            if start < 0:
                rows = np.concatenate([self._left_over, rows])
            elif stop > self.num_data and self.last_batch_handle == "pad":
                filling = np.arange(stop - self.num_data) % self.num_data
                rows = np.concatenate([rows, filling if self._order is None else self._order[filling]])
        self._rows = (self.cursor, rows)
        return rows

    def _in_order(self, start: int, stop: int) -> np.ndarray:
        return np.arange(start, stop) if self._order is None else self._order[start:stop]

    @staticmethod
    def _numbers(rows: Rows) -> np.ndarray:
        return np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows

    def _take(self, sources: list[tuple[str, Source]], rows: Rows) -> list[NDArray]:
        return [source.take(rows, self._axis(source)) for _, source in sources]

    def getdata(self) -> list[NDArray]:
        return self._take(self._data, self._current_rows())

    def getlabel(self) -> list[NDArray]:
        return self._take(self._label, self._current_rows())

    def getpad(self) -> int:
        if self.last_batch_handle == "pad":
            return max(self.cursor + self.batch_size - self.num_data, 0)
        if self.last_batch_handle == "roll_over" and -self.batch_size < self.cursor < 0:
            return -self.cursor
        return 0
