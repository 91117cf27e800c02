"""RecordIO: bytes of the real MXNet, random access, pickling, forks, images, and files that lie."""

from __future__ import annotations

import hashlib
import io
import pickle
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gluonjax import recordio
from gluonjax._base.errors import ArgumentTypeError, MXNetError, OperatorError
from gluonjax._files.record import MAGIC_BYTES, frame_record, read_record
from gluonjax._images import record_codec
from gluonjax.recordio import IRHeader, MXIndexedRecordIO, MXRecordIO

M = MAGIC_BYTES
RECORDS = [
    b"", b"a", b"abcd", b"hello", M, M + M, b"x" + M, b"xxxx" + M + b"yy", M + b"abc", b"abcd" + M,
    b"ab" + M + b"cd" + M + b"abcd" + M * 3 + b"e", M * 2 + b"zz", b"abcdef" + M,
]  # fmt: skip
# Of the file that MXNet 1.9.1 writes for RECORDS.
GOLDEN_SIZE, GOLDEN_SHA256 = 272, "afa3aa216a2ee924a521b9b342059b98c5603463b1feb2355f509834547b649e"
# pack() of MXNet 1.9.1: header, data -> bytes.
PACKED = [
    (IRHeader(0, 4, 7, 0), "00000000000080400700000000000000" + "0000000000000000"),
    (IRHeader(5, 4.5, 7, 2), "00000000000090400700000000000000" + "0200000000000000"),
    (IRHeader(0, (1, 2), 2**33, 0), "02000000000000000000000002000000" + "0000000000000000" + "0000803f00000040"),
    (IRHeader(0, np.array(5.0), 7, 0), "01000000000000000700000000000000" + "0000000000000000" + "0000a040"),
]


def write_all(path, records=RECORDS):
    writer = MXRecordIO(path, "w")
    for record in records:
        writer.write(record)
    writer.close()
    return path


def read_all(path):
    reader = MXRecordIO(path, "r")
    found = list(iter(reader.read, None))
    reader.close()
    return found


@pytest.fixture
def indexed(tmp_path):
    """Paths of an index and of five records with the keys 0, 3, 6, 9, 12."""
    paths = str(tmp_path / "a.idx"), str(tmp_path / "a.rec")
    writer = MXIndexedRecordIO(*paths, "w")
    for i in range(5):
        assert writer.tell() == 16 * i
        writer.write_idx(3 * i, b"record%d" % i)
    writer.close()
    return paths


def test_file_is_byte_for_byte_mxnets(tmp_path):
    path = write_all(tmp_path / "a.rec")
    assert path.stat().st_size == GOLDEN_SIZE
    assert hashlib.sha256(path.read_bytes()).hexdigest() == GOLDEN_SHA256
    assert read_all(path) == RECORDS


def test_framing_of_random_data_full_of_magic_numbers():
    generator = np.random.default_rng(0)
    for _ in range(200):
        bits = [M if bit else bytes([65 + n]) for n, bit in enumerate(generator.integers(0, 2, 12))]
        data = b"".join(bits)
        framed = frame_record(data)
        assert len(framed) % 4 == 0
        words = [framed[i : i + 4] for i in range(0, len(framed), 4)]
        parts = words.count(M)
        assert parts == 1 + [data[i : i + 4] for i in range(0, len(data), 4)].count(M)
        assert read_record(io.BytesIO(framed)) == data


@pytest.mark.parametrize("label, expected", PACKED)
def test_pack_is_byte_for_byte_mxnets(label, expected):
    record = recordio.pack(label, b"body")
    assert record == bytes.fromhex(expected) + b"body"
    header, body = recordio.unpack(record)
    assert body == b"body" and (header.id, header.id2) == (label.id, label.id2)
    np.testing.assert_array_equal(header.label, np.float32(label.label) if not header.flag else np.ravel(label.label))


def test_header_prints_as_in_mxnet_and_is_a_tuple():
    header, _ = recordio.unpack(recordio.pack((0, 3, 4, 5), b""))
    assert repr(header) == "HEADER(flag=0, label=3.0, id=4, id2=5)"
    assert header == (0, 3.0, 4, 5) and pickle.loads(pickle.dumps(header)) == header


def test_pack_takes_an_ndarray_label():
    import gluonjax as mx

    header, _ = recordio.unpack(recordio.pack(IRHeader(0, mx.nd.array([5.0, 2.0]), 1, 0), b""))
    assert header.flag == 2 and header.label.tolist() == [5.0, 2.0] and header.label.dtype == np.float32


