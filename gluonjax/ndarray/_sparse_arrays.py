"""CSRNDArray and RowSparseNDArray: their parts, indexing and conversions."""

from __future__ import annotations

from typing import Any

import numpy as np

from gluonjax._base.errors import ArgumentTypeError, MXNetError, OperatorError
from gluonjax._ops import registry
from gluonjax.ndarray._invoke import run_operator
from gluonjax.ndarray._sparse_base import (
    CLASSES,
    BaseSparseNDArray,
    SparseNotImplemented,
    cast_storage,
    sparse_handle,
)
from gluonjax.ndarray.ndarray import NDArray, wrap


class CSRNDArray(BaseSparseNDArray):
    """A matrix in compressed sparse row storage: ``data``, ``indices`` (columns) and ``indptr`` (row starts).

    >>> from gluonjax import nd
    >>> x = nd.array([[0, 7], [0, 0]]).tostype("csr")
    >>> x.data.asnumpy().tolist(), x.indices.asnumpy().tolist(), x.indptr.asnumpy().tolist()
    ([7.0], [1], [0, 1, 1])
    """

    __slots__ = ()
    _stype_name = "csr"

    @property
    def indptr(self) -> NDArray:
        """Where each row starts in ``data``, ``(rows + 1,)``: a copy, int64."""
        return wrap(np.array(self._parts().indptr), self.context)

    @indptr.setter
    def indptr(self, value: Any) -> None:
        raise SparseNotImplemented("CSRNDArray: indptr cannot be set; make a new array")

    def asscipy(self) -> Any:
        """A ``scipy.sparse.csr_matrix`` with the same content."""
        from scipy import sparse as scipy_sparse

        data, indices, indptr = self._parts()
        return scipy_sparse.csr_matrix((data, indices, indptr), shape=self.shape, dtype=self.dtype)

    def tostype(self, stype: str) -> NDArray:
        """A copy, as csr or dense."""
        if stype == "row_sparse":
            raise ValueError("cast_storage from csr to row_sparse is not supported; go through 'default'")
        return cast_storage(self, stype)

    def __getitem__(self, key: Any) -> NDArray:
        """Rows ``x[i]`` (a matrix of one row) and ``x[i:j]``; the result is csr."""
        if isinstance(key, (int, np.integer)):
            begin = int(key) + (self.shape[0] if key < 0 else 0)
            return self._rows(begin, begin + 1)
        if isinstance(key, slice):
            if key.step is not None:
                raise ValueError("CSRNDArray only supports continuous slicing on axis 0")
            if key.start is None and key.stop is None:
                return self
            start, stop, _ = slice(key.start or None, key.stop or None).indices(self.shape[0])
            return self._rows(start, max(start, stop))
        if isinstance(key, tuple):
            raise ValueError("Multi-dimension indexing is not supported")
        raise ValueError(f"Undefined behaviour for {key}")

    def _rows(self, begin: int, end: int) -> NDArray:
        if begin >= min(end, self.shape[0]) or begin < 0:
            # MXNet answers rows that are not there with a matrix without rows.
            return sparse_handle(wrap(np.zeros((0, self.shape[1]), self.dtype), self.context), "csr")
        return run_operator(registry.get("slice"), (self,), {"begin": (begin,), "end": (end,)}, None, NDArray)


class RowSparseNDArray(BaseSparseNDArray):
    """An array of which only some rows are stored: ``data`` and ``indices`` (their row numbers).

    >>> from gluonjax import nd
    >>> x = nd.array([[0, 0], [1, 2]]).tostype("row_sparse")
    >>> x.data.asnumpy().tolist(), x.indices.asnumpy().tolist()
    ([[1.0, 2.0]], [1])
    """

    __slots__ = ()
    _stype_name = "row_sparse"

    def tostype(self, stype: str) -> NDArray:
        """A copy, as row_sparse or dense."""
        if stype == "csr":
            raise ValueError("cast_storage from row_sparse to csr is not supported; go through 'default'")
        return cast_storage(self, stype)

    def retain(self, *args: Any, **kwargs: Any) -> NDArray:
        """The array with only the given rows; ``x.retain(rows)``, or ``x.retain(data, rows)`` as in MXNet."""
        given = (self, *args) if len(args) + len(kwargs) == 1 else args
        return retain(*given, **kwargs)  # pyright: ignore[reportArgumentType]

    def __getitem__(self, key: Any) -> NDArray:
        if isinstance(key, (int, np.integer)):
            raise ArgumentTypeError("__getitem__ with int key is not implemented for RowSparseNDArray yet")
        if isinstance(key, slice):
            if key != slice(None):
                raise ArgumentTypeError("RowSparseNDArray only supports [:] for __getitem__")
            return self
        if isinstance(key, tuple):
            raise ValueError("Multi-dimension indexing is not supported")
        raise ValueError(f"Undefined behaviour for {key}")


CLASSES.update(csr=CSRNDArray, row_sparse=RowSparseNDArray)


def retain(
    data: Any = None, indices: Any = None, out: NDArray | None = None, name: str | None = None, **kwargs: Any
) -> NDArray:
    """Keep only some rows of a row_sparse array.

    Args:
        data: row_sparse.
        indices: the rows, 1-d.

    Returns:
        A row_sparse array that stores exactly these rows (zeros where ``data`` stores none).
    """
    if kwargs:
        raise OperatorError(
            f"_sparse_retain: Cannot find argument '{next(iter(kwargs))}'; it has no attributes"
        )
    stypes = [getattr(one, "stype", type(one).__name__) for one in (data, indices)]
    if stypes != ["row_sparse", "default"]:
        raise MXNetError(
            f"Operator not implemented: _sparse_retain of storage types {stypes}; wanted a row_sparse array "
            "and dense indices"
        )
    return run_operator(registry.get("_sparse_retain"), (data, indices), {}, out, NDArray)
