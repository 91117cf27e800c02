"""Checks of values before an operator runs: what the compiled program could not complain about.

Shapes and dtypes are checked while tracing. Ranges of attributes that are data to the program (``low``,
``scale``) and indices that have to lie inside of an array need values; under a trace nothing is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gluonjax._base.errors import MXNetError, OperatorError, OutOfBoundsError
from gluonjax._engine.inflight import Failed
from gluonjax._engine.run import is_tracer
from gluonjax._ops import random as random_family
from gluonjax._ops.indexing_points import CHECKS_BOUNDS, bounds_problem
from gluonjax._ops.opdef import Attrs, OpDef

# What it means where these answer with numbers that are not finite for an input of finite ones.
_NO_RESULT = {
    "_linalg_potrf": "potrf failed: the input matrix is either not symmetric or not positive definite",
    "_linalg_potri": "potri failed: the input matrix is not a Cholesky factorization, as potrf gives it",
    "_linalg_inverse": "the input matrix is non-convertible: it is singular",
}

Check = Callable[[dict[str, Any], Sequence[Any]], None]


def _bounds_check(name: str) -> Check:
    def check(attrs: dict[str, Any], inputs: Sequence[Any]) -> None:
        if any(is_tracer(value) for value in inputs):
            return
        problem = bounds_problem(name, Attrs(attrs), inputs)
        if problem is not None:
            raise OutOfBoundsError(problem)

    return check


def _attribute_check(test: Callable[[dict[str, Any]], None]) -> Check:
    def check(attrs: dict[str, Any], inputs: Sequence[Any]) -> None:
        test(attrs)

    return check


def check_of(op: OpDef, attrs: dict[str, Any]) -> Check | None:
    """The check ``(attributes, input values) -> None`` of a call with these attributes, or None."""
    if op.name in CHECKS_BOUNDS and attrs.get("mode", "raise") == "raise":
        return _bounds_check(op.name)
    test = random_family.VALUE_CHECKS.get(op.name)
    return None if test is None else _attribute_check(test)


Verification = Callable[[Sequence[Any], Sequence[Any]], MXNetError | None]


def verification_of(op: OpDef) -> Verification | None:
    """``(inputs, results) -> error or None`` for operators that some inputs have no result for."""
    text = _NO_RESULT.get(op.name)
    if text is None:
        return None

    def verify(inputs: Sequence[Any], results: Sequence[Any]) -> MXNetError | None:
        if any(is_tracer(value) or type(value) is Failed for value in (*inputs, *results)):
            return None
        if np.isfinite(np.asarray(results[0])).all() or not np.isfinite(np.asarray(inputs[0])).all():
            return None
        return OperatorError(f"{op.name}: {text}")

    return verify
