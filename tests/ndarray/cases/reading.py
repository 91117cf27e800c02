"""``array[key]``: values, shapes, dtypes and errors for every kind of key."""

from __future__ import annotations

import numpy as np

from tests.ndarray.cases import Case

S = slice
INT = "int32"

# Keys for an array of shape (3, 4, 5); functions of ``nd`` where the key holds NDArrays.
KEYS = {
    "0": 0, "-1": -1, "2": 2, "np.int64": np.int64(1), "np.uint8": np.uint8(1), "3": 3, "-4": -4,
    "(0,)": (0,), "(0, 1)": (0, 1), "(0, 1, 2)": (0, 1, 2), "(-1, -1, -1)": (-1, -1, -1), "(0, 4)": (0, 4),
    "(0, 0, 5)": (0, 0, 5), "(0, 0, 0, 0)": (0, 0, 0, 0), "()": (),
    ":": S(None), "1:": S(1, None), ":-1": S(None, -1), "1:1": S(1, 1), "2:1": S(2, 1), "5:": S(5, None),
    "-10:10": S(-10, 10), "::2": S(None, None, 2), "::-1": S(None, None, -1), "2:0:-1": S(2, 0, -1),
    "::-2": S(None, None, -2),
    "1:3:5": S(1, 3, 5), "::0": S(None, None, 0), "np slices": S(np.int32(0), np.int64(2)),
    ":,1": (S(None), 1), ":,-1": (S(None), -1), ":,::2": (S(None), S(None, None, 2)),
    ":,:,::-1": (S(None), S(None), S(None, None, -1)),
    "1:,1:3,2": (S(1, None), S(1, 3), 2), "::2,::-1,1::3": (S(None, None, 2), S(None, None, -1), S(1, None, 3)),
    "0,1:3": (0, S(1, 3)), "0,:,1": (0, S(None), 1), "1,::-1": (1, S(None, None, -1)), ":,4": (S(None), 4),
    ":,9:": (S(None), S(9, None)),
    "None": None, "None,None": (None, None), "None,0": (None, 0), "0,None": (0, None),
    ":,None,:": (S(None), None, S(None)),
    "...": Ellipsis, "...,0": (Ellipsis, 0), "0,...": (0, Ellipsis), "0,...,0": (0, Ellipsis, 0),
    "...,None": (Ellipsis, None),
    "None,...,1": (None, Ellipsis, 1), "0,...,1:3,None": (0, Ellipsis, S(1, 3), None),
    "......": (Ellipsis, Ellipsis),
    "0,0,0,None": (0, 0, 0, None), "0,1,...,2": (0, 1, Ellipsis, 2),
    "[0]": [0], "[0,2]": [0, 2], "[2,0,2,1]": [2, 0, 2, 1], "[-1,-3]": [-1, -3], "[3]": [3], "[-4]": [-4],
    "[]": [],
    "[[0,1],[2,0]]": [[0, 1], [2, 0]], "[0.0,1.0]": [0.0, 1.0], "[1.7]": [1.7], "np [0,2]": np.array([0, 2]),
    "np int8": np.array([1, 0], np.int8), "np 2d": np.array([[0], [1]]), "np float": np.array([0.0, 2.0]),
    "np []": np.array([], np.int64),
    "nd f32": lambda nd: nd.array([0, 2]), "nd i32": lambda nd: nd.array([2, 1], dtype=INT),
    "nd i64": lambda nd: nd.array([-1], dtype="int64"),
    "nd u8": lambda nd: nd.array([1, 2], dtype="uint8"),
    "nd 2d": lambda nd: nd.array([[0, 1], [1, 2]], dtype=INT),
    "nd out": lambda nd: nd.array([3], dtype=INT), "nd out negative": lambda nd: nd.array([-4], dtype=INT),
    "[0],[1]": ([0], [1]), "[0,1],[2,3]": ([0, 1], [2, 3]), "[[0],[1]],[0,3]": ([[0], [1]], [0, 3]),
    "[0,1],[0,1,2]": ([0, 1], [0, 1, 2]),
    ":,[0,3]": (S(None), [0, 3]), ":,:,[4,0]": (S(None), S(None), [4, 0]),
    "[0,2],:,[1,3]": ([0, 2], S(None), [1, 3]),
    ":,[1,2],[3,4]": (S(None), [1, 2], [3, 4]), "0,[1,2]": (0, [1, 2]), "[1,2],0": ([1, 2], 0),
    "0,:,[1,2]": (0, S(None), [1, 2]),
    "[0,1],1:3": ([0, 1], S(1, 3)), "1:,[0,1],::2": (S(1, None), [0, 1], S(None, None, 2)),
    "[0,1],::-1,2": ([0, 1], S(None, None, -1), 2),
    "[0,1],None": ([0, 1], None), "None,[0,1]": (None, [0, 1]), "[0,1],None,[1,2]": ([0, 1], None, [1, 2]),
    "...,[0,1]": (Ellipsis, [0, 1]),
    "[0,1],...": ([0, 1], Ellipsis), "[0],...,[1]": ([0], Ellipsis, [1]),
    "[-1,0],[-2,1],[-3,2]": ([-1, 0], [-2, 1], [-3, 2]),
    ":,[4]": (S(None), [4]), ":,[-5]": (S(None), [-5]), "[0],[0],[0],[0]": ([0], [0], [0], [0]),
    "nd,nd": lambda nd: (nd.array([0, 2]), nd.array([1, 3])),
    ":,nd": lambda nd: (S(None), nd.array([3, 0], dtype=INT)),
    "nd,:,nd": lambda nd: (nd.array([0, 1]), S(None), nd.array([2, 2])),
    "nd,int": lambda nd: (nd.array([0, 1]), 2),
    "nd,list": lambda nd: (nd.array([0, 1]), [2, 3]), "nd scalar": lambda nd: nd.array([1], dtype=INT)[0],
    "list of nd": lambda nd: [nd.array([1]), nd.array([2])],
    "True": True, "False": False, "[True,False,True]": [True, False, True],
    "np bool": np.array([True, False, True]),
    "nd bool": lambda nd: nd.array([1, 0, 1], dtype="bool"), "str": "a", "float": 1.0, "dict": {}, "set": {1},
    "(1.0,)": (1.0, 0), "complex": (0, "b"),
}  # fmt: skip

