"""Upsampling of images by a whole factor."""

from __future__ import annotations

import functools
from typing import Literal

from jax import Array, lax

from gluonjax._ops.nn.convolution import correlate
from gluonjax._ops.opdef import Attrs, Shape, check, operator


def _inputs(attrs: Attrs) -> tuple[str, ...]:
    if attrs.sample_type == "bilinear":
        return ("data", "weight")
    return tuple(f"arg{i}" for i in range(attrs.num_args or 1))


def bilinear_geometry(scale: int) -> tuple[int, int]:
    """Kernel size and padding with which a transposed convolution interpolates."""
    return 2 * scale - scale % 2, scale // 2


def _shapes(known: dict[str, Shape | None], attrs: Attrs) -> dict[str, Shape]:
    if attrs.sample_type != "bilinear":
        return {}
    kernel, _ = bilinear_geometry(attrs.scale)
    return {"weight": (attrs.num_filter, 1, kernel, kernel)}


def repeat_pixels(data: Array, factor: int) -> Array:
    """Each pixel of ``(batch, channels, height, width)`` as a square of equal pixels."""
    batch, channels, height, width = data.shape
    spread = lax.broadcast_in_dim(data, (batch, channels, height, factor, width, factor), (0, 1, 2, 4))
    return lax.reshape(spread, (batch, channels, height * factor, width * factor))


@operator(
    "UpSampling",
    variadic="num_args",
    active_inputs=_inputs,
    param_shapes=_shapes,
    variable_attrs={"weight": {"__init__": '["bilinear", {}]'}},
)
def upsampling(
    *data: Array, scale: int, num_filter: int = 0, sample_type: Literal["bilinear", "nearest"],
    multi_input_mode: Literal["concat", "sum"] = "concat", num_args: int | None = None, workspace: int = 512,
) -> Array:  # fmt: skip
    """Enlarge images.

    Args:
        data: ``(batch, channels, height, width)``. ``nearest`` takes several, each enlarged to ``scale``
            times the size of the first and joined along the channels (or summed). ``bilinear`` takes one
            and the
            kernels ``(num_filter, 1, kernel, kernel)`` of a transposed convolution, where ``kernel = 2 *
            scale -
            scale % 2``.
        multi_input_mode: how several enlarged inputs are joined.

    Returns:
        ``(batch, channels, scale * height, scale * width)``.
    """
    for array in data[:1] if sample_type == "bilinear" else data:
        check(
            array.ndim == 4,
            f"UpSampling: Input data should be 4D in (batch, channel, y, x), got {array.shape}",
        )
    check(scale >= 1, f"UpSampling: scale must be at least 1, got {scale}")
    if sample_type == "bilinear":
        return _bilinear(data, scale, num_filter)
    height, width = data[0].shape[2] * scale, data[0].shape[3] * scale
    enlarged = []
    for array in data:
        factor = height // max(array.shape[2], 1)
        check(
            array.shape[2] * factor == height and array.shape[3] * factor == width,
            f"UpSampling: an input of shape {array.shape} does not divide the output size ({height}, "
            f"{width})",
        )
        enlarged.append(repeat_pixels(array, factor))
    if multi_input_mode == "sum":
        same = all(array.shape == enlarged[0].shape for array in enlarged)
        check(same, "UpSampling: Number of channels must be the same when multi_input_mode==sum")
        return functools.reduce(lax.add, enlarged)
    return enlarged[0] if len(enlarged) == 1 else lax.concatenate(enlarged, 1)


def _bilinear(inputs: tuple[Array, ...], scale: int, num_filter: int) -> Array:
    check(
        len(inputs) == 2,
        f"UpSampling: sample_type='bilinear' takes data and weight, got {len(inputs)} inputs",
    )
    data, weight = inputs
    size, pad = bilinear_geometry(scale)
    check(
        data.shape[1] == num_filter,
        f"UpSampling: num_filter={num_filter} must be the number of channels of data {data.shape}",
    )
    check(
        weight.shape == (num_filter, 1, size, size),
        f"UpSampling: Shape inconsistent, Provided = {list(weight.shape)}, inferred "
        f"shape=({num_filter},1,{size},{size})",
    )
    rim = size - 1 - pad
    return correlate(
        data, lax.rev(weight, (2, 3)), axes=(2, 3), stride=(1, 1), padding=[(rim, rim)] * 2, spread=(scale,
            scale),
        dilate=(1, 1), groups=num_filter,
    )  # fmt: skip
