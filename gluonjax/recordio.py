"""``mx.recordio``: files of records, and records that hold a label and an image.

The files are byte for byte those of MXNet. ``MXRecordIO`` goes through a file in order; ``MXIndexedRecordIO`` keeps
a second file, a line ``key<TAB>offset`` for each record, and jumps.
"""

from __future__ import annotations

import numbers
import os
import struct
import threading
from collections.abc import Callable, Sequence
from typing import IO, Any, NamedTuple

import numpy as np

from gluonjax._base.errors import ArgumentTypeError, MXNetError, OperatorError
from gluonjax._files.record import frame_record, read_record
from gluonjax._images.record_codec import decode_picture, encode_picture
from gluonjax.base import c_str, check_call

__all__ = [
    "IRHeader", "MXIndexedRecordIO", "MXRecordIO", "c_str", "check_call", "pack", "pack_img", "unpack", "unpack_img",
]  # fmt: skip


class RecordKeyError(MXNetError, KeyError):
    """A key that the index does not have."""

    def __str__(self) -> str:
        # KeyError would show its message quoted.
        return str(self.args[0])


def _local_path(uri: str | os.PathLike[str]) -> str:
    path = os.fspath(uri).removeprefix("file://")
    if "://" in path:
        raise MXNetError(f"RecordIO: cannot open {path!r}: only local files are read; copy it to disk first")
    return path


class MXRecordIO:
    """A file of records, written or read in order.

    Args:
        uri: path of the file.
        flag: ``"w"`` empties the file and writes, ``"r"`` reads.

    >>> record = MXRecordIO("numbers.rec", "w")
    >>> for text in (b"one", b"two", b"three"):
    ...     record.write(text)
    >>> record.close()
    >>> record = MXRecordIO("numbers.rec", "r")
    >>> record.read(), record.read()
    (b'one', b'two')
    >>> record.reset()
    >>> record.read()
    b'one'
    >>> record.close()
    """

    # Set before anything can fail: __del__ also runs for an object whose __init__ raised.
    is_open = False
    handle: IO[bytes] | None = None

    def __init__(self, uri: str | os.PathLike[str], flag: str) -> None:
        # Calls from several threads come one after the other; a position and the record there belong together.
        self._lock = threading.RLock()
        self._count = 0
        self.uri = _local_path(uri)
        self.flag = flag
        self.pid: int | None = None
        self.writable = False
        self.open()

    def open(self) -> None:
        """Open the file; opening to write empties it."""
        if self.flag not in ("r", "w"):
            raise OperatorError(
                f"{type(self).__name__}: Invalid flag {self.flag!r}; wanted 'r' to read or 'w' to write"
            )
        try:
            self.handle = open(self.uri, self.flag + "b")
        except OSError as error:
            raise MXNetError(f"{type(self).__name__}: cannot open {self.uri!r}: {error.strerror}") from None
        self.writable = self.flag == "w"
        self.pid = os.getpid()
        self._count = 0
        self.is_open = True

    def close(self) -> None:
        """Close the file. Closing twice does nothing."""
        if self.handle is not None:
            self.handle.close()
            self.handle = None
        self.is_open = False
        self.pid = None

    def reset(self) -> None:
        """Go back to the first record; a file that is being written becomes empty."""
        self.close()
        self.open()

    def write(self, buf: bytes) -> None:
        """Append one record."""
        stream = self._stream("write", writes=True)
        if not isinstance(buf, (bytes, bytearray, memoryview)):
            raise ArgumentTypeError(
                f"{type(self).__name__}.write: got {type(buf).__name__}, wanted bytes"
                + ("; encode the text first: buf.encode()" if isinstance(buf, str) else "")
            )
        framed = frame_record(bytes(buf))
        with self._lock:
            stream.write(framed)
            # Nothing stays in the buffer, or a forked child that closes its copy would write it a second time.
            stream.flush()

    def read(self) -> bytes | None:
        """The next record, or None behind the last one."""
        with self._lock:
            return self._read(f"record {self._count}")

    def _read(self, which: str) -> bytes | None:
        """The record at the position; errors call it ``which``."""
        record = read_record(self._stream("read", writes=False), f"{self.uri!r}, {which}")  # type: ignore[arg-type]
        self._count += 1
        return record

    def _mode(self, call: str, writes: bool) -> None:
        if self.writable != writes:
            have, want = ("writing", "r") if self.writable else ("reading", "w")
            raise MXNetError(
                f"{type(self).__name__}.{call}: {self.uri!r} is open for {have}; open it with flag {want!r}"
            )

    def _stream(self, call: str, writes: bool) -> IO[bytes]:
        """The open file, after checks that this call may use it."""
        self._mode(call, writes)
        if self.handle is None:
            raise MXNetError(f"{type(self).__name__}.{call}: {self.uri!r} is closed; call reset() or open() first")
        if self.pid != os.getpid():
            # Both processes share one position in the file.
            raise MXNetError(
                f"{type(self).__name__}.{call}: Forbidden operation in multiple processes: {self.uri!r} was opened "
                "by another process; call reset(), or open the file, in this one"
            )
        return self.handle

    def __del__(self) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        # As in MXNet, pickling closes the file, and the copy starts at the first record (a writer: at an empty file).
        is_open = self.is_open
        self.close()
        return {**self.__dict__, "is_open": is_open, "handle": None, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, is_open=False, _lock=threading.RLock())
        if state["is_open"]:
            self.open()


