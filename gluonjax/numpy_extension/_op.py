"""The registered ``_npx_*`` operators as functions on ``mx.np`` arrays, and three that are functions only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as _numpy

from gluonjax._base.errors import MXNetError
from gluonjax._ops import registry as _registry
from gluonjax._ops.numpy import host as _host
from gluonjax.ndarray.register import make_function
from gluonjax.numpy import _reductions
from gluonjax.numpy._call import invoke, kernel_of, shape_of
from gluonjax.numpy._shapes import reshape as _reshape
from gluonjax.numpy.multiarray import ndarray

PREFIX = "_npx_"
# Registered without the prefix, since the legacy operator does for both.
SHARED = {
    "relu": "relu", "sigmoid": "sigmoid", "roi_pooling": "ROIPooling",
    "multibox_prior": "_contrib_MultiBoxPrior",
    "multibox_target": "_contrib_MultiBoxTarget", "multibox_detection": "_contrib_MultiBoxDetection",
}  # fmt: skip


def functions() -> dict[str, Callable[..., Any]]:
    """All operators of this namespace by their short names."""
    found = {name[len(PREFIX) :]: op for name, op in _registry.items() if name.startswith(PREFIX)}
    for name, legacy in SHARED.items():
        op = _registry.find(legacy)
        if op is not None:
            found.setdefault(name, op)
    return {
        name: make_function(op, name, ndarray)
        for name, op in found.items()
        if not name.startswith("_") and name not in ("nonzero", "reshape", "constraint_check")
    }


def nonzero(a: ndarray) -> ndarray:
    """The positions of nonzero elements, one int64 row for each."""
    return invoke(kernel_of(_host.nonzero_rows, host=True), (a,), ndarray)


def constraint_check(x: ndarray, msg: str = "Constraint violated!") -> ndarray:
    """True where all elements are true; raises ValueError with ``msg`` otherwise."""
    result = _reductions.all(x)
    if not bool(result.asnumpy()):
        raise ValueError(msg)
    return result


def reshape(a: ndarray, newshape: Any, reverse: bool = False, order: str = "C") -> ndarray:
    """Reshape with codes: -1 infer, -2 copy a length, -3 drop a length of 1, -4 copy all that is left,
    -5 multiply two lengths, -6 split a length into the two numbers that follow.

    Args:
        reverse: match the codes from the last axis backwards.
    """
    shape = solve_codes(a.shape, shape_of(newshape), reverse)
    return _reshape(a, shape, order)


def solve_codes(shape: tuple[int, ...], codes: tuple[int, ...], reverse: bool = False) -> tuple[int, ...]:
    """The shape that ``reshape``'s codes stand for.

    >>> solve_codes((2, 3, 8), (-2, -2, -6, 2, -1))
    (2, 3, 2, 4)
    """
    if reverse:
        groups: list[tuple[int, ...]] = []
        position = 0
        while position < len(codes):
            width = 3 if codes[position] == -6 else 1
            group = codes[position : position + width]
            groups.append((group[0], group[2], group[1]) if width == 3 and len(group) == 3 else group)
            position += width
        backward = tuple(code for group in groups[::-1] for code in group)
        return solve_codes(shape[::-1], backward)[::-1]
    rest = list(shape)
    result: list[int] = []
    remaining = list(codes)

    def take(code: int) -> int:
        if not rest:
            raise MXNetError(f"reshape: code {code} in {codes} has no length of shape {shape} left to read")
        return rest.pop(0)

    while remaining:
        code = remaining.pop(0)
        if code >= 0 or code == -1:
            result.append(code)
            if rest:
                rest.pop(0)
        elif code == -2:
            result.append(take(code))
        elif code == -3:
            length = take(code)
            if length != 1:
                raise MXNetError(f"reshape: code -3 in {codes} drops a length of 1, got {length} in shape {shape}")
        elif code == -4:
            result.extend(rest)
            rest.clear()
        elif code == -5:
            result.append(take(code) * take(code))
        elif code == -6:
            length = take(code)
            if len(remaining) < 2:
                raise MXNetError(f"reshape: code -6 in {codes} wants two numbers after it")
            left, right = remaining.pop(0), remaining.pop(0)
            left = length // right if left == -1 else left
            right = length // left if right == -1 else right
            if left * right != length:
                raise MXNetError(f"reshape: code -6 in {codes} cannot split {length} into {left} and {right}")
            result.extend((left, right))
        else:
            raise MXNetError(f"reshape: unknown code {code} in {codes}; codes go from -1 to -6")
    known = int(_numpy.prod([n for n in result if n != -1], dtype=_numpy.int64))
    size = int(_numpy.prod(shape, dtype=_numpy.int64))
    return tuple((size // known if known else 0) if n == -1 else n for n in result)
