"""Which memory a function reads and writes, found out by running it once on traced values.

While a capture is active in a thread, cells that were there before answer with traced values, and what is written into
them stays in the capture: the cells themselves do not change, other threads see nothing. Values that the host makes
anew at every call (random keys, learning rates, step counts) are asked for through ``host``; work that has to be done
on results after every call (metrics) is left with ``after``.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np
from jax import lax

from gluonjax._base.scopes import modes
from gluonjax._engine.lazy import force
from gluonjax.ndarray._cell import Cell

_slot = Cell.__dict__["value"]
_lock = threading.Lock()
_active = 0


class Host:
    """A value that the host makes before every call."""

    __slots__ = ("make", "struct")

    def __init__(self, make: Callable[[], Any], shape: tuple[int, ...], dtype: Any) -> None:
        self.make = make
        self.struct = jax.ShapeDtypeStruct(shape, np.dtype(dtype))


class Capture:
    """One run of a function on traced values.

    Args:
        lift: makes a traced value for the n-th cell that is read, and for the n-th host value.
    """

    def __init__(self, lift: Callable[[str, int, Any], Any]) -> None:
        self._lift = lift
        self.values: dict[Cell, Any] = {}
        self.before: dict[Cell, tuple[Any, int]] = {}
        self.reads: list[Cell] = []
        self.written: dict[Cell, None] = {}
        self.created: weakref.WeakSet[Cell] = weakref.WeakSet()
        self.hosts: list[Host] = []
        self.afterwards: list[tuple[Callable[..., None], Any]] = []
        self.guards: list[tuple[Callable[[], Any], Any]] = []
        # Gradients that the update in the function has used up.
        self.consumed: dict[Cell, None] = {}
        self.leaves: dict[Any, None] = {}

    # -- what cells ask ------------------------------------------------------------------------------------------

    def read(self, cell: Cell, own: Callable[[], Any]) -> Any:
        """The value of a cell; ``own`` reads the cell itself."""
        values = self.values
        if cell in values:
            return values[cell]
        if cell in self.created:
            return own()
        self._remember(cell)
        value = values[cell] = self._lift("cell", len(self.reads), force(own()))
        self.reads.append(cell)
        return value

    def write(self, cell: Cell, value: Any) -> bool:
        """Take a value that is written; False where the cell is new and keeps it itself."""
        if cell in self.created:
            return False
        if cell not in self.values:
            try:
                _slot.__get__(cell)
            except AttributeError:
                self.created.add(cell)
                return False
            self._remember(cell)
        self.values[cell] = value
        self.written[cell] = None
        return True

    def _remember(self, cell: Cell) -> None:
        self.before[cell] = (cell.entry, cell.version)

    # -- what the library asks -----------------------------------------------------------------------------------

    def host(self, make: Callable[[], Any], shape: tuple[int, ...], dtype: Any) -> Any:
        """A traced stand-in for what ``make`` returns before every call."""
        made = Host(make, shape, dtype)
        value = self._lift("host", len(self.hosts), made.struct)
        self.hosts.append(made)
        return value

    def after(self, function: Callable[..., None], arguments: Any) -> None:
        """Call ``function(*arguments)`` on the results of every call; arguments are a nest with NDArrays."""
        self.afterwards.append((function, arguments))

    def guard(self, look: Callable[[], Any], value: Any) -> None:
        """Trace anew when ``look()`` gives another value one day."""
        self.guards.append((look, value))

    def consume(self, cells: Sequence[Cell]) -> None:
        """These gradients have served their purpose once the function is over."""
        self.consumed.update(dict.fromkeys(cells))

    def touched(self, leaf: Any) -> None:
        """The gradient of this variable has been written."""
        self.leaves[leaf] = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Be the capture of this thread."""
        outer = modes.tracer
        modes.tracer = self
        _watch(1)
        try:
            yield
        finally:
            _watch(-1)
            modes.tracer = outer
            for cell, (entry, version) in self.before.items():
                cell.entry, cell.version = entry, version


@contextmanager
def outside() -> Iterator[None]:
    """Compute for real in the middle of a capture: for what is made once, such as parameters."""
    capture = modes.tracer
    if capture is None:
        yield
        return
    modes.tracer = None
    try:
        with jax.ensure_compile_time_eval():
            yield
    finally:
        modes.tracer = capture


def placeholder(kind: str, number: int, value: Any) -> Any:
    """A traced value of the same shape and dtype, for a run that only looks around."""
    return lax.full(value.shape, np.zeros((), value.dtype), value.dtype)


def _watch(change: int) -> None:
    """Let cells ask the captures, while there is any."""
    global _active
    with _lock:
        before, _active = _active, _active + change
        if not before:
            Cell.value = _asking  # type: ignore[assignment]
        elif not _active:
            Cell.value = _slot


def _get(cell: Cell) -> Any:
    capture = modes.tracer
    if capture is None:
        return _slot.__get__(cell)
    return capture.read(cell, lambda: _slot.__get__(cell))


def _set(cell: Cell, value: Any) -> None:
    capture = modes.tracer
    if capture is None or not capture.write(cell, value):
        _slot.__set__(cell, value)


_asking = property(_get, _set)
