"""Reading RecordIO files from front to back, or by an index, and cutting them into parts for several readers.

The parts are MXNet's: without an index a file is cut by bytes, at the beginnings of records; with one, by records.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from typing import BinaryIO, NamedTuple

from gluonjax._base.errors import MXNetError, OperatorError
from gluonjax._files.record import MAGIC, read_record


class RawRecord(NamedTuple):
    """The bytes of a record and where they came from.

    Args:
        data: the record.
        number: how many records of the part were before it.
        file: path of the file.
        offset: where in the file it begins.
    """

    data: bytes
    number: int
    file: str
    offset: int

    def where(self) -> str:
        """Words for errors."""
        return f"record {self.number} at byte {self.offset} of {self.file!r}"


class _Span(NamedTuple):
    """A stretch of one file."""

    path: str
    begin: int
    end: int


def _record_files(name: str, paths: str) -> list[tuple[str, int]]:
    """Paths and sizes: of a file, of several with ``;`` between them, or of all in a folder."""
    found: list[tuple[str, int]] = []
    for one in paths.split(";"):
        path = one.removeprefix("file://")
        if "://" in path:
            raise MXNetError(f"{name}: cannot open {path!r}: only local files are read; copy it to disk first")
        if os.path.isdir(path):
            inside = sorted(os.path.join(path, entry) for entry in os.listdir(path))
            files = [entry for entry in inside if os.path.isfile(entry) and os.path.getsize(entry)]
        else:
            files = [path] if os.path.isfile(path) else []
        if not files:
            raise MXNetError(
                f"{name}: Cannot find any files that matches the URI pattern {path!r}; make one with "
                "'python -m gluonjax im2rec'"
            )
        found += [(entry, os.path.getsize(entry)) for entry in files]
    return found


def _next_beginning(stream: BinaryIO, at: int, size: int) -> int:
    """The first record that begins at or after ``at``, or the end of the file."""
    stream.seek(at)
    held, begin = stream.read(1 << 16), at
    while True:
        for place in range(0, len(held) - 7, 4):
            magic, word = struct.unpack_from("<II", held, place)
            if magic == MAGIC and word >> 29 in (0, 1):
                return begin + place
        keep = held[len(held) - len(held) % 4 - 4 :] if len(held) >= 8 else held
        more = stream.read(1 << 16)
        if not more:
            return size
        begin += len(held) - len(keep)
        held = keep + more


def _check_part(name: str, part_index: int, num_parts: int) -> None:
    if not 0 <= part_index < num_parts:
        raise OperatorError(
            f"{name}: invalid input parameter: part_index must be 0 to num_parts - 1, got part_index={part_index}, "
            f"num_parts={num_parts}"
        )


class SequentialRecords:
    """The records of a part of one or more files, from front to back.

    Args:
        name: who reads, for errors.
        paths: a file, several with ``;`` between them, or a folder.
        part_index: which part,
        num_parts: of how many.
    """

    def __init__(self, name: str, paths: str, part_index: int = 0, num_parts: int = 1) -> None:
        _check_part(name, part_index, num_parts)
        files = _record_files(name, paths)
        total = sum(size for _, size in files)
        step = -(-total // num_parts)
        step += -step % 4
        self.spans = list(_spans(files, min(step * part_index, total), min(step * (part_index + 1), total)))

    def read(self) -> Iterator[RawRecord]:
        """Yield all records."""
        number = 0
        for path, begin, end in self.spans:
            with open(path, "rb", buffering=1 << 20) as stream:
                stream.seek(begin)
                while (offset := stream.tell()) < end:
                    data = read_record(stream, f"{path!r}, record {number}")
                    if data is None:
                        break
                    yield RawRecord(data, number, path, offset)
                    number += 1


def _spans(files: Sequence[tuple[str, int]], begin: int, end: int) -> Iterator[_Span]:
    """The stretches from ``begin`` to ``end`` in the files laid end to end, moved to where records begin."""
    start = 0
    for path, size in files:
        low, high = max(begin - start, 0), min(end - start, size)
        if low < high:
            with open(path, "rb") as stream:
                first = _next_beginning(stream, low, size) if low else 0
                last = _next_beginning(stream, high, size) if high < size else size
            if first < last:
                yield _Span(path, first, last)
        start += size


class IndexedRecords:
    """The records of a part of a file with an index, in the file's order or in another.

    Args:
        name: who reads, for errors.
        path: the records.
        index: lines of ``key<TAB>offset``.
        part_index: which part,
        num_parts: of how many.
    """

    def __init__(self, name: str, path: str, index: str, part_index: int = 0, num_parts: int = 1) -> None:
        _check_part(name, part_index, num_parts)
        (self.path, _), *others = _record_files(name, path)
        if others:
            raise MXNetError(f"{name}: path_imgidx goes with one file of records, got {1 + len(others)}")
        offsets = sorted(_offsets(name, index))
        step = -(-len(offsets) // num_parts)
        self.offsets = offsets[step * part_index : step * (part_index + 1)]

    def read(self, order: Sequence[int] | None = None) -> Iterator[RawRecord]:
        """Yield all records; ``order`` numbers them from 0."""
        with open(self.path, "rb", buffering=1 << 16) as stream:
            for number in range(len(self.offsets)) if order is None else order:
                offset = self.offsets[number]
                if stream.tell() != offset:
                    stream.seek(offset)
                data = read_record(stream, f"{self.path!r}, record {number}")
                if data is None:
                    raise MXNetError(
                        f"{self.path!r}: the index has a record {number} at byte {offset}, behind the end of the file; "
                        "the two files do not belong together"
                    )
                yield RawRecord(data, number, self.path, offset)


def _offsets(name: str, index: str) -> Iterator[int]:
    try:
        with open(index.removeprefix("file://"), encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                words = line.split()
                if not words:
                    continue
                try:
                    yield int(words[1])
                except (IndexError, ValueError):
                    raise MXNetError(
                        f"{name}: {index!r}, line {number}: expected key<TAB>offset, found {line.strip()[:80]!r}"
                    ) from None
    except OSError as error:
        raise MXNetError(f"{name}: cannot open {index!r}: {error.strerror}") from None
