"""Batches that are taken from arrays in one piece, where nobody can tell them from stacked samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from gluonjax._base import aligned
from gluonjax._base.devices import current_context
from gluonjax._base.dtypes import BFLOAT16, NUMBERS
from gluonjax._base.scopes import modes
from gluonjax._engine.profile import recorder
from gluonjax._engine.run import is_tracer
from gluonjax.gluon.data.dataset import ArrayDataset, SimpleDataset
from gluonjax.ndarray import NDArray
from gluonjax.ndarray.ndarray import wrap

# Data sets whose elements are rows of arrays, as long as nobody has changed how they are taken.
_TAKES = {kind: kind.__getitem__ for kind in (ArrayDataset, SimpleDataset)}
_WHOLE = frozenset((int, np.int32, np.int64))
_DTYPES = NUMBERS - {BFLOAT16}

# Functions that do nothing but stack samples.
_stackers: set[Callable[..., Any]] = set()


def stacks(batchify: Callable[..., Any]) -> Callable[..., Any]:
    """Says of a function that makes batches that it stacks samples, tuples part by part."""
    _stackers.add(batchify)
    return batchify


def load(dataset: Any, indices: Any, batchify: Callable[..., Any]) -> Any:
    """The batch that ``batchify`` makes of samples; they are not made one by one where that changes nothing."""
    if isinstance(batchify, FunctionType) and batchify in _stackers:
        batch = _in_one_piece(dataset, indices)
        if batch is not None:
            return batch
    return batchify([dataset[index] for index in indices])


def _in_one_piece(dataset: Any, indices: Any) -> Any:
    """The batch, or None where samples may differ from rows, or where operators on samples would be noticed."""
    kind = type(dataset)
    if kind not in _TAKES or kind.__getitem__ is not _TAKES[kind]:
        return None
    if modes.recording or modes.tracer is not None or modes.watch is not None or recorder.on:
        return None
    if type(indices) is not list or not indices or not _WHOLE.issuperset(map(type, indices)):
        return None
    parts = dataset._data if kind is ArrayDataset else (dataset._data,)
    contents = [content for content in map(_content, parts) if content is not None]
    if len(contents) < len(parts):
        return None
    if min(indices) < 0 or max(indices) >= min(map(len, contents)):
        return None
    batches = [_rows(part, content, indices) for part, content in zip(parts, contents)]
    return batches if len(batches) > 1 else batches[0]


def _content(part: Any) -> np.ndarray | None:
    """The rows of a dense array on the host."""
    if type(part) is NDArray:
        if part.ndim < 2 or not part._cell.ctx.is_host or is_tracer(part._raw):
            return None
        content = np.asarray(part._value)
    elif type(part) is np.ndarray and part.ndim:
        content = part
    else:
        return None
    return content if content.dtype in _DTYPES and content.flags.c_contiguous and content.size else None


def _rows(part: Any, content: np.ndarray, indices: Sequence[int]) -> NDArray:
    context = part._cell.ctx if type(part) is NDArray else current_context()
    shape = (len(indices), *content.shape[1:])
    # "clip" for speed: with "raise" NumPy fills a buffer first. The indices are known to be inside.
    found = np.take(content, indices, 0, aligned.empty(shape, content.dtype), "clip")
    return wrap(found, context)
