"""Operators on positions in images: regions of interest, sampling grids, correlation of two images."""

from __future__ import annotations

import functools
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._ops.contrib.interpolation import bilinear, grid_axis, round_half_away, single
from gluonjax._ops.nn.windows import offsets, pad_axes, strided_slice
from gluonjax._ops.opdef import Attrs, Shape, check, operator
from gluonjax._ops.rules import check_floating


def check_regions(name: str, data: Array, rois: Array, columns: int = 5) -> None:
    """Complain unless ``data`` is a batch of images and ``rois`` a list of regions."""
    check(data.ndim == 4, f"{name}: data should be a 4D tensor, got {data.shape}")
    check(
        rois.ndim == 2 and rois.shape[1] == columns,
        f"{name}: bbox should be a 2D tensor of shape [batch, {columns}], got {rois.shape}",
    )


def bin_edges(start: Array, step: Array, bins: int, offset: Array, size: int) -> tuple[Array, Array]:
    """First and one-past-last pixels of each bin along one axis, cut off at the image."""
    number = jnp.arange(bins, dtype=step.dtype)
    low = lax.floor(number * step + start) + offset
    high = lax.ceil((number + 1) * step + start) + offset
    return jnp.clip(low, 0, size).astype(jnp.int32), jnp.clip(high, 0, size).astype(jnp.int32)


def span_mask(low: Array, high: Array, size: int) -> Array:
    """``(bins, size)``: which pixels each bin covers."""
    place = jnp.arange(size, dtype=jnp.int32)
    return (place >= low[:, None]) & (place < high[:, None])


@operator("ROIPooling", aliases=("_npx_roi_pooling",))
def roi_pooling(data: Array, rois: Array, *, pooled_size: tuple[int, ...], spatial_scale: float) -> Array:
    """Cut each region into a grid of bins and take the maximum of every bin.

    Args:
        data: ``(batch, channels, height, width)``.
        rois: ``(regions, 5)``: number of the image, left, top, right, bottom (edges included).
        pooled_size: how many bins a region has, ``(rows, columns)``.
        spatial_scale: data's size over the size that the regions refer to.

    Returns:
        ``(regions, channels, rows, columns)``; 0 for empty bins and for images that do not exist. The first
        of equal maxima receives the gradient.
    """
    check_regions("ROIPooling", data, rois)
    check(
        len(pooled_size) == 2 and min(pooled_size) > 0,
        f"ROIPooling: pooled_size={pooled_size} needs two positive numbers",
    )
    if data.size == 0 or rois.size == 0:
        return jnp.zeros((rois.shape[0], data.shape[1], *pooled_size), data.dtype)
    check_floating("ROIPooling", data)
    return _pool_regions(data, lax.stop_gradient(rois), pooled_size, single(spatial_scale))


@functools.partial(jax.custom_vjp, nondiff_argnums=(2, 3))
def _pool_regions(data: Array, rois: Array, bins: tuple[int, ...], scale: float) -> Array:
    return _find_maxima(data, rois, bins, scale, False)[0]


def _pool_regions_forward(data: Array, rois: Array, bins: tuple[int, ...], scale: float) -> tuple[Array, Any]:
    best, place = _find_maxima(data, rois, bins, scale, True)
    return best, (place, data, rois)


def _pool_regions_backward(bins: tuple[int, ...], scale: float, saved: Any, head: Array) -> tuple[Array, Array]:
    place, data, rois = saved
    flat = jnp.zeros(data.size, data.dtype).at[jnp.where(place < 0, data.size, place)].add(head, mode="drop")
    return flat.reshape(data.shape), jnp.zeros_like(rois)


_pool_regions.defvjp(_pool_regions_forward, _pool_regions_backward)


