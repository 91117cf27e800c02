"""The memory behind handles: one current array, its context, and its place on the tape."""

from __future__ import annotations

from typing import Any

import numpy as np

from gluonjax._base.devices import Context


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


def host_array(value: Any) -> np.ndarray:
    """A C-contiguous NumPy array that nobody else writes to."""
    return np.array(value, order="C", copy=True)
