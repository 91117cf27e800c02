"""Pooling regions of interest by interpolation: ROIAlign, its rotated form, position-sensitive pooling."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._ops.contrib import _part_sampling
from gluonjax._ops.contrib._roi_sampling import Grid, pool
from gluonjax._ops.contrib.interpolation import bilinear, over_regions, round_half_away, single, triangle_weights
from gluonjax._ops.nn.spatial import bin_edges, check_regions, span_mask
from gluonjax._ops.nn.sums import on_cpu
from gluonjax._ops.opdef import Attrs, check, operator
from gluonjax._ops.rules import check_floating

# Samples are at least half a pixel apart when their number is chosen by the operator, so that at most this many
# lie within one pixel of a pixel.
_NEAR = 7
_FEW_IMAGES = 8


def _pair(name: str, size: tuple[int, ...]) -> tuple[int, int]:
    check(len(size) == 2 and min(size) > 0, f"{name}: pooled_size={size} needs two positive numbers")
    return size[0], size[1]


@operator("_contrib_ROIAlign")
def roi_align(
    data: Array, rois: Array, *, pooled_size: tuple[int, ...], spatial_scale: float, sample_ratio: int = -1,
    position_sensitive: bool = False, aligned: bool = False,
) -> Array:  # fmt: skip
    """Cut each region into a grid of bins and average interpolated samples of every bin.

    Args:
        data: ``(batch, channels, height, width)``.
        rois: ``(regions, 5)``: number of the image (negative: the result is 0), left, top, right,
            bottom.
        pooled_size: rows and columns of bins.
        spatial_scale: data's size over the size that the regions refer to.
        sample_ratio: samples along each side of a bin; -1 for about one a pixel.
        position_sensitive: each bin reads channels of its own.
        aligned: pixels' centers are half a pixel further; small regions are not enlarged to one pixel.

    Returns:
        ``(regions, channels, rows, columns)``.
    """
    check_regions("ROIAlign", data, rois)
    rows, columns = _pair("ROIAlign", pooled_size)
    if position_sensitive:
        channels, bins = data.shape[1], rows * columns
        check(
            channels % bins == 0,
            f"ROIAlign: with position_sensitive, {channels} channels must be a multiple of {bins} bins",
        )
    if data.size == 0 or rois.shape[0] == 0:
        return jnp.zeros((rois.shape[0], data.shape[1] // (rows * columns if position_sensitive else 1), rows, columns),
                         data.dtype)  # fmt: skip
    wide = jnp.promote_types(data.dtype, jnp.float32)
    rois, spatial_scale = lax.stop_gradient(rois).astype(wide), single(spatial_scale)
    images = data.astype(wide)

    if position_sensitive:
        result = _by_products(images, rois, (rows, columns), spatial_scale, sample_ratio, True, aligned)
        return result.astype(data.dtype)
    grid = Grid(images.shape, rows, columns, spatial_scale, sample_ratio, aligned)
    result = lax.platform_dependent(
        images, rois, cpu=lambda *arrays: pool(grid, *arrays),
        default=lambda images, rois: _by_products(
            images, rois, (rows, columns), spatial_scale, sample_ratio, False, aligned
        ),
    )  # fmt: skip
    return result.astype(data.dtype)


def _by_products(
    images: Array, rois: Array, size: tuple[int, int], spatial_scale: float, sample_ratio: int,
    position_sensitive: bool, aligned: bool,
) -> Array:  # fmt: skip
    """ROIAlign as products of the images with weights of rows and columns."""
    batch, channels, height, width = images.shape
    rows, columns = size
    bins, wide = rows * columns, images.dtype

    def axis_weights(low: Array, high: Array, count: int, size: int) -> Array:
        shift = 0.5 if aligned else 0.0
        start = low * spatial_scale - shift
        length = high * spatial_scale - shift - start
        length = length if aligned else jnp.maximum(length, 1)
        step = length / count
        if sample_ratio > 0:
            return triangle_weights(start, step, sample_ratio, count, size, 0)
        return triangle_weights(start, step, lax.ceil(step), count, size, _NEAR)

    # Few images: one product of all regions' row weights with all rows of all images, the channels together.
    together = batch <= _FEW_IMAGES and not position_sensitive
    lines = images.transpose(0, 2, 3, 1).reshape(batch * height, width * channels) if together else images
    exact = lax.Precision.HIGHEST

    def of_region(roi: Array) -> Array:
        box = roi[1:]
        number = roi[0].astype(jnp.int32)
        of_rows = axis_weights(box[1], box[3], rows, height)
        of_columns = axis_weights(box[0], box[2], columns, width)
        if together:
            own = (jnp.arange(batch, dtype=jnp.int32) == number).astype(wide)
            spread = (own[:, None] * of_rows[:, None, :]).reshape(rows, batch * height)
            narrow = jnp.dot(spread, lines, precision=exact).reshape(rows, 1, width, channels)
            return (narrow * of_columns[None, :, :, None]).sum(axis=2).transpose(2, 0, 1)
        image = lax.dynamic_index_in_dim(images, jnp.maximum(number, 0), keepdims=False)
        if position_sensitive:
            parts = image.reshape(channels // bins, rows, columns, height, width)
            result = jnp.einsum("cpqhw,ph,qw->cpq", parts, of_rows, of_columns, precision=exact)
        else:
            narrow = jnp.einsum("chw,qw->chq", image, of_columns, precision=exact)
            result = jnp.einsum("chq,ph->cpq", narrow, of_rows, precision=exact)
        return jnp.where(number < 0, jnp.zeros((), wide), result)

    work = channels * rows * width if together else channels * height * width
    return over_regions(of_region, (rois,), work)


@operator("_contrib_RROIAlign", dtypes="same")
def rroi_align(
    data: Array, rois: Array, *, pooled_size: tuple[int, ...], spatial_scale: float, sampling_ratio: int = -1
) -> Array:
    """``ROIAlign`` of rotated regions.

    Args:
        data: ``(batch, channels, height, width)``.
        rois: ``(regions, 6)``: number of the image, x and y of the center, width, height, angle in degrees.
        pooled_size: rows and columns of bins.
        spatial_scale: data's size over the size that the regions refer to.
        sampling_ratio: samples along each side of a bin; -1 for about one a pixel.

    Returns:
        ``(regions, channels, rows, columns)``.
    """
    check_regions("RROIAlign", data, rois, 6)
    rows, columns = _pair("RROIAlign", pooled_size)
    channels, height, width = data.shape[1:]
    if data.size == 0 or rois.shape[0] == 0:
        return jnp.zeros((rois.shape[0], channels, rows, columns), data.dtype)
    check_floating("RROIAlign", data)
    rois, spatial_scale = lax.stop_gradient(rois), single(spatial_scale)
    # Rotated samples have no closed form: regions up to the image's diagonal are sampled at every pixel.
    longest = int(np.ceil(np.hypot(height, width) / min(rows, columns))) + 1
    limit = sampling_ratio if sampling_ratio > 0 else longest

    def pool(roi: Array) -> Array:
        center_x, center_y = roi[1] * spatial_scale, roi[2] * spatial_scale
        wide, high = jnp.maximum(roi[3] * spatial_scale, 1), jnp.maximum(roi[4] * spatial_scale, 1)
        angle = roi[5] * (np.pi / 180)
        cos, sin = jnp.cos(angle), jnp.sin(angle)

        def along(length: Array, count: int) -> tuple[Array, Array]:
            step = length / count
            samples = jnp.minimum(lax.ceil(step), limit) if sampling_ratio <= 0 else jnp.full_like(step, limit)
            index = jnp.arange(limit, dtype=roi.dtype)
            start = jnp.arange(count, dtype=roi.dtype)[:, None] * step - length / 2
            return start + (index + 0.5) * step / samples, jnp.where(index < samples, 1 / samples, 0)

        yy, weight_y = along(high, rows)
        xx, weight_x = along(wide, columns)
        yy, xx = yy[:, None, :, None], xx[None, :, None, :]
        x = xx * cos + yy * sin + center_x
        y = yy * cos - xx * sin + center_y
        inside = (y >= -1) & (y <= height) & (x >= -1) & (x <= width)
        image = lax.dynamic_index_in_dim(data, roi[0].astype(jnp.int32), keepdims=False)
        values = bilinear(image, jnp.clip(y, 0, height - 1), jnp.clip(x, 0, width - 1), "edge")
        weight = jnp.where(inside, weight_y[:, None] * weight_x, 0)
        return (values * weight).sum(axis=(3, 4)).astype(data.dtype)

    return over_regions(pool, (rois,), channels * rows * columns * limit * limit)


def _groups(count: int, bins: int, groups: int) -> np.ndarray:
    """The group of channels that each bin along one axis reads."""
    return np.clip(np.arange(count) * groups // bins, 0, groups - 1)


@operator("_contrib_PSROIPooling")
def psroi_pooling(
    data: Array, rois: Array, *, spatial_scale: float, output_dim: int, pooled_size: int, group_size: int = 0
) -> Array:
    """Average the pixels of each bin of a region, each bin from channels of its own.

    Args:
        data: ``(batch, output_dim * group_size ** 2, height, width)``.
        rois: ``(regions, 5)``: number of the image, left, top, right, bottom (edges included).
        spatial_scale: data's size over the size that the regions refer to.
        pooled_size: rows (and columns) of bins.
        group_size: groups of channels along each axis; 0 for ``pooled_size``.

    Returns:
        ``(regions, output_dim, pooled_size, pooled_size)``.
    """
    check_regions("PSROIPooling", data, rois)
    groups = group_size or pooled_size
    check(
        pooled_size > 0 and groups > 0,
        f"PSROIPooling: pooled_size={pooled_size} and group_size={group_size} must be positive",
    )
    channels, height, width = data.shape[1:]
    check(
        channels == output_dim * groups * groups,
        f"PSROIPooling: data has {channels} channels, wanted output_dim * group_size ** 2 = "
        f"{output_dim * groups * groups}",
    )
    batch = data.shape[0]
    rois, spatial_scale = lax.stop_gradient(rois), single(spatial_scale)
    group = _groups(pooled_size, pooled_size, groups)
    parts = data.reshape(batch, output_dim, groups, groups, height, width)
    if groups != pooled_size:
        parts = parts[:, :, group][:, :, :, group]
    # One product for each row of bins, over the lines of all images at once.
    lines = parts.transpose(2, 0, 4, 1, 3, 5).reshape(pooled_size, batch * height, output_dim * pooled_size * width)

    def pool(roi: Array) -> Array:
        left, top = round_half_away(roi[1:3]) * spatial_scale
        right, bottom = (round_half_away(roi[3:5]) + 1) * spatial_scale
        step_y = jnp.maximum(bottom - top, 0.1) / pooled_size
        step_x = jnp.maximum(right - left, 0.1) / pooled_size
        zero = jnp.zeros((), roi.dtype)
        low_y, high_y = bin_edges(top, step_y, pooled_size, zero, height)
        low_x, high_x = bin_edges(left, step_x, pooled_size, zero, width)
        of_rows = span_mask(low_y, high_y, height).astype(data.dtype)
        of_columns = span_mask(low_x, high_x, width).astype(data.dtype)
        own = (jnp.arange(batch, dtype=jnp.int32) == roi[0].astype(jnp.int32)).astype(data.dtype)
        spread = (own[:, None] * of_rows[:, None, :]).reshape(pooled_size, batch * height)
        narrow = jnp.einsum("pl,plx->px", spread, lines, precision=lax.Precision.HIGHEST)
        narrow = narrow.reshape(pooled_size, output_dim, pooled_size, width)
        total = (narrow * of_columns).sum(axis=3).transpose(1, 0, 2)
        area = (of_rows.sum(axis=1)[:, None] * of_columns.sum(axis=1)).astype(data.dtype)
        return jnp.where(area > 0, total / jnp.maximum(area, 1), 0).astype(data.dtype)

    return over_regions(pool, (rois,), output_dim * pooled_size * pooled_size * width)


def _psroi_inputs(attrs: Attrs) -> tuple[str, ...]:
    return ("data", "rois") if attrs.no_trans else ("data", "rois", "trans")


@operator("_contrib_DeformablePSROIPooling", active_inputs=_psroi_inputs)
def deformable_psroi_pooling(
    data: Array, rois: Array, trans: Array | None = None, *, spatial_scale: float, output_dim: int, group_size: int,
    pooled_size: int, part_size: int = 0, sample_per_part: int = 1, trans_std: float = 0, no_trans: bool = False,
) -> Array:  # fmt: skip
    """``PSROIPooling`` whose bins are moved by learned offsets and sampled by interpolation.

    Args:
        data: ``(batch, output_dim * group_size ** 2, height, width)``.
        rois: ``(regions, 5)``: number of the image, left, top, right, bottom.
        trans: ``(regions, 2 * classes, part_size, part_size)``: offsets (x, y) relative to the region's size.
        part_size: rows of offsets; 0 for ``pooled_size``.
        sample_per_part: samples along each side of a bin.
        trans_std: offsets are multiplied by this.
        no_trans: no offsets.

    Returns:
        ``(regions, output_dim, pooled_size, pooled_size)``.
    """
    name = "DeformablePSROIPooling"
    check_regions(name, data, rois)
    channels, height, width = data.shape[1:]
    check(
        channels == output_dim * group_size * group_size,
        f"{name}: data has {channels} channels, wanted output_dim * group_size ** 2 = "
        f"{output_dim * group_size * group_size}",
    )
    bins, parts = pooled_size, part_size or pooled_size
    check(data.size > 0, f"{name}: data {data.shape} has no pixels")
    check(
        min(bins, parts, group_size) > 0,
        f"{name}: pooled_size={pooled_size}, part_size={part_size} and group_size={group_size} must be positive",
    )
    if no_trans:
        trans = jnp.zeros((rois.shape[0], 2, parts, parts), data.dtype)
    else:
        check(trans is not None and trans.ndim == 4, f"{name}: trans should be a 4D tensor")
    assert trans is not None
    check(
        trans.shape[1] >= 2 and trans.shape == (rois.shape[0], trans.shape[1] // 2 * 2, parts, parts),
        f"{name}: trans must be (regions, 2 * classes, part_size, part_size) for {rois.shape[0]} regions and "
        f"part_size {parts}, got {trans.shape}",
    )
    classes = trans.shape[1] // 2
    class_of = np.minimum(np.arange(output_dim) // max(output_dim // classes, 1), classes - 1)
    part = np.floor(np.arange(bins) / bins * parts).astype(np.int64)
    group = _groups(bins, bins, group_size)
    channel = (np.arange(output_dim)[:, None, None] * group_size + group[:, None]) * group_size + group
    rois, spatial_scale, trans_std = lax.stop_gradient(rois), single(spatial_scale), single(trans_std)
    dtype = data.dtype
    if dtype.itemsize == 2:  # rounded, positions can fall into the pixel beside theirs
        data, rois, trans = (array.astype(jnp.float32) for array in (data, rois, trans))

    def positions(roi: Array, moves: Array) -> tuple[Array, Array]:
        left, top = round_half_away(roi[1:3]) * spatial_scale - 0.5
        right, bottom = (round_half_away(roi[3:5]) + 1) * spatial_scale - 0.5
        wide, high = jnp.maximum(right - left, 0.1), jnp.maximum(bottom - top, 0.1)
        moved = moves.reshape(classes, 2, parts, parts)[:, :, part][:, :, :, part] * trans_std
        number, sample = jnp.arange(bins, dtype=roi.dtype), jnp.arange(sample_per_part, dtype=roi.dtype)
        x = number * (wide / bins) + left + moved[:, 0] * wide
        y = number[:, None] * (high / bins) + top + moved[:, 1] * high
        x = x[..., None] + sample * (wide / bins / sample_per_part)
        return x, y[..., None] + sample * (high / bins / sample_per_part)

    if on_cpu() and _part_sampling.suits(data.shape, output_dim, classes, sample_per_part):
        return _part_sampling.pool_parts(data, rois, trans, positions, classes, group_size, group).astype(dtype)

    def pool(roi: Array, moves: Array) -> Array:
        columns, rows = positions(roi, moves)
        x, y = jnp.broadcast_arrays(columns[class_of][..., None, :], rows[class_of][..., None])
        inside = (x >= -0.5) & (x <= width - 0.5) & (y >= -0.5) & (y <= height - 0.5)
        x, y = _part_sampling.cut(x, width - 1), _part_sampling.cut(y, height - 1)
        image = lax.dynamic_index_in_dim(data, roi[0].astype(jnp.int32), keepdims=False)
        values = _own_channel(image, channel, y, x)
        count = inside.sum(axis=(3, 4))
        total = jnp.where(inside, values, 0).sum(axis=(3, 4))
        return jnp.where(count > 0, total / jnp.maximum(count, 1).astype(data.dtype), 0).astype(data.dtype)

    work = output_dim * bins * bins * sample_per_part**2 * 4
    return over_regions(pool, (rois, trans), work + channels * height * width // 4).astype(dtype)


def _own_channel(image: Array, channel: np.ndarray, y: Array, x: Array) -> Array:
    """Each bin ``(c, p, q)`` of ``(c, p, q, samples...)`` positions inside the image, from its own channel.

    A position on a pixel has that pixel on both sides, and so no slope, as in MXNet.
    """
    height, width = image.shape[1:]
    y_fixed, x_fixed = lax.stop_gradient(y), lax.stop_gradient(x)
    top, left = lax.floor(y_fixed), lax.floor(x_fixed)
    down, right = y - top, x - left
    base = jnp.asarray(channel, jnp.int32)[..., None, None] * (height * width)
    flat = image.reshape(-1)
    total = jnp.zeros(y.shape, image.dtype)
    for row, weight_y in ((top, 1 - down), (lax.ceil(y_fixed), down)):
        for column, weight_x in ((left, 1 - right), (lax.ceil(x_fixed), right)):
            row, column = row.astype(jnp.int32), column.astype(jnp.int32)
            total += jnp.take(flat, base + row * width + column, mode="clip") * weight_y * weight_x
    return total
