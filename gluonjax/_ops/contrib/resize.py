"""Resizing feature maps: bilinear interpolation and adaptive averaging, as products with small matrices."""

from __future__ import annotations

import functools
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._ops.indexing import gather_axis
from gluonjax._ops.nn.sums import on_cpu
from gluonjax._ops.opdef import Attrs, OperatorError, check, operator

Mode = Literal["like", "odd_scale", "size", "to_even_down", "to_even_up", "to_odd_down", "to_odd_up"]


def apply_rows_and_columns(data: Array, rows: np.ndarray, columns: np.ndarray) -> Array:
    """``rows @ image @ columns.T`` for every image of ``(batch, channels, height, width)``."""
    wide = jnp.promote_types(data.dtype, jnp.float32)
    result = lax.convert_element_type(data, wide)
    for axis, matrix in ((3, columns), (2, rows)):
        if matrix.shape[0] == matrix.shape[1] and (matrix == np.eye(len(matrix))).all():
            continue
        numbers = (((axis,), (1,)), ((), ()))
        result = lax.dot_general(result, jnp.asarray(matrix, wide), numbers, precision=lax.Precision.HIGHEST)
        if axis == 2:
            result = lax.transpose(result, (0, 1, 3, 2))
    return lax.convert_element_type(result, data.dtype)


def bilinear_matrix(size: int, target: int, align_corners: bool) -> np.ndarray:
    """``(target, size)``: which pixels each output pixel mixes. Positions in float32, as MXNet has them."""
    single = np.float32
    if target > 1:
        scale = single(size - 1) / single(target - 1) if align_corners else single(size) / single(target)
    else:
        scale = single(0)
    steps = np.arange(target, dtype=single)
    if align_corners:
        place = steps * scale
    else:
        place = np.maximum((scale.astype(np.float64) * (steps + 0.5) - 0.5).astype(single), 0)
    low = place.astype(np.int64)
    high = np.where(low < size - 1, low + 1, low)
    weight = (place - low.astype(single)).astype(np.float64)
    matrix = np.zeros((target, size))
    np.add.at(matrix, (np.arange(target), low), 1 - weight)
    np.add.at(matrix, (np.arange(target), high), weight)
    return matrix


def _scaled(size: int, scale: float, odd: bool) -> int:
    single = np.float32(scale)
    if odd and size % 2:
        return int(np.float32(size - 1) * single) + 1
    return int(np.float32(size) * single)


_PARITY = {"to_even_down": (0, -1), "to_even_up": (0, 1), "to_odd_down": (1, -1), "to_odd_up": (1, 1)}


def _targets(
    shape: tuple[int, ...], like: Array | None, mode: str, sizes: tuple[int, int],
    scales: tuple[float | None, float | None],
) -> tuple[int, int]:  # fmt: skip
    if mode == "like":
        if like is None:
            raise OperatorError("BilinearResize2D: mode='like' expects 2 inputs, but got 1; give like")
        return like.shape[2], like.shape[3]
    if mode in _PARITY:
        rest, step = _PARITY[mode]
        height, width = (size if size % 2 == rest else size + step for size in shape[2:])
        return height, width
    if mode == "odd_scale" or scales[0] is not None:
        check(
            scales[0] is not None and scales[1] is not None,
            f"BilinearResize2D: mode='{mode}' needs scale_height and scale_width, got {scales}",
        )
        height, width = (_scaled(n, s, mode == "odd_scale") for n, s in zip(shape[2:], scales) if s is not None)
        return height, width
    return sizes


def _inputs(attrs: Attrs) -> tuple[str, ...]:
    return ("data", "like") if attrs.mode == "like" else ("data",)


@operator("_contrib_BilinearResize2D", active_inputs=_inputs)
def bilinear_resize_2d(
    data: Array, like: Array | None = None, *, height: int = 1, width: int = 1, scale_height: float | None = None,
    scale_width: float | None = None, mode: Mode = "size", align_corners: bool = True,
) -> Array:  # fmt: skip
    """Resize images with bilinear interpolation.

    Args:
        data: ``(batch, channels, height, width)``.
        like: with ``mode="like"``, an array with the wanted height and width.
        height: the wanted height, with ``mode="size"``, unless ``scale_height`` is given.
        scale_height: the wanted height in terms of data's; ``scale_width`` goes with it.
        mode: ``size``; ``like``; ``odd_scale`` (scales that keep odd sizes odd); or the nearest even or odd
            size below or above.
        align_corners: corner pixels map to corner pixels.

    Returns:
        ``(batch, channels, new height, new width)``.
    """
    check(data.ndim == 4, f"BilinearResize2D: data must be (batch, channels, height, width), got {data.shape}")
    check(
        jnp.issubdtype(data.dtype, jnp.floating),
        f"BilinearResize2D: This operation only support floating point types, not {data.dtype}",
    )
    check(like is None or like.ndim == 4, "BilinearResize2D: like must have four dimensions")
    targets = _targets(data.shape, like, mode, (height, width), (scale_height, scale_width))
    check(
        min(targets) > 0 or (min(targets) == 0 and 0 in data.shape[2:]),
        f"BilinearResize2D: the new size {targets} must be positive",
    )
    if 0 in (*data.shape[:2], *targets):
        return lax.full((*data.shape[:2], *targets), 0, data.dtype)
    check(0 not in data.shape[2:], f"BilinearResize2D: data {data.shape} has no pixels to interpolate")
    if on_cpu() and 0 < min(targets) and all(n > target for n, target in zip(data.shape[2:], targets)):
        return _shrunk(data, targets, align_corners)
    return _by_products(data, targets, align_corners)


