"""Samples of the operators that move blocks and windows of images into channels and columns."""

from __future__ import annotations

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng


def _array(seed: int, *shape: int) -> np.ndarray:
    return rng(seed).uniform(-2, 2, shape).astype(np.float32)


SAMPLES = [
    Sample("depth_to_space", (_array(10, 1, 8, 1, 2),), {"block_size": 2}),
    Sample("depth_to_space", (_array(11, 2, 4, 2, 3),), {"block_size": 2}),
    Sample("space_to_depth", (_array(12, 1, 2, 2, 4),), {"block_size": 2}),
    Sample("space_to_depth", (_array(13, 2, 1, 3, 3),), {"block_size": 3}),
    Sample("im2col", (_array(16, 1, 2, 3, 4),), {"kernel": (2, 2)}),
    Sample(
        "im2col",
        (_array(17, 2, 1, 4, 4),),
        {"kernel": (2, 3), "pad": (1, 1), "stride": (2, 1), "dilate": (2, 1)},
    ),
    Sample(
        "im2col",
        (np.arange(8, dtype=np.float32).reshape(1, 2, 4),),
        {"kernel": 2},
        lambda data: np.stack([data[0, 0, :3], data[0, 0, 1:], data[0, 1, :3], data[0, 1, 1:]])[None],
        oracle=False,
        why="the CPU build fails in one dimension",
    ),
    Sample("col2im", (_array(18, 1, 4, 4),), {"kernel": (2, 2), "output_size": (3, 3)}),
    Sample(
        "col2im",
        (_array(19, 2, 8, 6),),
        {"kernel": (2, 2), "output_size": (4, 5), "stride": (2, 2), "pad": (0, 1)},
    ),
]

ERROR_SAMPLES = [
    ErrorSample("depth_to_space", "multiple", (_array(1, 1, 3, 1, 2),), {"block_size": 2}),
    ErrorSample("depth_to_space", "4D", (_array(1, 3, 1, 2),), {"block_size": 2}),
    ErrorSample("space_to_depth", "multiples", (_array(1, 1, 3, 1, 2),), {"block_size": 2}),
    ErrorSample("depth_to_space", "sizes of 0", (_array(1, 1, 4, 0, 2),), {"block_size": 2}),
    ErrorSample("space_to_depth", "sizes of 0", (_array(1, 1, 0, 2, 2),), {"block_size": 2}),
    ErrorSample("im2col", "kernel size exceed input", (_array(1, 1, 1, 2, 2),), {"kernel": (3, 3)}),
    ErrorSample(
        "col2im", "multiples of kernel size", (_array(1, 1, 5, 4),), {"kernel": (2, 2), "output_size": (3, 3)}
    ),
    ErrorSample("col2im", "does not match", (_array(1, 1, 4, 3),), {"kernel": (2, 2), "output_size": (3, 3)}),
]
