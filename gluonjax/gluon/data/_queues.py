"""MXNet's building blocks for loaders of one's own: queues between processes, arrays through shared memory."""

from __future__ import annotations

import io
import mmap
import multiprocessing
import multiprocessing.queues
import os
import pickle
from multiprocessing.reduction import DupFd, ForkingPickler
from typing import Any

import numpy as np

from gluonjax._base.devices import CPU0, Context
from gluonjax._base.dtypes import CODE_TO_DTYPE, DTYPE_TO_CODE
from gluonjax.ndarray import NDArray
from gluonjax.ndarray.ndarray import wrap
from gluonjax.numpy import ndarray as np_ndarray


def reduce_ndarray(data: NDArray) -> tuple[Any, tuple[Any, ...]]:
    """How an array is pickled for another process: as shared memory, given by a file descriptor."""
    return rebuild_ndarray, _share(data)


def rebuild_ndarray(pid: int, fd: Any, shape: tuple[int, ...], dtype: int) -> NDArray:
    """The array in shared memory; takes the descriptor over."""
    return wrap(_read(fd, shape, dtype))


def reduce_np_ndarray(data: Any) -> tuple[Any, tuple[Any, ...]]:
    """``reduce_ndarray`` for ``mx.np`` arrays."""
    return rebuild_np_ndarray, _share(data)


def rebuild_np_ndarray(pid: int, fd: Any, shape: tuple[int, ...], dtype: int) -> Any:
    """``rebuild_ndarray`` for ``mx.np`` arrays."""
    return wrap(_read(fd, shape, dtype))._as_class(np_ndarray)


def _share(data: NDArray) -> tuple[Any, ...]:
    value = np.ascontiguousarray(data.asnumpy())
    fd = os.memfd_create("gluonjax-array")
    try:
        # An empty file cannot be mapped, so every array has at least one byte.
        os.ftruncate(fd, max(1, value.nbytes))
        with mmap.mmap(fd, max(1, value.nbytes)) as memory:
            memory[: value.nbytes] = value.tobytes()
        return os.getpid(), DupFd(fd), value.shape, DTYPE_TO_CODE[value.dtype]
    finally:
        os.close(fd)


def _read(fd: Any, shape: tuple[int, ...], dtype: int) -> np.ndarray:
    descriptor = fd.detach()
    try:
        kind = CODE_TO_DTYPE[dtype]
        size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
        with mmap.mmap(descriptor, max(1, size), prot=mmap.PROT_READ) as memory:
            return np.frombuffer(memory[:size], kind).reshape(shape)
    finally:
        os.close(descriptor)


# Queues and pipes of multiprocessing pickle with this.
ForkingPickler.register(NDArray, reduce_ndarray)
ForkingPickler.register(np_ndarray, reduce_np_ndarray)


class ConnectionWrapper:
    """A connection that sends arrays through shared memory."""

    def __init__(self, conn: Any) -> None:
        self._conn = conn

    def send(self, obj: Any) -> None:
        """Send an object."""
        buffer = io.BytesIO()
        ForkingPickler(buffer, pickle.HIGHEST_PROTOCOL).dump(obj)
        self._conn.send_bytes(buffer.getvalue())

    def recv(self) -> Any:
        """Receive an object."""
        return pickle.loads(self._conn.recv_bytes())

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__.get("_conn"), name)


class Queue(multiprocessing.queues.Queue):  # type: ignore[type-arg]
    """A ``multiprocessing.Queue`` whose arrays go through shared memory."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, ctx=multiprocessing.get_context("spawn"), **kwargs)


class SimpleQueue(multiprocessing.queues.SimpleQueue):  # type: ignore[type-arg]
    """A ``multiprocessing.SimpleQueue`` whose arrays go through shared memory."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, ctx=multiprocessing.get_context("spawn"), **kwargs)


def worker_loop_v1(dataset: Any, key_queue: Any, data_queue: Any, batchify_fn: Any) -> None:
    """Load ``(number, indices)`` from one queue, put ``(number, batch)`` into the other, until number is None."""
    for number, indices in iter(key_queue.get, None):
        if number is None:
            return
        data_queue.put((number, batchify_fn([dataset[index] for index in indices])))


def fetcher_loop_v1(
    data_queue: Any, data_buffer: Any, pin_memory: bool = False, pin_device_id: int = 0, data_buffer_lock: Any = None
) -> None:
    """Move ``(number, batch)`` from a queue into a dictionary, until number is None."""
    context = Context("cpu_pinned", pin_device_id) if pin_memory else CPU0
    for number, batch in iter(data_queue.get, None):
        if number is None:
            return
        batch = move(batch, context)
        if data_buffer_lock is None:
            data_buffer[number] = batch
        else:
            with data_buffer_lock:
                data_buffer[number] = batch


def move(value: Any, context: Context) -> Any:
    """Put all arrays of a batch on a context."""
    if isinstance(value, NDArray):
        return value.as_in_context(context)
    if isinstance(value, (list, tuple)):
        return [move(entry, context) for entry in value]
    return value
