"""The memory behind handles: one current array, its context, and its place on the tape."""

from __future__ import annotations

from typing import Any

import numpy as np

from gluonjax._base.devices import Context
from gluonjax._base.scopes import modes
from gluonjax._engine.lazy import force


class Cell:
    """What handles share. ``value`` is replaced, never changed in place.

    On the host CPU the value may be a NumPy array until compiled code produces a JAX array.
    ``entry`` is the tape entry of the whole value (or its Leaf), ``leaf`` the variable attached to this memory.
    """

    __slots__ = ("__weakref__", "ctx", "entry", "leaf", "value", "version")

    def __init__(self, value: Any, ctx: Context) -> None:
        self.value = value
        self.ctx = ctx
        self.version = 0
        self.entry: Any = None
        self.leaf: Any = None

    def replace(self, value: Any) -> None:
        """Put a new array of the same shape and dtype in place of the current one."""
        self.value = value
        self.version += 1


class SharedCell(Cell):
    """Memory that belongs to a NumPy array outside: writes go into it, reads copy it."""

    __slots__ = ("_buffer",)

    def __init__(self, buffer: np.ndarray, ctx: Context) -> None:
        self._buffer = buffer
        super().__init__(buffer, ctx)

    @property
    def value(self) -> Any:  # type: ignore[override]
        capture = modes.tracer
        return self._buffer.copy() if capture is None else capture.read(self, self._buffer.copy)

    @value.setter
    def value(self, new: Any) -> None:
        capture = modes.tracer
        if new is not self._buffer and (capture is None or not capture.write(self, new)):
            np.copyto(self._buffer, np.asarray(force(new)))
