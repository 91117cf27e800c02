"""The image record iterators: pixels and order of the real MXNet, randomness, parts, errors."""

from __future__ import annotations

import functools
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import io, recordio
from gluonjax._base.errors import MXNetError
from gluonjax._images import codecs, colors, normalize, resample, warp
from gluonjax._images.box_augment import Objects
from tests.io import picture_cases

pytest.importorskip("PIL.Image")
FOLDER = pathlib.Path(__file__).resolve().parent.parent / "data" / "files"
RECORDED = np.load(FOLDER / "pictures.npz")
# OpenCV's bicubic of bytes differs by 1 or 2 from one of its releases to the next.
INEXACT = {"resize2": 1, "larger2": 2, "larger9": 2, "rotate_cubic": 1}
# What Pillow's own warps may differ by, at edges far.
WARPS = ("rotate", "rotate_cubic", "scaled", "proportions")


@pytest.fixture(params=["opencv", "plain"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With cv2, where it is installed, and with Pillow and NumPy alone."""
    if request.param == "opencv":
        pytest.importorskip("cv2")
    else:
        for module in (codecs, colors, normalize, resample, warp):
            monkeypatch.setattr(module, "opencv", lambda: None)
        monkeypatch.setattr(codecs, "turbo", lambda: None)
    return request.param


def record_iter(kind: str = "ImageRecordIter", **given: Any) -> Any:
    return getattr(io, kind)(**picture_cases.arguments(str(FOLDER), given))


def labels_of(iterator: Any) -> list[list[float]]:
    return [batch.label[0].asnumpy().tolist() for batch in iterator]


@pytest.mark.parametrize("name", list(picture_cases.CASES))
def test_as_mxnet(backend: str, name: str) -> None:
    want = {key[len(name) + 1 :]: RECORDED[key] for key in RECORDED.files if key.startswith(f"{name}/")}
    found = picture_cases.epochs(mx, str(FOLDER), name)
    assert found.keys() == want.keys() and len(want) >= 3
    for key, value in want.items():
        got = np.asarray(found[key])
        assert got.shape == value.shape
        away = np.abs(got.astype(np.float64) - value)
        if not key.endswith("data"):
            np.testing.assert_allclose(got, value, rtol=1e-6)
        elif backend == "plain" and name in WARPS:
            assert np.median(away) <= 3
        elif backend == "plain" and name in ("resize3", "resize9"):
            assert away.max() <= 1  # sums over areas, rounded in another order
        else:
            assert away.max() <= INEXACT.get(name, 1e-5)


def test_description() -> None:
    iterator = record_iter(data_name="x", label_name="y", path_imglist="pictures.lst", label_width=2)
    assert repr(iterator.provide_data) == "[DataDesc[x,(3, 3, 12, 16),<class 'numpy.float32'>,NCHW]]"
    assert repr(iterator.provide_label) == "[DataDesc[y,(3, 2),<class 'numpy.float32'>,NCHW]]"
    batch = iterator.next()
    assert batch.index.tolist() == [10, 11, 12]
    assert batch.data[0].context == mx.cpu()


def test_last_batch_without_rounding() -> None:
    iterator = record_iter(round_batch=False)
    for _ in range(2):
        batches = list(iterator)
        assert [batch.pad for batch in batches] == [0, 0, 2]
        assert batches[2].label[0].asnumpy().tolist() == [6.5, 0, 0]
        assert not batches[2].data[0].asnumpy()[1:].any()
        iterator.reset()


def test_reset_in_the_middle_starts_again() -> None:
    iterator = record_iter()
    whole = labels_of(iterator)
    iterator.reset()
    assert labels_of(iterator)[0] == [2.5, 3.5, 4.5]
    iterator = record_iter()
    iterator.next()
    iterator.reset()
    assert labels_of(iterator) == whole


@pytest.mark.parametrize("index", ["", "pictures.idx"])
def test_shuffle(index: str) -> None:
    def orders(seed: int) -> list[list[float]]:
        iterator = record_iter(shuffle=True, seed=seed, batch_size=7, **({"path_imgidx": index} if index else {}))
        found = labels_of(iterator)
        iterator.reset()
        return found + labels_of(iterator)

    first, second = orders(1)
    assert sorted(first) == sorted(second) == [number + 0.5 for number in range(7)]
    assert first != second
    assert orders(1) == [first, second] != orders(2)


RANDOM: dict[str, dict[str, Any]] = {
    "crop": {"rand_crop": True},
    "mirror": {"rand_mirror": True},
    "area": {"random_resized_crop": True, "min_random_area": 0.2, "max_random_area": 0.9, "max_aspect_ratio": 0.3},
    "square": {"min_crop_size": 14, "max_crop_size": 30, "rand_crop": True},
    "colours": {"brightness": 0.4, "contrast": 0.4, "saturation": 0.4, "pca_noise": 0.2},
    "hls": {"random_h": 40, "random_s": 30, "random_l": 50},
    "warp": {"max_rotate_angle": 20, "max_shear_ratio": 0.2, "min_random_scale": 0.7, "max_aspect_ratio": 0.2},
    "turns": {"rotate_list": "45,90,135"},
    "light": {"max_random_contrast": 0.3, "max_random_illumination": 20},
    "interpolation": {"resize": 30, "inter_method": 10},
}


@pytest.mark.parametrize("name", list(RANDOM))
def test_random_augmentation(backend: str, name: str) -> None:
    def data(seed: int | None, threads: int = 1, epochs: int = 1) -> np.ndarray:
        given = {**RANDOM[name], **({} if seed is None else {"seed_aug": seed})}
        iterator = record_iter(batch_size=7, preprocess_threads=threads, **given)
        for _ in range(epochs - 1):
            iterator.next()
            iterator.reset()
        return iterator.next().data[0].asnumpy()

    plain = record_iter(batch_size=7).next().data[0].asnumpy()
    first = data(5)
    assert np.abs(first - plain).max() > 1
    # The seed alone decides, not which thread comes first; it holds for every epoch.
    assert np.array_equal(first, data(5, threads=2))
    assert np.array_equal(first, data(5, epochs=2))
    assert not np.array_equal(first, data(6))
    assert not np.array_equal(data(None), data(None, epochs=2))
    assert np.array_equal(data(None), data(None))
    if name != "light":
        assert 0 <= first.min() and first.max() <= 255


def test_many_random_pictures_keep_their_mean() -> None:
    """Colour changes go both ways: the mean of many stays where it was."""
    plain = record_iter("ImageRecordUInt8Iter", batch_size=7).next().data[0].asnumpy().astype(np.float64)
    iterator = record_iter("ImageRecordUInt8Iter", batch_size=7, brightness=0.2, contrast=0.2, saturation=0.2)
    total = np.zeros_like(plain)
    for _ in range(60):
        total += iterator.next().data[0].asnumpy()
        iterator.reset()
    assert abs(total.mean() / 60 - plain.mean()) < 4


def test_mean_image(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "mean.params")
    pictures = record_iter(batch_size=7).next().data[0].asnumpy()
    for _ in range(2):  # computed and written, then read
        centred = record_iter(batch_size=7, mean_img=path, scale=2).next().data[0].asnumpy()
        assert np.allclose(centred, (pictures - pictures.mean(axis=0)) * 2, atol=1e-3)
    assert mx.nd.load(path)["mean_img"].shape == picture_cases.SMALL
    with pytest.raises(MXNetError, match="Invalid mean image file format"):
        record_iter(data_shape=(3, 4, 4), mean_img=path)


def test_more_types() -> None:
    whole = record_iter(batch_size=7, mean_r=20.5).next().data[0].asnumpy()
    for dtype in ("float16", "float64"):
        batch = record_iter(batch_size=7, mean_r=20.5, dtype=dtype).next()
        assert batch.data[0].dtype == np.dtype(dtype)
        assert np.array_equal(batch.data[0].asnumpy(), whole)


def test_several_files_and_folders(tmp_path: pathlib.Path) -> None:
    data = (FOLDER / "pictures.rec").read_bytes()
    for name in ("a.rec", "b.rec"):
        (tmp_path / name).write_bytes(data)
    once = [[number + 0.5] for number in range(7)]
    for path in (str(tmp_path), f"{tmp_path}/a.rec;{tmp_path}/b.rec"):
        arguments: dict[str, Any] = {"path_imgrec": path, "data_shape": (3, 4, 4), "batch_size": 1, "verbose": False}
        assert labels_of(io.ImageRecordIter(**arguments)) == once * 2
        parts = [labels_of(io.ImageRecordIter(**arguments, num_parts=5, part_index=part)) for part in range(5)]
        assert [label for part in parts for label in part] == once * 2


ERRORS: list[tuple[dict[str, Any], str]] = [
    ({"data_shape": (3, 24)}, "data_shape has wrong dimensions, expected dimension=3"),
    ({"data_shape": (2, 24, 24)}, r"Invalid output shape \[2, 24, 24\]"),
    ({"data_shape": (4, 12, 12)}, r"record 0 at byte 0 of .*pictures\.rec.*Expected 4 channels, got 3"),
    ({"path_imgrec": "none.rec"}, "Cannot find any files that matches the URI pattern"),
    ({"label_width": 2}, "label_width must be 1 unless an imglist"),
    ({"path_imgrec": "boxes.rec"}, "rec file provide 7-dimensional label but label_width is set to 1"),
    ({"part_index": 3, "num_parts": 3}, "part_index must be 0 to num_parts - 1"),
    ({"random_resized_crop": True, "rand_crop": True}, "Setting random_resized_crop to true conflicts"),
    ({"min_crop_size": 100, "max_crop_size": 100}, "input image size smaller than max_crop_size"),
    ({"aug_seq": "aug_fancy"}, "unknown augmenter 'aug_fancy'"),
    ({"inter_method": 7}, "invalid inter_method"),
    ({"batch_size": 0}, "batch_size must be 1 or more"),
    ({"batch_size": 15}, "number of input images must be bigger than the batch size"),
    ({"dtype": "int32"}, "unknown dtype"),
    ({"path_imgidx": "pictures.lst"}, "the index has a record|expected the magic number"),
]


@pytest.mark.parametrize(("given", "text"), ERRORS)
def test_errors(given: dict[str, Any], text: str) -> None:
    with pytest.raises(MXNetError, match=text):
        list(record_iter(**given))


def test_mistyped_arguments_are_named_and_ignored() -> None:
    with pytest.warns(UserWarning, match="unknown argument 'rand_corp' is ignored; did you mean 'rand_crop'"):
        iterator = record_iter(rand_corp=True)
    assert len(labels_of(iterator)) == 3


def test_damage_is_reported_where_it_is(tmp_path: pathlib.Path) -> None:
    record = recordio.MXRecordIO(str(tmp_path / "bad.rec"), "w")
    good = recordio.MXRecordIO(str(FOLDER / "pictures.rec"), "r")
    for number in range(4):
        header, picture = recordio.unpack(good.read() or b"")
        record.write(recordio.pack(header, picture if number != 2 else b"no picture"))
    record.close()
    data = (tmp_path / "bad.rec").read_bytes()
    settings: dict[str, Any] = {"path_imgrec": str(tmp_path / "bad.rec"), "data_shape": (3, 8, 8), "verbose": False}
    iterator = io.ImageRecordIter(**settings, batch_size=2)
    assert iterator.next().label[0].asnumpy().tolist() == [0.5, 1.5]
    with pytest.raises(MXNetError, match=r"record 2 at byte \d+ of .*bad\.rec.*Invalid image with index 12: 10 bytes"):
        iterator.next()
    (tmp_path / "bad.rec").write_bytes(data[:-9])
    iterator = io.ImageRecordIter(**settings, batch_size=1)
    assert len([iterator.next(), iterator.next()]) == 2
    with pytest.raises(MXNetError, match="Invalid image"):
        iterator.next()
    with pytest.raises(MXNetError, match=r"record 3: the record at byte \d+: .* truncated"):
        iterator.next()


def test_threads_end_with_their_iterator() -> None:
    iterator = record_iter()
    iterator.next()
    pool = iterator.handle._pool
    threads = list(pool._threads)
    assert threads and all(thread.name.startswith("gluonjax-images") for thread in threads)
    del iterator
    pool.shutdown(wait=True)
    assert not any(thread.is_alive() for thread in threads)


def test_reads_ahead() -> None:
    iterator = record_iter(batch_size=1, prefetch_buffer=3)
    assert len(iterator.handle._jobs) == 3
    for job in iterator.handle._jobs:
        assert job.ready.wait(20)


# ---- detection -----------------------------------------------------------------------------------------


def boxes_iter(**given: Any) -> Any:
    return record_iter("ImageDetRecordIter", path_imgrec="boxes.rec", batch_size=7, **given)


def objects(batch: Any) -> Iterator[np.ndarray]:
    for row in batch.label[0].asnumpy():
        yield Objects.read(row[4 : 4 + int(row[3])]).rows


def test_boxes_are_cut_with_the_picture(backend: str) -> None:
    iterator = boxes_iter(
        rand_crop_prob=1, min_crop_scales=0.5, max_crop_scales=0.9, min_crop_object_coverages=0.4,
        min_crop_aspect_ratios=0.7, max_crop_aspect_ratios=1.4, max_crop_trials=50,
    )  # fmt: skip
    before = [rows for rows in objects(boxes_iter().next())]
    batch = iterator.next()
    found = list(objects(batch))
    assert any(a.shape != b.shape or not np.allclose(a, b) for a, b in zip(found, before))
    for rows in found:
        assert len(rows) and (rows[:, 1:] >= 0).all() and (rows[:, 1:] <= 1).all()


def test_boxes_shrink_in_a_border(backend: str) -> None:
    iterator = boxes_iter(rand_pad_prob=1, max_pad_scale=3, fill_value=0)
    plain = next(objects(boxes_iter().next()))
    for rows in objects(iterator.next()):
        assert ((rows[:, 3] - rows[:, 1]) < 0.5).all()
    padded = next(objects(iterator.next() if iterator.iter_next() else boxes_iter().next()))
    assert padded.shape == plain.shape


def test_boxes_and_colours(backend: str) -> None:
    colour = {"max_random_hue": 30, "random_hue_prob": 1, "max_random_contrast": 0.5, "random_contrast_prob": 1}
    plain, changed = boxes_iter().next(), boxes_iter(**colour).next()
    assert np.array_equal(plain.label[0].asnumpy(), changed.label[0].asnumpy())
    assert not np.array_equal(plain.data[0].asnumpy(), changed.data[0].asnumpy())


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"label_pad_width": 8}, "label_pad_width: 8 smaller than estimated width: 17"),
        ({"label_width": 7}, "rec file provide 12-dimensional label but label_width is set to 7"),
        ({"num_crop_sampler": 3, "min_crop_scales": (0.1, 0.2)}, "parameters/crop_samplers mismatch"),
        ({"min_crop_scales": 0.9, "max_crop_scales": 0.2}, "must rise"),
        ({"resize_mode": "fill"}, "valid values are"),
        ({"aug_seq": "aug_default"}, "unknown augmenter"),
    ],
)
def test_box_errors(given: dict[str, Any], text: str) -> None:
    with pytest.raises(MXNetError, match=text):
        boxes_iter(**given)


def test_labels_that_are_no_boxes() -> None:
    read = functools.partial(np.array, dtype=np.float32)
    bad = (([2, 5], "has no object"), ([1, 5] + [0] * 5, "header width 1"), ([2, 5] + [0] * 6, "not a header"))
    for label, text in bad:
        with pytest.raises(MXNetError, match=text):
            Objects.read(read(label))
    with pytest.raises(MXNetError, match="Not enough label packed"):
        record_iter("ImageDetRecordIter", path_imgrec="pictures.rec")
