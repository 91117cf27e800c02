"""What a rule is told about one equation, and the few helpers that rules of several themes share.

A *rule* is called once, while a program is built. It reads the equation's parameters and the shapes and
dtypes of its operands, and answers with the function that computes the equation: nothing is decided twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOAT16 = np.dtype(np.float16)
FLOAT32 = np.dtype(np.float32)

#: A threefry key is two 32-bit words. Inside a program it is one opaque 64-bit item, so that the rules that
#: only move data (slice, reshape, gather, ...) need not know about keys.
KEY_DTYPE = np.dtype(np.uint64)


class Operand(NamedTuple):
    """Shape and dtype of one input or output of an equation."""

    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def size(self) -> int:
        return math.prod(self.shape)


Function = Callable[..., Any]


class Inner(NamedTuple):
    """A jaxpr inside an equation's parameters, made runnable."""

    run: Callable[[Sequence[Any]], Sequence[Any]]
    cost: float
    elementwise: bool  # every equation works element by element: it also runs on whole arrays of its scalars
    inherent: float  # the part of the cost that compiled code has as well: matrix products
    equations: int


class Site(NamedTuple):
    """One equation as its rule sees it."""

    name: str
    params: Mapping[str, Any]
    ins: tuple[Operand, ...]
    outs: tuple[Operand, ...]
    inner: Callable[[Any], Inner | None]  # makes a jaxpr from the parameters runnable; None if it cannot be


#: Returns the function for the equation, `identity` if its outputs are its inputs, or None if it has none.
Rule = Callable[[Site], "Function | None"]


def identity(*values: Any) -> Any:
    """Marks an equation that changes nothing: the builder drops it and hands its inputs on."""
    return values[0] if len(values) == 1 else values


def is_half(dtype: np.dtype) -> bool:
    """True for the two 16-bit floating dtypes, whose sums are kept in float32."""
    return dtype == FLOAT16 or dtype == BFLOAT16


def is_floating(dtype: np.dtype) -> bool:
    """True for real floating dtypes, bfloat16 included (NumPy itself files it under 'V')."""
    return dtype.kind == "f" or dtype == BFLOAT16


def accumulator(dtype: np.dtype) -> np.dtype:
    """The dtype in which sums and products of `dtype` are accumulated."""
    return FLOAT32 if is_half(dtype) else dtype


def lowest(dtype: np.dtype) -> Any:
    """The identity of `max` in a dtype: minus infinity, the smallest integer, or False."""
    if is_floating(dtype):
        return np.asarray(-np.inf, dtype)[()]
    return dtype.type(False) if dtype.kind == "b" else np.iinfo(dtype).min


def highest(dtype: np.dtype) -> Any:
    """The identity of `min` in a dtype: infinity, the largest integer, or True."""
    if is_floating(dtype):
        return np.asarray(np.inf, dtype)[()]
    return dtype.type(True) if dtype.kind == "b" else np.iinfo(dtype).max


def at_axis(rank: int, axis: int, item: Any) -> tuple[Any, ...]:
    """An index that applies `item` to one axis and takes the others whole."""
    return (slice(None),) * axis + (item,) + (slice(None),) * (rank - axis - 1)


def inverse(permutation: Sequence[int]) -> tuple[int, ...]:
    """The permutation that undoes `permutation`."""
    result = [0] * len(permutation)
    for position, axis in enumerate(permutation):
        result[axis] = position
    return tuple(result)


def padder(shape: Sequence[int], config: Sequence[tuple[int, int, int]]) -> Function | None:
    """Prepares `pad(array, value)` for (low, high, interior) amounts; low and high may be negative.

    Args:
        shape: Shape of the array that will be padded.
        config: One (low, high, interior) per axis.

    Returns:
        A function of an array and a fill value, or None if nothing would change.
    """
    sources, targets, result = [], [], []
    for size, (low, high, interior) in zip(shape, config):
        low, high, step = int(low), int(high), int(interior) + 1
        width = max(low + high + (size - 1) * step + 1 if size else low + high, 0)
        first = -(low // step) if low < 0 else 0  # the first element that does not fall off the low end
        last = min(size - 1, (width - 1 - low) // step)
        sources.append(slice(first, max(last + 1, first)))
        start = low + first * step
        targets.append(
            slice(start, start + (last - first) * step + 1, step) if last >= first else slice(0, 0)
        )
        result.append(width)
    source, target, result = tuple(sources), tuple(targets), tuple(result)
    if all(low == high == interior == 0 for low, high, interior in config):
        return None
    if all(piece.step == 1 and width == piece.stop - piece.start for piece, width in zip(targets, result)):
        return lambda array, value: array[source]  # cropping only

    def pad(array: np.ndarray, value: Any) -> np.ndarray:
        out = np.empty(result, array.dtype)
        out[...] = value
        out[target] = array[source]
        return out

    return pad


class Windows(NamedTuple):
    """The geometry of a sliding window, worked out once for one shape."""

    window: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    output: tuple[int, ...]

    def offsets(self) -> list[tuple[slice, ...]]:
        """For every position inside the window (row-major): the elements there, one per output element."""
        slices = []
        for position in np.ndindex(self.window):
            slices.append(
                tuple(
                    slice(p * d, p * d + (n - 1) * s + 1, s) if n else slice(0, 0)
                    for p, d, n, s in zip(position, self.dilation, self.output, self.strides)
                )
            )
        return slices

    def view(self, array: np.ndarray) -> np.ndarray:
        """All windows of an array without a copy: shape `output + window`."""
        steps = array.strides
        return np.lib.stride_tricks.as_strided(
            array,
            self.output + self.window,
            tuple(step * s for step, s in zip(steps, self.strides))
            + tuple(step * d for step, d in zip(steps, self.dilation)),
            writeable=False,
        )


def windows(
    shape: Sequence[int], window: Sequence[int], strides: Sequence[int], dilation: Sequence[int] | None = None
) -> Windows:
    """Works out how a window slides over an (already padded) array of a shape."""
    dilation = tuple(dilation) if dilation is not None else (1,) * len(shape)
    output = tuple(
        max((size - (extent - 1) * d - 1) // s + 1, 0)
        for size, extent, s, d in zip(shape, window, strides, dilation)
    )
    return Windows(tuple(window), tuple(strides), dilation, output)
