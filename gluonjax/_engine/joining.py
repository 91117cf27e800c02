"""Blocks that run uncompiled, outside of ``record``, and do the same at every call: then their calls are one program.

Every compiled call of a small network costs more to launch than to compute. A block that runs the same number of
operators often enough has them put off (``lazy``) and launched together when it returns. Blocks that keep changing are
left alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gluonjax._base.scopes import modes
from gluonjax._engine import lazy
from gluonjax._engine.lazy_program import programs_made

# Calls with equally many operators before they are joined; longer blocks, whose programs compile longer, take more.
PATIENCE = 16
# Programs that a block may have (for other shapes, say).
MOST_PROGRAMS = 4


class Joining:
    """What one block has been seen doing.

    Attributes:
        count: the operators of the call that runs.
        on: whether operators are put off.
        open: whether there is still something to decide or to put off.
    """

    __slots__ = ("_last", "_programs", "_repeats", "count", "on", "open")

    def __init__(self) -> None:
        self.count = self._last = self._repeats = self._programs = 0
        self.on = False
        self.open = lazy.ENABLED

    def run(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call the function; launch what its results wait for."""
        before = programs_made()
        self.count = 0
        modes.joining = self
        try:
            out = function(*args, **kwargs)
        finally:
            modes.joining = None
        if not self.on:
            self._observe()
            return out
        _launch(out)
        if programs_made() != before:
            self._programs += 1
            if self._programs > MOST_PROGRAMS:
                self.on = self.open = False
        return out

    def _observe(self) -> None:
        if self.count != self._last:
            self._last, self._repeats = self.count, 0
            return
        self._repeats += 1
        if self._repeats >= max(PATIENCE, self.count // 2):
            self.on = self.open = 1 < self.count <= lazy.LONGEST_EAGER


def _launch(out: Any) -> None:
    """Launch results that have been put off: an array, or a nest of lists with arrays."""
    if isinstance(out, (list, tuple)):
        for one in out:
            _launch(one)
        return
    cell = getattr(out, "_cell", None)
    if cell is not None and type(cell.value) is lazy.Lazy:
        _ = out._value
