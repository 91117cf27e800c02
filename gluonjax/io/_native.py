"""The class of iterators over files, C++ in MXNet, and how they read their arguments."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from gluonjax._base.attrs import AttributeTextError, Kind
from gluonjax._base.devices import current_context
from gluonjax._base.errors import OperatorError, did_you_mean
from gluonjax._files.params import SparseBlock
from gluonjax.io._batch import DataBatch, DataDesc, HoldingIter, InputError, refuse_positional
from gluonjax.io._sources import csr_array
from gluonjax.ndarray.ndarray import wrap

Table = np.ndarray | SparseBlock
# The names that MXNet's own iterators take beside their own: they configure its threads and devices.
COMMON = {
    "data_name",
    "label_name",
    "prefetch_buffer",
    "ctx",
    "dtype",
    "preprocess_threads",
    "data_shape",
    "verbose",
}


class HostBatch(NamedTuple):
    """A batch before it becomes NDArrays."""

    data: Any
    label: Any
    pad: int
    index: np.ndarray


class BatchReader(Protocol):
    """What ``MXDataIter`` reads from."""

    def read(self) -> HostBatch | None:
        """Return the next batch, or None at the end."""
        ...

    def reset(self) -> None:
        """Start the next epoch."""
        ...


class MXDataIter(HoldingIter):
    """An iterator over a file.

    Args:
        handle: what it reads from: an object with ``read()`` and ``reset()``.
        data_name: the name of the data.
        label_name: the name of the labels.
    """

    def __init__(
        self, handle: BatchReader, data_name: str = "data", label_name: str = "softmax_label", **_: Any
    ) -> None:
        super().__init__()
        self.handle = handle
        self._context = current_context()
        self._debug_skip_load = False
        self._debug_at_begin = True
        self.first_batch = self._read()
        if self.first_batch is None:
            raise InputError("number of input must be bigger than batch size: the file has no full batch")
        data, label = self.first_batch.data[0], self.first_batch.label[0]
        self.provide_data = [DataDesc(data_name, data.shape, data.dtype)]
        self.provide_label = [DataDesc(label_name, label.shape, label.dtype)]
        self.batch_size = data.shape[0]

    def debug_skip_load(self) -> None:
        """Return the first batch for ever: for timing everything but the loading."""
        self._debug_skip_load = True
        logging.info("Set debug_skip_load to be true, will simply return first batch")

    def reset(self) -> None:
        self._debug_at_begin = True
        self.first_batch = None
        self.handle.reset()

    def _read(self) -> Any:
        batch = self.handle.read()
        if batch is None:
            return None
        return DataBatch([self._array(batch.data)], [self._array(batch.label)], batch.pad, batch.index)

    def _array(self, table: Any) -> Any:
        if isinstance(table, np.ndarray):
            return wrap(table, self._context)
        # Readers that work ahead have brought their batches to the device already.
        return csr_array(table, self._context) if isinstance(table, SparseBlock) else table

    def iter_next(self) -> bool:
        if self._debug_skip_load and not self._debug_at_begin:
            return True
        batch, self.first_batch = self.first_batch or self._read(), None
        self._debug_at_begin = False
        if batch is None:
            return False
        self.current_batch = batch
        return True

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        return self._held()

    def getdata(self) -> Any:
        return self._held().data[0]  # pyright: ignore[reportOptionalSubscript]

    def getlabel(self) -> Any:
        return self._held().label[0]  # pyright: ignore[reportOptionalSubscript]


class Settings:
    """Reads keyword arguments as MXNet's iterators do: values or their text.

    Args:
        iterator: its name, for errors.
        kinds: for every name its kind, and its default unless it is required.
    """

    def __init__(self, iterator: str, **kinds: tuple[Kind] | tuple[Kind, Any]) -> None:
        self.iterator = iterator
        self.kinds = kinds

    def read(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the settings; unknown names are ignored as in MXNet, with a warning where they look mistyped."""
        known = {*self.kinds, *COMMON}
        for name in given:
            hint = "" if name in known else did_you_mean(name, known)
            if hint:
                # MXNet ignores it without a word, and scripts with such slips exist; they must go on running.
                warnings.warn(f"{self.iterator}: unknown argument {name!r} is ignored{hint}", stacklevel=4)
        return {name: self._value(name, kind, given) for name, kind in self.kinds.items()}

    def _value(self, name: str, kind: tuple[Any, ...], given: dict[str, Any]) -> Any:
        if name not in given:
            if len(kind) == 1:
                raise OperatorError(
                    f"{self.iterator}: Required parameter {name} of {kind[0].name} is not presented"
                )
            return kind[1]
        try:
            return kind[0].parse(given[name])
        except AttributeTextError as error:
            raise OperatorError(f"{self.iterator}: argument {name!r} {error}") from None


def creator(settings: Settings, make: Callable[..., BatchReader], doc: str) -> Callable[..., MXDataIter]:
    def create(*args: Any, **kwargs: Any) -> MXDataIter:
        refuse_positional(settings.iterator, args)
        names = {name: kwargs[name] for name in ("data_name", "label_name") if name in kwargs}
        return MXDataIter(make(**settings.read(kwargs)), **names)

    create.__name__ = create.__qualname__ = settings.iterator
    create.__doc__ = doc
    return create
