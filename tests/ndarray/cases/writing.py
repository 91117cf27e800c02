"""``array[key] = value``: where it lands, broadcasting, casting, errors."""

from __future__ import annotations

import numpy as np

from tests.ndarray.cases import Case
from tests.ndarray.cases.reading import KEYS

S = slice
# Writing through these damages the real MXNet's memory or leaves garbage (see facts/mxnet_behaviour.md).
UNSAFE = ("[-1,-3]", "[-4]", "[3]", "nd i64", "nd out", "nd out negative", "[-1,0],[-2,1],[-3,2]", ":,[-5]", ":,[4]")

# (key, value) for an array of shape (3, 4).
VALUES = {
    "a[:] = 1": (S(None), 1), "a[:] = 1.5": (S(None), 1.5), "a[:] = True": (S(None), True),
    "a[:] = np.float64": (S(None), np.float64(2.5)),
    "a[:] = np.int64": (S(None), np.int64(3)), "a[:] = inf": (S(None), float("inf")),
    "a[:] = row": (S(None), np.arange(4.0)),
    "a[:] = column": (S(None), np.arange(3.0).reshape(3, 1)), "a[:] = list": (S(None), [1, 2, 3, 4]),
    "a[:] = nested": (S(None), [[1], [2], [3]]),
    "a[:] = tuple": (S(None), (1, 2, 3, 4)), "a[:] = (1,3,4)": (S(None), np.ones((1, 3, 4))),
    "a[:] = (1,1,4)": (S(None), np.arange(4.0).reshape(1, 1, 4)),
    "a[:] = (2,)": (S(None), np.ones(2)), "a[:] = (4,3)": (S(None), np.ones((4, 3))),
    "a[:] = (2,3,4)": (S(None), np.ones((2, 3, 4))),
    "a[:] = nd": (S(None), lambda nd: nd.arange(12).reshape((3, 4))),
    "a[:] = nd row": (S(None), lambda nd: nd.arange(4)),
    "a[:] = nd (1,)": (S(None), lambda nd: nd.array([7])),
    "a[:] = nd int": (S(None), lambda nd: nd.array([1, 2, 3, 4], dtype="int32")),
    "a[:] = nd f64": (S(None), lambda nd: nd.array([0.1, 2, 3, 4], dtype="float64")),
    "a[:] = nd bad": (S(None), lambda nd: nd.ones((5,))),
    "a[:] = f64": (S(None), np.array([0.1, 2, 3, 4])), "a[:] = i8": (S(None), np.array([1, 2, 3, -4], np.int8)),
    "a[:] = 'x'": (S(None), "x"),
    "a[:] = None": (S(None), None), "a[:] = object": (S(None), object), "a[:] = 0-d": (S(None), np.array(4.0)),
    "a[:] = nd scalar view": (S(None), lambda nd: nd.arange(3)[2]),
    "a[1] = 5": (1, 5), "a[1] = row": (1, [9, 8, 7, 6]), "a[1] = (1,4)": (1, np.array([[9, 8, 7, 6]])),
    "a[1] = (3,)": (1, [1, 2, 3]), "a[-1] = nd": (-1, lambda nd: nd.arange(4)),
    "a[3] = 1": (3, 1), "a[-4] = 1": (-4, 1), "a[1,2] = 5": ((1, 2), 5), "a[1,2] = [5]": ((1, 2), [5]),
    "a[1,2] = [[5]]": ((1, 2), [[5]]), "a[1,2] = [5,6]": ((1, 2), [5, 6]),
    "a[1,2] = nd": ((1, 2), lambda nd: nd.array([8])), "a[:,1] = 5": ((S(None), 1), 5),
    "a[:,1] = list": ((S(None), 1), [1, 2, 3]), "a[:,1] = (3,1)": ((S(None), 1), [[1], [2], [3]]),
    "a[:,1] = (1,3)": ((S(None), 1), [[1, 2, 3]]), "a[:,1:3] = row": ((S(None), S(1, 3)), [1, 2]),
    "a[:,1:3] = column": ((S(None), S(1, 3)), [[1], [2], [3]]),
    "a[::2] = row": (S(None, None, 2), [1, 2, 3, 4]),
    "a[::2] = nd": (S(None, None, 2), lambda nd: nd.arange(8).reshape((2, 4))),
    "a[::-1] = ": (S(None, None, -1), np.arange(12).reshape(3, 4)),
    "a[2:0:-1, ::3]": ((S(2, 0, -1), S(None, None, 3)), [[1, 2], [3, 4]]), "a[1:1] = 5": (S(1, 1), 5),
    "a[1:1] = list": (S(1, 1), [1, 2, 3, 4]), "a[5:] = 5": (S(5, None), 5),
    "a[None] = 5": (None, 5), "a[None] = (1,3,4)": (None, np.arange(12).reshape(1, 3, 4)),
    "a[...] = 2": (Ellipsis, 2), "a[..., 1] = list": ((Ellipsis, 1), [1, 2, 3]),
    "a[:,None,0] = 5": ((S(None), None, 0), 5),
    "a[[0,2]] = 5": ([0, 2], 5), "a[[0,2]] = row": ([0, 2], [1, 2, 3, 4]),
    "a[[0,2]] = rows": ([0, 2], np.arange(8).reshape(2, 4)), "a[[0,2]] = bad": ([0, 2], [1, 2, 3]),
    "a[[0,1],[2,3]] = 5": (([0, 1], [2, 3]), 5), "a[[0,1],[2,3]] = list": (([0, 1], [2, 3]), [6, 7]),
    "a[:,[0,3]] = nd": ((S(None), [0, 3]), lambda nd: nd.arange(6).reshape((3, 2))),
    "a[1, [0, 2]]": ((1, [0, 2]), [5, 6]), "a[1:, [0, 2]]": ((S(1, None), [0, 2]), [[5, 6], [7, 8]]),
    "a[[[0],[1]], [0,2]]": (([[0], [1]], [0, 2]), [[5, 6], [7, 8]]),
    "a[str] = 1": ("x", 1), "a[0,0,0] = 1": ((0, 0, 0), 1), "a[True] = 3": (True, 3),
    "a[mask] = 5": (np.array([True, False, True]), 5), "a[2d mask] = 5": (np.eye(3, 4, dtype=bool), 5),
    "a[()] = 3": ((), 3),
}  # fmt: skip

