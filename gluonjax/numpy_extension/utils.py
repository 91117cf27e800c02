"""Saving and loading ``mx.np`` arrays in the .params format."""

from __future__ import annotations

from typing import Any

from gluonjax.base import string_types as string_types
from gluonjax.ndarray import utils as _files
from gluonjax.numpy.multiarray import ndarray
from gluonjax.util import is_np_array as is_np_array
from gluonjax.util import is_np_shape as is_np_shape


def save(file: str, arr: Any) -> None:
    """Write an array, a list of arrays or a dictionary of arrays to a file.

    Arrays of shape () and empty arrays are kept, so np-shape semantics have to be on.
    """
    if isinstance(arr, ndarray):
        arr = [arr]
    entries = arr.values() if isinstance(arr, dict) else arr
    if isinstance(arr, dict):
        for key in arr:
            if not isinstance(key, str):
                raise TypeError(f"save: keys have to be str, got {type(key).__name__}")
    elif not isinstance(arr, (list, tuple)):
        raise ValueError(f"save: wants an array, a list or a dictionary of them, got {type(arr).__name__}")
    for entry in entries:
        if not isinstance(entry, ndarray):
            raise TypeError(f"save: wants mx.np arrays, got {type(entry).__name__}")
    _files.save(file, arr)


def load(file: str) -> Any:
    """Read what ``save`` wrote: a list, or a dictionary where the arrays have names."""
    found = _files.load(file)
    if isinstance(found, dict):
        return {name: array.as_np_ndarray() for name, array in found.items()}
    return [array.as_np_ndarray() for array in found]
