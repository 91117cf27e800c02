"""``mx.nd.sparse``: storage types other than dense have their own issue; the names are here, dense works."""

from __future__ import annotations

from typing import Any

from gluonjax._base.errors import MXNetError
from gluonjax.ndarray.ndarray import NDArray


class BaseSparseNDArray(NDArray):
    """Base class of sparse arrays."""

    __slots__ = ()


class CSRNDArray(BaseSparseNDArray):
    """A matrix in compressed sparse row storage."""

    __slots__ = ()
    _stype_name = "csr"


class RowSparseNDArray(BaseSparseNDArray):
    """An array of which only some rows are stored."""

    __slots__ = ()
    _stype_name = "row_sparse"


def _refuse(what: str) -> MXNetError:
    return MXNetError(f"{what}: sparse storage is not supported yet; use dense arrays (stype='default')")


def cast_storage(data: NDArray, stype: str) -> NDArray:
    """Convert the storage type; dense to dense is a copy."""
    if stype == "default":
        return data.copy()
    if stype not in ("csr", "row_sparse"):
        raise ValueError(f"unknown storage type {stype!r}; use 'default', 'csr' or 'row_sparse'")
    raise _refuse(f"tostype('{stype}')")


def zeros(stype: str, shape: Any, ctx: Any = None, dtype: Any = None, **kwargs: Any) -> NDArray:
    """Zeros of a storage type."""
    if stype == "default":
        from gluonjax.ndarray import _creation

        return _creation.zeros(shape, ctx, dtype)
    raise _refuse(f"zeros(stype='{stype}')")


def array(source_array: Any, ctx: Any = None, dtype: Any = None) -> NDArray:
    """A sparse array from a scipy matrix."""
    raise _refuse("sparse.array")


def from_block(block: Any) -> NDArray:
    """A dense array with the content of a sparse block of a file."""
    from gluonjax.ndarray.ndarray import wrap

    return wrap(block.to_dense())