DTYPES = ("float16", "float32", "float64", "uint8", "int8", "int32", "int64", "bool")


def _write(shape, key, value, dtype="float32"):
    def run(mx):
        array = mx.nd.zeros(shape, dtype=dtype)
        chosen = key(mx.nd) if callable(key) else key
        array[chosen] = value(mx.nd) if callable(value) and value is not object else value
        return array

    return run


def _counting(key):
    """The written values number the places of the selection, so that their order shows."""

    def run(mx):
        chosen = key(mx.nd) if callable(key) else key
        array = mx.nd.zeros((3, 4, 5))
        shape = array[chosen].shape
        array[chosen] = mx.nd.arange(1, int(np.prod(shape)) + 1).reshape(shape)
        return array

    return run


def _casting(dtype):
    def run(mx):
        a = mx.nd.zeros((6,), dtype=dtype)
        a[0] = 1.9
        a[1:2] = 100
        a[[2]] = 3.7
        a[3:5] = np.array([1.2, 2.9])
        a[5] = mx.nd.array([2], dtype="int64")
        return a

    return run


def _in_place(mx):
    a = mx.nd.array([4, 5, 6])
    b = a
    a += 1
    a -= mx.nd.array([1, 1, 2])
    a *= 3
    a /= 2
    a %= 7
    return [a, b is a]


def _power_in_place(mx):
    """``**=`` is not in place: the name is bound to a new array."""
    a = mx.nd.array([4, 5, 6])
    b = a
    a **= 2
    return [a, b, b is a]


def _in_place_casts(mx):
    a = mx.nd.array([4, 5], dtype="int32")
    a += 1.7
    b = mx.nd.array([4, 5], dtype="float64")
    b += 0.1
    return [a, b]


def _in_place_broadcast(mx):
    a = mx.nd.zeros((2, 3))
    a += mx.nd.arange(3)
    return a


def _in_place_grows(mx):
    a = mx.nd.zeros((3,))
    a += mx.nd.zeros((2, 3))
    return a


def _self_overlap(mx):
    a = mx.nd.arange(6)
    a[1:6] = a[0:5].copy()
    a[:] = a[::-1]
    return a


def _slice_assign(mx):
    a = mx.nd.zeros((3, 4))
    a.slice_assign(mx.nd.ones((2, 2)), (0, 1), (2, 3), (None, None))
    a.slice_assign_scalar(7, (2, 0), (3, 4), (1, 2))
    return a


def _np_shape_writes(mx):
    with mx.util.np_shape(True):
        a = mx.nd.zeros((2, 3))
        a[0, 1] = 5
        a[1] = mx.nd.arange(3)
        a[0:0] = 3
        return a


OTHERS = {
    "in place": _in_place, "power in place": _power_in_place, "in place casts": _in_place_casts,
    "in place broadcast": _in_place_broadcast,
    "in place grows": _in_place_grows, "self overlap": _self_overlap, "slice_assign": _slice_assign,
    "np shape writes": _np_shape_writes,
}  # fmt: skip


def cases() -> list[Case]:
    """All cases of this theme."""
    found = [Case(name, _write((3, 4), key, value)) for name, (key, value) in VALUES.items()]
    found += [Case(f"count a[{name}]", _counting(key)) for name, key in KEYS.items() if name not in UNSAFE]
    found += [Case(f"cast into {dtype}", _casting(dtype)) for dtype in DTYPES]
    return found + [Case(name, run) for name, run in OTHERS.items()]
