"""Cases that run under the real MXNet (to record) and under this library (to compare): NumPy only.

A case is a name and a function of the ``mx`` module. ``outcome`` turns whatever it returns or raises into JSON.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

THEMES = ("memory", "reading", "writing", "dtypes", "printing", "conversion")


class Case(NamedTuple):
    """One thing to do with ``mx``; its result or its error is compared."""

    name: str
    run: Callable[[Any], Any]


def cases_of(theme: str) -> list[Case]:
    """The cases of one module of this package; their names are distinct."""
    found = importlib.import_module(f"{__name__}.{theme}").cases()
    names = [case.name for case in found]
    assert len(set(names)) == len(names), sorted({name for name in names if names.count(name) > 1})
    return found


def outcome(case: Case, mx: Any) -> Any:
    """What the case gives, as JSON can hold it; an error becomes its kind and its last line."""
    try:
        return encode(case.run(mx))
    except Exception as error:
        return {"error": kind_of(error), "kinds": [kind.__name__ for kind in type(error).__mro__]}


def kind_of(error: Exception) -> str:
    """The most telling built-in class of an error; MXNetError where there is none."""
    for kind in (IndexError, TypeError, ValueError, KeyError, AttributeError, ZeroDivisionError):
        if isinstance(error, kind):
            return kind.__name__
    return "MXNetError" if any(k.__name__ == "MXNetError" for k in type(error).__mro__) else type(error).__name__


def encode(value: Any) -> Any:
    """NDArrays and NumPy arrays with shape, dtype and content; containers; plain values."""
    if hasattr(value, "asnumpy"):
        return {"ndarray": encode(value.asnumpy())}
    if isinstance(value, np.ndarray):
        return {"shape": list(value.shape), "dtype": value.dtype.name, "values": _texts(value.reshape(-1).tolist())}
    if isinstance(value, np.generic):
        return {"dtype": value.dtype.name, "values": _texts([value.item()])}
    if isinstance(value, type):
        return {"class": value.__name__}
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, dict):
        return {str(key): encode(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(entry) for entry in value]
    if isinstance(value, bytes):
        return value.hex()
    if value is None or isinstance(value, (str, int, bool)):
        return value
    return str(value)


def _texts(values: list[Any]) -> list[Any]:
    return [repr(value) if isinstance(value, float) else value for value in values]
