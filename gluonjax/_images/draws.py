"""Random numbers for one picture, and the choice of an interpolation that some of them make."""

from __future__ import annotations

import random
from collections.abc import MutableSequence
from typing import Any

from gluonjax._base.errors import OperatorError

AUTOMATIC, AT_RANDOM = 9, 10


class Draws:
    """A stream of random numbers that depends on its seed only, not on which thread asks when.

    Args:
        seed: any whole number.
    """

    __slots__ = ("_stream",)

    def __init__(self, seed: int) -> None:
        self._stream = random.Random(seed)

    def between(self, low: float, high: float) -> float:
        """A number from ``low`` to ``high``."""
        return low + (high - low) * self._stream.random()

    def within(self, limit: float) -> float:
        """A number up to ``limit`` away from 0."""
        return self.between(-limit, limit)

    def whole(self, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``, both included."""
        return low + int(self._stream.random() * (high - low + 1))

    def chance(self, probability: float) -> bool:
        """True as often as ``probability`` says."""
        return self._stream.random() < probability

    def normal(self, deviation: float) -> float:
        """A number of a normal distribution around 0."""
        return self._stream.gauss(0.0, deviation)

    def shuffle(self, values: MutableSequence[Any]) -> None:
        """Bring a list into random order."""
        self._stream.shuffle(values)


def check_interpolation(name: str, method: int) -> None:
    """Raise unless ``method`` is a number of an interpolation: 0 to 4, 9 (by size) or 10 (at random)."""
    if method not in (0, 1, 2, 3, 4, AUTOMATIC, AT_RANDOM):
        raise OperatorError(f"{name}: invalid inter_method: valid value 0,1,2,3,4,9,10; got {method}")


def choose_interpolation(
    method: int, old: tuple[int, int], new: tuple[float, float], draws: Draws
) -> int:
    """Return the interpolation, 0 to 4, for a change of size.

    Args:
        method: 0 to 4 stay; 9 takes bicubic to enlarge, area to shrink, else bilinear; 10 draws one.
        old: height and width before.
        new: height and width after.
        draws: where a random choice comes from.
    """
    if method == AT_RANDOM:
        return draws.whole(0, 4)
    if method != AUTOMATIC:
        return method
    if new[0] > old[0] and new[1] > old[1]:
        return 2
    return 3 if new[0] < old[0] and new[1] < old[1] else 1
