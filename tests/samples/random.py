"""Samples of random operators: shapes, dtypes, errors. tests/ops/test_random.py looks at the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.samples._sample import ErrorSample, Sample

WHY = "random numbers; the distribution is tested in tests/ops/test_random.py"

SCALARS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("uniform", {"low": -1.0, "high": 2.0}),
    ("normal", {"loc": 1.0, "scale": 2.0}),
    ("gamma", {"alpha": 2.0, "beta": 0.5}),
    ("exponential", {"lam": 3.0}),
    ("poisson", {"lam": 3.0}),
    ("negative_binomial", {"k": 3, "p": 0.4}),
    ("generalized_negative_binomial", {"mu": 2.0, "alpha": 0.3}),
)
ARRAYS: tuple[tuple[str, tuple[list[float], ...]], ...] = (
    ("uniform", ([0.0, 1.0], [1.0, 3.0])),
    ("normal", ([0.0, 1.0], [1.0, 3.0])),
    ("gamma", ([1.0, 2.0], [1.0, 3.0])),
    ("exponential", ([1.0, 2.0],)),
    ("poisson", ([1.0, 2.0],)),
    ("negative_binomial", ([1.0, 2.0], [0.4, 0.5])),
    ("generalized_negative_binomial", ([1.0, 2.0], [0.4, 0.5])),
)


def _random(op: str, inputs: tuple[np.ndarray, ...] = (), tag: str = "", **attrs: Any) -> Sample:
    return Sample(op, inputs, attrs, grad=(), numeric_grad=False, oracle=False, why=WHY, tag=tag)


def _arrays(values: tuple[list[float], ...], dtype: Any = np.float32) -> tuple[np.ndarray, ...]:
    return tuple(np.array(value, dtype) for value in values)


ROWS = np.array([[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]], np.float32)

SAMPLES = [
    *(_random(f"_random_{name}", **attrs, shape=(2, 3)) for name, attrs in SCALARS),
    *(_random(f"_random_{name}", shape="(4,)", dtype="float16", tag="half") for name, _ in SCALARS),
    *(_random(f"_random_{name}_like", (np.ones((2, 2), np.float32),), **attrs) for name, attrs in SCALARS),
    *(_random(f"_random_{name}_like", (np.ones((3,), np.float64),), tag="f64") for name, _ in SCALARS),
    *(_random(f"_sample_{name}", _arrays(values), shape=(3,)) for name, values in ARRAYS),
    *(_random(f"_sample_{name}", _arrays(values, np.float64), tag="no_shape") for name, values in ARRAYS),
    _random("_random_randint", low=-3, high=5, shape=(2, 2)),
    _random("_random_randint", low=0, high=2**40, shape=(3,), dtype="int64", tag="int64"),
    _random("_sample_multinomial", (ROWS[0],)),
    _random("_sample_multinomial", (ROWS,), shape=(2, 3), get_prob=True),
    _random("_sample_multinomial", (ROWS,), dtype="float32", shape=4, tag="as_float"),
    _random("_sample_multinomial", (np.ones((2, 3), np.int32),), shape=(2, 0), get_prob=True, tag="no_draws"),
    _random("_shuffle", (np.arange(6, dtype=np.float32).reshape(3, 2),)),
    _random("_shuffle", (np.arange(5, dtype=np.int8),), tag="int8"),
    _random("_sample_unique_zipfian", range_max=10, shape=(2, 3)),
    _random("_sample_unique_zipfian", range_max=4, shape=(1, 4), tag="all"),
]

ERROR_SAMPLES = [
    ErrorSample("_random_uniform", "floating", (), {"shape": (2,), "dtype": "int32"}),
    ErrorSample("_random_uniform", "shape", (), {}),
    ErrorSample(
        "_random_randint", "int32 or int64", (), {"low": 0, "high": 2, "shape": (2,), "dtype": "float32"}
    ),
    ErrorSample("_sample_normal", "agree", (np.zeros(2, np.float32), np.ones(3, np.float32)), {}),
    ErrorSample("_sample_multinomial", "floating", (np.ones(3, np.int32),), {}),
    ErrorSample("_sample_unique_zipfian", "two dimensions", (), {"range_max": 10, "shape": (3,)}),
    ErrorSample("_sample_unique_zipfian", "draw fewer", (), {"range_max": 3, "shape": (1, 4)}),
]
