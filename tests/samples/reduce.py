"""Samples of the reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng

CUBE = rng(1).uniform(0.4, 2.0, (2, 3, 4)).astype(np.float32)
# All different, so that extremes have a gradient.
PERMUTED = (rng(2).permutation(24).reshape(2, 3, 4) * 0.37 - 3).astype(np.float32)
WHOLE = np.array([[1, 2, 3], [4, 5, 7]], np.int32)
BYTES = np.array([200, 100, 3], np.uint8)
FLAGS = np.array([True, False, True])
HALF = np.array([[1, 2, 3], [4, 5, 7]], np.float16)
HOLES = np.array([[1, np.nan, 3], [np.nan, 2, -1]], np.float32)
TIES = np.array([[1, 3, 3], [3, 0, 0]], np.float32)

CASES: list[dict[str, Any]] = [
    {},
    {"axis": 1},
    {"axis": (0, 2)},
    {"axis": -1, "keepdims": True},
    {"axis": (1,), "exclude": True},
    {"keepdims": True},
    {"axis": ()},
    {"axis": "(0, 1)"},
]


def over(fn: Callable[..., np.ndarray], attrs: dict[str, Any]) -> Callable[[np.ndarray], np.ndarray]:
    """The NumPy reduction for MXNet's attributes; a full reduction has shape (1,)."""

    def reference(x: np.ndarray) -> np.ndarray:
        axis = attrs.get("axis")
        axis = (0, 1) if axis == "(0, 1)" else axis
        axis = (axis,) if isinstance(axis, int) else axis
        if attrs.get("exclude"):
            axis = tuple(a for a in range(x.ndim) if a not in axis)
        result = fn(x, axis=axis or None, keepdims=attrs.get("keepdims", False))
        return np.atleast_1d(np.asarray(result))

    return reference


REDUCTIONS = [
    ("sum", np.sum, CUBE),
    ("mean", np.mean, CUBE),
    ("prod", np.prod, CUBE),
    ("nansum", np.nansum, CUBE),
    ("nanprod", np.nanprod, CUBE),
    ("max", np.max, PERMUTED),
    ("min", np.min, PERMUTED),
]

SAMPLES: list[Sample] = []
for name, fn, data in REDUCTIONS:
    SAMPLES += [Sample(name, (data,), attrs, reference=over(fn, attrs)) for attrs in CASES]
    SAMPLES += [
        Sample(
            name,
            (data.astype(np.float64),),
            {"axis": (0, 1)},
            reference=over(fn, {"axis": (0, 1)}),
            tag="float64",
        ),
        Sample(name, (HALF,), {"axis": 1}, tag="float16", rtol=2e-3, numeric_grad=False),
        Sample(name, (WHOLE,), {"axis": 0}, grad=(), tag="int32"),
        Sample(name, (WHOLE,), grad=(), tag="int32"),
        Sample(name, (BYTES,), grad=(), tag="uint8"),
        Sample(name, (FLAGS,), grad=(), tag="bool"),
        Sample(name, (HOLES,), {"axis": 1}, grad=(), tag="nan"),
    ]
for name in ("sum", "prod", "nansum", "nanprod"):
    SAMPLES.append(
        Sample(
            name,
            (np.zeros((0, 3), np.float32),),
            {"axis": 0},
            oracle=False,
            numeric_grad=False,
            why="MXNet makes no such arrays in nd mode",
            reference=over(dict((n, f) for n, f, _ in REDUCTIONS)[name], {"axis": 0}),
        )
    )
for name in ("max", "min"):
    SAMPLES += [
        Sample(name, (TIES,), attrs, numeric_grad=False, tag="ties")
        for attrs in ({}, {"axis": 1}, {"axis": 0, "keepdims": True}, {"axis": 0, "exclude": True})
    ]
SAMPLES += [
    Sample(
        "prod",
        (np.array([0.0, 3.0, 4.0], np.float32),),
        grad=(0,),
        oracle=False,
        why="MXNet's gradient at a zero factor is NaN; ours is right",
        reference=over(np.prod, {}),
        tag="zero",
    ),
    Sample(
        "prod",
        (np.array([[0.0, 3.0, 0.0], [1.0, 2.0, 0.0]], np.float32),),
        {"axis": 1},
        oracle=False,
        why="MXNet's gradient at a zero factor is NaN; ours is right",
        reference=over(np.prod, {"axis": 1}),
        tag="zeros",
    ),
    Sample("nansum", (HOLES,), {"axis": 1}, numeric_grad=False, reference=over(np.nansum, {"axis": 1})),
    Sample("nanprod", (HOLES,), {"axis": 1}, numeric_grad=False, reference=over(np.nanprod, {"axis": 1})),
    Sample("mean", (np.array([-1, -2], np.int32),), grad=(), tag="toward zero"),
    Sample("mean", (np.array([-1, -4], np.int8),), grad=(), tag="int8"),
    Sample(
        "sum",
        (np.ones((3000,), np.float16),),
        grad=(),
        oracle=False,
        why="MXNet adds in float16 and gets stuck at 2048",
        reference=lambda x: np.array([3000.0]),
        tag="float16 accumulates in float32",
    ),
    Sample(
        "_square_sum",
        (CUBE,),
        {"axis": 1},
        oracle=False,
        why="row_sparse only in MXNet",
        reference=lambda x: (x * x).sum(1),
    ),
    Sample(
        "_square_sum",
        (CUBE,),
        {"axis": (0, 1), "keepdims": True},
        oracle=False,
        why="row_sparse only in MXNet",
        reference=lambda x: (x * x).sum((0, 1), keepdims=True),
    ),
]

