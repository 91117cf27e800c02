"""A Gluon data loader as a data iterator, for ``Module``."""

from __future__ import annotations

from typing import Any

from gluonjax import ndarray as nd
from gluonjax.io import DataBatch, DataDesc, DataIter
from gluonjax.io._batch import InputError

__all__ = ["DataDesc", "DataIter", "DataLoaderIter"]


class DataLoaderIter(DataIter):
    """The batches of a data loader, as ``Module`` takes them; the last one is filled up to the size of the first.

    Args:
        loader: a ``gluon.data.DataLoader`` whose batches are pairs of data and labels.
        data_name: the name of the data.
        label_name: the name of the labels.
        dtype: what both are cast to.

    >>> from gluonjax.gluon.data import ArrayDataset, DataLoader
    >>> batches = DataLoaderIter(DataLoader(ArrayDataset(nd.ones((5, 2)), nd.zeros(5)), 2))
    >>> [batch.pad for batch in batches]
    [0, 0, 1]
    """

    def __init__(
        self, loader: Any, data_name: str = "data", label_name: str = "softmax_label", dtype: str = "float32"
    ) -> None:
        super().__init__()
        self._loader = loader
        self.dtype = dtype
        data, label = next(iter(loader))
        self.batch_size = data.shape[0]
        self.provide_data = [DataDesc(data_name, data.shape, dtype)]
        self.provide_label = [DataDesc(label_name, label.shape, dtype)]
        self.reset()

    def reset(self) -> None:
        self._batches = iter(self._loader)
        self._pair: Any = None

    def iter_next(self) -> bool:
        self._pair = next(self._batches, None)
        return self._pair is not None

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        return DataBatch(self.getdata(), self.getlabel(), self.getpad(), self.getindex())

    def _part(self, which: int) -> list[Any]:
        if self._pair is None:
            raise InputError("DataLoaderIter: there is no current batch; call iter_next() or next() first")
        array = self._pair[which].astype(self.dtype)
        missing = self.batch_size - array.shape[0]
        if missing:
            array = nd.concat(array, nd.zeros((missing, *array.shape[1:]), dtype=self.dtype), dim=0)
        return [array]

    def getdata(self) -> list[Any]:
        return self._part(0)

    def getlabel(self) -> list[Any]:
        return self._part(1)

    def getpad(self) -> int:
        """Return how many rows of the current batch are filling."""
        return 0 if self._pair is None else self.batch_size - self._pair[0].shape[0]
