"""Operators on images in the layout (height, width, channels): what ``gluon.data.vision.transforms`` uses."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._ops.contrib import _image_taps as taps
from gluonjax._ops.opdef import Attrs, check, operator

SINGLE = jnp.float32
_GRAY = (0.299, 0.587, 0.114)
# Principal components of ImageNet's colours, scaled by their deviations.
_LIGHTING = np.array(
    [[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]]
) * np.array([55.46, 4.794, 1.148])  # fmt: skip
# Fractional bits of OpenCV's whole-number weights.
_BITS = 11


def _alias(name: str) -> tuple[str, ...]:
    return (f"_npx_{name}",)


def _check_image(name: str, data: Array) -> None:
    check(
        data.ndim == 3,
        f"{name}: Input image must have shape (height, width, channels), but got {data.shape}",
    )
    check(
        data.shape[2] in (1, 3),
        f"{name}: The last dimension of input image must be the channel dimension with either 1 or 3 elements, "
        f"but got input with shape {data.shape}",
    )


def _truncated(value: Array, dtype: Any) -> Array:
    """C's conversion: towards zero, and whole numbers wrap around."""
    if jnp.issubdtype(dtype, jnp.floating):
        return value.astype(dtype)
    return lax.convert_element_type(lax.convert_element_type(value, jnp.int32), dtype)


def _saturated(value: Array, dtype: Any) -> Array:
    """As ``_truncated``, but cut off at 0 and 255 for uint8."""
    if dtype == jnp.uint8:
        value = lax.clamp(np.float32(0), value, np.float32(255))
    return _truncated(value, dtype)


# ---- to tensors ----------------------------------------------------------------------------------------


@operator("_image_to_tensor", aliases=_alias("_image_to_tensor"))
def to_tensor(data: Array) -> Array:
    """Channels first, values from 0..255 to 0..1.

    Args:
        data: ``(height, width, channels)`` or ``(batch, height, width, channels)``.

    Returns:
        ``(channels, height, width)`` or ``(batch, channels, height, width)``, float32.
    """
    check(
        data.ndim in (3, 4),
        "to_tensor: Input image must have shape (height, width, channels), or (N, height, width, channels) but got "
        f"{data.shape}",
    )
    order = (2, 0, 1) if data.ndim == 3 else (0, 3, 1, 2)
    wide = data if data.dtype == jnp.float64 else data.astype(SINGLE)
    return (lax.transpose(wide, order) / 255).astype(SINGLE)


@operator("_image_normalize", aliases=_alias("_image_normalize"))
def normalize(
    data: Array, *, mean: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0), std: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)
) -> Array:
    """Subtract a mean from each channel and divide by a deviation.

    Args:
        data: ``(channels, height, width)`` or with a batch axis in front; 1 or 3 channels.
        mean: one number, or one for each channel.
        std: one number, or one for each channel.

    Returns:
        An array like data.
    """
    check(
        data.ndim in (3, 4),
        "normalize: Input tensor must have shape (channels, height, width), or (N, channels, height, width), but got "
        f"{data.shape}",
    )
    channels = data.shape[-3]
    check(
        channels in (1, 3),
        f"normalize: The channel dimension of input tensor must have either 1 or 3 elements, but got input with "
        f"shape {data.shape}",
    )
    for name, values in (("mean", mean), ("std", std)):
        check(
            len(values) in (1, channels),
            f"normalize: Invalid {name} for input with shape {data.shape}. {name} must have either 1 or {channels} "
            f"elements, but got {values}",
        )
    wide = data if data.dtype == jnp.float64 else data.astype(SINGLE)

    def column(values: tuple[float, ...]) -> Array:
        return jnp.asarray(np.asarray(values, np.float32), wide.dtype).reshape(-1, 1, 1)

    return _truncated((wide - column(mean)) / column(std), data.dtype)


# ---- geometry ------------------------------------------------------------------------------------------


@operator("_image_crop", aliases=_alias("_image_crop"))
def crop(data: Array, *, x: int, y: int, width: int, height: int) -> Array:
    """Cut a rectangle out of images.

    Args:
        data: ``(height, width, channels)`` or with a batch axis in front; 1 or 3 channels.
        x: the left edge.
        y: the upper edge.

    Returns:
        The same layout, with the given height and width.
    """
    check(
        data.ndim in (3, 4),
        f"Image Crop expects inputs of 3D (h, w, c) or 4D (n, h, w, c). But got {data.shape}",
    )
    check(data.shape[-1] in (1, 3), f"Image Crop: Expect channel of the input image is 1 or 3, but got {data.shape}")
    check(height > 0 and width > 0, "Image Crop: Input height and width must be greater than 0")
    rows, columns = data.shape[-3:-1]
    check(x >= 0 and x + width <= columns, f"Image Crop: x + width should not be greater than input width {columns}")
    check(y >= 0 and y + height <= rows, f"Image Crop: y + height should not be greater than input height {rows}")
    return data[..., y : y + height, x : x + width, :]