class MXIndexedRecordIO(MXRecordIO):
    """A file of records with an index, to read them in any order.

    Args:
        idx_path: path of the index, a text file with a line ``key<TAB>offset`` for each record.
        uri: path of the records.
        flag: ``"w"`` empties both files and writes, ``"r"`` reads.
        key_type: makes a key of the text in the index, and of what `write_idx` gets.

    >>> record = MXIndexedRecordIO("names.idx", "names.rec", "w")
    >>> for key, name in enumerate((b"ada", b"grace", b"barbara")):
    ...     record.write_idx(key, name)
    >>> record.close()
    >>> record = MXIndexedRecordIO("names.idx", "names.rec", "r")
    >>> record.keys, record.read_idx(2), record.read_idx(0)
    ([0, 1, 2], b'barbara', b'ada')
    >>> record.close()
    """

    def __init__(
        self,
        idx_path: str | os.PathLike[str],
        uri: str | os.PathLike[str],
        flag: str,
        key_type: Callable[[Any], Any] = int,
    ) -> None:
        self.idx_path = idx_path
        self.idx: dict[Any, int] = {}
        self.keys: list[Any] = []
        self.key_type = key_type
        self.fidx: IO[str] | None = None
        super().__init__(uri, flag)

    def open(self) -> None:
        """Open both files, and read the index if the flag is ``"r"``."""
        super().open()
        self.idx, self.keys = {}, []
        try:
            self.fidx = open(self.idx_path, self.flag, encoding="utf-8")
            if not self.writable:
                for number, line in enumerate(self.fidx, 1):
                    self._index_line(number, line)
        except BaseException:
            self.close()
            raise

    def _index_line(self, number: int, line: str) -> None:
        if not line.strip():
            return
        try:
            text, offset = line.strip().split("\t")[:2]
            key, position = self.key_type(text), int(offset)
        except ValueError as error:
            raise OperatorError(
                f"MXIndexedRecordIO: {os.fspath(self.idx_path)!r}, line {number}: {line.rstrip()[:80]!r} is not "
                f"key<TAB>offset with a key of {getattr(self.key_type, '__name__', self.key_type)}: {error}"
            ) from None
        self.idx[key] = position
        self.keys.append(key)

    def close(self) -> None:
        """Close both files; ``idx`` and ``keys`` stay."""
        super().close()
        fidx = getattr(self, "fidx", None)
        if fidx is not None:
            fidx.close()
            self.fidx = None

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "fidx": None}

    def seek(self, idx: Any) -> None:
        """Make the record with key ``idx`` the next one to read."""
        self._mode("seek", writes=False)
        # A closed reader, and one inherited by a fork, open the file anew here: data loader workers rely on it.
        if self.pid != os.getpid():
            # Another thread of the parent may have held the lock when this process was forked.
            self._lock = threading.RLock()
            self.reset()
        if idx not in self.idx:
            raise RecordKeyError(
                f"MXIndexedRecordIO.seek: {self.uri!r} has no key {idx!r}; its keys are {self._known()}"
            )
        self._stream("seek", writes=False).seek(self.idx[idx])

    def _known(self) -> str:
        shown = ", ".join(map(repr, self.keys[:3]))
        return f"{shown}, ... ({len(self.keys)})" if len(self.keys) > 3 else shown or "none: the index is empty"

    def tell(self) -> int:
        """The offset at which the next record will be written."""
        return self._stream("tell", writes=True).tell()

    def read_idx(self, idx: Any) -> bytes | None:
        """The record with key ``idx``."""
        if self.pid != os.getpid():
            self.seek(idx)
        with self._lock:
            self.seek(idx)
            return self._read(f"key {idx!r}")

    def write_idx(self, idx: Any, buf: bytes) -> None:
        """Append one record under the key ``idx``; of equal keys the last one counts."""
        key = self.key_type(idx)
        text = str(key)
        if text != text.strip() or not text or any(mark in text for mark in "\t\r\n"):
            raise OperatorError(
                f"MXIndexedRecordIO.write_idx: the key {key!r} cannot be read back from a line of the index; wanted "
                "text without tabs, line ends and outer blanks"
            )
        with self._lock:
            position = self.tell()
            self.write(buf)
            if self.fidx is not None:
                self.fidx.write(f"{text}\t{position}\n")
                self.fidx.flush()
            self.idx[key] = position
            self.keys.append(key)


