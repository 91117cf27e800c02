"""Resizing and padding of pixels in NumPy, by OpenCV's rules; cv2 itself does it where it is installed."""

from __future__ import annotations

import numpy as np

from gluonjax._base.errors import OperatorError
from gluonjax._images.codecs import opencv
from gluonjax._ops.contrib import _image_taps as taps

# OpenCV's weights for 8-bit pixels are whole numbers of this many bits.
_BITS = 11
# INTER_LINEAR_EXACT, OpenCV's bilinear without its rounding of weights.
_LINEAR_EXACT = 5
_DTYPES = ("uint8", "float32", "float64")
# cv2.BORDER_*: constant, replicate, reflect, wrap, reflect 101; NumPy's names of the same rules.
_BORDERS = ("constant", "edge", "symmetric", "wrap", "reflect")


def _mix(pixels: np.ndarray, axis: int, index: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Weighted sums of pixels along one axis; ``index`` and ``weight`` are (target, taps)."""
    shape = [1, 1, 1]
    shape[axis] = -1
    total = pixels.take(index[:, 0], axis) * weight[:, 0].reshape(shape)
    for number in range(1, index.shape[1]):
        total += pixels.take(index[:, number], axis) * weight[:, number].reshape(shape)
    return total


def _whole(weight: np.ndarray) -> np.ndarray:
    return np.rint(weight.astype(np.float64) * (1 << _BITS)).astype(np.int32)


def _mix_bytes(pixels: np.ndarray, rows: taps.Taps, columns: taps.Taps) -> np.ndarray:
    wide = _mix(pixels.astype(np.int32), 1, columns[0], _whole(columns[1]))
    weight = _whole(rows[1])
    if weight.shape[1] > 2:
        value = (_mix(wide, 0, rows[0], weight) + (1 << (2 * _BITS - 1))) >> (2 * _BITS)
    else:
        # Two taps: OpenCV drops bits before and after the second product.
        short = wide >> 4
        upper, lower = ((short.take(rows[0][:, side], 0) * weight[:, side, None, None]) >> 16 for side in range(2))
        value = (upper + lower + 2) >> 2
    return np.clip(value, 0, 255).astype(np.uint8)


def _shrink(pixels: np.ndarray, height: int, width: int) -> np.ndarray:
    rows, columns, channels = pixels.shape
    wide = np.promote_types(pixels.dtype, np.float32)
    upright = taps.area_matrix(rows, height).astype(wide) @ pixels.astype(wide).reshape(rows, -1)
    across = taps.area_matrix(columns, width).astype(wide)
    mixed = np.matmul(across, upright.reshape(height, columns, channels))
    if pixels.dtype != np.uint8:
        return mixed.astype(pixels.dtype)
    halves = (rows, columns) == (2 * height, 2 * width)
    return (np.floor(mixed + 0.5) if halves else np.rint(mixed)).astype(np.uint8)


def _resize_numpy(pixels: np.ndarray, width: int, height: int, interp: int) -> np.ndarray:
    method = taps.LINEAR if interp == _LINEAR_EXACT else interp
    rows, columns = pixels.shape[:2]
    shrinks = rows >= height and columns >= width
    # OpenCV halves by averages even where it is asked for bilinear interpolation.
    halves = method == taps.LINEAR and (rows, columns) == (2 * height, 2 * width)
    if (method == taps.AREA and shrinks) or halves:
        return _shrink(pixels, height, width)
    of_rows, of_columns = taps.taps(rows, height, method, of_rows=True), taps.taps(columns, width, method)
    if method == taps.NEAREST:
        return pixels.take(of_rows[0][:, 0], 0).take(of_columns[0][:, 0], 1)
    if pixels.dtype == np.uint8:
        return _mix_bytes(pixels, of_rows, of_columns)
    return _mix(_mix(pixels, 1, *of_columns), 0, *of_rows).astype(pixels.dtype)


def _plain(pixels: np.ndarray) -> bool:
    """cv2 takes up to 4 channels in every method."""
    return 1 <= pixels.shape[2] <= 4 and pixels.size > 0


def resize(pixels: np.ndarray, width: int, height: int, interp: int = 1) -> np.ndarray:
    """Resize ``(height, width, channels)`` pixels.

    Args:
        pixels: uint8, float32 or float64; other whole numbers for the nearest pixel only.
        width: of the result.
        height: of the result.
        interp: 0 nearest, 1 bilinear, 2 bicubic, 3 area, 4 Lanczos (as cv2 numbers them).

    Returns:
        ``(height, width, channels)`` of the same dtype.
    """
    if pixels.ndim != 3:
        raise OperatorError(
            f"imresize: inferring shapes failed: got shape {pixels.shape}, wanted (height, width, channels)"
        )
    if width < 1 or height < 1:
        raise OperatorError(f"imresize: w and h should be greater equal to 1, got w={width}, h={height}")
    if pixels.dtype == np.float16:
        raise OperatorError("imresize: opencv image mat doesn't support fp16; cast to float32 first")
    # MXNet copies where nothing is to be done, whatever the method is.
    if pixels.shape[:2] == (height, width):
        return pixels.copy()
    if not 0 <= interp <= _LINEAR_EXACT:
        raise OperatorError(f"imresize: Unknown interpolation method {interp}, wanted 0 to 4")
    if pixels.size == 0:
        raise OperatorError(f"imresize: the image is empty, shape {pixels.shape}")
    if interp != taps.NEAREST and pixels.dtype not in _DTYPES:
        raise OperatorError(
            f"imresize: takes uint8, float32 or float64 images, got {pixels.dtype}; convert with .astype, or "
            "take interp=0"
        )
    cv2 = opencv()
    if cv2 is None or not _plain(pixels) or pixels.dtype not in _DTYPES:
        return _resize_numpy(pixels, width, height, interp)
    resized = cv2.resize(np.ascontiguousarray(pixels), (width, height), interpolation=interp)
    return resized.reshape(height, width, pixels.shape[2])


def border(pixels: np.ndarray, sides: tuple[int, int, int, int], kind: int, values: tuple[float, ...]) -> np.ndarray:
    """Pad pixels.

    Args:
        pixels: ``(height, width, channels)``.
        sides: rows on top and at the bottom, columns on the left and on the right.
        kind: cv2's BORDER number, 0 to 4.
        values: the filling of each channel, for kind 0.

    Returns:
        The padded pixels, of the same dtype.
    """
    if pixels.ndim != 3:
        raise OperatorError(f"copyMakeBorder: got shape {pixels.shape}, wanted (height, width, channels)")
    if not 0 <= kind < len(_BORDERS):
        raise OperatorError(f"copyMakeBorder: Unknown/unsupported border type {kind}, wanted 0 to 4")
    if min(sides) < 0:
        raise OperatorError(f"copyMakeBorder: margins must not be negative, got {sides}")
    top, bottom, left, right = sides
    margins = ((top, bottom), (left, right), (0, 0))
    if kind:
        return np.pad(pixels, margins, mode=_BORDERS[kind])
    height, width, channels = pixels.shape
    fill = np.zeros(channels, np.float64)
    fill[: len(values)] = values[:channels]
    if pixels.dtype.kind in "iu":
        limits = np.iinfo(pixels.dtype)
        fill = np.clip(np.rint(fill), limits.min, limits.max)
    padded = np.empty((height + top + bottom, width + left + right, channels), pixels.dtype)
    padded[:] = fill.astype(pixels.dtype)
    padded[top : top + height, left : left + width] = pixels
    return padded