def _find_maxima(
    data: Array, rois: Array, bins: tuple[int, ...], scale: float, with_place: bool
) -> tuple[Array, Array | None]:
    """Maxima of the bins ``(regions, channels, rows, columns)`` and where they are in flat data (-1: nowhere)."""
    batch, channels, height, width = data.shape
    rows, columns = bins
    lowest = jnp.asarray(-float(jnp.finfo(jnp.float32).max), data.dtype)
    pixels = jnp.moveaxis(data, 1, 3).reshape(-1, channels)
    channel = jnp.arange(channels, dtype=jnp.int32)

    def pool(roi: Array) -> tuple[Array, Array]:
        left, top, right, bottom = round_half_away(roi[1:] * scale)
        number = roi[0].astype(jnp.int32)
        image = jnp.clip(number, 0, batch - 1)
        zero = jnp.zeros((), roi.dtype)
        low_y, high_y = bin_edges(zero, jnp.maximum(bottom - top + 1, 1) / rows, rows, top, height)
        low_x, high_x = bin_edges(zero, jnp.maximum(right - left + 1, 1) / columns, columns, left, width)
        tallest, widest = jnp.max(high_y - low_y), jnp.max(high_x - low_x)

        def look(step: Array, found: tuple[Array, Array]) -> tuple[Array, Array]:
            """One more pixel of every bin, line by line, so that the first of equal maxima stays."""
            best, place = found
            y, x = low_y[:, None] + step // widest, low_x[None, :] + step % widest
            at = y * width + x
            values = jnp.take(pixels, at + image * (height * width), axis=0, mode="clip")
            larger = ((y < high_y[:, None]) & (x < high_x[None, :]))[:, :, None] & (values > best)
            if with_place:
                place = lax.select(larger, jnp.broadcast_to(at[:, :, None], best.shape), place)
            return lax.select(larger, values, best), place

        shape = (rows, columns, channels)
        start = jnp.full(shape, lowest, data.dtype), jnp.zeros(shape if with_place else (), jnp.int32)
        best, place = lax.fori_loop(0, jnp.maximum(tallest * widest, 0), look, start)
        empty = ((high_y <= low_y)[:, None] | (high_x <= low_x) | (number < 0) | (number >= batch))[:, :, None]
        result = jnp.where(empty, jnp.zeros((), data.dtype), best)
        if not with_place:
            return result, place
        return result, jnp.where(empty, -1, (image * channels + channel) * (height * width) + place)

    # A CPU is best at one region after the other, each with the steps that it needs; other devices at all together.
    best, place = lax.platform_dependent(
        rois, cpu=lambda all_rois: lax.map(pool, all_rois), default=lambda all_rois: jax.vmap(pool)(all_rois)
    )
    best = jnp.moveaxis(best, 3, 1)
    return best, jnp.moveaxis(place, 3, 1) if with_place else None


@operator("BilinearSampler")
def bilinear_sampler(data: Array, grid: Array, *, cudnn_off: bool | None = None) -> Array:
    """Read images at the positions of a grid, interpolating between pixels.

    Args:
        data: ``(batch, channels, height, width)``.
        grid: ``(batch, 2, rows, columns)``: x and y of every output pixel, from -1 (first pixel) to 1 (last).

    Returns:
        ``(batch, channels, rows, columns)``; pixels beyond the image are 0.
    """
    check(data.ndim == 4, f"BilinearSampler: input data should be 4D in batch-num_filter-y-x, got {data.shape}")
    check(
        grid.ndim == 4 and grid.shape[1] == 2 and grid.shape[0] == data.shape[0],
        f"BilinearSampler: input grid should be 4D in batch-2-y-x with the batch size of data {data.shape}, "
        f"got {grid.shape}",
    )
    return _sample(data, grid)


def _sample(data: Array, grid: Array) -> Array:
    height, width = data.shape[2:]
    if height * width == 0:
        return jnp.zeros((*data.shape[:2], *grid.shape[2:]), data.dtype)
    wide = jnp.promote_types(data.dtype, jnp.float32)
    moved = lax.add(lax.convert_element_type(grid, wide), lax.full(grid.shape, 1, wide))
    x, y = (
        lax.mul(at, lax.full_like(at, (size - 1) / 2))
        for at, size in ((lax.index_in_dim(moved, axis, 1, False), (width, height)[axis]) for axis in (0, 1))
    )
    return jax.vmap(bilinear)(data.astype(wide), y, x).astype(data.dtype)


def affine_grid(theta: Array, shape: tuple[int, ...]) -> Array:
    """Positions (x, y) of an output of that shape under the affine maps ``(batch, 6)``."""
    rows, columns = shape
    x, y = np.meshgrid(grid_axis(columns), grid_axis(rows))
    points = np.stack([x.reshape(-1), y.reshape(-1), np.ones(rows * columns)]).astype(theta.dtype)
    maps = lax.reshape(theta, (theta.shape[0], 2, 3))
    moved = lax.dot_general(maps, points, (((2,), (0,)), ((), ())), precision=lax.Precision.HIGHEST)
    return lax.reshape(moved, (theta.shape[0], 2, rows, columns))


def _check_target(name: str, shape: tuple[int, ...]) -> None:
    # 1.9.1 does not look at what follows.
    check(
        len(shape) >= 2 and min(shape[:2]) > 0,
        f"{name}: incorrect target_shape: {shape}, wanted two positive numbers (rows, columns)",
    )


@operator("GridGenerator")
def grid_generator(
    data: Array, *, transform_type: Literal["affine", "warp"], target_shape: tuple[int, ...] = (0, 0)
) -> Array:
    """Make a sampling grid for ``BilinearSampler``.

    Args:
        data: affine maps ``(batch, 6)``, or for ``warp`` an optical flow ``(batch, 2, height, width)`` in pixels.
        target_shape: rows and columns of the grid (affine only).

    Returns:
        ``(batch, 2, rows, columns)``, positions from -1 to 1.
    """
    if transform_type == "affine":
        check(
            data.ndim == 2 and data.shape[1] == 6,
            f"GridGenerator: affine matrix should be 2D in batch-6, got {data.shape}",
        )
        _check_target("GridGenerator", target_shape)
        return affine_grid(data, target_shape[:2])
    check(
        data.ndim == 4 and data.shape[1] == 2,
        f"GridGenerator: optical flow should be 4D in batch-2-y-x, got {data.shape}",
    )
    height, width = data.shape[2:]
    x = jnp.arange(width, dtype=data.dtype)[None, :] + jnp.zeros((height, 1), data.dtype)
    y = jnp.arange(height, dtype=data.dtype)[:, None] + jnp.zeros((1, width), data.dtype)
    half = jnp.asarray([(width - 1) / 2, (height - 1) / 2], data.dtype)[:, None, None]
    return (data + jnp.stack([x, y])) / half - 1