def target_size(size: tuple[int, ...], keep_ratio: bool, height: int, width: int) -> tuple[int, int]:
    """Height and width that an image of a height and width is resized to; ``size`` as `resize` takes it."""
    check(len(size) in (1, 2), f"resize: Input size dimension must be 1 or 2, but got {len(size)}")
    check(min(size) > 0, f"resize: Input size should be greater than 0, but got {size}")
    if len(size) == 2:
        return size[1], size[0]
    short = size[0]
    if not keep_ratio:
        return short, short
    return (height * short // width, short) if height > width else (short, width * short // height)


def _along(data: Array, axis: int, index: np.ndarray, weight: np.ndarray) -> Array:
    """Sums of weighted pixels along one axis, in data's dtype."""
    total = None
    for number in range(index.shape[1]):
        part = jnp.take(data, jnp.asarray(index[:, number], jnp.int32), axis=axis, mode="clip")
        if not (weight == 1).all():
            factor = jnp.asarray(weight[:, number]).astype(data.dtype)
            part = part * lax.expand_dims(factor, range(1, data.ndim - axis))
        total = part if total is None else total + part
    assert total is not None
    return total


def _whole_weights(weight: np.ndarray) -> np.ndarray:
    return np.rint(weight.astype(np.float64) * (1 << _BITS)).astype(np.int32)


def _resize_bytes(data: Array, rows: taps.Taps, columns: taps.Taps) -> Array:
    """OpenCV's arithmetic in whole numbers for 8-bit images, with its two ways of rounding."""
    wide = _along(data.astype(jnp.int32), data.ndim - 2, columns[0], _whole_weights(columns[1]))
    weight = _whole_weights(rows[1])
    axis = data.ndim - 3
    if weight.shape[1] > 2:
        total = _along(wide, axis, rows[0], weight)
        value = (total + (1 << (2 * _BITS - 1))) >> (2 * _BITS)
    else:
        parts = []
        for number in range(2):
            part = jnp.take(wide >> 4, jnp.asarray(rows[0][:, number], jnp.int32), axis=axis, mode="clip")
            parts.append((part * jnp.asarray(weight[:, number])[:, None, None]) >> 16)
        value = (parts[0] + parts[1] + 2) >> 2
    return jnp.clip(value, 0, 255).astype(jnp.uint8)


def _shrink_by_area(data: Array, height: int, width: int) -> Array:
    rows, columns = data.shape[-3:-1]
    wide = jnp.promote_types(data.dtype, SINGLE)
    mixed = jnp.einsum(
        "...hwc,ph,qw->...pqc", data.astype(wide), jnp.asarray(taps.area_matrix(rows, height), wide),
        jnp.asarray(taps.area_matrix(columns, width), wide), precision=lax.Precision.HIGHEST,
    )  # fmt: skip
    if data.dtype != jnp.uint8:
        return mixed.astype(data.dtype)
    half = rows == 2 * height and columns == 2 * width
    return (lax.floor(mixed + 0.5) if half else lax.round(mixed, lax.RoundingMethod.TO_NEAREST_EVEN)).astype(jnp.uint8)


@operator("_image_resize", aliases=_alias("_image_resize"))
def resize(data: Array, *, size: tuple[int, ...] = (), keep_ratio: bool = False, interp: int = 1) -> Array:
    """Resize images as OpenCV does.

    Args:
        data: ``(height, width, channels)`` or with a batch axis in front; uint8, float32 or float64.
        size: ``(width, height)``, or one number: both, or with ``keep_ratio`` the shorter edge.
        interp: 0 nearest, 1 bilinear, 2 bicubic, 3 area, 4 Lanczos.

    Returns:
        The same layout and dtype.
    """
    check(data.ndim in (3, 4), f"resize: Input image dimension should be 3 or 4 but got {data.ndim}")
    rows, columns = data.shape[-3:-1]
    check(rows > 0 and columns > 0, f"resize: an image of {rows} rows and {columns} columns has no pixels")
    height, width = target_size(size, keep_ratio, rows, columns)
    if not data.size:
        return lax.full((*data.shape[:-3], height, width, data.shape[-1]), 0, data.dtype)
    check(
        data.dtype in (jnp.uint8, jnp.float32, jnp.float64),
        f"resize: takes uint8, float32 or float64 images, got {data.dtype}; convert with .astype",
    )
    check(0 <= interp <= 4, f"resize: Unknown interpolation method {interp}, wanted 0 to 4")
    if (height, width) == (rows, columns):
        return data
    shrinks = rows >= height and columns >= width
    # OpenCV halves images by averages even where it is asked for bilinear interpolation.
    halves = interp == taps.LINEAR and (rows, columns) == (2 * height, 2 * width)
    if (interp == taps.AREA and shrinks) or halves:
        return _shrink_by_area(data, height, width)
    of_rows, of_columns = taps.taps(rows, height, interp, of_rows=True), taps.taps(columns, width, interp)
    if data.dtype == jnp.uint8 and interp != taps.NEAREST:
        return _resize_bytes(data, of_rows, of_columns)
    return _along(_along(data, data.ndim - 2, *of_columns), data.ndim - 3, *of_rows)


# ---- colours -------------------------------------------------------------------------------------------


def _brightness(data: Array, alpha: Array) -> Array:
    return _saturated(data.astype(SINGLE) * alpha, data.dtype)


def _contrast(data: Array, alpha: Array) -> Array:
    wide = data.astype(SINGLE)
    gray = wide @ jnp.asarray(_GRAY, SINGLE) if data.shape[2] == 3 else wide
    mean = gray.sum() / (data.shape[0] * data.shape[1])
    return _saturated(wide * alpha + (1 - alpha) * mean, data.dtype)


def _saturation(data: Array, alpha: Array) -> Array:
    if data.shape[2] == 1:
        return data
    wide = data.astype(SINGLE)
    # MXNet mixes with the blue part of the gray value only (image_random-inl.h overwrites instead of adding).
    gray = wide[..., 2:] * np.float32(_GRAY[2])
    return _saturated(gray * (1 - alpha) + wide * alpha, data.dtype)


def _hue(data: Array, alpha: Array) -> Array:
    if data.shape[2] == 1:
        return data
    red, green, blue = (data[..., index].astype(SINGLE) / 255 for index in range(3))
    high, low = jnp.maximum(jnp.maximum(red, green), blue), jnp.minimum(jnp.minimum(red, green), blue)
    spread, light = high - low, (high + low) * 0.5
    colourful = spread > np.finfo(np.float32).eps
    safe = jnp.where(colourful, spread, 1)
    saturation = jnp.where(light < 0.5, spread / jnp.where(colourful, high + low, 1),
                           spread / jnp.where(colourful, 2 - high - low, 1))  # fmt: skip
    saturation = jnp.where(colourful, saturation, 0)
    hue = jnp.where(
        high == red, (green - blue) / safe,
        jnp.where(high == green, (blue - red) / safe + 2, (red - green) / safe + 4),
    )  # fmt: skip
    hue = jnp.where(colourful, hue, 0) + alpha * 6
    top = jnp.where(light <= 0.5, light * (1 + saturation), light + saturation - light * saturation)
    bottom = 2 * light - top

    def channel(shift: int) -> Array:
        place = jnp.mod(hue + shift, 6)
        level = jnp.clip(jnp.minimum(place, 4 - place), 0, 1)
        return bottom + (top - bottom) * level

    coloured = jnp.stack([channel(2), channel(0), channel(-2)], axis=-1)
    return _saturated(jnp.where((saturation == 0)[..., None], light[..., None], coloured) * 255, data.dtype)


def _lighting(data: Array, alpha: Array) -> Array:
    if data.shape[2] == 1:
        return data
    shift = jnp.asarray(_LIGHTING, SINGLE) @ jnp.asarray(alpha, SINGLE)
    return _saturated(data.astype(SINGLE) + shift, data.dtype)


def _flip(axis: int) -> Callable[[Array], Array]:
    return lambda data: lax.rev(data, (axis,))


def _copied(inputs: Any, outputs: Any, head: Any, attrs: Attrs) -> dict[str, Any]:
    """MXNet hands gradients through colour changes and flips as if these did nothing."""
    return {"data": head.output}


_DATA = """
    Args:
        data: ``(height, width, channels)``, 1 or 3 channels (red, green, blue).

    Returns:
        An array like data; uint8 is cut off at 0 and 255. The gradient passes unchanged, as in MXNet.
"""


def _register(name: str, text: str, function: Callable[..., Array], keywords: dict[str, Any]) -> None:
    """Register ``_image_<name>``: the function of data and of keyword-only attributes (or ``key``)."""
    full = f"_image_{name}"

    def run(data: Array, **attrs: Any) -> Array:
        _check_image(name, data)
        return function(data, **attrs)

    run.__doc__ = text + "\n" + _DATA
    run.__name__ = run.__qualname__ = name
    run.__annotations__ = {"data": Array, "return": Array, **keywords}
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter("data", inspect.Parameter.POSITIONAL_OR_KEYWORD),
            *(inspect.Parameter(keyword, inspect.Parameter.KEYWORD_ONLY) for keyword in keywords),
        ]
    )
    operator(full, aliases=_alias(full), grad=_copied)(run)


