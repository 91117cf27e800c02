"""Detection augmenters and ImageDetIter; labels and means were recorded from MXNet 1.9.1."""

from __future__ import annotations

import json
import pathlib
import random
from typing import Any

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import image, nd
from gluonjax._base.errors import MXNetError
from tests.oracle.record_detection import BOXES, FILE, SETTINGS, run

FOLDER = pathlib.Path(__file__).resolve().parent / "data" / "files"
pytest.importorskip("PIL.Image")


@pytest.mark.parametrize("name", list(SETTINGS))
def test_as_mxnet(name: str) -> None:
    """The same random numbers in the same order: equal labels, and pictures alike."""
    recorded = np.load(FILE)
    for seed in range(12):
        label, mean = run(mx, name, seed)
        np.testing.assert_allclose(label, recorded[f"{name}/{seed}/label"], rtol=1e-5, atol=1e-6)
        assert abs(mean - recorded[f"{name}/{seed}/mean"]) < 0.5


def test_dumps() -> None:
    steps = image.CreateDetAugmenter((3, 4, 5), resize=6, rand_crop=1, rand_mirror=True, max_attempts=[3, 4])
    assert steps[0].dumps() == ["detborrowaug", '["resizeaug", {"size": 6, "interp": 2}]']
    kind, members = steps[1].dumps()
    assert kind == "detrandomselectaug" and [json.loads(one)[1]["max_attempts"] for one in members] == [3, 4]
    assert steps[2].dumps() == '["dethorizontalflipaug", {"p": 0.5}]'


def test_refuses() -> None:
    with pytest.raises(ValueError, match="Borrowing from invalid Augmenter"):
        image.DetBorrowAug(lambda src: src)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Allow DetAugmenter in list only"):
        image.DetRandomSelectAug([image.CastAug()])
    with pytest.warns(UserWarning, match="Skip DetRandomCropAug due to invalid area_range"):
        assert not image.DetRandomCropAug(area_range=(0.9, 0.1)).enabled
    with pytest.warns(UserWarning, match="Skip DetRandomPadAug"):
        step = image.DetRandomPadAug(area_range=(0.5, 0.9))
    source = nd.ones((4, 5, 3))
    assert step(source, BOXES)[0] is source
    with pytest.raises(MXNetError, match="lists must have one length"):
        image.CreateMultiRandCropAugmenter([0.1, 0.2], max_attempts=[1, 2, 3])
    with pytest.raises(TypeError, match="must override"):
        image.DetAugmenter()(source, BOXES)


def test_nothing_to_select() -> None:
    source = nd.ones((4, 5, 3))
    assert image.DetRandomSelectAug([])(source, BOXES)[0] is source


def record_iter(**given: Any) -> image.ImageDetIter:
    return image.ImageDetIter(3, (3, 20, 24), path_imgrec=str(FOLDER / "boxes.rec"), **given)


def test_iter() -> None:
    batches = record_iter()
    assert batches.label_shape == (3, 5)
    assert batches.provide_label == [("label", (3, 3, 5))]
    found = list(batches)
    assert [batch.pad for batch in found] == [0, 0, 2]
    first = found[0].label[0].asnumpy()
    assert (first[0, 1:] == -1).all() and (first[2, :, 0] >= 0).all()
    batches.reset()
    assert np.array_equal(batches.next().label[0].asnumpy(), first)


def test_iter_from_a_list(tmp_path: pathlib.Path) -> None:
    header, picture = mx.recordio.unpack(mx.recordio.MXRecordIO(str(FOLDER / "boxes.rec"), "r").read() or b"")
    (tmp_path / "a.jpg").write_bytes(picture)
    label = [2, 5, *BOXES[:, :5].ravel().tolist()]
    entries = [[np.array(label), "a.jpg"], [np.array(label[:7]), "a.jpg"], [np.array(label[:12]), "a.jpg"]]
    for handle, pads in (("pad", [0, 1]), ("discard", [0]), ("roll_over", [0])):
        batches = image.ImageDetIter(
            2, (3, 8, 8), imglist=entries, path_root=str(tmp_path), last_batch_handle=handle
        )
        assert [batch.pad for batch in batches] == pads
    lines = ["\t".join(map(str, [number, *entry[0].tolist(), entry[1]])) for number, entry in enumerate(entries)]
    (tmp_path / "some.lst").write_text("\n".join(lines) + "\n")
    listed = image.ImageDetIter(1, (3, 8, 8), path_imglist=str(tmp_path / "some.lst"), path_root=str(tmp_path))
    assert [(batch.label[0].asnumpy()[0, :, 0] >= 0).sum() for batch in listed] == [3, 1, 2]
    assert header.flag == 7


def test_shapes_are_brought_together() -> None:
    one, other = record_iter(), record_iter()
    other.reshape(label_shape=(9, 5))
    assert one.sync_label_shape(other, verbose=True) is other
    assert one.label_shape == other.label_shape == (9, 5)
    assert one.next().label[0].shape == (3, 9, 5)
    for shape, text in (((2, 5), "reduce label count"), ((9, 6), "object width inconsistent"), ((9,), "length 2")):
        with pytest.raises(ValueError, match=text):
            one.reshape(label_shape=shape)
    with pytest.raises(MXNetError, match="Synchronize with invalid iterator"):
        one.sync_label_shape(3)
    one.reshape(data_shape=(3, 8, 8))
    one.auglist = image.CreateDetAugmenter((3, 8, 8))
    assert one.next().data[0].shape == (3, 3, 8, 8)


def test_labels_that_cannot_be() -> None:
    batches = record_iter()
    for label, text in (
        ([2, 5], "Label shape is invalid"), ([2, 5] + [0] * 6, "inconsistent with annotation width 5"),
        ([2, 5, 0, 0.5, 0.5, 0.2, 0.2], "no valid label"),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=text):
            batches._parse_label(np.array(label))


def test_drawing() -> None:
    pytest.importorskip("cv2")
    random.seed(1)
    drawn = list(record_iter(mean=True, std=True).draw_next((255, 0, 0), 1, True, True, id2labels={0: "a", 1: "b"}))
    assert len(drawn) == 7
    assert drawn[0].shape == (20, 24, 3) and drawn[0].dtype == np.uint8
    assert (drawn[0] == (0, 0, 255)).all(axis=2).any()
