"""The NumPy evaluator gives what XLA gives, primitive by primitive, forward and for the jaxprs of gradients.

Each theme is one table of (name, function, inputs). XLA runs a whole theme as one compiled function,
since compiling
every row by itself would take minutes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

from gluonjax._engine._numpy_rules.random import bits
from gluonjax._engine._numpy_rules.site import KEY_DTYPE
from gluonjax._engine.interpret import build

BF16 = ml_dtypes.bfloat16
Row = tuple[str, Callable[..., Any], tuple[Any, ...]]


def normal(*shape: int, dtype: Any = "float32", seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape).astype(dtype)


def distinct(*shape: int, dtype: Any = "float32", seed: int = 0) -> np.ndarray:
    """No two elements alike, so that sorting and pooling have one answer."""
    return np.random.default_rng(seed).permutation(int(np.prod(shape))).reshape(shape).astype(dtype)


def whole(*shape: int, low: int = -9, high: int = 10, dtype: Any = "int32") -> np.ndarray:
    return np.random.default_rng(7).integers(low, high, shape).astype(dtype)


X, Y = normal(3, 4), normal(3, 4, seed=1)
POSITIVE = np.abs(normal(3, 4)) + 0.5
INSIDE = np.tanh(normal(3, 4)) * np.float32(0.9)
ODD = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -2.5, 0.5, 1.5, 3e9, -3e9, 1e20], "float32")
IX, IY = whole(3, 4), np.array([[1, -2, 3, 0], [0, 5, -7, 2], [-1, 4, 1, 3]], "int32")
EXTREME = np.array([-(2**31), -(2**31), 2**31 - 1, 7, -7, 0], "int32")
DIVISOR = np.array([-1, 0, 0, 2, 2, 0], "int32")
EMPTY = np.zeros((0, 3), "float32")
SCALAR = np.float32(0.7).reshape(())
TRUTH = X > 0


def _unary() -> list[Row]:
    everywhere = [lax.neg, lax.abs, lax.exp, lax.exp2, lax.expm1, lax.tanh, lax.sin, lax.cos, lax.tan,
    lax.atan,
                  lax.sinh, lax.cosh, lax.asinh, lax.logistic, lax.erf, lax.erfc, lax.square, lax.sign,
                  lax.floor,
                  lax.ceil, lax.cbrt]  # fmt: skip
    positive = [
        lax.log,
        lax.log1p,
        lax.sqrt,
        lax.rsqrt,
        lax.lgamma,
        lax.digamma,
        lax.bessel_i0e,
        lax.bessel_i1e,
    ]
    inside = [lax.asin, lax.acos, lax.atanh, lax.erf_inv]
    rows: list[Row] = []
    for functions, value in ((everywhere, X), (positive, POSITIVE), (inside, INSIDE)):
        for function in functions:
            name = function.__name__
            rows.append((name, function, (value,)))
            rows.append((name + " 64-bit scalar", function, (value[0, 0].astype("float64").reshape(()),)))
            rows.append((name + " empty", function, (EMPTY,)))
            if function not in (lax.bessel_i0e, lax.bessel_i1e):
                rows.append((name + " half", function, (value.astype("float16"),)))
            rows.append((name + " bfloat16", function, (value.astype(BF16),)))
    specials = [lax.neg, lax.abs, lax.exp, lax.tanh, lax.floor, lax.is_finite, lax.sign, lax.logistic,
    lax.log,
                lax.sqrt, lax.log1p, lax.expm1, lax.erf, lax.lgamma]  # fmt: skip
    rows += [(function.__name__ + " of odd values", function, (ODD,)) for function in specials]
    return rows


ELEMENTWISE: list[Row] = [
    *_unary(),
    ("add", lax.add, (X, Y)),
    ("sub half", lax.sub, (X.astype("float16"), Y.astype("float16"))),
    ("mul bfloat16", lax.mul, (X.astype(BF16), Y.astype(BF16))),
    ("mul scalar", lambda x: x * 2.5, (X,)),
    ("scalar minus", lambda x: 1 - x, (X,)),
    ("zero-d", lambda x: x * x + 1, (SCALAR,)),
    ("div", lax.div, (X, Y)),
    ("div by zero", lax.div, (ODD, np.zeros_like(ODD))),
    ("integer div", lax.div, (IX, IY)),
    ("integer div extremes", lax.div, (EXTREME, DIVISOR)),
    ("unsigned div", lax.div, (np.array([7, 8, 0], "uint8"), np.array([2, 0, 0], "uint8"))),
    ("integer rem", lax.rem, (IX, IY)),
    ("integer rem extremes", lax.rem, (EXTREME, DIVISOR)),
    ("float rem", lax.rem, (X, Y)),
    ("jnp floor_divide", jnp.floor_divide, (IX, np.where(IY == 0, 1, IY))),
    ("jnp mod", jnp.mod, (X, Y)),
    ("integer wraps", lambda x: x * x * x + x, (np.array([2**30, -(2**31), 77], "int32"),)),
    ("zero-d integer wraps", lambda x: x * x * x + x, (np.array(2**30, "int32"),)),
    ("pow", lax.pow, (POSITIVE, Y)),
    ("pow integer exponent", lax.pow, (POSITIVE, IY)),
    ("jnp power ints", lambda x, y: jnp.power(x, y), (whole(5), whole(5, low=0, high=6))),
    *[(f"integer_pow {n}", functools.partial(lambda x, n: lax.integer_pow(x, n), n=n),
     (X,)) for n in range(-3, 8)],
    ("integer_pow of ints", lambda x: lax.integer_pow(x, 5), (IX,)),
    ("max", lax.max, (X, Y)),
    ("max NaN", lax.max, (ODD, ODD[::-1].copy())),
    ("min NaN", lax.min, (ODD, ODD[::-1].copy())),
    ("atan2", lax.atan2, (X, Y)),
    ("nextafter", lax.nextafter, (X, Y)),
    ("igamma", lax.igamma, (POSITIVE, POSITIVE + 1)),
    ("igammac", lax.igammac, (POSITIVE, POSITIVE + 1)),
    ("round away", lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), (ODD,)),
    ("round even", lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), (ODD,)),
    ("round away just below half", lax.round,
     (np.array([0.49999997, -0.49999997, 2.5, 8388609.0], "float32"),)),
    ("clamp", lambda x: lax.clamp(np.float32(-0.5), x, np.float32(0.5)), (X,)),
    ("clamp odd", lambda x: lax.clamp(np.float32(-1), x, np.float32(2)), (ODD,)),
    ("select", lambda x, y: lax.select(x > y, x, y), (X, Y)),
    ("where scalar", lambda x: jnp.where(x > 0, x, 0), (X,)),
    ("select_n ints", lambda i, a, b, c: lax.select_n(i, a, b, c), (whole(3, 4, low=0, high=3), X, Y, X * Y)),
    ("relu", jax.nn.relu, (X,)),
    ("gelu", jax.nn.gelu, (X,)),
    ("softplus", jax.nn.softplus, (X,)),
    ("comparisons", lambda x, y: (x < y, x <= y, x == y, x != y, x > y, x >= y), (ODD, ODD[::-1].copy())),
    ("logical", lambda x, y: (x & y, x | y, x ^ y, ~x), (TRUTH, ~TRUTH.T.reshape(3, 4))),
    ("bitwise", lambda x, y: (x & y, x | y, x ^ y, ~x), (IX, IY)),
    ("shifts", lambda x, y: (lax.shift_left(x, y), lax.shift_right_arithmetic(x, y),
     lax.shift_right_logical(x, y)),
     (EXTREME, np.array([1, 31, 40, 2, 1, -1], "int32"))),
    ("population_count", lax.population_count, (EXTREME,)),
    ("clz", lax.clz, (EXTREME,)),
    ("clz bytes", lax.clz, (np.arange(256).astype("uint8"),)),
    ("float to int", lambda x: (x.astype("int32"), x.astype("uint8"), x.astype("int8"), x.astype("int64")),
     (ODD,)),
    ("float to uint32", lambda x: lax.convert_element_type(x, "uint32"), (ODD,)),
    ("double to int", lambda x: x.astype("int32"), (ODD.astype("float64"),)),
    ("conversions", lambda x: (x.astype(BF16), x.astype("float16"), x.astype("float64"), x.astype(bool)),
     (ODD,)),
    ("int conversions", lambda x: (x.astype("uint8"), x.astype("float32"), x.astype(bool)), (IX,)),
    ("reduce_precision", lambda x: lax.reduce_precision(x, 5, 3), (X,)),
    ("reduce_precision range", lambda x: lax.reduce_precision(x, 4, 10), (ODD,)),
    ("bitcast", lambda x: lax.bitcast_convert_type(x, jnp.int32), (X,)),
    ("bitcast narrow", lambda x: lax.bitcast_convert_type(x, jnp.uint8), (X,)),
    ("bitcast wide", lambda x: lax.bitcast_convert_type(x, jnp.float64), (normal(3, 2),)),
    ("complex", lambda x, y: (lax.complex(x, y) * 2j, jnp.abs(lax.complex(x, y)), lax.real(lax.complex(x,
     y))), (X, Y)),
]  # fmt: skip

SHAPE: list[Row] = [
    ("reshape", lambda x: x.reshape(2, 6), (X,)),
    ("transpose", lambda x: x.T, (X,)),
    ("transpose 4", lambda x: x.transpose(2, 0, 3, 1), (normal(2, 3, 4, 5),)),
    ("broadcast", lambda x: jnp.broadcast_to(x, (2, 3, 4)), (X,)),
    ("broadcast large", lambda x: lax.broadcast_in_dim(x, (4, 100, 100), (0,)), (normal(4),)),
    ("broadcast aligned large", lambda x: lax.broadcast_in_dim(x, (100, 100, 4), (2,)), (normal(4),)),
    ("broadcast scalar", lambda x: jnp.full((3, 4), x), (SCALAR,)),
    ("broadcast empty", lambda x: jnp.broadcast_to(x, (0, 3)), (normal(3),)),
    ("bias", lambda x, b: x + b[None, :], (X, normal(4))),
    ("slice", lambda x: (x[1:, ::2], x[::-1], x[1], x[:, -1:]), (X,)),
    ("rev", lambda x: lax.rev(x, (0, 1)), (X,)),
    ("concatenate", lambda x, y: jnp.concatenate([x, y, x], 1), (X, Y)),
    ("stack", lambda x, y: jnp.stack([x, y], 1), (X, Y)),
    ("pad", lambda x: lax.pad(x, np.float32(7), ((1, 2, 0), (0, 1, 2))), (X,)),
    ("pad negative", lambda x: lax.pad(x, np.float32(7), ((-1, 1, 0), (-2, -1, 1))), (X,)),
    ("pad all away", lambda x: lax.pad(x, np.float32(7), ((-2, -1, 0), (0, 0, 0))), (X,)),
    ("pad interior negative", lambda x: lax.pad(x, np.float32(7), ((-1, -2, 2), (-3, 2, 3))), (X,)),
    ("pad empty", lambda x: lax.pad(x, np.float32(7), ((1, 1, 0), (0, 0, 0))), (EMPTY,)),
    ("iota", lambda x: x + lax.broadcasted_iota("float32", (3, 4), 1), (X,)),
    ("arange only", lambda x: jnp.arange(5, dtype="int32"), (X,)),
    ("constant only", lambda x: jnp.zeros((2, 3)), (X,)),
    ("unchanged", lambda x: x, (X,)),
    ("twice the same", lambda x: (x, x, x + 1), (X,)),
    ("split", lambda x: jnp.split(x, [1, 3], axis=1), (X,)),
    ("split in one", lambda x: jnp.split(x, 1, axis=1), (X,)),
    ("unpack", lambda x: sum(list(x)), (X,)),
    ("tile repeat", lambda x: (jnp.tile(x, (2, 1)), jnp.repeat(x, 2, axis=1)), (X,)),
    ("squeeze expand", lambda x: (x[None].squeeze(0), x[:, None]), (X,)),
    ("tril", jnp.tril, (X,)),
    ("eye", lambda x: x + jnp.eye(3, 4, dtype="float32"), (X,)),
    ("identities", lambda x: lax.optimization_barrier(lax.stop_gradient(jnp.copy(x))), (X,)),
    ("bfloat16 moves", lambda x: jnp.concatenate([x.T, x.T])[::2].reshape(-1), (X.astype(BF16),)),
]

REDUCE: list[Row] = [
    *[(f"{f.__name__} {axis}", functools.partial(f, axis=axis), (distinct(3, 4, 2),))
      for f in (jnp.sum, jnp.max, jnp.min, jnp.mean) for axis in (None, 0, 1, (0, 2), -1)],
    ("prod", jnp.prod, (X,)),
    ("sum half", lambda x: lax.reduce_sum_p.bind(x, axes=(0,), out_sharding=None), (X.astype("float16"),)),
    ("sum bfloat16", jnp.sum, (X.astype(BF16),)),
    ("sum ints", lambda x: lax.reduce(x, np.int32(0), lax.add, (0, 1)), (IX,)),
    ("sum bytes wraps", lambda x: lax.reduce(x, np.int8(0), lax.add, (0,)), (np.full(9, 100, "int8"),)),
    ("max NaN", jnp.max, (ODD,)),
    ("min half", jnp.min, (X.astype("float16"),)),
    ("max bfloat16", lambda x: jnp.max(x, 1), (X.astype(BF16),)),
    ("sum empty", lambda x: (x.sum(), x.sum(0), x.sum(1), x.prod(0)), (EMPTY,)),
    ("max of empty", lambda x: lax.reduce(x, np.float32(-np.inf), lax.max, (0,)), (EMPTY,)),
    ("any all", lambda x: (x.any(), x.all(0), x.any(1)), (TRUTH,)),
    ("xor", lambda x: lax.reduce(x, np.int32(0), lax.bitwise_xor, (1,)), (IX,)),
    ("argmax", lambda x: (jnp.argmax(x), jnp.argmax(x, 0), lax.argmin(x, 1, np.int32)), (np.abs(IX),)),
    ("argmax NaN", lambda x: (jnp.argmax(x), jnp.argmin(x)), (ODD,)),
    ("argmax bfloat16", lambda x: lax.argmax(x, 1, np.int32), (X.astype(BF16),)),
    ("cumsum", lambda x: (jnp.cumsum(x, 0), lax.cumsum(x, 1, reverse=True)), (X,)),
    ("cumsum half", lambda x: lax.cumsum(x, 1), (X.astype("float16"),)),
    ("cumsum bfloat16", lambda x: lax.cumsum(x, 1), (np.ones((3, 4), BF16),)),
    ("cumsum ints", lambda x: lax.cumsum(x, 0), (IX,)),
    ("cumprod", lambda x: lax.cumprod(x, 1, reverse=True), (X,)),
    ("cummax cummin", lambda x: (lax.cummax(x, 1), lax.cummin(x, 0, reverse=True)), (X,)),
    ("cumlogsumexp", lambda x: (lax.cumlogsumexp(x, 1), lax.cumlogsumexp(x, 0, reverse=True)), (X,)),
    ("sort", lambda x: (jnp.sort(x, 0), jnp.sort(x, 1)), (distinct(3, 4),)),
    ("sort NaN", jnp.sort, (ODD,)),
    ("sort bfloat16", lambda x: jnp.sort(x, 1), (X.astype(BF16),)),
    ("argsort", lambda x: jnp.argsort(x, axis=1), (IX,)),
    ("argsort descending", lambda x: jnp.argsort(x, axis=1, descending=True), (IX,)),
    ("sort two keys", lambda x, y, z: lax.sort((x, y, z), dimension=1, num_keys=2), (IX % 2, IY, X)),
    ("sort one key", lambda x, z: lax.sort((x, z), dimension=0, num_keys=1), (IX, X)),
    ("top_k", lambda x: lax.top_k(x, 3), (distinct(3, 4),)),
    ("top_k ties", lambda x: lax.top_k(x, 4), (np.array([1, 3, 3, 2, 3, 1], "int32"),)),
    ("top_k NaN", lambda x: lax.top_k(x, 3)[1], (np.array([1, np.nan, 3], "float32"),)),
    ("softmax", lambda x: jax.nn.softmax(x, axis=1), (X,)),
    ("logsumexp", jax.nn.logsumexp, (X,)),
    ("var", lambda x: jnp.var(x, axis=0), (X,)),
    ("norm", jnp.linalg.norm, (X,)),
    ("reduce by a function", lambda x: lax.reduce(x, np.float32(1), lambda a, b: a * 0.5 + b, (1,)), (X,)),
    ("reduce two", lambda x, y: lax.reduce((x, y), (np.float32(0), np.float32(1)),
                                           lambda a, b: (a[0] + b[0], a[1] * b[1]), (0,)), (X, Y)),
]  # fmt: skip


def _dnums(**numbers: Any) -> lax.GatherDimensionNumbers:
    return lax.GatherDimensionNumbers(**numbers)


WILD = np.array([2, -1, 5, 0, -9, 3], "int32")


def _gather(numbers: dict[str, Any], sizes: tuple[int, ...], mode: str) -> Callable[..., Any]:
    return lambda x, i: lax.gather(x, i, _dnums(**numbers), sizes, mode=mode)


def _scatter(function: Any, numbers: dict[str, Any], mode: str) -> Callable[..., Any]:
    return lambda x, i, u: function(x, i, u, lax.ScatterDimensionNumbers(**numbers), mode=mode)


_WINDOWED = {"offset_dims": (0, 2), "collapsed_slice_dims": (), "start_index_map": (1,)}
_BATCHED = {"offset_dims": (1,), "collapsed_slice_dims": (1,), "start_index_map": (1,),
            "operand_batching_dims": (0,), "start_indices_batching_dims": (0,)}  # fmt: skip

INDEXING: list[Row] = [
    *[(f"take axis {axis} {mode}", functools.partial(lambda x, i, axis, mode: jnp.take(x, i, axis=axis,
     mode=mode),
       axis=axis, mode=mode), (normal(4, 5, 3), WILD.reshape(2, 3))) for axis in (0, 1, 2)
      for mode in ("fill", "clip", "wrap")],
    ("take scalar index", lambda x, i: jnp.take(x, i, axis=1, mode="clip"), (X, np.array(2))),
    ("take ints fill", lambda x, i: jnp.take(x, i, axis=0, mode="fill"), (IX, WILD)),
    ("take bools fill", lambda x, i: jnp.take(x, i, axis=0, mode="fill"), (TRUTH, WILD)),
    ("take none", lambda x, i: jnp.take(x, i, axis=0), (X, np.zeros((0,), "int32"))),
    ("index pairs", lambda x, i, j: x[i, j], (X, np.array([0, 2, 1]), np.array([3, 1, 0]))),
    ("index outer", lambda x, i: x[i[:, None], i[None, :]], (X, np.array([0, 2, 1]))),
    ("index split by slice", lambda x, i: x[i, :, i], (normal(3, 4, 5), np.array([0, 2, 1]))),
    ("index by column", lambda x, i: x[:, i], (X, np.array([0, 3, 3, 1]))),
    ("take_along_axis", lambda x, i: jnp.take_along_axis(x, i, axis=1),
     (X, np.array([[0, 3], [1, 1], [2, 0]]))),
    ("index scalar traced", lambda x, i: x[i], (X, np.array(1, "int32"))),
    *[(f"gather window {mode}", _gather(_WINDOWED, (3, 2), mode), (X, WILD.reshape(6, 1)))
      for mode in ("clip", "fill", "promise_in_bounds") if mode != "promise_in_bounds"],
    ("gather batched window", _gather(_BATCHED, (1, 1, 2), "clip"),
     (normal(3, 4, 2), WILD[:3].reshape(3, 1))),
    ("vmap dynamic_slice", jax.vmap(lambda x, i: lax.dynamic_slice(x, (i, 1), (2, 2))),
     (normal(3, 4, 5), np.array([0, 1, 7]))),
    ("vmap gather", jax.vmap(lambda x, i: x[i]), (X, np.array([[0, 3], [1, 1], [2, 0]]))),
    ("scatter set", lambda x, i, u: x.at[i].set(u), (X, np.array([2, 0]), Y[:2])),
    ("scatter add repeated", lambda x, i, u: x.at[i].add(u), (X, np.array([2, 0, 2]), Y)),
    ("scatter add wide rows", lambda x, i, u: x.at[i].add(u),
     (normal(3, 20), np.array([2, 0, 2]), normal(3, 20))),
    ("scatter add out of bounds", lambda x, i, u: x.at[i].add(u), (X, np.array([2, 5, -9]), Y)),
    ("scatter add clip", lambda x, i, u: x.at[i].add(u, mode="clip"), (X, np.array([2, 5, -9]), Y)),
    ("scatter mul", lambda x, i, u: x.at[i].multiply(u), (X, np.array([2, 0, 1]), Y)),
    ("scatter max", lambda x, i, u: x.at[i].max(u), (IX, np.array([2, 0, 2]), IY)),
    ("scatter min", lambda x, i, u: x.at[i].min(u), (IX, np.array([2, 0, 2]), IY)),
    ("scatter scalar", lambda x: x.at[1, 2].set(9.0), (X,)),
    ("scatter column", lambda x, u: x.at[:, 1].add(u), (X, normal(3))),
    ("scatter slice", lambda x, u: x.at[1:, ::2].set(u), (X, normal(2, 2))),
    ("scatter half", lambda x, i, u: x.at[i].add(u),
     (X.astype("float16"), np.array([2, 0, 1]), Y.astype("float16"))),
    ("scatter bfloat16", lambda x, i, u: x.at[i].add(u),
     (X.astype(BF16), np.array([2, 0, 2]), Y.astype(BF16))),
    ("scatter pairs", lambda x, i, j, u: x.at[i, j].add(u),
     (X, np.array([0, 2, 0]), np.array([1, 1, 1]), normal(3))),
    ("scatter apart", lambda x, i, u: x.at[i, :, i].set(u),
     (normal(3, 4, 3), np.array([0, 2]), normal(2, 4))),
    ("scatter nothing", lambda x, i, u: x.at[i].add(u),
     (X, np.zeros(0, "int32"), np.zeros((0, 4), "float32"))),
    ("vmap scatter", jax.vmap(lambda x, i, u: x.at[i].add(u)),
     (X, np.array([[0, 3], [1, 1], [2, 9]]), Y[:, :2])),
    ("scatter window drop", _scatter(lax.scatter_add, {"update_window_dims": (1, 2),
     "inserted_window_dims": (),
     "scatter_dims_to_operand_dims": (1,)}, "drop"), (X, WILD.reshape(6, 1), normal(6, 3, 2))),
    ("scatter window clip", _scatter(lax.scatter_add, {"update_window_dims": (1, 2),
     "inserted_window_dims": (),
     "scatter_dims_to_operand_dims": (1,)}, "clip"), (X, WILD.reshape(6, 1), normal(6, 3, 2))),
    ("dynamic_slice", lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 2)), (X, np.array(5), np.array(-3))),
    ("dynamic_update_slice", lambda x, u, i: lax.dynamic_update_slice(x, u, (i, 1)),
     (X, Y[:2, :2], np.array(9))),
    ("one_hot", lambda i: jax.nn.one_hot(i, 4, dtype="float32"), (WILD,)),
    ("embedding of gradients", lambda w, i: jnp.tanh(w[i]).sum(0), (normal(5, 3), np.array([1, 1, 4, 0]))),
    ("searchsorted", lambda a, v: jnp.searchsorted(a, v), (np.sort(normal(6)), normal(4))),
    ("diagonal", jnp.diagonal, (X,)),
    ("fancy mask", lambda x: jnp.where(jnp.arange(4) < 2, x, 0.0), (X,)),
]  # fmt: skip


def _conv(**kwargs: Any) -> Callable[..., Any]:
    return lambda x, w: lax.conv_general_dilated(x, w, **kwargs)


def _dot(contract: Any, batch: Any, **kwargs: Any) -> Callable[..., Any]:
    return lambda x, y: lax.dot_general(x, y, (contract, batch), **kwargs)


_IMAGE, _KERNEL = normal(2, 4, 7, 6), normal(6, 4, 3, 2)
CONTRACTION: list[Row] = [
    *[(f"dot {i}{j}", _dot(((i,), (j,)), ((), ())), (normal(3, 4).T.copy() if i == 0 else normal(3, 4),
                                                   normal(4, 5) if j == 0 else normal(5, 4)))
      for i in (0, 1) for j in (0, 1)],
    ("vector matrix", jnp.dot, (normal(4), normal(4, 5))),
    ("vector matrix transposed", _dot(((0,), (1,)), ((), ())), (normal(4), normal(5, 4))),
    ("matrix vector", jnp.dot, (X, normal(4))),
    ("vector vector", jnp.dot, (normal(4), normal(4, seed=3))),
    ("outer", _dot(((), ()), ((), ())), (normal(3), normal(4))),
    ("batched", jnp.matmul, (normal(2, 3, 4), normal(2, 4, 5))),
    ("batch last", _dot(((0,), (1,)), ((2,), (2,))), (normal(3, 4, 2), normal(5, 3, 2))),
    ("two contracted", _dot(((1, 2), (2, 0)), ((), ())), (normal(2, 3, 4), normal(4, 5, 3))),
    ("einsum", lambda x, y: jnp.einsum("bhqd,bhkd->bhqk", x, y), (normal(2, 2, 3, 4), normal(2, 2, 5, 4))),
    ("dot half", jnp.dot, (X.astype("float16"), normal(4, 5, dtype="float16"))),
    ("dot half to float", _dot(((1,), (0,)), ((), ()), preferred_element_type="float32"),
     (X.astype("float16"), normal(4, 5, dtype="float16"))),
    ("dot bfloat16", jnp.dot, (X.astype(BF16), normal(4, 5, dtype=BF16))),
    ("dot ints", jnp.dot, (IX, whole(4, 5))),
    ("dot bytes", _dot(((1,), (0,)), ((), ()), preferred_element_type="int32"),
     (np.full((2, 9), 100, "int8"), np.full((9, 2), 100, "int8"))),
    ("dot empty", jnp.dot, (np.zeros((3, 0), "float32"), np.zeros((0, 4), "float32"))),
    ("dot double", jnp.dot, (X.astype("float64"), normal(4, 5, dtype="float64"))),
    ("conv", _conv(window_strides=(1, 1), padding="VALID"), (_IMAGE, _KERNEL)),
    ("conv strides", _conv(window_strides=(2, 3), padding=((1, 2), (0, 3))), (_IMAGE, _KERNEL)),
    ("conv dilated kernel", _conv(window_strides=(1, 2), padding="SAME", rhs_dilation=(2, 3)),
     (_IMAGE, _KERNEL)),
    ("conv dilated input", _conv(window_strides=(1, 2), padding=((2, 1), (1, 0)), lhs_dilation=(2, 3)),
     (_IMAGE, _KERNEL)),
    ("conv negative padding", _conv(window_strides=(1, 1), padding=((-1, 2), (-1, -1)), lhs_dilation=(1, 2)),
     (_IMAGE, _KERNEL)),
    ("conv groups", _conv(window_strides=(1, 1), padding="SAME", feature_group_count=2),
     (_IMAGE, normal(6, 2, 3, 2))),
    ("conv depthwise", _conv(window_strides=(1, 1), padding="SAME", feature_group_count=4),
     (_IMAGE, normal(8, 1, 3, 2))),
    ("conv batch groups", _conv(window_strides=(1, 1), padding="SAME", batch_group_count=2),
     (normal(4, 4, 7, 6), _KERNEL)),
    ("conv channels last", _conv(window_strides=(2, 1), padding="SAME", dimension_numbers=("NHWC", "HWIO",
     "NHWC")),
     (normal(2, 7, 6, 4), normal(3, 2, 4, 6))),
    ("conv mixed layout", _conv(window_strides=(2, 1), padding="SAME", dimension_numbers=("CNHW", "IHWO",
     "HWNC")),
     (normal(4, 2, 7, 6), normal(4, 3, 2, 6))),
    ("conv 1d", _conv(window_strides=(2,), padding=((1, 1),), dimension_numbers=("NCH", "OIH", "NCH")),
     (normal(2, 3, 9), normal(4, 3, 3))),
    ("conv 3d", _conv(window_strides=(1, 2, 1), padding="SAME"),
     (normal(1, 2, 4, 5, 3), normal(3, 2, 2, 3, 2))),
    ("conv half", _conv(window_strides=(1, 1), padding="SAME"),
     (_IMAGE.astype("float16"), _KERNEL.astype("float16"))),
    ("conv transposed", lambda x, w: lax.conv_transpose(x, w,
     (2, 2), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW")),
     (_IMAGE, normal(6, 4, 3, 3))),
    ("conv no batch", _conv(window_strides=(1, 1), padding="VALID"),
     (np.zeros((0, 4, 7, 6), "float32"), _KERNEL)),
    ("attention", lambda q, k, v: jax.nn.softmax(q @ k.T) @ v, (X, Y, X * Y)),
]  # fmt: skip


def _pool(
    start: Any, function: Any, window: Any, strides: Any, padding: Any, **kwargs: Any
) -> Callable[..., Any]:
    return lambda x: lax.reduce_window(
        x, np.asarray(start, x.dtype)[()], function, window, strides, padding, **kwargs
    )


_POOLED = distinct(2, 2, 7, 6)
SLIDING: list[Row] = [
    ("max pool", _pool(-np.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"), (_POOLED,)),
    ("max pool padded", _pool(-np.inf, lax.max, (1, 1, 3, 2), (1, 1, 2, 1), ((0, 0), (0, 0), (1, 1),
     (1, 0))), (_POOLED,)),
    ("max pool ties", _pool(-np.inf, lax.max, (1, 1, 3, 2), (1, 1, 2, 1), "SAME"), (np.floor(_POOLED / 20),)),
    ("max pool NaN", _pool(-np.inf, lax.max, (2,), (1,), "SAME"),
     (np.array([1, np.nan, 3, 2, -1], "float32"),)),
    ("min pool", _pool(np.inf, lax.min, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"), (_POOLED,)),
    ("global pool", _pool(-np.inf, lax.max, (1, 1, 7, 6), (1, 1, 1, 1), "VALID"), (_POOLED,)),
    ("sum pool", _pool(0.0, lax.add, (1, 1, 3, 2), (1, 1, 2, 1), "SAME"), (_POOLED,)),
    ("sum pool large", _pool(0.0, lax.add, (1, 1, 6, 6), (1, 1, 1, 1), "SAME"), (_POOLED,)),
    ("sum pool half", _pool(np.float16(0), lax.add, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"),
     (_POOLED.astype("float16"),)),
    ("sum dilated", _pool(0.0, lax.add, (1, 1, 2, 2), (1, 1, 1, 1), "VALID", window_dilation=(1, 1, 2, 2)),
     (_POOLED,)),
    ("sum spread", _pool(0.0, lax.add, (1, 1, 2, 2), (1, 1, 2, 1), "VALID", base_dilation=(1, 1, 2, 3)),
     (_POOLED,)),
    ("int max pool", _pool(np.int32(-(2**31)), lax.max, (2, 2), (1, 1), "SAME"), (IX,)),
    ("product pool", _pool(1.0, lax.mul, (2, 2), (1, 1), "SAME"), (X,)),
    ("started sum pool", _pool(2.0, lax.add, (2, 2), (1, 1), "VALID"), (X,)),
    ("function pool", _pool(1.0, lambda a, b: a + b * b, (2, 2), (1, 1), "SAME"), (X,)),
    ("max pool tangent", lambda x: jax.jvp(_pool(-np.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"),
     (x,), (x,))[1],
     (_POOLED,)),
]  # fmt: skip


def _matrix(n: int, *batch: int, dtype: Any = "float64") -> np.ndarray:
    return normal(*batch, n, n, dtype=dtype) + 3 * np.eye(n, dtype=dtype)


def _positive_definite(n: int, *batch: int, dtype: Any = "float64") -> np.ndarray:
    a = _matrix(n, *batch, dtype=dtype)
    return a @ a.swapaxes(-1, -2)


LINALG: list[Row] = [
    ("cholesky", jnp.linalg.cholesky, (_positive_definite(3),)),
    ("cholesky batch", jnp.linalg.cholesky, (_positive_definite(3, 2),)),
    ("cholesky fails", jnp.linalg.cholesky,
     (np.stack([-np.eye(2), np.eye(2)]),)),
    *[(f"triangular_solve {left}{lower}{transpose}{unit}", functools.partial(
        lambda a, b, **kw: lax.linalg.triangular_solve(a, b, **kw), left_side=left, lower=lower,
        transpose_a=transpose,
        unit_diagonal=unit), (_matrix(3), normal(3, 3, dtype="float64")))
      for left in (True, False) for lower in (True, False) for transpose in (True, False) for unit in (True,
      False)],
    ("triangular_solve batch", lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True),
     (_matrix(3, 2, dtype="float32"), normal(2, 3, 4))),
    ("lu", lax.linalg.lu, (_matrix(4),)),
    ("lu wide batch", lax.linalg.lu, (normal(2, 3, 4, dtype="float64"),)),
    ("det", jnp.linalg.det, (_matrix(4),)),
    ("det of three", jnp.linalg.det, (_matrix(3, 2),)),
    ("slogdet", jnp.linalg.slogdet, (_matrix(4),)),
    ("inv", jnp.linalg.inv, (_matrix(3),)),
    ("solve", jnp.linalg.solve, (_matrix(3), normal(3, 2, dtype="float64"))),
    ("qr", jnp.linalg.qr, (normal(4, 3, dtype="float64"),)),
    ("qr complete", lambda x: jnp.linalg.qr(x, mode="complete"), (normal(4, 3, dtype="float64"),)),
    ("eigvalsh", jnp.linalg.eigvalsh, (_positive_definite(3, 2),)),
    ("eigh", lambda x: jnp.abs(jnp.linalg.eigh(x)[1]), (_positive_definite(3),)),
    ("svd values", lambda x: jnp.linalg.svd(x, compute_uv=False), (normal(4, 3, dtype="float64"),)),
    ("svd", lambda x: [jnp.abs(v) for v in jnp.linalg.svd(x, full_matrices=False)],
     (normal(4, 3, dtype="float64"),)),
    ("eig", lambda x: jnp.sort(jnp.real(jnp.linalg.eig(x)[0])), (_matrix(3),)),
    ("fft", lambda x: [f(jnp.fft.fft(x)) for f in (jnp.real, jnp.imag)], (X,)),
    ("rfft", lambda x: jnp.fft.irfft(jnp.fft.rfft(x)), (X,)),
]  # fmt: skip


@jax.custom_vjp
def _tripled(x: Any) -> Any:
    return 3 * x


_tripled.defvjp(lambda x: (3 * x, x), lambda x, g: (g * jnp.sign(x),))


@jax.custom_jvp
def _squared(x: Any) -> Any:
    return x * x


_squared.defjvp(lambda primals, tangents: (_squared(*primals), 2 * primals[0] * tangents[0]))

CONTROL: list[Row] = [
    ("cond", lambda x: lax.cond(x[0, 0] > 0, jnp.sin, jnp.cos, x), (X,)),
    ("switch", lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, lambda x: x * 2], x), (np.array(7), X)),
    ("while", lambda x: lax.while_loop(lambda v: v.sum() < 50, lambda v: v + 1, x), (X,)),
    ("fori", lambda x: lax.fori_loop(0, 4, lambda i, v: v * 1.1 + i, x), (X,)),
    ("scan", lambda x: lax.scan(lambda c, v: (jnp.tanh(c + v), c * v), x[0], x), (X,)),
    ("scan reverse", lambda x: lax.scan(lambda c, v: (jnp.tanh(c + v), c * v), x[0], x, reverse=True), (X,)),
    ("scan no outputs", lambda x: lax.scan(lambda c, _: (c * 2, None), x, None, length=3)[0], (X,)),
    ("scan scalar", lambda x: lax.scan(lambda c, v: (c + v.sum(), c), np.float32(0), x), (X,)),
    ("map", lambda x: lax.map(jnp.cumsum, x), (X,)),
    (
        "nested jit",
        lambda x: jax.jit(lambda y: jax.jit(jnp.sin)(y) + jax.jit(lambda: jnp.ones(4, "float32"))())(x),
        (X,),
    ),
    ("checkpoint", jax.checkpoint(lambda x: jnp.sin(jnp.sin(x))), (X,)),
    ("custom_vjp", _tripled, (X,)),
    ("custom_jvp", _squared, (X,)),
    ("associative_scan", lambda x: lax.associative_scan(jnp.multiply, x), (X,)),
    ("unused input", lambda x, y: x + 1, (X, Y)),
]

_KEY = jax.random.key_data(jax.random.key(11))


def _drawn(draw: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda data: draw(jax.random.wrap_key_data(data))


RANDOM: list[Row] = [
    (name, _drawn(draw), (np.asarray(_KEY),))
    for name, draw in {
        "bits 8": lambda k: jax.random.bits(k, (5, 3), "uint8"),
        "bits 16": lambda k: jax.random.bits(k, (7,), "uint16"),
        "bits 32": lambda k: jax.random.bits(k, (5, 3), "uint32"),
        "bits 64": lambda k: jax.random.bits(k, (5, 3), "uint64"),
        "bits scalar": lambda k: jax.random.bits(k, (), "uint32"),
        "bits empty": lambda k: jax.random.bits(k, (0, 3), "uint32"),
        "uniform": lambda k: jax.random.uniform(k, (4, 3), "float32", -1, 2),
        "uniform double": lambda k: jax.random.uniform(k, (4, 3), "float64"),
        "uniform half": lambda k: jax.random.uniform(k, (4, 3), "float16"),
        "normal": lambda k: jax.random.normal(k, (4, 3), "float32"),
        "bernoulli": lambda k: jax.random.bernoulli(k, 0.3, (20,)),
        "randint": lambda k: jax.random.randint(k, (20,), -5, 100, "int32"),
        "permutation": lambda k: jax.random.permutation(k, 17),
        "shuffle rows": lambda k: jax.random.permutation(k, X),
        "categorical": lambda k: jax.random.categorical(k, X, axis=1),
        "exponential": lambda k: jax.random.exponential(k, (5,), "float32"),
        "gumbel": lambda k: jax.random.gumbel(k, (5,), "float32"),
        "gamma": lambda k: jax.random.gamma(k, np.array([0.3, 1.0, 5.5], "float32"), (4, 3), "float32"),
        "gamma double": lambda k: jax.random.gamma(k, 0.5, (6,), "float64"),
        "beta": lambda k: jax.random.beta(k, 2.0, 0.4, (5,), "float32"),
        "poisson": lambda k: jax.random.poisson(k, np.array([0.5, 3.0, 40.0], "float32"), (4, 3)),
        "split": lambda k: jax.random.key_data(jax.random.split(k, 3)),
        "split shape": lambda k: jax.random.key_data(jax.random.split(k, (2, 3))),
        "fold_in": lambda k: jax.random.key_data(jax.random.fold_in(k, 77)),
        "seed": lambda k: jax.random.key_data(
            jax.random.key(jax.random.bits(k, (), "uint32").astype("int64") - 2**33)
        ),
        "seed narrow": lambda k: jax.random.key_data(jax.random.key(-jnp.int32(3) * k.ndim - 1)),
        "batch of keys": lambda k: jax.vmap(lambda q: jax.random.uniform(q, (2,), "float32"))(
            jax.random.split(k, 3)
        ),
        "key gymnastics": lambda k: jax.random.key_data(jax.random.split(k, 4).reshape(2, 2)[1, ::-1]),
        "chain": lambda k: jax.random.normal(jax.random.split(jax.random.split(k)[1])[0], (3,), "float32"),
    }.items()
]

THEMES = {
    "elementwise": ELEMENTWISE, "shape": SHAPE, "reduce": REDUCE, "indexing": INDEXING,
    "contraction": CONTRACTION,
    "sliding": SLIDING, "linalg": LINALG, "control": CONTROL, "random": RANDOM,
}  # fmt: skip


def _is_float(value: Any) -> bool:
    return jnp.issubdtype(value.dtype, jnp.floating)


def gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """The pullback of a function's floating outputs at fixed heads, with respect to its floating inputs."""

    def run(*inputs: Any) -> Any:
        places = [i for i, value in enumerate(inputs) if _is_float(value)]

        def of_floats(*floats: Any) -> Any:
            values = list(inputs)
            for place, value in zip(places, floats):
                values[place] = value
            return [out for out in jax.tree.leaves(function(*values)) if _is_float(out)]

        outputs, pullback = jax.vjp(of_floats, *[inputs[place] for place in places])
        heads = [
            jnp.asarray(np.cos(np.arange(out.size)).reshape(out.shape) + 0.5).astype(out.dtype)
            for out in outputs
        ]
        return pullback(heads)

    return run


