"""Rules for matrix decompositions and solvers, through LAPACK by way of NumPy and SciPy.

What LAPACK reports as failure is NaN in XLA's results, never an exception.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gluonjax._engine._numpy_rules.site import Function, Rule, Site


def _per_matrix(site: Site, function: Function) -> Function:
    """Runs `function` on every matrix of a batch and stacks the results."""
    batch = site.ins[0].shape[:-2]
    if not batch:
        return function
    outs = [(out.shape, out.dtype) for out in site.outs]

    def loop(*operands: np.ndarray) -> Any:
        results = [np.empty(shape, dtype) for shape, dtype in outs]
        for place in np.ndindex(batch):
            values = function(*[operand[place] for operand in operands])
            for result, value in zip(results, values if len(outs) > 1 else (values,)):
                result[place] = value
        return results[0] if len(results) == 1 else tuple(results)

    return loop


def _cholesky(site: Site) -> Function:
    dtype = site.outs[0].dtype

    def cholesky(x: np.ndarray) -> np.ndarray:
        try:
            return np.linalg.cholesky(x).astype(dtype, copy=False)
        except np.linalg.LinAlgError:
            return np.full(x.shape, np.nan, dtype)

    return _per_matrix(site, cholesky)


def _triangular_solve(site: Site) -> Function:
    import scipy.linalg.blas

    params, dtype = site.params, site.outs[0].dtype
    solve: Any = scipy.linalg.blas.get_blas_funcs("trsm", dtype=dtype)
    left, lower, unit = params["left_side"], params["lower"], params["unit_diagonal"]
    conjugate = params["conjugate_a"]
    transposed = 0 if not params["transpose_a"] else 2 if conjugate and dtype.kind == "c" else 1

    def triangular_solve(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if b.size == 0:
            return np.empty_like(b)
        return solve(1.0, a, b, side=not left, lower=lower, trans_a=transposed, diag=unit)

    return _per_matrix(site, triangular_solve)


def _lu(site: Site) -> Function:
    import scipy.linalg.lapack

    factorize: Any = scipy.linalg.lapack.get_lapack_funcs("getrf", dtype=site.ins[0].dtype)
    rows, columns = site.ins[0].shape[-2:]

    def lu(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        permutation = np.arange(rows, dtype=np.int32)
        if x.size == 0:
            return np.empty_like(x), np.zeros(min(rows, columns), np.int32), permutation
        factors, pivots, _ = factorize(x)
        for row, other in enumerate(pivots.tolist()):
            permutation[[row, other]] = permutation[[other, row]]
        return factors, pivots.astype(np.int32), permutation

    return _per_matrix(site, lu)


def _qr(site: Site) -> Function | None:
    if site.params.get("pivoting"):
        return None
    mode = "complete" if site.params["full_matrices"] else "reduced"

    def qr(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        q, r = np.linalg.qr(x, mode=mode)
        return q, r

    return qr


def _eigh(site: Site) -> Function | None:
    if site.params.get("subset_by_index") is not None:
        return None
    triangle = "L" if site.params["lower"] else "U"

    def eigh(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        try:
            values, vectors = np.linalg.eigh(x, UPLO=triangle)
        except np.linalg.LinAlgError:
            return np.full(site.outs[0].shape, np.nan, x.dtype), np.full(site.outs[1].shape, np.nan, x.dtype)
        return vectors, values

    return eigh


def _svd(site: Site) -> Function | None:
    if site.params.get("subset_by_index") is not None:
        return None
    full, vectors = site.params["full_matrices"], site.params["compute_uv"]

    def svd(x: np.ndarray) -> Any:
        try:
            if not vectors:
                return np.linalg.svd(x, compute_uv=False)
            u, s, v = np.linalg.svd(x, full_matrices=full)
        except np.linalg.LinAlgError:
            failed = tuple(np.full(out.shape, np.nan, out.dtype) for out in site.outs)
            return failed if vectors else failed[0]
        return s, u, v

    return svd


def _eig(site: Site) -> Function | None:
    if site.params["compute_left_eigenvectors"]:
        return None
    dtype = site.outs[0].dtype
    if not site.params["compute_right_eigenvectors"]:
        return lambda x: np.linalg.eigvals(x).astype(dtype)

    def eig(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, vectors = np.linalg.eig(x)
        return values.astype(dtype), vectors.astype(dtype)

    return eig


def _fft(site: Site) -> Function | None:
    kind, lengths = getattr(site.params["fft_type"], "name", None), tuple(site.params["fft_lengths"])
    transform = {"FFT": np.fft.fftn, "IFFT": np.fft.ifftn, "RFFT": np.fft.rfftn, "IRFFT": np.fft.irfftn}.get(
        kind or ""
    )
    if transform is None:
        return None
    axes, dtype = tuple(range(-len(lengths), 0)), site.outs[0].dtype
    return lambda x: transform(x, s=lengths, axes=axes).astype(dtype, copy=False)


RULES: dict[str, Rule] = {
    "cholesky": _cholesky,
    "triangular_solve": _triangular_solve,
    "lu": _lu,
    "qr": _qr,
    "eigh": _eigh,
    "svd": _svd,
    "eig": _eig,
    "fft": _fft,
}


def work(site: Site) -> float:
    """A rough count: cubic in the matrix size."""
    shape = site.ins[0].shape
    return 10.0 * site.ins[0].size * (max(shape[-2:]) if len(shape) > 1 else 1)
