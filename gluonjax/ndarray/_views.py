"""Views: a view is a contiguous range of its cell, seen with a shape of its own (what MXNet shares, it shares so).

Reading slices the cell's flat content, writing updates it; both with the offset as data, so that one compiled
program serves every position.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from jax import lax

from gluonjax._engine.run import Kernel


@functools.lru_cache(maxsize=4096)
def reader(shape: tuple[int, ...]) -> Kernel:
    """Kernel ``(base, offset) -> view of that shape``."""
    size = math.prod(shape)

    def view_read(base: Any, offset: Any) -> tuple[Any]:
        flat = base.reshape(-1)
        if flat.shape[0] != size:
            flat = lax.dynamic_slice(flat, (offset,), (size,))
        return (flat.reshape(shape),)

    return Kernel("view_read", view_read, source=("view", shape), data_inputs=1)


def _view_write(base: Any, new: Any, offset: Any) -> tuple[Any]:
    if new.size == base.size:
        return (new.reshape(base.shape),)
    flat = lax.dynamic_update_slice(base.reshape(-1), new.reshape(-1), (offset,))
    return (flat.reshape(base.shape),)


WRITER = Kernel("view_write", _view_write, data_inputs=2)


def read(base: Any, offset: int, shape: tuple[int, ...], on_host: bool) -> Any:
    """The current content of a view."""
    if type(base) is np.ndarray:
        return base.reshape(-1)[offset : offset + math.prod(shape)].reshape(shape)
    return reader(shape).run((base, np.array(offset, np.int64)), on_host)[0]


def write(base: Any, offset: int, new: Any, on_host: bool) -> Any:
    """The base with the view's range replaced."""
    if new.size == base.size and type(new) is np.ndarray:
        return new.reshape(base.shape)
    if type(base) is np.ndarray and type(new) is np.ndarray:
        changed = np.array(base, order="C", copy=True)
        changed.reshape(-1)[offset : offset + new.size] = new.reshape(-1)
        return changed
    return WRITER.run((base, new, np.array(offset, np.int64)), on_host)[0]
