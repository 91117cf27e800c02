"""``nd.imdecode``, the oldest way to decode a picture."""

from __future__ import annotations

from typing import Any

import numpy as np

from gluonjax._base.errors import OperatorError
from gluonjax._images.codecs import decode
from gluonjax.ndarray import _creation
from gluonjax.ndarray.ndarray import NDArray


def imdecode(
    str_img: Any, clip_rect: tuple[int, int, int, int] = (0, 0, 0, 0), out: NDArray | None = None, index: int = 0,
    channels: int = 3, mean: NDArray | None = None,
) -> NDArray:  # fmt: skip
    """Decode a picture to planes. Use ``mx.image.imdecode`` in new programs.

    (In MXNet 1.9.1 this call is still there but fails for every picture.)

    Args:
        str_img: the bytes of a picture file.
        clip_rect: left, top, right and bottom of the part to take; all of it where right is 0.
        out: ``(n, channels, height, width)`` or ``(channels, height, width)``, to write to.
        index: which of ``out``'s n pictures to write.
        channels: 3 for red, green, blue; 1 for gray.
        mean: ``(channels, height, width)`` to subtract.

    Returns:
        float32 ``(channels, height, width)``, or ``out``.
    """
    if channels not in (1, 3):
        raise OperatorError(f"imdecode: channels must be 1 or 3, got {channels}")
    pixels = decode(bytes(str_img), int(channels == 3))
    left, top, right, bottom = clip_rect
    if right or bottom:
        pixels = pixels[top:bottom, left:right]
    planes = pixels.transpose(2, 0, 1).astype(np.float32)
    if mean is not None:
        planes = planes - mean.asnumpy()
    if out is None:
        return _creation.array(planes)
    if out.ndim == 4:
        out[index] = planes
    else:
        out[:] = planes
    return out
