"""Samples of Convolution and Deconvolution."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng

r = rng(111)
LAST_WHY = "channels last does not run in the real one on CPU"


def draw(*shape: int, dtype: str = "float32") -> np.ndarray:
    return r.uniform(-1, 1, shape).astype(dtype)


def convolve(x: np.ndarray, w: np.ndarray, b: np.ndarray | None = None, *, stride=None, dilate=None, pad=None,
             groups: int = 1) -> np.ndarray:  # fmt: skip
    """The definition, channels first: one product for each output position."""
    kernel = w.shape[2:]
    n = len(kernel)
    stride, dilate, pad = stride or (1,) * n, dilate or (1,) * n, pad or (0,) * n
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in pad)])
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilate)]
    out = [(size - e) // s + 1 for size, e, s in zip(x.shape[2:], reach, stride)]
    result = np.zeros((len(x), len(w), *out))
    into, outof = x.shape[1] // groups, len(w) // groups
    for place in itertools.product(*map(range, out)):
        window = tuple(slice(i * s, i * s + e, d) for i, s, e, d in zip(place, stride, reach, dilate))
        part = x[(slice(None), slice(None), *window)]
        for g in range(groups):
            block = part[:, g * into : (g + 1) * into].reshape(len(x), -1)
            filters = slice(g * outof, (g + 1) * outof)
            result[(slice(None), filters, *place)] = block @ w[filters].reshape(outof, -1).T
    return result if b is None else result + b.reshape(1, -1, *(1,) * n)


def deconvolve(x: np.ndarray, w: np.ndarray, b: np.ndarray | None = None, *, stride=None, dilate=None,
    pad=None,
               adj=None, groups: int = 1) -> np.ndarray:  # fmt: skip
    """The definition, channels first: each input position adds its kernel to the output."""
    kernel = w.shape[2:]
    n = len(kernel)
    stride, dilate, pad, adj = stride or (1,) * n, dilate or (1,) * n, pad or (0,) * n, adj or (0,) * n
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilate)]
    full = [(size - 1) * s + e for size, s, e in zip(x.shape[2:], stride, reach)]
    into, outof = x.shape[1] // groups, w.shape[1]
    result = np.zeros((len(x), outof * groups, *(f + a for f, a in zip(full, adj))))
    for place in itertools.product(*map(range, x.shape[2:])):
        window = tuple(slice(i * s, i * s + e, d) for i, s, e, d in zip(place, stride, reach, dilate))
        for g in range(groups):
            values = x[(slice(None), slice(g * into, (g + 1) * into), *place)]
            kernels = w[g * into : (g + 1) * into]
            add = np.tensordot(values, kernels, (1, 0))
            result[(slice(None), slice(g * outof, (g + 1) * outof), *window)] += add
    cut = tuple(slice(p, size - p) for p, size in zip(pad, result.shape[2:]))
    result = result[(slice(None), slice(None), *cut)]
    return result if b is None else result + b.reshape(1, -1, *(1,) * n)


def last(function, **options):
    """The reference for channels last."""

    def call(x: np.ndarray, w: np.ndarray, *b: np.ndarray) -> np.ndarray:
        return np.moveaxis(function(np.moveaxis(x, -1, 1), np.moveaxis(w, -1, 1), *b, **options), 1, -1)

    return call


def conv(x: tuple[int, ...], w: tuple[int, ...], bias: bool = True, op: str = "Convolution",
    dtype: str = "float32",
         **attrs: Any) -> Sample:  # fmt: skip
    groups = attrs.get("num_group", 1)
    options = {name: attrs[name] for name in ("stride", "dilate", "pad") if name in attrs}
    arrays = [draw(*x, dtype=dtype), draw(*w, dtype=dtype)]
    if bias:
        arrays.append(draw(w[0], dtype=dtype))
    else:
        attrs["no_bias"] = True

    def reference(*inputs: np.ndarray) -> np.ndarray:
        return convolve(*inputs, groups=groups, **options)

    return Sample(
        op, tuple(arrays), {"kernel": w[2:], "num_filter": w[0], **attrs}, reference, rtol=1e-4, atol=1e-5
    )


def deconv(x: tuple[int, ...], w: tuple[int, ...], bias: bool = False, oracle: bool = True, why: str = "",
           **attrs: Any) -> Sample:  # fmt: skip
    groups = attrs.get("num_group", 1)
    filters = w[1] * groups
    options = {name: attrs[name] for name in ("stride", "dilate", "pad", "adj") if name in attrs}
    arrays = [draw(*x), draw(*w)]
    if bias:
        arrays.append(draw(filters))
        attrs["no_bias"] = False

    def reference(*inputs: np.ndarray) -> np.ndarray:
        return deconvolve(*inputs, groups=groups, **options)

    return Sample(
        "Deconvolution", tuple(arrays), {"kernel": w[2:], "num_filter": filters, **attrs}, reference, rtol=1e-4,
        atol=1e-5, oracle=oracle, why=why,
    )  # fmt: skip


SAMPLES = [
    conv((2, 3, 5), (4, 3, 3)),
    conv((2, 3, 6), (4, 3, 2), stride=(2,), pad=(1,), dilate=(2,), layout="NCW"),
    conv((2, 3, 5, 4), (4, 3, 3, 2)),
    conv((2, 3, 5, 5), (2, 3, 1, 1), bias=False),
    conv((1, 2, 6, 5), (3, 2, 3, 2), stride=(2, 1), pad=(1, 2), layout="NCHW"),
    conv((1, 2, 7, 6), (3, 2, 3, 2), dilate=(2, 3), pad=(2, 1)),
    conv((1, 2, 4, 4, 3), (2, 2, 2, 3, 2), pad=(0, 1, 1), stride=(1, 2, 1)),
    conv((2, 4, 5, 5), (6, 2, 3, 3), num_group=2, pad=(1, 1)),
    conv((2, 4, 5, 5), (4, 1, 3, 3), num_group=4, pad=(1, 1), bias=False),
    conv((2, 3, 6, 5), (6, 1, 3, 2), num_group=3, stride=(2, 2), pad=(1, 0)),
    conv((2, 3, 7), (3, 1, 3), num_group=3, dilate=(2,), stride=(2,)),
    conv((1, 2, 3, 4, 3), (2, 1, 2, 2, 2), num_group=2),
    conv((2, 3, 5, 4), (4, 3, 3, 2), dtype="float64"),
    conv((2, 3, 5, 4), (4, 3, 3, 2), op="Convolution_v1"),
    conv((2, 4, 5, 4), (4, 2, 3, 2), op="Convolution_v1", num_group=2, pad=(1, 1), stride=(2, 1), bias=False),
    Sample(
        "Convolution",
        (draw(2, 5, 4, 3), draw(4, 3, 2, 3), draw(4)),
        {"kernel": (3, 2), "num_filter": 4, "layout": "NHWC", "pad": (1, 0)},
        last(convolve, pad=(1, 0)),
        oracle=False,
        why=LAST_WHY,
        rtol=1e-4,
        atol=1e-5,
    ),
    Sample(
        "Convolution",
        (draw(2, 5, 3), draw(4, 3, 3), draw(4)),
        {"kernel": (3,), "num_filter": 4, "layout": "NWC"},
        last(convolve),
        oracle=False,
        why=LAST_WHY,
        rtol=1e-4,
        atol=1e-5,
    ),
    Sample(
        "Convolution",
        (draw(1, 3, 4, 3, 2), draw(3, 2, 2, 2, 2)),
        {"kernel": (2, 2, 2), "num_filter": 3, "layout": "NDHWC", "no_bias": True},
        last(convolve),
        oracle=False,
        why=LAST_WHY,
        rtol=1e-4,
        atol=1e-5,
    ),
    Sample(
        "Convolution",
        (draw(2, 5, 4, 4), draw(4, 3, 2, 1), draw(4)),
        {"kernel": (3, 2), "num_filter": 4, "layout": "NHWC", "num_group": 4},
        last(convolve, groups=4),
        oracle=False,
        why=LAST_WHY,
        rtol=1e-4,
        atol=1e-5,
    ),
    Sample(
        "Convolution",
        (draw(2, 5, 4, 4), draw(6, 3, 2, 2), draw(6)),
        {"kernel": (3, 2), "num_filter": 6, "layout": "NHWC", "num_group": 2},
        last(convolve, groups=2),
        oracle=False,
        why=LAST_WHY,
        rtol=1e-4,
        atol=1e-5,
    ),
    deconv((2, 3, 4), (3, 2, 3)),
    deconv((2, 3, 4), (3, 2, 3), stride=(2,), pad=(1,), adj=(1,), bias=True),
    deconv((2, 3, 4, 3), (3, 2, 3, 2)),
    deconv((1, 2, 3, 3), (2, 3, 4, 4), stride=(2, 2), pad=(1, 1), bias=True),
    deconv((1, 2, 3, 3), (2, 3, 3, 3), stride=(2, 2), pad=(1, 1), adj=(1, 1)),
    deconv((1, 2, 3, 3), (2, 3, 3, 2), dilate=(2, 3), pad=(1, 0)),
    deconv(
        (1, 2, 3, 3),
        (2, 3, 3, 2),
        dilate=(2, 3),
        stride=(2, 3),
        oracle=False,
        why="wrong in the real one without oneDNN",
    ),
    deconv((1, 4, 3, 3), (4, 2, 3, 3), num_group=2, stride=(2, 2)),
    deconv((1, 3, 3, 4), (3, 1, 4, 4), num_group=3, stride=(2, 2), pad=(1, 1)),
    deconv(
        (1, 2, 2, 3, 2), (2, 2, 2, 2, 2), stride=(2, 1, 2), oracle=False, why="three axes do not run on CPU"
    ),
    deconv((1, 2, 4, 4), (2, 2, 1, 1), pad=(1, 1)),
    Sample(
        "Deconvolution",
        (draw(1, 2, 3, 3), draw(2, 3, 3, 3)),
        {"kernel": (3, 3), "num_filter": 3, "stride": (2, 2), "target_shape": (6, 6)},
        lambda x, w: deconvolve(x, w, stride=(2, 2), pad=(1, 1), adj=(1, 1)),
        rtol=1e-4,
        atol=1e-5,
    ),
    Sample(
        "Deconvolution",
        (draw(1, 3, 3, 2), draw(2, 3, 3, 3)),
        {"kernel": (3, 3), "num_filter": 3, "stride": (2, 2), "layout": "NHWC"},
        last(deconvolve, stride=(2, 2)),
        oracle=False,
        why=LAST_WHY,
        rtol=1e-4,
        atol=1e-5,
    ),
    Sample(
        "Deconvolution",
        (draw(1, 3, 3, 4), draw(4, 3, 3, 1)),
        {"kernel": (3, 3), "num_filter": 2, "stride": (2, 2), "layout": "NHWC", "num_group": 2},
        last(deconvolve, stride=(2, 2), groups=2),
        oracle=False,
        why=LAST_WHY,
        rtol=1e-4,
        atol=1e-5,
    ),
]

X, W, B = draw(1, 2, 5, 5), draw(3, 2, 3, 3), draw(3)
OK = {"kernel": (3, 3), "num_filter": 3}

ERROR_SAMPLES = [
    ErrorSample("Convolution", r"Shape inconsistent", (X, draw(3, 1, 3, 3), B), OK),
    ErrorSample("Convolution", r"Shape inconsistent.*bias", (X, W, draw(3, 1)), OK),
    ErrorSample("Convolution", r"kernel size exceed input", (draw(1, 2, 2, 2), W, B), OK),
    ErrorSample("Convolution", r"should be 4D", (draw(2, 5, 5), W, B), OK),
    ErrorSample("Convolution", r"Stride must have the same number", (X, W, B), {**OK, "stride": (2,)}),
    ErrorSample("Convolution", r"must divide group size", (draw(1, 3, 5, 5), W, B), {**OK, "num_group": 2}),
    ErrorSample("Convolution", r"num_fliter.*num_filter", (X, W, B), {"kernel": (3, 3), "num_fliter": 3}),
    ErrorSample(
        "Convolution_v1",
        r"1D convolution not supported",
        (draw(1, 2, 5), draw(3, 2, 3), B),
        {"kernel": (3,), "num_filter": 3},
    ),
    ErrorSample(
        "Deconvolution", r"adj must be", (X, draw(2, 3, 3, 3)), {**OK, "stride": (2, 2), "adj": (2, 2)}
    ),
    ErrorSample(
        "Deconvolution", r"too big target shape", (X, draw(2, 3, 3, 3)), {**OK, "target_shape": (9, 9)}
    ),
]
