"""What has been launched and may not be finished: waiting for one value, for all, and bounding the run-ahead."""

from __future__ import annotations

import collections
import math
from collections.abc import Sequence
from typing import Any, cast

import jax
import numpy as np
from jax.core import Tracer

from gluonjax._base.errors import MXNetError

# Launches that may be outstanding before a new one waits for the oldest (loops that never read a value).
RUN_AHEAD = 256
# On a CPU more outstanding results than this do not get computed sooner, but each in fresh memory instead of that of
# one that is no longer needed (products of 1024 x 1024: 12.4 ms instead of 10.8), and loops would fill the memory.
MOST_BYTES = 1 << 24
# Fewer bytes than this are not counted.
WORTH_COUNTING = MOST_BYTES // RUN_AHEAD

_launched: collections.deque[jax.Array] = collections.deque()


class Fault:
    """An error of one operation that its results carry until someone waits for one of them."""

    __slots__ = ("error", "reported")

    def __init__(self, error: MXNetError) -> None:
        # Without the traceback, whose frames hold arrays.
        self.error = error.with_traceback(None)
        self.reported = False


class Failed:
    """Stands for an array whose computation failed. Whatever is computed from it fails with the same fault."""

    __slots__ = ("dtype", "fault", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: Any, fault: Fault) -> None:
        self.shape = shape
        self.dtype = dtype
        self.fault = fault

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def is_ready(self) -> bool:
        """False, so that nobody takes the quick path with it."""
        return False


# Kept without their results, as MXNet keeps them: waitall reports what nobody else has asked for.
_faults: collections.deque[Fault] = collections.deque(maxlen=RUN_AHEAD)


def failed_results(error: MXNetError, structs: Sequence[Any]) -> tuple[Failed, ...]:
    """Results of an operation that failed with this error, of the given shapes and dtypes."""
    fault = Fault(error)
    _faults.append(fault)
    return tuple(Failed(struct.shape, struct.dtype, fault) for struct in structs)


def _report(fault: Fault) -> None:
    """Raise a fault's error, once."""
    if not fault.reported:
        fault.reported = True
        # As in MXNet, one error seen is enough: waitall says no more about the others.
        _faults.clear()
        raise fault.error


def note(results: tuple[Any, ...]) -> None:
    """Remember a launch by its last result, until that is computed.

    The value itself is kept, not a weak reference: waiting must cover results that nobody kept.
    """
    if not results or isinstance(results[-1], Tracer):
        return
    last = results[-1]
    _launched.append(last)
    ahead = RUN_AHEAD
    bytes_each = math.prod(last.shape) * last.dtype.itemsize
    if bytes_each > WORTH_COUNTING and jax.default_backend() == "cpu":
        ahead = max(2, MOST_BYTES // bytes_each)
    try:
        # Launches mostly finish in order: two looks at a launch keep the queue short.
        for _ in range(2):
            if not _is_over(_launched[0]):
                break
            _launched.popleft()
        while len(_launched) > ahead:
            oldest = _launched.popleft()
            if not oldest.is_deleted():
                jax.block_until_ready(oldest)
    except IndexError:
        pass  # another thread took the last one


def _is_over(value: jax.Array) -> bool:
    return value.is_deleted() or cast(Any, value).is_ready()


def wait(value: Any) -> Any:
    """The value once it is computed; a failed computation raises MXNetError here, at every reader once."""
    if type(value) is np.ndarray or isinstance(value, np.generic):
        return value
    if isinstance(value, Tracer):
        return value
    if type(value) is Failed:
        _report(value.fault)
        # The error has been seen; like MXNet's, the memory is there and its content means nothing.
        return np.full(value.shape, np.nan if value.dtype.kind in "fV" else 0, value.dtype)
    try:
        return jax.block_until_ready(value)
    except MXNetError:
        raise
    except Exception as error:
        raise MXNetError(f"an operation that was launched earlier failed: {error}") from error


def settled(value: Any) -> Any:
    """The value, computed where it is an array; faults stay what they are."""
    return jax.block_until_ready(value) if isinstance(value, jax.Array) else value


def wait_all() -> None:
    """Wait for everything that was called, and raise the first error: the others count as seen, too."""
    from gluonjax._engine import lazy

    first: MXNetError | None = None
    try:
        lazy.launch_all()
    except MXNetError as error:
        first = error
    while _launched:
        value = _launched.popleft()
        try:
            if not value.is_deleted():
                wait(value)
        except MXNetError as error:
            first = first or error
    jax.effects_barrier()
    if first is not None:
        for fault in _faults:
            fault.reported = True
        _faults.clear()
        raise first
    pending = [fault for fault in _faults if not fault.reported]
    _faults.clear()
    for fault in pending[1:]:
        fault.reported = True
    if pending:
        _report(pending[0])
