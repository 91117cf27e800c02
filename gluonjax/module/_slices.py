"""How the samples of a batch are dealt out to several contexts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gluonjax import ndarray as nd
from gluonjax._base.errors import MXNetError
from gluonjax.io import DataDesc


class BatchSliceError(MXNetError, ValueError):
    """A batch cannot be dealt out to the contexts."""


def slices_of(batch_size: int, workload: Sequence[float]) -> list[slice]:
    """One slice of the batch for every context, as large as its share of the work.

    >>> slices_of(5, [1, 2])
    [slice(0, 2, None), slice(2, 5, None)]
    """
    total = sum(workload)
    counts = [round(batch_size * share / total) for share in workload]
    counts[-1] += batch_size - sum(counts)
    ends, end = [], 0
    for count in counts:
        start, end = end, min(end + max(count, 0), batch_size)
        if start >= end:
            raise BatchSliceError(
                f"Too many slices. Some splits are empty. {len(workload)} contexts share a batch of {batch_size}; "
                "use a larger batch or fewer contexts"
            )
        ends.append(slice(start, end))
    return ends


def batch_axis(layout: Any) -> int:
    """The position of the batch axis in a layout such as 'NCHW'; -1 where there is none, 0 where it is unknown.

    >>> batch_axis("TNC")
    1
    """
    return DataDesc.get_batch_axis(layout)


def deal(array: Any, axis: int, slices: Sequence[slice], contexts: Sequence[Any]) -> list[Any]:
    """An array cut along its batch axis, one piece on each context; the whole on each where there is no such axis."""
    if axis < 0:
        return [array.as_in_context(context) for context in contexts]
    if len(slices) == 1:
        return [array]
    return [
        array.slice_axis(axis=axis, begin=piece.start, end=piece.stop).as_in_context(context)
        for piece, context in zip(slices, contexts)
    ]


def gather(pieces: Any, axis: int, context: Any) -> Any:
    """The inverse of ``deal``; a single array passes through."""
    if not isinstance(pieces, (list, tuple)):
        return pieces
    if len(pieces) == 1 or axis < 0:
        return pieces[0]
    return nd.concatenate([piece.as_in_context(context) for piece in pieces], axis=axis)
