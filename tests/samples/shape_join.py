"""Samples of the operators that join, split, repeat, pad and broadcast arrays."""

from __future__ import annotations

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng


def _array(seed: int, *shape: int) -> np.ndarray:
    return rng(seed).uniform(-2, 2, shape).astype(np.float32)


_EMPTY = np.zeros((2, 0), np.float32)
_IMAGE = _array(1, 1, 2, 3, 4)
_VOLUME = _array(2, 1, 1, 2, 3, 4)
_BORDER = (0, 0, 0, 0, 1, 2, 0, 3)

SAMPLES = [
    Sample("Concat", (_array(3, 2, 1), _array(4, 2, 3)), {}, lambda *arrays: np.concatenate(arrays, 1)),
    Sample(
        "Concat", (_array(3, 2, 1), _array(4, 2, 3)), {"dim": -1}, lambda *arrays: np.concatenate(arrays, 1)
    ),
    Sample(
        "Concat",
        (_array(5, 2), _array(6, 3), _array(7, 1)),
        {"dim": 0},
        lambda *arrays: np.concatenate(arrays, 0),
    ),
    Sample("Concat", (_array(3, 2, 1),), {}, lambda array: array),
    Sample("Concat", (np.arange(4, dtype=np.int32).reshape(2, 2),) * 2, {"dim": 0}),
    Sample("Concat", (_EMPTY, _array(4, 2, 3)), {}, lambda a, b: b, oracle=False, why="refuses empty arrays"),
    Sample(
        "_rnn_param_concat",
        (_array(5, 2), _array(6, 3)),
        {"dim": 0},
        lambda *arrays: np.concatenate(arrays, 0),
    ),
    Sample(
        "_rnn_param_concat",
        (_array(8, 4), _array(9, 4)),
        {"dim": 0},
        lambda *arrays: np.concatenate(arrays, 0),
    ),
    Sample("stack", (_array(10, 2, 3), _array(11, 2, 3)), {}, lambda *arrays: np.stack(arrays)),
    Sample("stack", (_array(10, 2, 3), _array(11, 2, 3)), {"axis": -1}, lambda *arrays: np.stack(arrays, -1)),
    Sample("stack", (_array(12, 2),) * 3, {"axis": 1}, lambda *arrays: np.stack(arrays, 1)),
    Sample("SliceChannel", (_array(13, 2, 4),), {"num_outputs": 2}, lambda data: tuple(np.split(data, 2, 1))),
    Sample("SliceChannel", (_array(13, 2, 4),), {"num_outputs": 2, "axis": -1}),
    Sample("SliceChannel", (_array(14, 3, 2, 2),), {"num_outputs": 3, "axis": 0, "squeeze_axis": True}),
    Sample("SliceChannel", (_array(13, 2, 4),), {"num_outputs": 1}),
    Sample("_split_v2", (_array(15, 5, 2),), {"indices": (0, 2, 3), "axis": 0}),
    Sample("_split_v2", (_array(15, 5, 2),), {"indices": (0, 2, 2), "axis": 0}, grad=()),
    Sample("_split_v2", (_array(16, 2, 4),), {"indices": (), "sections": 2}),
    Sample("_split_v2", (_array(15, 5, 2),), {"indices": (), "axis": 0, "sections": 2}),
    Sample("_split_v2", (_array(17, 2, 3),), {"indices": (), "axis": 0, "sections": 2, "squeeze_axis": True}),
    Sample("tile", (_array(18, 2, 3),), {"reps": (2, 2)}, lambda data: np.tile(data, (2, 2))),
    Sample("tile", (_array(19, 2),), {"reps": (2, 1, 2)}, lambda data: np.tile(data, (2, 1, 2))),
    Sample("tile", (_array(18, 2, 3),), {"reps": 2}, lambda data: np.tile(data, 2)),
    Sample("tile", (_array(18, 2, 3),), {"reps": ()}, lambda data: data),
    Sample("repeat", (_array(20, 2, 3),), {"repeats": 2}, lambda data: np.repeat(data, 2)),
    Sample("repeat", (_array(20, 2, 3),), {"repeats": 3, "axis": -1}, lambda data: np.repeat(data, 3, -1)),
    Sample("repeat", (_array(20, 2, 3),), {"repeats": 2, "axis": 0}, lambda data: np.repeat(data, 2, 0)),
    Sample(
        "repeat",
        (_array(20, 2, 3),),
        {"repeats": 0, "axis": 1},
        lambda data: np.zeros(0, np.float32),
        grad=(),
    ),
    Sample("Pad", (_IMAGE,), {"mode": "constant", "pad_width": _BORDER, "constant_value": 9}),
    Sample("Pad", (_IMAGE,), {"mode": "edge", "pad_width": _BORDER}),
    Sample("Pad", (np.zeros((0, 2, 0, 3), np.float32),), {"mode": "edge", "pad_width": _BORDER}, oracle=False,
           reference=lambda x: np.zeros((0, 2, 3, 6), np.float32), numeric_grad=False,
           why="refuses empty arrays"),
    Sample("Pad", (_IMAGE,), {"mode": "reflect", "pad_width": _BORDER}),
    Sample("Pad", (_VOLUME,), {"mode": "constant", "pad_width": (0, 0, 0, 0, 1, 0, 1, 2, 0, 1)}),
    Sample("Pad", (_VOLUME,), {"mode": "edge", "pad_width": (0, 0, 0, 0, 1, 0, 1, 2, 0, 1)}),
    Sample("Pad", (_VOLUME,), {"mode": "reflect", "pad_width": (0, 0, 0, 0, 1, 1, 1, 2, 2, 3)}),
    Sample(
        "broadcast_to", (_array(21, 2, 1),), {"shape": (0, 3)}, lambda data: np.broadcast_to(data, (2, 3))
    ),
    Sample(
        "broadcast_to",
        (_array(22, 1, 2, 1),),
        {"shape": (3, 2, 2)},
        lambda data: np.broadcast_to(data, (3, 2, 2)),
    ),
    Sample("broadcast_axis", (_array(21, 2, 1),), {"axis": 1, "size": 3}),
    Sample("broadcast_axis", (_array(22, 1, 2, 1),), {"axis": (0, 2), "size": (2, 3)}),
    Sample("broadcast_like", (_array(21, 2, 1), _array(23, 2, 3)), {}, grad=(0,)),
    Sample("broadcast_like", (_array(21, 2, 1), np.zeros((2, 3), np.int32)), {}, grad=(0,)),
    Sample(
        "broadcast_like",
        (_array(21, 2, 1), _array(24, 3, 4)),
        {"lhs_axes": (1,), "rhs_axes": (0,)},
        grad=(0,),
    ),
    Sample(
        "broadcast_like",
        (_array(21, 2, 1), _array(24, 3, 4)),
        {"lhs_axes": (-1,), "rhs_axes": (-1,)},
        grad=(0,),
    ),
    # Negative numbers cut off, after the border of the whole array was made. MXNet's gradient of what a border of
    # constants cuts off is that of other elements.
    Sample("Pad", (_IMAGE,), {"mode": "constant", "pad_width": (0, 0, 0, 0, 1, -1, -1, 2)}, grad=(), tag="crop"),
    *(Sample("Pad", (_IMAGE,), {"mode": mode, "pad_width": (0, 0, 0, 0, 1, -1, -1, 2)}, tag="crop")
      for mode in ("edge", "reflect")),
]

