"""Samples of Pooling and Pooling_v1."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng

r = rng(112)


def distinct(*shape: int, dtype: str = "float32") -> np.ndarray:
    """Entries far enough apart that a small step does not change which is the largest."""
    count = int(np.prod(shape))
    return (r.permutation(count).reshape(shape) * 0.1 - count * 0.05 + 0.03).astype(dtype)


def pool(x: np.ndarray, kind: str, kernel: tuple[int, ...], stride=None, pad=None, ceil: bool = False,
         include: bool = True, power: int = 2) -> np.ndarray:  # fmt: skip
    """The definition, channels first, window by window."""
    n = len(kernel)
    stride, pad, sizes = stride or (1,) * n, pad or (0,) * n, x.shape[2:]
    rounding = np.ceil if ceil else np.floor
    out = [int(rounding((size + 2 * p - k) / s)) + 1 for size, p, k, s in zip(sizes, pad, kernel, stride)]
    result = np.zeros((*x.shape[:2], *out), x.dtype)
    for place in itertools.product(*map(range, out)):
        start = [i * s - p for i, s, p in zip(place, stride, pad)]
        stop = [min(a + k, size + p) for a, k, size, p in zip(start, kernel, sizes, pad)]
        inner = [(max(a, 0), min(b, size)) for a, b, size in zip(start, stop, sizes)]
        whole = np.prod([b - a for a, b in (inner if not include else zip(start, stop))])
        window = x[(slice(None), slice(None), *(slice(a, b) for a, b in inner))].reshape(*x.shape[:2], -1)
        result[(slice(None), slice(None), *place)] = {
            "max": lambda w: w.max(-1),
            "sum": lambda w: w.sum(-1),
            "avg": lambda w, whole=whole: w.sum(-1) / whole,
            "lp": lambda w: np.cbrt((w**3).sum(-1)) if power == 3 else (w**power).sum(-1) ** (1 / power),
        }[kind](window)
    return result


def case(
    shape: tuple[int, ...], kind: str, kernel: tuple[int, ...], dtype: str = "float32", **attrs: Any
) -> Sample:
    options: dict[str, Any] = {name: attrs[name] for name in ("stride", "pad") if name in attrs}
    options["ceil"] = attrs.get("pooling_convention") == "full"
    options["include"] = attrs.get("count_include_pad", True)
    options["power"] = attrs.get("p_value", 2)

    def reference(x: np.ndarray) -> np.ndarray:
        return pool(x, kind, kernel, **options)

    attrs = {"kernel": kernel, "pool_type": kind, **attrs}
    return Sample("Pooling", (distinct(*shape, dtype=dtype),), attrs, reference, rtol=1e-4, atol=1e-5)


def last(x: np.ndarray, kind: str, kernel: tuple[int, ...], **options: Any) -> np.ndarray:
    return np.moveaxis(pool(np.moveaxis(x, -1, 1), kind, kernel, **options), 1, -1)


ONES = np.ones((1, 1, 4, 4), "float32")
FULL = {"pooling_convention": "full"}

SAMPLES = [
    *(case((2, 2, 5), kind, (2,)) for kind in ("max", "avg", "sum")),
    *(case((2, 2, 6, 5), kind, (3, 2), stride=(2, 2)) for kind in ("max", "avg", "sum")),
    *(case((1, 2, 5, 6), kind, (3, 3), stride=(2, 2), pad=(1, 1)) for kind in ("max", "avg", "sum")),
    *(case((1, 2, 6, 5), kind, (3, 3), stride=(2, 2), pad=(1, 1), **FULL) for kind in ("max", "avg", "sum")),
    *(case((1, 2, 4, 3, 4), kind, (2, 2, 2), stride=(2, 1, 2)) for kind in ("max", "avg", "sum")),
    case((1, 2, 5, 6), "avg", (3, 3), stride=(2, 2), pad=(1, 1), count_include_pad=False),
    case((1, 2, 6, 6), "avg", (3, 3), stride=(2, 2), pad=(1, 1), count_include_pad=False, **FULL),
    case((1, 2, 6), "avg", (3,), stride=(2,), pad=(1,), **FULL),
    case((1, 1, 8, 8), "max", (6, 6), stride=(1, 1)),
    case((1, 1, 8, 8), "avg", (6, 6), stride=(2, 2)),
    case((1, 2, 6, 6), "max", (2, 2), stride=(3, 3)),
    case((2, 2, 4, 4), "max", (2, 2), stride=(2, 2), dtype="float64"),
    case((2, 2, 4, 4), "avg", (2, 2), stride=(2, 2), dtype="float64"),
    case((1, 2, 5), "lp", (2,), p_value=1),
    case((1, 2, 5, 4), "lp", (2, 3), p_value=2, stride=(2, 1)),
    case((1, 2, 5), "lp", (3,), p_value=3),
    *(
        Sample(
            "Pooling",
            (distinct(2, 3, 4, 3),),
            {"global_pool": True, "pool_type": kind, "kernel": (2, 2), "pad": (1, 1)},
            lambda x, kind=kind: pool(x, kind, (4, 3)),
            rtol=1e-4,
            atol=1e-5,
        )
        for kind in ("max", "avg", "sum")
    ),
    Sample(
        "Pooling",
        (distinct(2, 2, 3),),
        {"global_pool": True, "pool_type": "lp", "p_value": 2},
        lambda x: pool(x, "lp", (3,)),
        rtol=1e-4,
        atol=1e-5,
    ),
    Sample("Pooling", (distinct(1, 1, 2, 2, 3),), {"global_pool": True}, lambda x: pool(x, "max", (2, 2, 3))),
    *(
        Sample(
            "Pooling",
            (distinct(1, 5, 4, 2),),
            {"kernel": (2, 2), "pool_type": kind, "stride": (2, 1), "layout": "NHWC"},
            lambda x, kind=kind: last(x, kind, (2, 2), stride=(2, 1)),
            rtol=1e-4,
            atol=1e-5,
        )
        for kind in ("max", "avg")
    ),
    Sample(
        "Pooling", (distinct(1, 5, 2),), {"kernel": (2,), "layout": "NWC"}, lambda x: last(x, "max", (2,))
    ),
    Sample(
        "Pooling",
        (distinct(1, 3, 4, 3, 2),),
        {"kernel": (2, 2, 2), "layout": "NDHWC", "pool_type": "avg"},
        lambda x: last(x, "avg", (2, 2, 2)),
        rtol=1e-4,
        atol=1e-5,
    ),
    Sample(
        "Pooling",
        (distinct(2, 3, 3, 2),),
        {"global_pool": True, "layout": "NHWC"},
        lambda x: last(x, "max", (3, 3)),
    ),
    Sample(
        "Pooling",
        (np.array([[[1, 5, 3, 4, 2]]], "float32"),),
        {"kernel": (3,), "stride": (2,), "pooling_convention": "same"},
        lambda x: np.array([[[5, 4, 2]]], "float32"),
        oracle=False,
        why="'same' fails in the real one",
    ),
    Sample("Pooling", (ONES,), {"kernel": (2, 2), "stride": (2, 2)}, numeric_grad=False, tag="ties"),
    Sample(
        "Pooling",
        (distinct(1, 1, 7),),
        {"kernel": 2, "stride": 2, "pad": (0, 0, 0), "pooling_convention": "same"},
        tag="more numbers than dimensions",
    ),
    Sample("Pooling", (distinct(1, 2, 5),), {"kernel": (2,), "stride": (2, 3), "pad": (1, 4)}, tag="more numbers"),
    Sample("Pooling_v1", (distinct(1, 2, 4, 6),), {"kernel": (2, 2), "pad": (1, 0, 2)}, tag="more numbers"),
    Sample("Pooling", (ONES,), {"kernel": (3, 3)}, numeric_grad=False, tag="ties in overlapping windows"),
    Sample(
        "Pooling",
        (ONES,),
        {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1)},
        numeric_grad=False,
        tag="ties",
    ),
    Sample("Pooling", (ONES,), {"global_pool": True}, numeric_grad=False, tag="ties"),
    Sample(
        "Pooling",
        (np.array([[[1, 5, -3]]], "float32"),),
        {"kernel": (1,), "stride": (3,), **FULL},
        numeric_grad=False,
        tag="a window past the end",
    ),
    *(
        Sample(
            "Pooling_v1",
            (distinct(1, 2, 6, 5),),
            {"kernel": (3, 2), "stride": (2, 1), "pool_type": kind},
            lambda x, kind=kind: pool(x, kind, (3, 2), (2, 1)),
            rtol=1e-4,
            atol=1e-5,
        )
        for kind in ("max", "avg", "sum")
    ),
    *(
        Sample(
            "Pooling_v1",
            (distinct(1, 2, 4, 6),),
            {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1), "pool_type": kind, **convention},
            rtol=1e-4,
            atol=1e-5,
        )
        for kind in ("max", "avg", "sum")
        for convention in ({}, FULL)
    ),
    Sample("Pooling_v1", (distinct(1, 2, 4, 6),), {"kernel": (3, 3), "stride": (2, 2), **FULL}),
    Sample(
        "Pooling_v1",
        (distinct(1, 2, 3, 4),),
        {"kernel": (2, 2), "global_pool": True, "pool_type": "avg"},
        lambda x: pool(x, "avg", (3, 4)),
        rtol=1e-4,
        atol=1e-5,
    ),
    Sample("Pooling_v1", (ONES,), {"kernel": (2, 2), "stride": (2, 2)}, numeric_grad=False, tag="ties"),
]

ERROR_SAMPLES = [
    ErrorSample("Pooling", r"kernel size \(5\) exceeds input", (ONES,), {"kernel": (5, 5)}),
    ErrorSample("Pooling", r"should be  3D", (ONES[0, 0],), {"kernel": (2,)}),
    ErrorSample("Pooling", r"kernel is missing", (ONES,), {}),
    ErrorSample("Pooling", r"only support floating point", (ONES.astype("int32"),), {"kernel": (2, 2)}),
    ErrorSample("Pooling", r"p_value", (ONES,), {"kernel": (2, 2), "pool_type": "lp"}),
    ErrorSample("Pooling", r"p value of 4", (ONES,), {"kernel": (2, 2), "pool_type": "lp", "p_value": 4}),
    ErrorSample("Pooling", r"'same'", (ONES,), {"kernel": (2, 2), "pooling_convention": "same"}),
    ErrorSample("Pooling_v1", r"should be 4D", (ONES[0],), {"kernel": (2,)}),
]
