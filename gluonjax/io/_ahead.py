"""Batches of records that threads decode ahead of the reader."""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from gluonjax._files.record_split import RawRecord
from gluonjax.io._batch import InputError
from gluonjax.io._native import HostBatch


class Taken(NamedTuple):
    """The records of one batch.

    Args:
        records: at most as many as a batch has rows.
        first: how many records of this epoch came before.
        pad: rows that do not count.
        wraps: the padding comes from the next pass over the data.
    """

    records: list[RawRecord]
    first: int
    pad: int
    wraps: bool


class RecordPasses:
    """Groups the records of pass after pass into batches.

    Args:
        name: the iterator, for errors.
        one_pass: begins a pass over the data, in its own order.
        batch_size: rows of a batch.
        round_batch: fill the last batch from the next pass, whose rest is the next epoch; else leave rows empty.
    """

    def __init__(
        self, name: str, one_pass: Callable[[], Iterator[RawRecord]], batch_size: int, round_batch: bool
    ) -> None:
        self.name = name
        self.one_pass = one_pass
        self.batch_size = batch_size
        self.round_batch = round_batch
        self.epoch = 0
        self._start()

    def _start(self) -> None:
        self._records = self.one_pass()
        self._done = False
        self._count = 0

    def reset(self, wrapped: bool) -> None:
        """Begin the next epoch: after a wrapped batch behind the records that it used, else at the start."""
        self.epoch += 1
        if wrapped:
            self._done, self._count = False, 0
        else:
            self._start()

    def take(self) -> Taken | None:
        """Return the next batch's records; None at the end of the epoch."""
        if self._done:
            return None
        records = self._next_records(self.batch_size)
        if len(records) == self.batch_size:
            return self._taken(records, 0, False)
        self._done = True
        if not records:
            return None
        pad = self.batch_size - len(records)
        if not self.round_batch:
            return self._taken(records, pad, False)
        self._records = self.one_pass()
        records += self._next_records(pad)
        if len(records) < self.batch_size:
            raise InputError(
                f"{self.name}: number of input images must be bigger than the batch size: two passes over the data "
                f"give {len(records)} records, batch_size is {self.batch_size}"
            )
        return self._taken(records, pad, True)

    def _taken(self, records: list[RawRecord], pad: int, wraps: bool) -> Taken:
        first, self._count = self._count, self._count + len(records)
        return Taken(records, first, pad, wraps)

    def _next_records(self, count: int) -> list[RawRecord]:
        return [record for _, record in zip(range(count), self._records)]