def _drawn(change: Callable[[Array, Array], Array]) -> Callable[..., Array]:
    def run(data: Array, *, min_factor: float, max_factor: float, key: Array) -> Array:
        return change(data, _between(key, min_factor, max_factor))

    return run


def _between(key: Array, low: float, high: float) -> Array:
    return jnp.asarray(low, SINGLE) + jnp.asarray(high - low, SINGLE) * jax.random.uniform(key, (), SINGLE)


def _perhaps(change: Callable[[Array], Array]) -> Callable[..., Array]:
    def run(data: Array, *, key: Array) -> Array:
        return jnp.where(jax.random.bernoulli(key), data, change(data))

    return run


def _random_lighting(data: Array, *, alpha_std: float, key: Array) -> Array:
    return _lighting(data, jax.random.normal(key, (3,), SINGLE) * np.float32(alpha_std))


def _adjust_lighting(data: Array, *, alpha: tuple[float, ...]) -> Array:
    check(len(alpha) == 3, f"adjust_lighting: alpha needs three numbers, got {alpha}")
    return _lighting(data, jnp.asarray(alpha, SINGLE))


def _jitter(data: Array, *, brightness: float, contrast: float, saturation: float, hue: float, key: Array) -> Array:
    """The changes with a positive strength, one after the other in a random order."""
    order_key, amount_key = jax.random.split(key)
    amounts = jax.random.uniform(amount_key, (4,), SINGLE, -1, 1)
    changes: list[Callable[[Array], Array]] = []
    for number, (change, strength, middle) in enumerate(
        ((_brightness, brightness, 1), (_contrast, contrast, 1), (_saturation, saturation, 1), (_hue, hue, 0))
    ):
        if strength > 0:
            alpha = middle + amounts[number] * np.float32(strength)
            changes.append(lambda image, change=change, alpha=alpha: change(image, alpha))
    if len(changes) < 2:
        return changes[0](data) if changes else data
    order = jax.random.permutation(order_key, jnp.arange(len(changes), dtype=jnp.int32))
    for place in range(len(changes)):
        data = lax.switch(order[place], changes, data)
    return data


