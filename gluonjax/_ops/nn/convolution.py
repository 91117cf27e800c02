"""Convolution and its transpose, for one to three spatial axes in any layout."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Literal, cast

import jax
import jax.numpy as jnp
from jax import Array, lax

from gluonjax._base.errors import OperatorError
from gluonjax._ops.nn import few_channels, grouped, phases, shrinking, tiles
from gluonjax._ops.nn.pointwise import pointwise
from gluonjax._ops.nn.sums import on_cpu
from gluonjax._ops.nn.volumes import by_planes
from gluonjax._ops.nn.windows import depthwise, pad_axes, per_axis, spatial_axes
from gluonjax._ops.opdef import Attrs, Shape, check, operator

Layout = Literal["NCDHW", "NCHW", "NCW", "NDHWC", "NHWC", "NWC"] | None
CudnnTune = Literal["fastest", "limited_workspace", "off"] | None
MOST_SEPARATE_GROUPS = 128

def _weighted_inputs(attrs: Attrs) -> tuple[str, ...]:
    return ("data", "weight") if attrs.no_bias else ("data", "weight", "bias")


def _channels_last(attrs: Attrs) -> bool:
    return attrs.layout is not None and attrs.layout.endswith("C")


def _divided(channels: int | None, groups: int) -> int | None:
    return None if channels is None else channels // groups


def _convolution_shapes(known: dict[str, Shape | None], attrs: Attrs) -> dict[str, Shape]:
    shapes: dict[str, Shape] = {"bias": (attrs.num_filter,)}
    data = known.get("data")
    if data is not None and len(data) == len(attrs.kernel) + 2:
        last = _channels_last(attrs)
        channels = _divided(data[-1 if last else 1], attrs.num_group)
        inner = (*attrs.kernel, channels) if last else (channels, *attrs.kernel)
        shapes["weight"] = (attrs.num_filter, *inner)
    return shapes


def _deconvolution_shapes(known: dict[str, Shape | None], attrs: Attrs) -> dict[str, Shape]:
    shapes: dict[str, Shape] = {"bias": (attrs.num_filter,)}
    data = known.get("data")
    if data is not None and len(data) == len(attrs.kernel) + 2:
        last = _channels_last(attrs)
        filters = attrs.num_filter // attrs.num_group
        inner = (*attrs.kernel, filters) if last else (filters, *attrs.kernel)
        shapes["weight"] = (data[-1 if last else 1], *inner)
    return shapes


def correlate(
    data: Array, weight: Array, *, axes: tuple[int, ...], stride: tuple[int, ...],
    padding: list[tuple[int, int]], spread: tuple[int, ...], dilate: tuple[int, ...], groups: int,
) -> Array:  # fmt: skip
    """The convolution that all operators here reduce to.

    Args:
        data: channels on axis 1, or last.
        weight: ``(filters, channels / groups, kernel...)``, or with channels last ``(filters, kernel...,
            channels)``.
        axes: the spatial axes of data.
        spread: distance of neighbouring data elements (the stride of a transposed convolution).
    """
    channel = 1 if axes[0] == 2 else data.ndim - 1
    sizes = {
        axis: (max(near * (data.shape[axis] - 1), -1) + sum(around) - step * (weight.shape[axis] - 1)) // move + 1
        for axis, near, around, step, move in zip(axes, spread, padding, dilate, stride)
    }
    if not (data.size and weight.size) or min(sizes.values()) <= 0:
        shape = {0: data.shape[0], channel: weight.shape[0], **{axis: max(size, 0) for axis, size in sizes.items()}}
        return lax.full([shape[axis] for axis in range(data.ndim)], 0, data.dtype)
    if groups > 1 and on_cpu():
        if weight.shape[channel] == 1:
            return _depthwise(data, weight, axes, channel, stride, padding, spread, dilate)
        if _groups_are_small(data, weight, channel, groups, spread):
            return grouped.small_groups(_padded(data, axes, padding), weight, groups, stride, dilate)
        if groups <= MOST_SEPARATE_GROUPS:
            # XLA's gradient of a grouped convolution on CPU takes a hundred times as long as that of its
            # parts.
            parts = [
                correlate(
                    part,
                    kernel,
                    axes=axes,
                    stride=stride,
                    padding=padding,
                    spread=spread,
                    dilate=dilate,
                    groups=1,
                )
                for part, kernel in zip(
                    jnp.split(data, groups, axis=channel), jnp.split(weight, groups, axis=0), strict=True
                )
            ]
            return lax.concatenate(parts, channel)
    whole = weight.shape[axes[0] : axes[-1] + 1] == data.shape[axes[0] : axes[-1] + 1]
    if groups == 1 and whole and not any(low or high for low, high in padding) and max(*dilate, *spread) == 1:
        # A kernel as large as the image: one matrix product. XLA's gradient of such a convolution on CPU takes minutes.
        product = lax.dot_general(
            data.reshape(data.shape[0], -1), weight.reshape(weight.shape[0], -1), (((1,), (1,)), ((), ()))
        )
        return lax.expand_dims(product, axes)
    if groups == 1 and on_cpu() and data.dtype in (jnp.float32, jnp.float64):
        if math.prod(weight.shape[axis] for axis in axes) == 1 and max(spread) == 1:
            return pointwise(_padded(data, axes, padding), weight, axes, channel, stride)
        if channel == 1 and stride == weight.shape[2:] and max(*dilate, *spread) == 1:
            return tiles.gathered(_padded(data, axes, padding), weight)
        if max(spread) == 1 and few_channels.suits(weight, channel) and len(axes) < 3:
            return few_channels.few_channels(_padded(data, axes, padding), weight, stride, dilate)
        if (
            channel == 1 and max(spread) == 1 and len(axes) < 3
            and shrinking.suits(data, weight, stride, padding, tuple(sizes.values()))
        ):  # fmt: skip
            return shrinking.shrinking(_padded(data, axes, padding), weight, dilate)
        if len(axes) == 3:
            flat = (2, 3) if channel == 1 else (1, 2)

            def planar(pictures: Array, kernel: Array) -> Array:
                return correlate(
                    pictures, kernel, axes=flat, stride=stride[1:], padding=padding[1:], spread=spread[1:],
                    dilate=dilate[1:], groups=1,
                )  # fmt: skip

            return by_planes(data, weight, axes[0], stride[0], padding[0], spread[0], dilate[0], planar)
    return lax.conv_general_dilated(
        data, weight, stride, padding, lhs_dilation=spread, rhs_dilation=dilate, feature_group_count=groups,
        dimension_numbers=lax.ConvDimensionNumbers(
            (0, channel, *axes), (0, channel, *axes), (0, channel, *axes)
        ),
    )  # fmt: skip


def _groups_are_small(data: Array, weight: Array, channel: int, groups: int, spread: tuple[int, ...]) -> bool:
    """Whether shifted products are the fastest way to convolve groups on a CPU."""
    return data.dtype in (jnp.float32, jnp.float64) and max(spread) == 1 and grouped.suits(weight, channel, groups)


def _padded(data: Array, axes: tuple[int, ...], padding: list[tuple[int, int]]) -> Array:
    low, high = zip(*padding)
    return pad_axes(data, axes, 0, low, high, (0,) * len(axes))


def _depthwise(
    data: Array, weight: Array, axes: tuple[int, ...], channel: int, stride: tuple[int, ...],
    padding: list[tuple[int, int]], spread: tuple[int, ...], dilate: tuple[int, ...],
) -> Array:  # fmt: skip
    low, high = zip(*padding)
    padded = pad_axes(data, axes, 0, low, high, [step - 1 for step in spread])
    # The slice in the middle is the data itself, which XLA would compute anew for it, from the last stored array on.
    padded = lax.optimization_barrier(padded)
    repeats = weight.shape[0] // data.shape[channel]
    if repeats > 1:
        padded = jnp.repeat(padded, repeats, axis=channel, total_repeat_length=weight.shape[0])
    return depthwise(padded, lax.squeeze(weight, (channel,)), axes, stride, dilate)


def _add_bias(name: str, output: Array, bias: Array | None, num_filter: int, channel: int) -> Array:
    if bias is None:
        raise OperatorError(f"{name}: bias is missing; give one or set no_bias=True")
    check(
        bias.shape == (num_filter,),
        f"{name}: Shape inconsistent, Provided = {list(bias.shape)}, inferred shape=({num_filter},) "
        "for the bias",
    )
    return lax.add(output, lax.broadcast_in_dim(bias, output.shape, (channel,)))


def _check_call(
    name: str, data: Array, weight: Array, kernel: tuple[int, ...], num_filter: int, num_group: int,
    wanted: tuple[int, ...], channels: int,
) -> None:  # fmt: skip
    check(num_filter > 0 and num_group > 0, f"{name}: num_filter and num_group must be positive")
    check(
        channels % num_group == 0,
        f"{name}: input num_filter must divide group size: {channels} channels, num_group={num_group}",
    )
    check(
        num_filter % num_group == 0, f"{name}: num_filter={num_filter} must divide by num_group={num_group}"
    )
    check(
        weight.shape == wanted,
        f"{name}: Shape inconsistent, Provided = {list(weight.shape)}, inferred shape={wanted} for the "
        f"weight of data {data.shape}",
    )


def _geometry(
    name: str, data: Array, kernel: tuple[int, ...], layout: str | None
) -> tuple[tuple[int, ...], int]:
    """The spatial axes and the channel axis."""
    check(len(kernel) in (1, 2, 3), f"{name}: kernel needs 1 to 3 numbers, got {kernel}")
    letters = ("x", "y-x", "d-y-x")[len(kernel) - 1]
    check(
        data.ndim == len(kernel) + 2,
        f"{name}: Input data should be {len(kernel) + 2}D in batch-num_filter-{letters} for kernel={kernel}, "
        f"got {data.shape}",
    )
    axes = spatial_axes(name, layout, len(kernel))
    return axes, 1 if axes[0] == 2 else data.ndim - 1


def _convolve(
    name: str, data: Array, weight: Array, bias: Array | None, kernel: tuple[int, ...], stride: tuple[int, ...],
    dilate: tuple[int, ...], pad: tuple[int, ...], num_filter: int, num_group: int, no_bias: bool,
    layout: str | None,
) -> Array:  # fmt: skip
    axes, channel = _geometry(name, data, kernel, layout)
    count = len(kernel)
    stride = per_axis(name, "Stride", stride, count, 1)
    dilate = per_axis(name, "Dilate", dilate, count, 1)
    pad = per_axis(name, "Pad", pad, count, 0)
    check(min((*kernel, *stride, *dilate)) > 0, f"{name}: kernel, stride and dilate must be positive")
    share = data.shape[channel] // max(num_group, 1)
    inner = (share, *kernel) if channel == 1 else (*kernel, share)
    _check_call(name, data, weight, kernel, num_filter, num_group, (num_filter, *inner), data.shape[channel])
    for axis, size, step, amount in zip(axes, kernel, dilate, pad):
        reach = (size - 1) * step + 1
        check(
            reach <= data.shape[axis] + 2 * amount,
            f"{name}: kernel size exceed input: the kernel reaches over {reach} elements, axis {axis} "
            f"of data {data.shape} has {data.shape[axis] + 2 * amount} with padding",
        )
    output = correlate(
        data, weight, axes=axes, stride=stride, padding=[(amount, amount) for amount in pad],
        spread=(1,) * count,
        dilate=dilate, groups=num_group,
    )  # fmt: skip
    return output if no_bias else _add_bias(name, output, bias, num_filter, channel)


@operator(
    "Convolution",
    aliases=("_npx_convolution",),
    active_inputs=_weighted_inputs,
    param_shapes=_convolution_shapes,
)
def convolution(
    data: Array, weight: Array, bias: Array | None = None, *,
    kernel: tuple[int, ...], stride: tuple[int, ...] = (), dilate: tuple[int, ...] = (), pad: tuple[int, ...] = (),
    num_filter: int, num_group: int = 1, workspace: int = 1024, no_bias: bool = False,
    cudnn_tune: CudnnTune = None,
    cudnn_off: bool = False, layout: Layout = None,
) -> Array:  # fmt: skip
    """Convolve each example with learned kernels (a correlation: kernels are not mirrored).

    Args:
        data: ``(batch, channels, spatial...)``, or with a layout such as NHWC ``(batch, spatial...,
            channels)``.
        weight: ``(num_filter, channels / num_group, kernel...)``; NHWC: ``(num_filter, kernel..., channels /
            num_group)``.
        bias: ``(num_filter,)``; absent with ``no_bias=True``.

    Returns:
        The layout of data with ``num_filter`` channels and ``(size + 2 * pad - dilate * (kernel - 1) - 1) //
        stride + 1`` positions along each spatial axis.
    """
    return _convolve(
        "Convolution", data, weight, bias, kernel, stride, dilate, pad, num_filter, num_group, no_bias, layout
    )


@operator("Convolution_v1", active_inputs=_weighted_inputs, param_shapes=_convolution_shapes)
def convolution_v1(
    data: Array, weight: Array, bias: Array | None = None, *,
    kernel: tuple[int, ...], stride: tuple[int, ...] = (), dilate: tuple[int, ...] = (), pad: tuple[int, ...] = (),
    num_filter: int, num_group: int = 1, workspace: int = 1024, no_bias: bool = False,
    cudnn_tune: CudnnTune = None,
    cudnn_off: bool = False, layout: Layout = None,
) -> Array:  # fmt: skip
    """The first version of ``Convolution``, for old files: the same with two or three spatial axes.

    Args:
        data, weight, bias: as in ``Convolution``.

    Returns:
        As ``Convolution``.
    """
    check(len(kernel) != 1, "Convolution_v1: 1D convolution not supported; use Convolution")
    return _convolve(
        "Convolution_v1",
        data,
        weight,
        bias,
        kernel,
        stride,
        dilate,
        pad,
        num_filter,
        num_group,
        no_bias,
        layout,
    )


def _padding_for_target(
    name: str, sizes: list[int], reach: list[int], stride: tuple[int, ...], target: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Padding and adjustment with which a deconvolution gives the wanted output size."""
    pads, adjustments = [], []
    for size, extent, step, wanted in zip(sizes, reach, stride, target, strict=True):
        excess = step * (size - 1) + extent - wanted
        check(
            excess >= 0,
            f"{name}: too big target shape {target}: without padding the output has {excess + wanted}",
        )
        pads.append((excess + 1) // 2)
        adjustments.append(excess % 2)
    return tuple(pads), tuple(adjustments)


@operator(
    "Deconvolution",
    aliases=("_npx_deconvolution",),
    active_inputs=_weighted_inputs,
    param_shapes=_deconvolution_shapes,
)
def deconvolution(
    data: Array, weight: Array, bias: Array | None = None, *,
    kernel: tuple[int, ...], stride: tuple[int, ...] = (), dilate: tuple[int, ...] = (), pad: tuple[int, ...] = (),
    adj: tuple[int, ...] = (), target_shape: tuple[int, ...] = (), num_filter: int, num_group: int = 1,
    workspace: int = 512, no_bias: bool = True, cudnn_tune: CudnnTune = None, cudnn_off: bool = False,
    layout: Layout = None,
) -> Array:  # fmt: skip
    """Transposed convolution: the gradient of a convolution with respect to its data, as a layer.

    Args:
        data: ``(batch, channels, spatial...)``, or with a layout such as NHWC ``(batch, spatial...,
            channels)``.
        weight: ``(channels, num_filter / num_group, kernel...)``; NHWC: the filters last.
        bias: ``(num_filter,)``; absent with ``no_bias=True`` (the default).
        adj: extra elements at the far end of each axis, less than the stride.
        target_shape: the wanted spatial size; padding and adj then follow from it.

    Returns:
        The layout of data with ``num_filter`` channels and ``stride * (size - 1) + dilate * (kernel - 1) + 1
        - 2 * pad + adj`` positions along each spatial axis.
    """
    name = "Deconvolution"
    axes, channel = _geometry(name, data, kernel, layout)
    count = len(kernel)
    stride = per_axis(name, "Stride", stride, count, 1)
    dilate = per_axis(name, "Dilate", dilate, count, 1)
    check(min((*kernel, *stride, *dilate)) > 0, f"{name}: kernel, stride and dilate must be positive")
    pad = per_axis(name, "Pad", pad, count, 0)
    adj = per_axis(name, "Adj", adj, count, 0)
    share = num_filter // max(num_group, 1)
    channels = data.shape[channel]
    inner = (share, *kernel) if channel == 1 else (*kernel, share)
    _check_call(name, data, weight, kernel, num_filter, num_group, (channels, *inner), channels)
    reach = [(size - 1) * step + 1 for size, step in zip(kernel, dilate)]
    if any(target_shape):
        check(min(target_shape) >= 0, f"{name}: target_shape must not be negative, got {target_shape}")
        target = per_axis(name, "Target_shape", target_shape, count, 0)
        pad, adj = _padding_for_target(name, [data.shape[axis] for axis in axes], reach, stride, target)
    for extra, step in zip(adj, stride):
        check(
            extra < max(step, 1), f"{name}: adj must be samller than stride, got adj={adj}, stride={stride}"
        )
    sizes = {
        axis: step * (data.shape[axis] - 1) + far - 2 * cut + extra
        for axis, step, far, cut, extra in zip(axes, stride, reach, pad, adj)
    }
    check(min(sizes.values()) >= 0, f"{name}: pad={pad} cuts off more than there is of data {data.shape}")
    if data.size:
        output = _transposed(data, weight, _Transposed(axes, channel, num_group, stride, dilate, pad, adj))
    else:
        shape = {0: data.shape[0], channel: num_filter, **sizes}
        output = lax.full([shape[axis] for axis in range(data.ndim)], 0, data.dtype)
    return cast(Array, output) if no_bias else _add_bias(name, cast(Array, output), bias, num_filter, channel)


@dataclass(frozen=True)
class _Transposed:
    """The settings of a transposed convolution."""

    axes: tuple[int, ...]
    channel: int
    groups: int
    stride: tuple[int, ...]
    dilate: tuple[int, ...]
    pad: tuple[int, ...]
    adj: tuple[int, ...]

    def side_by_side(self, weight: Array) -> bool:
        """Whether every output comes from one input."""
        whole = self.stride == weight.shape[2:] and not any((*self.pad, *self.adj))
        return whole and self.channel == 1 and self.groups == 1 and max(self.dilate) == 1

    def has_phases(self, weight: Array) -> bool:
        """Whether outputs at the same place modulo the stride are best computed together."""
        few = self.groups == 1 or (self.groups <= MOST_SEPARATE_GROUPS and weight.shape[0] > self.groups)
        return self.channel == 1 and few and phases.suits(weight, self.stride, self.dilate)

    def convolve(self, data: Array, weight: Array) -> Array:
        """The convolution whose data gradient the operator is."""
        padding = [(amount, amount - extra) for amount, extra in zip(self.pad, self.adj)]
        one = (1,) * len(self.axes)
        return correlate(
            data, weight, axes=self.axes, stride=self.stride, padding=padding, spread=one, dilate=self.dilate,
            groups=self.groups,
        )  # fmt: skip


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def _transposed(data: Array, weight: Array, how: _Transposed) -> Array:
    """Correlate data, spread out by the stride, with the mirrored kernel.

    The gradients are written down as those of the convolution that this is the transpose of: XLA:CPU takes thirty
    times as long for the weight gradient of spread-out data.
    """
    if how.side_by_side(weight) and on_cpu() and data.dtype in (jnp.float32, jnp.float64):
        return tiles.scattered(data, weight)
    if how.has_phases(weight) and on_cpu() and data.dtype in (jnp.float32, jnp.float64):
        return _in_phases(data, weight, how)
    reach = [(weight.shape[axis] - 1) * step for axis, step in zip(how.axes, how.dilate)]
    return correlate(
        data, _transposed_weight(weight, how.channel, how.groups, how.axes), axes=how.axes,
        stride=(1,) * len(how.axes),
        padding=[(far - amount, far - amount + extra) for far, amount, extra in zip(reach, how.pad, how.adj)],
        spread=how.stride, dilate=how.dilate, groups=how.groups,
    )  # fmt: skip


def _in_phases(data: Array, weight: Array, how: _Transposed) -> Array:
    one = (1,) * len(how.axes)

    def convolve(part: Array, kernel: Array) -> Array:
        return correlate(
            part, kernel, axes=how.axes, stride=one, padding=[(0, 0)] * len(one), spread=one, dilate=one, groups=1
        )

    # Each group is interleaved on its own: XLA joins that with the convolution's change of layout.
    groups = zip(jnp.split(data, how.groups, axis=1), jnp.split(weight, how.groups, axis=0), strict=True)
    parts = [phases.in_phases(*group, how.stride, how.pad, how.adj, convolve) for group in groups]
    return parts[0] if len(parts) == 1 else lax.concatenate(parts, 1)


def _transposed_forward(data: Array, weight: Array, how: _Transposed) -> tuple[Array, tuple[Array, Array]]:
    return _transposed(data, weight, how), (data, weight)


def _transposed_backward(how: _Transposed, saved: tuple[Array, Array], head: Array) -> tuple[Array, Array]:
    data, weight = saved
    if not (data.size and weight.size and head.size):
        return lax.full_like(data, 0), lax.full_like(weight, 0)
    _, pullback = jax.vjp(functools.partial(how.convolve, head), weight)
    return how.convolve(head, weight), pullback(data)[0]


_transposed.defvjp(_transposed_forward, _transposed_backward)


def _transposed_weight(weight: Array, channel: int, groups: int, axes: tuple[int, ...]) -> Array:
    """From (channels, filters / groups, kernel...) to (filters, channels / groups, mirrored kernel...)."""
    mirrored = lax.rev(weight, axes)
    if groups == 1:
        return jnp.swapaxes(mirrored, 0, channel)
    split = lax.reshape(mirrored, (groups, weight.shape[0] // groups, *weight.shape[1:]))
    swapped = jnp.swapaxes(split, 1, channel + 1)
    return lax.reshape(swapped, (groups * swapped.shape[1], *swapped.shape[2:]))
