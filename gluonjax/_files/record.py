"""The RecordIO format: how one record of bytes lies in a file. Framing only; what is inside is not looked at.

Layout of one part, little-endian (MXNet 1.9.1 writes the same bytes)::

    u32 0xCED7230A | u32 (kind << 29 | length) | length bytes | zeros up to a multiple of 4

A reader that starts anywhere finds the next record by its magic number, so the number must not occur at a
multiple of 4 inside the data. Where it does, the record is cut there: the four bytes are left out, and the reader
puts them back between the parts. ``kind`` is 0 for a whole record, and 1, 2, ..., 2, 3 for the parts of a cut one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

from gluonjax._base.errors import MXNetError

MAGIC = 0xCED7230A
MAGIC_BYTES = struct.pack("<I", MAGIC)
MAX_LENGTH = (1 << 29) - 1

WHOLE, FIRST, MIDDLE, LAST = 0, 1, 2, 3
_KINDS = {WHOLE: "a whole record", FIRST: "a first part", MIDDLE: "a middle part", LAST: "a last part"}


def _cuts(data: bytes) -> Iterator[int]:
    """Offsets in ``data``, multiples of 4, where the magic number stands."""
    at = data.find(MAGIC_BYTES)
    while at >= 0:
        if at % 4:
            at = data.find(MAGIC_BYTES, at + 1)
        else:
            yield at
            at = data.find(MAGIC_BYTES, at + 4)


def _part(kind: int, data: bytes) -> bytes:
    return MAGIC_BYTES + struct.pack("<I", kind << 29 | len(data)) + data


def frame_record(data: bytes) -> bytes:
    """The bytes that stand for one record in a file; their number is a multiple of 4.

    >>> frame_record(b"hello").hex(" ", 4)
    '0a23d7ce 05000000 68656c6c 6f000000'
    >>> frame_record(b"abcd" + MAGIC_BYTES + b"efgh").hex(" ", 4)
    '0a23d7ce 04000020 61626364 0a23d7ce 04000060 65666768'
    """
    if len(data) > MAX_LENGTH:
        raise MXNetError(
            f"RecordIO: a record of {len(data)} bytes is too long; wanted at most {MAX_LENGTH} (2**29 - 1): "
            "split it into several records"
        )
    padding = bytes(-len(data) % 4)
    pieces, start = [], 0
    for cut in _cuts(data):
        pieces.append(_part(MIDDLE if pieces else FIRST, data[start:cut]))
        start = cut + 4
    pieces.append(_part(LAST if pieces else WHOLE, data[start:]))
    return b"".join([*pieces, padding])


def read_record(stream: BinaryIO, name: str = "RecordIO data") -> bytes | None:
    """Read the record at the stream's position.

    Args:
        stream: a seekable binary stream, standing where a record begins.
        name: what to call it in errors.

    Returns:
        The record, or None at the end of the stream.

    >>> import io
    >>> stream = io.BytesIO(frame_record(b"one") + frame_record(b"three"))
    >>> read_record(stream), read_record(stream), read_record(stream)
    (b'one', b'three', None)
    """
    begin = stream.tell()

    def damaged(text: str) -> MXNetError:
        return MXNetError(f"Invalid RecordIO File: {name}: the record at byte {begin}: {text}")

    pieces: list[bytes] = []
    while True:
        at = stream.tell()
        header = stream.read(8)
        if not header and not pieces:
            return None
        if len(header) < 8:
            raise damaged(f"a header of 8 bytes is expected at byte {at}, {len(header)} are left: truncated")
        magic, word = struct.unpack("<II", header)
        kind, length = word >> 29, word & MAX_LENGTH
        if magic != MAGIC:
            raise damaged(f"expected the magic number 0x{MAGIC:08x} at byte {at}, found 0x{magic:08x}")
        if kind not in ((MIDDLE, LAST) if pieces else (WHOLE, FIRST)):
            wanted = "the next part of this record" if pieces else "the beginning of a record"
            raise damaged(f"expected {wanted} at byte {at}, found {_KINDS.get(kind, f'the unknown kind {kind}')}")
        padded = length + -length % 4
        data = stream.read(padded)
        if len(data) < padded:
            raise damaged(f"{padded} bytes are expected at byte {at + 8}, {len(data)} are left: truncated")
        pieces.append(data[:length])
        if kind in (WHOLE, LAST):
            return MAGIC_BYTES.join(pieces)
