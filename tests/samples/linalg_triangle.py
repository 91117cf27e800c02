"""Samples of the operators that move diagonals and triangles into vectors and back."""

from __future__ import annotations

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng


def _array(seed: int, *shape: int) -> np.ndarray:
    return rng(seed).uniform(-2, 2, shape).astype(np.float32)


_SQUARE, _BATCH = _array(1, 4, 4), _array(2, 2, 3, 3)

SAMPLES = [
    *[
        Sample("_linalg_extractdiag", (_SQUARE,), {"offset": k}, lambda a, k=k: np.diag(a, k))
        for k in (0, 1, -2)
    ],
    Sample("_linalg_extractdiag", (_BATCH,), {"offset": -1}, lambda a: np.diagonal(a, -1, 1, 2)),
    *[
        Sample("_linalg_makediag", (_array(3, 3),), {"offset": k}, lambda a, k=k: np.diag(a, k))
        for k in (0, 1, -2)
    ],
    Sample("_linalg_makediag", (_array(4, 2, 2),), {"offset": 1}),
    *[
        Sample("_linalg_extracttrian", (_SQUARE,), {"offset": k, "lower": lower})
        for k in (0, 1, -2)
        for lower in (True, False)
    ],
    Sample("_linalg_extracttrian", (_BATCH,), {}),
    *[
        Sample("_linalg_maketrian", (_array(5, 6),), {"offset": k, "lower": lower})
        for k in (0, 1, -2)
        for lower in (True, False)
    ],
    Sample("_linalg_maketrian", (_array(6, 2, 3),), {}),
]

ERROR_SAMPLES = [
    ErrorSample("_linalg_extractdiag", "Illegal offset", (_SQUARE,), {"offset": 5}),
    ErrorSample("_linalg_extractdiag", "square", (_array(7, 2, 3),)),
    ErrorSample("_linalg_extracttrian", "Illegal offset", (_SQUARE,), {"offset": -4}),
    ErrorSample("_linalg_maketrian", "invalid dimension", (_array(8, 4),)),
]
