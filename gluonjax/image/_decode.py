"""Encoded pictures (JPEG, PNG, BMP, ...) to arrays of pixels, with cv2 where it is installed, else with Pillow."""

from __future__ import annotations

import functools
import importlib
import io
import os
from typing import Any

import numpy as np

from gluonjax import ndarray as nd
from gluonjax._base.errors import MXNetError, OperatorError
from gluonjax.context import Context, cpu
from gluonjax.image._errors import ImageArgumentError
from gluonjax.util import is_np_array

_HINT = 'neither Pillow nor cv2 is installed; install one: pip install "gluonjax[image]"'


@functools.cache
def opencv() -> Any:
    """Return the module cv2, or None where it is not installed."""
    try:
        return importlib.import_module("cv2")
    except ImportError:
        return None


def wrap(pixels: np.ndarray, ctx: Context | None = None) -> Any:
    """Return pixels as an array of the kind that is in force: ``mx.nd``, or ``mx.np`` in NumPy mode."""
    if is_np_array():
        from gluonjax import numpy as mx_np

        return mx_np.array(pixels, dtype=pixels.dtype, ctx=ctx)
    return nd.array(pixels, ctx=ctx, dtype=pixels.dtype)


def _gray(pixels: np.ndarray, kind: str) -> np.ndarray:
    """The gray values of ``(height, width, 3)`` RGB pixels, as OpenCV makes them of a file of this kind."""
    # PNG's library has finer weights and cuts off; OpenCV's own has 14 bits and rounds.
    weights, half, bits = ((9798, 19235, 3735), 0, 15) if kind == "PNG" else ((4899, 9617, 1868), 1 << 13, 14)
    return ((pixels.astype(np.int32) @ np.array(weights, np.int32) + half) >> bits).astype(np.uint8)


def _with_opencv(cv2: Any, data: bytes, color: bool) -> np.ndarray | None:
    kind = cv2.IMREAD_COLOR if color else cv2.IMREAD_GRAYSCALE
    try:
        # The camera's orientation mark is left alone, as MXNet does.
        pixels = cv2.imdecode(np.frombuffer(data, np.uint8), kind | cv2.IMREAD_IGNORE_ORIENTATION)
    except cv2.error:
        return None
    if pixels is None:
        return None
    return pixels[:, :, ::-1] if color else pixels


def _with_pillow(data: bytes, color: bool) -> np.ndarray | None:
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
    color = bool(int(flag))
    cv2 = opencv()
    pixels = _with_pillow(data, color) if cv2 is None else _with_opencv(cv2, data, color)
    if pixels is None:
        start = data[:12]
        raise OperatorError(
            f"imdecode: Decoding failed. Invalid image file. ({len(data)} bytes that start with {start!r})"
        )
    if not color:
        return np.ascontiguousarray(pixels[:, :, None])
    return np.ascontiguousarray(pixels if to_rgb else pixels[:, :, ::-1])


def imdecode(buf: Any, flag: int = 1, to_rgb: bool = True, out: Any = None) -> Any:
    """Decode a picture.

    Args:
        buf: the bytes of a picture file: bytes, bytearray, or a uint8 array of NumPy or ours.
        flag: 1 for colour, 0 for gray.
        to_rgb: the order of the channels: RGB, or BGR where False.
        out: an array to write to, or None.

    Returns:
        uint8 array ``(height, width, channels)``.
    """
    if isinstance(buf, nd.NDArray):
        buf = buf.asnumpy()
        if buf.dtype != np.uint8:
            raise OperatorError(f"imdecode: Input needs to be uint8 buffer, got {buf.dtype}")
    if not isinstance(buf, (bytes, bytearray, np.ndarray)):
        raise ImageArgumentError(
            f"imdecode: buf must be of type bytes, bytearray or numpy.ndarray, got {type(buf).__name__}; "
            "turn a str into bytes, read a file with imread"
        )
    # MXNet decodes to the CPU, whatever the current context.
    return deliver(decode(bytes(buf), flag, to_rgb), out, cpu())


def deliver(pixels: np.ndarray, out: Any, ctx: Context) -> Any:
    """Return pixels as an array, or written to ``out``."""
    result = wrap(pixels, ctx)
    if out is None:
        return result
    out[:] = result
    return out


def imread(filename: str | os.PathLike[str], flag: int = 1, to_rgb: bool = True, out: Any = None) -> Any:
    """Read and decode a picture file.

    Args:
        filename: path of the file.
        flag: 1 for colour, 0 for gray.
        to_rgb: the order of the channels: RGB, or BGR where False.
        out: an array to write to, or None.

    Returns:
        uint8 array ``(height, width, channels)``.
    """
    try:
        with open(filename, "rb") as file:
            data = file.read()
    except OSError as error:
        raise MXNetError(f"imread: '{filename}' couldn't open file: {error.strerror}") from error
    try:
        return deliver(decode(data, flag, to_rgb), out, cpu())
    except OperatorError as error:
        raise OperatorError(f"imread: {filename}: {error}") from None