class IRHeader(NamedTuple):
    """What stands before an image in a record.

    Args:
        flag: how many numbers the label has, 0 if it is a single number; `pack` sets it.
        label: a number, or an array of them.
        id: the number of the image.
        id2: a second number, by custom 0.
    """

    flag: int
    label: Any
    id: int
    id2: int

    def __repr__(self) -> str:
        # MXNet prints this name.
        return f"HEADER(flag={self.flag!r}, label={self.label!r}, id={self.id!r}, id2={self.id2!r})"


_HEADER = struct.Struct("<IfQQ")


def pack(header: IRHeader | Sequence[Any], s: bytes) -> bytes:
    """Put a header before bytes, making one record.

    Args:
        header: an `IRHeader`; its flag is not looked at. A label of several numbers is stored as float32.
        s: the bytes, usually an encoded image.

    >>> record = pack(IRHeader(0, [1, 2], 7, 0), b"image")
    >>> header, data = unpack(record)
    >>> header.flag, header.label.tolist(), header.id, data
    (2, [1.0, 2.0], 7, b'image')
    """
    header = IRHeader(*header)
    if not isinstance(s, (bytes, bytearray, memoryview)):
        raise ArgumentTypeError(f"pack: got data of type {type(s).__name__}, wanted bytes")
    if isinstance(header.label, numbers.Real):
        flag, number, labels = 0, float(header.label), b""
    else:
        array = np.asarray(header.label, np.float32)
        flag, number, labels = array.size, 0.0, array.tobytes()
    try:
        head = _HEADER.pack(flag, number, header.id, header.id2)
    except (struct.error, OverflowError) as error:
        raise OperatorError(
            f"pack: cannot store {header!r}: {error}; wanted id and id2 as integers from 0 to 2**64 - 1, and a label "
            "within float32"
        ) from None
    return head + labels + bytes(s)


def unpack(s: bytes) -> tuple[IRHeader, bytes]:
    """Take a record apart; the inverse of `pack`.

    Returns:
        The header, its label a float or a float32 array of shape ``(flag,)``, and the bytes behind it.

    >>> unpack(pack(IRHeader(0, 4.0, 7, 0), b"image"))
    (HEADER(flag=0, label=4.0, id=7, id2=0), b'image')
    """
    if len(s) < _HEADER.size:
        raise MXNetError(
            f"unpack: got {len(s)} bytes, wanted at least the {_HEADER.size} of a header; use pack() first"
        )
    header = IRHeader(*_HEADER.unpack_from(s))
    if not header.flag:
        return header, s[_HEADER.size :]
    begin = _HEADER.size + 4 * header.flag
    if len(s) < begin:
        raise MXNetError(f"unpack: the header claims {header.flag} labels ({begin} bytes), but the record has {len(s)}")
    label = np.frombuffer(s, "<f4", header.flag, _HEADER.size).astype(np.float32)
    return header._replace(label=label), s[begin:]


def pack_img(header: IRHeader | Sequence[Any], img: Any, quality: int = 95, img_fmt: str = ".jpg") -> bytes:
    """Encode an image and put a header before it.

    Args:
        header: as in `pack`.
        img: ``(height, width)``, or ``(height, width, 3)`` or ``4`` in the order blue, green, red, alpha; uint8, or
            other values, which are rounded and clipped to 0 to 255.
        quality: for JPEG 1 to 100, for PNG the compression 0 to 9 (more counts as 9).
        img_fmt: ``".jpg"``, ``".png"``, or another file ending that the image library writes.

    >>> image = np.full((2, 3, 3), 9, np.uint8)
    >>> record = pack_img(IRHeader(0, 1, 7, 0), image, img_fmt=".png")  # doctest: +SKIP
    >>> header, image = unpack_img(record)  # doctest: +SKIP
    >>> header.label, image.shape, int(image.min())  # doctest: +SKIP
    (1.0, (2, 3, 3), 9)
    """
    array = np.asarray(img.asnumpy() if hasattr(img, "asnumpy") else img)
    planes = array.shape[2] if array.ndim == 3 else 1
    if array.ndim not in (2, 3) or planes not in (1, 3, 4) or not array.size:
        raise OperatorError(
            f"pack_img: got an image of shape {array.shape}; wanted (height, width) or (height, width, 1, 3 or 4)"
        )
    return pack(header, encode_picture(array, quality, img_fmt))


def unpack_img(s: bytes, iscolor: int = -1) -> tuple[IRHeader, np.ndarray]:
    """Take a record apart and decode its image.

    Args:
        s: a record, as `pack_img` makes it.
        iscolor: 1 for three colours, 0 for grey, -1 for what the image has.

    Returns:
        The header and the image, ``(height, width)`` if grey, else ``(height, width, 3)`` in the order blue, green,
        red (4 with alpha).
    """
    header, data = unpack(s)
    image = decode_picture(data, iscolor)
    if image is None:
        raise MXNetError(
            f"unpack_img: the {len(data)} bytes behind the header (id {header.id}) are not an image that can be "
            "decoded; use unpack() for other data"
        )
    return header, image
