"""Where ``NDArrayIter`` takes rows from: host memory, an NDArray, a csr matrix, an HDF5 file."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from gluonjax._base.devices import Context, current_context
from gluonjax._base.errors import ArgumentTypeError
from gluonjax._files.params import SparseBlock
from gluonjax.io._batch import InputError
from gluonjax.ndarray import NDArray, array, sparse
from gluonjax.ndarray.ndarray import wrap

# Rows to take: a contiguous range, or their numbers.
Rows = slice | np.ndarray

ACCEPTED = "NDArray, numpy.ndarray, h5py.Dataset"


class Source(Protocol):
    """Something with rows along an axis."""

    shape: tuple[int, ...]
    dtype: Any

    def take(self, rows: Rows, axis: int) -> Any:
        """Return an NDArray of some rows."""
        ...

    def whole(self) -> Any:
        """Return all rows, in their own order."""
        ...


def _take_host(values: np.ndarray, rows: Rows, axis: int) -> np.ndarray:
    if isinstance(rows, slice):
        return np.ascontiguousarray(values[(slice(None),) * axis + (rows,)])
    return np.take(values, rows, axis)


class HostSource:
    """Rows of a NumPy array that nobody else writes into; a range of rows is handed out without copying."""

    def __init__(self, values: np.ndarray, context: Context) -> None:
        self.values = values
        self.shape = values.shape
        self.dtype = values.dtype.type
        self.context = context

    def take(self, rows: Rows, axis: int) -> NDArray:
        return wrap(_take_host(self.values, rows, axis), self.context)

    def whole(self) -> NDArray:
        return wrap(self.values, self.context)


class HandleSource:
    """Rows of an NDArray as it is when they are taken: later writes into it are seen."""

    def __init__(self, handle: Any) -> None:
        self.handle = handle
        self.shape = handle.shape
        self.dtype = handle.dtype

    def take(self, rows: Rows, axis: int) -> NDArray:
        handle = self.handle
        if handle.context.is_host:
            # On the CPU a NumPy view costs nothing, while a JAX slice is a dispatch.
            values = _take_host(np.asarray(handle._value), rows, axis)
            return wrap(values, handle.context, type(handle))
        if isinstance(rows, slice):
            return handle.slice_axis(axis=axis, begin=rows.start, end=rows.stop)
        return handle.take(array(rows, handle.context, np.int32), axis=axis)

    def whole(self) -> NDArray:
        return self.handle


class CsrSource:
    """Rows of a csr matrix."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix
        self.shape = matrix.shape
        self.dtype = matrix.dtype
        self.parts = [part.asnumpy() for part in (matrix.data, matrix.indices, matrix.indptr)]

    def take(self, rows: Rows, axis: int) -> Any:
        values, columns, row_starts = self.parts
        data, indices, starts = csr_rows(values, columns, row_starts, rows)
        shape = (len(starts) - 1, self.shape[1])
        return csr_array(SparseBlock("csr", shape, data, indices, starts), self.matrix.context)

    def whole(self) -> Any:
        return self.matrix


def csr_array(block: SparseBlock, context: Context) -> Any:
    """Return the NDArray of a csr block: csr where NDArrays can be, else dense."""
    make = getattr(sparse, "csr_matrix", None)
    if make is None:
        return wrap(block.todense(), context)
    return make(
        (block.data, block.indices, block.indptr), shape=block.shape, dtype=block.data.dtype, ctx=context
    )


def csr_rows(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, rows: Rows
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return values, columns and row starts of some rows of a csr matrix."""
    chosen = np.arange(len(indptr) - 1)[rows]
    counts = np.diff(indptr)[chosen]
    starts = np.concatenate([[0], np.cumsum(counts)])
    # Where each stored value of the result comes from: its row's start, plus its place within the row.
    places = np.repeat(indptr[chosen] - starts[:-1], counts) + np.arange(starts[-1])
    return data[places], indices[places], starts.astype(indptr.dtype)


class FileSource:
    """Rows of an HDF5 data set, read when they are asked for."""

    def __init__(self, dataset: Any, context: Context) -> None:
        self.dataset = dataset
        self.shape = dataset.shape
        self.dtype = dataset.dtype
        self.context = context

    def take(self, rows: Rows, axis: int) -> NDArray:
        before = (slice(None),) * axis
        if isinstance(rows, slice):
            return array(self.dataset[(*before, rows)], self.context)
        # HDF5 wants rising row numbers without repetitions.
        unique, inverse = np.unique(rows, return_inverse=True)
        return array(np.take(self.dataset[(*before, unique)], inverse.reshape(-1), axis), self.context)

    def whole(self) -> Any:
        return self.dataset


def named_sources(data: Any, default_name: str, allow_empty: bool) -> list[tuple[str, Source]]:
    """Return the sources in ``data`` (an array, a list or a dictionary of them), sorted by name."""
    if data is None:
        if not allow_empty:
            raise InputError(f"NDArrayIter: data is None; give {ACCEPTED}, a list of them or a dict of them")
        return []
    if isinstance(data, (list, tuple)) and not data and not allow_empty:
        raise InputError("NDArrayIter: data is an empty list")
    return sorted((name, to_source(value, name)) for name, value in _named(data, default_name).items())


def _named(data: Any, default_name: str) -> Mapping[str, Any]:
    if isinstance(data, Mapping):
        return data
    if isinstance(data, (np.ndarray, NDArray)) or _is_dataset(data) or _is_scipy(data):
        return {default_name: data}
    if not isinstance(data, list):
        raise ArgumentTypeError(
            f"Input must be {ACCEPTED} a list of them or dict with them as values, got {type(data).__name__}"
        )
    if len(data) == 1:
        return {default_name: data[0]}
    return {f"_{position}_{default_name}": value for position, value in enumerate(data)}


def to_source(value: Any, name: str) -> Source:
    """Return the source for one array-like value."""
    context = current_context()
    if isinstance(value, NDArray):
        return CsrSource(value) if value.stype == "csr" else HandleSource(value)
    if _is_dataset(value):
        return FileSource(value, context)
    if _is_scipy(value):
        return CsrSource(sparse.array(value))
    if isinstance(value, (str, bytes)):
        raise _wrong_type(value, name)
    try:
        # As nd.array does, everything that is not an NDArray becomes float32.
        values = np.array(value, np.float32)
    except (TypeError, ValueError):
        raise _wrong_type(value, name) from None
    return HostSource(values, context)


def _wrong_type(value: Any, name: str) -> ArgumentTypeError:
    return ArgumentTypeError(
        f"Invalid type '{type(value)}' for {name}, should be NDArray, numpy.ndarray or h5py.Dataset"
    )


def _is_dataset(value: Any) -> bool:
    # No import: an HDF5 data set can only exist where h5py was imported already.
    module = sys.modules.get("h5py")
    return module is not None and isinstance(value, module.Dataset)


def _is_scipy(value: Any) -> bool:
    module = sys.modules.get("scipy.sparse")
    return module is not None and module.issparse(value)
