"""What goes between a loader and its worker processes: pickled objects, arrays as NumPy."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np

from gluonjax.gluon._errors import MXNetError
from gluonjax.ndarray import NDArray
from gluonjax.ndarray.ndarray import wrap


class CannotSend(MXNetError):
    """An object cannot be sent to another process."""


class _Pickler(pickle.Pickler):
    """Sends arrays by value, on the CPU, and notices what belongs to the running script."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.needs_script = False

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, NDArray) and obj.stype == "default":
            return _array, (np.asarray(obj.asnumpy()), type(obj))
        owner = getattr(obj, "__module__", None) if isinstance(obj, type) or callable(obj) else None
        if owner == "__main__":
            self.needs_script = True
        return NotImplemented


def _array(value: np.ndarray, cls: type[NDArray]) -> NDArray:
    return wrap(value)._as_class(cls)


def packed(value: Any) -> tuple[bytes, bool]:
    """The bytes of an object, and whether reading them needs what the running script defines.

    Raises:
        CannotSend: where it cannot be pickled.
    """
    buffer = io.BytesIO()
    pickler = _Pickler(buffer)
    try:
        pickler.dump(value)
    except Exception as error:
        raise CannotSend(f"{type(error).__name__}: {error}") from error
    return buffer.getvalue(), pickler.needs_script


def unpacked(data: bytes) -> Any:
    """The object that ``packed`` made bytes of; only read what our own processes wrote."""
    return pickle.loads(data)
