"""The .params format: bytes of the real MXNet, round trips, and files that lie."""

from __future__ import annotations

import struct
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from gluonjax._base.errors import MXNetError
from gluonjax._files.atomic import atomic_write
from gluonjax._files.csv import read_csv
from gluonjax._files.idx import read_idx, read_idx_file
from gluonjax._files.libsvm import read_libsvm
from gluonjax._files.params import V1_MAGIC, SparseBlock, read_params, write_params

HEAD = "120100000000000000000000000000000100000000000000"
# Written by MXNet 1.9.1 with nd.save: {'a': ones(2)}, a csr and a row_sparse matrix, and ones(2) in np-shape
# mode.
GOLDEN_DENSE = bytes.fromhex(
    HEAD + "c9fa93f9000000000100000002000000000000000100000000000000000000000000803f0000803f0100000000000000"
    "010000000000000061"
)
GOLDEN_CSR = bytes.fromhex(
    HEAD + "c9fa93f90200000001000000030000000000000002000000020000000000000003000000000000000100000000000000"
    "00000000060000000100000003000000000000000600000001000000030000000000000000"
    "00803f0000004000004040000000000000000001000000000000000300000000000000"
    "0100000000000000000000000000000002000000000000000000000000000000"
)
GOLDEN_ROWS = bytes.fromhex(
    HEAD
    + "c9fa93f9010000000200000001000000000000000300000000000000020000000200000000000000030000000000000001"
    "0000000000000000000000060000000100000001000000000000000000004000000000000040400100000000000000"
    "0000000000000000"
)
GOLDEN_NP = bytes.fromhex(
    HEAD + "cafa93f9000000000100000002000000000000000100000000000000000000000000803f0000803f0000000000000000"
)


def test_bytes_of_mxnet_are_read_and_written() -> None:
    arrays, names = read_params(GOLDEN_DENSE)
    assert names == ["a"]
    assert arrays[0].tolist() == [1.0, 1.0]
    assert write_params(arrays, names) == GOLDEN_DENSE

    (csr,), names = read_params(GOLDEN_CSR)
    assert names == []
    assert isinstance(csr, SparseBlock)
    assert csr.stype == "csr"
    assert csr.todense().tolist() == [[0, 1, 0], [2, 0, 3]]
    assert write_params([csr]) == GOLDEN_CSR

    (rows,), _ = read_params(GOLDEN_ROWS)
    assert isinstance(rows, SparseBlock)
    assert rows.todense().tolist() == [[0, 0, 0], [2, 0, 3]]
    assert write_params([rows]) == GOLDEN_ROWS

    (array,), _ = read_params(GOLDEN_NP)
    assert write_params([array], np_shape=True) == GOLDEN_NP


@pytest.mark.parametrize(
    "dtype", ["f4", "f8", "f2", "u1", "i4", "i1", "i8", "?", "i2", "u2", "u4", "u8", "bfloat16"]
)
@pytest.mark.parametrize("shape", [(), (0, 3), (3,), (2, 1, 4)])
def test_round_trip(dtype: str, shape: tuple[int, ...]) -> None:
    kind = np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.dtype(dtype)
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(kind)
    for np_shape in (False, True):
        (found, other), names = read_params(write_params([array, array], ["w", "größe"], np_shape=np_shape))
        assert names == ["w", "größe"]
        for one in (found, other):
            assert isinstance(one, np.ndarray)
            assert (one.dtype, one.shape) == (kind, shape)
            assert one.tobytes() == array.tobytes()


def test_old_versions() -> None:
    values = np.arange(6, dtype=np.float32)
    tail = struct.pack("<iii", 1, 0, 0) + values.tobytes()
    head = struct.pack("<QQQ", 0x112, 0, 2)
    first = struct.pack("<III", 2, 2, 3) + tail
    second = struct.pack("<Iiqq", V1_MAGIC, 2, 3, 2) + tail
    arrays, names = read_params(head + first + second + struct.pack("<Q", 0))
    assert names == []
    assert [array.shape for array in arrays] == [(2, 3), (3, 2)]
    assert arrays[0].tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("golden", [GOLDEN_DENSE, GOLDEN_CSR, GOLDEN_ROWS, GOLDEN_NP])
def test_every_truncation_is_reported(golden: bytes) -> None:
    for length in range(len(golden)):
        with pytest.raises(MXNetError, match=r"Invalid NDArray file format: at byte \d+ of \d+: expected"):
            read_params(golden[:length])