_FACTORS = {"min_factor": float, "max_factor": float, "key": Any}
for _name, _text, _function, _keywords in (
    ("flip_left_right", "Mirror an image horizontally.", _flip(1), {}),
    ("flip_top_bottom", "Mirror an image vertically.", _flip(0), {}),
    ("random_flip_left_right", "Mirror an image horizontally, or not.", _perhaps(_flip(1)), {"key": Any}),
    ("random_flip_top_bottom", "Mirror an image vertically, or not.", _perhaps(_flip(0)), {"key": Any}),
    ("random_brightness", "Multiply by a random factor.", _drawn(_brightness), _FACTORS),
    ("random_contrast", "Move away from the mean gray by a random factor.", _drawn(_contrast), _FACTORS),
    ("random_saturation", "Move away from gray by a random factor.", _drawn(_saturation), _FACTORS),
    ("random_hue", "Turn the colour circle by a random part of it.", _drawn(_hue), _FACTORS),
    (
        "random_color_jitter", "Change brightness, contrast, saturation and hue by random amounts.", _jitter,
        {"brightness": float, "contrast": float, "saturation": float, "hue": float, "key": Any},
    ),
    ("adjust_lighting", "Add noise along the principal colours, as AlexNet did.", _adjust_lighting,
     {"alpha": tuple[float, ...]}),
):  # fmt: skip
    _register(_name, _text, _function, _keywords)


@operator("_image_random_lighting", aliases=_alias("_image_random_lighting"), grad=_copied)
def random_lighting(data: Array, *, alpha_std: float = 0.05, key: Any) -> Array:
    """Add random noise along the principal colours, as AlexNet did.

    Args:
        data: ``(height, width, channels)``, 1 or 3 channels.
        alpha_std: the noise's deviation.

    Returns:
        An array like data.
    """
    _check_image("random_lighting", data)
    return _random_lighting(data, alpha_std=alpha_std, key=key)
