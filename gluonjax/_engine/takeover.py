"""Memory that a launch takes over from the arrays that its results replace: no fresh memory, no second copy."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np


class Takeover:
    """What an update that has been put off replaces.

    Attributes:
        places: for each of the update's results, the number of the input whose memory it may have.
        kept: other put-off results of the launch (gradients) that get memory of their own from ``spent``.
        spent: arrays of the shapes and dtypes of ``kept`` that are not needed any more; NumPy arrays serve as
            stand-ins where there are none yet.
    """

    __slots__ = ("kept", "places", "spent")

    def __init__(self, places: Sequence[int], kept: Sequence[Any], spent: list[Any]) -> None:
        self.places = places
        self.kept = kept
        self.spent = spent


def _references(values: list[Any], places: Iterable[int]) -> list[int]:
    """How many references each of these entries has; one more than is real, the call's own."""
    count = sys.getrefcount
    return [count(values[place]) for place in places]


# What is counted for an object that only one list refers to.
ALONE = _references([object()], (0,))[0]


def protect(values: list[Any], places: Iterable[int], holders: Iterable[int]) -> None:
    """Copy the entries that a program must not take over, because somebody else refers to them.

    Args:
        values: a program's arguments; entries are replaced by copies.
        places: the entries that it takes over.
        holders: for each place, how many references besides the list's are known to end with the launch.
    """
    count = sys.getrefcount
    for place, others in zip(places, holders):
        if count(values[place]) > ALONE + others and type(values[place]) is not np.ndarray:
            values[place] = values[place].copy()
