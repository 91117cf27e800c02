"""``mx.engine``: bulk execution is XLA's business; the switches are accepted."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_state = threading.local()


def set_bulk_size(size: int) -> int:
    """Accepted for compatibility; returns the previous value, at first 0."""
    before = getattr(_state, "size", 0)
    _state.size = int(size)
    return before


@contextmanager
def bulk(size: int) -> Iterator[None]:
    """A scope with another bulk size; accepted for compatibility.

    >>> with bulk(10):
    ...     pass
    """
    before = set_bulk_size(size)
    try:
        yield
    finally:
        set_bulk_size(before)
