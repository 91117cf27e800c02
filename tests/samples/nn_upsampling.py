"""Samples of UpSampling."""

from __future__ import annotations

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng

r = rng(115)


def draw(*shape: int, dtype: str = "float32") -> np.ndarray:
    return r.uniform(-1, 1, shape).astype(dtype)


def grow(x: np.ndarray, factor: int) -> np.ndarray:
    return x.repeat(factor, 2).repeat(factor, 3)


NEAREST = {"sample_type": "nearest"}

SAMPLES = [
    Sample("UpSampling", (draw(2, 3, 2, 3),), {"scale": 2, **NEAREST}, lambda x: grow(x, 2)),
    Sample("UpSampling", (draw(1, 2, 2, 2, dtype="float64"),), {"scale": 3, **NEAREST}, lambda x: grow(x, 3)),
    Sample(
        "UpSampling",
        (draw(1, 2, 2, 2), draw(1, 3, 4, 4)),
        {"scale": 2, **NEAREST},
        lambda x, y: np.concatenate([grow(x, 2), y], 1),
    ),
    Sample(
        "UpSampling",
        (draw(1, 2, 2, 2), draw(1, 2, 4, 4)),
        {"scale": 4, "multi_input_mode": "sum", **NEAREST},
        lambda x, y: grow(x, 4) + grow(y, 2),
    ),
    Sample(
        "UpSampling",
        (draw(1, 2, 3, 3), draw(2, 1, 4, 4)),
        {"scale": 2, "sample_type": "bilinear", "num_filter": 2},
        rtol=1e-4,
        atol=1e-5,
    ),
    Sample(
        "UpSampling",
        (draw(2, 3, 2, 3), draw(3, 1, 5, 5)),
        {"scale": 3, "sample_type": "bilinear", "num_filter": 3},
        rtol=1e-4,
        atol=1e-5,
    ),
]

ERROR_SAMPLES = [
    ErrorSample("UpSampling", r"should be 4D", (draw(1, 2, 3),), {"scale": 2, **NEAREST}),
    ErrorSample("UpSampling", r"Required parameter scale", (draw(1, 2, 3, 3),), NEAREST),
]
