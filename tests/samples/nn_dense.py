"""Samples of FullyConnected."""

from __future__ import annotations

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng

r = rng(101)


def draw(*shape: int, dtype: str = "float32") -> np.ndarray:
    return r.uniform(-1, 1, shape).astype(dtype)


def dense(data: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    return data.reshape(len(data), weight.shape[1]) @ weight.T + bias.reshape(-1)


SAMPLES = [
    Sample("FullyConnected", (draw(3, 4), draw(2, 4), draw(2)), {"num_hidden": 2}, dense),
    Sample("FullyConnected", (draw(3, 2, 2), draw(5, 4), draw(5)), {"num_hidden": 5}, dense),
    Sample(
        "FullyConnected", (draw(3, 4), draw(2, 4)), {"num_hidden": 2, "no_bias": True}, lambda x, w: x @ w.T
    ),
    Sample(
        "FullyConnected",
        (draw(2, 3, 4), draw(5, 4), draw(5)),
        {"num_hidden": 5, "flatten": False},
        lambda x, w, b: x @ w.T + b,
    ),
    Sample(
        "FullyConnected",
        (draw(3, 4), draw(2, 4), draw(2, 1)),
        {"num_hidden": 2},
        dense,
        grad=(),
        tag="column bias; the real gradient raises",
    ),
    Sample("FullyConnected", (draw(3), draw(2, 1), draw(2)), {"num_hidden": 2}, dense, tag="vector data"),
    Sample(
        "FullyConnected",
        (draw(3, 4, dtype="float64"), draw(2, 4, dtype="float64"), draw(2, dtype="float64")),
        {"num_hidden": 2},
        dense,
    ),
    Sample(
        "FullyConnected",
        (np.ones((1, 5000), "float16"), np.ones((2, 5000), "float16"), np.zeros(2, "float16")),
        {"num_hidden": 2},
        lambda x, w, b: np.full((1, 2), 5000, "float16"),
        numeric_grad=False,
        oracle=False,
        why="the real one has no float16 product on CPU",
        tag="float16 accumulates in float32",
    ),
    Sample(
        "FullyConnected",
        (draw(0, 4), draw(2, 4), draw(2)),
        {"num_hidden": 2},
        dense,
        oracle=False,
        numeric_grad=False,
        why="the real one refuses empty arrays",
    ),
]

ERROR_SAMPLES = [
    ErrorSample(
        "FullyConnected", r"Shape inconsistent", (draw(3, 4), draw(2, 5), draw(2)), {"num_hidden": 2}
    ),
    ErrorSample(
        "FullyConnected", r"Unexpected shape for bias", (draw(3, 4), draw(2, 4), draw(3)), {"num_hidden": 2}
    ),
    ErrorSample(
        "FullyConnected", r"num_hiden.*num_hidden", (draw(3, 4), draw(2, 4), draw(2)), {"num_hiden": 2}
    ),
    ErrorSample("FullyConnected", r"Required parameter num_hidden", (draw(3, 4), draw(2, 4), draw(2)), {}),
]
