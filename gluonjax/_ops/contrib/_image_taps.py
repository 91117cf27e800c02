"""How OpenCV resizes: which pixels each output pixel mixes, for each of its interpolation methods."""

from __future__ import annotations

import numpy as np

NEAREST, LINEAR, CUBIC, AREA, LANCZOS = range(5)
Taps = tuple[np.ndarray, np.ndarray]

# The slope of OpenCV's cubic at distance 1.
_SLOPE = -0.75


def _scale(size: int, target: int) -> float:
    """Pixels for an output pixel; inverted from the growth, as OpenCV rounds it: pixel borders depend on that."""
    return 1 / (target / size)


def _positions(size: int, target: int) -> tuple[np.ndarray, np.ndarray]:
    """The pixel to the left of each output pixel's center, and the distance from it (float32)."""
    place = ((np.arange(target) + 0.5) * (_scale(size, target)) - 0.5).astype(np.float32)
    left = np.floor(place).astype(np.int64)
    return left, (place - left).astype(np.float32)


def _spread(left: np.ndarray, first: int, weights: list[np.ndarray], size: int) -> Taps:
    index = left[:, None] + np.arange(first, first + len(weights))
    return np.clip(index, 0, size - 1), np.stack(weights, axis=1)


def _linear(size: int, target: int, for_area: bool, of_rows: bool) -> Taps:
    if for_area:
        left = np.floor(np.arange(target) * (_scale(size, target))).astype(np.int64)
        rest = ((np.arange(target) + 1) - (left + 1) * (target / size)).astype(np.float32)
        rest = np.where(rest <= 0, 0, rest - np.floor(rest)).astype(np.float32)
    else:
        left, rest = _positions(size, target)
    if not of_rows:  # OpenCV splits a border row into two equal taps, which rounds otherwise, but not a border column
        outside = (left < 0) | (left >= size - 1)
        left = np.clip(left, 0, size - 1)
        rest = np.where(outside, np.float32(0), rest)
    return _spread(left, 0, [1 - rest, rest], size)


def _cubic(size: int, target: int) -> Taps:
    left, x = _positions(size, target)
    a = np.float32(_SLOPE)
    outer = ((a * (x + 1) - 5 * a) * (x + 1) + 8 * a) * (x + 1) - 4 * a
    inner = ((a + 2) * x - (a + 3)) * x * x + 1
    other = ((a + 2) * (1 - x) - (a + 3)) * (1 - x) * (1 - x) + 1
    return _spread(left, -1, [outer, inner, other, 1 - outer - inner - other], size)


def _lanczos(size: int, target: int) -> Taps:
    left, x = _positions(size, target)
    distance = x[:, None].astype(np.float64) + 3 - np.arange(8)
    weights = np.sinc(distance) * np.sinc(distance / 4)
    weights = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
    return _spread(left, -3, list(weights.T), size)


def taps(size: int, target: int, method: int, of_rows: bool = False) -> Taps:
    """``(target, taps)`` pixel numbers and weights of a method that looks at a fixed number of pixels."""
    if method == NEAREST:
        index = np.minimum(np.floor(np.arange(target) * (_scale(size, target))).astype(np.int64), size - 1)
        return index[:, None], np.ones((target, 1), np.float32)
    if method == CUBIC:
        return _cubic(size, target)
    if method == LANCZOS:
        return _lanczos(size, target)
    return _linear(size, target, method == AREA, of_rows)


def area_matrix(size: int, target: int) -> np.ndarray:
    """``(target, size)``: by how much each pixel is covered by each output pixel, for shrinking."""
    scale = _scale(size, target)
    start = np.arange(target)[:, None] * scale
    end = np.minimum(start + scale, size)
    pixel = np.arange(size)
    covered = np.clip(np.minimum(end, pixel + 1) - np.maximum(start, pixel), 0, None)
    # OpenCV leaves slivers out.
    covered = np.where(covered > 1e-3, covered, 0)
    return (covered / np.minimum(scale, size - start)).astype(np.float32)
