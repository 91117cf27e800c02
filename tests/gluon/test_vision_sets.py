"""MNIST, CIFAR and the like from local files, what is said where there are none, and pictures packed in records."""

from __future__ import annotations

import gzip
import pathlib
import struct
import tarfile

import numpy as np
import pytest

import gluonjax as mx
from gluonjax.gluon.data import DataLoader, vision

DRAW = np.random.default_rng(5)


def idx_bytes(array: np.ndarray) -> bytes:
    """The format of the MNIST files: 0, 0, type 8 (bytes), rank, sizes, values."""
    return struct.pack(f">4B{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


@pytest.mark.parametrize("kind", [vision.MNIST, vision.FashionMNIST])
@pytest.mark.parametrize("packed", [True, False])
def test_digits_from_files(kind: type, packed: bool, tmp_path: pathlib.Path) -> None:
    images, labels = DRAW.integers(0, 256, (6, 28, 28), np.uint8), DRAW.integers(0, 10, 6, np.uint8)
    for name, array in (("t10k-images-idx3-ubyte", images), ("t10k-labels-idx1-ubyte", labels)):
        content = idx_bytes(array)
        (tmp_path / f"{name}{'.gz' * packed}").write_bytes(gzip.compress(content) if packed else content)
    found = kind(root=str(tmp_path), train=False, transform=lambda image, label: (image, label + 1))
    assert len(found) == 6
    image, label = found[2]
    assert image.shape == (28, 28, 1) and image.dtype == np.uint8 and label == labels[2] + 1
    np.testing.assert_array_equal(image.asnumpy()[..., 0], images[2])
    batch, _ = next(iter(DataLoader(found.transform_first(vision.transforms.ToTensor()), 4)))
    assert batch.shape == (4, 1, 28, 28) and batch.dtype == np.float32
    with pytest.raises(mx.MXNetError, match="train-images-idx3-ubyte"):
        kind(root=str(tmp_path / "none"), train=True)


def test_small_pictures_from_files(tmp_path: pathlib.Path) -> None:
    rows = DRAW.integers(0, 256, (4, 3073), np.uint8)
    folder = tmp_path / "cifar-10-batches-bin"
    folder.mkdir()
    (folder / "test_batch.bin").write_bytes(rows.tobytes())
    ten = vision.CIFAR10(root=str(tmp_path), train=False)
    image, label = ten[3]
    assert len(ten) == 4 and image.shape == (32, 32, 3) and label == rows[3, 0] and label.dtype == np.int32
    np.testing.assert_array_equal(image.asnumpy()[:, :, 1].ravel(), rows[3, 1 + 1024 : 1 + 2048])

    wide = DRAW.integers(0, 256, (3, 3074), np.uint8)
    (tmp_path / "test.bin").write_bytes(wide.tobytes())
    for fine, column in ((False, 0), (True, 1)):
        hundred = vision.CIFAR100(root=str(tmp_path), fine_label=fine, train=False)
        assert [int(hundred[index][1]) for index in range(3)] == wide[:, column].tolist()


@pytest.mark.parametrize(
    ("kind", "file", "digest"),
    [
        (vision.MNIST, "train-images-idx3-ubyte.gz", "6c95f4b05d2bf285e1bfb0e7960c31bd3b3f8a7d"),
        (vision.CIFAR10, "cifar-10-binary.tar.gz", "fab780a1e191a7eda0f345501ccd62d20f7ed891"),
        (vision.CIFAR100, "cifar-100-binary.tar.gz", "a0bb982c76b83111308126cc779a992fa506b90b"),
    ],
)
def test_without_a_network(kind: type, file: str, digest: str, tmp_path: pathlib.Path, monkeypatch) -> None:
    monkeypatch.setenv("MXNET_GLUON_REPO", "file:///nowhere/")
    with pytest.raises(mx.MXNetError) as caught:
        kind(root=str(tmp_path))
    for part in (file, digest, str(tmp_path)):
        assert part in str(caught.value)


def test_archives_are_checked_before_they_are_unpacked(tmp_path: pathlib.Path, monkeypatch) -> None:
    server = tmp_path / "server" / "gluon" / "dataset" / "cifar10"
    server.mkdir(parents=True)
    with tarfile.open(server / "cifar-10-binary.tar.gz", "w:gz") as tar:
        tar.add(__file__, "data_batch_1.bin")
    monkeypatch.setenv("MXNET_GLUON_REPO", (tmp_path / "server").as_uri())
    with pytest.raises(mx.MXNetError, match="content hash does not match"):
        vision.CIFAR10(root=str(tmp_path / "here"))
    assert list((tmp_path / "here").iterdir()) == []


def test_pictures_in_records(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("cv2")
    pictures = DRAW.integers(0, 256, (3, 5, 4, 3), np.uint8)
    writer = mx.recordio.MXIndexedRecordIO(str(tmp_path / "x.idx"), str(tmp_path / "x.rec"), "w")
    for number, picture in enumerate(pictures):
        header = mx.recordio.IRHeader(0, float(number), number, 0)
        writer.write_idx(number, mx.recordio.pack_img(header, picture[:, :, ::-1], img_fmt=".png"))
    writer.close()
    found = vision.ImageRecordDataset(str(tmp_path / "x.rec"))
    image, label = found[1]
    assert len(found) == 3 and label == 1.0
    np.testing.assert_array_equal(image.asnumpy(), pictures[1])
    gray = vision.ImageRecordDataset(str(tmp_path / "x.rec"), flag=0, transform=lambda x, y: (x.astype("float32"), y))
    assert gray[0][0].shape == (5, 4, 1) and gray[0][0].dtype == np.float32
