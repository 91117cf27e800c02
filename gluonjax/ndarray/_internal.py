"""Operators of ``mx.nd._internal``; filled from the registry when the package is imported.

Here are those that are no operators of a graph: they write to an array, or deal with pictures on the host.
"""

from __future__ import annotations

from typing import Any

from gluonjax._base.errors import OperatorError

# Names under which 1.9.1 registers the functions of mx.image, which is a level above: found on first use.
_PICTURES = {
    "_cvimdecode": "imdecode",
    "_cvimread": "imread",
    "_cvimresize": "imresize",
    "_cvcopyMakeBorder": "copyMakeBorder",
}


def _set_value(src: float, out: Any = None) -> Any:
    """Fill the array ``out`` with a number."""
    if out is None:
        raise OperatorError("_set_value: Set value target must not be empty; pass out=")
    out[:] = src
    return out


def __getattr__(name: str) -> Any:
    if name in _PICTURES:
        from gluonjax.image import image

        return getattr(image, _PICTURES[name])
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
