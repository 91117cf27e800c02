"""Samples of the operators that read and write elements at points."""

from __future__ import annotations

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng


def _array(seed: int, *shape: int) -> np.ndarray:
    return rng(seed).uniform(-2, 2, shape).astype(np.float32)


def _rows(*rows: list[int]) -> np.ndarray:
    return np.array(rows, np.int32)


_MATRIX = _array(1, 3, 4)
_CUBE = _array(2, 2, 3, 2)

SAMPLES = [
    Sample("gather_nd", (_MATRIX, _rows([0, 1, 0], [1, 2, 1])), {}, lambda data, i: data[i[0], i[1]]),
    Sample("gather_nd", (_MATRIX, _rows([0, 2])), {}, lambda data, i: data[i[0]]),
    Sample(
        "gather_nd",
        (_MATRIX, np.array([[0.9, 1.9]], np.float32)),
        {},
        lambda data, i: data[[0, 1]],
        grad=(0,),
    ),
    Sample("gather_nd", (_MATRIX, _rows([0, -1], [1, -2])), {}, lambda data, i: data[i[0], i[1]], grad=()),
    Sample(
        "gather_nd", (_CUBE, np.array([[[0, 1]], [[2, 0]]], np.int32)), {}, lambda data, i: data[i[0], i[1]]
    ),
    Sample(
        "gather_nd",
        (_MATRIX, _rows([0, -1], [1, -2])),
        {},
        lambda data, i: data[i[0], i[1]],
        oracle=False,
        why="its gradient damages memory for negative indices",
    ),
    Sample("scatter_nd", (_array(3, 3), _rows([1, 1, 0], [0, 1, 0])), {"shape": (2, 2)}),
    Sample("scatter_nd", (_array(4, 2, 2), _rows([1, 0])), {"shape": (3, 2)}),
    Sample("scatter_nd", (np.arange(2, dtype=np.int32), _rows([1, 0])), {"shape": (3,)}),
    Sample("scatter_nd", (_array(5, 2), np.array([[0, 3]], np.float32)), {"shape": (4,)}, grad=(0,)),
    Sample(
        "_scatter_set_nd",
        (np.zeros((2, 2), np.float32), _array(6, 2), _rows([1, 0], [0, 1])),
        {"shape": (2, 2)},
        lambda lhs, rhs, i: np.array([[0, rhs[1]], [rhs[0], 0]], lhs.dtype),
        oracle=False,
        why="only writes in place",
    ),
    Sample(
        "_scatter_set_nd",
        (_array(7, 3, 2), _array(8, 1, 2), _rows([2])),
        {"shape": (3, 2)},
        lambda lhs, rhs, i: np.concatenate([lhs[:2], rhs]),
        oracle=False,
        why="only writes in place",
    ),
    Sample(
        "_backward_gather_nd", (np.array([2, 3, 7], np.float32), _rows([1, 1, 1])), {"shape": (2,)}, grad=()
    ),
    Sample("_backward_gather_nd", (_array(9, 2, 2), _rows([1, 1])), {"shape": (3, 2)}, grad=()),
    Sample("_contrib_index_copy", (_array(10, 3, 2), np.array([2, 0], np.int32), _array(11, 2, 2)), {}),
    Sample(
        "_contrib_index_copy", (_array(10, 3, 2), np.array([1], np.float32), _array(11, 1, 2)), {}, grad=()
    ),
    Sample("_ravel_multi_index", (np.array([[3, 6, 6], [4, 5, 1]], np.float32),), {"shape": (7, 6)}, grad=()),
    Sample("_ravel_multi_index", (np.array([[3, 6, 6], [4, 5, 1]], np.int64),), {"shape": (-1, 6)}, grad=()),
    Sample("_ravel_multi_index", (np.array([[9], [9]], np.float32),), {"shape": (7, 6)}, grad=()),
    Sample("_unravel_index", (np.array([22, 41, 37], np.float32),), {"shape": (7, 6)}, grad=()),
    Sample("_unravel_index", (np.array([22, 41, 37], np.int32),), {"shape": (-1, 3, 2)}, grad=()),
    Sample("_unravel_index", (np.array([22, -3], np.float32),), {"shape": (-1, 6)}, grad=()),
    Sample(
        "_unravel_index",
        (np.array([[22, 41], [37, 9]], np.int32),),
        {"shape": (7, 6)},
        lambda data: np.stack(np.unravel_index(data, (7, 6))),
        oracle=False,
        why="leaves arrays of two dimensions as they are",
    ),
]

ERROR_SAMPLES = [
    ErrorSample("gather_nd", "at least 2 dimensions", (_MATRIX, np.array([2, 3], np.int32))),
    ErrorSample("gather_nd", "exceeds data dimension", (_MATRIX, _rows([0], [1], [1]))),
    ErrorSample("scatter_nd", "does not fit the indices", (_array(3, 3), _rows([1, 0])), {"shape": (3,)}),
    ErrorSample(
        "_contrib_index_copy", "index vector", (_array(3, 3, 2), np.array([1], np.int32), _array(4, 2, 2))
    ),
    ErrorSample(
        "_contrib_index_copy", "more than the 2 rows", (_array(3, 2, 2), np.array([0, 1, 1]), _array(4, 3, 2))
    ),
    ErrorSample("_ravel_multi_index", "does not match", (_array(3, 2, 3),), {"shape": (7, 6, 2)}),
    ErrorSample("_unravel_index", "wanted the shape", (_array(3, 3),)),
]
