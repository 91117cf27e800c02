"""Samples of the normalization layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng

r = rng(113)


def draw(*shape: int, dtype: str = "float32") -> np.ndarray:
    return r.uniform(-2, 2, shape).astype(dtype)


def positive(*shape: int, dtype: str = "float32") -> np.ndarray:
    return r.uniform(0.5, 2, shape).astype(dtype)


def along(vector: np.ndarray, x: np.ndarray, axis: int) -> np.ndarray:
    return vector.reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])


def standardized(x: np.ndarray, axes: tuple[int, ...], eps: float) -> np.ndarray:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def batch_norm(train: bool, axis: int = 1, eps: float = 1e-3, fix: bool = True):
    def call(
        x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, mean: np.ndarray, var: np.ndarray
    ) -> np.ndarray:
        axes = tuple(i for i in range(x.ndim) if i != axis % x.ndim)
        mean, var = (x.mean(axes), x.var(axes)) if train else (mean, var)
        normal = (x - along(mean, x, axis)) / np.sqrt(along(var, x, axis) + eps)
        return (normal if fix else normal * along(gamma, x, axis)) + along(beta, x, axis)

    return call


def batch_case(
    shape: tuple[int, ...], train: bool, op: str = "BatchNorm", dtype: str = "float32", **attrs: Any
) -> Sample:
    axis = attrs.get("axis", 1)
    channels = shape[axis]
    arrays = (draw(*shape, dtype=dtype), positive(channels, dtype=dtype), draw(channels, dtype=dtype),
              draw(channels, dtype=dtype), positive(channels, dtype=dtype))  # fmt: skip
    reference = batch_norm(
        train and not attrs.get("use_global_stats"),
        axis,
        attrs.get("eps", 1e-3),
        attrs.get("fix_gamma", True),
    )
    shown = attrs.get("output_mean_var", False)
    alone = op != "_contrib_SyncBatchNorm"
    return Sample(
        op, arrays, attrs, None if shown else reference, grad=(0, 1, 2), train=train, rtol=1e-4, atol=1e-5,
        numeric_grad=not shown, oracle=alone, why="" if alone else "the real one waits for other devices",
    )  # fmt: skip


FREE = {"fix_gamma": False}

SAMPLES = [
    *(batch_case((4, 3, 2), train, **FREE) for train in (True, False)),
    *(batch_case((4, 3, 2, 2), train) for train in (True, False)),
    *(batch_case((4, 3), train, momentum=0.5, eps=0.1, **FREE) for train in (True, False)),
    *(batch_case((4, 2, 3), train, axis=-1, **FREE) for train in (True, False)),
    *(batch_case((3, 2, 4), train, axis=0, **FREE) for train in (True, False)),
    *(batch_case((4, 3, 2), True, use_global_stats=True, fix_gamma=fix) for fix in (True, False)),
    *(batch_case((4, 3, 2), train, output_mean_var=True, **FREE) for train in (True, False)),
    batch_case((4, 3, 2), True, dtype="float64", **FREE),
    Sample(
        "BatchNorm",
        (draw(4, 3, dtype="float16"), positive(3), draw(3), draw(3), positive(3)),
        {},
        train=True,
        grad=(0,),
        numeric_grad=False,
        rtol=5e-3,
        atol=5e-3,
        tag="half data, float32 parameters",
    ),
    *(batch_case((4, 3, 2, 2), train, op="BatchNorm_v1", **FREE) for train in (True, False)),
    batch_case((4, 3, 2, 2), True, op="BatchNorm_v1"),
    *(
        batch_case((4, 3, 2, 2), train, op="_contrib_SyncBatchNorm", key=f"k{train}", **FREE)
        for train in (True, False)
    ),
    batch_case((4, 3, 2, 2), True, op="_contrib_SyncBatchNorm", key="shown", output_mean_var=True),
    Sample(
        "LayerNorm",
        (draw(3, 4), positive(4), draw(4)),
        {},
        lambda x, g, b: standardized(x, (1,), 1e-5) * g + b,
        rtol=1e-4,
        atol=1e-5,
    ),
    Sample(
        "LayerNorm",
        (draw(2, 3, 4), positive(3), draw(3)),
        {"axis": 1, "eps": 0.01},
        lambda x, g, b: standardized(x, (1,), 0.01) * g[:, None] + b[:, None],
        rtol=1e-4,
        atol=1e-5,
    ),
    Sample(
        "LayerNorm",
        (draw(3, 4), positive(4), draw(4)),
        {"output_mean_var": True, "eps": 0.5},
        lambda x, g, b: (
            standardized(x, (1,), 0.5) * g + b,
            x.mean(1, keepdims=True),
            np.sqrt(x.var(1, keepdims=True) + 0.5),
        ),
        grad=(),
        rtol=1e-4,
        atol=1e-5,
    ),
    Sample(
        "LayerNorm",
        (draw(3, 4, dtype="float64"), positive(4, dtype="float64"), draw(4, dtype="float64")),
        {},
        lambda x, g, b: standardized(x, (1,), 1e-5) * g + b,
        rtol=1e-4,
        atol=1e-5,
    ),
    Sample(
        "InstanceNorm",
        (draw(2, 3, 4), positive(3), draw(3)),
        {},
        lambda x, g, b: standardized(x, (2,), 1e-3) * g[:, None] + b[:, None],
        rtol=1e-4,
        atol=1e-5,
    ),
    Sample(
        "InstanceNorm",
        (draw(2, 3, 4, 2), positive(3), draw(3)),
        {"eps": 0.1},
        lambda x, g, b: standardized(x, (2, 3), 0.1) * g[:, None, None] + b[:, None, None],
        rtol=1e-4,
        atol=1e-5,
    ),
    Sample(
        "GroupNorm",
        (draw(2, 4, 3), positive(2), draw(2)),
        {"num_groups": 2},
        lambda x, g, b: (standardized(x.reshape(2, 2, 6), (2,), 1e-5) * g[:, None] + b[:, None]).reshape(
            x.shape
        ),
        rtol=1e-4,
        atol=1e-5,
    ),
    Sample(
        "GroupNorm",
        (draw(2, 4, 3, 2), positive(1), draw(1)),
        {"eps": 0.1},
        lambda x, g, b: standardized(x, (1, 2, 3), 0.1) * g + b,
        rtol=1e-4,
        atol=1e-5,
    ),
    Sample(
        "GroupNorm",
        (
            np.arange(24, dtype="float32").reshape(2, 4, 3) % 7,
            np.array([[1.5, 0.5]], "float32"),
            np.array([[2], [-1]], "float32"),
        ),
        {"num_groups": 2},
        rtol=1e-4,
        atol=1e-5,
        tag="factors of any shape",
    ),
    Sample(
        "GroupNorm",
        (draw(2, 4, 3), positive(4), draw(4)),
        {"num_groups": 4, "output_mean_var": True, "eps": 0.5},
        lambda x, g, b: (
            standardized(x, (2,), 0.5) * g[:, None] + b[:, None],
            x.mean(2),
            np.sqrt(x.var(2) + 0.5),
        ),
        grad=(),
        rtol=1e-4,
        atol=1e-5,
    ),
    Sample("LRN", (draw(2, 5, 2, 2),), {"nsize": 3}, rtol=1e-4, atol=1e-5),
    Sample(
        "LRN",
        (draw(2, 6, 2, 2),),
        {"nsize": 5, "alpha": 0.5, "beta": 0.6, "knorm": 1.5},
        rtol=1e-4,
        atol=1e-5,
    ),
    Sample(
        "LRN",
        (draw(2, 4, 3, 1, dtype="float64"),),
        {"nsize": 1, "alpha": 1.0},
        lambda x: x * (2 + x**2) ** -0.75,
        oracle=False,
        why="the real one has no float64 here",
    ),
    Sample("L2Normalization", (draw(3, 4),), {}, lambda x: x / np.sqrt((x**2).sum(1, keepdims=True) + 1e-10)),
    Sample(
        "L2Normalization",
        (draw(2, 3, 2),),
        {"eps": 0.1},
        lambda x: x / np.sqrt((x**2).sum((1, 2), keepdims=True) + 0.1),
    ),
    Sample(
        "L2Normalization",
        (draw(2, 3, 2, 2),),
        {"mode": "channel"},
        lambda x: x / np.sqrt((x**2).sum(1, keepdims=True) + 1e-10),
    ),
    Sample(
        "L2Normalization",
        (draw(2, 3, 2, 2),),
        {"mode": "spatial"},
        lambda x: x / np.sqrt((x**2).sum((2, 3), keepdims=True) + 1e-10),
    ),
    Sample("L2Normalization", (np.zeros((2, 3), "float32"),), {}, lambda x: x, grad=(), tag="zeros"),
]

X, V = draw(4, 3), positive(3)

ERROR_SAMPLES = [
    ErrorSample("BatchNorm", r"gamma has shape", (X, positive(4), V, V, V), {}),
    ErrorSample("BatchNorm", r"axis 2 is out of range", (X, V, V, V, V), {"axis": 2}),
    ErrorSample("BatchNorm", r"requires uniform type", (X.astype("float64"), V, V, V, V), {}),
    ErrorSample("LayerNorm", r"gamma has shape", (X, positive(4), positive(4)), {}),
    ErrorSample("InstanceNorm", r"rank >= 3", (X, V, V), {}),
    ErrorSample("GroupNorm", r"divisible", (draw(2, 4, 3), V, V), {"num_groups": 3}),
    ErrorSample("LRN", r"odd values", (draw(2, 4, 3, 3),), {"nsize": 2}),
    ErrorSample("L2Normalization", r"3 dimensions", (X,), {"mode": "spatial"}),
]
