"""``mx.libinfo``: MXNet's version and where its library was; here, where the package is."""

from __future__ import annotations

import os

__version__ = "1.9.1"


def find_lib_path(prefix: str = "libmxnet") -> list[str]:
    """The package's folder; there is no shared library."""
    return [os.path.dirname(os.path.abspath(__file__))]


def find_include_path() -> str:
    """The package's folder; there are no C headers."""
    return os.path.dirname(os.path.abspath(__file__))
