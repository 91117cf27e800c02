"""Operators with given attributes as traced functions, so that every question about one shape traces it once.

Shape inference, the run and its NumPy program all ask for the same jaxpr.
"""

from __future__ import annotations

import functools
from typing import Any

from gluonjax._engine.compile import Jitted
from gluonjax._ops.opdef import Attrs, OpDef


def function_of(op: OpDef, attrs: tuple[tuple[str, Any], ...], train: bool) -> Jitted:
    """The operator as a function of arrays.

    Args:
        attrs: all attributes with their values.
        train: training mode; it only counts for operators that depend on it.
    """
    return _function_of(op, attrs, tuple(type(value) for _, value in attrs), train and op.uses_train)


@functools.lru_cache(maxsize=16384)
def _function_of(op: OpDef, attrs: tuple[tuple[str, Any], ...], kinds: tuple[type, ...], train: bool) -> Jitted:
    # 1, 1.0 and True are equal and mean different things.
    return Jitted(op.pure(Attrs(attrs), train))
