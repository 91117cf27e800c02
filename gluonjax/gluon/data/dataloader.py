"""DataLoader: batches of a data set, loaded ahead by worker processes or threads.

MXNet's workers are forked. A process that runs JAX must not fork, so worker processes are fresh interpreters here
(``_pool.py``), which the data set is sent to; a data set that cannot be sent is loaded by threads.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gluonjax import ndarray as nd
from gluonjax._base.devices import Context
from gluonjax.gluon._errors import ArgumentError
from gluonjax.gluon.data import _gather
from gluonjax.gluon.data._messages import CannotSend
from gluonjax.gluon.data._pool import Source
from gluonjax.gluon.data._queues import ConnectionWrapper as ConnectionWrapper
from gluonjax.gluon.data._queues import Queue as Queue
from gluonjax.gluon.data._queues import SimpleQueue as SimpleQueue
from gluonjax.gluon.data._queues import fetcher_loop_v1 as fetcher_loop_v1
from gluonjax.gluon.data._queues import move
from gluonjax.gluon.data._queues import rebuild_ndarray as rebuild_ndarray
from gluonjax.gluon.data._queues import rebuild_np_ndarray as rebuild_np_ndarray
from gluonjax.gluon.data._queues import reduce_ndarray as reduce_ndarray
from gluonjax.gluon.data._queues import reduce_np_ndarray as reduce_np_ndarray
from gluonjax.gluon.data._queues import worker_loop_v1 as worker_loop_v1
from gluonjax.gluon.data._rounds import ProcessRound, Round, ThreadRound
from gluonjax.gluon.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from gluonjax.ndarray import NDArray


@_gather.stacks
def default_batchify_fn(data: Sequence[Any]) -> Any:
    """Stack samples into a batch; tuples are batched part by part.

    >>> default_batchify_fn([(1, 2.0), (3, 4.0)])[0].asnumpy().tolist()
    [1, 3]
    """
    first = data[0]
    if isinstance(first, NDArray):
        return nd.stack(*data)
    if isinstance(first, tuple):
        return [default_batchify_fn(part) for part in zip(*data)]
    values = np.asarray(data)
    if values.dtype.kind in "OUS":
        raise ArgumentError(
            f"default_batchify_fn: cannot stack {type(first).__name__} into a batch; samples must be "
            f"numbers or arrays "
            "of one shape, or pass batchify_fn"
        )
    return nd.array(values, dtype=values.dtype)


@_gather.stacks
def default_mp_batchify_fn(data: Sequence[Any]) -> Any:
    """What workers batch with; the same as ``default_batchify_fn``."""
    return default_batchify_fn(data)


class DataLoader:
    """Loads batches of a data set.

    Args:
        dataset: what to load from: anything with a length and elements.
        batch_size: samples in a batch.
        shuffle: visit in random order.
        sampler: in which order to visit, in place of ``shuffle``.
        last_batch: ``'keep'``, ``'discard'`` or ``'rollover'``; see BatchSampler.
        batch_sampler: which samples make a batch, in place of the four before.
        batchify_fn: makes a batch of a list of samples.
        num_workers: number of processes (or threads) that load ahead; 0 loads when asked.
        pin_memory, pin_device_id: put batches on the context ``cpu_pinned(pin_device_id)``.
        prefetch: how many batches to load ahead (default: two for each worker).
        thread_pool: load with threads of this process. A data set that cannot be pickled is loaded so too.
        timeout: seconds to wait for one batch.
        auto_reload: begin to load the next round when one ends.

    >>> from gluonjax.gluon.data import SimpleDataset
    >>> [batch.shape for batch in DataLoader(SimpleDataset([1.0, 2.0, 3.0]), batch_size=2)]
    [(2,), (1,)]
    """

    def __init__(
        self, dataset: Any, batch_size: int | None = None, shuffle: bool = False, sampler: Sampler | None = None,
        last_batch: str | None = None, batch_sampler: Any = None, batchify_fn: Callable[..., Any] | None = None,
        num_workers: int = 0, pin_memory: bool = False, pin_device_id: int = 0, prefetch: int | None = None,
        thread_pool: bool = False, timeout: float = 120, auto_reload: bool = False,
    ) -> None:  # fmt: skip
        if timeout <= 0:
            raise ArgumentError(f"timeout must be positive, given {timeout}")
        self._dataset = dataset
        self._pin_memory = pin_memory
        self._pin_device_id = pin_device_id
        self._thread_pool = thread_pool
        self._timeout = timeout
        self._batch_sampler = _choose_batches(
            dataset, batch_size, shuffle, sampler, last_batch, batch_sampler
        )
        self._num_workers = max(0, num_workers)
        self._prefetch = max(0, 2 * self._num_workers if prefetch is None else int(prefetch))
        self._batchify_fn = batchify_fn or default_batchify_fn
        self._auto_reload = auto_reload
        self._iter: Round | None = None
        self._source: Source | None = None
        if auto_reload:
            self.refresh()

    def _load(self, indices: Sequence[int]) -> Any:
        return _gather.load(self._dataset, indices, self._batchify_fn)

    def _deliver(self, batch: Any) -> Any:
        return move(batch, Context("cpu_pinned", self._pin_device_id)) if self._pin_memory else batch

    def __iter__(self) -> Iterator[Any]:
        if not self._num_workers:
            return (self._deliver(self._load(indices)) for indices in self._batch_sampler)
        started, self._iter = self._iter or self._start(), None
        return started

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_iter": None, "_source": None}

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def _start(self) -> Round:
        """Begin a round: with processes where the data set can be sent to them, else with threads."""
        if not self._thread_pool and self._source is None:
            try:
                if os.name != "posix":
                    raise CannotSend("worker processes need pipes as POSIX has them")
                self._source = Source(self._dataset, self._batchify_fn)
            except CannotSend as error:
                self._use_threads(error)
        return ThreadRound(self) if self._source is None else ProcessRound(self, self._source)

    def _use_threads(self, error: Exception) -> None:
        """From now on load with threads, and say why."""
        self._thread_pool, self._source = True, None
        warnings.warn(
            f"DataLoader: the data set cannot be sent to worker processes ({error}), so the workers are threads. "
            "Define its functions and classes at the top level of a module to use processes, or pass "
            "thread_pool=True.",
            stacklevel=4,
        )

    def refresh(self) -> None:
        """Begin to load the next round now."""
        self._iter = self._start() if self._num_workers else None

    def clean(self) -> None:
        """Forget a round that was begun ahead."""
        self._iter = None


def _choose_batches(
    dataset: Any, batch_size: int | None, shuffle: bool, sampler: Sampler | None, last_batch: str | None,
    batch_sampler: Any,
) -> Any:  # fmt: skip
    """The batch sampler that a loader's arguments ask for; complains where they contradict each other."""
    if batch_sampler is not None:
        if batch_size is not None or shuffle or sampler is not None or last_batch is not None:
            raise ArgumentError(
                "batch_size, shuffle, sampler and last_batch must not be specified if batch_sampler "
                "is specified."
            )
        return batch_sampler
    if batch_size is None:
        raise ArgumentError("batch_size must be specified unless batch_sampler is specified")
    if sampler is not None and shuffle:
        raise ArgumentError("shuffle must not be specified if sampler is specified")
    if sampler is None:
        sampler = RandomSampler(len(dataset)) if shuffle else SequentialSampler(len(dataset))
    return BatchSampler(sampler, batch_size, last_batch or "keep")


class DataLoaderV1(DataLoader):
    """The loader of MXNet 1.3 and before; arguments as for DataLoader."""

    def __init__(
        self, dataset: Any, batch_size: int | None = None, shuffle: bool = False, sampler: Sampler | None = None,
        last_batch: str | None = None, batch_sampler: Any = None, batchify_fn: Callable[..., Any] | None = None,
        num_workers: int = 0, pin_memory: bool = False, pin_device_id: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(
            dataset, batch_size, shuffle, sampler, last_batch, batch_sampler, batchify_fn, num_workers, pin_memory,
            pin_device_id,
        )  # fmt: skip
