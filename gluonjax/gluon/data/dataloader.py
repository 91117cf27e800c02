"""DataLoader: batches of a data set, loaded ahead by threads.

MXNet loads in forked processes. A process that runs JAX must not fork, so workers are threads here: reading files,
decoding images and NumPy release the interpreter lock, and nothing has to be pickled.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

import numpy as np

from gluonjax import ndarray as nd
from gluonjax._base.devices import Context
from gluonjax._base.scopes import mode, modes
from gluonjax.gluon._errors import ArgumentError, MXNetError
from gluonjax.gluon.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from gluonjax.ndarray import NDArray

TIMED_OUT = (
    "Worker timed out after {seconds} seconds. This might be caused by \n\n"
    "- Slow transform. Please increase timeout to allow slower data loading in each worker.\n"
    "- Insufficient number of workers, or a batch size that is too large for them.\n"
    "Alternatively, run the loader with num_workers=0 to see where the data set hangs."
)


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


def default_mp_batchify_fn(data: Sequence[Any]) -> Any:
    """What workers batch with; the same as ``default_batchify_fn``, since threads share memory."""
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
        num_workers: number of threads that load ahead; 0 loads when asked.
        pin_memory, pin_device_id: put batches on the context ``cpu_pinned(pin_device_id)``.
        prefetch: how many batches to load ahead (default: two for each worker).
        thread_pool: accepted; workers are always threads.
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
        self._iter: _Ahead | None = None
        if auto_reload:
            self.refresh()

    def _load(self, indices: Sequence[int]) -> Any:
        return self._batchify_fn([self._dataset[index] for index in indices])

    def _deliver(self, batch: Any) -> Any:
        return _move(batch, Context("cpu_pinned", self._pin_device_id)) if self._pin_memory else batch

    def __iter__(self) -> Iterator[Any]:
        if not self._num_workers:
            return (self._deliver(self._load(indices)) for indices in self._batch_sampler)
        started, self._iter = self._iter or _Ahead(self), None
        return started

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def refresh(self) -> None:
        """Begin to load the next round now."""
        self._iter = _Ahead(self) if self._num_workers else None

    def clean(self) -> None:
        """Forget a round that was begun ahead."""
        self._iter = None


class _Ahead:
    """One round of a loader whose batches are loaded ahead by threads, and delivered in order."""

    def __init__(self, loader: DataLoader) -> None:
        self._loader = loader
        self._batches = iter(loader._batch_sampler)
        self._pool = ThreadPoolExecutor(loader._num_workers, thread_name_prefix="gluonjax-data")
        self._waiting: deque[Future[Any]] = deque()
        self._modes = {"np_shape": modes.np_shape, "np_array": modes.np_array}
        # An abandoned round (break, error) must not keep its threads.
        self._closer = weakref.finalize(self, self._pool.shutdown, wait=False, cancel_futures=True)
        for _ in range(max(1, loader._prefetch)):
            self._submit()

    def _submit(self) -> None:
        indices = next(self._batches, None)
        if indices is not None:
            self._waiting.append(self._pool.submit(_load_in, self._modes, self._loader._load, indices))

    def __iter__(self) -> _Ahead:
        return self

    def __len__(self) -> int:
        return len(self._loader)

    def __next__(self) -> Any:
        if not self._waiting:
            self._closer()
            loader = self._loader
            if loader._auto_reload and loader._iter is None:
                loader.refresh()
            raise StopIteration
        loading = self._waiting.popleft()
        try:
            batch = loading.result(timeout=self._loader._timeout)
        except FutureTimeout:
            if loading.done():
                raise
            self._closer()
            raise WorkerTimeout(TIMED_OUT.format(seconds=self._loader._timeout)) from None
        self._submit()
        return self._loader._deliver(batch)

    next = __next__


class WorkerTimeout(MXNetError, TimeoutError):
    """A batch took longer to load than the loader's timeout."""


def _load_in(in_modes: dict[str, bool], load: Callable[[Any], Any], indices: Any) -> Any:
    """Load a batch in a worker thread, in the NumPy modes of the thread that asked for it."""
    with mode(**in_modes):
        return load(indices)


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


def _move(value: Any, context: Context) -> Any:
    """Put all arrays of a batch on a context."""
    if isinstance(value, NDArray):
        return value.as_in_context(context)
    if isinstance(value, (list, tuple)):
        return [_move(entry, context) for entry in value]
    return value
