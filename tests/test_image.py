"""Images; expected pixels and errors were seen in MXNet 1.9.1 (OpenCV 3.4.2)."""

from __future__ import annotations

import io
import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gluonjax import image, nd, util
from gluonjax import numpy as mx_np
from gluonjax._base.errors import MXNetError
from gluonjax._images import codecs, resample
from gluonjax.gluon.data import vision

PIL = pytest.importorskip("PIL.Image")


@pytest.fixture(params=["opencv", "plain"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With cv2, where it is installed, and with Pillow and NumPy."""
    if request.param == "opencv":
        pytest.importorskip("cv2")
    else:
        for module in (codecs, resample):
            monkeypatch.setattr(module, "opencv", lambda: None)
        monkeypatch.setattr(codecs, "turbo", lambda: None)
    return request.param


def gradient(height: int = 4, width: int = 6) -> np.ndarray:
    """(height, width, 3) uint8, another number everywhere."""
    return (np.arange(height * width * 3) * 3 % 256).astype(np.uint8).reshape(height, width, 3)


def encoded(pixels: np.ndarray, kind: str = "PNG") -> bytes:
    file = io.BytesIO()
    PIL.fromarray(pixels).save(file, kind)
    return file.getvalue()


# ---- decoding ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["PNG", "BMP"])
def test_decode_keeps_every_pixel(backend: str, kind: str) -> None:
    data = encoded(gradient(), kind)
    for buffer in (
        data,
        bytearray(data),
        np.frombuffer(data, np.uint8),
        nd.array(np.frombuffer(data, np.uint8), dtype="uint8"),
    ):
        result = image.imdecode(buffer)
        assert result.dtype == np.uint8
        assert np.array_equal(result.asnumpy(), gradient())
    assert np.array_equal(image.imdecode(data, to_rgb=False).asnumpy(), gradient()[:, :, ::-1])


def test_decode_gray(backend: str) -> None:
    pixels = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]]], np.uint8)
    gray = image.imdecode(encoded(pixels, "BMP"), flag=0)
    assert gray.shape == (1, 4, 1)
    assert gray.asnumpy().ravel().tolist() == [76, 150, 29, 255]


def test_transparency_is_dropped(backend: str) -> None:
    with_alpha = np.concatenate([gradient(), np.full((4, 6, 1), 7, np.uint8)], axis=2)
    assert np.array_equal(image.imdecode(encoded(with_alpha)).asnumpy(), gradient())


def test_deep_gray_keeps_its_high_byte(backend: str) -> None:
    deep = (np.arange(6, dtype=np.uint16) * 5000).reshape(2, 3)
    decoded = image.imdecode(encoded(deep)).asnumpy()
    assert np.array_equal(decoded, np.repeat((deep >> 8).astype(np.uint8)[:, :, None], 3, axis=2))


def test_read(tmp_path: Path, backend: str) -> None:
    (tmp_path / "a.png").write_bytes(encoded(gradient()))
    assert np.array_equal(image.imread(str(tmp_path / "a.png")).asnumpy(), gradient())
    (tmp_path / "b.png").write_bytes(b"no picture at all")
    with pytest.raises(MXNetError, match=r"b\.png.*Decoding failed"):
        image.imread(str(tmp_path / "b.png"))
    with pytest.raises(MXNetError, match="couldn't open file: No such file"):
        image.imread(str(tmp_path / "c.png"))


def test_what_cannot_be_decoded(backend: str) -> None:
    with pytest.raises(MXNetError, match="Decoding failed"):
        image.imdecode(b"clearly not image content")
    with pytest.raises(MXNetError, match="empty buffer"):
        image.imdecode(b"")
    with pytest.raises(ValueError, match="must be of type bytes"):
        image.imdecode("text")
    with pytest.raises(MXNetError, match="flag"):
        image.imdecode(encoded(gradient()), flag=-1)


def test_without_any_decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    data = encoded(gradient())
    monkeypatch.setattr(codecs, "opencv", lambda: None)
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(MXNetError, match=r'pip install "gluonjax\[image\]"'):
        image.imdecode(data)


def test_data_sets_of_pictures(tmp_path: Path) -> None:
    for label, name in enumerate(("cat", "dog")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.png").write_bytes(encoded(gradient() + label))
    folders = vision.ImageFolderDataset(str(tmp_path))
    pixels, label = folders[1]
    assert folders.synsets == ["cat", "dog"] and label == 1
    assert np.array_equal(pixels.asnumpy(), gradient() + 1)
    assert vision.transforms.CenterCrop((3, 2))(pixels).shape == (2, 3, 3)
    assert vision.transforms.RandomResizedCrop(5)(pixels).shape == (5, 5, 3)
    upright = vision.transforms.ToTensor()(pixels)
    assert vision.transforms.Rotate(30)(upright).shape == (3, 4, 6)


def test_numpy_mode() -> None:
    with util.np_array(True):
        pixels = image.imdecode(encoded(gradient()))
        assert type(pixels) is mx_np.ndarray
        assert type(image.imresize(pixels, 3, 2)) is mx_np.ndarray


# ---- resizing, cutting, padding ------------------------------------------------------------------------


def resized(interp: int, width: int, height: int) -> list[list[int]]:
    return image.imresize(nd.array(gradient(), dtype="uint8"), width, height, interp=interp).asnumpy()[:, :, 0].tolist()


# The first channel: by interpolation, width, height.
RESIZED: dict[tuple[int, int, int], Any] = {
    (0, 3, 2): [[0, 18, 36], [108, 126, 144]],
    (0, 4, 3): [[0, 9, 27, 36], [54, 63, 81, 90], [108, 117, 135, 144]],
    (0, 8, 5): [
        [0, 0, 9, 18, 27, 27, 36, 45],
        [0, 0, 9, 18, 27, 27, 36, 45],
        [54, 54, 63, 72, 81, 81, 90, 99],
        [108, 108, 117, 126, 135, 135, 144, 153],
        [162, 162, 171, 180, 189, 189, 198, 207],
    ],
    (0, 9, 2): [[0, 0, 9, 18, 18, 27, 36, 36, 45], [108, 108, 117, 126, 126, 135, 144, 144, 153]],
    (1, 3, 2): [[32, 50, 68], [140, 158, 176]],
    (1, 4, 3): [[11, 25, 38, 52], [83, 97, 110, 124], [155, 169, 182, 196]],
    (1, 8, 5): [
        [0, 6, 12, 19, 26, 33, 39, 45],
        [38, 43, 50, 57, 64, 70, 77, 83],
        [81, 87, 93, 100, 107, 114, 120, 126],
        [124, 130, 137, 143, 150, 157, 163, 169],
        [162, 168, 174, 181, 188, 194, 201, 207],
    ],
    (1, 9, 2): [[27, 32, 37, 44, 50, 55, 62, 68, 72], [135, 140, 145, 152, 158, 163, 170, 176, 180]],
    (2, 3, 2): [[26, 44, 63], [144, 163, 181]],
    (2, 4, 3): [[8, 22, 36, 50], [83, 96, 111, 124], [157, 170, 185, 198]],
    (2, 8, 5): [
        [0, 1, 9, 16, 22, 29, 37, 42],
        [32, 38, 46, 52, 58, 65, 73, 79],
        [80, 86, 94, 100, 107, 113, 121, 127],
        [128, 134, 142, 148, 154, 161, 169, 175],
        [165, 170, 178, 185, 191, 198, 206, 211],
    ],
    (2, 9, 2): [[21, 26, 33, 38, 44, 51, 56, 63, 68], [139, 144, 151, 156, 163, 169, 174, 181, 186]],
    (3, 3, 2): [[32, 50, 68], [140, 158, 176]],
    (3, 4, 3): [[16, 28, 44, 56], [84, 96, 111, 123], [152, 164, 178, 190]],
    (3, 8, 5): [
        [0, 6, 12, 18, 27, 33, 39, 45],
        [41, 46, 53, 59, 68, 73, 80, 86],
        [81, 87, 93, 99, 108, 114, 120, 126],
        [122, 127, 134, 140, 149, 154, 161, 167],
        [162, 168, 174, 180, 189, 195, 201, 207],
    ],
    (3, 9, 2): [[27, 32, 36, 45, 50, 54, 63, 68, 72], [135, 140, 144, 153, 158, 162, 171, 176, 180]],
    (4, 3, 2): [[27, 46, 64], [142, 161, 180]],
    (4, 4, 3): [[8, 22, 35, 50], [83, 97, 110, 124], [158, 172, 185, 199]],
    (4, 8, 5): [
        [0, 2, 10, 17, 23, 30, 38, 43],
        [35, 40, 48, 54, 61, 67, 75, 81],
        [80, 86, 94, 100, 107, 113, 121, 126],
        [126, 132, 140, 146, 153, 159, 167, 172],
        [164, 170, 177, 184, 190, 197, 205, 210],
    ],
    (4, 9, 2): [[22, 27, 34, 40, 46, 52, 57, 64, 69], [138, 142, 150, 155, 161, 167, 173, 180, 184]],
}


@pytest.mark.parametrize(("interp", "width", "height"), list(RESIZED))
def test_resize(backend: str, interp: int, width: int, height: int) -> None:
    got, want = np.array(resized(interp, width, height)), np.array(RESIZED[interp, width, height])
    # OpenCV's own bicubic of bytes differs by 1 from one of its releases to the next.
    assert np.abs(got - want).max() <= (1 if interp == 2 else 0)


def test_resize_refuses() -> None:
    src = nd.array(gradient(), dtype="uint8")
    with pytest.raises(MXNetError, match="interpolation"):
        image.imresize(src, 3, 3, interp=-1).asnumpy()
    with pytest.raises(MXNetError, match="greater equal to 1"):
        image.imresize(src, 0, 3)
    with pytest.raises(MXNetError, match="height, width, channels"):
        image.imresize(src[0], 3, 3)
    with pytest.raises(MXNetError, match="fp16"):
        image.imresize(src.astype("float16"), 3, 3)
    with pytest.raises(ValueError, match="Unknown interp method 7"):
        image.fixed_crop(src, 0, 0, 2, 2, (4, 4), interp=7)
    # The same size is a copy, whatever the method.
    assert np.array_equal(image.imresize(src, 6, 4, interp=-1).asnumpy(), gradient())


@pytest.mark.parametrize(
    ("kind", "row"),
    [
        (0, [9, 9, 0, 1, 2, 9]),
        (1, [0, 0, 0, 1, 2, 2]),
        (2, [1, 0, 0, 1, 2, 2]),
        (3, [1, 2, 0, 1, 2, 0]),
        (4, [2, 1, 0, 1, 2, 1]),
    ],
)
def test_border(kind: int, row: list[int]) -> None:
    src = nd.array(np.arange(3).reshape(1, 3, 1), dtype="uint8")
    assert image.image.copyMakeBorder(src, 0, 0, 2, 1, type=kind, value=9).asnumpy().ravel().tolist() == row


def test_sizes() -> None:
    assert image.scale_down((640, 480), (720, 120)) == (640, 106)
    assert image.scale_down((360, 1000), (480, 500)) == (360, 375)
    src = nd.array(gradient(), dtype="uint8")
    assert image.resize_short(src, 2).shape == (2, 3, 3)
    assert image.resize_short(src.transpose((1, 0, 2)), 2).shape == (3, 2, 3)


def test_crops() -> None:
    src = nd.array(gradient(), dtype="uint8")
    assert np.array_equal(image.fixed_crop(src, 1, 2, 3, 2).asnumpy(), gradient()[2:4, 1:4])
    middle, box = image.center_crop(src, (2, 2))
    assert box == (2, 1, 2, 2)
    assert np.array_equal(middle.asnumpy(), gradient()[1:3, 2:4])
    for _ in range(5):
        part, (x, y, w, h) = image.random_crop(src, (3, 2))
        assert np.array_equal(part.asnumpy(), gradient()[y : y + h, x : x + w])
        part, (x, y, w, h) = image.random_size_crop(src, (5, 5), (0.3, 1.0), (0.5, 2.0))
        assert part.shape == (5, 5, 3) and x + w <= 6 and y + h <= 4


def test_rotation() -> None:
    src = nd.array(np.arange(9).reshape(1, 3, 3))
    assert np.allclose(image.imrotate(src, 90).asnumpy(), [[[2, 5, 8], [1, 4, 7], [0, 3, 6]]], atol=1e-5)
    zoomed = image.imrotate(nd.array(np.arange(12).reshape(1, 3, 4)), 30, zoom_in=True)
    want = [[0.9255, 2.6311, 4.5009, 6.371], [2.6951, 4.565, 6.435, 8.3049], [4.629, 6.499, 8.3689, 9.4765]]
    assert np.allclose(zoomed.asnumpy()[0], want, atol=1e-3)
    with pytest.raises(TypeError, match="float32"):
        image.imrotate(src.astype("uint8"), 90)
    with pytest.raises(ValueError, match="both True"):
        image.imrotate(src, 90, True, True)
    assert image.random_rotate(nd.ones((2, 3, 4, 4)), (-20, 20), zoom_out=True).shape == (2, 3, 4, 4)


# ---- augmenters ----------------------------------------------------------------------------------------


def test_dumps() -> None:
    steps = image.CreateAugmenter((3, 4, 5), resize=6, mean=np.array([1.0, 2, 3]), brightness=0.1)
    assert [step.dumps() for step in steps] == [
        '["resizeaug", {"size": 6, "interp": 2}]',
        '["centercropaug", {"size": [5, 4], "interp": 2}]',
        '["castaug", {"type": "float32"}]',
        ["colorjitteraug", ['["brightnessjitteraug", {"brightness": 0.1}]']],
        '["colornormalizeaug", {"mean": [1.0, 2.0, 3.0], "std": null}]',
    ]
    assert json.loads(image.LightingAug(0.1, np.ones(3), np.eye(3)).dumps())[1]["eigval"] == [1, 1, 1]


AUGMENTED = [
    -0.57937,
    -0.42012,
    -0.14993,
    -0.74778,
    -0.5923,
    -0.3208,
    -0.91619,
    -0.76448,
    -0.49166,
    0.43107,
    0.61296,
    0.87526,
    0.26267,
    0.44078,
    0.7044,
    0.09426,
    0.2686,
    0.53353,
]


def test_augmented() -> None:
    """A whole chain, drawn as MXNet draws."""
    random.seed(0)
    np.random.seed(0)
    steps = image.CreateAugmenter(
        (3, 2, 3), resize=4, rand_crop=True, rand_mirror=True, mean=True, std=True, brightness=0.1, contrast=0.2,
        saturation=0.3, hue=0.1, pca_noise=0.1, rand_gray=0.5,
    )  # fmt: skip
    src = nd.array(gradient(), dtype="uint8")
    for step in steps:
        src = step(src)
    assert np.allclose(src.asnumpy().ravel(), AUGMENTED, atol=1e-3)


def test_augmenters_refuse() -> None:
    with pytest.raises(MXNetError, match="rand_crop"):
        image.CreateAugmenter((3, 2, 2), rand_resize=True)
    with pytest.raises(MXNetError, match="mean must be True or an array"):
        image.CreateAugmenter((3, 2, 2), mean=3)
    with pytest.raises(TypeError, match="must override"):
        image.Augmenter()(nd.ones((2, 2, 3)))
    with pytest.warns(DeprecationWarning, match="min_area"):
        assert image.RandomSizedCropAug((2, 2), 0.5, (1, 1), min_area=0.2).area == 0.2


# ---- ImageIter -----------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(5):
        (tmp_path / f"{number}.png").write_bytes(encoded(np.full((4, 4, 3), number * 10, np.uint8)))
    return tmp_path


def names(folder: Path) -> list[list[Any]]:
    return [[float(number), f"{number}.png"] for number in range(5)]


def labels(it: image.ImageIter) -> list[tuple[Any, int]]:
    return [(batch.label[0].asnumpy().tolist(), batch.pad) for batch in it]


PASSES = {
    "pad": [[([0, 1], 0), ([2, 3], 0), ([4, 0], 1)]] * 2,
    "discard": [[([0, 1], 0), ([2, 3], 0)]] * 2,
    "roll_over": [[([0, 1], 0), ([2, 3], 0)], [([4, 0], 1), ([1, 2], 0), ([3, 4], 0)]],
}


@pytest.mark.parametrize("handle", list(PASSES))
def test_iter(folder: Path, handle: str) -> None:
    it = image.ImageIter(2, (3, 4, 4), imglist=names(folder), path_root=str(folder), last_batch_handle=handle)
    assert it.provide_data == [("data", (2, 3, 4, 4))] and it.provide_label == [("softmax_label", (2,))]
    for want in PASSES[handle]:
        assert labels(it) == want
        it.reset()


def test_iter_data_and_lists(folder: Path) -> None:
    (folder / "some.lst").write_text("3\t1.5\t2.5\t3.png\n1\t4\t5\t1.png\n")
    it = image.ImageIter(2, (3, 2, 3), label_width=2, path_imglist=str(folder / "some.lst"), path_root=str(folder))
    batch = it.next()
    assert batch.label[0].asnumpy().tolist() == [[1.5, 2.5], [4, 5]]
    assert batch.data[0].dtype == np.float32
    assert np.array_equal(batch.data[0].asnumpy(), np.full((2, 3, 2, 3), [[[[30]]], [[[10]]]]))
    wide = [[[1.0, 2.0], "0.png"]]
    assert image.ImageIter(1, (3, 2, 2), 2, imglist=wide, path_root=str(folder)).next().label[0].shape == (1, 2)
    part = image.ImageIter(1, (3, 2, 2), imglist=names(folder), path_root=str(folder), num_parts=2, part_index=1)
    assert [label for label, _ in labels(part)] == [[2], [3]]


def test_iter_refuses(folder: Path) -> None:
    (folder / "broken.png").write_bytes(b"nothing")
    with pytest.raises(RuntimeError, match=r"Broken image filename: broken\.png"):
        image.ImageIter(1, (3, 2, 2), imglist=[[1.0, "broken.png"]], path_root=str(folder)).next()
    with pytest.raises(ValueError, match="3 channels"):
        image.ImageIter(1, (1, 2, 2), imglist=[])
    with pytest.raises(AssertionError, match="path_imgrec"):
        image.ImageIter(1, (3, 2, 2))
    with pytest.raises(AssertionError, match="uint8 label not supported"):
        image.ImageIter(1, (3, 2, 2), imglist=[], dtype="uint8")
    with pytest.raises(MXNetError, match="label_width=1"):
        image.ImageIter(1, (3, 2, 2), imglist=[[1.0, 2.0, "0.png"]], path_root=str(folder)).next()


def test_iter_over_records(folder: Path) -> None:
    recordio = pytest.importorskip("gluonjax.recordio")
    record = recordio.MXIndexedRecordIO(str(folder / "r.idx"), str(folder / "r.rec"), "w")
    for number, name in names(folder):
        header = recordio.IRHeader(0, number, int(number), 0)
        record.write_idx(int(number), recordio.pack(header, (folder / name).read_bytes()))
    record.close()
    it = image.ImageIter(2, (3, 4, 4), path_imgrec=str(folder / "r.rec"))
    assert labels(it) == PASSES["pad"][0]
    random.seed(3)
    it = image.ImageIter(
        5, (3, 4, 4), path_imgrec=str(folder / "r.rec"), path_imgidx=str(folder / "r.idx"), shuffle=True
    )
    ((order, pad),) = labels(it)
    assert sorted(order) == [0, 1, 2, 3, 4] and pad == 0
    with pytest.raises(MXNetError, match="path_imgidx"):
        image.ImageIter(2, (3, 4, 4), path_imgrec=str(folder / "r.rec"), shuffle=True)


def test_oldest_decoder() -> None:
    """nd.imdecode gives planes, cut, less a mean, or into one picture of several."""
    data = encoded(gradient())
    planes = gradient().transpose(2, 0, 1)
    assert np.array_equal(nd.imdecode(data).asnumpy(), planes)
    assert np.array_equal(nd.imdecode(data, (1, 2, 4, 4)).asnumpy(), planes[:, 2:4, 1:4])
    assert np.array_equal(nd.imdecode(data, mean=nd.ones((3, 4, 6))).asnumpy(), planes - 1.0)
    out = nd.zeros((2, 3, 4, 6))
    assert nd.imdecode(data, out=out, index=1) is out
    assert np.array_equal(out.asnumpy()[1], planes) and not out.asnumpy()[0].any()
    assert nd.imdecode(data, channels=1).shape == (1, 4, 6)
    with pytest.raises(MXNetError, match="channels"):
        nd.imdecode(data, channels=2)
