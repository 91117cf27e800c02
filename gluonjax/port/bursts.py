"""Timing in bursts: warm a step up, size a burst to a fraction of a second, time bursts one by one.

Standard library only: benchmark processes of other implementations load this file by path.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


class Bursts:
    """A warmed-up step and the number of calls that fill a burst.

    Args:
        step: One call is one step; what it returns goes to ``wait``.
        wait: Returns when the step's work is done.
        seconds: How long a burst shall take; at least one call is made.
        warm_calls: Calls before anything is timed, so that what compiles only when it is hot has compiled.
        warm_seconds: Stop warming up after so long, once three calls are done.

    Attributes:
        first: Seconds that the first call took, compiling included.
        calls: Calls in a burst.
    """

    def __init__(
        self,
        step: Callable[[], Any],
        wait: Callable[[Any], None],
        seconds: float = 0.3,
        warm_calls: int = 40,
        warm_seconds: float = 6.0,
    ) -> None:
        self._step, self._wait = step, wait
        self.calls = 1
        self.first = self()
        start, last = time.perf_counter(), self.first
        for count in range(1, warm_calls):
            # One slow call is no sign of a slow step: it may have compiled what the earlier ones had not.
            if count >= 3 and time.perf_counter() - start > warm_seconds:
                break
            last = self()
        if last > seconds:
            return
        # Twice: the first sizing may have met the last compilation.
        for _ in range(2):
            self.calls = min(self.calls, 3)
            self.calls = max(1, int(seconds / max(self(), 1e-7)))

    def __call__(self) -> float:
        """Run one burst. Returns the seconds of one step."""
        found = None
        start = time.perf_counter()
        for _ in range(self.calls):
            found = self._step()
        self._wait(found)
        return (time.perf_counter() - start) / self.calls


def shown(seconds: float) -> str:
    """A time in the unit that reads best.

    >>> shown(0.0000123), shown(0.0456), shown(1.5)
    ('12.3 us', '45.6 ms', '1.50 s')
    """
    if seconds < 1e-3:
        return f"{seconds * 1e6:.1f} us"
    if seconds < 1:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds:.2f} s"
