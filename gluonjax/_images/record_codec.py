"""Pictures as records hold them: encoding and decoding to what a file has, in OpenCV's order of colours.

With cv2 where it is installed, as MXNet does it, else with Pillow.
"""

from __future__ import annotations

import functools
import importlib
from io import BytesIO
from types import ModuleType
from typing import Any

import numpy as np

from gluonjax._base.errors import MXNetError, OperatorError


def encode_picture(array: np.ndarray, quality: int, img_fmt: str) -> bytes:
    """Encode pixels, ``(height, width)`` or ``(height, width, channels)``, to the bytes of a picture file."""
    cv2 = _optional("cv2")
    return _encode_cv2(cv2, array, quality, img_fmt) if cv2 else _encode_pillow(array, quality, img_fmt)


def decode_picture(data: bytes, iscolor: int) -> np.ndarray | None:
    """Decode a picture file: ``iscolor`` 1 for colour, 0 for gray, -1 for what it has. None where it is no picture."""
    cv2 = _optional("cv2")
    return _decode_cv2(cv2, data, iscolor) if cv2 else _decode_pillow(data, iscolor)


_JPEG, _PNG = (".jpg", ".jpeg"), (".png",)


@functools.cache
def _optional(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _pillow() -> ModuleType:
    image = _optional("PIL.Image")
    if image is None:
        raise MXNetError(
            'recordio: encoding and decoding images needs Pillow (or OpenCV); pip install "gluonjax[image]"'
        )
    return image


def _encode_cv2(cv2: ModuleType, array: np.ndarray, quality: int, img_fmt: str) -> bytes:
    options = []
    if img_fmt.lower() in _JPEG:
        options = [cv2.IMWRITE_JPEG_QUALITY, quality]
    elif img_fmt.lower() in _PNG:
        options = [cv2.IMWRITE_PNG_COMPRESSION, min(max(quality, 0), 9)]
    try:
        done, data = cv2.imencode(img_fmt, array, options)
    except cv2.error as error:
        raise OperatorError(
            f"pack_img: OpenCV cannot write {array.dtype} of shape {array.shape} as {img_fmt!r}: {error.err}"
        ) from None
    if not done:
        raise MXNetError(f"pack_img: OpenCV failed to encode {array.shape} {array.dtype} as {img_fmt!r}")
    return data.tobytes()


def _decode_cv2(cv2: ModuleType, data: bytes, iscolor: int) -> np.ndarray | None:
    try:
        return cv2.imdecode(np.frombuffer(data, np.uint8), iscolor)
    except cv2.error:
        return None


def _encode_pillow(array: np.ndarray, quality: int, img_fmt: str) -> bytes:
    pillow = _pillow()
    kinds = pillow.registered_extensions()
    kind = kinds.get(img_fmt.lower())
    if kind not in pillow.SAVE:
        raise OperatorError(f"pack_img: Pillow cannot write {img_fmt!r}; use '.jpg' or '.png'")
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if array.dtype == np.uint16 and kind == "PNG":
        if array.ndim == 3:
            raise OperatorError(
                f"pack_img: Pillow writes uint16 for grey images only, got shape {array.shape}; install OpenCV, or "
                "pass uint8"
            )
    elif array.dtype != np.uint8:
        # As OpenCV does with what a format cannot hold.
        array = np.clip(np.rint(array), 0, 255).astype(np.uint8)
    if array.ndim == 3:
        order = [2, 1, 0, 3] if array.shape[2] == 4 and kind != "JPEG" else [2, 1, 0]  # JPEG has no alpha
        array = array[:, :, order]
    options = {"JPEG": {"quality": quality}, "PNG": {"compress_level": min(max(quality, 0), 9)}}.get(kind, {})
    stream = BytesIO()
    pillow.fromarray(np.ascontiguousarray(array)).save(stream, kind, **options)
    return stream.getvalue()


def _decode_pillow(data: bytes, iscolor: int) -> np.ndarray | None:
    pillow = _pillow()
    try:
        with pillow.open(BytesIO(data)) as image:
            if iscolor == 0:
                # A JPEG gives its brightness plane as it is stored, as OpenCV does.
                image.draft("L", image.size)
            image.load()
            if iscolor >= 0:
                # Only an image asked for "as it is" keeps its rotation tag unheeded.
                image = importlib.import_module("PIL.ImageOps").exif_transpose(image)
            return _pixels(image, iscolor)
    except (OSError, SyntaxError, pillow.DecompressionBombError):
        return None


def _pixels(image: Any, iscolor: int) -> np.ndarray:
    """A Pillow image as an array in OpenCV's order of colours."""
    if image.mode.startswith("I"):
        deep = np.asarray(image).astype(np.uint16)
        if iscolor < 0:
            return deep
        grey = (deep >> 8).astype(np.uint8)
        return np.repeat(grey[:, :, None], 3, 2) if iscolor else grey
    if iscolor < 0:
        alpha = image.mode in ("LA", "PA", "RGBA", "La", "RGBa") or "transparency" in image.info
        mode = "RGBA" if alpha else "L" if image.mode in ("1", "L") else "RGB"
    else:
        mode = "RGB" if iscolor else "L"
    array = np.asarray(image if image.mode == mode else image.convert(mode))
    if mode == "L":
        return array.copy()
    return np.ascontiguousarray(array[:, :, [2, 1, 0, 3][: array.shape[2]]])