@operator("SpatialTransformer")
def spatial_transformer(
    data: Array, loc: Array, *, target_shape: tuple[int, ...] = (0, 0), transform_type: Literal["affine"],
    sampler_type: Literal["bilinear"], cudnn_off: bool | None = None,
) -> Array:  # fmt: skip
    """Apply an affine map to each image of a batch.

    Args:
        data: ``(batch, channels, height, width)``.
        loc: the maps ``(batch, 6)``, from output positions to input positions.
        target_shape: rows and columns of the output.

    Returns:
        ``(batch, channels, rows, columns)``.
    """
    check(data.ndim == 4, f"SpatialTransformer: input data should be 4D in batch-num_filter-y-x, got {data.shape}")
    check(
        loc.ndim == 2 and loc.shape[1] == 6,
        f"SpatialTransformer: incorrect locolisation network shape[1], should be 6: got {loc.shape}",
    )
    _check_target("SpatialTransformer", target_shape)
    # Rounded to half precision, positions can fall into the pixel beside theirs.
    wide = loc.astype(jnp.promote_types(loc.dtype, jnp.float32))
    return _sample(data, affine_grid(wide, target_shape[:2]))


def _correlation_inputs(known: dict[str, Shape | None], attrs: Attrs) -> dict[str, Shape]:
    shape = known.get("data1") or known.get("data2")
    return {} if shape is None else {"data1": shape, "data2": shape}


@operator("Correlation", param_shapes=_correlation_inputs)
def correlation(
    data1: Array, data2: Array, *, kernel_size: int = 1, max_displacement: int = 1, stride1: int = 1,
    stride2: int = 1, pad_size: int = 0, is_multiply: bool = True,
) -> Array:  # fmt: skip
    """Compare patches of one image with displaced patches of another.

    Args:
        data1: ``(batch, channels, height, width)``.
        data2: the same shape.
        kernel_size: the size of a patch, odd.
        max_displacement: how far patches are displaced, in steps of ``stride2``.
        stride1: the distance of patches in data1.
        is_multiply: products; else absolute differences.

    Returns:
        ``(batch, displacements, rows, columns)``: means over the patch and the channels.
    """
    name = "Correlation"
    check(data1.ndim == 4 and data2.ndim == 4, f"{name}: data should be a 4D tensor, got {data1.shape}, {data2.shape}")
    check(data1.shape == data2.shape, f"{name}: data1 {data1.shape} and data2 {data2.shape} must have one shape")
    check(
        kernel_size % 2 == 1 and kernel_size > 0,
        f"{name}: kernel size should be odd number, and positive, got {kernel_size}",
    )
    check(
        min(stride1, stride2) > 0 and max_displacement >= 0,
        f"{name}: strides must be positive and max_displacement not negative, got stride1={stride1}, "
        f"stride2={stride2}, max_displacement={max_displacement}",
    )
    border = max_displacement + (kernel_size - 1) // 2
    rows, columns = (-(-(size + 2 * pad_size - 2 * border) // stride1) for size in data1.shape[2:])
    check(
        min(rows, columns) >= 1,
        f"{name}: Correlation cannot be done with current settings. Neighborhood and kernel don't fit in blob "
        f"{data1.shape}",
    )
    first, second = (pad_axes(d, (2, 3), 0.0, (pad_size,) * 2, (pad_size,) * 2, (0, 0)) for d in (data1, data2))
    compare = lax.mul if is_multiply else _distance
    radius = max_displacement // stride2
    shifts = [step * stride2 for step in range(-radius, radius + 1)]

    # Pixels are compared once for each displacement; then patches are summed, for all displacements together.
    step = stride1 if kernel_size == 1 else 1
    size = [(count - 1) * (stride1 // step) + kernel_size for count in (rows, columns)]

    def area(data: Array, y: int, x: int) -> Array:
        return strided_slice(data, (2, 3), (max_displacement + y, max_displacement + x), (step, step), size)

    middle = area(first, 0, 0)
    maps = [
        lax.reduce_sum(compare(middle, area(second, down, right)), axes=(1,)) for down in shifts for right in shifts
    ]
    joined = lax.concatenate([lax.expand_dims(one, (1,)) for one in maps], 1)
    if kernel_size > 1:
        parts = [
            strided_slice(joined, (2, 3), start, (stride1, stride1), (rows, columns))
            for start in offsets((kernel_size, kernel_size))
        ]
        joined = functools.reduce(lax.add, parts)
    return lax.div(joined, lax.full_like(joined, kernel_size * kernel_size * data1.shape[1]))


def _distance(left: Array, right: Array) -> Array:
    """``|left - right|`` whose slope at 0 is that of ``left > right``."""
    return lax.select(lax.ge(left, right), lax.sub(left, right), lax.sub(right, left))