#: JAX does not differentiate these.
FORWARD_ONLY = {
    "scatter mul", "sum spread", "product pool", "started sum pool", "function pool", "eig", "lu wide batch",
    "qr complete", "cholesky fails", "while", "igamma", "igammac", "scatter max", "scatter min", "reduce two",
    "max pool tangent",
}  # fmt: skip


def _has_gradient(theme: str, name: str, inputs: tuple[Any, ...]) -> bool:
    if theme == "random" or name in FORWARD_ONLY:
        return False
    kinks = ("odd", "NaN", "of empty", "nextafter", "div by zero", "double to int", "conversions", "float to")
    return any(map(_is_float, inputs)) and not any(word in name for word in kinks)


ROWS = [
    (theme, name, kind)
    for theme, rows in THEMES.items()
    for name, _, inputs in rows
    for kind in ("forward", "gradient")
    if kind == "forward" or _has_gradient(theme, name, inputs)
]


@functools.cache
def expected(theme: str) -> dict[tuple[str, str], list[np.ndarray]]:
    """What XLA computes for all rows of a theme."""
    rows = {(name, kind): (function, inputs) for name, function, inputs in THEMES[theme]
            for kind in ("forward", "gradient") if (theme, name, kind) in set(ROWS)}  # fmt: skip

    def everything(values: dict[Any, Any]) -> Any:
        return {
            str(row): jax.tree.leaves(
                (function if row[1] == "forward" else gradient(function))(*values[row[0]])
            )
            for row, (function, _) in rows.items()
        }

    options = {"xla_backend_optimization_level": 1}
    inputs = {name: values for (name, _), (_, values) in rows.items()}
    results = jax.jit(everything).lower(inputs).compile(compiler_options=options)(inputs)
    return {row: [np.asarray(value) for value in results[str(row)]] for row in rows}


