"""Changes of colour on ``(height, width, 3)`` uint8 pixels in the order blue, green, red; cv2 where it is installed."""

from __future__ import annotations

import numpy as np

from gluonjax._images.codecs import opencv

# Greatest values of hue, lightness and saturation as 8-bit pixels hold them: a hue is half an angle.
HLS_LIMITS = (180, 255, 255)
_LEVELS = np.arange(256, dtype=np.float32)


def apply_tables(pixels: np.ndarray, tables: np.ndarray) -> np.ndarray:
    """Replace every value by what a table says.

    Args:
        pixels: uint8 ``(height, width, channels)``.
        tables: uint8, ``(256,)`` for all channels or ``(256, channels)``.
    """
    cv2 = opencv()
    if cv2 is not None:
        found = cv2.LUT(pixels, tables[None] if tables.ndim == 2 else tables)
        return found.reshape(pixels.shape)
    if tables.ndim == 1:
        return tables[pixels]
    return np.stack([tables[:, k][pixels[:, :, k]] for k in range(pixels.shape[2])], axis=2)


def scaled_table(factor: float, offset: float) -> np.ndarray:
    """The table of ``value * factor + offset``, rounded and held within 0 to 255."""
    return np.clip(np.rint(_LEVELS * np.float32(factor) + np.float32(offset)), 0, 255).astype(np.uint8)


def shifted_tables(offsets: tuple[float, ...], limits: tuple[int, ...] = (255, 255, 255)) -> np.ndarray:
    """The tables of ``value + offset`` for each channel, cut to whole numbers and held within 0 to its limit."""
    columns = [
        np.clip(np.trunc(_LEVELS + np.float32(offset)), 0, limit) for offset, limit in zip(offsets, limits)
    ]
    return np.stack(columns, axis=1).astype(np.uint8)


def gray_of_swapped(pixels: np.ndarray) -> np.ndarray:
    """Gray values with the weights of red and blue exchanged: MXNet's augmenter calls its BGR pixels RGB here."""
    cv2 = opencv()
    if cv2 is not None:
        return cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
    return ((pixels.astype(np.int32) @ np.array((4899, 9617, 1868), np.int32) + (1 << 13)) >> 14).astype(np.uint8)


def mixed(first: np.ndarray, weight: float, second: np.ndarray, other: float) -> np.ndarray:
    """``first * weight + second * other``, rounded and held within 0 to 255; ``second`` may be one plane."""
    planes = second if second.ndim == 3 else np.repeat(second[:, :, None], first.shape[2], axis=2)
    cv2 = opencv()
    if cv2 is not None:
        return cv2.addWeighted(first, weight, planes, other, 0.0)
    total = first.astype(np.float32) * np.float32(weight) + planes.astype(np.float32) * np.float32(other)
    return np.clip(np.rint(total), 0, 255).astype(np.uint8)


def to_hls(pixels: np.ndarray) -> np.ndarray:
    """Hue (0 to 180), lightness and saturation (0 to 255) of BGR pixels, as OpenCV's 8-bit conversion."""
    cv2 = opencv()
    if cv2 is not None:
        return cv2.cvtColor(pixels, cv2.COLOR_BGR2HLS)
    blue, green, red = (pixels[:, :, k].astype(np.float32) / np.float32(255) for k in range(3))
    high, low = np.maximum(np.maximum(blue, green), red), np.minimum(np.minimum(blue, green), red)
    spread, total = high - low, high + low
    with np.errstate(divide="ignore", invalid="ignore"):
        saturation = np.where(total < 1, spread / total, spread / (2 - total))
        sixth = np.select(
            [high == red, high == green],
            [(green - blue) / spread, 2 + (blue - red) / spread],
            4 + (red - green) / spread,
        )
    gray = spread <= np.finfo(np.float32).eps
    hue = np.where(gray, 0, sixth * 30 % 180)
    saturation = np.where(gray, 0, saturation)
    planes = (np.rint(hue) % 180, np.rint(total * 127.5), np.rint(saturation * 255))
    return np.stack(planes, axis=2).astype(np.uint8)


def from_hls(pixels: np.ndarray) -> np.ndarray:
    """The inverse of `to_hls`."""
    cv2 = opencv()
    if cv2 is not None:
        return cv2.cvtColor(pixels, cv2.COLOR_HLS2BGR)
    hue, lightness, saturation = (pixels[:, :, k].astype(np.float32) for k in range(3))
    lightness, saturation = lightness / 255, saturation / 255
    reach = saturation * np.minimum(lightness, 1 - lightness)
    planes = []
    for start in (4, 8, 0):
        # Each colour is a trapezoid over the circle of hues, a third of a turn apart.
        at = (start + hue / 15) % 12
        planes.append(lightness - reach * np.clip(np.minimum(at - 3, 9 - at), -1, 1))
    return np.clip(np.rint(np.stack(planes, axis=2) * 255), 0, 255).astype(np.uint8)
