"""Types: creation, arithmetic with numbers and arrays, comparisons, casts."""

from __future__ import annotations

import operator

import numpy as np

from tests.ndarray.cases import Case

DTYPES = ("float16", "float32", "float64", "uint8", "int8", "int32", "int64")

ARITHMETIC = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "%": operator.mod,
    "**": operator.pow,
    "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge, "<": operator.lt,
    "<=": operator.le,
}  # fmt: skip
NUMBERS = {"2": 2, "2.5": 2.5, "np.float32": np.float32(1.5), "np.int64": np.int64(3), "True": True}

CREATION = {
    "array list": lambda mx: mx.nd.array([1, 2]), "array floats": lambda mx: mx.nd.array([1.5, 2]),
    "array int64": lambda mx: mx.nd.array(np.array([1, 2])), "array f64": lambda mx: mx.nd.array(np.ones(2)),
    "array f16": lambda mx: mx.nd.array(np.ones(2, np.float16)),
    "array bool": lambda mx: mx.nd.array(np.array([True, False])),
    "array nd int": lambda mx: mx.nd.array(mx.nd.ones((2,), dtype="int32")),
    "array nd cast": lambda mx: mx.nd.array(mx.nd.ones((2,), dtype="int32"), dtype="float64"),
    "array list of nd": lambda mx: mx.nd.array([mx.nd.array([1]), mx.nd.array([2])]),
    "array scalar": lambda mx: mx.nd.array(3),
    "array nested": lambda mx: mx.nd.array([[1, 2], [3, 4]], dtype=np.int8),
    "array ragged": lambda mx: mx.nd.array([[1, 2], [3]]),
    "array str": lambda mx: mx.nd.array("abc"), "array None": lambda mx: mx.nd.array(None),
    "array empty": lambda mx: mx.nd.array([]),
    "array tuple": lambda mx: mx.nd.array((1, 2)), "array range": lambda mx: mx.nd.array(range(3)),
    "array dtype bool": lambda mx: mx.nd.array([0, 2], dtype=bool),
    "zeros": lambda mx: mx.nd.zeros((2,)), "zeros int": lambda mx: mx.nd.zeros(2),
    "zeros i64": lambda mx: mx.nd.zeros((1, 2), dtype="int64"), "zeros ()": lambda mx: mx.nd.zeros(()),
    "zeros 0": lambda mx: mx.nd.zeros((0, 2)), "zeros float": lambda mx: mx.nd.zeros((2,), dtype=float),
    "zeros python int": lambda mx: mx.nd.zeros((2,), dtype=int),
    "ones": lambda mx: mx.nd.ones((2, 1), dtype=np.float16), "full": lambda mx: mx.nd.full((2,), 2.5),
    "full int": lambda mx: mx.nd.full((2,), 2.5, dtype="int32"),
    "full nan": lambda mx: mx.nd.full((1,), float("nan")), "empty": lambda mx: mx.nd.empty((2, 3)).shape,
    "empty dtype": lambda mx: mx.nd.empty(2, dtype="uint8").dtype,
    "arange": lambda mx: mx.nd.arange(3), "arange 2": lambda mx: mx.nd.arange(1, 4),
    "arange step": lambda mx: mx.nd.arange(0, 1, 0.25), "arange down": lambda mx: mx.nd.arange(5, 0, -2),
    "arange repeat": lambda mx: mx.nd.arange(0, 3, repeat=2),
    "arange dtype": lambda mx: mx.nd.arange(3, dtype="int64"), "arange none": lambda mx: mx.nd.arange(3, 3),
    "linspace": lambda mx: mx.nd.linspace(0, 1, 5),
    "linspace open": lambda mx: mx.nd.linspace(0, 1, 4, endpoint=False), "eye": lambda mx: mx.nd.eye(2),
    "eye k": lambda mx: mx.nd.eye(2, 3, 1, dtype="int32"),
    "zeros_like": lambda mx: mx.nd.zeros_like(mx.nd.ones((2,), dtype="int32")),
    "ones_like": lambda mx: mx.nd.ones_like(mx.nd.zeros((2,), dtype="float64")),
    "moveaxis": lambda mx: mx.nd.moveaxis(mx.nd.zeros((2, 3, 4)), 0, 2).shape,
    "concatenate": lambda mx: mx.nd.concatenate([mx.nd.ones((1, 2)), mx.nd.zeros((2, 2))]),
    "concatenate axis": lambda mx: mx.nd.concatenate([mx.nd.ones((2, 1)), mx.nd.zeros((2, 2))], axis=1),
    "onehot_encode": lambda mx: mx.nd.onehot_encode(mx.nd.array([1, 0]), mx.nd.zeros((2, 3))),
    "histogram": lambda mx: mx.nd.histogram(mx.nd.arange(5), bins=2),
    "histogram range": lambda mx: mx.nd.histogram(mx.nd.arange(5), bins=2, range=(0, 3)),
    "zeros bad dtype": lambda mx: mx.nd.zeros((2,), dtype="flot32"),
    "zeros negative": lambda mx: mx.nd.zeros((-1,)),
    "split_v2": lambda mx: mx.nd.split_v2(mx.nd.arange(6), (2, 3)),
    "split_v2 n": lambda mx: mx.nd.split_v2(mx.nd.arange(6), 3),
}  # fmt: skip

