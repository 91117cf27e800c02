"""Names for groups of Python types, and helpers for classes, that MXNet's modules show from times of Python 2."""

from __future__ import annotations

from typing import Any

import numpy as np

string_types = (str,)
numeric_types = (float, int, np.generic)
integer_types = (int, np.int32, np.int64)


class classproperty:
    """A property of the class."""

    def __init__(self, func: Any) -> None:
        self.func = func

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self.func(owner)


def with_metaclass(meta: Any, *bases: Any) -> Any:
    """A base class with a metaclass, in the Python 2 and 3 way."""
    return meta("temporary_class", bases, {})