def tolerance(dtype: np.dtype) -> float:
    return {"float64": 1e-9, "float32": 3e-5, "float16": 4e-3, "bfloat16": 3e-2, "complex64": 1e-4}.get(
        dtype.name, 0.0
    )


@pytest.fixture(autouse=True)
def double_precision() -> Any:
    """The library traces with 64-bit types switched on."""
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize(("theme", "name", "kind"), ROWS, ids=lambda part: str(part).replace(" ", "_"))
def test_same_as_xla(theme: str, name: str, kind: str) -> None:
    function, inputs = next((f, values) for row, f, values in THEMES[theme] if row == name)
    jaxpr = jax.make_jaxpr(function if kind == "forward" else gradient(function))(*inputs)
    program = build(jaxpr)
    assert program is not None, f"no rule for something in {jaxpr}"
    before = [np.array(value) for value in inputs]
    results = program(inputs)
    for aval, result, wanted in zip(jaxpr.out_avals, results, expected(theme)[name, kind], strict=True):
        assert type(result) is np.ndarray
        assert (result.shape, result.dtype) == (aval.shape, aval.dtype)
        assert result.size <= 1 or 0 not in result.strides
        scale = tolerance(result.dtype)
        if result.dtype.name == "bfloat16":
            result, wanted = result.astype("float32"), wanted.astype("float32")
        np.testing.assert_allclose(result, wanted, rtol=scale, atol=scale)
    for value, copy in zip(inputs, before):
        np.testing.assert_array_equal(value, copy)


