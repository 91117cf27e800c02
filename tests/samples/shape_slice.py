"""Samples of the operators that cut pieces out of arrays and write into them."""

from __future__ import annotations

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng


def _array(seed: int, *shape: int) -> np.ndarray:
    return rng(seed).uniform(-2, 2, shape).astype(np.float32)


_MATRIX = _array(1, 3, 4)
_IMAGE = _array(2, 1, 2, 4, 5)

# Begin, end and step, and what they mean in NumPy.
_SLICES = [
    ((0, 1), (2, 3), (), np.s_[0:2, 1:3]),
    ((None, 1), (None, None), (), np.s_[:, 1:]),
    ((-2,), (None,), (), np.s_[-2:]),
    ((2, 3), (0, 0), (-1, -1), np.s_[2:0:-1, 3:0:-1]),
    ((None, None), (None, None), (-1, -2), np.s_[::-1, ::-2]),
    ((None, 3), (None, None), (1, -1), np.s_[:, 3::-1]),
    ((0, 0), (9, 9), (), np.s_[0:9, 0:9]),
    ((-9,), (2,), (), np.s_[-9:2]),
    ((2,), (-9,), (-1,), np.s_[2:-9:-1]),
    ((1, 1), (3, 4), (1, 2), np.s_[1:3, 1:4:2]),
    ((9,), (None,), (-1,), np.s_[9::-1]),
    ((0,), (None,), (None,), np.s_[0:]),
]


def _assigned(key: tuple[slice, ...]) -> object:
    def reference(target: np.ndarray, piece: np.ndarray) -> np.ndarray:
        result = target.copy()
        result[key] = piece
        return result

    return reference


SAMPLES = [
    *[
        Sample(
            "slice", (_MATRIX,), {"begin": begin, "end": end, "step": step}, lambda data, key=key: data[key]
        )
        for begin, end, step, key in _SLICES
    ],
    Sample("slice", (_MATRIX,), {"begin": (2,), "end": (1,)}, lambda data: data[2:1], grad=()),
    Sample("slice", (_MATRIX,), {"begin": (5,), "end": (9,)}, lambda data: data[5:9], grad=()),
    Sample("slice_axis", (_MATRIX,), {"axis": 0, "begin": 1, "end": 2}, lambda data: data[1:2]),
    Sample("slice_axis", (_MATRIX,), {"axis": 1, "begin": -2, "end": None}, lambda data: data[:, -2:]),
    Sample("slice_axis", (_MATRIX,), {"axis": -1, "begin": 0, "end": -1}, lambda data: data[:, :-1]),
    Sample("slice_like", (_MATRIX, _array(3, 2, 2)), {}, lambda data, like: data[:2, :2], grad=(0,)),
    Sample(
        "slice_like", (_MATRIX, _array(3, 2, 2)), {"axes": (-1,)}, lambda data, like: data[:, :2], grad=(0,)
    ),
    Sample("slice_like", (_MATRIX, _array(3, 2)), {"axes": (0,)}, lambda data, like: data[:2], grad=(0,)),
    Sample(
        "slice_like", (_MATRIX, np.zeros((2, 2), np.int32)), {}, lambda data, like: data[:2, :2], grad=(0,)
    ),
    Sample("Crop", (_IMAGE,), {"h_w": (2, 3)}, lambda data: data[:, :, :2, :3]),
    Sample("Crop", (_IMAGE,), {"h_w": (2, 3), "offset": (1, 2)}, lambda data: data[:, :, 1:3, 2:5]),
    Sample("Crop", (_IMAGE,), {"h_w": (2, 3), "center_crop": True}, lambda data: data[:, :, 1:3, 1:4]),
    Sample(
        "Crop",
        (_IMAGE, _array(4, 1, 1, 3, 3)),
        {"center_crop": True},
        lambda data, like: data[:, :, :3, 1:4],
        grad=(0,),
    ),
    Sample(
        "Crop",
        (_IMAGE, _array(4, 1, 1, 3, 3)),
        {"offset": (1, 1)},
        lambda data, like: data[:, :, 1:, 1:4],
        grad=(0,),
    ),
    Sample(
        "_slice_assign",
        (_MATRIX, _array(5, 2, 2)),
        {"begin": (0, 0), "end": (2, 2)},
        _assigned(np.s_[:2, :2]),
        grad=(),
    ),
    Sample(
        "_slice_assign",
        (_MATRIX, _array(6, 3, 2)),
        {"begin": (None, None), "end": (None, None), "step": (None, -2)},
        _assigned(np.s_[:, ::-2]),
        grad=(),
    ),
    Sample(
        "_slice_assign",
        (_MATRIX, _array(7, 2, 4)),
        {"begin": (1,), "end": (3,)},
        _assigned(np.s_[1:3,]),
        oracle=False,
        why="MXNet has no gradient for it",
    ),
    Sample("_slice_assign_scalar", (_MATRIX,), {"scalar": 7, "begin": (0, 0), "end": (2, 2)}, grad=()),
    Sample(
        "_slice_assign_scalar",
        (_MATRIX,),
        {"scalar": -1.5, "begin": (2,), "end": (None,), "step": (-2,)},
        grad=(),
    ),
    Sample(
        "_slice_assign_scalar",
        (np.arange(6, dtype=np.int32).reshape(2, 3),),
        {"scalar": 7.6, "begin": (0, 1), "end": (2, 3)},
        grad=(),
    ),
]

ERROR_SAMPLES = [
    ErrorSample("slice", "step cannot be 0", (_MATRIX,), {"begin": (0,), "end": (2,), "step": (0,)}),
    ErrorSample("slice", "exceeds data dimensions", (_MATRIX,), {"begin": (0, 0, 0), "end": (1, 1, 1)}),
    ErrorSample("slice", "same length", (_MATRIX,), {"begin": (0,), "end": (1, 2)}),
    ErrorSample("slice", "same length", (_MATRIX,), {"begin": (0,), "end": (1,), "step": (1, 1)}),
    ErrorSample("slice_axis", "Invalid begin, end", (_MATRIX,), {"axis": 0, "begin": 0, "end": 9}),
    ErrorSample("slice_axis", "Invalid begin, end", (_MATRIX,), {"axis": 0, "begin": 2, "end": 1}),
    ErrorSample("slice_axis", "out of bounds", (_MATRIX,), {"axis": 2, "begin": 0, "end": 1}),
    ErrorSample("slice_like", "exceeds limit", (_MATRIX, _array(3, 5, 2))),
    ErrorSample("slice_like", "numbers of dimensions", (_MATRIX, _array(3, 2))),
    ErrorSample("Crop", "crop height", (_IMAGE,), {"h_w": (6, 3)}),
    ErrorSample("Crop", "residual space", (_IMAGE,), {"h_w": (2, 3), "offset": (3, 3)}),
    ErrorSample(
        "_slice_assign", "Shape inconsistent", (_MATRIX, _array(3, 1, 2)), {"begin": (0, 0), "end": (2, 2)}
    ),
]
