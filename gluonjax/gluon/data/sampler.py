"""Samplers: in which order the elements of a data set are visited."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gluonjax._engine import rng
from gluonjax.gluon._errors import ArgumentError
from gluonjax.gluon.block import BlockForwardMissing

if TYPE_CHECKING:
    from gluonjax.gluon.data.dataset import Dataset


class Sampler:
    """Base class: an iterable of indices with a length."""

    def __len__(self) -> int:
        raise BlockForwardMissing(f"{type(self).__name__} defines no __len__")

    def __iter__(self) -> Iterator[Any]:
        raise BlockForwardMissing(f"{type(self).__name__} defines no __iter__")


class SequentialSampler(Sampler):
    """``start, start + 1, ...``.

    >>> list(SequentialSampler(3, start=5))
    [5, 6, 7]
    """

    def __init__(self, length: int, start: int = 0) -> None:
        self._length = length
        self._start = start

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._start, self._start + self._length))

    def __len__(self) -> int:
        return self._length


class RandomSampler(Sampler):
    """All indices in a new random order each time; ``mx.random.seed`` controls it.

    >>> sorted(RandomSampler(4))
    [0, 1, 2, 3]
    """

    def __init__(self, length: int) -> None:
        self._length = length

    def __iter__(self) -> Iterator[int]:
        return iter(np.random.default_rng(rng.host_seed()).permutation(self._length).tolist())

    def __len__(self) -> int:
        return self._length


class FilterSampler(Sampler):
    """The indices of the elements for which ``fn`` is true.

    >>> list(FilterSampler(lambda x: x > 4, [3, 5, 7]))
    [1, 2]
    """

    def __init__(self, fn: Callable[[Any], Any], dataset: Dataset) -> None:
        self._indices = [index for index in range(len(dataset)) if fn(dataset[index])]

    def __iter__(self) -> Iterator[int]:
        return iter(self._indices)

    def __len__(self) -> int:
        return len(self._indices)


class BatchSampler(Sampler):
    """Groups the indices of another sampler.

    Args:
        sampler: where the indices come from.
        batch_size: how many belong together.
        last_batch: what to do with the rest: ``'keep'`` a short batch, ``'discard'`` it, or ``'rollover'`` into the
            next round.

    >>> list(BatchSampler(SequentialSampler(5), 2, "discard"))
    [[0, 1], [2, 3]]
    """

    def __init__(self, sampler: Iterable[Any], batch_size: int, last_batch: str = "keep") -> None:
        self._sampler = sampler
        self._batch_size = batch_size
        self._last_batch = last_batch
        self._rest: list[Any] = []

    def _check(self) -> None:
        if self._last_batch not in ("keep", "discard", "rollover"):
            raise ArgumentError(
                f"last_batch must be one of 'keep', 'discard', or 'rollover', but got {self._last_batch}"
            )

    def __iter__(self) -> Iterator[list[Any]]:
        batch, self._rest = self._rest, []
        for index in self._sampler:
            batch.append(index)
            if len(batch) == self._batch_size:
                yield batch
                batch = []
        self._check()
        if batch and self._last_batch == "keep":
            yield batch
        elif batch and self._last_batch == "rollover":
            self._rest = batch

    def __len__(self) -> int:
        self._check()
        count = len(self._sampler)  # type: ignore[arg-type]
        if self._last_batch == "keep":
            return -(-count // self._batch_size)
        return (count + len(self._rest)) // self._batch_size