ERROR_SAMPLES = [
    ErrorSample("Concat", "Incompatible input shape", (_array(3, 2, 1), _array(4, 3, 2))),
    ErrorSample("Concat", "exceeds the input dimension", (_array(3, 2), _array(4, 3))),
    ErrorSample("stack", "one shape", (_array(3, 2), _array(4, 3))),
    ErrorSample("SliceChannel", "does not evenly divide", (_array(3, 2, 4),), {"num_outputs": 3}),
    ErrorSample(
        "SliceChannel", "must be the same", (_array(3, 2, 4),), {"num_outputs": 2, "squeeze_axis": True}
    ),
    ErrorSample("_split_v2", "exceeds the size", (_array(3, 5, 2),), {"indices": (0, 2, 7), "axis": 0}),
    ErrorSample("_split_v2", "begin at 0", (_array(3, 5, 2),), {"indices": (2, 3), "axis": 0}),
    ErrorSample("tile", "negative", (_array(3, 2),), {"reps": (-1,)}),
    ErrorSample("tile", "without elements", (_array(19, 2),), {"reps": (2, 0)}),
    ErrorSample("repeat", "out of", (_array(3, 2),), {"repeats": 0, "axis": 1}),
    ErrorSample("repeat", "negative", (_array(3, 2),), {"repeats": -1}),
    ErrorSample(
        "Pad", "smaller than the input", (_IMAGE,), {"mode": "reflect", "pad_width": (0, 0, 0, 0, 3, 0, 0, 0)}
    ),
    ErrorSample(
        "Pad", "4-D or 5-D", (_array(3, 1, 2, 2),), {"mode": "edge", "pad_width": (0, 0, 0, 0, 1, 1)}
    ),
    ErrorSample("Pad", "first two axes", (_IMAGE,), {"mode": "edge", "pad_width": (1, 0, 0, 0, 1, 1, 0, 1)}),
    ErrorSample("broadcast_to", "cannot be broadcasted", (_array(3, 2, 2),), {"shape": (2, 3)}),
    ErrorSample("broadcast_to", "numbers of dimensions differ", (_array(3, 2),), {"shape": (3, 2)}),
    ErrorSample("broadcast_axis", "must have size 1", (_array(3, 2, 2),), {"axis": 1, "size": 3}),
    ErrorSample("broadcast_like", "numbers of dimensions differ", (_array(3, 2, 1), _array(4, 1, 2, 3))),
]
