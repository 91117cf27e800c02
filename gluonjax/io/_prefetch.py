"""Reading ahead in threads."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from gluonjax._base.devices import current_context
from gluonjax.io._batch import DataBatch, DataDesc, HoldingIter, InputError


class PrefetchingIter(HoldingIter):
    """One or more iterators, read one batch ahead in a thread each; their batches are joined.

    An error in a thread is raised by the call that would have returned the batch.

    Args:
        iters: an iterator or a list of them; their batches must pair up.
        rename_data: for every iterator a dictionary of old to new names of its data.
        rename_label: the same for labels.
    """

    def __init__(self, iters: Any, rename_data: Any = None, rename_label: Any = None) -> None:
        super().__init__()
        self.iters = list(iters) if isinstance(iters, (list, tuple)) else [iters]
        if not self.iters:
            raise InputError("PrefetchingIter: got an empty list; give at least one iterator")
        self.n_iter = len(self.iters)
        self.rename_data = rename_data
        self.rename_label = rename_label
        self.batch_size = self.provide_data[0][1][0]
        # One worker for each iterator keeps its calls in order.
        self._workers = [ThreadPoolExecutor(1, "gluonjax-prefetch") for _ in self.iters]
        self._context = current_context()
        self._ahead: list[Future[Any]] = []
        self._read_ahead()

    def __del__(self) -> None:
        for worker in getattr(self, "_workers", ()):
            worker.shutdown(wait=False)

    @property
    def provide_data(self) -> list[Any]:
        """Descriptions of the joined data."""
        return self._descriptions("provide_data", self.rename_data)

    @property
    def provide_label(self) -> list[Any]:
        """Descriptions of the joined labels."""
        return self._descriptions("provide_label", self.rename_label)

    def _descriptions(self, which: str, renames: Any) -> list[Any]:
        lists = [getattr(source, which) for source in self.iters]
        if renames is None:
            return [entry for entries in lists for entry in entries]
        return [_renamed(entry, names) for names, entries in zip(renames, lists) for entry in entries]

    def _read_ahead(self) -> None:
        self._ahead = [
            worker.submit(_next_or_none, source, self._context)
            for worker, source in zip(self._workers, self.iters)
        ]

    def reset(self) -> None:
        for future in self._ahead:
            # The batch read ahead is dropped, and an error with it: the new epoch starts clean.
            future.exception()
        for source in self.iters:
            source.reset()
        self._read_ahead()

    def iter_next(self) -> bool:
        batches = [future.result() for future in self._ahead]
        missing = [batch is None for batch in batches]
        if all(missing):
            return False
        if any(missing) or len({batch.pad for batch in batches}) > 1:
            raise InputError("PrefetchingIter: Number of entry mismatches between iterators")
        self._read_ahead()
        first = batches[0]
        self.current_batch = DataBatch(
            [array for batch in batches for array in batch.data],
            [array for batch in batches for array in batch.label or ()],
            first.pad,
            first.index,
            provide_data=self.provide_data,
            provide_label=self.provide_label,
        )
        return True

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        return self.current_batch


def _renamed(entry: Any, names: dict[str, str]) -> DataDesc:
    if isinstance(entry, DataDesc):
        return DataDesc(names[entry.name], entry.shape, entry.dtype)
    return DataDesc(*entry)


def _next_or_none(source: Any, context: Any) -> Any:
    # The current context is thread-local; the worker's arrays belong where the caller's would.
    with context:
        try:
            return source.next()
        except StopIteration:
            return None