def test_keys_and_python_numbers_at_the_ends() -> None:
    key = jax.random.key(5)
    program = build(jax.make_jaxpr(lambda k, s: (jax.random.split(k)[0], jnp.float32(2) * s))(key, 0.1))
    assert program is not None
    for given in (key, np.asarray(jax.random.key_data(key))):
        new_key, product = program([given, 0.1])
        np.testing.assert_array_equal(
            jax.random.key_data(new_key), jax.random.key_data(jax.random.split(key)[0])
        )
        assert product.dtype == np.float32 and product == np.float32(0.2)


def test_unknown_primitives_are_refused_at_any_depth() -> None:
    def hidden(x: Any) -> Any:
        return lax.cond(x.sum() > 0, jax.jit(lambda v: lax.igamma(v, v)), lambda v: v, x)

    assert build(jax.make_jaxpr(hidden)(POSITIVE)) is not None
    assert build(jax.make_jaxpr(jax.grad(lambda x: hidden(x).sum()))(POSITIVE)) is None  # igamma_grad_a
    assert build(jax.make_jaxpr(lambda x: jax.debug.print("{}", x))(X)) is None


def test_no_warning_and_callers_error_state_is_kept() -> None:
    program = build(jax.make_jaxpr(lambda x: (1 / x, jnp.log(x)))(X))
    assert program is not None
    with np.errstate(all="raise"):
        quotient, logarithm = program([np.zeros_like(X)])
        with pytest.raises(FloatingPointError):
            np.float32(1) / np.zeros(1, "float32")
    assert np.isposinf(quotient).all() and np.isneginf(logarithm).all()


