"""Convolutions whose kernels are bent: every sample of the window has an offset of its own."""

from __future__ import annotations

import math
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._ops.contrib.interpolation import bilinear
from gluonjax._ops.nn.windows import per_axis
from gluonjax._ops.opdef import Attrs, Shape, check, operator

Layout = Literal["NCDHW", "NCHW", "NCW"]


def _inputs(*names: str):
    def rule(attrs: Attrs) -> tuple[str, ...]:
        return names if attrs.no_bias else (*names, "bias")

    return rule


def _shapes(known: dict[str, Shape | None], attrs: Attrs) -> dict[str, Shape]:
    filled: dict[str, Shape] = {"bias": (attrs.num_filter,)}
    data = known.get("data")
    if data is not None and len(data) == 4 and data[1] is not None and attrs.num_group:
        filled["weight"] = (attrs.num_filter, data[1] // attrs.num_group, *attrs.kernel)
    return filled


def _convolve(
    name: str, data: Array, offset: Array, mask: Array | None, weight: Array, bias: Array | None, attrs: Attrs
) -> Array:
    """Sample the image at the bent window's positions, then multiply by the weights."""
    kernel = attrs.kernel
    check(len(kernel) == 2, f"{name}: not implemented for kernel={kernel}; it needs two numbers")
    check(attrs.layout in (None, "NCHW"), f"{name}: Invalid layout {attrs.layout} for images; only NCHW fits")
    check(data.ndim == 4, f"{name}: Input data should be 4D in batch-num_filter-y-x, got {data.shape}")
    check(offset.ndim == 4, f"{name}: Input offset should be 4D in batch-num_filter-y-x, got {offset.shape}")
    stride = per_axis(name, "Stride", attrs.stride, 2, 1)
    dilate = per_axis(name, "Dilate", attrs.dilate, 2, 1)
    pad = per_axis(name, "Pad", attrs.pad, 2, 0)
    batch, channels, height, width = data.shape
    groups, bent, filters = attrs.num_group, attrs.num_deformable_group, attrs.num_filter
    check(groups > 0 and bent > 0, f"{name}: num_group={groups} and num_deformable_group={bent} must be positive")
    check(channels % groups == 0, f"{name}: input num_filter must divide group size: {channels}, {groups}")
    check(channels % bent == 0, f"{name}: input num_filter must divide deformable group size: {channels}, {bent}")
    check(filters % groups == 0, f"{name}: output num_filter must divide group size: {filters}, {groups}")
    points = math.prod(kernel)
    rows, columns = (
        (size + 2 * p - (d * (k - 1) + 1)) // s + 1
        for size, p, d, k, s in zip((height, width), pad, dilate, kernel, stride)
    )
    check(
        offset.shape == (batch, 2 * points * bent, rows, columns),
        f"{name}: offset must be {(batch, 2 * points * bent, rows, columns)} (output height and width must equal "
        f"to offset map's), got {offset.shape}",
    )
    check(
        weight.shape == (filters, channels // groups, *kernel),
        f"{name}: Shape inconsistent, Provided = {list(weight.shape)}, inferred shape="
        f"{(filters, channels // groups, *kernel)}",
    )
    wide = jnp.promote_types(data.dtype, jnp.float32)
    first, second = np.meshgrid(np.arange(kernel[0]) * dilate[0], np.arange(kernel[1]) * dilate[1], indexing="ij")
    base_y = first.reshape(-1, 1, 1) + (np.arange(rows) * stride[0] - pad[0])[:, None]
    base_x = second.reshape(-1, 1, 1) + (np.arange(columns) * stride[1] - pad[1])[None, :]
    moves = offset.astype(wide).reshape(batch, bent, points, 2, rows, columns)
    y = moves[:, :, :, 0] + jnp.asarray(base_y, wide)
    x = moves[:, :, :, 1] + jnp.asarray(base_x, wide)
    if mask is None:
        # Samples beyond the image are 0; those in the last row or column do not fade out.
        inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
        y = jnp.where(y > height - 1, lax.stop_gradient(jnp.minimum(y, height - 1)), y)
        x = jnp.where(x > width - 1, lax.stop_gradient(jnp.minimum(x, width - 1)), x)
    else:
        inside = (y > -1) & (y < height) & (x > -1) & (x < width)
    images = data.astype(wide).reshape(batch, bent, channels // bent, height, width)
    sampled = jax.vmap(jax.vmap(bilinear))(images, y, x)
    factor = inside.astype(wide)
    if mask is not None:
        check(
            mask.shape == (batch, points * bent, rows, columns),
            f"{name}: mask must be {(batch, points * bent, rows, columns)}, got {mask.shape}",
        )
        factor = factor * mask.astype(wide).reshape(batch, bent, points, rows, columns)
    sampled = sampled * factor[:, :, None]
    windows = sampled.reshape(batch, groups, channels // groups * points, rows * columns)
    kernels = weight.astype(wide).reshape(groups, filters // groups, channels // groups * points)
    result = jnp.einsum("gfk,bgkn->bgfn", kernels, windows, precision=lax.Precision.HIGHEST)
    result = result.reshape(batch, filters, rows, columns).astype(data.dtype)
    if bias is None:
        return result
    check(bias.shape == (filters,), f"{name}: bias must be {(filters,)}, got {bias.shape}")
    return result + bias[:, None, None]


@operator("_contrib_DeformableConvolution", active_inputs=_inputs("data", "offset", "weight"), param_shapes=_shapes)
def deformable_convolution(
    data: Array, offset: Array, weight: Array, bias: Array | None = None, *, kernel: tuple[int, ...],
    stride: tuple[int, ...] = (), dilate: tuple[int, ...] = (), pad: tuple[int, ...] = (), num_filter: int,
    num_group: int = 1, num_deformable_group: int = 1, workspace: int = 1024, no_bias: bool = False,
    layout: Layout | None = None,
) -> Array:  # fmt: skip
    """Convolution that reads its window at learned offsets.

    Args:
        data: ``(batch, channels, height, width)``.
        offset: ``(batch, num_deformable_group * kernel elements * 2, rows, columns)``: (y, x) in pixels.
        weight: ``(num_filter, channels / num_group, *kernel)``.
        bias: ``(num_filter,)``.

    Returns:
        ``(batch, num_filter, rows, columns)``.
    """
    attrs = Attrs(
        kernel=kernel, stride=stride, dilate=dilate, pad=pad, num_filter=num_filter, num_group=num_group,
        num_deformable_group=num_deformable_group, layout=layout,
    )  # fmt: skip
    return _convolve("DeformableConvolution", data, offset, None, weight, bias, attrs)


@operator(
    "_contrib_ModulatedDeformableConvolution",
    active_inputs=_inputs("data", "offset", "mask", "weight"),
    param_shapes=_shapes,
)
def modulated_deformable_convolution(
    data: Array, offset: Array, mask: Array, weight: Array, bias: Array | None = None, *, kernel: tuple[int, ...],
    stride: tuple[int, ...] = (), dilate: tuple[int, ...] = (), pad: tuple[int, ...] = (), num_filter: int,
    num_group: int = 1, num_deformable_group: int = 1, workspace: int = 1024, no_bias: bool = False,
    im2col_step: int = 64, layout: Layout | None = None,
) -> Array:  # fmt: skip
    """Deformable convolution whose samples are also scaled.

    Args:
        data: ``(batch, channels, height, width)``.
        offset: ``(batch, num_deformable_group * kernel elements * 2, rows, columns)``: (y, x) in pixels.
        mask: ``(batch, num_deformable_group * kernel elements, rows, columns)``: factors.
        weight: ``(num_filter, channels / num_group, *kernel)``.
        bias: ``(num_filter,)``.

    Returns:
        ``(batch, num_filter, rows, columns)``.
    """
    attrs = Attrs(
        kernel=kernel, stride=stride, dilate=dilate, pad=pad, num_filter=num_filter, num_group=num_group,
        num_deformable_group=num_deformable_group, layout=layout,
    )  # fmt: skip
    return _convolve("ModulatedDeformableConvolution", data, offset, mask, weight, bias, attrs)
