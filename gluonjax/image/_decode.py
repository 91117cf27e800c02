"""Encoded pictures (JPEG, PNG, BMP, ...) to arrays."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from gluonjax import ndarray as nd
from gluonjax._base.errors import MXNetError, OperatorError
from gluonjax._images.codecs import decode
from gluonjax.context import Context, cpu
from gluonjax.image._errors import ImageArgumentError
from gluonjax.util import is_np_array


def wrap(pixels: np.ndarray, ctx: Context | None = None) -> Any:
    """Return pixels as an array of the kind that is in force: ``mx.nd``, or ``mx.np`` in NumPy mode."""
    if is_np_array():
        from gluonjax import numpy as mx_np

        return mx_np.array(pixels, dtype=pixels.dtype, ctx=ctx)
    return nd.array(pixels, ctx=ctx, dtype=pixels.dtype)


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
