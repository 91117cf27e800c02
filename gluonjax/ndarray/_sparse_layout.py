"""Which rows or elements a sparse array stores.

Values are dense inside, so a layout is only a list of places: row numbers of a row_sparse array, flat
positions of a csr matrix. Where nobody gave one it is found from the non-zeros, at the first question.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gluonjax._base.errors import MXNetError
from gluonjax._engine import inflight
from gluonjax._engine.run import is_tracer


class Parts(NamedTuple):
    """The arrays of a sparse array. ``indptr`` is None for row_sparse."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray | None = None


class Layout:
    """The stored places of one sparse array.

    Args:
        stype: ``"csr"`` or ``"row_sparse"``.
        shape: of the dense array.
        source: a dense value whose non-zeros are the places; or None.
        places: the places; or None. With a source too, they add to its non-zeros.
        raw: the arrays as they were given, where they do not describe a valid array.
    """

    __slots__ = ("_source", "places", "raw", "shape", "stype")

    def __init__(
        self, stype: str, shape: tuple[int, ...], source: Any = None, places: np.ndarray | None = None,
        raw: Parts | None = None,
    ) -> None:  # fmt: skip
        self.stype = stype
        self.shape = shape
        self._source = source
        self.places = places
        self.raw = raw

    def find(self) -> np.ndarray:
        """The stored places, int64."""
        if self._source is not None:
            stored = host(self._source) != 0
            if self.stype == "row_sparse":
                stored = stored.any(axis=tuple(range(1, stored.ndim)))
            found = np.flatnonzero(stored).astype(np.int64)
            self.places = found if self.places is None else np.union1d(self.places, found)
            self._source = None
        assert self.places is not None
        return self.places

    @property
    def known(self) -> bool:
        """True where the places are there without looking at values."""
        return self._source is None

    def of_shape(self, shape: tuple[int, ...]) -> Layout:
        """The same rows of an array with other rows."""
        return Layout(self.stype, shape, self._source, self.places)

    def parts(self, value: Any) -> Parts:
        """The arrays that MXNet would hold for a dense value with this layout."""
        if self.raw is not None:
            return self.raw
        places, dense = self.find(), host(value)
        if self.stype == "row_sparse":
            return Parts(dense[places], places)
        rows, columns = np.divmod(places, max(self.shape[1], 1))
        counts = np.bincount(rows, minlength=self.shape[0])
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])
        return Parts(dense.reshape(-1)[places], columns, starts)

    def mask(self) -> np.ndarray:
        """True where something is stored; shape (rows, 1, ...) for row_sparse, the full shape for csr."""
        if self.stype == "csr":
            flat = np.zeros(self.shape[0] * self.shape[1], np.bool_)
            flat[self.find()] = True
            return flat.reshape(self.shape)
        rows = np.zeros(self.shape[0], np.bool_)
        rows[self.find()] = True
        return rows.reshape((-1,) + (1,) * (len(self.shape) - 1))


def host(value: Any) -> np.ndarray:
    """The value as a NumPy array; waits for it."""
    if is_tracer(value):
        raise MXNetError(
            "The stored rows or elements of a sparse array depend on values, which are not there while code "
            "is traced (jax.jit or a hybridized block). Ask for indices and data outside."
        )
    return np.asarray(inflight.wait(value))


def union(first: Layout | None, second: Layout | None) -> Layout | None:
    """Places stored in either, where one is known already; else None (non-zeros of the result)."""
    if first is second or first is None or second is None:
        return first if second is not None else None
    if not first.known:
        first, second = second, first
    if not first.known:
        return None
    return Layout(first.stype, first.shape, second._source, np.union1d(first.find(), _stored(second)))


def _stored(layout: Layout) -> np.ndarray:
    return np.zeros(0, np.int64) if layout.places is None else layout.places


def window(layout: Layout, begin: tuple[int, int], shape: tuple[int, int]) -> Layout | None:
    """The layout of a rectangle of a csr matrix, where the layout is known already."""
    if not layout.known:
        return None
    rows, columns = np.divmod(layout.find(), max(layout.shape[1], 1))
    rows, columns = rows - begin[0], columns - begin[1]
    inside = (rows >= 0) & (rows < shape[0]) & (columns >= 0) & (columns < shape[1])
    return Layout("csr", shape, places=rows[inside] * shape[1] + columns[inside])


def problem(stype: str, shape: tuple[int, ...], parts: Parts) -> str | None:
    """What is wrong with the arrays of a sparse array, or None. Places must ascend, without repeats."""
    indices, indptr = parts.indices, parts.indptr
    if len(indices) != len(parts.data):
        return f"there are {len(indices)} indices for {len(parts.data)} stored values"
    if indptr is None:
        if len(indices) and (indices.min() < 0 or indices.max() >= shape[0]):
            return f"indices must lie in [0, {shape[0]}), got {indices.tolist()[:8]}"
        return (
            None if (np.diff(indices) > 0).all() else "indices must be in ascending order, without duplicates"
        )
    if len(indptr) != shape[0] + 1:
        return f"indptr must have {shape[0] + 1} entries (one more than rows), got {len(indptr)}"
    if indptr[0] != 0 or indptr[-1] != len(indices) or (np.diff(indptr) < 0).any():
        return f"indptr must rise from 0 to the number of indices, {len(indices)}; got {indptr.tolist()[:8]}"
    if len(indices) and (indices.min() < 0 or indices.max() >= shape[1]):
        return f"indices must lie in [0, {shape[1]}), got {indices.tolist()[:8]}"
    flat = np.repeat(np.arange(shape[0]), np.diff(indptr)) * shape[1] + indices
    return (
        None
        if (np.diff(flat) > 0).all()
        else "indices must be in ascending order in a row, without duplicates"
    )


def assemble(stype: str, shape: tuple[int, ...], parts: Parts) -> tuple[np.ndarray, Layout]:
    """The dense array of explicit parts and its layout; invalid parts are kept, to be checked on demand."""
    data, indices, indptr = parts
    dense = np.zeros(shape, data.dtype)
    wrong = problem(stype, shape, parts)
    if wrong is not None:
        layout = Layout(stype, shape, raw=parts)
        if indptr is None:
            keep = (
                (indices >= 0) & (indices < shape[0])
                if len(indices) == len(data)
                else np.zeros(len(indices), bool)
            )
            dense[indices[keep]] = data[: len(indices)][keep]
            return dense, layout
        limits = np.clip(indptr, 0, min(len(indices), len(data)))
        for row in range(min(shape[0], len(indptr) - 1)):
            columns = indices[limits[row] : limits[row + 1]]
            keep = (columns >= 0) & (columns < shape[1])
            dense[row, columns[keep]] = data[limits[row] : limits[row + 1]][keep]
        return dense, layout
    if indptr is None:
        dense[indices] = data
        return dense, Layout(stype, shape, places=indices)
    flat = np.repeat(np.arange(shape[0], dtype=np.int64), np.diff(indptr)) * shape[1] + indices
    dense.reshape(-1)[flat] = data
    return dense, Layout(stype, shape, places=flat)
