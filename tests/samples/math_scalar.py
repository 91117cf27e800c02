"""Samples of the operators of an array and a number."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.samples._sample import Sample

Reference = Callable[[np.ndarray, float], np.ndarray]


def truth(fn: Callable[..., np.ndarray]) -> Reference:
    """A NumPy comparison that answers in the dtype of the array."""
    return lambda x, s: fn(x, s).astype(x.dtype)


def swapped(fn: Callable[..., np.ndarray]) -> Reference:
    return lambda x, s: fn(s, x)


SMOOTH: list[tuple[str, Reference]] = [
    ("_plus_scalar", np.add),
    ("_minus_scalar", np.subtract),
    ("_rminus_scalar", swapped(np.subtract)),
    ("_mul_scalar", np.multiply),
    ("_div_scalar", np.divide),
    ("_rdiv_scalar", swapped(np.divide)),
    ("_mod_scalar", np.mod),
    ("_rmod_scalar", swapped(np.mod)),
    ("_power_scalar", np.power),
    ("_rpower_scalar", swapped(np.power)),
    ("_maximum_scalar", np.maximum),
    ("_minimum_scalar", np.minimum),
    ("_hypot_scalar", np.hypot),
    ("_scatter_plus_scalar", np.add),
    ("_scatter_minus_scalar", np.subtract),
]
COMPARISON: list[tuple[str, Reference]] = [
    ("_equal_scalar", np.equal),
    ("_not_equal_scalar", np.not_equal),
    ("_greater_scalar", np.greater),
    ("_greater_equal_scalar", np.greater_equal),
    ("_lesser_scalar", np.less),
    ("_lesser_equal_scalar", np.less_equal),
    ("_logical_and_scalar", np.logical_and),
    ("_logical_or_scalar", np.logical_or),
    ("_logical_xor_scalar", np.logical_xor),
]

POSITIVE = np.array([[1.3, 2.6, 3.7], [0.8, 4.4, 5.9]], np.float32)
EDGES = np.array([-2.0, -1.5, 0.5, 1.0, 2.0, 3.0], np.float32)
WHOLE = np.array([1, 3, 5, 8], np.int32)
BYTES = np.array([1, 3, 5, 250], np.uint8)
FLAGS = np.array([False, True, True])


def with_scalar(reference: Reference, scalar: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: reference(x, x.dtype.type(scalar))


SAMPLES: list[Sample] = []
for name, reference in SMOOTH:
    SAMPLES += [
        Sample(name, (POSITIVE,), {"scalar": 2.25}, reference=with_scalar(reference, 2.25)),
        Sample(
            name,
            (POSITIVE.astype(np.float64),),
            {"scalar": 1.7},
            reference=with_scalar(reference, 1.7),
            tag="float64",
        ),
        Sample(
            name,
            (POSITIVE.astype(np.float16),),
            {"scalar": 1.5},
            tag="float16",
            rtol=4e-3,
            atol=4e-3,
            numeric_grad=False,
        ),
        Sample(name, (WHOLE,), {"scalar": 2.5}, grad=(), tag="int32 cuts the scalar off"),
        Sample(name, (WHOLE,), {"scalar": -2.0}, grad=(), tag="int32 negative"),
        Sample(name, (WHOLE,), {"scalar": 2.5, "is_int": False}, grad=(), tag="int32 with a fraction"),
        Sample(
            name,
            (FLAGS,),
            {"scalar": 2.0},
            grad=(),
            tag="bool",
            # Whole-number division by zero has no defined value in MXNet.
            **({"oracle": False, "why": "division by zero"} if name == "_rdiv_scalar" else {}),
        ),
        Sample(
            name,
            (np.zeros((0, 2), np.float32),),
            {"scalar": 2.0},
            oracle=False,
            numeric_grad=False,
            why="MXNet makes no such arrays in nd mode",
            tag="empty",
        ),
    ]
    if name not in ("_power_scalar", "_rpower_scalar", "_hypot_scalar"):
        SAMPLES.append(Sample(name, (BYTES,), {"scalar": -2.0}, grad=(), tag="uint8 wraps"))
for name, reference in COMPARISON:
    SAMPLES += [
        Sample(
            name, (EDGES,), {"scalar": 2.0}, reference=with_scalar(truth(reference), 2.0), numeric_grad=False
        ),
        Sample(name, (EDGES,), {"scalar": 0.0}, numeric_grad=False, tag="zero"),
        Sample(name, (WHOLE,), {"scalar": 3.5}, grad=(), tag="int32"),
        Sample(name, (WHOLE,), {"scalar": 3.5, "is_int": False}, grad=(), tag="int32 with a fraction"),
        Sample(name, (FLAGS,), {"scalar": 1.0}, grad=(), tag="bool"),
    ]
for name in ("_maximum_scalar", "_minimum_scalar", "_mod_scalar", "_rmod_scalar", "_hypot_scalar"):
    SAMPLES += [
        Sample(name, (EDGES,), {"scalar": 2.0}, numeric_grad=False, tag="edges"),
        Sample(name, (EDGES,), {"scalar": -1.5}, numeric_grad=False, tag="negative"),
    ]
SAMPLES += [
    Sample("_mod_scalar", (EDGES,), {"scalar": 0.0}, numeric_grad=False, tag="by zero"),
    Sample("_maximum_scalar", (np.array([np.nan, 1.0], np.float32),), {"scalar": 2.0}, grad=(), tag="nan"),
    Sample("_power_scalar", (EDGES,), {"scalar": 2.0}, numeric_grad=False, tag="negative base"),
    Sample("_power_scalar", (EDGES,), {"scalar": 3}, reference=lambda x: x**3, tag="odd"),
    Sample("_plus_scalar", (POSITIVE,), reference=lambda x: x + 1, tag="default"),
]
ERROR_SAMPLES: list = []
