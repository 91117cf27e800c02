"""One stream of random keys for the process, controlled by one seed.

A key is raw threefry key data, ``uint32[2]`` = (seed, counter). Distinct pairs are independent streams, so the
n-th random operator after ``seed(s)`` draws the same numbers wherever it runs: eagerly, inside a compiled graph
(which is handed a base key and adds n to the counter), on a CPU or on a GPU.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gluonjax._base.scopes import modes


class _Stream:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.seed = int.from_bytes(np.random.SeedSequence().generate_state(1).tobytes(), "little")
        self.counter = 0


_stream = _Stream()


class _Scope(threading.local):
    def __init__(self) -> None:
        super().__init__()
        self.traced: list[list[Any]] = []


_scope = _Scope()


def seed(value: int) -> None:
    """Restart the stream. Any Python integer is taken; it is reduced to 32 bits."""
    with _stream.lock:
        _stream.seed = int(value) & 0xFFFFFFFF
        _stream.counter = 0


def take_keys(count: int = 1) -> Any:
    """Reserve ``count`` consecutive keys and return the first as ``uint32[2]``."""
    if _scope.traced:
        slot = _scope.traced[-1]
        base, used = slot
        slot[1] = used + count
        return base + np.array([0, used], np.uint32)
    capture = modes.tracer
    if capture is not None:
        return capture.host(functools.partial(take_keys, count), (2,), np.uint32)
    with _stream.lock:
        start = _stream.counter
        _stream.counter = (start + count) & 0xFFFFFFFF
    return np.array([_stream.seed, start], np.uint32)


def next_keys() -> Any:
    """The keys that ``take_keys`` will give next; they are not used up."""
    if _scope.traced:
        base, used = _scope.traced[-1]
        return base + np.array([0, used], np.uint32)
    with _stream.lock:
        return np.array([_stream.seed, _stream.counter], np.uint32)


@contextmanager
def traced_key(base: Any) -> Iterator[list[Any]]:
    """While a function is traced, draw keys from ``base`` (a traced uint32[2]) instead of the process stream.

    Yields a two-element list whose second entry counts the keys used.
    """
    slot = [base, 0]
    _scope.traced.append(slot)
    try:
        yield slot
    finally:
        _scope.traced.pop()


def host_seed() -> int:
    """A seed for host-side generators (samplers, augmenters), drawn from the one stream."""
    high, low = (int(part) for part in np.asarray(take_keys(1)))
    return ((high * 2654435761) ^ (low * 40503 + 0x9E3779B9)) & 0x7FFFFFFF
