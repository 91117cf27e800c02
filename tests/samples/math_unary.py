"""Samples of the operators of one array."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng


def spread(low: float, high: float, shape: tuple[int, ...] = (2, 3), seed: int = 0) -> np.ndarray:
    """Numbers between low and high, float32."""
    return rng(seed).uniform(low, high, shape).astype(np.float32)


def each(fn: Callable[[float], float]) -> Callable[[np.ndarray], np.ndarray]:
    """A function of one float, applied to every element in float64."""
    return lambda x: np.vectorize(fn, otypes=[np.float64])(x.astype(np.float64))


def halves_away(x: np.ndarray) -> np.ndarray:
    return np.sign(x) * np.floor(np.abs(x) + 0.5)


# Operator, NumPy reference, the interval where it is smooth.
SMOOTH = [
    ("abs", np.abs, 0.3, 3),
    ("square", np.square, -3, 3),
    ("negative", np.negative, -3, 3),
    ("sqrt", np.sqrt, 0.3, 4),
    ("rsqrt", lambda x: 1 / np.sqrt(x), 0.3, 4),
    ("cbrt", np.cbrt, 0.3, 4),
    ("rcbrt", lambda x: 1 / np.cbrt(x), 0.3, 4),
    ("reciprocal", np.reciprocal, 0.3, 4),
    ("exp", np.exp, -2, 2),
    ("expm1", np.expm1, -2, 2),
    ("log", np.log, 0.3, 4),
    ("log10", np.log10, 0.3, 4),
    ("log2", np.log2, 0.3, 4),
    ("log1p", np.log1p, -0.5, 4),
    ("sin", np.sin, -3, 3),
    ("cos", np.cos, -3, 3),
    ("tan", np.tan, -1.2, 1.2),
    ("arcsin", np.arcsin, -0.9, 0.9),
    ("arccos", np.arccos, -0.9, 0.9),
    ("arctan", np.arctan, -3, 3),
    ("sinh", np.sinh, -2, 2),
    ("cosh", np.cosh, -2, 2),
    ("tanh", np.tanh, -2, 2),
    ("arcsinh", np.arcsinh, -3, 3),
    ("arccosh", np.arccosh, 1.3, 4),
    ("arctanh", np.arctanh, -0.8, 0.8),
    ("degrees", np.degrees, -3, 3),
    ("radians", np.radians, -180, 180),
    ("gamma", each(math.gamma), 0.6, 4),
    ("gammaln", each(math.lgamma), 0.6, 4),
    ("erf", each(math.erf), -2, 2),
    ("erfinv", None, -0.8, 0.8),
    ("sigmoid", lambda x: 1 / (1 + np.exp(-x)), -3, 3),
    ("softsign", lambda x: x / (1 + np.abs(x)), 0.2, 3),
    ("relu", lambda x: np.maximum(x, 0), 0.2, 3),
    ("_copy", np.array, -3, 3),
    ("hard_sigmoid", lambda x: np.clip(0.2 * x + 0.5, 0, 1), -2.2, 2.2),
    ("_contrib_div_sqrt_dim", lambda x: x / np.sqrt(x.shape[-1]), -3, 3),
]

# Operator, NumPy reference; the gradient is 0 everywhere.
FLAT = [
    ("sign", np.sign),
    ("round", halves_away),
    ("rint", lambda x: np.ceil(x - 0.5)),
    ("ceil", np.ceil),
    ("floor", np.floor),
    ("trunc", np.trunc),
    ("fix", np.trunc),
    ("logical_not", lambda x: (x == 0).astype(x.dtype)),
    ("BlockGrad", np.array),
    ("zeros_like", np.zeros_like),
    ("ones_like", np.ones_like),
]

EDGES = np.array([-2.5, -1.5, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 1.5, 2.5], np.float32)
WHOLE = np.array([[1, 2, 3], [4, 7, 9]], np.int32)
BYTES = np.array([0, 1, 2, 200], np.uint8)
WHOLE_OK = ("abs", "square", "negative", "relu", "_copy", "zeros_like", "ones_like", "sign", "round", "floor")
CUT_OFF = ("sqrt", "rsqrt", "cbrt", "exp", "log", "log10", "log2", "arctan", "tanh", "sigmoid", "degrees")

SAMPLES: list[Sample] = []
for number, (name, reference, low, high) in enumerate(SMOOTH):
    # Steep functions amplify the last bit of a float32 argument.
    rtol = 2e-5 if name in ("gamma", "rcbrt", "cosh", "sinh") else 1e-5
    SAMPLES += [
        Sample(name, (spread(low, high, seed=number),), reference=reference, rtol=rtol),
        Sample(
            name,
            (spread(low, high, (2, 1, 3), number).astype(np.float64),),
            reference=reference,
            tag="float64",
        ),
        Sample(
            name,
            (spread(low, high, (4,), number).astype(np.float16),),
            reference=reference,
            tag="float16",
            rtol=3e-3,
            atol=2e-3,
            numeric_grad=False,
        ),
    ]
for name, reference in FLAT:
    SAMPLES += [
        Sample(name, (spread(-3, 3, seed=7),), reference=reference, numeric_grad=name != "BlockGrad"),
        Sample(name, (EDGES,), reference=reference, numeric_grad=False, tag="edges"),
    ]
SAMPLES += [Sample(name, (WHOLE,), grad=(), tag="int32") for name in (*WHOLE_OK, *CUT_OFF)]
SAMPLES += [Sample(name, (BYTES,), grad=(), tag="uint8") for name in WHOLE_OK]
SAMPLES += [
    Sample(
        name,
        (spread(-1, 1, (2, 0, 3)),),
        oracle=False,
        why="MXNet makes no such arrays in nd mode",
        reference=np.array,
        numeric_grad=False,
        tag="empty",
    )
    for name in ("abs", "sign", "relu", "_copy")
]
SAMPLES += [
    Sample("abs", (EDGES,), reference=np.abs, numeric_grad=False, tag="tie"),
    Sample("relu", (EDGES,), reference=lambda x: np.maximum(x, 0), numeric_grad=False, tag="tie"),
    Sample("softsign", (EDGES,), numeric_grad=False, tag="at 0"),
    Sample(
        "gamma",
        (np.array([-1.5, -0.5, -2.5, 5.0], np.float32),),
        reference=each(math.gamma),
        rtol=2e-5,
        tag="negative",
    ),
    Sample(
        "gammaln",
        (np.array([-1.5, -0.5, -2.5, 9.0], np.float32),),
        reference=each(math.lgamma),
        tag="negative",
        grad=(),
    ),
    Sample("gammaln", (np.array([0.0, -1.0, -7.0, 1e-300, 2.0]),), numeric_grad=False, tag="poles"),
    Sample("gammaln", (np.array([0.0, -1.0, 1e-30, 2.0], np.float32),), numeric_grad=False, tag="poles"),
    Sample("rint", (np.array([8388609.0, 16777215.0, -3.49], np.float32),), numeric_grad=False, tag="large"),
    Sample("round", (np.array([8388609.0, 0.49999997, -3.5], np.float32),), numeric_grad=False, tag="large"),
    Sample("hard_sigmoid", (np.array([-0.4, 0.2, 0.9], np.float32),), {"alpha": 0.5, "beta": 0.25}),
    Sample(
        "hard_sigmoid",
        (np.array([-0.5, 0.0, 1.5, 3.0], np.float32),),
        {"alpha": 0.5, "beta": 0.25},
        numeric_grad=False,
        tag="edges",
    ),
    Sample("make_loss", (spread(-2, 2),), reference=np.array, numeric_grad=False),
    Sample("make_loss", (spread(-2, 2, (3,)).astype(np.float64),), reference=np.array, numeric_grad=False),
    Sample("_copy", (np.array([True, False]),), grad=(), reference=np.array, tag="bool"),
    Sample("zeros_like", (np.array([True, False]),), grad=(), reference=np.zeros_like, tag="bool"),
    Sample("smooth_l1", (np.array([-2.0, 0.25, 0.3, 1.5], np.float32),)),
    Sample("smooth_l1", (np.array([-2.0, 0.2, 0.3, 1.5, -0.2], np.float32),), {"scalar": 2.0}),
    Sample(
        "smooth_l1",
        (np.array([0.25, -0.25, 0.0], np.float32),),
        {"scalar": 2.0},
        numeric_grad=False,
        tag="edges",
    ),
    Sample("smooth_l1", (np.array([-3, 0, 1, 2], np.int32),), {"scalar": 1.0}, grad=(), tag="int32"),
    Sample(
        "clip",
        (spread(-3, 3, (3, 4)),),
        {"a_min": -1.25, "a_max": 1.75},
        reference=lambda x: np.clip(x, -1.25, 1.75),
    ),
    Sample(
        "clip",
        (np.array([-2.0, -1.0, 0.0, 1.0, 2.0], np.float32),),
        {"a_min": -1, "a_max": 1},
        numeric_grad=False,
        tag="edges",
    ),
    Sample(
        "clip",
        (np.array([0.0, 1.5, 3.0], np.float32),),
        {"a_min": 2, "a_max": 1},
        numeric_grad=False,
        tag="crossed",
    ),
    Sample(
        "clip", (np.array([-2, -1, 0, 1, 2], np.int32),), {"a_min": -1.5, "a_max": 1.5}, grad=(), tag="int32"
    ),
    Sample(
        "clip", (np.array([0, 1, 2, 200], np.uint8),), {"a_min": -1.5, "a_max": 1000.0}, grad=(), tag="uint8"
    ),
    Sample("clip", (spread(-2, 2).astype(np.float64),), {"a_min": "-1.0", "a_max": "0.5"}, tag="text"),
    Sample("Cast", (spread(-3, 3),), {"dtype": "float64"}, reference=lambda x: x.astype(np.float64)),
    Sample("Cast", (spread(-3, 3),), {"dtype": "float16"}, numeric_grad=False, rtol=1e-3),
    Sample(
        "Cast",
        (np.array([1.7, -2.7, 0.0], np.float32),),
        {"dtype": "int32"},
        grad=(),
        reference=lambda x: x.astype(np.int32),
    ),
    Sample(
        "Cast", (np.array([1.7, -2.7, 300.0, 258.9], np.float32),), {"dtype": "uint8"}, grad=(), tag="wrap"
    ),
    Sample(
        "Cast", (np.array([1.7, -2.7, 300.0, 129.0], np.float32),), {"dtype": "int8"}, grad=(), tag="wrap"
    ),
    Sample("Cast", (np.array([0.0, -2.7, 0.3], np.float32),), {"dtype": "bool"}, grad=()),
    Sample("Cast", (WHOLE,), {"dtype": "int64"}, grad=(), reference=lambda x: x.astype(np.int64)),
    Sample("amp_cast", (spread(-3, 3),), {"dtype": "float16"}, numeric_grad=False, rtol=1e-3),
    Sample("amp_cast", (WHOLE,), {"dtype": "float16"}, grad=(), reference=np.array, tag="int32 stays"),
    Sample(
        "amp_cast",
        (spread(-3, 3).astype(np.float64),),
        {"dtype": "float32"},
        reference=np.array,
        tag="float64 stays",
    ),
    Sample(
        "amp_multicast",
        (spread(-1, 1), spread(-1, 1, (3,)).astype(np.float16)),
        {"num_outputs": 2},
        numeric_grad=False,
    ),
    Sample(
        "amp_multicast",
        (spread(-1, 1), spread(-1, 1).astype(np.float16)),
        {"num_outputs": 2, "cast_narrow": True},
        numeric_grad=False,
        rtol=1e-3,
    ),
    Sample("amp_multicast", (spread(-1, 1), WHOLE), {"num_outputs": 2}, grad=(0,), numeric_grad=False),
    Sample(
        "amp_multicast",
        (spread(-1, 1), spread(-1, 1).astype(np.float64)),
        {"num_outputs": 2},
        numeric_grad=False,
    ),
    Sample("_contrib_div_sqrt_dim", (np.array([4, 8], np.int32),), grad=(), tag="int32"),
    Sample(
        "_contrib_gradientmultiplier",
        (spread(-2, 2),),
        {"scalar": -0.5},
        reference=np.array,
        numeric_grad=False,
    ),
    Sample(
        "_contrib_gradientmultiplier",
        (spread(-2, 2).astype(np.float64),),
        {"scalar": 3.0},
        reference=np.array,
        numeric_grad=False,
    ),
    Sample(
        "_contrib_quadratic",
        (spread(-2, 2),),
        {"a": 2.0, "b": 3.0, "c": 1.0},
        reference=lambda x: 2 * x * x + 3 * x + 1,
    ),
    Sample("_contrib_quadratic", (spread(-2, 2),), reference=np.zeros_like),
    Sample(
        "_contrib_quadratic",
        (np.array([1, 2], np.int32),),
        {"a": 2.5, "b": 3.0, "c": 1.5},
        grad=(),
        tag="int32",
    ),
    Sample("_contrib_round_ste", (EDGES,), reference=halves_away, numeric_grad=False),
    Sample("_contrib_round_ste", (spread(-3, 3),), reference=halves_away, numeric_grad=False),
    Sample("_contrib_sign_ste", (EDGES,), reference=np.sign, numeric_grad=False),
    Sample("_contrib_sign_ste", (np.array([3, 0, -2], np.int32),), reference=np.sign, grad=(), tag="int32"),
    Sample(
        "shape_array", (spread(-1, 1, (2, 3, 4)),), reference=lambda x: np.array(x.shape, np.int64), grad=()
    ),
    Sample("shape_array", (WHOLE,), reference=lambda x: np.array(x.shape, np.int64), grad=()),
    Sample(
        "size_array", (spread(-1, 1, (2, 3, 4)),), reference=lambda x: np.array([x.size], np.int64), grad=()
    ),
    Sample("size_array", (WHOLE,), reference=lambda x: np.array([x.size], np.int64), grad=()),
    Sample("all_finite", (spread(-1, 1),), grad=(), reference=lambda x: np.array([1.0], np.float32)),
    Sample(
        "all_finite",
        (np.array([1.0, np.inf], np.float32),),
        grad=(),
        reference=lambda x: np.array([0.0], np.float32),
    ),
    Sample("all_finite", (np.array([1.0, np.nan], np.float16),), grad=(), tag="float16"),
    Sample("multi_all_finite", (spread(-1, 1), spread(-1, 1, (4,))), {"num_arrays": 2}, grad=()),
    Sample(
        "multi_all_finite", (spread(-1, 1), np.array([np.nan, 1.0], np.float32)), {"num_arrays": 2}, grad=()
    ),
    # Whole numbers compute in float64: these are 1 in float32, and below 1.
    *(Sample(name, (np.array([0, 5, 10, 12], np.int32),), grad=(), tag="int32 near 1") for name in ("tanh", "sigmoid")),
    Sample("erf", (np.array([1, 4, 5], np.int32),), grad=(), tag="int32 near 1"),
    Sample("amp_multicast", (spread(-1, 1), spread(-1, 1).astype(np.float16)), {"num_outputs": 2, "cast_narrow": True},
           grad=(), tag="narrow"),
]

ERROR_SAMPLES = [
    ErrorSample("clip", "a_max", (spread(-1, 1),), {"a_min": 0}),
    ErrorSample("hard_sigmoid", "floating point", (WHOLE,)),
    ErrorSample("all_finite", "floating point", (WHOLE,)),
    ErrorSample("Cast", "dtype", (spread(-1, 1),), {"dtype": "float23"}),
    ErrorSample("abs", "boolean", (np.array([True, False]),)),
]
