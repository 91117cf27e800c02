"""Module functions that change the form of arrays: reshape, move, join, split, repeat, pad, pick."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as _numpy

from gluonjax._base.errors import ArgumentTypeError, MXNetError, OutOfBoundsError
from gluonjax._engine import inflight
from gluonjax._engine.run import is_tracer
from gluonjax._ops.numpy import reduce
from gluonjax._ops.numpy import shape as forms
from gluonjax.numpy._call import UnsupportedArgument, axes_or_none, invoke, kernel_of, shape_of
from gluonjax.numpy._creation import array
from gluonjax.numpy._reductions import wants_array
from gluonjax.numpy.multiarray import ndarray


def _run(fn: Any, a: Any, out: Any = None, **statics: Any) -> Any:
    return invoke(kernel_of(fn, **statics), (wants_array(fn.__name__, "a", a),), ndarray, out)


def reshape(a: ndarray, newshape: Any, order: str = "C", out: Any = None) -> ndarray:
    """A copy in another shape; one length may be -1.

    >>> from gluonjax import np
    >>> np.arange(4).reshape(2, -1).shape
    (2, 2)
    """
    if order != "C":
        raise UnsupportedArgument("reshape", f"only supports C-order, while received {order}")
    return _run(forms.reshape, a, out, shape=shape_of(newshape))


def ravel(x: ndarray, order: str = "C") -> ndarray:
    """A 1-D copy."""
    if not isinstance(x, ndarray):
        if isinstance(x, (int, float, _numpy.generic)):
            return array([x])
        raise TypeError(f"type {type(x)} not supported")
    return reshape(x, -1, order)


def transpose(a: ndarray, axes: Any = None) -> ndarray:
    """A copy with permuted axes (reversed where none are given)."""
    return _run(forms.transpose, a, axes=None if axes is None else tuple(int(n) for n in axes))


def swapaxes(a: ndarray, axis1: int, axis2: int) -> ndarray:
    """A copy with two axes in each other's place."""
    return _run(forms.swapaxes, a, axis1=int(axis1), axis2=int(axis2))


def moveaxis(a: ndarray, source: Any, destination: Any) -> ndarray:
    """A copy with axes at other places; the rest keep their order."""
    sources, targets = axes_or_none(source), axes_or_none(destination)
    counts = [1 if isinstance(each, int) else len(each) for each in (sources, targets)]
    if counts[0] != counts[1]:
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    return _run(forms.moveaxis, a, source=sources, destination=targets)


def rollaxis(a: ndarray, axis: int, start: int = 0) -> ndarray:
    """A copy with one axis rolled back to before position ``start``."""
    order = [n for n in range(a.ndim) if n != axis % a.ndim]
    order.insert(start if start <= axis % a.ndim else start - 1, axis % a.ndim)
    return transpose(a, order)


def squeeze(a: ndarray, axis: Any = None, out: Any = None) -> ndarray:
    """A copy without axes of length 1."""
    return _run(forms.squeeze, a, out, axis=axes_or_none(axis))


def expand_dims(a: ndarray, axis: int) -> ndarray:
    """A copy with a new axis of length 1."""
    return _run(forms.expand_dims, a, axis=int(axis))


def broadcast_to(array: ndarray, shape: Any) -> ndarray:
    """A copy broadcast to a shape."""
    if isinstance(array, (int, float)):
        from gluonjax.numpy._creation import full

        return full(shape, array)
    return _run(forms.broadcast_to, array, shape=shape_of(shape))


def broadcast_arrays(*args: ndarray) -> list[ndarray]:
    """Copies of all arrays, broadcast to their common shape."""
    return invoke(kernel_of(forms.broadcast_arrays), args, ndarray, many=True)


def _join(fn: Any, arrays: Any, out: Any, **statics: Any) -> ndarray:
    listed = [arrays] if isinstance(arrays, ndarray) and arrays.ndim == 0 else list(arrays)
    if not listed:
        raise ValueError("need at least one array to concatenate")
    for entry in listed:
        wants_array(fn.__name__, "arrays", entry)
    return invoke(kernel_of(fn, **statics), listed, ndarray, out)


def concatenate(seq: Sequence[ndarray], axis: Any = 0, out: Any = None) -> ndarray:
    """Join arrays along an axis that exists, or flattened where it is None."""
    return _join(forms.concatenate, seq, out, axis=axes_or_none(axis))