def _by_products(data: Array, targets: tuple[int, int], align_corners: bool) -> Array:
    rows, columns = (bilinear_matrix(n, target, align_corners) for n, target in zip(data.shape[2:], targets))
    return apply_rows_and_columns(data, rows, columns)


@functools.partial(jax.custom_vjp, nondiff_argnums=(1, 2))
def _shrunk(data: Array, targets: tuple[int, int], align_corners: bool) -> Array:
    """Four pixels for each new one: a CPU reads them faster than it multiplies whole lines. The gradient does that."""
    wide = jnp.promote_types(data.dtype, jnp.float32)
    flat = lax.reshape(lax.convert_element_type(data, wide), (*data.shape[:2], data.shape[2] * data.shape[3]))
    rows, columns = (_two_taps(bilinear_matrix(n, t, align_corners)) for n, t in zip(data.shape[2:], targets))
    total = None
    for row, of_row in rows:
        for column, of_column in columns:
            places = (row[:, None] * data.shape[3] + column).astype(np.int32).reshape(-1)
            weights = jnp.asarray(np.multiply.outer(of_row, of_column).reshape(-1), wide)
            read = gather_axis(flat, jnp.asarray(places), 2)
            part = lax.mul(read, lax.broadcast_in_dim(weights, read.shape, (2,)))
            total = part if total is None else lax.add(total, part)
    assert total is not None
    return lax.convert_element_type(lax.reshape(total, (*data.shape[:2], *targets)), data.dtype)


def _two_taps(matrix: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """The two columns, and their weights, that each row of a bilinear matrix mixes."""
    first = (matrix != 0).argmax(axis=1)
    second = np.minimum(first + 1, matrix.shape[1] - 1)
    number = np.arange(len(matrix))
    return [(first, matrix[number, first]), (second, np.where(second > first, matrix[number, second], 0))]


def _shrunk_forward(data: Array, targets: tuple[int, int], align_corners: bool) -> tuple[Array, Array]:
    return _shrunk(data, targets, align_corners), data


def _shrunk_backward(targets: tuple[int, int], align_corners: bool, data: Array, head: Array) -> tuple[Array]:
    return jax.linear_transpose(lambda image: _by_products(image, targets, align_corners), data)(head)


_shrunk.defvjp(_shrunk_forward, _shrunk_backward)


def averaging_matrix(size: int, target: int) -> np.ndarray:
    """``(target, size)``: the mean over each of ``target`` nearly equal, perhaps overlapping, stretches."""
    number = np.arange(target)
    start, end = number * size // target, -(-(number + 1) * size // target)
    place = np.arange(size)
    covered = (place >= start[:, None]) & (place < end[:, None])
    return covered / (end - start)[:, None]


@operator("_contrib_AdaptiveAvgPooling2D")
def adaptive_avg_pooling_2d(data: Array, *, output_size: tuple[int, ...] = ()) -> Array:
    """Average images down (or up) to a given size.

    Args:
        data: ``(batch, channels, height, width)``.
        output_size: ``(height, width)``, one number for both, or nothing for 1.

    Returns:
        ``(batch, channels, *output_size)``.
    """
    name = "AdaptiveAvgPooling2D"
    check(data.ndim == 4, f"{name}: data must be (batch, channels, height, width), got {data.shape}")
    check(
        jnp.issubdtype(data.dtype, jnp.floating),
        f"{name}: This operation only support floating point types, not {data.dtype}",
    )
    check(len(output_size) <= 2, f"{name}: output_size must have at most two numbers, got {output_size}")
    rows, columns = (output_size * 2 if len(output_size) == 1 else output_size) or (1, 1)
    check(min(rows, columns) > 0, f"{name}: output_size must be positive, got {output_size}")
    return apply_rows_and_columns(
        data, averaging_matrix(data.shape[2], rows), averaging_matrix(data.shape[3], columns)
    )
