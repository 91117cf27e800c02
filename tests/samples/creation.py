"""Samples of the operators that make arrays from attributes."""

from __future__ import annotations

import numpy as np

from tests.samples._sample import ErrorSample, Sample

_NUMBERS = np.array([0, 0.5, 1, 2, 3, 4, 9, -1], np.float32)

SAMPLES = [
    Sample("_zeros", (), {"shape": (2, 3)}, lambda: np.zeros((2, 3), np.float32)),
    Sample("_zeros", (), {"shape": 2, "dtype": "int32"}, lambda: np.zeros(2, np.int32)),
    Sample("_ones", (), {"shape": (2, 3)}, lambda: np.ones((2, 3), np.float32)),
    Sample("_ones", (), {"shape": (1,), "dtype": "float16"}, lambda: np.ones(1, np.float16)),
    Sample("_full", (), {"shape": (2,), "value": 3.7}, lambda: np.full(2, 3.7, np.float32)),
    Sample("_full", (), {"shape": (2,), "value": 3.7, "dtype": "int32"}, lambda: np.full(2, 3, np.int32)),
    Sample("_full", (), {"shape": (2, 1), "value": 3.7, "dtype": "bool"}, lambda: np.full((2, 1), True)),
    Sample(
        "_zeros_without_dtype",
        (),
        {"shape": (2,)},
        lambda: np.zeros(2, np.float32),
        oracle=False,
        why="needs a graph",
    ),
    Sample(
        "_zeros_without_dtype",
        (),
        {"shape": 3, "dtype": 4},
        lambda: np.zeros(3, np.int32),
        oracle=False,
        why="as above",
    ),
    Sample("_arange", (), {"start": 3}, lambda: np.arange(3, dtype=np.float32)),
    Sample("_arange", (), {"start": 1, "stop": 4, "step": 0.75}, lambda: np.arange(1, 4, 0.75, np.float32)),
    Sample("_arange", (), {"start": 5, "stop": 0, "step": -2}, lambda: np.arange(5, 0, -2, np.float32)),
    Sample(
        "_arange",
        (),
        {"start": 0, "stop": 2, "repeat": 2},
        lambda: np.repeat(np.arange(2, dtype=np.float32), 2),
    ),
    Sample("_arange", (), {"start": 0, "stop": 1, "step": 0.1}),
    Sample("_arange", (), {"start": 0, "stop": 2.5, "dtype": "int32"}),
    Sample("_arange", (), {"start": 0.5, "stop": 3, "dtype": "int32"}),
    Sample("_arange", (), {"start": 0, "stop": 2, "step": 0.5, "dtype": "int32"}),
    Sample(
        "_arange",
        (),
        {"start": 0.5, "stop": 3, "step": 0.5, "dtype": "float16"},
        lambda: np.float16([0.5, 1, 1.5, 2, 2.5]),
        oracle=False,
        why="cuts start and step to whole numbers",
    ),
    Sample("_arange", (), {"start": 0.1, "stop": 3, "step": 0.7, "dtype": "float64"}),
    Sample(
        "_linspace", (), {"start": 0, "stop": 1, "num": 5}, lambda: np.linspace(0, 1, 5, dtype=np.float32)
    ),
    Sample("_linspace", (), {"start": 0, "stop": 1, "num": 5, "endpoint": False}),
    Sample("_linspace", (), {"start": 2, "stop": 1, "num": 1}, lambda: np.float32([2])),
    Sample("_linspace", (), {"start": 2, "stop": 1, "num": 0}, lambda: np.zeros(0, np.float32)),
    Sample("_linspace", (), {"start": 0, "stop": 5, "num": 4, "dtype": "int32"}),
    Sample("_eye", (), {"N": 2}, lambda: np.eye(2, dtype=np.float32)),
    Sample("_eye", (), {"N": 2, "M": 3, "k": 1}, lambda: np.eye(2, 3, 1, dtype=np.float32)),
    Sample("_eye", (), {"N": 3, "k": -1, "dtype": "int32"}, lambda: np.eye(3, k=-1, dtype=np.int32)),
    Sample("_eye", (), {"N": 2, "k": 9}, lambda: np.zeros((2, 2), np.float32)),
    Sample("_histogram", (_NUMBERS,), {"bin_cnt": 4, "range": (0, 4)}, grad=()),
    Sample("_histogram", (_NUMBERS.reshape(2, 4),), {"bin_cnt": 3, "range": (-1, 3.5)}, grad=()),
    Sample("_histogram", (_NUMBERS, np.array([0, 1, 3, 4], np.float32)), {}, grad=()),
    Sample("_histogram", (np.array([0, 1, 1, 2], np.int32),), {"bin_cnt": 2, "range": (0, 2)}, grad=()),
    Sample("_linspace", (), {"start": -2.0, "stop": 1.0, "num": 4, "dtype": "uint8"}, grad=()),
    Sample("_eye", (), {"N": 2, "M": -1}, lambda: np.eye(2, dtype=np.float32)),
]

ERROR_SAMPLES = [
    ErrorSample("_full", "Required parameter value", (), {"shape": (2,)}),
    ErrorSample("_arange", "Invalid range", (), {"start": 3, "stop": 1}),
    ErrorSample("_arange", "step=0", (), {"start": 0, "stop": 3, "step": 0}),
    ErrorSample("_arange", "repeat > 0", (), {"start": 0, "stop": 3, "repeat": 0}),
    ErrorSample("_linspace", "Required parameter num", (), {"start": 0, "stop": 3}),
    ErrorSample("_eye", "negative", (), {"N": -1}),
    ErrorSample("_histogram", "both or neither", (_NUMBERS,), {"bin_cnt": 2}),
]
