"""Samples of the layers that end a symbolic network. Their gradients ignore the head gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng

r = rng(114)


def draw(*shape: int, dtype: str = "float32") -> np.ndarray:
    return r.uniform(-2, 2, shape).astype(dtype)


def labels(*shape: int, classes: int = 3) -> np.ndarray:
    return r.randint(0, classes, shape).astype("float32")


def loss(op: str, *inputs: np.ndarray, reference=None, **attrs: Any) -> Sample:
    # With out_grad the real one multiplies something other than the head gradient in: only outputs are
    # compared.
    return Sample(
        op, inputs, attrs, reference, grad=() if attrs.get("out_grad") else (0,), numeric_grad=False
    )


def softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


X, LABEL = draw(4, 3), np.array([0, 2, -1, 1], "float32")
IMAGE, MAP = draw(2, 3, 2, 2), np.array([[[0, 1], [2, -1]], [[1, -1], [0, 2]]], "float32")
IGNORE = {"use_ignore": True, "ignore_label": -1}
NORMS = ("null", "batch", "valid")
KL = (r.uniform(0.1, 0.9, (4, 3)).astype("float32"), r.uniform(0.2, 0.8, 3).astype("float32"))

SAMPLES = [
    loss("SoftmaxOutput", draw(4, 3), labels(4), reference=lambda x, y: softmax(x)),
    loss(
        "SoftmaxOutput",
        draw(4, 3, dtype="float64"),
        labels(4).astype("float64"),
        reference=lambda x, y: softmax(x),
    ),
    *(loss("SoftmaxOutput", X, LABEL, normalization=norm, grad_scale=0.5) for norm in NORMS),
    *(loss("SoftmaxOutput", X, LABEL, normalization=norm, **IGNORE) for norm in NORMS),
    loss("SoftmaxOutput", X, labels(4), use_ignore=True, ignore_label=1, normalization="valid"),
    loss("SoftmaxOutput", X, np.full(4, -1, "float32"), normalization="valid", **IGNORE),
    loss("SoftmaxOutput", X, softmax(draw(4, 3)), grad_scale=2.0),
    loss("SoftmaxOutput", X, softmax(draw(4, 3)), out_grad=True, normalization="batch"),
    loss("SoftmaxOutput", X, labels(4), out_grad=True),
    loss("SoftmaxOutput", X, labels(4), smooth_alpha=0.1),
    loss("SoftmaxOutput", X, LABEL, smooth_alpha=0.3, **IGNORE),
    *(loss("SoftmaxOutput", IMAGE, MAP, multi_output=True, normalization=norm, **IGNORE) for norm in NORMS),
    *(
        loss("SoftmaxOutput", IMAGE, MAP.reshape(2, 4), multi_output=True, normalization=norm)
        for norm in NORMS
    ),
    loss(
        "SoftmaxOutput",
        IMAGE,
        MAP.reshape(2, 1, 2, 2),
        multi_output=True,
        out_grad=True,
        reference=lambda x, y: softmax(x, 1),
    ),
    loss("SoftmaxOutput", draw(2, 3), labels(2, 1), multi_output=True),
    *(
        loss("SoftmaxOutput", draw(2, 3, 4), labels(2, 3, classes=4), preserve_shape=True, normalization=norm)
        for norm in NORMS
    ),
    loss(
        "SoftmaxOutput",
        draw(2, 3, 4),
        labels(2, 3, classes=4),
        normalization="batch",
        reference=lambda x, y: softmax(x.reshape(2, 12)).reshape(x.shape),
    ),
    loss("LinearRegressionOutput", draw(3, 2), draw(3, 2), reference=lambda x, y: x),
    loss("LinearRegressionOutput", draw(3, 2, 2), draw(3, 2, 2), grad_scale=0.3),
    loss("LinearRegressionOutput", draw(3, 1), draw(3)),
    loss("LinearRegressionOutput", draw(3), draw(3)),
    loss("MAERegressionOutput", draw(3, 2), draw(3, 2), reference=lambda x, y: x),
    loss("MAERegressionOutput", X, X + np.array([[0, 1, -1]], "float32"), grad_scale=2.0),
    loss("MAERegressionOutput", draw(3, 1), draw(3)),
    loss(
        "LogisticRegressionOutput",
        draw(3, 2),
        labels(3, 2, classes=2),
        reference=lambda x, y: 1 / (1 + np.exp(-x)),
    ),
    loss("LogisticRegressionOutput", draw(3, 1), labels(3, classes=2), grad_scale=0.5),
    loss("SVMOutput", X, labels(4), reference=lambda x, y: x),
    loss("SVMOutput", X, labels(4), use_linear=True),
    loss("SVMOutput", X, labels(4), margin=0.5, regularization_coefficient=0.3),
    loss("SVMOutput", X, labels(4), margin=0.5, regularization_coefficient=0.3, use_linear=True),
    loss("MakeLoss", draw(3, 2), reference=lambda x: x),
    *(loss("MakeLoss", draw(3, 2), grad_scale=0.5, normalization=norm, valid_thresh=0.1) for norm in NORMS),
    loss("MakeLoss", draw(4), normalization="batch"),
    Sample(
        "IdentityAttachKLSparseReg",
        KL,
        {"penalty": 0.1},
        lambda x, m: x,
        grad=(0,),
        numeric_grad=False,
        train=True,
        rtol=1e-4,
    ),
    Sample(
        "IdentityAttachKLSparseReg",
        KL,
        {"sparseness_target": 0.2, "momentum": 0.5},
        lambda x, m: x,
        grad=(0,),
        numeric_grad=False,
        train=True,
        rtol=1e-4,
    ),
    # Labels of another rank, with as many numbers for each example; all axes but the last are the batch of MakeLoss.
    loss("LinearRegressionOutput", draw(2, 3, 1), draw(2, 3), grad_scale=0.3),
    loss("LogisticRegressionOutput", draw(2, 3), labels(2, 3, 1, classes=2)),
    loss("MakeLoss", draw(2, 3, 2), grad_scale=0.5, normalization="batch"),
]

ERROR_SAMPLES = [
    ErrorSample("SoftmaxOutput", r"Shape inconsistent", (X, labels(3)), {}),
    ErrorSample("SoftmaxOutput", r"Shape inconsistent", (X, labels(4, 1)), {}),
    ErrorSample("SoftmaxOutput", r"int32", (X, labels(4).astype("int32")), {}),
    ErrorSample("LinearRegressionOutput", r"Shape inconsistent", (X, draw(4, 1)), {}),
    ErrorSample("LinearRegressionOutput", r"Shape inconsistent", (X, draw(*X.shape[::-1])), {}),
    ErrorSample("IdentityAttachKLSparseReg", "one number for each unit", (draw(4, 3), np.ones(2, np.float32)), {}),
    ErrorSample("SVMOutput", r"Shape inconsistent", (X, labels(3)), {}),
]
