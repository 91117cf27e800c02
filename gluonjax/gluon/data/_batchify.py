"""Ways to make a batch of samples, for ``DataLoader(batchify_fn=...)``: ``gluon.data.batchify``, as in MXNet 2.

MXNet 1.9.1 has only the default of its loader; GluonNLP's scripts bring these along under the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gluonjax import ndarray as nd
from gluonjax.gluon._errors import ArgumentError
from gluonjax.ndarray import NDArray

Batchify = Callable[[Sequence[Any]], Any]


def _values(data: Sequence[Any]) -> list[np.ndarray]:
    return [one.asnumpy() if isinstance(one, NDArray) else np.asarray(one) for one in data]


def _array(values: np.ndarray) -> NDArray:
    return nd.array(values, dtype=values.dtype)


class Stack:
    """Puts samples of one shape on top of each other.

    >>> Stack()([[1, 2], [3, 4]]).shape
    (2, 2)
    """

    def __init__(self, use_shared_mem: bool = False) -> None:
        self._use_shared_mem = use_shared_mem

    def __call__(self, data: Sequence[Any]) -> NDArray:
        values = _values(data)
        shapes = {value.shape for value in values}
        if len(shapes) > 1:
            raise ArgumentError(f"batchify.Stack: samples have the shapes {sorted(shapes)}; use batchify.Pad")
        return _array(np.stack(values))


class Pad:
    """Fills samples up to the largest length along every axis, then stacks them.

    Args:
        val: the filling; None means 0.
        dtype: type of the batch; None keeps that of the samples.
        round_to: make lengths multiples of this, so that fewer different shapes are compiled.

    >>> Pad(val=-1)([[1, 2, 3], [4]]).asnumpy().tolist()
    [[1, 2, 3], [4, -1, -1]]
    """

    def __init__(
        self, val: float | None = None, dtype: Any = None, round_to: int | None = None, use_shared_mem: bool = False
    ) -> None:
        self._val = 0 if val is None else val
        self._dtype = dtype
        self._round_to = round_to

    def __call__(self, data: Sequence[Any]) -> NDArray:
        values = _values(data)
        if len({value.ndim for value in values}) > 1:
            raise ArgumentError("batchify.Pad: all samples must have the same number of axes")
        lengths = np.max([value.shape for value in values], axis=0).astype(int)
        if self._round_to is not None:
            lengths = -(-lengths // self._round_to) * self._round_to
        batch = np.full((len(values), *lengths), self._val, self._dtype or values[0].dtype)
        for row, value in zip(batch, values):
            row[tuple(slice(length) for length in value.shape)] = value
        return _array(batch)


class Append:
    """Keeps samples apart: a list of arrays.

    Args:
        expand: give each a batch axis of length 1.
        batch_axis: where that axis goes.
    """

    def __init__(self, expand: bool = True, batch_axis: int = 0, use_shared_mem: bool = False) -> None:
        self._expand = expand
        self._batch_axis = batch_axis

    def __call__(self, data: Sequence[Any]) -> list[NDArray]:
        return [_array(np.expand_dims(one, self._batch_axis) if self._expand else one) for one in _values(data)]


class AsList:
    """Leaves the samples as they are, in a list: texts, for example."""

    def __call__(self, data: Sequence[Any]) -> list[Any]:
        return list(data)


class Group:
    """One function for each part of samples that are tuples.

    >>> tokens, label = Group(Pad(), Stack())([([1, 2], 0), ([3], 1)])
    >>> tokens.shape, label.asnumpy().tolist()
    ((2, 2), [0, 1])
    """

    def __init__(self, fn: Batchify | Sequence[Batchify], *args: Batchify) -> None:
        first: Sequence[Any] = fn if isinstance(fn, (list, tuple)) else [fn]
        self._functions: tuple[Batchify, ...] = (*first, *args)

    def __call__(self, data: Sequence[Any]) -> tuple[Any, ...]:
        wrong = next((len(sample) for sample in data if len(sample) != len(self._functions)), None)
        if wrong is not None:
            raise ArgumentError(f"batchify.Group: a sample has {wrong} parts for {len(self._functions)} functions")
        return tuple(function([sample[i] for sample in data]) for i, function in enumerate(self._functions))


__all__ = ["Append", "AsList", "Group", "Pad", "Stack"]
