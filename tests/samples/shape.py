"""Samples of the operators that rearrange one array."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng


def _array(seed: int, *shape: int) -> np.ndarray:
    return rng(seed).uniform(-2, 2, shape).astype(np.float32)


def _reshaped(shape: tuple[int, ...]) -> Any:
    return lambda data, *_: data.reshape(shape)


_CUBE = _array(1, 2, 3, 4)

# Codes, the shape they make of (2, 3, 4), and whether they read from the right.
_RESHAPES: list[tuple[tuple[int, ...], tuple[int, ...], bool]] = [
    ((4, 0, 2), (4, 3, 2), False),
    ((6, 4), (6, 4), False),
    ((-1,), (24,), False),
    ((0, -1), (2, 12), False),
    ((0, -1), (3, 8), True),
    ((-2,), (2, 3, 4), False),
    ((-2, 1, 1), (2, 3, 4, 1, 1), False),
    ((-3, 4), (6, 4), False),
    ((0, -3), (2, 12), False),
    ((0, -3), (2, 12), True),
    ((-4, 1, 2, -2), (1, 2, 3, 4), False),
    ((2, -4, -1, 3, -2), (2, 1, 3, 4), False),
    ((6, 1, -1), (6, 1, 4), False),
    ((0, 0, 0, -1), (2, 3, 4, 1), False),
    ((-1, 0), (6, 4), True),
    ((0, 3, 2, 2, -4), (2, 3, 2, 2), True),
    ((0, 3, 1, -4, 0), (2, 3, 1, 4), True),
]

SAMPLES = [
    *[
        Sample("Reshape", (_CUBE,), {"shape": codes, "reverse": reverse}, _reshaped(shape))
        for codes, shape, reverse in _RESHAPES
    ],
    Sample("Reshape", (_CUBE,), {"target_shape": (0, 12)}, _reshaped((2, 12))),
    Sample("Reshape", (_CUBE,), {"target_shape": (0, 12), "keep_highest": True}, _reshaped((2, 12))),
    Sample(
        "Reshape",
        (_CUBE,),
        {"shape": (-2, -1)},
        _reshaped((2, 3, 4, 1)),
        oracle=False,
        why="puts the -1 elsewhere",
    ),
    Sample(
        "Reshape",
        (np.zeros((0, 3), np.float32),),
        {"shape": (0, -1)},
        _reshaped((0, 3)),
        oracle=False,
        why="empty",
    ),
    Sample(
        "Reshape",
        (np.zeros((0, 3), np.float32),),
        {"shape": (-1,)},
        _reshaped((0,)),
        oracle=False,
        why="empty",
    ),
    Sample("Flatten", (_CUBE,), {}, _reshaped((2, 12))),
    Sample("Flatten", (_array(2, 3),), {}, _reshaped((3, 1))),
    Sample("Flatten", (np.zeros((0, 3, 2), np.float32),), {}, _reshaped((0, 6)), oracle=False, why="empty"),
    Sample("transpose", (_CUBE,), {}, np.transpose),
    Sample("transpose", (_CUBE,), {"axes": (1, 2, 0)}, lambda data: data.transpose(1, 2, 0)),
    Sample("transpose", (_array(3, 2, 3),), {"axes": (1, 0)}, lambda data: data.T),
    Sample("transpose", (np.arange(6, dtype=np.int32).reshape(2, 3),), {}, lambda data: data.T),
    Sample("SwapAxis", (_CUBE,), {"dim1": 0, "dim2": 2}, lambda data: data.swapaxes(0, 2)),
    Sample("SwapAxis", (_CUBE,), {"dim1": -1, "dim2": 1}, lambda data: data.swapaxes(-1, 1)),
    Sample("SwapAxis", (_CUBE,), {"dim1": 1, "dim2": 1}, lambda data: data),
    Sample("expand_dims", (_CUBE,), {"axis": 0}, _reshaped((1, 2, 3, 4))),
    Sample("expand_dims", (_CUBE,), {"axis": -1}, _reshaped((2, 3, 4, 1))),
    Sample("expand_dims", (_CUBE,), {"axis": -4}, _reshaped((1, 2, 3, 4))),
    Sample("squeeze", (_array(4, 1, 3, 1),), {}, _reshaped((3,))),
    Sample("squeeze", (_array(4, 1, 3, 1),), {"axis": -1}, _reshaped((1, 3))),
    Sample("squeeze", (_array(4, 1, 3, 1),), {"axis": (0, 2)}, _reshaped((3,))),
    Sample("squeeze", (_array(5, 1, 1),), {}, _reshaped((1,))),
    Sample("squeeze", (_array(5, 1, 1),), {"axis": (0, 1)}, _reshaped((1,))),
    Sample("reverse", (_CUBE,), {"axis": (0, 2)}, lambda data: data[::-1, :, ::-1]),
    Sample("reverse", (_CUBE,), {"axis": 1}, lambda data: data[:, ::-1]),
    Sample("reshape_like", (_array(6, 6), _array(7, 2, 3)), {}, _reshaped((2, 3)), grad=(0,)),
    Sample("reshape_like", (_array(6, 6), np.zeros((2, 3), np.int32)), {}, _reshaped((2, 3)), grad=(0,)),
    Sample(
        "reshape_like",
        (_array(8, 6, 2), _array(9, 2, 3, 5)),
        {"lhs_begin": 0, "lhs_end": -1, "rhs_begin": 0, "rhs_end": -1},
        _reshaped((2, 3, 2)),
        grad=(0,),
    ),
    Sample(
        "reshape_like",
        (_array(8, 6, 2), _array(9, 2, 3, 2)),
        {"lhs_end": 1, "rhs_end": 2},
        _reshaped((2, 3, 2)),
        grad=(0,),
    ),
    Sample("diag", (_array(14, 3),), {}, np.diag),
    Sample("diag", (_array(14, 3),), {"k": -1}, lambda data: np.diag(data, -1)),
    Sample("diag", (_array(15, 3, 4),), {"k": 1}, lambda data: np.diag(data, 1)),
    Sample("diag", (_array(15, 3, 4),), {"k": -2}, lambda data: np.diag(data, -2)),
    Sample("diag", (_array(15, 3, 4),), {"k": 4}, lambda data: np.zeros((0,), np.float32), grad=()),
    Sample("diag", (_CUBE,), {}, lambda data: np.diagonal(data, 0, 0, 1)),
    Sample("diag", (_CUBE,), {"axis1": -1, "axis2": 1, "k": 1}, lambda data: np.diagonal(data, 1, 2, 1)),
    Sample(
        "_copyto",
        (_CUBE,),
        {},
        lambda data: data,
        oracle=False,
        why="has no type inference outside of its engine",
    ),
    Sample("_copyto", (_array(2, 3),), {}, lambda data: data, oracle=False, why="as above"),
    Sample(
        "_CrossDeviceCopy", (_CUBE,), {}, lambda data: data, oracle=False, why="only inside of placed graphs"
    ),
    Sample("_CrossDeviceCopy", (_array(2, 3),), {}, lambda data: data, oracle=False, why="as above"),
    Sample("_identity_with_attr_like_rhs", (_CUBE, _array(20, 2, 3, 4)), {}, lambda lhs, rhs: lhs, grad=(0,)),
    Sample("_identity_with_attr_like_rhs", (_array(2, 3), _array(3, 3)), {}, lambda lhs, rhs: lhs, grad=(0,)),
    Sample("_contrib_arange_like", (_array(21, 2, 3),), {}, grad=()),
    Sample("_contrib_arange_like", (_array(21, 2, 3),), {"axis": 1, "start": 2, "step": 0.5}, grad=()),
    Sample("_contrib_arange_like", (_array(21, 2, 4),), {"axis": -1, "repeat": 2}, grad=()),
    Sample("_contrib_arange_like", (_array(21, 3),), {"repeat": 2}, grad=()),
    Sample("_contrib_arange_like", (np.zeros(3, np.int32),), {}, grad=()),
    Sample("_contrib_index_array", (_array(22, 2, 3),), {}, grad=()),
    Sample("_contrib_index_array", (_array(22, 2, 3),), {"axes": (1,)}, grad=()),
    Sample("_contrib_index_array", (_array(22, 2, 3),), {"axes": (-1, 0)}, grad=()),
]

ERROR_SAMPLES = [
    ErrorSample("Reshape", "One and only one dim", (_CUBE,), {"shape": (-1, -1)}),
    ErrorSample("Reshape", "Split dims", (_CUBE,), {"shape": (-4, 2, 2, -2)}),
    ErrorSample("Reshape", "cannot both be -1", (_CUBE,), {"shape": (2, -4, -1, -1, 4)}),
    ErrorSample("Reshape", "no dimension left", (_CUBE,), {"shape": (0, 0, 0, 0)}),
    ErrorSample("Reshape", "dim size must be", (_CUBE,), {"shape": (-5,)}),
    ErrorSample("Reshape", "size 24", (_CUBE,), {"shape": (5, 5)}),
    ErrorSample("Reshape", "size 24", (_CUBE,), {"shape": (-1, 7)}),
    ErrorSample("transpose", "duplicate", (_CUBE,), {"axes": (0, 0, 1)}),
    ErrorSample("transpose", "one entry per dimension", (_CUBE,), {"axes": (0,)}),
    ErrorSample("SwapAxis", "out of bounds", (_CUBE,), {"dim1": 1, "dim2": 3}),
    ErrorSample("expand_dims", "out of bounds", (_CUBE,), {"axis": 4}),
    ErrorSample("squeeze", "size=3 not equal to one", (_array(4, 1, 3, 1),), {"axis": 1}),
    ErrorSample("squeeze", "duplicate", (_array(4, 1, 3, 1),), {"axis": (0, 0)}),
    ErrorSample("reverse", "out of bounds", (_CUBE,), {"axis": 3}),
    ErrorSample("reshape_like", "different size", (_array(6, 6), _array(7, 2, 2))),
    ErrorSample("diag", "same axis", (_array(1, 2, 3),), {"axis1": 1, "axis2": 1}),
]
