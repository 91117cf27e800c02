"""Samples of the softmax family."""

from __future__ import annotations

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng

r = rng(103)


def draw(*shape: int, dtype: str = "float32") -> np.ndarray:
    return r.uniform(-2, 2, shape).astype(dtype)


def softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


X = draw(2, 3)
Y = draw(2, 3, 4)
LABEL = np.array([0, 2], "float32")

SAMPLES = [
    Sample("softmax", (X,), {}, softmax),
    Sample("softmax", (Y,), {"axis": 1}, lambda x: softmax(x, 1)),
    Sample("softmax", (Y,), {"axis": -3}, lambda x: softmax(x, 0)),
    Sample("softmax", (X,), {"temperature": 2.5}, lambda x: softmax(x / 2.5)),
    Sample("softmax", (draw(4),), {"axis": 0}, softmax),
    Sample("softmax", (X.astype("float64"),), {}, softmax),
    Sample("softmax", (X.astype("float64"),), {"dtype": "float32"}, softmax, grad=()),
    Sample("softmax", (X.astype("float16"),), {"dtype": "float32"}, softmax, grad=(), rtol=1e-3, atol=1e-3),
    Sample("softmax", (X.astype("float16"),), {}, softmax, numeric_grad=False, rtol=2e-3, atol=2e-3),
    Sample(
        "softmax",
        (np.array([[1000, 0, -1000]], "float32"),),
        {},
        softmax,
        numeric_grad=False,
        tag="no overflow",
    ),
    Sample("softmax", (X, np.array([1, 3], "int32")), {"use_length": True}),
    Sample("softmax", (X, np.array([0, 2], "int64")), {"use_length": True}, tag="an empty row"),
    Sample("softmax", (X[0], np.array([2], "int32")), {"use_length": True}, tag="a vector"),
    Sample("softmax", (Y, r.randint(1, 4, (2, 4)).astype("int32")), {"use_length": True, "axis": 1}),
    Sample(
        "softmax",
        (draw(0, 3),),
        {},
        softmax,
        oracle=False,
        numeric_grad=False,
        why="empty arrays are refused",
    ),
    Sample("softmin", (X,), {}, lambda x: softmax(-x)),
    Sample("softmin", (Y,), {"axis": 0, "temperature": 0.5}, lambda x: softmax(-2 * x, 0)),
    Sample("log_softmax", (X,), {}, lambda x: np.log(softmax(x))),
    Sample("log_softmax", (Y,), {"axis": 1, "temperature": 3.0}, lambda x: np.log(softmax(x / 3, 1))),
    Sample("log_softmax", (np.array([[1000, 0]], "float32"),), {}, numeric_grad=False, tag="no underflow"),
    Sample(
        "log_softmax", (X.astype("float64"),), {"dtype": "float32"}, lambda x: np.log(softmax(x)), grad=()
    ),
    Sample("SoftmaxActivation", (X,), {}, softmax),
    Sample("SoftmaxActivation", (Y,), {"mode": "channel"}, lambda x: softmax(x, 1)),
    Sample(
        "SoftmaxActivation",
        (Y,),
        {},
        softmax,
        grad=(),
        tag="the last axis; the real gradient is that of another",
    ),
    Sample(
        "softmax_cross_entropy",
        (X, LABEL),
        {},
        lambda x, y: np.array([-np.log(softmax(x)[[0, 1], [0, 2]]).sum()]),
        grad=(0,),
    ),
    Sample(
        "softmax_cross_entropy",
        (np.array([[100, 0, -100]], "float32"), np.array([2], "float32")),
        {},
        grad=(0,),
        numeric_grad=False,
        tag="bounded",
    ),
]

ERROR_SAMPLES = [
    ErrorSample("softmax", r"only support floating point", (np.array([1, 2], "int32"),), {}),
    ErrorSample(
        "softmax", r"only support integer types", (X, np.array([1, 2], "float32")), {"use_length": True}
    ),
    ErrorSample("softmax", r"length has shape", (X, np.array([1, 2, 3], "int32")), {"use_length": True}),
    ErrorSample("softmax", r"axis 2 is out of range", (X,), {"axis": 2}),
    ErrorSample(
        "softmax", r"only negative axis is -1", (X, np.ones(X.shape[1], "int32")), {"use_length": True, "axis": -2}
    ),
    ErrorSample("log_softmax", r"only softmax takes lengths", (X,), {"use_length": True}),
    ErrorSample("softmax_cross_entropy", r"label has shape", (X, np.zeros(3, "float32")), {}),
]
