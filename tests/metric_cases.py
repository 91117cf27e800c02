"""What metrics are tried on, in the real MXNet and here: name, settings, batches. NumPy only."""

from __future__ import annotations

import numpy as np

BATCHES = 4
CLASSIFIERS = [
    ("acc", {}),
    ("acc", {"axis": -1}),
    ("top_k_acc", {"top_k": 2}),
    ("top_k_acc", {"top_k": 3}),
    ("ce", {}),
    ("ce", {"eps": 0.1}),
    ("nll_loss", {}),
    ("perplexity", {"ignore_label": None}),
    ("perplexity", {"ignore_label": 1}),
    ("perplexity", {"ignore_label": -1, "axis": 1}),
    ("pcc", {}),
]
BINARY = [(name, {"average": average}) for name in ("f1", "mcc") for average in ("macro", "micro")]
REGRESSORS = [
    ("mae", {}),
    ("mse", {}),
    ("rmse", {}),
    ("pearsonr", {}),
    ("loss", {}),
    ("torch", {}),
    ("caffe", {}),
]


def cases():
    """Yield ``(key, metric name, settings, batches)``; a batch is (labels, predictions), lists of arrays."""
    random = np.random.RandomState(7)

    def probabilities(rows, classes, dtype):
        scores = random.uniform(0.01, 1, (rows, classes))
        return (scores / scores.sum(axis=1, keepdims=True)).astype(dtype)

    def batches(label, pred, outputs=1):
        return [([label() for _ in range(outputs)], [pred() for _ in range(outputs)]) for _ in range(BATCHES)]

    for label_dtype in ("float32", "int32"):
        for name, settings in CLASSIFIERS:
            for outputs in (1, 2):
                key = f"{name} {settings} {label_dtype} {outputs}"
                yield (
                    key,
                    name,
                    settings,
                    batches(
                        lambda: random.randint(0, 5, 6).astype(label_dtype),  # noqa: B023
                        lambda: probabilities(6, 5, "float32"),
                        outputs,
                    ),
                )
        for name, settings in BINARY:
            yield (
                f"{name} {settings} {label_dtype}",
                name,
                settings,
                batches(
                    lambda: random.randint(0, 2, 7).astype(label_dtype),  # noqa: B023
                    lambda: probabilities(7, 2, "float32"),
                ),
            )
    yield (
        "acc images",
        "acc",
        {},
        batches(
            lambda: random.randint(0, 3, (2, 4, 5)).astype("float32"),
            lambda: random.uniform(size=(2, 3, 4, 5)).astype("float32"),
        ),
    )
    yield (
        "acc classes",
        "acc",
        {},
        batches(
            lambda: random.randint(0, 3, (8,)).astype("float32"),
            lambda: random.randint(0, 3, (8,)).astype("float32"),
        ),
    )
    yield (
        "acc column",
        "acc",
        {},
        batches(
            lambda: random.randint(0, 3, (8, 1)).astype("float32"), lambda: probabilities(8, 3, "float32")
        ),
    )
    for name, settings in REGRESSORS:
        for dtype in ("float32", "float64"):
            for shape in ((6,), (6, 2)):
                yield (
                    f"{name} {settings} {dtype} {shape}",
                    name,
                    settings,
                    batches(
                        lambda: random.uniform(-1, 1, shape).astype(dtype),  # noqa: B023
                        lambda: random.uniform(-1, 1, shape).astype(dtype),  # noqa: B023
                    ),
                )
    yield (
        "mae column",
        "mae",
        {},
        batches(
            lambda: random.uniform(size=6).astype("float32"),
            lambda: random.uniform(size=(6, 1)).astype("float32"),
        ),
    )
    yield (
        "mse mixed",
        "mse",
        {},
        batches(
            lambda: random.randint(-5, 5, 6).astype("int32"), lambda: random.uniform(size=6).astype("float32")
        ),
    )