def stack(arrays: Sequence[ndarray], axis: int = 0, out: Any = None) -> ndarray:
    """Join arrays along a new axis."""
    return _join(forms.stack, arrays, out, axis=int(axis))


def vstack(arrays: Sequence[ndarray], out: Any = None) -> ndarray:
    """Join arrays along the first axis; 1-D arrays are rows."""
    return _join(forms.stack_rows, arrays, out)


row_stack = vstack


def hstack(arrays: Sequence[ndarray]) -> ndarray:
    """Join arrays along the second axis (the first for 1-D arrays)."""
    return _join(forms.stack_horizontally, arrays, None)


def dstack(arrays: Sequence[ndarray]) -> ndarray:
    """Join arrays along the third axis."""
    return _join(forms.stack_depth, arrays, None)


def column_stack(tup: Sequence[ndarray]) -> ndarray:
    """Join 1-D arrays as columns."""
    return _join(forms.stack_columns, tup, None)


def append(arr: ndarray, values: ndarray, axis: Any = None) -> ndarray:
    """Join values to the end of an array, flattened where no axis is given."""
    return concatenate((arr, values), axis)


def _raised(ndim: int) -> Any:
    def function(*arys: Any) -> Any:
        arrays = [each if isinstance(each, ndarray) else array(each) for each in arys]
        results = [invoke(kernel_of(forms.at_least, ndim=ndim), (each,), ndarray) for each in arrays]
        return results[0] if len(results) == 1 else results

    function.__name__ = function.__qualname__ = f"atleast_{ndim}d"
    function.__doc__ = f"Arrays with at least {ndim} axes."
    return function


atleast_1d, atleast_2d, atleast_3d = _raised(1), _raised(2), _raised(3)


def _cuts(name: str, length: int, sections: Any, uneven: bool) -> tuple[int, ...]:
    if isinstance(sections, (list, tuple, set)):
        return tuple(int(n) for n in sections)
    if isinstance(sections, ndarray):
        return tuple(int(n) for n in sections.asnumpy())
    if not isinstance(sections, (int, _numpy.integer)):
        raise ValueError(f"{name}: indices_or_sections must be an int or a tuple / list / set of ints")
    if sections <= 0:
        raise ValueError(f"{name}: number of sections must be larger than 0, got {sections}")
    if not uneven and length % sections:
        raise ValueError(f"{name}: array split does not result in an equal division ({length} by {sections})")
    small, larger = divmod(length, int(sections))
    return tuple(k * small + min(k, larger) for k in range(1, int(sections)))


def _split(name: str, ary: ndarray, sections: Any, axis: int, uneven: bool = False) -> list[ndarray]:
    wants_array(name, "ary", ary)
    if not -ary.ndim <= axis < ary.ndim:
        raise MXNetError(f"{name}: axis {axis} is out of bounds for an array with {ary.ndim} dimensions")
    cuts = _cuts(name, ary.shape[axis], sections, uneven)
    return invoke(kernel_of(forms.split, indices=cuts, axis=int(axis)), (ary,), ndarray, many=True)


def split(ary: ndarray, indices_or_sections: Any, axis: int = 0) -> list[ndarray]:
    """Cut along an axis into equal sections, or before the given positions."""
    return _split("split", ary, indices_or_sections, axis)


def array_split(ary: ndarray, indices_or_sections: Any, axis: int = 0) -> list[ndarray]:
    """Cut along an axis into nearly equal sections, or before the given positions."""
    return _split("array_split", ary, indices_or_sections, axis, True)