SIGNED = np.where(rng(3).rand(2, 3, 4) < 0.5, -CUBE, CUBE).astype(np.float32)
for order in (1, 2):
    for attrs in (
        {},
        {"axis": 1},
        {"axis": (0, 1)},
        {"axis": 2, "keepdims": True},
        {"keepdims": True},
        {"axis": (0, 1, 2)},
    ):
        norm_of = (
            (lambda x, **k: np.abs(x).sum(**k)) if order == 1 else (lambda x, **k: np.sqrt((x * x).sum(**k)))
        )
        SAMPLES.append(Sample("norm", (SIGNED,), {"ord": order, **attrs}, reference=over(norm_of, attrs)))
SAMPLES += [
    Sample("norm", (SIGNED.astype(np.float64),), tag="float64"),
    Sample("norm", (HALF,), grad=(), tag="float16", rtol=2e-3),
    Sample("norm", (np.array([0.0, -2.0, 3.0], np.float32),), {"ord": 1}, numeric_grad=False, tag="zero"),
    Sample(
        "norm",
        (CUBE,),
        {"out_dtype": "float64", "axis": 1},
        oracle=False,
        why="MXNet's CPU kernel refuses it",
        reference=lambda x: np.sqrt((x.astype(np.float64) ** 2).sum(1)),
    ),
    Sample(
        "norm",
        (WHOLE,),
        {"out_dtype": "float32"},
        grad=(),
        oracle=False,
        why="MXNet's CPU kernel refuses it",
        reference=lambda x: np.array([np.sqrt(104.0)]),
    ),
]
for name, fn in (("argmax", np.argmax), ("argmin", np.argmin)):
    for axis in (0, 1, -1):
        SAMPLES += [
            Sample(
                name,
                (PERMUTED,),
                {"axis": axis},
                reference=lambda x, f=fn, a=axis: f(x, a),
                numeric_grad=False,
            ),
            Sample(name, (PERMUTED,), {"axis": axis, "keepdims": True}, numeric_grad=False),
        ]
    SAMPLES += [
        Sample(name, (PERMUTED,), grad=()),
        Sample(name, (PERMUTED,), {"keepdims": True}, grad=()),
        Sample(name, (TIES,), {"axis": 1}, grad=(), tag="ties"),
        Sample(name, (HOLES,), {"axis": 1}, grad=(), tag="nan"),
        Sample(name, (WHOLE,), {"axis": 1}, grad=(), tag="int32"),
        Sample(name, (HALF,), {"axis": 0}, grad=(), tag="float16"),
        Sample(name, (PERMUTED.astype(np.float64),), {"axis": 2}, grad=(), tag="float64"),
    ]
SAMPLES += [
    Sample("argmax_channel", (TIES,), grad=(), reference=lambda x: x.argmax(1)),
    Sample("argmax_channel", (PERMUTED,), grad=(), reference=lambda x: x.argmax(1)),
]
for attrs in ({"axes": (0, 1)}, {"axes": (0,), "keepdims": True}, {"axes": -1}, {"axes": (0, 1, 2)}):
    SAMPLES.append(
        Sample(
            "moments",
            (SIGNED,),
            attrs,
            reference=lambda x, a=attrs: (
                np.atleast_1d(x.mean(a["axes"], keepdims=a.get("keepdims", False))),
                np.atleast_1d(x.var(a["axes"], keepdims=a.get("keepdims", False))),
            ),
        )
    )
SAMPLES += [
    Sample("moments", (HALF,), {"axes": 0}, tag="float16", rtol=2e-3, numeric_grad=False),
    Sample("cumsum", (SIGNED,), reference=np.cumsum),
    Sample("cumsum", (SIGNED,), {"axis": 1}, reference=lambda x: np.cumsum(x, 1)),
    Sample(
        "cumsum",
        (SIGNED,),
        {"axis": 0, "dtype": "float64"},
        reference=lambda x: np.cumsum(x, 0, dtype=np.float64),
    ),
    Sample(
        "cumsum",
        (SIGNED,),
        {"axis": -1},
        reference=lambda x: np.cumsum(x, -1),
        oracle=False,
        why="MXNet 1.9.1 fails on negative axes by mistake",
    ),
    Sample("cumsum", (WHOLE,), {"dtype": "float32"}, grad=(), tag="int32"),
    Sample("cumsum", (BYTES,), grad=(), tag="uint8"),
    Sample("cumsum", (FLAGS,), grad=(), tag="bool"),
    Sample("cumsum", (HALF,), {"axis": 1}, tag="float16", numeric_grad=False),
]

ERROR_SAMPLES = [
    ErrorSample("sum", "Exceeds input dimensions", (CUBE,), {"axis": 3}),
    ErrorSample("max", "Exceeds input dimensions", (CUBE,), {"axis": -4}),
    ErrorSample("mean", "duplicates", (CUBE,), {"axis": (0, 0)}),
    ErrorSample("max", "size should > 0", (np.zeros((0, 3), np.float32),)),
    ErrorSample("norm", "ord=1 and ord=2", (CUBE,), {"ord": 3}),
    ErrorSample("argmax", "axis 5 exceeds", (CUBE,), {"axis": 5}),
    ErrorSample("argmax_channel", "exceeds", (BYTES,)),
    ErrorSample("moments", "Empty axes", (CUBE,)),
    ErrorSample("cumsum", "out of range", (CUBE,), {"axis": 4}),
]