FUNCTIONS = ("add", "subtract", "multiply", "divide", "modulo", "power", "maximum", "minimum", "equal", "not_equal", "greater",
             "greater_equal", "lesser", "lesser_equal", "logical_and", "logical_or", "logical_xor")  # fmt: skip
BIG = 2**53 + 1


def _with_number(dtype, function, number):
    def run(mx):
        a = mx.nd.array([1, 2, 3, 5], dtype=dtype)
        return [function(a, number), function(number, a)]

    return run


def _with_array(dtype, function):
    def run(mx):
        a, b = mx.nd.array([1, 2, 3, 7], dtype=dtype), mx.nd.array([3, 2, 1, 2], dtype=dtype)
        return [function(a, b), function(a.reshape((4, 1)), b[0:2])]

    return run


def _module_function(name):
    def run(mx):
        function = getattr(mx.nd, name)
        a, b = mx.nd.array([0, 1, 2, -3]), mx.nd.array([1, 1, 0, 2])
        return [function(a, b), function(a, 2), function(2, a), function(3, 2)]

    return run


def _unary(dtype):
    def run(mx):
        a = mx.nd.array([1, 0, 3], dtype=dtype)
        return [-a, abs(a), a.sum(), a.max(), a.min(), a.mean(), a.argmax(axis=0), a.argmin(axis=0), a.sort(), a.argsort(), a.topk(k=1),
                a.clip(1, 2), a.square(), a.sum(axis=0, keepdims=True), a.prod()]  # fmt: skip

    return run


def _casts(dtype):
    def run(mx):
        a = mx.nd.array([0, 1.7, 2.5, 100], dtype="float64")
        b = a.astype(dtype)
        return [b, b.astype("float32"), b.astype(np.dtype("int32")), mx.nd.cast(b, "float64"), b.asnumpy().dtype.name, b.dtype]

    return run


