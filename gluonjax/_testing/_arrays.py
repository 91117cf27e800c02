"""Random and special arrays to test with."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gluonjax import ndarray as nd
from gluonjax._base.errors import MXNetError
from gluonjax._testing._tolerance import default_dtype
from gluonjax.context import current_context

Shape = tuple[int, ...]


class TestDataError(MXNetError, ValueError, AssertionError):
    """Test data that cannot be made as asked."""


def random_arrays(*shapes: Shape) -> Any:
    """Return normally distributed float32 arrays; one array for one shape, else a list."""
    arrays = [np.asarray(np.random.randn(*shape), dtype=default_dtype()) for shape in shapes]
    return arrays[0] if len(arrays) == 1 else arrays


def random_uniform_arrays(
    *shapes: Shape, low: float = 0.0, high: float = 1.0, dtype: Any = np.float32, **kwargs: Any
) -> list[np.ndarray]:
    """Return a list of uniformly distributed arrays."""
    return [np.random.uniform(low, high, shape).astype(dtype) for shape in shapes]


def random_sample(population: Sequence[Any], k: int) -> list[Any]:
    """Return ``k`` different elements, in random order."""
    if not 0 <= k <= len(population):
        raise TestDataError(f"random_sample: {k} of {len(population)} elements")
    shuffled = list(population)
    np.random.shuffle(shuffled)
    return shuffled[:k]


def rand_shape_2d(dim0: int = 10, dim1: int = 10, allow_zero_size: bool = False) -> Shape:
    """Return a random shape, each size up to the given one."""
    return _random_shape((dim0, dim1), allow_zero_size)


def rand_shape_3d(dim0: int = 10, dim1: int = 10, dim2: int = 10, allow_zero_size: bool = False) -> Shape:
    """Return a random shape, each size up to the given one."""
    return _random_shape((dim0, dim1, dim2), allow_zero_size)


def rand_shape_nd(num_dim: int, dim: int = 10, allow_zero_size: bool = False) -> Shape:
    """Return a random shape with ``num_dim`` sizes up to ``dim``."""
    return _random_shape((dim,) * num_dim, allow_zero_size)


def _random_shape(limits: Shape, allow_zero_size: bool) -> Shape:
    return tuple(int(np.random.randint(0 if allow_zero_size else 1, limit + 1)) for limit in limits)


def rand_coord_2d(x_low: int, x_high: int, y_low: int, y_high: int) -> tuple[int, int]:
    """Return a random point, upper bounds excluded."""
    return tuple(np.random.randint((x_low, y_low), (x_high, y_high), dtype=np.int64))  # pyright: ignore


def rand_ndarray(
    shape: Shape,
    stype: str = "default",
    density: float | None = None,
    dtype: Any = None,
    modifier_func: Callable[[Any], Any] | None = None,
    shuffle_csr_indices: bool = False,
    distribution: str | None = None,
    ctx: Any = None,
) -> Any:
    """Return a random NDArray, dense or sparse; see ``rand_sparse_ndarray``."""
    if stype == "default":
        return nd.array(random_arrays(shape), ctx=ctx, dtype=dtype)
    array, _ = rand_sparse_ndarray(
        shape,
        stype,
        density,
        dtype,
        distribution,
        modifier_func=modifier_func,
        shuffle_csr_indices=shuffle_csr_indices,
        ctx=ctx,
    )
    return array


def rand_sparse_ndarray(
    shape: Shape,
    stype: str,
    density: float | None = None,
    dtype: Any = None,
    distribution: str | None = None,
    data_init: float | None = None,
    rsp_indices: Any = None,
    modifier_func: Callable[[Any], Any] | None = None,
    shuffle_csr_indices: bool = False,
    ctx: Any = None,
) -> tuple[Any, tuple[Any, ...]]:
    """Return a random sparse array and its parts.

    Args:
        shape: of the array; two sizes for csr.
        stype: ``"row_sparse"`` or ``"csr"``.
        density: the part of rows, or of values, that is stored; random where None.
        dtype: float32 where None.
        distribution: ``"uniform"``, or for csr ``"powerlaw"``: every row twice as full as the one before.
        data_init: the stored values; random where None.
        rsp_indices: the rows that are stored.
        modifier_func: applied to every stored value of row_sparse.
        shuffle_csr_indices: columns of a row in random order.
        ctx: the context.

    Returns:
        The array, and ``(values, rows)`` for row_sparse, ``(indptr, indices, data)`` for csr.
    """
    context = ctx or current_context()
    kind = dtype or default_dtype()
    part = np.random.rand() if density is None else density
    if stype == "row_sparse":
        if distribution not in (None, "uniform"):
            raise TestDataError(f"Distribution {distribution} not supported for row_sparse")
        return _random_rows(shape, part, kind, data_init, rsp_indices, modifier_func, context)
    if stype != "csr" or len(shape) != 2:
        raise TestDataError(f"rand_sparse_ndarray: unknown storage type {stype!r} for shape {shape}")
    if distribution == "powerlaw":
        stored = _powerlaw_mask(shape, part)
    elif distribution in (None, "uniform"):
        stored = _uniform_mask(shape, part)
    else:
        raise TestDataError(f"Distribution not supported: {distribution}")
    starts = np.concatenate([[0], np.cumsum(stored.sum(axis=1))]).astype(np.int64)
    columns = np.nonzero(stored)[1].astype(np.int64)
    if shuffle_csr_indices:
        for start, stop in itertools.pairwise(starts):
            np.random.shuffle(columns[start:stop])
    values = (
        np.random.uniform(0.001, 1, len(columns)) if data_init is None else np.full(len(columns), data_init)
    )
    matrix = nd.sparse.csr_matrix(
        (values.astype(kind), columns, starts), shape=shape, dtype=kind, ctx=context
    )
    return matrix, (matrix.indptr, matrix.indices, matrix.data)


def _random_rows(
    shape: Shape, density: float, dtype: Any, data_init: Any, rows: Any, modifier: Any, context: Any
) -> tuple[Any, tuple[np.ndarray, np.ndarray]]:
    chosen = np.flatnonzero(np.random.rand(shape[0]) < density) if rows is None else np.asarray(rows)
    if len(chosen) > shape[0]:
        raise TestDataError(f"rand_sparse_ndarray: {len(chosen)} rows of {shape[0]}")
    if not len(chosen):
        empty = nd.sparse.zeros("row_sparse", shape, ctx=context, dtype=dtype)
        return empty, (np.array([], dtype), np.array([]))
    values = np.random.rand(len(chosen), *shape[1:]).astype(dtype)
    if data_init is not None:
        values.fill(data_init)
    if modifier is not None:
        values = assign_each(values, modifier)
    array = nd.sparse.row_sparse_array((values, chosen), shape=shape, dtype=dtype, ctx=context)
    return array, (values, chosen)


def _stored_count(shape: Shape, density: float) -> int:
    if not 0 <= density <= 1:
        raise TestDataError(f"density has to be between 0 and 1, got {density}")
    if min(shape) <= 0:
        raise TestDataError(f"num_rows or num_cols should be greater than 0, got {shape}")
    return int(shape[0] * shape[1] * density)


def _uniform_mask(shape: Shape, density: float) -> np.ndarray:
    stored = np.zeros(shape[0] * shape[1], bool)
    stored[np.random.permutation(len(stored))[: _stored_count(shape, density)]] = True
    return stored.reshape(shape)


def _powerlaw_mask(shape: Shape, density: float) -> np.ndarray:
    rows, columns = shape
    left = _stored_count(shape, density)
    if left < 2 * rows:
        raise TestDataError(
            f"not supported for this density: {density} for this shape {shape}; "
            "num_rows * num_cols * density >= 2 * num_rows"
        )
    stored = np.zeros(shape, bool)
    stored[:, 0] = True
    left -= rows
    for row in range(rows):
        more = min(columns, 2 ** (row + 1)) - 1
        more = min(more, left)
        stored[row, 1 : 1 + more] = True
        left -= more
    if left > 0:
        raise TestDataError(f"not supported for this density: {density} for this shape {shape}")
    return stored


def shuffle_csr_column_indices(csr: Any) -> None:
    """Put the columns of every row of a SciPy csr matrix in random order, in place."""
    for start, stop in itertools.pairwise(csr.indptr):
        np.random.shuffle(csr.indices[start:stop])


def create_sparse_array(
    shape: Shape,
    stype: str,
    data_init: float | None = None,
    rsp_indices: Any = None,
    dtype: Any = None,
    modifier_func: Callable[[Any], Any] | None = None,
    density: float = 0.5,
    shuffle_csr_indices: bool = False,
) -> Any:
    """Return a sparse array as ``rand_sparse_ndarray`` makes it."""
    rows = np.sort(rsp_indices) if stype == "row_sparse" and rsp_indices is not None else None
    array, _ = rand_sparse_ndarray(
        shape,
        stype,
        density,
        dtype,
        data_init=data_init,
        rsp_indices=rows,
        modifier_func=modifier_func,
        shuffle_csr_indices=shuffle_csr_indices,
    )
    return array


def create_sparse_array_zd(
    shape: Shape,
    stype: str,
    density: float,
    data_init: float | None = None,
    rsp_indices: Any = None,
    dtype: Any = None,
    modifier_func: Callable[[Any], Any] | None = None,
    shuffle_csr_indices: bool = False,
) -> Any:
    """``create_sparse_array`` that stores no random row of a row_sparse array."""
    part = 0.0 if stype == "row_sparse" else density
    return create_sparse_array(
        shape, stype, data_init, rsp_indices, dtype, modifier_func, part, shuffle_csr_indices
    )


def assign_each(the_input: Any, function: Callable[[Any], Any] | None) -> np.ndarray:
    """Return an array of ``function`` of every element; a copy where it is None."""
    return np.array(the_input) if function is None else _each(function, the_input)


def assign_each2(input1: Any, input2: Any, function: Callable[[Any, Any], Any] | None) -> np.ndarray:
    """Return an array of ``function`` of every pair of elements; a copy of the first where it is None."""
    if function is None:
        return np.array(input1)
    if input1.shape != input2.shape:
        raise TestDataError(f"assign_each2: shapes {input1.shape} and {input2.shape} differ")
    return _each(function, input1, input2)


def _each(function: Callable[..., Any], *inputs: Any) -> np.ndarray:
    arrays = [np.asarray(value) for value in inputs]
    results = [float(function(*values)) for values in zip(*(array.ravel() for array in arrays))]
    return np.array(results, np.float64).reshape(arrays[0].shape)


def create_2d_tensor(rows: int, columns: int, dtype: Any = np.int64) -> Any:
    """Return an NDArray whose every row is filled with the row's number."""
    return nd.array(np.repeat(np.arange(rows)[:, None], columns, axis=1), dtype=dtype)


