"""Affine maps of pixels: rotation, shear, scale and aspect ratio at once."""

from __future__ import annotations

import importlib

import numpy as np

from gluonjax._images.codecs import opencv

_PILLOW_METHODS = {0: 0, 1: 2, 2: 3, 3: 2, 4: 3}
# There is no average over an area in a warp; OpenCV takes the bilinear method for it.
_MAPPED_METHODS = {1: 1, 2: 2, 3: 1, 4: 4}
# cv2's maps of this kind hold 16-bit places.
_MOST_PIXELS = 1 << 15
# Coordinates are computed in steps of 1/1024 and kept in steps of 1/32.
_FINE, _STEPS = 1024, 32


def _inverse(matrix: np.ndarray) -> np.ndarray:
    (a, b, c), (d, e, f) = matrix.astype(np.float64)
    determinant = a * e - b * d
    scale = 1 / determinant if determinant else 0.0
    a, b, d, e = e * scale, -b * scale, -d * scale, a * scale
    return np.array([(a, b, -a * c - b * f), (d, e, -d * c - e * f)])


def _rounded_places(matrix: np.ndarray, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
    """Where each pixel of the result comes from: whole parts, and 32nds of y and x in one number."""
    x, y = np.arange(width), np.arange(height)[:, None]
    found = []
    for across, upright, start in _inverse(matrix):
        rows = np.rint((upright * y + start) * _FINE).astype(np.int32) + _FINE // _STEPS // 2
        found.append((rows + np.rint(across * x * _FINE).astype(np.int32)) >> 5)
    to_x, to_y = found
    places = np.stack([to_x >> 5, to_y >> 5], axis=2).clip(-_MOST_PIXELS, _MOST_PIXELS - 1).astype(np.int16)
    return places, ((to_y % _STEPS) * _STEPS + to_x % _STEPS).astype(np.uint16)


def warp_affine(
    pixels: np.ndarray, matrix: np.ndarray, width: int, height: int, interp: int, fill: int
) -> np.ndarray:
    """Map pixels by a matrix.

    Args:
        pixels: uint8 ``(height, width, channels)``.
        matrix: ``(2, 3)``, from a point (x, y, 1) of the picture to its place in the result.
        width, height: of the result.
        interp: as cv2 numbers them, 0 to 4; Pillow's nearest relative without cv2.
        fill: what stands where the picture does not reach.

    Returns:
        ``(height, width, channels)``.
    """
    cv2 = opencv()
    if cv2 is not None and interp != 0 and max(*pixels.shape[:2], width, height) < _MOST_PIXELS:
        # MXNet's OpenCV rounds coordinates to a 32nd of a pixel, which newer ones do not; a map of such is exact.
        places, parts = _rounded_places(matrix, width, height)
        warped = cv2.remap(
            np.ascontiguousarray(pixels), places, parts, _MAPPED_METHODS[interp], borderMode=cv2.BORDER_CONSTANT,
            borderValue=(fill,) * 4,
        )  # fmt: skip
        return warped.reshape(height, width, pixels.shape[2])
    pillow = importlib.import_module("PIL.Image")
    square = np.vstack([matrix.astype(np.float64), [0, 0, 1]])
    back = np.linalg.inv(square)
    # Pillow's points are the corners of pixels, cv2's are their middles.
    half = np.array([[1, 0, 0.5], [0, 1, 0.5], [0, 0, 1]])
    coefficients = (half @ back @ np.linalg.inv(half))[:2].ravel().tolist()
    planes = [
        np.asarray(
            pillow.fromarray(np.ascontiguousarray(pixels[:, :, k])).transform(
                (width, height), 0, coefficients, resample=_PILLOW_METHODS[interp], fillcolor=fill
            )
        )
        for k in range(pixels.shape[2])
    ]
    return np.stack(planes, axis=2)
