"""Resizing, cutting and padding of images, ``(height, width, channels)``."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Iterator, Sequence
from numbers import Number
from typing import Any

import numpy as np

from gluonjax import autograd
from gluonjax._images import resample
from gluonjax.image._decode import deliver, wrap
from gluonjax.image._errors import ImageArgumentError

Box = tuple[int, int, int, int]
# Methods that are chosen at the call: by the change of size, and at random.
_BY_SIZE, _AT_RANDOM = 9, 10
_BICUBIC, _AREA, _BILINEAR = 2, 3, 1


def choose_interpolation(interp: int, sizes: Sequence[int] = ()) -> int:
    """Return the method, 0 to 4, that a number from 0 to 4, 9 or 10 stands for.

    Args:
        interp: 9 takes bicubic for enlarging, area for shrinking, bilinear for both at once; 10 draws one.
        sizes: old height and width, new height and width; may be empty.
    """
    if interp == _AT_RANDOM:
        return random.randint(0, 4)
    if interp == _BY_SIZE:
        if not sizes:
            return _BICUBIC
        height, width, new_height, new_width = sizes
        if new_height > height and new_width > width:
            return _BICUBIC
        return _AREA if new_height < height and new_width < width else _BILINEAR
    if interp not in range(5):
        raise ImageArgumentError(f"Unknown interp method {interp}; wanted 0 to 4, 9 or 10")
    return interp


def imresize(src: Any, w: int, h: int, interp: int = 1, out: Any = None) -> Any:
    """Resize an image.

    Args:
        src: ``(height, width, channels)``; uint8, float32 or float64.
        w: width of the result.
        h: height of the result.
        interp: 0 nearest, 1 bilinear, 2 bicubic, 3 area, 4 Lanczos.
        out: an array to write to, or None.

    Returns:
        ``(h, w, channels)``, of the same dtype.
    """
    return deliver(resample.resize(src.asnumpy(), int(w), int(h), int(interp)), out, src.context)


def copyMakeBorder(
    src: Any, top: int, bot: int, left: int, right: int, type: int = 0, value: float = 0.0,
    values: Sequence[float] = (), out: Any = None,
) -> Any:  # fmt: skip
    """Pad an image.

    Args:
        src: ``(height, width, channels)``.
        top, bot, left, right: pixels to add on each side.
        type: OpenCV's number: 0 constant, 1 replicate, 2 reflect, 3 wrap, 4 reflect without the edge.
        value: the constant of the first three channels.
        values: a constant for each channel; goes before ``value``.
        out: an array to write to, or None.

    Returns:
        The padded image.
    """
    fill = tuple(values) or (value,) * 3
    sides = (int(top), int(bot), int(left), int(right))
    return deliver(resample.border(src.asnumpy(), sides, int(type), fill), out, src.context)


def scale_down(src_size: tuple[int, int], size: tuple[float, float]) -> tuple[int, int]:
    """Shrink a wanted size, at its own proportions, until it fits into an image.

    Args:
        src_size: width and height of the image.
        size: wanted width and height.

    Returns:
        Width and height.

    >>> scale_down((640, 480), (720, 120))
    (640, 106)
    """
    (room_w, room_h), (width, height) = src_size, size
    if height > room_h:
        width, height = float(width * room_h) / height, room_h
    if width > room_w:
        width, height = room_w, float(height * room_w) / width
    return int(width), int(height)


def resize_short(src: Any, size: int, interp: int = 2) -> Any:
    """Resize an image so that its shorter side has a length.

    Args:
        src: ``(height, width, channels)``.
        size: length of the shorter side.
        interp: see imresize; 9 chooses by the sizes, 10 at random.

    Returns:
        The resized image.
    """
    height, width = src.shape[:2]
    short = min(height, width)
    new_height, new_width = size * height // short, size * width // short
    method = choose_interpolation(interp, (height, width, new_height, new_width))
    return imresize(src, new_width, new_height, interp=method)


def fixed_crop(src: Any, x0: int, y0: int, w: int, h: int, size: tuple[int, int] | None = None, interp: int = 2) -> Any:
    """Cut out a rectangle and optionally resize it.

    Args:
        src: ``(height, width, channels)``.
        x0, y0: upper left corner.
        w, h: width and height of the rectangle.
        size: width and height of the result, or None.
        interp: see imresize; 9 chooses by the sizes, 10 at random.

    Returns:
        The cut image.
    """
    rows, columns = slice(y0, y0 + h), slice(x0, x0 + w)
    resizes = size is not None and (w, h) != tuple(size)
    if autograd.is_recording() and not resizes:
        return src[rows, columns]
    # Cut in NumPy: every rectangle is another shape, which is not worth a program of its own.
    part = src.asnumpy()[rows, columns]
    if size is not None and resizes:
        method = choose_interpolation(interp, (h, w, size[1], size[0]))
        part = resample.resize(part, int(size[0]), int(size[1]), method)
    return wrap(np.ascontiguousarray(part), src.context)


def random_crop(src: Any, size: tuple[int, int], interp: int = 2) -> tuple[Any, Box]:
    """Cut out a random rectangle; where the image is smaller, a smaller one that is then enlarged.

    Args:
        src: ``(height, width, channels)``.
        size: width and height of the result.
        interp: see imresize.

    Returns:
        The image, and where it was: x, y, width, height.
    """
    height, width = src.shape[:2]
    box_w, box_h = scale_down((width, height), size)
    box = (random.randint(0, width - box_w), random.randint(0, height - box_h), box_w, box_h)
    return fixed_crop(src, *box, size, interp), box


def center_crop(src: Any, size: tuple[int, int], interp: int = 2) -> tuple[Any, Box]:
    """Cut out the middle; where the image is smaller, a smaller part that is then enlarged.

    Args:
        src: ``(height, width, channels)``.
        size: width and height of the result.
        interp: see imresize.

    Returns:
        The image, and where it was: x, y, width, height.
    """
    height, width = src.shape[:2]
    box_w, box_h = scale_down((width, height), size)
    box = ((width - box_w) // 2, (height - box_h) // 2, box_w, box_h)
    return fixed_crop(src, *box, size, interp), box


def _drawn_sizes(pixels: int, area: tuple[float, float], ratio: tuple[float, float]) -> Iterator[tuple[int, int]]:
    """Widths and heights of ten random rectangles; the caller draws in between, as MXNet does."""
    low, high = math.log(ratio[0]), math.log(ratio[1])
    for _ in range(10):
        target = random.uniform(*area) * pixels
        proportion = math.exp(random.uniform(low, high))
        yield round(math.sqrt(target * proportion)), round(math.sqrt(target / proportion))


def take_area(name: str, area: Any, old: dict[str, Any]) -> Any:
    """Return the area of a crop, which an older keyword may give."""
    if "min_area" in old:
        warnings.warn("`min_area` is deprecated. Please use `area` instead.", DeprecationWarning, stacklevel=3)
        area = old.pop("min_area")
    if old:
        raise ImageArgumentError(f"{name}: unexpected keyword arguments {sorted(old)}")
    return area


def random_size_crop(
    src: Any, size: tuple[int, int], area: Any, ratio: tuple[float, float], interp: int = 2, **kwargs: Any
) -> tuple[Any, Box]:
    """Cut out a rectangle of random area and proportions and resize it.

    Args:
        src: ``(height, width, channels)``.
        size: width and height of the result.
        area: least part of the image's area, or least and greatest.
        ratio: least and greatest width / height.
        interp: see imresize.
        **kwargs: ``min_area``, the older name of ``area``.

    Returns:
        The image, and where it was: x, y, width, height.
    """
    area = take_area("random_size_crop", area, kwargs)
    bounds = (area, 1.0) if isinstance(area, Number) else tuple(area)
    height, width = src.shape[:2]
    for box_w, box_h in _drawn_sizes(height * width, bounds, ratio):  # pyright: ignore[reportArgumentType]
        if box_w <= width and box_h <= height:
            box = (random.randint(0, width - box_w), random.randint(0, height - box_h), box_w, box_h)
            return fixed_crop(src, *box, size, interp), box
    return center_crop(src, size, interp)
