"""Samples of the operators that choose elements along one axis."""

from __future__ import annotations

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng


def _array(seed: int, *shape: int) -> np.ndarray:
    return rng(seed).uniform(-2, 2, shape).astype(np.float32)


def _floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def _ints(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


_MATRIX = _array(1, 3, 4)
_CUBE = _array(2, 2, 3, 4)
_WEIGHT = _array(3, 3, 2)
_SIZES = {"input_dim": 3, "output_dim": 2}

SAMPLES = [
    Sample("take", (_MATRIX, _floats(0, -1, 5, 1.9, -4)), {}, lambda a, i: a[[0, 0, 2, 1, 0]], grad=(0,)),
    Sample(
        "take",
        (_MATRIX, _floats(0, -1, 5, 1.9, -4)),
        {"mode": "wrap"},
        lambda a, i: a[[0, 2, 2, 1, 2]],
        grad=(0,),
    ),
    Sample("take", (_MATRIX, _ints(2, 1)), {"mode": "raise"}, lambda a, i: a[[2, 1]]),
    Sample("take", (_CUBE, np.array([[0, 2]], np.int32)), {"axis": 1}, lambda a, i: a[:, [[0, 2]]]),
    Sample(
        "take",
        (_MATRIX, _floats(0, 3, -6)),
        {"axis": -1, "mode": "wrap"},
        lambda a, i: a[:, [0, 3, 2]],
        grad=(0,),
    ),
    Sample("take", (_array(4, 5), np.array([1], np.uint8)), {}, lambda a, i: a[[1]]),
    Sample(
        "take",
        (_MATRIX, np.zeros(0, np.float32)),
        {},
        lambda a, i: a[:0],
        grad=(),
        oracle=False,
        why="empty indices",
    ),
    Sample("batch_take", (_MATRIX, _ints(0, 3, 1)), {}, lambda a, i: a[range(3), i], grad=()),
    Sample("batch_take", (_MATRIX, _ints(0, 9, -1)), {}, lambda a, i: a[range(3), [0, 3, 0]], grad=()),
    Sample(
        "batch_take",
        (_MATRIX, _ints(0, 3, 1)),
        {},
        lambda a, i: a[range(3), i],
        oracle=False,
        why="MXNet has no gradient for it",
    ),
    Sample("pick", (_MATRIX, _floats(0, 3, 9)), {}, lambda data, i: data[range(3), [0, 3, 3]], grad=(0,)),
    Sample("pick", (_MATRIX, _floats(0, -1, -9)), {}, lambda data, i: data[:, 0], grad=(0,)),
    Sample(
        "pick", (_MATRIX, _floats(0, -9, 4)), {"mode": "wrap"}, lambda d, i: d[range(3), [0, 3, 0]], grad=(0,)
    ),
    Sample(
        "pick", (_MATRIX, _floats(0.9, -0.9, 1.5)), {}, lambda data, i: data[range(3), [0, 0, 1]], grad=(0,)
    ),
    Sample("pick", (_MATRIX, _ints(0, 1, 2)), {"keepdims": True}, lambda data, i: data[range(3), i][:, None]),
    Sample("pick", (_MATRIX, _ints(0, 1, 2).reshape(3, 1)), {"keepdims": True}),
    Sample("pick", (_MATRIX, _ints(0, 1, 2).reshape(3, 1)), {}),
    Sample("pick", (_MATRIX, _ints(0, 1, 2, 0)), {"axis": 0}, lambda data, i: data[i, range(4)]),
    Sample("pick", (_CUBE, _ints(0, 1, 2, 0, 1, 3).reshape(2, 3)), {"axis": 2}),
    Sample("pick", (_CUBE, _ints(0, 1, 2, 0, 1, 2, 0, 0).reshape(2, 4)), {"axis": 1}),
    Sample("pick", (_array(5, 3), _ints(1)), {}, lambda data, i: data[1:2]),
    Sample("pick", (np.arange(6, dtype=np.int32).reshape(2, 3), _floats(1, 2)), {}, grad=()),
    Sample("_npx_pick", (_MATRIX, _ints(0, 1, 2)), {}, lambda data, i: data[range(3), i]),
    Sample(
        "_npx_pick", (_MATRIX, _ints(0, 1, 2)), {"keepdims": True}, lambda data, i: data[range(3), i][:, None]
    ),
    Sample("fill_element_0index", (_MATRIX, _floats(7, 8, 9), _floats(0, 1, 2)), {}, grad=()),
    Sample("fill_element_0index", (_MATRIX, _floats(7, 8, 9), _floats(0, 3, 9)), {}, grad=()),
    Sample("one_hot", (_floats(0, 1.7, -1, 3, np.nan),), {"depth": 3}, grad=()),
    Sample("one_hot", (_floats(-0.5, 0.5),), {"depth": 2}, grad=()),
    Sample(
        "one_hot",
        (_ints(0, 1).reshape(2, 1),),
        {"depth": 2, "on_value": 5, "off_value": -1, "dtype": "int32"},
        grad=(),
    ),
    Sample("one_hot", (_ints(2, 0),), {"depth": 3, "dtype": "float16"}, grad=()),
    Sample("one_hot", (_ints(2, 0),), {"depth": 0}, lambda i: np.zeros((2, 0), np.float32), grad=()),
    Sample("Embedding", (_floats(0, 1.9, -3, 100).reshape(2, 2), _WEIGHT), _SIZES, grad=(1,)),
    Sample("Embedding", (_ints(0, 2, 2), _WEIGHT), _SIZES, lambda i, w: w[i]),
    Sample(
        "Embedding",
        (_ints(0, 2, 2), _WEIGHT.astype(np.float64)),
        {**_SIZES, "dtype": "float64"},
        lambda i, w: w[i],
    ),
    Sample("Embedding", (_ints(0, 1), _WEIGHT.astype(np.float16)), _SIZES, lambda i, w: w[i], grad=()),
    Sample(
        "Embedding",
        (_ints(1, 0), _WEIGHT),
        {**_SIZES, "sparse_grad": True},
        lambda i, w: w[i],
        oracle=False,
        why="its gradient is row-sparse; the dense values are the same",
    ),
    Sample("_contrib_SparseEmbedding", (_ints(0, 1), _WEIGHT), _SIZES, lambda i, w: w[i], grad=()),
    Sample(
        "_contrib_SparseEmbedding", (_floats(2, 2, 9), _WEIGHT), _SIZES, lambda i, w: w[[2, 2, 2]], grad=()
    ),
    Sample(
        "where", (_floats(0, 2, np.nan, 0).reshape(2, 2), _array(6, 2, 2), _array(7, 2, 2)), {}, grad=(1, 2)
    ),
    Sample("where", (_floats(0, 2), _array(6, 2, 2), _array(7, 2, 2)), {}, grad=(1, 2)),
    Sample("where", (_ints(1, 0), _array(8, 2, 3), _array(9, 2, 3)), {}),
    Sample("where", (_ints(1, 0), _ints(1, 2), _ints(3, 4)), {}),
    Sample("_contrib_boolean_mask", (_WEIGHT, _floats(0, 1, 1)), {}, lambda data, mask: data[1:], grad=(0,)),
    Sample("_contrib_boolean_mask", (_WEIGHT, _ints(0, 1, 0)), {}, lambda data, mask: data[1:2]),
    Sample("_contrib_boolean_mask", (_WEIGHT, _floats(0, 0, 0)), {}, lambda data, mask: data[:0], grad=()),
    Sample(
        "_contrib_boolean_mask",
        (_WEIGHT, _floats(0, 1)),
        {"axis": 1},
        lambda data, mask: data[:, 1:],
        grad=(0,),
        oracle=False,
        why="refuses other axes",
    ),
    Sample("_onehot_encode", (_floats(1, 0), np.zeros((2, 3), np.float32)), {}, grad=()),
    Sample("_onehot_encode", (_floats(2, 2, 1), np.zeros((3, 3), np.float32)), {}, grad=()),
]

ERROR_SAMPLES = [
    ErrorSample("take", "out of bounds", (_MATRIX, _ints(0)), {"axis": 2}),
    ErrorSample("take", "Invalid Input", (_MATRIX, _ints(0)), {"mode": "clamp"}),
    ErrorSample("batch_take", "must be the same", (_MATRIX, _ints(0, 1))),
    ErrorSample("pick", "Shape inconsistent", (_MATRIX, _ints(0, 1))),
    ErrorSample("pick", "Must specify an axis", (_MATRIX, _ints(0)), {"axis": None}),
    ErrorSample("one_hot", "Required parameter depth", (_ints(0),)),
    ErrorSample("Embedding", "Shape inconsistent", (_ints(0), _WEIGHT), {"input_dim": 4, "output_dim": 2}),
    ErrorSample("where", "condition has shape", (_floats(0, 2, 1), _array(6, 2, 2), _array(7, 2, 2))),
    ErrorSample("where", "one shape", (_floats(0, 2), _array(6, 2, 2), _array(7, 2, 3))),
    ErrorSample("_contrib_boolean_mask", "the mask has shape", (_WEIGHT, _floats(0, 1))),
]