# (shape, key) where the shape matters; shapes with 0 come from slicing.
OTHER = {
    "1d[0]": ((3,), 0), "1d[-1]": ((3,), -1), "1d[3]": ((3,), 3), "1d[1:]": ((3,), S(1, None)),
    "1d[[1]]": ((3,), [1]),
    "1d[(1,)]": ((3,), (1,)), "1d[None]": ((3,), None), "1d[1, None]": ((3,), (1, None)),
    "1d[...]": ((3,), Ellipsis),
    "1d[1, ...]": ((3,), (1, Ellipsis)), "1d[0, 0]": ((3,), (0, 0)), "one[0]": ((1,), 0),
    "one[0][0]": ((1,), (0,)),
    "(1,1)[0,0]": ((1, 1), (0, 0)), "(1,1)[0]": ((1, 1), 0), "5d": ((2, 1, 2, 1, 2), (1, S(None), 0, Ellipsis)),
    "5d list": ((2, 1, 2, 1, 2), (1, [0], S(None), 0)),
}  # fmt: skip


def _read(shape, key):
    def run(mx):
        array = mx.nd.arange(int(np.prod(shape))).reshape(shape)
        chosen = key(mx.nd) if callable(key) else key
        return array[chosen]

    return run


def _of_dtype(dtype):
    def run(mx):
        a = mx.nd.array([[1, 0, 3], [4, 5, 0]], dtype=dtype)
        return [a[0], a[:, 1], a[1, 2], a[[1, 0]], a[:, ::-1], a[0:1, [2, 1]]]

    return run


def _zero_size(mx):
    a = mx.nd.arange(6).reshape((2, 3))
    empty = a[2:]
    return [empty, empty[:, 1], empty.asnumpy(), a[:, 3:], empty.size, empty.shape, (empty + 1).shape]


NP_SHAPE = {
    "[0, 1]": lambda a, mx: a[0, 1], "[1]": lambda a, mx: a[1], "[0][0]": lambda a, mx: a[0][0],
    "sum": lambda a, mx: a.sum(),
    "[0:0]": lambda a, mx: a[0:0], "[2:]": lambda a, mx: a[2:], "[:, 1:1]": lambda a, mx: a[:, 1:1].shape,
    "[[]]": lambda a, mx: a[[]], "[()]": lambda a, mx: a[()],
    "[[1]]": lambda a, mx: a[[1]], "[[0, 1], [1, 2]]": lambda a, mx: a[[0, 1], [1, 2]],
    "zeros (0, 2)": lambda a, mx: mx.nd.zeros((0, 2)), "ones ()": lambda a, mx: mx.nd.ones(()),
    "full ()": lambda a, mx: mx.nd.full((), 3),
    "empty sum": lambda a, mx: mx.nd.ones((0, 3)).sum(), "empty sum axis": lambda a,
    mx: mx.nd.ones((0, 3)).sum(axis=1), "squeeze": lambda a, mx: mx.nd.ones((1, 1)).squeeze(),
    "reshape ()": lambda a, mx: mx.nd.ones((1,)).reshape(()),
    "reshape 0": lambda a, mx: a.reshape((0, -1)), "expand_dims": lambda a, mx: mx.nd.ones(()).expand_dims(0),
    "norm": lambda a, mx: a.norm(), "dot": lambda a, mx: mx.nd.dot(a[0], a[0]), "max": lambda a, mx: a.max(),
    "concat": lambda a, mx: mx.nd.concat(mx.nd.zeros((0, 3)), a, dim=0), "random": lambda a,
    mx: mx.nd.random.uniform(shape=(0, 2)), "add": lambda a, mx: mx.nd.ones(()) + a, "array []": lambda a,
    mx: mx.nd.array([]),
    "bool": lambda a, mx: bool(mx.nd.ones(())), "asscalar": lambda a, mx: mx.nd.ones(()).asscalar(),
    "len": lambda a, mx: len(mx.nd.ones(())), "iterate": lambda a, mx: list(mx.nd.ones(())),
}  # fmt: skip


def _np_shape(function):
    def run(mx):
        with mx.util.np_shape(True):
            return function(mx.nd.arange(6).reshape((2, 3)), mx)

    return run


def _zero_dim(mx):
    a = mx.nd.array(np.float32(3))
    return [a.shape, a.ndim, a.size, a]


def cases() -> list[Case]:
    """All cases of this theme."""
    found = [Case(f"a[{name}]", _read((3, 4, 5), key)) for name, key in KEYS.items()]
    found += [Case(name, _read(shape, key)) for name, (shape, key) in OTHER.items()]
    dtypes = ("float16", "float32", "float64", "uint8", "int8", "int32", "int64", "bool")
    found += [Case(f"of {dtype}", _of_dtype(dtype)) for dtype in dtypes]
    found += [Case(f"np shape {name}", _np_shape(function)) for name, function in NP_SHAPE.items()]
    found += [Case("zero size", _zero_size), Case("zero dim", _zero_dim)]
    return found