class RowFiller:
    """Makes the rows of batches; a subclass says how.

    Args:
        batch_size: rows of a batch.
        data_shape: of one row.
        label_shape: of one row.
        dtype: of the data.
    """

    def __init__(
        self, batch_size: int, data_shape: tuple[int, ...], label_shape: tuple[int, ...], dtype: np.dtype
    ) -> None:
        self.batch_size = batch_size
        self.data_shape, self.label_shape = data_shape, label_shape
        self.dtype = dtype

    def allocate(self, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Arrays for data, labels and indices; rows from ``rows`` on are zeros."""
        data = np.empty((self.batch_size, *self.data_shape), self.dtype)
        label = np.empty((self.batch_size, *self.label_shape), np.float32)
        index = np.zeros(self.batch_size, np.uint64)
        data[rows:], label[rows:] = 0, 0
        return data, label, index

    def fill(self, record: RawRecord, seed: int, data: np.ndarray, label: np.ndarray) -> int:
        """Write one row and return the number that its record bears.

        Args:
            record: what to decode.
            seed: of its random numbers.
            data: the row to write to.
            label: a view, so that a single number can be written: ``label[...] = 1``.
        """
        raise TypeError(f"{type(self).__name__} must define fill()")


class _Job:
    """One batch on its way: slices of rows are filled by any thread, the last one hands it over."""

    def __init__(self, taken: Taken, filler: RowFiller, seeds: range, deliver: Callable[[np.ndarray], Any]) -> None:
        self.taken = taken
        self.filler = filler
        self.seeds = seeds
        self.deliver = deliver
        self.arrays = filler.allocate(len(taken.records))
        self.ready = threading.Event()
        self.cancelled = False
        self._lock = threading.Lock()
        self._missing = len(taken.records)
        self._error: tuple[int, BaseException] | None = None
        self._batch: HostBatch | None = None

    def run(self, rows: range) -> None:
        """Fill some rows."""
        data, label, index = self.arrays
        for row in rows:
            if self.cancelled:
                break
            try:
                index[row] = self.filler.fill(
                    self.taken.records[row], self.seeds[row], data[row], label[row : row + 1].reshape(label.shape[1:])
                )
            except BaseException as error:
                with self._lock:
                    if self._error is None or row < self._error[0]:
                        self._error = (row, error)
                break
        with self._lock:
            self._missing -= len(rows)
            last = not self._missing
        if last:
            self._finish()

    def _finish(self) -> None:
        data, label, index = self.arrays
        try:
            if self._error is None and not self.cancelled:
                # Here, in the thread: an accelerator receives the batch while the one before is computed on.
                self._batch = HostBatch(self.deliver(data), self.deliver(label), self.taken.pad, index)
        except BaseException as error:
            self._error = (0, error)
        finally:
            self.ready.set()

    def result(self) -> HostBatch:
        """Wait for the batch; raises what went wrong with its first bad row."""
        self.ready.wait()
        if self._error is not None:
            raise self._error[1]
        assert self._batch is not None
        return self._batch


def worker_count(wanted: int) -> int:
    """Threads to use: not more than there are processors for."""
    mine = getattr(os, "sched_getaffinity", None)
    return max(1, min(wanted, len(mine(0)) if mine else os.cpu_count() or 1))


class AheadReader:
    """Reads batches that are decoded ahead.

    Args:
        passes: where records come from.
        filler: makes rows of them.
        workers: number of threads.
        depth: batches to work on at a time.
        seed: of the random numbers.
        new_numbers: draw others in every epoch.
        deliver: makes arrays of NumPy arrays, in a thread.
    """

    def __init__(
        self, passes: RecordPasses, filler: RowFiller, workers: int, depth: int, seed: int, new_numbers: bool,
        deliver: Callable[[np.ndarray], Any],
    ) -> None:  # fmt: skip
        self.passes = passes
        self.filler = filler
        self.workers = workers
        self.depth = max(1, depth)
        self.seed = seed
        self.new_numbers = new_numbers
        self.deliver = deliver
        self._pool = ThreadPoolExecutor(workers, "gluonjax-images")
        # An iterator that is forgotten must not keep its threads.
        self._closer = weakref.finalize(self, self._pool.shutdown, wait=False, cancel_futures=True)
        self._jobs: deque[_Job] = deque()
        self._failure: BaseException | None = None
        self._wrapped = False
        self._ended = False

    def _top_up(self) -> None:
        while len(self._jobs) < self.depth and not self._ended:
            try:
                taken = self.passes.take()
            except Exception as error:
                # Damage in the file is reported when its batch's turn comes.
                self._failure, self._ended = error, True
                return
            if taken is None:
                self._ended = True
                return
            self._submit(taken)

    def _submit(self, taken: Taken) -> None:
        epoch = self.passes.epoch if self.new_numbers else 0
        base = ((self.seed & 0xFFFFFFFF) << 96) + (epoch << 64) + taken.first
        count = len(taken.records)
        job = _Job(taken, self.filler, range(base, base + count), self.deliver)
        self._jobs.append(job)
        # Several tasks a batch let all threads work on the batch that is waited for.
        size = max(1, -(-count // (2 * self.workers)))
        for start in range(0, count, size):
            self._pool.submit(job.run, range(start, min(start + size, count)))

    def read(self) -> HostBatch | None:
        """Return the next batch; None at the end of the epoch."""
        self._top_up()
        if not self._jobs:
            if self._failure is not None:
                failure, self._failure = self._failure, None
                raise failure
            return None
        job = self._jobs.popleft()
        batch = job.result()
        self._wrapped = job.taken.wraps
        self._top_up()
        return batch

    def reset(self) -> None:
        """Start the next epoch."""
        for job in self._jobs:
            job.cancelled = True
        self._jobs.clear()
        self._failure, self._ended = None, False
        self.passes.reset(self._wrapped)
        self._wrapped = False
