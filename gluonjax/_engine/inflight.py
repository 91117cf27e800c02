"""What has been launched and may not be finished: waiting for one value, for all, and bounding the run-ahead."""

from __future__ import annotations

import collections
import weakref
from typing import Any

import jax
import numpy as np

from gluonjax._base.errors import MXNetError

# Launches that may be outstanding before a new one waits for the oldest (loops that never read a value).
RUN_AHEAD = 256

_launched: collections.deque[Any] = collections.deque()
_failed: list[Exception] = []


def note(results: tuple[Any, ...]) -> None:
    """Remember a launch by its last result."""
    for value in reversed(results):
        if isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer):
            _launched.append(weakref.ref(value))
            break
    if len(_launched) > RUN_AHEAD:
        oldest = _launched.popleft()()
        if oldest is not None and not oldest.is_deleted():
            jax.block_until_ready(oldest)


def wait(value: Any) -> Any:
    """The value once it is computed; a failed computation raises MXNetError here, at every reader once."""
    if type(value) is np.ndarray or isinstance(value, np.generic):
        return value
    try:
        return jax.block_until_ready(value)
    except MXNetError:
        raise
    except Exception as error:
        raise MXNetError(f"an operation that was launched earlier failed: {error}") from error


def wait_all() -> None:
    """Wait for everything that was launched."""
    while _launched:
        value = _launched.popleft()()
        if value is not None and not value.is_deleted():
            wait(value)
    jax.effects_barrier()