@pytest.mark.parametrize("golden", [GOLDEN_DENSE, GOLDEN_CSR, GOLDEN_ROWS])
def test_damage_raises_nothing_but_mxnet_errors(golden: bytes) -> None:
    refused = 0
    for position in range(len(golden)):
        for value in (0xFF, 0x7F, 0x80):
            damaged = bytearray(golden)
            damaged[position] = value
            try:
                read_params(damaged)
            except MXNetError:
                refused += 1
    assert refused > len(golden)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (struct.pack("<QQQ", 0x113, 0, 0), "expected the magic number 0x112, found 0x113"),
        (struct.pack("<QQQ", 0x112, 0, 1 << 60), "expected the version of array 0"),
        (
            struct.pack("<QQQIiiq", 0x112, 0, 1, 0xF993FAC9, 0, 1, 1 << 61) + struct.pack("<iii", 1, 0, 0),
            "truncated",
        ),
        (struct.pack("<QQQIiiq", 0x112, 0, 1, 0xF993FAC9, 0, 1, -5), "cannot be negative"),
        (struct.pack("<QQQIii", 0x112, 0, 1, 0xF993FAC9, 0, 99), "claims 99 dimensions"),
        (struct.pack("<QQQIi", 0x112, 0, 1, 0xF993FAC9, 7), "storage type 7"),
        (struct.pack("<QQQIiiqiii", 0x112, 0, 1, 0xF993FAC9, 0, 1, 1, 1, 0, 55), "type code 55"),
        (struct.pack("<QQQI", 0x112, 0, 1, 0xDEADBEEF), "no version of the format"),
        (struct.pack("<QQQQ", 0x112, 0, 0, 3), "0 arrays and 3 names"),
    ],
)
def test_errors_say_what_was_expected(content: bytes, text: str) -> None:
    with pytest.raises(MXNetError, match=text):
        read_params(content)


def test_sparse_indices_are_checked() -> None:
    far = SparseBlock("row_sparse", (2, 3), np.ones((1, 3), np.float32), np.array([5]))
    with pytest.raises(MXNetError, match="indices reach from 5 to 5; wanted 0 to 1"):
        read_params(write_params([far]))
    falling = SparseBlock("csr", (2, 3), np.ones(1, np.float32), np.array([1]), np.array([0, 2, 1]))
    with pytest.raises(MXNetError, match="rising numbers"):
        read_params(write_params([falling]))
    with pytest.raises(MXNetError, match="np-shape mode"):
        write_params([far], np_shape=True)


def test_writer_refuses_what_the_format_cannot_hold() -> None:
    with pytest.raises(MXNetError, match="no type code for complex64"):
        write_params([np.ones(2, np.complex64)])
    with pytest.raises(MXNetError, match="2 arrays and 1 names"):
        write_params([np.ones(2), np.ones(2)], ["a"])


def test_atomic_write(tmp_path: Path) -> None:
    path = tmp_path / "file"
    atomic_write(path, b"one")
    path.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(path)
    atomic_write(link, b"two")
    assert path.read_bytes() == b"two"
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    with pytest.raises(TypeError):
        atomic_write(path, "text")  # pyright: ignore[reportArgumentType]
    assert path.read_bytes() == b"two"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "link"]
    atomic_write("/dev/null", b"three")


def test_idx(tmp_path: Path) -> None:
    import gzip

    data = bytes([0, 0, 0x0C, 2, 0, 0, 0, 1, 0, 0, 0, 2]) + struct.pack(">ii", -1, 258)
    assert read_idx(data).tolist() == [[-1, 258]]
    path = tmp_path / "numbers"
    path.write_bytes(gzip.compress(data))
    assert read_idx_file(path).tolist() == [[-1, 258]]
    with pytest.raises(MXNetError, match="needs 8 bytes of values, but 7 follow"):
        read_idx(data[:-1])
    with pytest.raises(MXNetError, match="expected an IDX header"):
        read_idx(b"GIF89a")
    path.write_bytes(gzip.compress(data)[:-9])
    with pytest.raises(MXNetError, match="damaged gzip"):
        read_idx_file(path)
    with pytest.raises(MXNetError, match="no such file"):
        read_idx_file(tmp_path / "missing")


def test_text_tables(tmp_path: Path) -> None:
    path = tmp_path / "table"
    path.write_text("1,2.5,-3\n\n4,5,6,\n")
    assert read_csv(path).tolist() == [[1, 2.5, -3], [4, 5, 6]]
    path.write_text("1,2\n3,x\n")
    with pytest.raises(MXNetError, match="not a table of float32"):
        read_csv(path)
    path.write_text("1 0:0.5 2:2 # comment\n-1 1:4\n\n")
    table, labels = read_libsvm(path, 3)
    assert table.todense().tolist() == [[0.5, 0, 2], [0, 4, 0]]
    assert labels.tolist() == [[1], [-1]]
    with pytest.raises(MXNetError, match="line 1: column 2 is outside of 0 to 1"):
        read_libsvm(path, 2)
    path.write_text("1 0:zero\n")
    with pytest.raises(MXNetError, match="line 1: expected 'column:value'"):
        read_libsvm(path, 3)