OTHERS = {
    "mixed add": lambda mx: mx.nd.ones((2,), dtype="int32") + mx.nd.ones((2,)),
    "mixed compare": lambda mx: mx.nd.ones((2,), dtype="float64") == mx.nd.ones((2,)),
    "mixed f16": lambda mx: mx.nd.ones((2,), dtype="float16") * mx.nd.ones((2,)),
    "int64 real": lambda mx: mx.nd.array([BIG, -BIG], dtype="int64"),
    "int64 add": lambda mx: mx.nd.array([BIG], dtype="int64") + mx.nd.array([1], dtype="int64"),
    "int64 reshape": lambda mx: mx.nd.array([BIG, 1, 2, BIG], dtype="int64").reshape((2, 2))[1],
    "float64 real": lambda mx: mx.nd.array([0.1, 1e300], dtype="float64") * 3,
    "float64 sum": lambda mx: mx.nd.full((10,), 0.1, dtype="float64").sum(),
    "float64 dot": lambda mx: mx.nd.dot(mx.nd.full((2, 2), 0.1, dtype="float64"), mx.nd.full((2, 2), 0.1, dtype="float64")),
    "uint8 wraps": lambda mx: mx.nd.array([200], dtype="uint8") + mx.nd.array([100], dtype="uint8"),
    "int8 wraps": lambda mx: mx.nd.array([127], dtype="int8") + 1,
    "uint8 subtract": lambda mx: mx.nd.array([1], dtype="uint8") - 2,
    "int32 divides": lambda mx: mx.nd.array([3, -3], dtype="int32") / 2,
    "int32 modulo": lambda mx: mx.nd.array([3, -3], dtype="int32") % 2,
    "float modulo": lambda mx: mx.nd.array([3, -3]) % -2,
    "float16 precise": lambda mx: mx.nd.array([1, 0.1], dtype="float16") * 0.1,
    "float16 large": lambda mx: mx.nd.array([60000], dtype="float16") * 2,
    "float divide zero": lambda mx: mx.nd.array([1, -1, 0]) / 0, "bool array": lambda mx: mx.nd.array([1, 0, 2], dtype="bool").astype("int32"), "compare with None": lambda mx: mx.nd.ones((1,)) == None,  # noqa: E711
    "not equal None": lambda mx: mx.nd.ones((1,)) != None, "add list": lambda mx: mx.nd.ones((1,)) + [1], "add str": lambda mx: mx.nd.ones((1,)) + "a", "add numpy": lambda mx: mx.nd.ones((2,)) + np.ones(2, np.float32), "radd list": lambda mx: [1] + mx.nd.ones((1,)),  # noqa: E711
    "broadcast fails": lambda mx: mx.nd.ones((2,)) + mx.nd.ones((3,)),
    "nd.add kwargs": lambda mx: mx.nd.add(mx.nd.ones((2,)), 1.0), "add numbers": lambda mx: mx.nd.add(1, 2),
    "power of number": lambda mx: mx.nd.power(2.0, mx.nd.array([1, 2, 3])),
    "sum f16": lambda mx: mx.nd.ones((3000,), dtype="float16").sum(),
    "argmax dtype": lambda mx: mx.nd.array([1, 3, 2], dtype="int32").argmax(axis=0),
    "norm": lambda mx: mx.nd.array([3, 4], dtype="float64").norm(),
    "mean int": lambda mx: mx.nd.array([1, 2], dtype="int32").mean(),
    "add np scalar": lambda mx: np.float64(2) + mx.nd.ones((2,)),
    "np scalar multiplies": lambda mx: np.float32(2) * mx.nd.ones((2,)),
    "np int scalar": lambda mx: np.int64(2) - mx.nd.ones((2,)),
    "int64 scalar exact": lambda mx: mx.nd.array([2**40], dtype="int64") + 1,
    "int32 scalar float": lambda mx: mx.nd.array([5], dtype="int32") * 1.5,
    "uint8 compare": lambda mx: mx.nd.array([250], dtype="uint8") > 3.5,
    "int32 power": lambda mx: mx.nd.array([2, 3], dtype="int32") ** 2,
    "dtype class": lambda mx: [mx.nd.zeros((1,), dtype=d).dtype for d in DTYPES],
}  # fmt: skip


def cases() -> list[Case]:
    """All cases of this theme."""
    found = [Case(f"make {name}", run) for name, run in CREATION.items()]
    for dtype in DTYPES:
        for symbol, function in ARITHMETIC.items():
            if symbol == "%" and dtype in ("uint8", "int8", "int32", "int64"):
                found.append(Case(f"{dtype} {symbol} arrays", _with_array(dtype, function)))
                continue  # an integer modulo by a number crashes the real process where it becomes zero
            for text, number in NUMBERS.items():
                found.append(Case(f"{dtype} {symbol} {text}", _with_number(dtype, function, number)))
            found.append(Case(f"{dtype} {symbol} arrays", _with_array(dtype, function)))
        found += [Case(f"unary {dtype}", _unary(dtype)), Case(f"casts {dtype}", _casts(dtype))]
    found += [Case(f"nd.{name}", _module_function(name)) for name in FUNCTIONS]
    return found + [Case(name, run) for name, run in OTHERS.items()]
