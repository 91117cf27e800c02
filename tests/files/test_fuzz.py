"""Damaged .params files: an MXNetError with an offset, never anything else, and never much memory."""

from __future__ import annotations

import pathlib
import random
import re
import tracemalloc

import numpy as np
import pytest

from gluonjax._base.errors import MXNetError
from gluonjax._files.params import SparseBlock, read_params, write_params
from gluonjax._files.record import frame_record, read_record

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "data" / "files" / "arrays"
# What a reader may take at a time, beside the file itself.
MOST_BYTES = 4 << 20
INTERESTING = (0, 1, 2, 0x7F, 0x80, 0xFF)
WORDS = (b"\xff" * 8, b"\xff" * 7 + b"\x7f", bytes(8), (1 << 40).to_bytes(8, "little"), (1 << 31).to_bytes(8, "little"))


def seeds() -> list[bytes]:
    """Good files of every version."""
    found = [path.read_bytes() for path in sorted(FOLDER.glob("*.params"))]
    values = np.arange(6, dtype=np.float32)
    tail = np.array([1, 0, 0], "<i4").tobytes() + values.tobytes()
    head = np.array([0x112, 0, 1], "<u8").tobytes()
    found.append(head + np.array([2, 2, 3], "<u4").tobytes() + tail + bytes(8))  # V0
    shape = np.array([0xF993FAC8, 2], "<u4").tobytes() + np.array([2, 3], "<i8").tobytes()  # V1
    found.append(head + shape + tail + bytes(8))
    sparse = SparseBlock("csr", (2, 3), np.ones(2, np.float16), np.array([0, 2]), np.array([0, 1, 2]))
    found.append(write_params([sparse, np.zeros((0, 2)), np.array(True)], ["a", "b", "c"]))
    return found


def mutated(draws: random.Random, good: list[bytes]) -> bytes:
    """A file with one to four kinds of damage."""
    data = bytearray(draws.choice(good))
    for _ in range(draws.randint(1, 4)):
        at = draws.randrange(len(data) + 1) if data else 0
        kind = draws.randrange(7)
        if kind == 0 and at < len(data):
            data[at] = draws.choice(INTERESTING)
        elif kind == 1 and at < len(data):
            data[at] ^= 1 << draws.randrange(8)
        elif kind == 2:
            del data[at:]
        elif kind == 3:
            data[at:at] = draws.randbytes(draws.randint(1, 12))
        elif kind == 4:
            del data[at : at + draws.randint(1, 16)]
        elif kind == 5:
            data[at : at + 8] = draws.choice(WORDS)
        else:
            other = draws.choice(good)
            data[at:] = other[draws.randrange(len(other)) :]
    return bytes(data)


def fuzz(count: int, seed: int) -> tuple[int, int]:
    """Read mutated files; how many were refused, and how many were still good."""
    draws, good = random.Random(seed), seeds()
    refused = 0
    tracemalloc.start()
    try:
        for number in range(count):
            data = mutated(draws, good)
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            try:
                read_params(data)
            except MXNetError as error:
                refused += 1
                assert re.search(r"at byte \d+ of \d+", str(error)), (number, error)
            peak = tracemalloc.get_traced_memory()[1] - before
            assert peak < MOST_BYTES, (number, peak)
    finally:
        tracemalloc.stop()
    return refused, count - refused


def test_some_mutated_files() -> None:
    refused, good = fuzz(1500, seed=1)
    assert refused > 700 and good > 50


@pytest.mark.slow
def test_many_mutated_files() -> None:
    refused, good = fuzz(24000, seed=2)
    print(f"{refused} refused, {good} still good")
    assert refused > 12000 and good > 500


def test_random_bytes() -> None:
    draws = random.Random(3)
    for _ in range(300):
        with pytest.raises(MXNetError, match="magic number"):
            read_params(draws.randbytes(draws.randint(0, 200)))


def test_mutated_records(tmp_path: pathlib.Path) -> None:
    """RecordIO: the same promise."""
    import io

    draws = random.Random(4)
    good = [b"".join(frame_record(draws.randbytes(size)) for size in (0, 5, 40)), frame_record(b"\x0a\x23\xd7\xce" * 3)]
    refused = 0
    for _ in range(1500):
        stream = io.BytesIO(mutated(draws, good))
        try:
            while read_record(stream, "'x.rec'") is not None:
                pass
        except MXNetError as error:
            refused += 1
            assert re.search(r"'x\.rec': the record at byte \d+: ", str(error))
    assert refused > 700
