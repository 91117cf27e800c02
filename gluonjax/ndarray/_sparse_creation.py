"""Making sparse arrays: of their parts, of coordinates, of dense or scipy matrices, or empty."""

from __future__ import annotations

from typing import Any

import numpy as np

from gluonjax._base.devices import Context, current_context
from gluonjax._base.dtypes import to_dtype
from gluonjax._base.errors import ArgumentTypeError
from gluonjax.ndarray import _creation
from gluonjax.ndarray._invoke import new_handle
from gluonjax.ndarray._sparse_arrays import CSRNDArray, RowSparseNDArray
from gluonjax.ndarray._sparse_base import CLASSES, BaseSparseNDArray, cast_storage, from_parts
from gluonjax.ndarray._sparse_layout import Parts
from gluonjax.ndarray.ndarray import NDArray, _to_value

_INTEGERS = (int, np.integer)


def zeros(stype: str, shape: Any, ctx: Any = None, dtype: Any = None, **kwargs: Any) -> NDArray:
    """An array of a storage type that stores nothing.

    Args:
        stype: 'default', 'csr' or 'row_sparse'.
        shape: the dense shape.

    >>> from gluonjax import nd
    >>> nd.sparse.zeros("csr", (1, 2))
    <BLANKLINE>
    <CSRNDArray 1x2 @cpu(0)>
    """
    if stype == "default":
        return _creation.zeros(shape, ctx, dtype, **kwargs)
    if stype not in CLASSES:
        raise ValueError(f"unknown storage type {stype}; use 'default', 'csr' or 'row_sparse'")
    dims = (int(shape),) if isinstance(shape, _INTEGERS) else tuple(int(n) for n in shape)
    context = current_context() if ctx is None else Context(ctx)
    return new_handle(CLASSES[stype], _to_value(np.zeros(dims, to_dtype(dtype)), None, context), context)


def empty(stype: str, shape: Any, ctx: Any = None, dtype: Any = None) -> NDArray:
    """As ``zeros``, for 'csr' and 'row_sparse'."""
    if stype not in CLASSES:
        raise ValueError(f"unknown stype : {stype}; use 'csr' or 'row_sparse'")
    return zeros(stype, shape, ctx, dtype)


def array(source_array: Any, ctx: Any = None, dtype: Any = None) -> NDArray:
    """A copy of a sparse array or of a scipy matrix (as csr).

    Args:
        source_array: CSRNDArray, RowSparseNDArray or a ``scipy.sparse`` matrix.
        dtype: by default the source's.
    """
    context = current_context() if ctx is None else Context(ctx)
    if isinstance(source_array, BaseSparseNDArray):
        result = source_array.astype(source_array.dtype if dtype is None else dtype).detach()
        return result.as_in_context(context)
    if isinstance(source_array, NDArray):
        raise ArgumentTypeError(
            "Please use `tostype` to create RowSparseNDArray or CSRNDArray from an NDArray"
        )
    if not hasattr(source_array, "tocoo"):
        raise ValueError(
            f"Please use mx.nd.array to create an NDArray with source_array of type {type(source_array)}"
        )
    coo = source_array.tocoo()
    return _from_coordinates(coo.data, coo.row, coo.col, coo.shape, context, dtype)


def csr_matrix(arg1: Any, shape: Any = None, ctx: Any = None, dtype: Any = None) -> CSRNDArray:
    """Make a csr matrix.

    Args:
        arg1: one of a dense array-like, a CSRNDArray or scipy matrix, a shape ``(rows, columns)``, the arrays
            ``(data, indices, indptr)``, or coordinates ``(data, (row, column))``.
        shape: of the result; by default what the input says, or as small as the places allow.
        dtype: by default the dtype of an array given, else float32.

    >>> from gluonjax import nd
    >>> nd.sparse.csr_matrix(([7, 8], [1, 0], [0, 1, 2]), shape=(2, 3)).asnumpy().tolist()
    [[0.0, 7.0, 0.0], [8.0, 0.0, 0.0]]
    """
    context = current_context() if ctx is None else Context(ctx)
    if isinstance(arg1, tuple) and len(arg1) == 3:
        return _from_arrays("csr", arg1[0], arg1[1], arg1[2], shape, context, dtype)
    if isinstance(arg1, tuple) and len(arg1) == 2:
        if isinstance(arg1[1], tuple) and len(arg1[1]) == 2:
            data, rows, columns = (_host(one) for one in (arg1[0], *arg1[1]))
            if shape is None:
                if not len(rows):
                    raise ValueError("invalid shape: without coordinates the shape must be given")
                shape = (int(rows.max()) + 1, int(columns.max()) + 1)
            return _from_coordinates(data, rows, columns, shape, context, dtype)
        _check_shape(arg1, shape)
        return empty("csr", arg1, ctx, dtype)  # type: ignore[return-value]
    if isinstance(arg1, tuple):
        raise ValueError(f"Unexpected length of input tuple: {len(arg1)}; wanted 2 or 3")
    if isinstance(arg1, RowSparseNDArray):
        raise ValueError("Unexpected input type: RowSparseNDArray; go through tostype('default')")
    if isinstance(arg1, CSRNDArray) or hasattr(arg1, "tocoo"):
        _check_shape(arg1.shape, shape)
        return array(arg1, ctx, dtype)  # type: ignore[return-value]
    return _from_dense(arg1, "csr", shape, context, dtype)


