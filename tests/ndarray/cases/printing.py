"""``repr`` and ``str`` for many types and shapes."""

from __future__ import annotations

import numpy as np

from tests.ndarray.cases import Case

DTYPES = ("float16", "float32", "float64", "uint8", "int8", "int32", "int64", "bool")
SHAPES = ((1,), (2,), (1, 2), (2, 2), (3, 1, 2), (1, 1, 1, 1), (40,), (1001,), (1200, 3), (20, 60, 2))
CONTENTS = {
    "mixed": [0.1, -2.5, 1000.0], "small": [1e-8, 1.0], "large": [1e10, 1.0],
    "nan": [float("nan"), float("inf"), -1.0], "thirds": [1 / 3, 2 / 3, 1.0], "negative zero": [-0.0, 0.0],
}  # fmt: skip


def _show(shape, dtype):
    def run(mx):
        count = int(np.prod(shape))
        return repr(mx.nd.array((np.arange(count) % 120).reshape(shape), dtype=dtype))

    return run


def _content(values, dtype):
    return lambda mx: repr(mx.nd.array(values, dtype=dtype))


OTHERS = {
    "context": lambda mx: repr(mx.nd.zeros((1,), ctx=mx.cpu(3))), "str": lambda mx: str(mx.nd.ones((2, 2))),
    "format": lambda mx: f"{mx.nd.ones((2,))}", "list": lambda mx: str([mx.nd.ones((1,)), mx.nd.zeros((2,))]),
    "view": lambda mx: repr(mx.nd.arange(6).reshape((2, 3))[1]),
    "scalar view": lambda mx: repr(mx.nd.arange(3)[1]), "sum": lambda mx: repr(mx.nd.ones((2, 3)).sum()),
    "zero size": lambda mx: repr(mx.nd.arange(3)[3:]),
    "zero dim": lambda mx: repr(mx.nd.array(np.float32(2.5))),
    "zero size 2d": lambda mx: repr(mx.nd.ones((2, 3))[2:]),
    "compare": lambda mx: repr(mx.nd.array([1, 2]) > 1),
    "context text": lambda mx: [str(mx.cpu()), repr(mx.cpu(2)), str(mx.cpu_pinned())],
    "np shape": lambda mx: _np_shape(mx),
}  # fmt: skip


def _np_shape(mx):
    with mx.util.np_shape(True):
        return [repr(mx.nd.ones(())), repr(mx.nd.ones((0, 2))), repr(mx.nd.arange(3)[1])]


def cases() -> list[Case]:
    """All cases of this theme."""
    found = [Case(f"{dtype} {shape}", _show(shape, dtype)) for dtype in DTYPES for shape in SHAPES]
    found += [
        Case(f"{name} {dtype}", _content(values, dtype))
        for name, values in CONTENTS.items()
        for dtype in ("float16", "float32", "float64")
    ]
    return found + [Case(name, run) for name, run in OTHERS.items()]
