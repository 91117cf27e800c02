"""Samples of the operators that sort."""

from __future__ import annotations

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng

_DISTINCT = rng(1).permutation(24).astype(np.float32).reshape(2, 3, 4) / 4
_TIES = np.array([3, 1, 2, 1, 3, 3], np.float32)
_INTS = np.array([[3, 1], [0, 2], [7, 5]], np.int32)
_NAN = np.array([3, np.nan, 1], np.float32)
_NAN_WHY = "its place of NaN depends on the order of the comparisons"

SAMPLES = [
    Sample("sort", (_DISTINCT,), {"axis": 1}, lambda data: np.sort(data, 1)),
    Sample("sort", (_DISTINCT,), {"axis": -1, "is_ascend": False}, lambda data: np.sort(data)[..., ::-1]),
    Sample("sort", (_DISTINCT,), {"axis": None}, lambda data: np.sort(data, None), grad=()),
    Sample("sort", (_INTS,), {"axis": 0}, lambda data: np.sort(data, 0)),
    Sample("sort", (_NAN,), {}, np.sort, grad=(), oracle=False, why=_NAN_WHY),
    Sample(
        "sort", (np.zeros((0, 3), np.float32),), {}, lambda data: data, grad=(), oracle=False, why="empty"
    ),
    Sample("argsort", (_TIES,), {}, lambda data: np.argsort(data, kind="stable").astype(np.float32), grad=()),
    Sample("argsort", (_TIES,), {"is_ascend": False}, lambda data: np.float32([0, 4, 5, 2, 1, 3]), grad=()),
    Sample("argsort", (_DISTINCT,), {"axis": None}, grad=()),
    Sample("argsort", (_INTS,), {"axis": 0, "dtype": "int32"}),
    Sample("argsort", (_DISTINCT,), {"axis": 1, "dtype": "int64"}, grad=()),
    Sample("argsort", (_NAN,), {}, lambda data: np.float32([2, 0, 1]), grad=(), oracle=False, why=_NAN_WHY),
    Sample("topk", (_DISTINCT,), {"k": 2}, grad=()),
    Sample("topk", (_DISTINCT,), {"k": 2, "ret_typ": "value"}, lambda data: np.sort(data)[..., :-3:-1]),
    Sample("topk", (_DISTINCT,), {"k": 2, "ret_typ": "value", "is_ascend": True, "axis": 1}),
    Sample("topk", (_DISTINCT,), {"k": 1, "ret_typ": "both", "axis": 0}, grad=()),
    Sample("topk", (_DISTINCT,), {"k": 3, "ret_typ": "both", "dtype": "int32"}, grad=()),
    Sample("topk", (_DISTINCT,), {"k": 2, "ret_typ": "mask"}, grad=()),
    Sample("topk", (_DISTINCT,), {"k": 2, "ret_typ": "mask", "axis": 1, "is_ascend": True}, grad=()),
    Sample("topk", (_DISTINCT,), {"k": 5, "axis": None}, grad=()),
    Sample("topk", (_DISTINCT,), {"k": 5, "axis": None, "ret_typ": "mask"}, grad=()),
    Sample("topk", (_DISTINCT,), {"k": 0, "dtype": "float64"}, grad=()),
    Sample("topk", (_INTS,), {"k": 1, "ret_typ": "both", "dtype": "uint8"}),
    Sample("topk", (_TIES,), {"k": 4}, lambda data: np.float32([0, 4, 5, 2]), grad=(), tag="ties"),
    Sample(
        "topk",
        (_TIES,),
        {"k": 4, "is_ascend": True},
        lambda data: np.float32([1, 3, 2, 0]),
        grad=(),
        tag="ties",
    ),
    Sample("topk", (_TIES,), {"k": 2, "ret_typ": "mask"}, grad=(), tag="ties"),
]

ERROR_SAMPLES = [
    ErrorSample("topk", "k must be smaller", (_TIES,), {"k": 9}),
    ErrorSample("topk", "Invalid axis", (_TIES,), {"axis": 2}),
    ErrorSample("sort", "Invalid axis", (_TIES,), {"axis": 1}),
    ErrorSample("argsort", "data type", (_TIES,), {"dtype": "flaot32"}),
]
