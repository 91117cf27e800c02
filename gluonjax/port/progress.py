"""A progress line on a terminal; now and then a plain line elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TextIO

_WIDTH = 30
_SECONDS_ON_TERMINAL, _SECONDS_IN_FILES = 0.1, 10.0


class Progress:
    """Shows how much of a known amount of work is done.

    Args:
        what: a word for the line's beginning.
        total: the amount.
        unit: what is counted.
        stream: where to write, standard error by default.
    """

    def __init__(self, what: str, total: int, unit: str, stream: TextIO | None = None) -> None:
        self.what, self.total, self.unit = what, total, unit
        self.stream = sys.stderr if stream is None else stream
        self.done = 0
        self._terminal = self.stream.isatty()
        self._begin = self._shown = time.monotonic()

    def line(self) -> str:
        """The text as of now."""
        part = self.done / self.total if self.total else 1.0
        filled = int(part * _WIDTH)
        rate = self.done / max(time.monotonic() - self._begin, 1e-9)
        bar = "#" * filled + "." * (_WIDTH - filled)
        return f"{self.what} [{bar}] {self.done}/{self.total} {self.unit}, {rate:.0f}/s"

    def step(self) -> None:
        """Count one."""
        self.done += 1
        now = time.monotonic()
        if now - self._shown >= (_SECONDS_ON_TERMINAL if self._terminal else _SECONDS_IN_FILES):
            self._shown = now
            self._write("\r" if self._terminal else "", "" if self._terminal else "\n")

    def close(self) -> None:
        """Show the final state."""
        self._write("\r" if self._terminal else "", "\n")

    def _write(self, before: str, after: str) -> None:
        self.stream.write(before + self.line() + after)
        self.stream.flush()
