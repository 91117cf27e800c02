"""A sampler that walks in strides."""

from __future__ import annotations

from collections.abc import Iterator

from gluonjax.gluon._errors import ArgumentError
from gluonjax.gluon.data.sampler import Sampler


class IntervalSampler(Sampler):
    """Every ``interval``-th index.

    Args:
        length: number of samples.
        interval: the stride.
        rollover: begin again at the first index that was left out, until all were given.

    >>> list(IntervalSampler(7, interval=3))
    [0, 3, 6, 1, 4, 2, 5]
    >>> list(IntervalSampler(7, interval=3, rollover=False))
    [0, 3, 6]
    """

    def __init__(self, length: int, interval: int, rollover: bool = True) -> None:
        if interval > length:
            raise ArgumentError(f"Interval {interval} must be smaller than or equal to length {length}")
        self._length = length
        self._interval = interval
        self._rollover = rollover

    def __iter__(self) -> Iterator[int]:
        for start in range(self._interval) if self._rollover else (0,):
            yield from range(start, self._length, self._interval)

    def __len__(self) -> int:
        # Also without rollover, as in MXNet.
        return self._length


__all__ = ["IntervalSampler"]
