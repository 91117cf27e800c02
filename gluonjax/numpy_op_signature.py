"""Finds the Python function of a NumPy operator by its registered name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _get_builtin_op(op_name: str) -> Callable[..., Any] | None:
    """The function of ``_np_<name>`` or ``_npx_<name>``, or None where there is none.

    >>> _get_builtin_op("_np_sum").__name__
    'sum'
    """
    from gluonjax.numpy import _op as numpy_functions
    from gluonjax.numpy_extension import _op as extension_functions

    for prefix, module in (("_np_", numpy_functions), ("_npx_", extension_functions)):
        if op_name.startswith(prefix):
            return getattr(module, op_name[len(prefix) :], None)
    return None
