"""Samples of linear algebra."""

from __future__ import annotations

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng


def _array(seed: int, *shape: int) -> np.ndarray:
    return rng(seed).uniform(-2, 2, shape).astype(np.float32)


def _definite(seed: int, *shape: int) -> np.ndarray:
    root = rng(seed).uniform(-1, 1, shape)
    return (root @ root.swapaxes(-1, -2) + np.eye(shape[-1])).astype(np.float32)


def _factor(seed: int, *shape: int) -> np.ndarray:
    return np.linalg.cholesky(_definite(seed, *shape)).astype(np.float32)


_S, _SB = _definite(1, 3, 3), _definite(2, 2, 3, 3)
_R, _RB = _array(3, 3, 3), _array(4, 2, 3, 3)
_FLAT = {"rtol": 1e-4, "atol": 1e-5}

SAMPLES = [
    Sample("_linalg_gemm", (_array(5, 2, 3), _array(6, 3, 4), _array(7, 2, 4)), {"alpha": 2.0, "beta": 3.0}),
    Sample(
        "_linalg_gemm",
        (_array(8, 3, 2), _array(9, 4, 3), _array(7, 2, 4)),
        {"transpose_a": True, "transpose_b": True},
    ),
    Sample("_linalg_gemm", (_array(10, 2, 5, 3), _array(11, 3, 5, 4), _array(12, 2, 5, 4)), {"axis": 0}),
    Sample("_linalg_gemm2", (_array(5, 2, 3), _array(6, 3, 4)), {"alpha": 2.0}, lambda a, b: 2 * a @ b),
    Sample("_linalg_gemm2", (_array(13, 2, 2, 3), _array(14, 2, 4, 3)), {"transpose_b": True}),
    Sample("_linalg_gemm2", (_array(15, 3, 5, 2), _array(11, 3, 5, 4)), {"axis": 0, "transpose_a": True}),
    # Only one triangle is read, and the gradient is that of a symmetric matrix: entries cannot vary alone.
    Sample("_linalg_potrf", (_S,), {}, np.linalg.cholesky, numeric_grad=False, **_FLAT),
    Sample("_linalg_potrf", (_SB,), {}, np.linalg.cholesky, numeric_grad=False, **_FLAT),
    Sample("_linalg_potrf", (np.array([[4.0, 2], [9, 5]], "float32"),), {"lower": False}, numeric_grad=False, **_FLAT,
           tag="the upper triangle is read"),
    Sample(
        "_linalg_potrf",
        (np.array([[4, 100], [2, 5]], np.float32),),
        {},
        lambda a: np.float32([[2, 0], [1, 2]]),
        grad=(),
    ),
    Sample("_linalg_potri", (_factor(1, 3, 3),), {}, lambda a: np.linalg.inv(a @ a.T), **_FLAT),
    Sample("_linalg_potri", (_factor(2, 2, 3, 3),), {}, **_FLAT),
    Sample("_linalg_trmm", (_R, _array(16, 3, 2)), {"alpha": 2.0}, lambda a, b: 2 * np.tril(a) @ b),
    Sample("_linalg_trmm", (_R, _array(17, 2, 3)), {"rightside": True, "transpose": True}),
    Sample("_linalg_trmm", (_RB, _array(18, 2, 3, 2)), {"lower": False}, lambda a, b: np.triu(a) @ b),
    Sample("_linalg_trmm", (_R, _array(17, 2, 3)), {"rightside": True, "lower": False, "transpose": True}),
    Sample("_linalg_trsm", (_S, _array(16, 3, 2)), {"alpha": 2.0}, **_FLAT),
    Sample("_linalg_trsm", (_S, _array(17, 2, 3)), {"rightside": True, "transpose": True}, **_FLAT),
    Sample("_linalg_trsm", (_SB, _array(18, 2, 3, 2)), {"lower": False}, **_FLAT),
    Sample(
        "_linalg_trsm",
        (_S, _array(17, 2, 3)),
        {"rightside": True, "lower": False, "transpose": True},
        **_FLAT,
    ),
    Sample("_linalg_sumlogdiag", (_S,), {}, lambda a: np.log(np.diag(a)).sum().reshape(1)),
    Sample("_linalg_sumlogdiag", (_SB,), {}),
    Sample("_linalg_syrk", (_array(19, 2, 3),), {"alpha": 2.0}, lambda a: 2 * a @ a.T),
    Sample("_linalg_syrk", (_array(20, 2, 2, 3),), {"transpose": True}),
    Sample("_linalg_gelqf", (_array(21, 2, 3),), {}, **_FLAT),
    Sample("_linalg_gelqf", (_array(22, 2, 3, 3),), {}, **_FLAT),
    Sample("_linalg_syevd", (_S,), {}, numeric_grad=False, rtol=1e-3, atol=1e-4),
    Sample("_linalg_syevd", (_SB,), {}, numeric_grad=False, rtol=1e-3, atol=1e-4),
    Sample("_linalg_det", (_R,), {}, lambda a: np.linalg.det(a).reshape(1), **_FLAT),
    Sample("_linalg_det", (_RB,), {}, np.linalg.det, **_FLAT),
    Sample("_linalg_det", (_array(23, 5, 5),), {}, **_FLAT),
    Sample("_linalg_slogdet", (_R,), {}, **_FLAT),
    Sample("_linalg_slogdet", (_RB,), {}, **_FLAT),
    Sample("_linalg_slogdet", (np.zeros((2, 2), np.float32),), {}, grad=()),
    Sample("_npi_det", (_R,), {}, np.linalg.det, oracle=False, why="shape () needs the NumPy mode", **_FLAT),
    Sample("_npi_det", (_RB,), {}, np.linalg.det, oracle=False, why="as above", **_FLAT),
    Sample(
        "_npi_slogdet",
        (_R,),
        {},
        lambda a: tuple(np.linalg.slogdet(a)),
        oracle=False,
        why="as above",
        **_FLAT,
    ),
    Sample(
        "_npi_slogdet",
        (_RB,),
        {},
        lambda a: tuple(np.linalg.slogdet(a)),
        oracle=False,
        why="as above",
        **_FLAT,
    ),
    Sample("_linalg_inverse", (_S,), {}, np.linalg.inv, **_FLAT),
    Sample("_linalg_inverse", (_SB,), {}, np.linalg.inv, **_FLAT),
]

ERROR_SAMPLES = [
    ErrorSample("_linalg_gemm2", "Incompatible matrix dimensions", (_array(1, 2, 3), _array(2, 2, 3))),
    ErrorSample("_linalg_gemm2", "must be the same", (_array(1, 1, 2, 3), _array(2, 2, 3, 3))),
    ErrorSample("_linalg_gemm", "must agree", (_array(1, 2, 3), _array(2, 3, 3), _array(3, 3, 3))),
    ErrorSample("_linalg_potrf", "square", (_array(1, 2, 3),)),
    ErrorSample("_linalg_gelqf", "shape wrong", (_array(1, 3, 2),)),
    ErrorSample("_linalg_trmm", "Incompatible matrix dimensions", (_array(1, 2, 2), _array(2, 3, 2))),
    ErrorSample("_linalg_det", "square", (_array(1, 2, 3),)),
]
