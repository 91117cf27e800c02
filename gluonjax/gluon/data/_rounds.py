"""One pass of a DataLoader over its data, loaded ahead by threads or by worker processes."""

from __future__ import annotations

import itertools
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TYPE_CHECKING, Any

from gluonjax._base.scopes import mode, modes
from gluonjax._engine import rng
from gluonjax.gluon._errors import MXNetError
from gluonjax.gluon.data import _pool
from gluonjax.gluon.data._messages import unpacked
from gluonjax.gluon.data._worker import Unreadable, WorkerTraceback

if TYPE_CHECKING:
    from gluonjax.gluon.data.dataloader import DataLoader

TIMED_OUT = (
    "Worker timed out after {seconds} seconds. This might be caused by \n\n"
    "- Slow transform. Please increase timeout to allow slower data loading in each worker.\n"
    "- Insufficient number of workers, or a batch size that is too large for them.\n"
    "Alternatively, run the loader with num_workers=0 to see where the data set hangs."
)


class WorkerTimeout(MXNetError, TimeoutError):
    """A batch took longer to load than the loader's timeout."""


class Round:
    """Batches in order, some of them loaded ahead; subclasses say how."""

    def __init__(self, loader: DataLoader) -> None:
        self._loader = loader
        self._batches = iter(loader._batch_sampler)
        self._modes = {"np_shape": modes.np_shape, "np_array": modes.np_array}
        self._waiting: deque[Any] = deque()

    def _begin(self) -> None:
        for _ in range(max(1, self._loader._prefetch)):
            self._request()

    def _request(self) -> None:
        indices = next(self._batches, None)
        if indices is not None:
            self._waiting.append(self._send(indices))

    def _send(self, indices: Any) -> Any:
        raise NotImplementedError

    def _receive(self, request: Any) -> Any:
        raise NotImplementedError

    def _finish(self) -> None:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        return self

    def __len__(self) -> int:
        return len(self._loader)

    def __next__(self) -> Any:
        if not self._waiting:
            self._finish()
            loader = self._loader
            if loader._auto_reload and loader._iter is None:
                loader.refresh()
            raise StopIteration
        batch = self._receive(self._waiting.popleft())
        self._request()
        return self._loader._deliver(batch)

    next = __next__


class ThreadRound(Round):
    """Loaded by threads of this process."""

    def __init__(self, loader: DataLoader) -> None:
        super().__init__(loader)
        self._pool = ThreadPoolExecutor(loader._num_workers, thread_name_prefix="gluonjax-data")
        # An abandoned round (break, error) must not keep its threads.
        self._finish = weakref.finalize(self, self._pool.shutdown, wait=False, cancel_futures=True)
        self._begin()

    def _send(self, indices: Any) -> Future[Any]:
        return self._pool.submit(_load_in, self._modes, self._loader._load, indices)

    def _receive(self, request: Future[Any]) -> Any:
        seconds = self._loader._timeout
        try:
            return request.result(timeout=seconds)
        except FutureTimeout:
            if request.done():
                raise
            self._finish()
            raise WorkerTimeout(TIMED_OUT.format(seconds=seconds)) from None


def _load_in(in_modes: dict[str, bool], load: Callable[[Any], Any], indices: Any) -> Any:
    """Load a batch in a worker thread, in the NumPy modes of the thread that asked for it."""
    with mode(**in_modes):
        return load(indices)


class ProcessRound(Round):
    """Loaded by worker processes: batch n by worker n modulo their number, so that seeds decide what is drawn."""

    _numbers = itertools.count()

    def __init__(self, loader: DataLoader, source: _pool.Source) -> None:
        super().__init__(loader)
        self._source = source
        self._number = next(self._numbers)
        self._mailbox = _pool.Mailbox()
        self._workers = _pool.workers_for(source, loader._num_workers)
        for worker in self._workers:
            worker.rounds[self._number] = self._mailbox
        # Every worker draws from a stream of its own, a new one in every round.
        base = rng.host_seed()
        self._seeds: list[int | None] = [(base + 1_000_003 * i) & 0x7FFFFFFF for i in range(len(self._workers))]
        self._position = 0
        self._begin()

    def _send(self, indices: Any) -> tuple[int, Any]:
        position, self._position = self._position, self._position + 1
        place = position % len(self._workers)
        worker, seed, self._seeds[place] = self._workers[place], self._seeds[place], None
        worker.send(("load", self._number, position, self._source.number, indices, seed, self._modes))
        if not worker.alive:
            worker._has_died()
        return position, indices

    def _receive(self, request: tuple[int, Any]) -> Any:
        position, indices = request
        if self._loader._thread_pool:
            return self._loader._load(indices)  # an earlier batch has shown that workers cannot
        seconds = self._loader._timeout
        data = self._mailbox.take(position, seconds)
        if data is None:
            raise WorkerTimeout(TIMED_OUT.format(seconds=seconds))
        fine, result = unpacked(data)
        if fine:
            return result
        error, text = result
        if isinstance(error, Unreadable):
            self._loader._use_threads(error)
            return self._loader._load(indices)
        if error is None:
            raise MXNetError(f"a DataLoader worker failed:\n{text}")
        raise error from WorkerTraceback(text)

    def _finish(self) -> None:
        for worker in self._workers:
            worker.rounds.pop(self._number, None)