def row_sparse_array(arg1: Any, shape: Any = None, ctx: Any = None, dtype: Any = None) -> RowSparseNDArray:
    """Make a row_sparse array.

    Args:
        arg1: one of a dense array-like, a RowSparseNDArray, a shape, or the arrays ``(data, indices)``.
        shape: of the result; by default what the input says, or as many rows as the last index needs.
        dtype: by default the dtype of an array given, else float32.

    >>> from gluonjax import nd
    >>> nd.sparse.row_sparse_array(([[1, 2]], [1]), shape=(3, 2)).asnumpy().tolist()
    [[0.0, 0.0], [1.0, 2.0], [0.0, 0.0]]
    """
    context = current_context() if ctx is None else Context(ctx)
    if isinstance(arg1, tuple):
        if len(arg1) < 2:
            raise ValueError(f"Unexpected length of input tuple: {len(arg1)}; wanted 2 or more")
        if len(arg1) == 2 and not all(isinstance(one, _INTEGERS) for one in arg1):
            return _from_arrays("row_sparse", arg1[0], arg1[1], None, shape, context, dtype)
        _check_shape(arg1, shape)
        return empty("row_sparse", arg1, ctx, dtype)  # type: ignore[return-value]
    if isinstance(arg1, CSRNDArray):
        raise ValueError("Unexpected input type: CSRNDArray; go through tostype('default')")
    if isinstance(arg1, RowSparseNDArray):
        _check_shape(arg1.shape, shape)
        return array(arg1, ctx, dtype)  # type: ignore[return-value]
    return _from_dense(arg1, "row_sparse", shape, context, dtype)


def _host(source: Any) -> np.ndarray:
    return source.asnumpy() if isinstance(source, NDArray) else np.asarray(source)


def _check_shape(found: Any, wanted: Any) -> None:
    if found and wanted and tuple(found) != tuple(wanted):
        raise ValueError(f"Shape mismatch detected. {tuple(found)} v.s. {tuple(wanted)}")


def _dtype_of(source: Any, dtype: Any) -> Any:
    if dtype is not None:
        return to_dtype(dtype)
    return to_dtype(source.dtype) if isinstance(source, (NDArray, np.ndarray)) else np.dtype(np.float32)


def _values(source: Any, dtype: Any) -> np.ndarray:
    try:
        return np.array(_host(source), dtype)
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(f"values must be array like object ({error})") from None


def _from_dense(source: Any, stype: str, shape: Any, ctx: Context, dtype: Any) -> Any:
    dense = _creation.array(source, ctx=ctx, dtype=_dtype_of(source, dtype))
    _check_shape(dense.shape, shape)
    return cast_storage(dense, stype)


def _from_arrays(
    stype: str, data: Any, indices: Any, indptr: Any, shape: Any, ctx: Context, dtype: Any
) -> Any:
    values = _values(data, _dtype_of(data, dtype))
    places = _values(indices, np.int64)
    starts = None if indptr is None else _values(indptr, np.int64)
    wrong = places.ndim != 1 or (
        starts is not None and (starts.ndim != 1 or not len(starts) or values.ndim != 1)
    )
    if not wrong and shape is None:
        if not len(places):
            raise ValueError("invalid shape: without indices the shape must be given")
        if starts is None:
            shape = (int(places[-1]) + 1, *values.shape[1:])
        else:
            shape = (len(starts) - 1, int(places.max()) + 1)
    if wrong or (len(shape) != 2 if starts is not None else values.ndim != len(shape) or 0 in shape[1:]):
        raise ValueError(
            f"invalid shape {shape} for {stype} arrays: data {values.shape}, indices {places.shape}"
            + ("" if starts is None else f", indptr {starts.shape}")
        )
    dims = tuple(int(n) for n in shape)
    if starts is None and values.shape[1:] != dims[1:]:
        raise ValueError(f"invalid shape {dims}: the rows given have shape {values.shape[1:]}")
    return from_parts(stype, dims, Parts(values, places, starts), ctx)


def _from_coordinates(data: Any, rows: Any, columns: Any, shape: Any, ctx: Context, dtype: Any) -> Any:
    """A csr matrix of coordinates in any order; values at the same place add up, as scipy does it."""
    values = np.asarray(data)
    height, width = (int(n) for n in shape)
    rows, columns = np.asarray(rows, np.int64), np.asarray(columns, np.int64)
    if len(rows) and (rows.min() < 0 or columns.min() < 0 or rows.max() >= height or columns.max() >= width):
        raise ValueError(f"csr_matrix: coordinates lie outside of the shape {(height, width)}")
    flat, places = np.unique(rows * width + columns, return_inverse=True)
    total = np.zeros(len(flat), values.dtype)
    np.add.at(total, places.reshape(-1), values)
    stored_rows, stored_columns = np.divmod(flat, max(width, 1))
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(stored_rows, minlength=height))])
    kind = to_dtype(values.dtype if dtype is None else dtype)
    return from_parts("csr", (height, width), Parts(total.astype(kind), stored_columns, starts), ctx)
