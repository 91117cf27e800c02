"""Module functions whose shapes depend on values: positions, distinct elements, counts; insert, delete."""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from gluonjax._base.errors import MXNetError, OutOfBoundsError
from gluonjax._ops.numpy import host
from gluonjax.numpy._call import UnsupportedArgument, invoke, kernel_of
from gluonjax.numpy._creation import array
from gluonjax.numpy._reductions import wants_array
from gluonjax.numpy._shapes import broadcast_to, concatenate, moveaxis, select_along
from gluonjax.numpy.multiarray import ndarray


def nonzero(a: ndarray) -> tuple[ndarray, ...]:
    """The positions of nonzero elements, one int64 array for every axis."""
    wants_array("nonzero", "a", a)
    return tuple(invoke(kernel_of(host.nonzero, host=True), (a,), ndarray, many=True))


def flatnonzero(a: ndarray) -> ndarray:
    """The positions of nonzero elements in the flattened array."""
    return nonzero(a.reshape(-1))[0]


def argwhere(a: ndarray) -> ndarray:
    """The positions of nonzero elements, one row for each."""
    return invoke(kernel_of(host.nonzero_rows, host=True), (a,), ndarray)


def unique(
    ar: ndarray, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
    axis: int | None = None,
) -> Any:  # fmt: skip
    """The distinct elements in order; with their first positions, the way back, and counts where wanted."""
    wants_array("unique", "ar", ar)
    kernel = kernel_of(
        host.unique, host=True, index=bool(return_index), inverse=bool(return_inverse),
        counts=bool(return_counts),
        axis=axis,
    )  # fmt: skip
    found = invoke(kernel, (ar,), ndarray, many=True)
    return tuple(found) if len(found) > 1 else found[0]


def bincount(x: ndarray, weights: Any = None, minlength: int = 0) -> ndarray:
    """How often each non-negative whole number occurs, or the sum of its weights."""
    wants_array("bincount", "x", x)
    if x._cell.value.dtype.kind not in "iu":
        raise TypeError(f"bincount: wants whole numbers, got {x.dtype}; cast with astype")
    if minlength < 0:
        raise ValueError("Minlength value should greater than 0")
    inputs = (x,) if weights is None else (x, wants_array("bincount", "weights", weights))
    return invoke(kernel_of(host.bincount, host=True, minlength=int(minlength)), inputs, ndarray)


def histogram(
    a: ndarray,
    bins: Any = 10,
    range: Any = None,
    normed: Any = None,
    weights: Any = None,
    density: Any = None,
) -> list[ndarray]:
    """Counts and bin edges."""
    if normed or weights is not None or density:
        raise UnsupportedArgument("histogram", "normed, weights and density are not supported")
    wants_array("histogram", "a", a)
    low, high = (None, None) if range is None else (float(range[0]), float(range[1]))
    if isinstance(bins, (ndarray, list, tuple)):
        edges = bins if isinstance(bins, ndarray) else _numpy.asarray(bins, _numpy.float32)
        return invoke(kernel_of(host.histogram, host=True, count=0, low=low, high=high), (a, edges), ndarray, many=True)
    kernel = kernel_of(host.histogram, host=True, count=int(bins), low=low, high=high)
    return invoke(kernel, (a,), ndarray, many=True)


def _positions(name: str, obj: Any, length: int, inclusive: bool) -> Any:
    if isinstance(obj, slice):
        return _numpy.arange(*obj.indices(length))
    value = obj.asnumpy() if isinstance(obj, ndarray) else _numpy.asarray(obj)
    if value.dtype.kind == "b":
        return _numpy.nonzero(value)[0]
    value = value.astype(_numpy.int64)
    limit = length + 1 if inclusive else length
    if value.size and (value.min() < -length or value.max() >= limit):
        raise OutOfBoundsError(f"{name}: index {value.tolist()} is out of bounds for an axis with size {length}")
    return _numpy.where(value < 0, value + length, value)


def delete(arr: ndarray, obj: Any, axis: int | None = None) -> ndarray:
    """A copy without the elements at positions along an axis."""
    wants_array("delete", "arr", arr)
    source, axis = (
        (arr.reshape(-1), 0) if axis is None else (arr, axis % arr.ndim if -arr.ndim <= axis < arr.ndim else None)
    )
    if axis is None:
        raise MXNetError(f"delete: axis is out of bounds for an array with {arr.ndim} dimensions")
    length = source.shape[axis]
    gone = set(_numpy.atleast_1d(_positions("delete", obj, length, False)).tolist())
    return select_along(source, tuple(n for n in range(length) if n not in gone), axis)


def insert(arr: ndarray, obj: Any, values: Any, axis: int | None = None) -> ndarray:
    """A copy with values inserted before positions along an axis."""
    wants_array("insert", "arr", arr)
    source, axis = (arr.reshape(-1), 0) if axis is None else (arr, axis)
    if not -source.ndim <= axis < source.ndim:
        raise MXNetError(f"insert: axis {axis} is out of bounds for an array with {source.ndim} dimensions")
    axis %= source.ndim
    length = source.shape[axis]
    positions = _positions("insert", obj, length, True)
    fresh = values if isinstance(values, ndarray) else array(values, dtype=arr.dtype)
    fresh = fresh if fresh.dtype == arr.dtype else fresh.astype(arr.dtype)
    if positions.size == 1:
        # NumPy's rule: at one position values lie along the axis; a bare number also turns their first axis there.
        if fresh.ndim < source.ndim:
            fresh = fresh.reshape((1,) * (source.ndim - fresh.ndim) + fresh.shape)
        if positions.ndim == 0:
            fresh = moveaxis(fresh, 0, axis)
        count = fresh.shape[axis]
    else:
        count = positions.size
    wanted = (*source.shape[:axis], count, *source.shape[axis + 1 :])
    fresh = broadcast_to(fresh, wanted)
    places = _numpy.full(count, int(positions.item())) if positions.size == 1 else positions.reshape(-1)
    order = _numpy.argsort(places, kind="stable")
    # Where each element of the joined array (source, then values) goes.
    keys = _numpy.concatenate([_numpy.arange(length) + 0.5, places[order]])
    chosen = _numpy.argsort(keys, kind="stable")
    moved = _numpy.concatenate([_numpy.arange(length), length + order])
    return select_along(concatenate((source, fresh), axis), tuple(int(moved[n]) for n in chosen), axis)


def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """Flat positions as one array of positions for every axis."""
    if isinstance(indices, ndarray) and indices._cell.value.dtype.kind not in "iu":
        raise TypeError("unravel_index: only int indices permitted; cast with astype('int64')")
    value = indices.asnumpy() if isinstance(indices, ndarray) else _numpy.asarray(indices)
    parts = _numpy.unravel_index(value, shape, order=order)  # type: ignore[call-overload]
    return tuple(array(part, dtype=_numpy.int64) for part in parts)


def diag_indices_from(arr: ndarray) -> tuple[ndarray, ...]:
    """The positions of the main diagonal of a square array."""
    if arr.ndim < 2 or len(set(arr.shape)) != 1:
        raise ValueError(f"diag_indices_from: wants at least 2-D with equal lengths, got shape {arr.shape}")
    return tuple(array(_numpy.arange(arr.shape[0]), dtype=_numpy.int64) for _ in arr.shape)


def may_share_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    """Whether two arrays are handles on the same memory."""
    return a is not None and b is not None and a._cell is b._cell


shares_memory = may_share_memory
