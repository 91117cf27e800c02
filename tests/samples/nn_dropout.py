"""Samples of Dropout. What is random has its own test; these are the cases with one answer."""

from __future__ import annotations

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng

X = rng(104).uniform(-1, 1, (3, 4)).astype("float32")

SAMPLES = [
    Sample("Dropout", (X,), {"p": 0.5}, lambda x: x, tag="prediction"),
    Sample("Dropout", (X,), {"p": 0}, lambda x: x, train=True, tag="nothing dropped"),
    Sample("Dropout", (X,), {"p": 0.0, "mode": "always"}, lambda x: x),
    Sample("Dropout", (X.astype("float64"),), {"p": 0.3, "axes": (0,)}, lambda x: x),
    Sample(
        "Dropout",
        (X,),
        {"p": 1},
        lambda x: np.full_like(x, np.nan),
        train=True,
        numeric_grad=False,
        tag="zero times infinity",
    ),
]

ERROR_SAMPLES = [
    ErrorSample("Dropout", r"exceed bound \[0,1\]", (X,), {"p": 1.5}),
    ErrorSample("Dropout", r"only support floating point", (X.astype("int32"),), {"mode": "always"}),
]
