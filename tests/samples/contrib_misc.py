"""Samples of resizing, attention and the rarer contributed operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng

r = rng(303)


def draw(*shape: int, low: float = -1, high: float = 1, dtype: str = "float32") -> np.ndarray:
    return r.uniform(low, high, shape).astype(dtype)


LOOSE = {"rtol": 1e-4, "atol": 1e-5}
GPU = "MXNet has it for GPUs only"


def resized(rows: int, columns: int, dtype: str = "float32", **attrs: Any) -> Sample:
    return Sample("_contrib_BilinearResize2D", (draw(2, 2, rows, columns, dtype=dtype),), attrs, **LOOSE)


def spectrum(x: np.ndarray) -> np.ndarray:
    values = np.fft.fft(x, axis=-1)
    return np.stack([values.real, values.imag], -1).reshape(*x.shape[:-1], -1)


def signal(x: np.ndarray) -> np.ndarray:
    pairs = x.reshape(*x.shape[:-1], -1, 2)
    return np.fft.ifft(pairs[..., 0] + 1j * pairs[..., 1], axis=-1).real * pairs.shape[-2]


def sketch(data: np.ndarray, h: np.ndarray, s: np.ndarray, size: int) -> np.ndarray:
    out = np.zeros((*data.shape[:-1], size))
    for place, sign, column in zip(h.reshape(-1).astype(int), s.reshape(-1), range(data.shape[-1])):
        out[..., place] += sign * data[..., column]
    return out


def relu_of_norm(
    data: np.ndarray, gamma: np.ndarray, beta: np.ndarray, mean: np.ndarray, var: np.ndarray
) -> np.ndarray:
    shape = (1, -1, 1, 1)
    normal = (data - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + 1e-3)
    return np.maximum(normal * gamma.reshape(shape) + beta.reshape(shape), 0)


def relu_of_batch(
    data: np.ndarray, gamma: np.ndarray, beta: np.ndarray, mean: np.ndarray, var: np.ndarray
) -> np.ndarray:
    axes = (0, 2, 3)
    return relu_of_norm(data, gamma, beta, data.mean(axes), data.var(axes))


def hawkes(batch: int, kinds: int, length: int, dtype: str = "float32") -> tuple[np.ndarray, ...]:
    lags = draw(batch, length, low=0.2, high=1.5, dtype=dtype)
    return (
        draw(batch, kinds, low=0.5, high=2, dtype=dtype),
        draw(kinds, low=0.1, high=0.5, dtype=dtype),
        draw(kinds, low=0.5, high=2, dtype=dtype),
        draw(batch, kinds, low=0, high=1, dtype=dtype),
        lags,
        r.randint(0, kinds, (batch, length)).astype("int32"),
        r.randint(1, length + 1, batch).astype(dtype),
        lags.sum(axis=1) + np.asarray(1, dtype),
    )


CLOSE = draw(3, 2)
NAN = np.array([1, np.nan, np.inf], "float32")
SKETCH = (draw(3, 4), np.array([[0, 2, 1, 2]], "float32"), np.array([[1, -1, 1, -1]], "float32"))
NORM = (draw(2, 3, 2, 2), draw(3, low=0.5), draw(3), draw(3), draw(3, low=0.5, high=2))
SPARSE = np.array([[0, 3, 0], [5, 0, 0]], "float32")

SAMPLES = [
    resized(3, 4, height=5, width=6),
    resized(5, 4, height=3, width=3, align_corners=False),
    resized(3, 3, height=7, width=5, align_corners=False, dtype="float64"),
    resized(4, 5, scale_height=1.5, scale_width=2.0),
    resized(4, 5, scale_height=0.5, scale_width=0.5, mode="odd_scale"),
    resized(5, 3, scale_height=2.0, scale_width=2.0, mode="odd_scale"),
    resized(5, 4, mode="to_even_down"),
    resized(5, 4, mode="to_even_up"),
    resized(5, 4, mode="to_odd_down"),
    resized(5, 4, mode="to_odd_up"),
    resized(3, 3, height=1, width=1),
    Sample("_contrib_BilinearResize2D", (draw(1, 2, 3, 3), draw(1, 1, 4, 5)), {"mode": "like"}, grad=(), **LOOSE),
    Sample("_contrib_AdaptiveAvgPooling2D", (draw(2, 3, 5, 7),), {"output_size": (2, 3)}, **LOOSE),
    Sample("_contrib_AdaptiveAvgPooling2D", (draw(2, 1, 3, 4, dtype="float64"),), {"output_size": 5}),
    Sample("_contrib_AdaptiveAvgPooling2D", (draw(1, 2, 4, 4),), **LOOSE),
    Sample("_contrib_interleaved_matmul_selfatt_qk", (draw(3, 2, 2 * 3 * 4),), {"heads": 2}, **LOOSE),
    Sample("_contrib_interleaved_matmul_selfatt_qk", (draw(2, 1, 9),), {"heads": 1}, **LOOSE),
    Sample("_contrib_interleaved_matmul_selfatt_valatt", (draw(3, 2, 24), draw(4, 3, 3)), {"heads": 2}, **LOOSE),
    Sample("_contrib_interleaved_matmul_selfatt_valatt", (draw(2, 1, 9), draw(1, 2, 2)), {"heads": 1}, **LOOSE),
    Sample("_contrib_interleaved_matmul_encdec_qk", (draw(2, 2, 8), draw(3, 2, 16)), {"heads": 2}, **LOOSE),
    Sample("_contrib_interleaved_matmul_encdec_qk", (draw(3, 1, 3), draw(2, 1, 6)), {"heads": 1}, **LOOSE),
    Sample("_contrib_interleaved_matmul_encdec_valatt", (draw(3, 2, 16), draw(4, 2, 3)), {"heads": 2}, **LOOSE),
    Sample("_contrib_interleaved_matmul_encdec_valatt", (draw(2, 1, 6), draw(1, 3, 2)), {"heads": 1}, **LOOSE),
    Sample("_contrib_fft", (draw(3, 4),), {}, spectrum, oracle=False, why=GPU, atol=1e-5),
    Sample("_contrib_fft", (draw(2, 1, 2, 5),), {"compute_size": 2}, spectrum, oracle=False, why=GPU, atol=1e-5),
    Sample("_contrib_ifft", (draw(3, 8),), {}, signal, oracle=False, why=GPU, atol=1e-5),
    Sample("_contrib_ifft", (draw(2, 1, 2, 6),), {}, signal, oracle=False, why=GPU, atol=1e-5),
    Sample("_contrib_count_sketch", SKETCH, {"out_dim": 3}, lambda *x: sketch(*x, 3),
           grad=(0,), oracle=False, why=GPU),
    Sample("_contrib_count_sketch", (draw(2, 1, 2, 4), *SKETCH[1:]), {"out_dim": 5}, lambda *x: sketch(*x, 5),
           grad=(0,), oracle=False, why=GPU),
    Sample("_contrib_allclose", (CLOSE, CLOSE + np.float32(1e-7)), grad=()),
    Sample("_contrib_allclose", (CLOSE, CLOSE + np.float32(0.1)), {"rtol": 0.0, "atol": 0.05}, grad=()),
    Sample("_contrib_allclose", (NAN, NAN), grad=()),
    Sample("_contrib_allclose", (NAN, NAN), {"equal_nan": False}, grad=()),
    Sample("_contrib_allclose", (draw(2, dtype="float64"), draw(2, dtype="float64")), {"atol": 5.0}, grad=()),
    Sample("_contrib_hawkesll", hawkes(2, 3, 4), grad=(0, 1, 2), numeric_grad=False, rtol=1e-4, atol=1e-4),
    Sample("_contrib_hawkesll", hawkes(3, 1, 5), grad=(0, 1, 2), numeric_grad=False, rtol=1e-4, atol=1e-4),
    Sample("_contrib_hawkesll", hawkes(1, 2, 3, "float64"), grad=(), rtol=1e-5, atol=1e-5),
    Sample("_contrib_calibrate_entropy", (np.array([1, 2, 5, 9, 20, 9, 4, 2, 1, 0, 1], "float32"),
           np.linspace(-3, 3, 12).astype("float32")), {"num_quantized_bins": 3}, grad=()),
    Sample("_contrib_calibrate_entropy", (r.randint(0, 30, 21).astype("float32"),
           np.linspace(-1, 1, 22).astype("float32")), {"num_quantized_bins": 7}, grad=(), rtol=1e-4),
    Sample("_contrib_getnnz", (SPARSE,), {}, lambda x: np.array([2]), grad=(), oracle=False, why="sparse only"),
    Sample("_contrib_getnnz", (SPARSE,), {"axis": 1}, lambda x: np.array([1, 1]), grad=(), oracle=False,
           why="sparse only"),
    Sample("_contrib_edge_id", (SPARSE, np.array([0, 1, 1], "f"), np.array([1, 0, 2], "f")), {},
           lambda *x: np.array([3, 5, -1]), grad=(), oracle=False, why="sparse only"),
    Sample("_contrib_edge_id", (SPARSE, np.array([0], "i"), np.array([0], "i")), {}, lambda *x: np.array([-1]), grad=(),
           oracle=False, why="sparse only"),
    Sample("_contrib_BatchNormWithReLU", NORM, {"fix_gamma": False}, relu_of_norm, grad=(0, 1, 2), numeric_grad=False,
           oracle=False, why="with MKL-DNN only", **LOOSE),
    Sample("_contrib_BatchNormWithReLU", NORM, {"fix_gamma": False}, relu_of_batch, grad=(0, 1, 2), numeric_grad=False,
           oracle=False, why="with MKL-DNN only", train=True, **LOOSE),
]  # fmt: skip

ERROR_SAMPLES = [
    ErrorSample("_contrib_BilinearResize2D", r"must be \(batch", (draw(2, 3),), {"height": 2, "width": 2}),
    ErrorSample("_contrib_BilinearResize2D", r"scale_width", (draw(1, 1, 2, 2),), {"mode": "odd_scale"}),
    ErrorSample("_contrib_interleaved_matmul_selfatt_qk", r"multiple of", (draw(2, 1, 7),), {"heads": 2}),
    ErrorSample("_contrib_interleaved_matmul_selfatt_valatt", r"attention must be", (draw(3, 2, 24), draw(4, 3, 2)),
                {"heads": 2}),
    ErrorSample("_contrib_allclose", r"must agree", (draw(2), draw(3))),
    ErrorSample("_contrib_count_sketch", r"same length", (draw(2, 3), *SKETCH[1:]), {"out_dim": 2}),
]  # fmt: skip
