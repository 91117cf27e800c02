"""Samples of products."""

from __future__ import annotations

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng


def _array(seed: int, *shape: int) -> np.ndarray:
    return rng(seed).uniform(-2, 2, shape).astype(np.float32)


SAMPLES = [
    Sample("dot", (_array(1, 2, 3), _array(2, 3, 2)), {}, np.dot),
    Sample("dot", (_array(3, 3), _array(4, 3)), {}, lambda a, b: np.dot(a, b).reshape(1)),
    Sample("dot", (_array(1, 2, 3), _array(4, 3)), {}, np.dot),
    Sample("dot", (_array(3, 3), _array(2, 3, 2)), {}, np.dot),
    Sample("dot", (_array(3, 3), _array(1, 2, 3)), {"transpose_b": True}, lambda a, b: b @ a),
    Sample("dot", (_array(2, 3, 2), _array(4, 3)), {"transpose_a": True}, lambda a, b: a.T @ b),
    Sample("dot", (_array(3, 3), _array(2, 3, 2)), {"transpose_a": True}, np.dot),
    Sample("dot", (_array(2, 3, 2), _array(1, 2, 3)), {"transpose_a": True, "transpose_b": True}),
    Sample("dot", (_array(5, 2, 2, 3), _array(2, 3, 2)), {}),
    Sample("dot", (_array(5, 2, 2, 3), _array(6, 3, 2, 1)), {}, lambda a, b: np.tensordot(a, b, 1)),
    Sample("dot", (_array(7, 3, 2, 2), _array(6, 3, 2, 1)), {"transpose_a": True}),
    Sample("dot", (_array(8, 1, 2, 3), _array(5, 2, 2, 3)), {"transpose_b": True}),
    Sample("dot", (_array(9, 3, 1, 2), _array(5, 2, 2, 3)), {"transpose_a": True, "transpose_b": True}),
    Sample(
        "dot",
        (np.zeros((2, 0), np.float32), np.zeros((0, 3), np.float32)),
        {},
        np.dot,
        grad=(),
        oracle=False,
        why="empty",
    ),
    Sample("batch_dot", (_array(10, 2, 2, 3), _array(11, 2, 3, 4)), {}, np.matmul),
    Sample("batch_dot", (_array(12, 2, 3, 2), _array(11, 2, 3, 4)), {"transpose_a": True}),
    Sample("batch_dot", (_array(10, 2, 2, 3), _array(13, 2, 4, 3)), {"transpose_b": True}),
    Sample(
        "batch_dot", (_array(12, 2, 3, 2), _array(13, 2, 4, 3)), {"transpose_a": True, "transpose_b": True}
    ),
    Sample("batch_dot", (_array(14, 2, 1, 2, 3), _array(15, 2, 1, 3, 2)), {}, np.matmul),
    Sample("khatri_rao", (_array(16, 2, 2), _array(17, 3, 2)), {}, grad=()),
    Sample("khatri_rao", (_array(16, 2, 1), _array(17, 1, 1), _array(18, 2, 1)), {}, grad=()),
    Sample(
        "khatri_rao",
        (_array(16, 2, 2), _array(17, 3, 2)),
        {},
        lambda a, b: np.einsum("ik,jk->ijk", a, b).reshape(6, 2),
        oracle=False,
        why="MXNet has no gradient for it",
    ),
]

ERROR_SAMPLES = [
    ErrorSample("dot", "dot shape error", (_array(1, 2, 3), _array(2, 2, 3))),
    ErrorSample("dot", "Cannot transpose vectors", (_array(1, 3), _array(2, 3)), {"transpose_a": True}),
    ErrorSample("batch_dot", "N >= 3", (_array(1, 1, 2), _array(2, 2, 1))),
    ErrorSample("batch_dot", "leading batch", (_array(1, 2, 1, 2), _array(2, 1, 2, 1))),
    ErrorSample("batch_dot", "shape mismatch", (_array(1, 2, 1, 2), _array(2, 2, 3, 1))),
    ErrorSample("khatri_rao", "2 columns", (_array(1, 2, 2), _array(2, 3, 1))),
]
