"""Operators without inputs, that make arrays from attributes; and the histogram, which makes bins from "
"them."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._base.attrs import DType, Traced
from gluonjax._base.dtypes import CODE_TO_DTYPE
from gluonjax._ops.families import cut_to
from gluonjax._ops.opdef import Attrs, OperatorError, check, operator, zero_grad
from gluonjax._ops.shape_rules import known_shape

FLOAT32 = np.dtype(np.float32)
INT32 = np.dtype(np.int32)
INT64 = np.dtype(np.int64)


@operator("_zeros")
def zeros(*, shape: tuple[int, ...] = (), ctx: str = "", dtype: DType = FLOAT32) -> Array:  # type: ignore[assignment]
    """An array of zeros.

    Args:
        shape: its shape.
        ctx: the device, which the engine reads.
        dtype: its data type.

    Returns:
        The array.
    """
    return lax.full(known_shape("_zeros", shape), 0, dtype)


@operator("_ones")
def ones(*, shape: tuple[int, ...] = (), ctx: str = "", dtype: DType = FLOAT32) -> Array:  # type: ignore[assignment]
    """An array of ones.

    Args:
        shape: its shape.
        ctx: the device, which the engine reads.
        dtype: its data type.

    Returns:
        The array.
    """
    return lax.full(known_shape("_ones", shape), 1, dtype)


@operator("_full", aliases=("_npi_full",))
def full(
    *, shape: tuple[int, ...] = (), ctx: str = "", dtype: DType = FLOAT32, value: Traced  # type: ignore[assignment]
) -> Array:  # fmt: skip
    """An array filled with one value.

    Args:
        shape: its shape.
        ctx: the device, which the engine reads.
        dtype: its data type; the value is cut to it as in a C cast.
        value: the value.

    Returns:
        The array.
    """
    return lax.broadcast_in_dim(lax.convert_element_type(value, dtype), known_shape("_full", shape), ())


@operator("_zeros_without_dtype")
def zeros_without_dtype(*, shape: tuple[int, ...] = (), ctx: str = "", dtype: int = -1) -> Array:
    """An array of zeros whose data type may be left open.

    Args:
        shape: its shape.
        ctx: the device, which the engine reads.
        dtype: MXNet's code of the data type, or -1 for the default, float32.

    Returns:
        The array.
    """
    check(dtype == -1 or dtype in CODE_TO_DTYPE, f"_zeros_without_dtype: Unknown type enum {dtype}")
    return lax.full(known_shape("_zeros_without_dtype", shape), 0, FLOAT32 if dtype == -1 else CODE_TO_DTYPE[dtype])


@operator("_arange")
def arange(
    *,
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    ctx: str = "",
    dtype: DType = FLOAT32,  # type: ignore[assignment]
) -> Array:
    """Numbers at one distance from each other.

    Args:
        start: the first number; where ``stop`` is not given, the end instead, and 0 comes first.
        stop: where to stop, exclusive.
        step: the distance.
        repeat: how often each number comes.
        infer_range: take the length from where the result is used; it must be known by then.
        ctx: the device, which the engine reads.
        dtype: data type of the result. Start and step are cut to it first, as in MXNet.

    Returns:
        ``(ceil((stop - start) / step) * repeat,)``.
    """
    check(not (infer_range and stop is None), "_arange: infer_range needs a known length; give stop")
    first, last = (0.0, start) if stop is None else (start, stop)
    check(step != 0, f"_arange: Range does not support step=0, received {step}")
    check(repeat > 0, f"_arange: Range only supports repeat > 0, received {repeat}")
    check(
        (last - first) * step > 0,
        f"_arange: Invalid range (start, stop, step) = ({first:g},{last:g},{step:g}): no number lies in it",
    )
    count = lax.iota(INT64, math.ceil((last - first) / step) * repeat)
    if repeat > 1:
        count = lax.div(count, lax.full_like(count, repeat))
    begin, distance = (lax.convert_element_type(value, dtype) for value in (first, step))
    return count.astype(dtype) * distance + begin


@operator("_linspace", aliases=("_npi_linspace",))
def linspace(
    *, start: float, stop: float, num: int, endpoint: bool = True, ctx: str = "", dtype: DType = FLOAT32  # type: ignore[assignment]
) -> Array:  # fmt: skip
    """A number of values at one distance from each other.

    Args:
        start: the first value.
        stop: the last value, or the one after it.
        num: how many.
        endpoint: whether ``stop`` belongs to them.
        ctx: the device, which the engine reads.
        dtype: data type of the result.

    Returns:
        ``(num,)``.
    """
    check(num >= 0, f"_linspace: Number of sequence should be non-negative, received {num}")
    gaps = num - 1 if endpoint else num
    step = (stop - start) / gaps if gaps > 0 else 0.0
    values = lax.iota(np.dtype(np.float64), num) * step + start
    if endpoint and num > 1:
        last = lax.eq(lax.iota(INT32, num), lax.full((num,), num - 1, INT32))
        values = lax.select(last, lax.full_like(values, stop), values)
    return cut_to(values, dtype)


@operator("_eye")
def eye(
    *, N: int, M: int = 0, k: int = 0, ctx: str = "", dtype: DType = FLOAT32  # type: ignore[assignment]
) -> Array:  # fmt: skip
    """A matrix with ones on one diagonal.

    Args:
        N: the number of rows.
        M: the number of columns; as many as rows where it is 0 or negative.
        k: which diagonal; positive ones lie above the main one.
        ctx: the device, which the engine reads.
        dtype: data type of the result.

    Returns:
        ``(N, M)``.
    """
    check(N >= 0, f"_eye: Shape dim size cannot be a negative value, got N={N}, M={M}")
    shape = (N, M if M > 0 else N)
    rows, columns = (lax.broadcasted_iota(INT64, shape, axis) for axis in (0, 1))
    return lax.eq(columns - rows, lax.full_like(rows, k)).astype(dtype)


# A histogram of more elements times bins finds each element's bin by division.
MANY_COMPARISONS = 1 << 20


def _distinct(count: int, limits: tuple[float, ...], width: float, dtype: np.dtype) -> bool:
    """Whether the edges of equal bins differ in a floating data type."""
    edges = (np.arange(count + 1) * width + limits[0]).astype(dtype)
    return bool(jnp.issubdtype(dtype, jnp.floating) and (edges[1:] > edges[:-1]).all())


def _counts_of_many(values: Array, grid: tuple[float, float], count: int, edges: Array) -> Array:
    """int64 ``(count,)``: how many values lie in each of equal bins that start at ``grid[0]``, ``grid[1]`` wide."""
    low, width = grid

    def edge(number: Array) -> Array:
        """What ``edges`` holds, computed: reading it for each element takes longer."""
        return (number.astype(np.dtype(np.float64)) * width + low).astype(values.dtype)

    near = lax.floor((values.astype(np.dtype(np.float64)) - low) / width)
    guess = lax.clamp(0.0, near, float(count - 1)).astype(INT32)
    place = guess - (values < edge(guess)) + (values >= edge(guess + 1))
    inside = (values >= edges[0]) & (values <= edges[-1])
    place = jnp.where(inside, jnp.minimum(place, count - 1), count)
    return jnp.zeros(count, INT64).at[place].add(1, mode="drop")


def _histogram_inputs(attrs: Attrs) -> tuple[str, ...]:
    return ("data", "bins") if attrs.bin_cnt is None else ("data",)


@operator(
    "_histogram",
    aliases=("_npi_histogram",),
    outputs=("output0", "output1"),
    active_inputs=_histogram_inputs,
    dtypes="free",
    grad=zero_grad,
)
def histogram(
    data: Array,
    bins: Array | None = None,
    *,
    bin_cnt: int | None = None,
    range: tuple[float, ...] | None = None,
) -> tuple[Array, Array]:
    """Count the elements that fall into each bin.

    Args:
        data: array of any shape.
        bins: ``(n + 1,)``, the edges of the bins in increasing order; the last edge belongs to the last bin.
        bin_cnt: the number of equal bins, where no edges are given.
        range: with ``bin_cnt``, the first and the last edge.

    Returns:
        ``(n,)`` int64 counts, and the ``(n + 1,)`` edges in the data type of ``data``.
    """
    check(
        (bin_cnt is None) == (range is None),
        f"_histogram: cnt and range should both or neither specified, got bin_cnt={bin_cnt} and "
        f"range={range}",
    )
    values = lax.reshape(data, (data.size,))
    width = 0.0
    if bin_cnt is None or range is None:
        if bins is None or bins.ndim != 1 or bins.size < 2:
            raise OperatorError("_histogram: wanted a vector of 2 edges or more")
        edges = bins.astype(data.dtype)
    else:
        check(bin_cnt > 0, f"_histogram: number of bins must be positive, got {bin_cnt}")
        check(len(range) == 2 and range[0] < range[1], f"_histogram: wanted range=(low, high), got {range}")
        width = (range[1] - range[0]) / bin_cnt
        edges = (lax.iota(np.dtype(np.float64), bin_cnt + 1) * width + range[0]).astype(data.dtype)
    assert edges is not None  # checked above; for the type checker
    count = edges.shape[0] - 1
    if range is not None and values.size * count > MANY_COMPARISONS and _distinct(count, range, width, data.dtype):
        return _counts_of_many(values, (range[0], width), count, edges), edges
    # One comparison with every edge: an element belongs to the bin before the first edge that exceeds it.
    above = lax.ge(lax.expand_dims(values, (1,)), lax.expand_dims(edges[:-1].astype(data.dtype), (0,)))
    place = jnp.sum(above, axis=1, dtype=INT32) - 1
    inside = lax.le(values, lax.broadcast(edges[-1].astype(data.dtype), values.shape))
    place = lax.select(inside, place, lax.full_like(place, -1))
    hits = lax.eq(lax.expand_dims(place, (1,)), lax.broadcasted_iota(INT32, (values.size, count), 1))
    return jnp.sum(hits, axis=0, dtype=INT64), edges