def create_vector(size: int, dtype: Any = np.int64) -> Any:
    """Return the NDArray ``0, 1, ..., size - 1``."""
    return nd.arange(0, size, dtype=dtype)


def get_identity_mat(size: int) -> Any:
    """Return the identity matrix as an NDArray."""
    return nd.array(np.eye(size))


def get_identity_mat_batch(size: int) -> Any:
    """Return two identity matrices as one NDArray."""
    return nd.array(np.stack([np.eye(size)] * 2))


def new_orthonormal_matrix_2d(n: int) -> np.ndarray:
    """Return a random orthonormal matrix ``(n, n)``."""
    return np.linalg.qr(np.random.randn(n, n))[0]


def new_matrix_with_real_eigvals_2d(n: int) -> np.ndarray:
    """Return a random, well-conditioned matrix ``(n, n)`` whose eigenvalues are real."""
    # A basis whose condition is bounded: orthonormal vectors, stretched by at most 3.
    basis = new_orthonormal_matrix_2d(n) * np.random.uniform(0.4, 1.0, n)
    return np.linalg.inv(basis) @ np.diag(np.random.uniform(-10.0, 10.0, n)) @ basis


def new_sym_matrix_with_real_eigvals_2d(n: int) -> np.ndarray:
    """Return a random symmetric matrix ``(n, n)``."""
    basis = new_orthonormal_matrix_2d(n)
    return basis.T @ np.diag(np.random.uniform(-10.0, 10.0, n)) @ basis


def new_matrix_with_real_eigvals_nd(shape: Shape) -> np.ndarray:
    """Return a batch of matrices with real eigenvalues."""
    return _batch(new_matrix_with_real_eigvals_2d, shape)


def new_sym_matrix_with_real_eigvals_nd(shape: Shape) -> np.ndarray:
    """Return a batch of symmetric matrices."""
    return _batch(new_sym_matrix_with_real_eigvals_2d, shape)


def _batch(make: Callable[[int], np.ndarray], shape: Shape) -> np.ndarray:
    count = int(np.prod(shape[:-2], dtype=int))
    return np.array([make(shape[-1]) for _ in range(count)]).reshape(shape)
