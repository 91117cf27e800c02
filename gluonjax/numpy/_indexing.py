"""NumPy indexing on top of the legacy one: boolean masks and Python booleans become positions first."""

from __future__ import annotations

from typing import Any

import numpy as np

from gluonjax._base.errors import OutOfBoundsError
from gluonjax._engine import inflight
from gluonjax._engine.run import is_tracer
from gluonjax._ops.numpy import elementwise
from gluonjax.ndarray import _indexing as legacy
from gluonjax.numpy._call import invoke, kernel_of


def get(array: Any, key: Any) -> Any:
    """``array[key]``."""
    kind = type(key)
    if kind is int or kind is slice:
        return legacy.get(array, key)
    array, key = _without_booleans(array, key)
    return legacy.get(array, key)


def put(array: Any, key: Any, value: Any) -> None:
    """``array[key] = value``."""
    if type(key) is not int and type(key) is not slice:
        if _is_mask(key) and _whole_mask(array, key, value):
            return
        array, key = _without_booleans(array, key, reshaped=True)
    legacy.put(array, key, value)


def _dtype_of(entry: Any) -> Any:
    return entry._cell.value.dtype if hasattr(entry, "_cell") else getattr(entry, "dtype", None)


def _is_mask(entry: Any) -> bool:
    if isinstance(entry, (bool, np.bool_)):
        return False
    if isinstance(entry, list):
        return bool(entry) and np.asarray(_plain(entry)).dtype == np.bool_
    return _dtype_of(entry) == np.bool_


def _plain(entry: Any) -> Any:
    return [each.asnumpy() if hasattr(each, "_cell") else each for each in entry]


def _mask(entry: Any) -> np.ndarray:
    if hasattr(entry, "_cell"):
        value = entry._value
        if is_tracer(value):
            from gluonjax._base.errors import TracedValueError

            raise TracedValueError(
                "boolean indexing: the shape of the result depends on values, which do not exist while the "
                "code is traced; use np.where, or run this part outside of the compiled function"
            )
        return np.asarray(inflight.wait(value))
    return np.asarray(_plain(entry) if isinstance(entry, list) else entry)


def _whole_mask(array: Any, key: Any, value: Any) -> bool:
    """Assign a number where a mask of the array's own shape is true; False where this is another case."""
    if not isinstance(value, (int, float, bool, np.number)) or not hasattr(key, "_cell"):
        return False
    if key.shape != array.shape:
        return False
    filler = np.asarray(value).astype(array._cell.value.dtype)
    result = invoke(kernel_of(elementwise.where), (key, filler, array), type(array))
    array._write(result._value, result._entry)
    return True


def _without_booleans(array: Any, key: Any, reshaped: bool = False) -> tuple[Any, Any]:
    """The same selection without booleans.

    A mask over n axes becomes n arrays of positions. A Python boolean is a new axis of length 1 or 0: with
    ``reshaped`` the array is seen through it, so that writes reach the memory.
    """
    entries = key if isinstance(key, tuple) else (key,)
    if not any(isinstance(e, (bool, np.bool_)) or _is_mask(e) for e in entries):
        return array, key
    masks = [e for e in entries if _is_mask(e)]
    axes = sum(_mask(e).ndim for e in masks)
    axes += sum(
        e is not None and e is not Ellipsis and not isinstance(e, (bool, np.bool_)) and not _is_mask(e) for e in entries
    )
    if axes > array.ndim:
        raise OutOfBoundsError(f"too many indices ({axes}) for array with {array.ndim} dimensions")
    plain: list[Any] = []
    axis = 0
    for position, entry in enumerate(entries):
        if isinstance(entry, (bool, np.bool_)):
            plain.append(None if entry else np.zeros((0,), np.int64))
            if not entry:
                # An empty selection along a new axis: insert the axis, then select nothing from it.
                array = _with_axis(array, axis)
            axis += 1
        elif _is_mask(entry):
            mask = _mask(entry)
            if mask.ndim == 0:
                plain.append(None if mask else np.zeros((0,), np.int64))
                if not mask:
                    array = _with_axis(array, axis)
                axis += 1
                continue
            for offset, (have, want) in enumerate(zip(mask.shape, array.shape[axis:])):
                if have != want:
                    raise OutOfBoundsError(
                        f"boolean index did not match indexed array along dimension {axis + offset}; "
                        f"dimension is {want} but corresponding boolean dimension is {have}"
                    )
            plain.extend(part.astype(np.int64) for part in np.nonzero(mask))
            axis += mask.ndim
        else:
            plain.append(entry)
            if entry is Ellipsis:
                rest = sum(_mask(e).ndim if _is_mask(e) else e is not None for e in entries[position + 1 :])
                axis = array.ndim - rest
            elif entry is not None:
                axis += 1
    return array, tuple(plain)


def _with_axis(array: Any, axis: int) -> Any:
    shape = array.shape
    return array._share(0, (*shape[:axis], 1, *shape[axis:]))
