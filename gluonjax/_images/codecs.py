"""Encoded pictures (JPEG, PNG, BMP, ...) to arrays of pixels.

OpenCV is what MXNet itself decodes, resizes and warps with, and it lets other threads run meanwhile; it is taken
where it is installed. simplejpeg, where installed, decodes JPEG files to the same pixels somewhat faster. Pillow
does it without either, a little slower.
"""

from __future__ import annotations

import functools
import importlib
import io
from typing import Any

import numpy as np

from gluonjax._base.errors import MXNetError, OperatorError

_HINT = 'neither cv2 nor Pillow is installed; install one: pip install "gluonjax[image]"'
_JPEG_START = b"\xff\xd8"


@functools.cache
def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def opencv() -> Any:
    """Return the module cv2, or None where it is not installed."""
    return _module("cv2")


def turbo() -> Any:
    """Return the module simplejpeg, or None where it is not installed."""
    return _module("simplejpeg")


def _gray(pixels: np.ndarray, kind: str) -> np.ndarray:
    """The gray values of ``(height, width, 3)`` RGB pixels, as OpenCV makes them of a file of this kind."""
    # PNG's library has finer weights and cuts off; OpenCV's own has 14 bits and rounds.
    weights, half, bits = ((9798, 19235, 3735), 0, 15) if kind == "PNG" else ((4899, 9617, 1868), 1 << 13, 14)
    return ((pixels.astype(np.int32) @ np.array(weights, np.int32) + half) >> bits).astype(np.uint8)


def _with_turbo(data: Any, order: str) -> np.ndarray | None:
    library = turbo()
    if library is None or bytes(data[:2]) != _JPEG_START:
        return None
    try:
        return library.decode_jpeg(data, order)
    except ValueError:
        # Damaged, or in colours it does not know; the general libraries are more forgiving.
        return None


def _with_opencv(cv2: Any, data: Any, kind: int) -> np.ndarray | None:
    try:
        return cv2.imdecode(np.frombuffer(data, np.uint8), kind)
    except cv2.error:
        return None


def _with_pillow(data: Any, color: bool) -> np.ndarray | None:
    """RGB or gray pixels."""
    try:
        pillow = importlib.import_module("PIL.Image")
    except ImportError:
        raise MXNetError(f"imdecode: {_HINT}") from None
    try:
        with pillow.open(io.BytesIO(data)) as picture:
            if not color and picture.format == "JPEG":
                picture.draft("L", picture.size)  # the brightness channel of the file, as OpenCV takes it
            if picture.mode.startswith("I"):
                deep = np.asarray(picture)
                plane = (deep >> 8).astype(np.uint8)
                return np.stack([plane] * 3, axis=2) if color else plane
            if picture.mode in ("L", "1", "LA") and not color:
                return np.asarray(picture.convert("L"))
            pixels, kind = np.asarray(picture.convert("RGB")), picture.format or ""
    except (OSError, SyntaxError, ValueError):
        return None
    return pixels if color else _gray(pixels, kind)


def decode_pixels(data: Any, order: str) -> np.ndarray | None:
    """Decode; the camera's orientation mark is left alone, as MXNet does.

    Args:
        data: bytes, or a memoryview of them.
        order: "RGB" or "BGR" for three channels, "GRAY" for one.

    Returns:
        uint8 ``(height, width, 3)`` or ``(height, width, 1)``; None where the bytes are no picture.
    """
    color = order != "GRAY"
    pixels = _with_turbo(data, order)
    cv2 = opencv() if pixels is None else None
    if cv2 is not None:
        kind = cv2.IMREAD_COLOR if color else cv2.IMREAD_GRAYSCALE
        pixels = _with_opencv(cv2, data, kind | cv2.IMREAD_IGNORE_ORIENTATION)
        if pixels is not None and order == "RGB":
            pixels = cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB, pixels)
    elif pixels is None:
        pixels = _with_pillow(data, color)
        if pixels is not None and order == "BGR":
            pixels = pixels[:, :, ::-1]
    if pixels is None:
        return None
    return pixels if pixels.ndim == 3 else pixels[:, :, None]


def decode_as_stored(data: Any) -> np.ndarray | None:
    """Decode to the channels that the file has, in the order blue, green, red, alpha.

    Returns:
        uint8 ``(height, width, channels)``; None where the bytes are no picture.
    """
    cv2 = opencv()
    if cv2 is not None:
        pixels = _with_opencv(cv2, data, cv2.IMREAD_UNCHANGED)
    else:
        pixels = _stored_with_pillow(data)
    if pixels is None:
        return None
    if pixels.dtype == np.uint16:
        pixels = (pixels >> 8).astype(np.uint8)
    return pixels if pixels.ndim == 3 else pixels[:, :, None]


def _stored_with_pillow(data: Any) -> np.ndarray | None:
    try:
        pillow = importlib.import_module("PIL.Image")
    except ImportError:
        raise MXNetError(f"imdecode: {_HINT}") from None
    try:
        with pillow.open(io.BytesIO(data)) as picture:
            alpha = picture.mode in ("LA", "PA", "RGBA", "La", "RGBa") or "transparency" in picture.info
            mode = "RGBA" if alpha else "L" if picture.mode in ("1", "L") else "RGB"
            pixels = np.asarray(picture.convert(mode))
    except (OSError, SyntaxError, ValueError):
        return None
    return pixels if pixels.ndim == 2 else pixels[:, :, [2, 1, 0, 3][: pixels.shape[2]]]


def decode(data: bytes, flag: int = 1, to_rgb: bool = True) -> np.ndarray:
    """Return the pixels of an encoded picture.

    Args:
        data: the bytes of a picture file.
        flag: 1 for colour, 0 for gray.
        to_rgb: the order of the channels: RGB, or BGR where False.

    Returns:
        uint8 ``(height, width, 3)``, or ``(height, width, 1)`` for gray.
    """
    if int(flag) not in (0, 1):
        raise OperatorError(f"imdecode: flag must be 0 (gray) or 1 (colour), got {flag}")
    if not data:
        raise OperatorError("imdecode: Input cannot be an empty buffer")
    pixels = decode_pixels(data, ("RGB" if to_rgb else "BGR") if int(flag) else "GRAY")
    if pixels is None:
        start = data[:12]
        raise OperatorError(
            f"imdecode: Decoding failed. Invalid image file. ({len(data)} bytes that start with {start!r})"
        )
    return np.ascontiguousarray(pixels)
