"""``mx.nd.sparse``: arrays with storage type csr or row_sparse, and functions that keep it.

Values are dense inside, so every operator and every device serves sparse arrays; what is stored
(``indices``, ``indptr``, ``data``) and which results stay sparse is as in MXNet. The rest of the namespace
comes from the registry.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from gluonjax.ndarray import _sparse_rules as _sparse_rules
from gluonjax.ndarray import register
from gluonjax.ndarray._sparse_arrays import CSRNDArray, RowSparseNDArray, retain
from gluonjax.ndarray._sparse_base import (
    BaseSparseNDArray,
    cast_storage,
    elementwise,
    from_block,
    sparse_handle,
)
from gluonjax.ndarray._sparse_creation import array, csr_matrix, empty, row_sparse_array, zeros
from gluonjax.ndarray.ndarray import NDArray

__all__ = [
    "BaseSparseNDArray", "CSRNDArray", "NDArray", "RowSparseNDArray", "add", "array", "cast_storage",
    "csr_matrix", "divide", "dot", "empty", "from_block", "multiply", "retain", "row_sparse_array",
    "subtract", "zeros",
]  # fmt: skip


def _binary(name: str) -> Callable[[Any, Any], Any]:
    def function(lhs: Any, rhs: Any) -> Any:
        return elementwise(name, lhs, rhs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Element by element ``{name}`` of arrays or numbers. Arrays of one sparse type and shape keep the "
        "type, different shapes broadcast."
    )
    return function


add = _binary("add")
subtract = _binary("subtract")
multiply = _binary("multiply")
divide = _binary("divide")


def _with_forward_stype(function: Callable[..., Any]) -> Callable[..., Any]:
    """Dense x dense that asks for a sparse result; sparse inputs are seen to by the storage rules."""

    @functools.wraps(function)
    def dot(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        wanted = kwargs.get("forward_stype")
        if wanted in ("csr", "row_sparse") and type(result) is NDArray and kwargs.get("out") is None:
            return sparse_handle(result, wanted)
        return result

    return dot


register.replace("cast_storage", cast_storage)
register.replace("_sparse_cast_storage", cast_storage)
for _name in ("dot", "_sparse_dot"):
    register.replace(_name, _with_forward_stype(register.operator_function(_name)))
dot = register.operator_function("_sparse_dot")


def __getattr__(name: str) -> Any:
    if name == "NotSupportedForSparseNDArray":
        from gluonjax.base import NotSupportedForSparseNDArray

        return NotSupportedForSparseNDArray
    raise AttributeError(f"module 'gluonjax.ndarray.sparse' has no attribute {name!r}")
