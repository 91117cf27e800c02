"""Samples of the operators of two arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng


def spread(low: float, high: float, shape: tuple[int, ...] = (2, 3), seed: int = 0) -> np.ndarray:
    """Numbers between low and high, float32."""
    return rng(seed).uniform(low, high, shape).astype(np.float32)


def truth(fn: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """A NumPy comparison that answers in the dtype of its operands."""
    return lambda a, b: fn(a, b).astype(a.dtype)


# Name after the prefix, NumPy reference; all smooth for positive operands that are far enough apart.
ARITHMETIC = [
    ("add", np.add),
    ("sub", np.subtract),
    ("mul", np.multiply),
    ("div", np.divide),
    ("mod", np.mod),
    ("power", np.power),
    ("hypot", np.hypot),
    ("maximum", np.maximum),
    ("minimum", np.minimum),
]
COMPARISON = [
    ("equal", np.equal),
    ("not_equal", np.not_equal),
    ("greater", np.greater),
    ("greater_equal", np.greater_equal),
    ("lesser", np.less),
    ("lesser_equal", np.less_equal),
    ("logical_and", np.logical_and),
    ("logical_or", np.logical_or),
    ("logical_xor", np.logical_xor),
]
ELEMWISE = ("add", "sub", "mul", "div")

LEFT = np.array([[1.3, 2.6, 3.7], [0.8, 4.4, 5.9]], np.float32)
RIGHT = np.array([[2.1, 0.9, 2.3], [1.7, 3.1, 1.6]], np.float32)
ROW = np.array([2.1, 0.9, 2.3], np.float32)
COLUMN = np.array([[1.9], [3.3]], np.float32)
TIED = np.array([-2, -1, 0, 1, 2, 3, 0, 7], np.float32)
TIED_WITH = np.array([2, -1, 0, 3, 2, -2, 5, -3], np.float32)
WHOLE = np.array([1, 7, 5, -7, 6], np.int32)
WHOLE_WITH = np.array([3, 2, 5, 2, -4], np.int32)
BYTES = np.array([1, 7, 200, 250], np.uint8)
BYTES_WITH = np.array([3, 2, 100, 7], np.uint8)

SAMPLES: list[Sample] = []
for name, reference in ARITHMETIC:
    same = f"elemwise_{name}" if name in ELEMWISE else f"_{name}"
    wide = f"broadcast_{name}"
    SAMPLES += [
        Sample(same, (LEFT, RIGHT), reference=reference),
        Sample(same, (LEFT.astype(np.float64), RIGHT.astype(np.float64)), reference=reference, tag="float64"),
        Sample(same, (WHOLE, WHOLE_WITH), grad=(), tag="int32"),
        Sample(wide, (LEFT, RIGHT), reference=reference),
        Sample(wide, (LEFT, ROW), reference=reference, tag="row"),
        Sample(wide, (COLUMN, LEFT), reference=reference, tag="column"),
        Sample(wide, (COLUMN, ROW[None].astype(np.float32)), reference=reference, tag="outer"),
        Sample(
            wide,
            (LEFT.astype(np.float16), COLUMN.astype(np.float16)),
            reference=reference,
            tag="float16",
            rtol=4e-3,
            atol=4e-3,
            numeric_grad=False,
        ),
        Sample(wide, (WHOLE[:, None], WHOLE_WITH), grad=(), tag="int32"),
        Sample(
            wide,
            (np.zeros((0, 3), np.float32), ROW),
            oracle=False,
            numeric_grad=False,
            tag="empty",
            why="MXNet makes no such arrays in nd mode",
        ),
    ]
    if name not in ("power", "hypot"):
        SAMPLES.append(Sample(same, (BYTES, BYTES_WITH), grad=(), tag="uint8"))
for name, reference in COMPARISON:
    SAMPLES += [
        Sample(f"_{name}", (TIED, TIED_WITH), reference=truth(reference), numeric_grad=False),
        Sample(f"_{name}", (WHOLE, WHOLE_WITH), reference=truth(reference), grad=(), tag="int32"),
        Sample(
            f"broadcast_{name}", (TIED[:, None], TIED_WITH), reference=truth(reference), numeric_grad=False
        ),
        Sample(f"broadcast_{name}", (BYTES, BYTES_WITH), reference=truth(reference), grad=(), tag="uint8"),
        Sample(
            f"broadcast_{name}",
            (LEFT.astype(np.float16), LEFT.astype(np.float16)),
            numeric_grad=False,
            reference=truth(reference),
            tag="float16",
        ),
    ]
for name in ("broadcast_maximum", "_maximum", "broadcast_minimum", "_minimum", "broadcast_mod", "_mod"):
    SAMPLES.append(
        Sample(
            name,
            (TIED, np.where(TIED_WITH == 0, 4, TIED_WITH).astype(np.float32)),
            numeric_grad=False,
            tag="ties",
        )
    )
SAMPLES += [
    Sample(
        "broadcast_maximum",
        (np.ones((2, 2, 1), np.float32), np.ones((2, 1, 3), np.float32)),
        numeric_grad=False,
        tag="tie after broadcasting",
    ),
    Sample(
        "broadcast_maximum",
        (np.array([np.nan, 1], np.float32), np.array([1, np.nan], np.float32)),
        grad=(),
        tag="nan",
    ),
    Sample(
        "broadcast_minimum",
        (np.array([np.nan, 1], np.float32), np.array([1, np.nan], np.float32)),
        grad=(),
        tag="nan",
    ),
    Sample(
        "broadcast_mod",
        (np.array([5.0, 0.0], np.float32), np.array([0.0, 0.0], np.float32)),
        grad=(0,),
        numeric_grad=False,
        tag="by zero",
    ),
    Sample(
        "broadcast_mod", (np.array([5, -5], np.int32), np.array([0, 3], np.int32)), grad=(), tag="int by zero"
    ),
    Sample(
        "broadcast_div",
        (np.array([5, -5], np.int32), np.array([0, 3], np.int32)),
        grad=(),
        oracle=False,
        why="MXNet's process dies of a whole-number division by zero",
        reference=lambda a, b: np.array([0, -1], np.int32),
        tag="int by zero",
    ),
    Sample(
        "broadcast_div",
        (np.array([1.0, -1.0, 0.0], np.float32), np.zeros(3, np.float32)),
        grad=(),
        tag="by zero",
    ),
    Sample(
        "broadcast_hypot",
        (np.array([3e30, 0.0], np.float32), np.array([4e30, 0.0], np.float32)),
        grad=(),
        reference=lambda a, b: np.array([5e30, 0.0]),
        tag="large",
    ),
    Sample("_grad_add", (LEFT, RIGHT), reference=np.add, grad=()),
    Sample("_grad_add", (WHOLE, WHOLE_WITH), reference=np.add, grad=(), tag="int32"),
    Sample("_scatter_elemwise_div", (LEFT, RIGHT), reference=np.divide),
    Sample("_scatter_elemwise_div", (LEFT.astype(np.float64), RIGHT.astype(np.float64)), reference=np.divide),
    Sample("add_n", (LEFT,), reference=np.array),
    Sample("add_n", (LEFT, RIGHT, LEFT * 2), reference=lambda *a: sum(a)),
    Sample("add_n", (BYTES, BYTES_WITH), reference=np.add, grad=(), tag="uint8"),
    Sample(
        "add_n",
        tuple(spread(-2, 2, seed=s).astype(np.float16) for s in range(4)),
        tag="float16",
        rtol=2e-3,
        atol=2e-3,
        numeric_grad=False,
    ),
    Sample("_identity_with_attr_like_rhs", (LEFT, RIGHT), reference=lambda a, b: a),
    Sample("_identity_with_attr_like_rhs", (WHOLE, WHOLE_WITH), reference=lambda a, b: a, grad=()),
]

ERROR_SAMPLES = [
    ErrorSample("elemwise_add", r"expected \[2, 3\], got \[3\]", (LEFT, ROW)),
    ErrorSample("_maximum", r"expected \[2, 3\], got \[3\]", (LEFT, ROW)),
    ErrorSample("add_n", r"expected \[2, 3\], got \[3\]", (LEFT, ROW)),
    ErrorSample("broadcast_add", "could not be broadcast", (LEFT, ROW[:2])),
    ErrorSample("broadcast_add", "expected float32, got int32", (LEFT, LEFT.astype(np.int32))),
    ErrorSample("broadcast_add", "boolean", (np.array([True]), np.array([False]))),
]
