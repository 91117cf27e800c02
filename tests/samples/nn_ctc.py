"""Samples of CTCLoss."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng

r = rng(117)


def draw(*shape: int) -> np.ndarray:
    return r.uniform(-2, 2, shape).astype("float32")


def brute_force(scores: np.ndarray, labels: list[int], blank: int) -> float:
    """Sum the probability of every path that collapses to the labels."""
    p = np.exp(scores - scores.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    total = 0.0
    for path in itertools.product(range(p.shape[1]), repeat=len(p)):
        merged = [k for k, _ in itertools.groupby(path)]
        if [k for k in merged if k != blank] == labels:
            total += np.prod([p[t, k] for t, k in enumerate(path)])
    return -np.log(total) if total > 0 else 0.0


def ctc(blank_first: bool = True, use_data: bool = False, use_label: bool = False):
    def call(x: np.ndarray, label: np.ndarray, *lengths: np.ndarray) -> np.ndarray:
        result = []
        for b in range(x.shape[1]):
            steps = int(lengths[0][b]) if use_data else len(x)
            row = [int(v) for v in label[b]]
            padding = 0 if blank_first else -1
            real = (
                row[: int(lengths[-1][b])]
                if use_label
                else row[: row.index(padding)]
                if padding in row
                else row
            )
            result.append(brute_force(x[:steps, b], real, 0 if blank_first else x.shape[2] - 1))
        return np.array(result, "float32")

    return call


def case(shape: tuple[int, ...], label: list, lengths: tuple = (), oracle: bool = True, numeric: bool = True,
         **attrs: Any) -> Sample:  # fmt: skip
    reference = ctc(
        attrs.get("blank_label") != "last", attrs.get("use_data_lengths"), attrs.get("use_label_lengths")
    )
    arrays = (draw(*shape), np.array(label, "float32"), *(np.array(each, "float32") for each in lengths))
    return Sample("CTCLoss", arrays, attrs, reference, grad=(0,), rtol=1e-4, atol=1e-5, oracle=oracle,
                  numeric_grad=numeric,
                  why="" if oracle else "the real gradient is memory never written")  # fmt: skip


DATA, LABEL = {"use_data_lengths": True}, {"use_label_lengths": True}

SAMPLES = [
    case((4, 2, 3), [[1, 2], [2, 0]]),
    case((5, 2, 3), [[1, 1], [2, 1]]),
    case((4, 2, 4), [[1, 0, 2], [3, 1, 3]]),
    case((3, 2, 3), [[0, 0], [1, 2]]),
    case((4, 2, 3), [[1, 0], [1, -1]], blank_label="last"),
    case((4, 2, 3), [[1, 0], [2, 1]], ([2, 3],), **DATA),
    case((4, 2, 3), [[1, 0], [2, 2]], ([1, 2],), **LABEL),
    case((4, 2, 3), [[1, 0], [1, 1]], ([2, 3], [1, 2]), **DATA, **LABEL),
    case((4, 2, 3), [[1, 0], [0, 1]], ([4, 3], [2, 1]), **DATA, **LABEL, blank_label="last"),
    case((4, 2, 3), [[1, 1, 1], [1, 2, 0]], oracle=False),
]

X = draw(4, 2, 3)

ERROR_SAMPLES = [
    ErrorSample("CTCLoss", r"data array must be 3", (X[0], np.ones((2, 2), "float32")), {}),
    ErrorSample("CTCLoss", r"batch size", (X, np.ones((3, 2), "float32")), {}),
    ErrorSample("CTCLoss", r"cannot exceed", (X, np.ones((2, 5), "float32")), {}),
    ErrorSample(
        "CTCLoss",
        r"data_lengths must be a vector",
        (X, np.ones((2, 2), "float32"), np.ones(3, "float32")),
        DATA,
    ),
]
