"""NumPy values that come to compiled code again and again: they are put on the device once, not at every call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gluonjax._base.devices import put
from gluonjax.ndarray._cell import Cell

# Smaller arrays are handed over as fast as JAX's own.
WORTH_KEEPING = 4096
# So many values are remembered. An address that is used again costs one needless transfer.
_MOST = 256


class Returning:
    """Remembers which NumPy values a piece of compiled code has met."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def upload(self, values: list[Any], cells: Sequence[Cell]) -> None:
        """Replace NumPy values that came before by JAX arrays, in the list and in the memory they are in."""
        seen = self._seen
        for place, (value, cell) in enumerate(zip(values, cells)):
            if type(value) is not np.ndarray or value.nbytes < WORTH_KEEPING or cell.value is not value:
                continue
            if id(value) in seen:
                cell.value = values[place] = put(value, cell.ctx)
                seen.discard(id(value))
            elif len(seen) < _MOST:
                seen.add(id(value))
            else:
                seen.clear()