@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_many_random_bits_are_those_of_jax(width: int) -> None:
    """They are made in blocks."""
    words = np.array([7, 11], np.uint32)
    with jax.enable_x64(True):
        wanted = jax.random.bits(jax.random.wrap_key_data(words), (3, 9000), f"uint{width}")
    np.testing.assert_array_equal(bits(words.view(KEY_DTYPE)[0], width, (3, 9000)), np.asarray(wanted))


def test_cost_counts_the_work() -> None:
    def cost(function: Callable[..., Any], *inputs: Any) -> float:
        program = build(jax.make_jaxpr(function)(*inputs))
        assert program is not None
        return program.cost

    assert cost(lax.add, X, Y) == X.size
    assert cost(jnp.transpose, X) == 0
    # BLAS does sixteen multiplications or additions in the time of one elementwise operation.
    assert cost(jnp.dot, X, Y.T) == 2 * 3 * 4 * 3 / 16
    taps = 4 * 3 * 2
    patches = (2 * 6 * 7) * taps
    same = _conv(window_strides=(1, 1), padding="SAME")
    assert cost(same, _IMAGE, _KERNEL) == 2 * (2 * 6 * 7 * 6) * taps / 16 + 4 * patches


@pytest.mark.parametrize("shape", [(4096, 8), (40, 11, 3), (257, 4)])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_sums_of_many_rows_round_little(shape: tuple[int, ...], dtype: Any) -> None:
    values = np.random.default_rng(0).normal(1, 0.1, shape).astype(dtype)
    axes = tuple(range(len(shape) - 1))
    program = build(jax.make_jaxpr(lambda x: lax.reduce_sum(x, axes=axes))(values))
    assert program is not None
    (found,) = program([values])
    exact = values.astype(np.float64).sum(axis=axes)
    assert found.dtype == dtype
    error = np.abs(found.astype(np.float64) - exact) / exact
    assert error.max() <= (3e-7 if dtype == np.float32 else 4e-3)
