"""Rules for reductions, cumulative reductions and sorting."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gluonjax._engine._numpy_rules.site import (
    BFLOAT16,
    FLOAT32,
    Function,
    Operand,
    Rule,
    Site,
    accumulator,
    at_axis,
    highest,
    identity,
    inverse,
    lowest,
)

#: Rows that are summed as one block.
_ROWS = 64


def reducer(ufunc: Any, operand: Operand, axes: tuple[int, ...], start: Any = None) -> Function:
    """A function that reduces the given axes of an array with a ufunc, keeping the dtype.

    Args:
        ufunc: The NumPy ufunc, such as `np.add`.
        operand: Shape and dtype of the array.
        axes: The axes to reduce.
        start: Value to start from; needed where an axis of length zero is reduced and the ufunc has no
            identity.
    """
    dtype = operand.dtype
    if not axes:
        return identity
    axis = None if len(axes) == len(operand.shape) else axes[0] if len(axes) == 1 else tuple(axes)
    reduce = ufunc.reduce
    if ufunc in (np.add, np.multiply):
        wide = accumulator(dtype)
        rows = math.prod(operand.shape[: len(axes)])
        leading = axis is not None and axes == tuple(range(len(axes)))
        if ufunc is np.add and wide == FLOAT32 and leading and rows >= 4 * _ROWS:
            return _sum_in_blocks(rows, operand.shape[len(axes) :], dtype)
        if wide is not dtype:
            return lambda x: reduce(x, axis=axis, dtype=wide).astype(dtype)
        return lambda x: reduce(x, axis=axis, dtype=dtype)
    if start is not None and operand.size == 0:
        return lambda x: reduce(x, axis=axis, initial=start)
    return lambda x: reduce(x, axis=axis)


def _sum_in_blocks(count: int, rest: tuple[int, ...], dtype: np.dtype) -> Function:
    """The sum of many rows. NumPy adds one after the other; sums of blocks round less, as XLA's do."""
    whole = count - count % _ROWS

    def add(x: np.ndarray) -> np.ndarray:
        rows = x.reshape(count, *rest)
        blocks = rows[:whole].reshape(whole // _ROWS, _ROWS, *rest).sum(axis=1, dtype=FLOAT32)
        total = blocks.sum(axis=0)
        if whole < count:
            total = total + rows[whole:].sum(axis=0, dtype=FLOAT32)
        return total.astype(dtype, copy=False)

    return add


def _reduce_with(ufunc: Any, start: Function | None = None) -> Rule:
    def rule(site: Site) -> Function:
        operand = site.ins[0]
        return reducer(ufunc, operand, tuple(site.params["axes"]), start(operand.dtype) if start else None)

    return rule


def _product_pull(site: Site) -> Function:
    """The gradient of a product: products of the others, found by halving as JAX finds them (zeros are no trouble)."""
    operand, axes = site.ins[0], tuple(site.params["axes"])
    order = axes + tuple(axis for axis in range(len(operand.shape)) if axis not in axes)
    back = inverse(order)
    ordered = tuple(operand.shape[axis] for axis in order)
    rest = ordered[len(axes) :]
    count = math.prod(ordered[: len(axes)])

    def pull(x: np.ndarray, head: np.ndarray) -> np.ndarray:
        x, head = x.transpose(order).reshape(count, *rest), head.reshape(1, *rest)
        halves = []
        while len(x) > 1:
            middle = (len(x) + 1) // 2
            first, second = x[:middle], x[middle:]
            if len(second) < middle:
                second = np.concatenate((second, np.ones_like(x[:1])))
            halves.append((first, second, len(x)))
            x = first * second
        for first, second, length in reversed(halves):
            head = np.concatenate((second * head, first * head))[:length]
        return head[:count].reshape(ordered).transpose(back)

    return pull


def _argument(function: Function) -> Rule:
    """argmax and argmin: the first extreme along an axis; NaN counts as the extreme."""

    def rule(site: Site) -> Function:
        (axis,) = site.params["axes"]
        dtype = site.outs[0].dtype
        if site.ins[0].dtype == BFLOAT16:
            return lambda x: function(x.astype(FLOAT32), axis=axis).astype(dtype)
        return lambda x: function(x, axis=axis).astype(dtype)

    return rule


def _cumulative(ufunc: Any) -> Rule:
    def rule(site: Site) -> Function:
        axis, dtype = site.params["axis"], site.ins[0].dtype
        wide = dtype if ufunc in (np.maximum, np.minimum) else accumulator(dtype)
        flip = at_axis(len(site.ins[0].shape), axis, slice(None, None, -1))
        reverse, accumulate = site.params["reverse"], ufunc.accumulate
        if ufunc is np.logaddexp and wide is not dtype:  # its loops know no bfloat16
            return lambda x: _flipped(accumulate, x.astype(wide), axis, flip, reverse).astype(dtype)

        def cumulate(x: np.ndarray) -> np.ndarray:
            if reverse:
                x = x[flip]
            result = accumulate(x, axis=axis, dtype=wide)
            if wide is not dtype:
                result = result.astype(dtype)
            return result[flip] if reverse else result

        return cumulate

    return rule


def _flipped(accumulate: Function, x: np.ndarray, axis: int, flip: Any, reverse: bool) -> np.ndarray:
    return accumulate(x[flip], axis=axis)[flip] if reverse else accumulate(x, axis=axis)


# ------------------------------------------------------------------------------------------------- sorting


def _sort_key(x: np.ndarray) -> np.ndarray:
    """What NumPy can sort in XLA's order: it has no order for bfloat16."""
    return x.astype(FLOAT32) if x.dtype == BFLOAT16 else x


def _sort(site: Site) -> Function:
    """Sorts several operands by the first `num_keys`; NaN comes last, equal keys keep their order."""
    axis, keys = site.params["dimension"], site.params["num_keys"]
    if len(site.ins) == 1 and site.ins[0].dtype != BFLOAT16:
        return lambda x: np.sort(x, axis=axis, kind="stable")

    def sort(*operands: Any) -> Any:
        if keys == 1:
            order = np.argsort(_sort_key(operands[0]), axis=axis, kind="stable")
        else:
            order = np.lexsort(tuple(_sort_key(x) for x in operands[keys - 1 :: -1]), axis=axis)
        result = [np.take_along_axis(x, order, axis) for x in operands]
        return tuple(result) if len(result) > 1 else result[0]

    return sort


def _top_k(site: Site) -> Function:
    """The k largest, largest first; of equal ones the first, and NaN counts as the largest."""
    count, rank = site.params["k"], len(site.ins[0].shape)
    axis = site.params.get("axis", rank - 1)
    flip, first = at_axis(rank, axis, slice(None, None, -1)), at_axis(rank, axis, slice(0, count))
    length, index_dtype = site.ins[0].shape[axis], site.outs[1].dtype

    def top_k(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # sorting the mirrored array upwards and mirroring back gives a stable sort downwards
        order = length - 1 - np.argsort(_sort_key(x[flip]), axis=axis, kind="stable")[flip][first]
        return np.take_along_axis(x, order, axis), order.astype(index_dtype)

    return top_k


RULES: dict[str, Rule] = {
    "reduce_sum": _reduce_with(np.add),
    "reduce_prod": _reduce_with(np.multiply),
    "reduce_prod_pull": _product_pull,
    "reduce_max": _reduce_with(np.maximum, lowest),
    "reduce_min": _reduce_with(np.minimum, highest),
    "reduce_and": _reduce_with(np.bitwise_and),
    "reduce_or": _reduce_with(np.bitwise_or),
    "reduce_xor": _reduce_with(np.bitwise_xor),
    "argmax": _argument(np.argmax),
    "argmin": _argument(np.argmin),
    "cumsum": _cumulative(np.add),
    "cumprod": _cumulative(np.multiply),
    "cummax": _cumulative(np.maximum),
    "cummin": _cumulative(np.minimum),
    "cumlogsumexp": _cumulative(np.logaddexp),
    "sort": _sort,
    "top_k": _top_k,
}
