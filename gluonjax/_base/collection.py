"""Python's search for garbage, put off where much is allocated that stays."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def postponed() -> Iterator[None]:
    """No search for garbage meanwhile; afterwards the collector is on if it was on before."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