def hsplit(ary: ndarray, indices_or_sections: Any) -> list[ndarray]:
    """Cut along the second axis (the first for 1-D arrays)."""
    if wants_array("hsplit", "ary", ary).ndim < 1:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return _split("hsplit", ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


def vsplit(ary: ndarray, indices_or_sections: Any) -> list[ndarray]:
    """Cut along the first axis."""
    if wants_array("vsplit", "ary", ary).ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return _split("vsplit", ary, indices_or_sections, 0)


def dsplit(ary: ndarray, indices_or_sections: Any) -> list[ndarray]:
    """Cut along the third axis."""
    if wants_array("dsplit", "ary", ary).ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return _split("dsplit", ary, indices_or_sections, 2)


def repeat(a: ndarray, repeats: Any, axis: Any = None) -> ndarray:
    """Every element repeated, along an axis or in the flattened array."""
    counts = tuple(int(n) for n in repeats) if isinstance(repeats, (list, tuple)) else int(repeats)
    return _run(forms.repeat, a, repeats=counts, axis=axes_or_none(axis))


def tile(A: Any, reps: Any) -> Any:
    """The whole array repeated along its axes."""
    if isinstance(A, (int, float, _numpy.generic)):
        return _numpy.tile(A, reps)
    return _run(forms.tile, A, reps=shape_of(reps))


def flip(m: Any, axis: Any = None, out: Any = None) -> Any:
    """The other way round along axes."""
    if isinstance(m, (int, float, _numpy.generic)):
        return _numpy.flip(m, axis)
    return _run(forms.flip, m, out, axis=axes_or_none(axis))


def flipud(m: ndarray) -> ndarray:
    """Upside down: the other way round along the first axis."""
    if m.ndim < 1:
        raise ValueError("flipud: input must be at least 1-D")
    return flip(m, 0)


def fliplr(m: ndarray) -> ndarray:
    """Left and right exchanged: the other way round along the second axis."""
    if m.ndim < 2:
        raise ValueError("fliplr: input must be at least 2-D")
    return flip(m, 1)


def roll(a: ndarray, shift: Any, axis: Any = None) -> ndarray:
    """Shifted along axes; what leaves at one end enters at the other."""
    return _run(forms.roll, a, shift=axes_or_none(shift), axis=axes_or_none(axis))


def rot90(m: ndarray, k: int = 1, axes: Any = (0, 1)) -> ndarray:
    """Turned by k right angles in the plane of two axes."""
    return _run(forms.rot90, m, k=int(k), axes=tuple(int(n) for n in axes))


PAD_MODES = ("constant", "edge", "reflect", "symmetric", "maximum", "minimum")


def pad(x: ndarray, pad_width: Any = None, mode: str = "constant", **kwargs: Any) -> ndarray:
    """With margins; modes are constant, edge, reflect, symmetric, maximum and minimum."""
    wants_array("pad", "x", x)
    if not _numpy.asarray(pad_width).dtype.kind == "i":
        raise TypeError("`pad_width` must be of integral type.")
    if not isinstance(pad_width, tuple):
        raise TypeError("`pad_width` must be tuple.")
    if mode not in PAD_MODES:
        raise ValueError(f"mode {mode!r} is not supported; use one of {', '.join(PAD_MODES)}")
    allowed = {"constant": {"constant_values"}, "reflect": {"reflect_type"}, "symmetric": {"reflect_type"}}
    unknown = set(kwargs) - allowed.get(mode, set())
    if unknown:
        raise ValueError(f"unsupported keyword arguments for mode {mode!r}: {sorted(unknown)}")
    value = kwargs.get("constant_values", 0)
    if not isinstance(value, (int, float)):
        raise TypeError(f"pad: constant_values wants a number, got {value!r}")
    width = _numpy.broadcast_to(_numpy.asarray(pad_width), (x.ndim, 2)).tolist()
    pairs = tuple((int(low), int(high)) for low, high in width)
    return _run(forms.pad, x, width=pairs, mode=mode, value=value, even=kwargs.get("reflect_type", "even") == "even")


def tril(m: ndarray, k: int = 0) -> ndarray:
    """The lower triangle: zeros above the k-th diagonal."""
    return _run(forms.tril, m, k=int(k))


def diag(array: ndarray, k: int = 0) -> ndarray:
    """The k-th diagonal of a matrix, or a matrix with that diagonal."""
    return _run(forms.diag, array, k=int(k))


def diagflat(array: ndarray, k: int = 0) -> ndarray:
    """A matrix with the flattened array on its k-th diagonal."""
    return _run(forms.diagflat, array, k=int(k))


def diagonal(a: ndarray, offset: int = 0, axis1: int = 0, axis2: int = 1) -> ndarray:
    """The diagonals of two axes."""
    return _run(forms.diagonal, a, offset=int(offset), axis1=int(axis1), axis2=int(axis2))


def trace(a: ndarray, offset: int = 0, axis1: int = 0, axis2: int = 1, out: Any = None) -> ndarray:
    """The sum of the diagonals of two axes."""
    return _run(forms.trace, a, out, offset=int(offset), axis1=int(axis1), axis2=int(axis2))


def take(a: ndarray, indices: Any, axis: Any = None, mode: str = "raise", out: Any = None) -> ndarray:
    """Elements at positions along an axis, or of the flattened array.

    Args:
        mode: what positions outside do: 'raise' an error, 'clip' to the edge, 'wrap' round.
    """
    wants_array("take", "a", a)
    if mode not in ("raise", "clip", "wrap"):
        raise UnsupportedArgument("take", f"function take does not support mode '{mode}'")
    if axis is not None and not -a.ndim <= axis < a.ndim:
        raise MXNetError(f"take: Axis should be in the range of [-r, r-1] with r = {a.ndim}, got {axis}")
    positions = indices if isinstance(indices, ndarray) else _numpy.asarray(indices)
    if mode == "raise":
        positions = _checked(positions, a.size if axis is None else a.shape[axis])
    elif mode == "clip" and not isinstance(positions, ndarray):
        positions = positions.astype(_numpy.int64)
    kernel = kernel_of(forms.take, axis=None if axis is None else int(axis), mode=mode)
    return invoke(kernel, (a, positions), ndarray, out)


def _checked(positions: Any, length: int) -> Any:
    value = positions._value if isinstance(positions, ndarray) else positions
    if is_tracer(value):
        return positions
    value = _numpy.asarray(inflight.wait(value)).astype(_numpy.int64)
    if value.size and (value.min() < -length or value.max() >= length):
        raise OutOfBoundsError(f"take: take operator contains indices out of bound for length {length}")
    return _numpy.where(value < 0, value + length, value)


def take_along_axis(arr: ndarray, indices: ndarray, axis: int) -> ndarray:
    """Elements at positions that differ from row to row."""
    grid = _numpy.ogrid[tuple(slice(n) for n in indices.shape)]
    key: list[Any] = list(grid)
    key[axis] = indices
    return arr[tuple(key)]


def sort(a: ndarray, axis: Any = -1, kind: Any = None, order: Any = None) -> ndarray:
    """A copy in ascending order along an axis."""
    if order is not None:
        raise ArgumentTypeError("sort: order is not supported; there are no structured arrays")
    return _run(forms.sort, a, axis=axes_or_none(axis))


def argsort(a: ndarray, axis: Any = -1, kind: Any = None, order: Any = None) -> ndarray:
    """The int64 positions that sort an array along an axis."""
    if order is not None:
        raise ArgumentTypeError("argsort: order is not supported; there are no structured arrays")
    return _run(forms.argsort, a, axis=axes_or_none(axis))


def resize(a: Any, new_shape: Any) -> ndarray:
    """The elements again and again until they fill a shape."""
    return _run(forms.resize, a if isinstance(a, ndarray) else array(a), shape=shape_of(new_shape))


def meshgrid(*xi: ndarray, **kwargs: Any) -> list[ndarray]:
    """The coordinates of the grid that 1-D arrays span."""
    indexing = kwargs.pop("indexing", "xy")
    sparse, copied = kwargs.pop("sparse", False), kwargs.pop("copy", True)
    if kwargs:
        raise TypeError(f"meshgrid() got an unexpected keyword argument '{next(iter(kwargs))}'")
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    count = len(xi)
    raised = [x.reshape((1,) * i + (-1,) + (1,) * (count - i - 1)) for i, x in enumerate(xi)]
    if indexing == "xy" and count > 1:
        raised = [swapaxes(x, 0, 1) for x in raised]
    if sparse:
        return [x.copy() for x in raised] if copied else raised
    return broadcast_arrays(*raised)


def select_along(a: ndarray, positions: tuple[int, ...], axis: int) -> ndarray:
    """The elements at constant positions along an axis."""
    reduce.axes_of("select", a.ndim, axis)
    return _run(forms.select_positions, a, positions=positions, axis=axis)


def shape(a: ndarray) -> tuple[int, ...]:
    """The lengths of the axes."""
    return a.shape


def ndim(a: ndarray) -> int:
    """The number of axes."""
    return a.ndim


def size(a: ndarray, axis: Any = None) -> int:
    """The number of elements, or the length of an axis."""
    return a.size if axis is None else a.shape[axis]
