"""Programs that take over the memory of arrays which their results replace."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax

from gluonjax._engine import lazy
from gluonjax._engine.takeover import protect
from gluonjax.ndarray._cell import Cell


@contextmanager
def taking_over(cells: Sequence[Cell | None], values: list[Any], places: Sequence[int]) -> Iterator[None]:
    """While a program runs that these arrays are donated to, and until its results are in their memory.

    Other threads that look at the memory meanwhile meet stand-ins and wait, instead of arrays that end. Arrays that
    something else refers to are copied first. If the program fails the memory holds what it held.

    Args:
        cells: the memory that each of them is the whole content of; None for others.
        values: the program's arguments; the only other references to the arrays.
        places: which of them are donated.
    """
    with lazy.lock, jax.enable_x64(True):
        promise = lazy.Call.promise()
        standing = []
        for place, cell in zip(places, cells):
            if type(cell) is Cell:  # other kinds copy what they are given
                value = values[place]
                cell.value = lazy.Lazy(promise, len(standing), value.shape, value.dtype)
                standing.append((cell, place))
        value = None
        try:
            protect(values, places, itertools.repeat(0))
            yield
        except BaseException:
            for cell, place in standing:
                cell.value = values[place]
            raise
        finally:
            promise.results = [cell.value for cell, _ in standing]
