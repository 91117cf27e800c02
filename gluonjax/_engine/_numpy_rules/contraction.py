"""Rules for matrix products and convolutions, laid out so that BLAS does the work."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gluonjax._engine._numpy_rules.blas import product
from gluonjax._engine._numpy_rules.site import Function, Rule, Site, accumulator, inverse, padder, windows


def _working_dtype(site: Site) -> np.dtype:
    """The dtype to multiply in: the output's, or float32 where that is half precision."""
    dtype = accumulator(site.outs[0].dtype)
    widest = max((accumulator(operand.dtype) for operand in site.ins), key=lambda d: d.itemsize)
    return widest if widest.itemsize > dtype.itemsize and widest.kind == dtype.kind else dtype


def _with_dtypes(site: Site, function: Function) -> Function:
    """Wraps a product so that it runs in the working dtype and answers in the output's."""
    work, out = _working_dtype(site), site.outs[0].dtype
    cast_left, cast_right = (operand.dtype != work for operand in site.ins)
    if not cast_left and not cast_right and work == out:
        return function

    def cast(x: np.ndarray, y: np.ndarray) -> Any:
        result = function(x.astype(work) if cast_left else x, y.astype(work) if cast_right else y)
        return result if work == out else result.astype(out)

    return cast


def _dot_general(site: Site) -> Function:
    (left_contract, right_contract), (left_batch, right_batch) = site.params["dimension_numbers"]
    left, right = site.ins[0].shape, site.ins[1].shape
    out_shape = site.outs[0].shape
    ranks = len(left), len(right)
    left_free = [a for a in range(len(left)) if a not in left_contract and a not in left_batch]
    right_free = [a for a in range(len(right)) if a not in right_contract and a not in right_batch]
    batch = tuple(left[a] for a in left_batch)
    depth = math.prod(left[a] for a in left_contract)
    rows, columns = math.prod(left[a] for a in left_free), math.prod(right[a] for a in right_free)
    matmul = _matmul(len(batch), rows, depth, columns, _working_dtype(site))
    if not left_batch and max(ranks) <= 2 and len(left_contract) == 1 and matmul is np.matmul:
        return _with_dtypes(site, _plain_product(*ranks, left_contract[0], right_contract[0]))
    if not left_batch and ranks == (2, 2) and len(left_contract) == 1:
        return _with_dtypes(site, _turned_product(matmul, left_contract[0] == 0, right_contract[0] == 1))
    left_order = (*left_batch, *left_free, *left_contract)
    right_order = (*right_batch, *right_contract, *right_free)
    left_shape, right_shape = (*batch, rows, depth), (*batch, depth, columns)

    def dot(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        x = x.transpose(left_order).reshape(left_shape)
        y = y.transpose(right_order).reshape(right_shape)
        return matmul(x, y).reshape(out_shape)

    return _with_dtypes(site, dot)


def _matmul(batch_rank: int, rows: int, depth: int, columns: int, dtype: np.dtype) -> Function:
    """``np.matmul``, or something quicker for matrices of these sizes."""
    single = product(rows, depth, columns, dtype)
    if single is np.matmul or not batch_rank:
        return single

    def each(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        out = np.empty((*x.shape[:batch_rank], rows, columns), dtype)
        for place in np.ndindex(x.shape[:batch_rank]):
            out[place] = single(x[place], y[place])
        return out

    return each


def _turned_product(matmul: Function, turn_left: bool, turn_right: bool) -> Function:
    """Two matrices, transposed first where that is said."""
    return lambda x, y: matmul(x.T if turn_left else x, y.T if turn_right else y)


def _plain_product(left_rank: int, right_rank: int, left_axis: int, right_axis: int) -> Function:
    """Matrices and vectors without batch axes: a matmul of (transposed) views."""
    turn_left = left_rank == 2 and left_axis == 0
    turn_right = right_rank == 2 and right_axis == 1
    if left_rank == 1 and right_rank == 2:
        # the free axis of the matrix is the only output axis
        return (lambda x, y: np.matmul(y, x)) if turn_right else np.matmul
    if turn_left and turn_right:
        return lambda x, y: np.matmul(x.T, y.T)
    if turn_left:
        return lambda x, y: np.matmul(x.T, y)
    if turn_right:
        return lambda x, y: np.matmul(x, y.T)
    return np.matmul


def _convolution(site: Site) -> Function:
    """Any convolution: patches as a view, then one matrix product per group."""
    params = site.params
    numbers = params["dimension_numbers"]
    left_spec, right_spec, out_spec = numbers.lhs_spec, numbers.rhs_spec, numbers.out_spec
    feature_groups, batch_groups = params["feature_group_count"], params["batch_group_count"]
    left = tuple(site.ins[0].shape[a] for a in left_spec)
    right = tuple(site.ins[1].shape[a] for a in right_spec)
    rank = len(left) - 2
    groups = max(feature_groups, batch_groups)
    config = [(0, 0, 0), (0, 0, 0)] + [
        (low, high, dilation - 1) for (low, high), dilation in zip(params["padding"], params["lhs_dilation"])
    ]
    pad = padder(left, config)
    padded = [
        max(low + high + (n - 1) * (inner + 1) + 1 if n else low + high, 0)
        for n, (low, high, inner) in zip(left, config)
    ]
    geometry = windows(
        padded, (1, 1, *right[2:]), (1, 1, *params["window_strides"]), (1, 1, *params["rhs_dilation"])
    )
    spatial = geometry.output[2:]
    positions, taps = math.prod(spatial), math.prod(right[2:])
    samples, channels, filters = left[0] // batch_groups, left[1] // feature_groups, right[0] // groups
    # the patches' axes are: sample, channel, output position..., window (1, 1, tap...)
    split_shape = (batch_groups, samples, feature_groups, channels, *spatial, *right[2:])
    patch_order = (0, 2, 1, *range(4, 4 + rank), 3, *range(4 + rank, 4 + 2 * rank))
    patch_shape = (groups, samples * positions, channels * taps)
    filter_shape = (groups, filters, channels * taps)
    result_shape = (groups, samples, *spatial, filters)
    result_order = (1, 0, 2 + rank, *range(2, 2 + rank))
    unsplit_shape = (samples, groups * filters, *spatial)
    out_order = inverse(out_spec)
    zero = np.zeros((), site.ins[0].dtype)
    matmul = _matmul(1, samples * positions, channels * taps, filters, _working_dtype(site))

    def convolve(x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
        x = x.transpose(left_spec)
        if pad is not None:
            x = pad(x, zero)
        patches = geometry.view(x).reshape(split_shape).transpose(patch_order).reshape(patch_shape)
        filters_first = kernel.transpose(right_spec).reshape(filter_shape).transpose(0, 2, 1)
        result = matmul(patches, filters_first).reshape(result_shape)
        return result.transpose(result_order).reshape(unsplit_shape).transpose(out_order)

    return _with_dtypes(site, convolve)


RULES: dict[str, Rule] = {
    "dot_general": _dot_general,
    "conv_general_dilated": _convolution,
}


# BLAS multiplies and adds so many numbers in the time that NumPy needs for one elementwise operation.
_AT_ONCE = 16.0


def work(site: Site) -> float:
    """What one contraction costs, in elementwise operations."""
    out = site.outs[0].size
    if site.name == "dot_general":
        (contract, _), _ = site.params["dimension_numbers"]
        return 2.0 * out * math.prod(site.ins[0].shape[a] for a in contract) / _AT_ONCE
    numbers, kernel = site.params["dimension_numbers"], site.ins[1].shape
    features = kernel[numbers.rhs_spec[0]]
    taps = math.prod(kernel) / max(features, 1)
    # Every patch is copied, in small pieces.
    positions = out / max(site.outs[0].shape[numbers.out_spec[1]], 1)
    groups = site.params["feature_group_count"]
    return 2.0 * out * taps / _AT_ONCE + 4.0 * positions * taps * groups