@pytest.mark.parametrize(
    "call, kind, text",
    [
        (lambda: recordio.pack(IRHeader(0, 1, -7, 0), b""), OperatorError, "wanted id and id2 as integers from 0"),
        (lambda: recordio.pack(IRHeader(0, 1, 7, 0), "text"), ArgumentTypeError, "wanted bytes"),
        (lambda: recordio.unpack(b"abc"), MXNetError, "got 3 bytes, wanted at least the 24"),
        (lambda: recordio.unpack(struct.pack("<IfQQ", 9, 0, 1, 0)), MXNetError, "claims 9 labels"),
        (lambda: MXRecordIO("a.rec", "z"), ValueError, "Invalid flag 'z'"),
        (lambda: MXRecordIO("absent.rec", "r"), MXNetError, "No such file"),
        (lambda: MXRecordIO("s3://bucket/a.rec", "r"), MXNetError, "only local files"),
        (lambda: frame_record(_Long()), MXNetError, "too long"),
    ],
)
def test_wrong_calls(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


class _Long(bytes):
    def __len__(self) -> int:
        return 1 << 29


def test_reset_modes_and_closed_files(tmp_path):
    path = write_all(tmp_path / "a.rec", [b"one", b"two"])
    reader = MXRecordIO(str(path), "r")
    assert (reader.read(), reader.read(), reader.read(), reader.read()) == (b"one", b"two", None, None)
    reader.reset()
    assert reader.read() == b"one"
    with pytest.raises(MXNetError, match="open for reading; open it with flag 'w'"):
        reader.write(b"x")
    reader.close()
    reader.close()
    assert not reader.is_open
    with pytest.raises(MXNetError, match="is closed"):
        reader.read()
    writer = MXRecordIO(f"file://{path}", "w")
    with pytest.raises(MXNetError, match="open for writing"):
        writer.read()
    with pytest.raises(ArgumentTypeError, match=r"encode the text first"):
        writer.write("text")
    writer.write(bytearray(b"three"))
    writer.reset()
    writer.write(memoryview(b"four"))
    writer.close()
    assert read_all(path) == [b"four"]


def test_index(indexed):
    assert Path(indexed[0]).read_bytes() == b"0\t0\n3\t16\n6\t32\n9\t48\n12\t64\n"
    reader = MXIndexedRecordIO(*indexed, "r")
    assert reader.keys == [0, 3, 6, 9, 12] and reader.idx == {0: 0, 3: 16, 6: 32, 9: 48, 12: 64}
    assert reader.read_idx(6) == b"record2" and reader.read() == b"record3"
    reader.seek(0)
    assert reader.read() == b"record0"
    with pytest.raises(KeyError, match=r"no key 99; its keys are 0, 3, 6, \.\.\. \(5\)"):
        reader.read_idx(99)
    with pytest.raises(MXNetError, match="tell"):
        reader.tell()
    reader.close()
    assert reader.keys == [0, 3, 6, 9, 12]
    assert reader.read_idx(3) == b"record1"  # opens again, as in MXNet
    reader.close()


def test_text_keys_may_repeat_and_must_be_readable(tmp_path):
    paths = str(tmp_path / "s.idx"), str(tmp_path / "s.rec")
    writer = MXIndexedRecordIO(*paths, "w", str)
    for key, data in (("k1", b"a"), ("k1", b"b"), ("k2", b"c")):
        writer.write_idx(key, data)
    with pytest.raises(OperatorError, match="cannot be read back"):
        writer.write_idx("a\tb", b"")
    with pytest.raises(MXNetError, match="open for writing"):
        writer.read_idx("k1")
    writer.close()
    reader = MXIndexedRecordIO(*paths, "r", str)
    assert reader.keys == ["k1", "k1", "k2"] and reader.read_idx("k1") == b"b"
    reader.close()
    with pytest.raises(ValueError, match="line 1: 'k1"):
        MXIndexedRecordIO(*paths, "r")
    with pytest.raises(FileNotFoundError):
        MXIndexedRecordIO(str(tmp_path / "absent.idx"), paths[1], "r")


def test_pickled_reader_starts_again(indexed):
    reader = MXIndexedRecordIO(*indexed, "r")
    reader.read_idx(6)
    copy = pickle.loads(pickle.dumps(reader))
    assert not reader.is_open and copy.is_open
    assert copy.read() == b"record0" and copy.read_idx(9) == b"record3" and reader.read_idx(12) == b"record4"
    copy.close()
    closed = pickle.loads(pickle.dumps(copy))
    assert not closed.is_open
    reader.close()


FORKED = """
import os, sys
from gluonjax.recordio import MXIndexedRecordIO, MXRecordIO
from gluonjax._base.errors import MXNetError
index, records, third = sys.argv[1:]
reader = MXIndexedRecordIO(index, records, "r")
reader.read_idx(0)
writer = MXRecordIO(third, "w")
writer.write(b"parent")
child = os.fork()
if not child:
    good = 0
    for call in (reader.read, lambda: writer.write(b"child")):
        try:
            call()
        except MXNetError as error:
            good += "multiple processes" in str(error)
    good += reader.read_idx(9) == b"record3"
    reader.close(); writer.close()
    os._exit(good)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
assert reader.read() == b"record1"
writer.close()
reader.close()
"""


def test_fork(indexed, tmp_path):
    third = tmp_path / "third.rec"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED, *indexed, str(third)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert read_all(third) == [b"parent"]


HEAD = struct.Struct("<4sI")
GOOD = frame_record(b"good")


@pytest.mark.parametrize(
    "damage, text",
    [
        (b"XXXX" + bytes(4), "the record at byte 12: expected the magic number 0xced7230a at byte 12"),
        (M, "the record at byte 12: a header of 8 bytes is expected at byte 12, 4 are left"),
        (HEAD.pack(M, 8) + b"abcd", "the record at byte 12: 8 bytes are expected at byte 20, 4 are left"),
        (HEAD.pack(M, 3) + b"abc", "the record at byte 12: 4 bytes are expected at byte 20, 3 are left"),
        (HEAD.pack(M, 1 << 29), "the record at byte 12: a header of 8 bytes is expected at byte 20, 0 are left"),
        (HEAD.pack(M, 1 << 29) + GOOD, "expected the next part of this record at byte 20, found a whole record"),
        (HEAD.pack(M, 3 << 29), "expected the beginning of a record at byte 12, found a last part"),
        (HEAD.pack(M, 6 << 29), "found the unknown kind 6"),
    ],
)
def test_damage_names_the_record(tmp_path, damage, text):
    path = tmp_path / "a.rec"
    path.write_bytes(GOOD + damage)
    reader = MXRecordIO(path, "r")
    assert reader.read() == b"good"
    with pytest.raises(MXNetError, match=rf"Invalid RecordIO File: .*a\.rec', record 1: .*{text}"):
        reader.read()
    reader.close()


def test_every_truncation_is_an_end_or_an_error(tmp_path):
    whole = write_all(tmp_path / "a.rec").read_bytes()
    ends = {0}
    for record in RECORDS:
        ends.add(max(ends) + len(frame_record(record)))
    for size in range(len(whole)):
        stream = io.BytesIO(whole[:size])
        found = []
        try:
            found.extend(iter(lambda: read_record(stream), None))  # noqa: B023
        except MXNetError:
            assert size not in ends
        else:
            assert size in ends
        assert found == RECORDS[: len(found)]


def picture(*shape):
    ramp = np.linspace(20, 220, num=shape[0] * shape[1]).reshape(shape[:2])
    planes = [ramp, ramp / 2, 255 - ramp, np.full_like(ramp, 77)][: shape[2]] if len(shape) > 2 else [ramp]
    return np.squeeze(np.stack(planes, -1).astype(np.uint8))


@pytest.fixture(params=["PIL.Image", "cv2"])
def codec(request, monkeypatch):
    """The name of the image library, the only one there is."""
    library = pytest.importorskip(request.param)
    monkeypatch.setattr(record_codec, "_optional", {request.param: library}.get)
    return request.param


@pytest.mark.parametrize("shape", [(4, 5), (4, 5, 3), (4, 5, 4)])
def test_png_keeps_every_value(codec, shape):
    image = picture(*shape)
    header, back = recordio.unpack_img(recordio.pack_img(IRHeader(0, 3, 1, 0), image, 9, ".png"))
    assert header.label == 3.0 and back.dtype == np.uint8
    np.testing.assert_array_equal(back, image)


def test_jpeg_is_near_and_in_order_blue_green_red(codec):
    image = picture(16, 16, 3)
    record = recordio.pack_img(IRHeader(0, [1, 2], 1, 0), image)
    header, back = recordio.unpack_img(record)
    assert header.label.tolist() == [1, 2] and np.abs(back.astype(int) - image).max() < 12
    assert recordio.unpack(record)[1].startswith(b"\xff\xd8\xff")
    small = recordio.pack_img(IRHeader(0, 1, 1, 0), image, quality=10)
    assert len(small) < len(record)


def test_iscolor(codec):
    grey, color = picture(16, 16), picture(16, 16, 3)
    for fmt in (".png", ".JPEG"):
        packed = recordio.pack_img(IRHeader(0, 1, 1, 0), color, img_fmt=fmt)
        assert recordio.unpack_img(packed, 0)[1].shape == (16, 16)
        assert recordio.unpack_img(packed, 1)[1].shape == (16, 16, 3)
    packed = recordio.pack_img(IRHeader(0, 1, 1, 0), grey, img_fmt=".png")
    np.testing.assert_array_equal(recordio.unpack_img(packed, 1)[1], np.stack([grey] * 3, -1))
    weights = color @ np.array([0.114, 0.587, 0.299])
    packed = recordio.pack_img(IRHeader(0, 1, 1, 0), color, img_fmt=".png")
    assert np.abs(recordio.unpack_img(packed, 0)[1] - weights).max() <= 1


def test_sixteen_bits(codec):
    deep = (picture(4, 5).astype(np.uint16) << 8) + 3
    packed = recordio.pack_img(IRHeader(0, 1, 1, 0), deep, img_fmt=".png")
    back = recordio.unpack_img(packed)[1]
    assert back.dtype == np.uint16
    np.testing.assert_array_equal(back, deep)
    np.testing.assert_array_equal(recordio.unpack_img(packed, 0)[1], picture(4, 5))


def test_images_that_cannot_be(codec):
    header = IRHeader(0, 1, 41, 0)
    with pytest.raises(MXNetError, match=r"\(id 41\) are not an image"):
        recordio.unpack_img(recordio.pack(header, b"no image"))
    cut = recordio.pack_img(header, picture(16, 16, 3), img_fmt=".png")[:60]
    with pytest.raises(MXNetError, match="not an image"):
        recordio.unpack_img(cut)
    with pytest.raises(OperatorError, match=r"shape \(2, 3, 5\)"):
        recordio.pack_img(header, np.zeros((2, 3, 5), np.uint8))
    with pytest.raises(OperatorError, match=r"cannot write .*'\.xyz'"):
        recordio.pack_img(header, picture(4, 5), img_fmt=".xyz")


def test_values_that_are_no_bytes_are_rounded_and_clipped(codec):
    image = np.array([[-3, 0.4, 0.6], [254.7, 255, 300]], np.float32)
    _, back = recordio.unpack_img(recordio.pack_img(IRHeader(0, 1, 1, 0), image[:, :, None], img_fmt=".png"))
    assert back.tolist() == [[0, 0, 1], [255, 255, 255]]


def test_libraries_agree():
    pytest.importorskip("PIL.Image")
    cv2 = pytest.importorskip("cv2")
    for shape in ((16, 16), (16, 16, 3)):
        image = picture(*shape)
        for fmt in (".jpg", ".png"):
            data = record_codec._encode_pillow(image, 90, fmt)
            for iscolor in (-1, 1):
                expected = record_codec._decode_cv2(cv2, data, iscolor)
                found = record_codec._decode_pillow(data, iscolor)
                assert found.shape == expected.shape and found.dtype == expected.dtype
                assert np.abs(found.astype(int) - expected).max() <= 2  # two builds of the JPEG library


def test_without_an_image_library(monkeypatch):
    monkeypatch.setattr(record_codec, "_optional", lambda name: None)
    with pytest.raises(MXNetError, match=r'pip install "gluonjax\[image\]"'):
        recordio.pack_img(IRHeader(0, 1, 1, 0), picture(4, 5, 3))
    with pytest.raises(MXNetError, match=r'pip install "gluonjax\[image\]"'):
        recordio.unpack_img(recordio.pack(IRHeader(0, 1, 1, 0), b"abc"))


def test_threads_share_a_file(tmp_path):
    """Reads by key from many threads get whole and right records; writes are all in the file once."""
    import random
    from concurrent.futures import ThreadPoolExecutor

    record = recordio.MXIndexedRecordIO(str(tmp_path / "t.idx"), str(tmp_path / "t.rec"), "w")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: record.write_idx(key, f"{key} ".encode() * (1 + key % 50)), range(400)))
    record.close()
    reader = recordio.MXIndexedRecordIO(str(tmp_path / "t.idx"), str(tmp_path / "t.rec"), "r")
    assert sorted(reader.keys) == list(range(400))
    keys = [random.Random(1).randrange(400) for _ in range(400)] * 5
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(reader.read_idx, keys))
    assert found == [f"{key} ".encode() * (1 + key % 50) for key in keys]
    reader.close()


def test_damage_names_number_and_key(tmp_path):
    record = recordio.MXIndexedRecordIO(str(tmp_path / "d.idx"), str(tmp_path / "d.rec"), "w")
    for key in (5, 6, 7):
        record.write_idx(key, b"12345678")
    record.close()
    data = bytearray((tmp_path / "d.rec").read_bytes())
    data[32] ^= 1
    (tmp_path / "d.rec").write_bytes(data)
    reader = recordio.MXIndexedRecordIO(str(tmp_path / "d.idx"), str(tmp_path / "d.rec"), "r")
    assert reader.read() == reader.read() == b"12345678"
    with pytest.raises(MXNetError, match=r"d\.rec', record 2: the record at byte 32: expected the magic number"):
        reader.read()
    with pytest.raises(MXNetError, match=r"d\.rec', key 7: the record at byte 32"):
        reader.read_idx(7)
    reader.close()
