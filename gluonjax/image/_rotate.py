"""Turning images, ``(channels, height, width)`` or with a batch axis in front."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np

from gluonjax import ndarray as nd
from gluonjax._base.errors import ArgumentTypeError
from gluonjax.image._errors import ImageArgumentError


def _zoom(angle: np.ndarray, height: int, width: int, inside: bool) -> np.ndarray:
    """The scale at which a turned rectangle covers the image (inside), or lies in it."""
    cosine, sine = np.abs(np.cos(angle)), np.abs(np.sin(angle))
    across = (width * cosine + height * sine) / width
    upright = (height * cosine + width * sine) / height
    return 1 / np.maximum(across, upright) if inside else np.maximum(across, upright)


def _grid(angle: np.ndarray, height: int, width: int, zoom: np.ndarray) -> np.ndarray:
    """``(n, 2, height, width)``: where in the image, from -1 to 1, each pixel of the result is."""
    middle_y, middle_x = (height - 1) / 2, (width - 1) / 2
    y = np.arange(height)[:, None] - middle_y
    x = np.arange(width)[None, :] - middle_x
    cosine, sine = np.cos(angle)[:, None, None], np.sin(angle)[:, None, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        # Scaled after turning, which keeps the proportions.
        places = np.stack([(x * cosine - y * sine) / middle_x, (x * sine + y * cosine) / middle_y], axis=1)
    return (places * zoom[:, None, None, None]).astype(np.float32)


def imrotate(src: Any, rotation_degrees: Any, zoom_in: bool = False, zoom_out: bool = False) -> Any:
    """Turn images around their middle.

    Args:
        src: float32 ``(channels, height, width)`` or ``(n, channels, height, width)``.
        rotation_degrees: one angle, or for a batch an array of one for each image.
        zoom_in: enlarge so that no padding shows.
        zoom_out: shrink so that nothing is cut off.

    Returns:
        The turned images, of src's shape.
    """
    if zoom_in and zoom_out:
        raise ImageArgumentError("imrotate: `zoom_in` and `zoom_out` cannot be both True")
    if np.dtype(src.dtype) != np.float32:
        raise ArgumentTypeError(f"imrotate: Only `float32` images are supported by this function, got {src.dtype}")
    if src.ndim not in (3, 4):
        raise ImageArgumentError(f"imrotate: Only 3D and 4D are supported by this function, got {src.shape}")
    one_angle = isinstance(rotation_degrees, Number)
    if src.ndim == 3 and not one_angle:
        raise ArgumentTypeError(
            "imrotate: When a single image is passed the rotation angle is required to be a scalar."
        )
    batch = src.expand_dims(axis=0) if src.ndim == 3 else src
    degrees = rotation_degrees.asnumpy() if isinstance(rotation_degrees, nd.NDArray) else rotation_degrees
    angles = np.deg2rad(np.asarray([degrees] * len(batch) if one_angle else degrees, np.float64))
    if angles.shape != (len(batch),):
        raise ImageArgumentError(
            "imrotate: The number of images must be equal to the number of rotation angles, got "
            f"{len(batch)} images and angles of shape {angles.shape}"
        )
    height, width = batch.shape[2:]
    zoom = _zoom(angles, height, width, zoom_in) if zoom_in or zoom_out else np.ones(len(batch))
    grid = nd.array(_grid(angles, height, width, zoom), ctx=src.context)
    turned = nd.BilinearSampler(batch, grid)
    return turned[0] if src.ndim == 3 else turned


def random_rotate(src: Any, angle_limits: tuple[float, float], zoom_in: bool = False, zoom_out: bool = False) -> Any:
    """Turn images by random angles.

    Args:
        src: float32 ``(channels, height, width)`` or ``(n, channels, height, width)``.
        angle_limits: lowest and highest angle in degrees.
        zoom_in: enlarge so that no padding shows.
        zoom_out: shrink so that nothing is cut off.

    Returns:
        The turned images, of src's shape.
    """
    low, high = angle_limits
    many = None if src.ndim == 3 else src.shape[0]
    drawn = np.random.uniform(low, high, size=many)
    return imrotate(src, float(drawn) if many is None else nd.array(drawn), zoom_in, zoom_out)
