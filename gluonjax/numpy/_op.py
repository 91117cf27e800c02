"""The functions that MXNet generates from its registry, under the name it keeps them."""

from __future__ import annotations

from gluonjax.numpy._creation import copy as copy
from gluonjax.numpy._products import dot as dot
from gluonjax.numpy._reductions import (
    all,
    amax,
    amin,
    any,
    cumsum,
    max,
    min,
    prod,
    product,
    sometrue,
    sum,
)  # fmt: skip
from gluonjax.numpy._shapes import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    diag,
    diagflat,
    diagonal,
    moveaxis,
    repeat,
    reshape,
    roll,
    squeeze,
    trace,
    transpose,
)  # fmt: skip

__all__ = [
    "all", "amax", "amin", "any", "atleast_1d", "atleast_2d", "atleast_3d", "copy", "cumsum", "diag",
    "diagflat",
    "diagonal", "dot", "max", "min", "moveaxis", "prod", "product", "repeat", "reshape", "roll", "sometrue",
    "squeeze", "sum", "trace", "transpose",
]  # fmt: skip
