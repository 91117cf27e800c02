"""The IDX format of the MNIST files: big-endian header, raw values, plain or gzip-compressed."""

from __future__ import annotations

import gzip
import math
import os
import struct
import zlib

import numpy as np

from gluonjax._base.errors import MXNetError

_DTYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(data: bytes, name: str = "IDX data") -> np.ndarray:
    """Read an IDX file's bytes into an array of the machine's byte order.

    Args:
        data: the file, not compressed.
        name: what to call it in errors.

    >>> read_idx(bytes([0, 0, 8, 1, 0, 0, 0, 2, 5, 7]))
    array([5, 7], dtype=uint8)
    """
    if len(data) < 4 or data[0] or data[1] or data[2] not in _DTYPES:
        raise MXNetError(
            f"{name}: expected an IDX header (00 00, type, dimensions), found {data[:4].hex(' ')!r}"
        )
    count = data[3]
    if len(data) < 4 + 4 * count:
        raise MXNetError(
            f"{name}: the header ends at byte {len(data)}; {count} sizes need {4 + 4 * count} bytes"
        )
    shape = struct.unpack_from(f">{count}I", data, 4)
    dtype = np.dtype(_DTYPES[data[2]])
    want, have = math.prod(shape) * dtype.itemsize, len(data) - 4 - 4 * count
    if have < want:
        raise MXNetError(
            f"{name}: shape {shape} of {dtype} needs {want} bytes of values, but {have} follow the header"
        )
    values = np.frombuffer(data, dtype, math.prod(shape), 4 + 4 * count).reshape(shape)
    return values.astype(dtype.newbyteorder("="))


def read_idx_file(path: str | os.PathLike[str]) -> np.ndarray:
    """Read an IDX file, gzip-compressed or not (told by its first bytes, not its name)."""
    try:
        with open(path, "rb") as stream:
            data = stream.read()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
    except FileNotFoundError:
        raise MXNetError(f"cannot open {os.fspath(path)!r}: no such file") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise MXNetError(f"{os.fspath(path)!r}: damaged gzip file: {error}") from None
    return read_idx(data, repr(os.fspath(path)))
