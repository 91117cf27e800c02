"""Data sets, samplers and loaders."""

from __future__ import annotations

import time

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import nd
from gluonjax.gluon import data


@pytest.mark.parametrize("workers", [0, 3])
def test_batches_come_in_order(workers: int) -> None:
    numbers = data.ArrayDataset(np.arange(10.0), np.arange(10))
    loader = data.DataLoader(numbers, 4, num_workers=workers, thread_pool=True)
    batches = [label.asnumpy().tolist() for _, label in loader]
    assert batches == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert len(loader) == 3


def test_rollover_keeps_the_rest() -> None:
    batches = data.BatchSampler(data.SequentialSampler(5), 2, "rollover")
    assert list(batches) == [[0, 1], [2, 3]]
    assert list(batches) == [[4, 0], [1, 2], [3, 4]]


def test_one_seed_controls_the_order() -> None:
    mx.random.seed(3)
    first = list(data.RandomSampler(20))
    mx.random.seed(3)
    assert list(data.RandomSampler(20)) == first
    assert sorted(first) == list(range(20))


def test_errors_of_workers_arrive() -> None:
    def fail(x: float) -> float:
        raise KeyError("broken sample")

    loader = data.DataLoader(data.SimpleDataset([1.0, 2.0]).transform(fail), 1, num_workers=1)
    with pytest.warns(UserWarning, match="threads"), pytest.raises(KeyError, match="broken sample"):
        next(iter(loader))


def test_timeout_says_so() -> None:
    slow = data.SimpleDataset([1.0]).transform(lambda x: time.sleep(1) or x)
    with pytest.raises(TimeoutError, match=r"Worker timed out after 0\.05 seconds"):
        next(iter(data.DataLoader(slow, 1, num_workers=1, timeout=0.05, thread_pool=True)))


def test_shards_cover_everything() -> None:
    numbers = data.SimpleDataset(list(range(9)))
    shards = [list(numbers.shard(4, index)) for index in range(4)]
    assert [len(shard) for shard in shards] == [3, 2, 2, 2]
    assert [one for shard in shards for one in shard] == list(range(9))


def test_contradicting_arguments() -> None:
    with pytest.raises(ValueError, match="batch_size must be specified"):
        data.DataLoader(data.SimpleDataset([1]))
    with pytest.raises(ValueError, match="shuffle must not be specified"):
        data.DataLoader(data.SimpleDataset([1]), 1, shuffle=True, sampler=data.SequentialSampler(1))


def test_batchify_functions() -> None:
    batchify = data.batchify
    assert batchify.Stack()([nd.ones((2,)), np.zeros(2, np.float32)]).asnumpy().tolist() == [[1, 1], [0, 0]]
    with pytest.raises(ValueError, match=r"shapes \[\(1,\), \(2,\)\]; use batchify\.Pad"):
        batchify.Stack()([[1], [1, 2]])
    padded = batchify.Pad(val=7, round_to=4, dtype="float32")([np.ones((2, 3)), np.ones((1, 5))])
    assert padded.shape == (2, 4, 8) and padded.asnumpy()[1, 0].tolist() == [1] * 5 + [7] * 3
    assert [one.shape for one in batchify.Append()([[1, 2], [3]])] == [(1, 2), (1, 1)]
    loader = data.DataLoader(
        data.SimpleDataset([([1, 2, 3], "a"), ([4], "b")]), 2,
        batchify_fn=batchify.Group(batchify.Pad(), batchify.AsList()), num_workers=1,
    )  # fmt: skip
    tokens, texts = next(iter(loader))
    assert tokens.asnumpy().tolist() == [[1, 2, 3], [4, 0, 0]] and texts == ["a", "b"]
    with pytest.raises(ValueError, match="2 parts for 1 functions"):
        batchify.Group(batchify.Stack())([(1, 2)])


def test_images_by_list(tmp_path) -> None:
    pytest.importorskip("PIL")
    from PIL import Image

    for name, value in (("a.png", 10), ("b.png", 200)):
        Image.fromarray(np.full((4, 6, 3), value, np.uint8)).save(tmp_path / name)
    (tmp_path / "train.lst").write_text("0\t1.0\ta.png\n1\t4.0\t5.0\tb.png\n")
    listed = data.vision.ImageListDataset(str(tmp_path), "train.lst")
    image, label = listed[0]
    assert len(listed) == 2 and image.shape == (4, 6, 3) and image.asnumpy().max() == 10 and label == 1.0
    assert listed[1][1].tolist() == [4.0, 5.0]
    given = data.vision.ImageListDataset(str(tmp_path), [[3, "b.png"]], flag=0)
    assert given[0][0].shape == (4, 6, 1) and given[0][1] == 3.0
    with pytest.raises(ValueError, match=r"there is no list .*nothing\.lst"):
        data.vision.ImageListDataset(str(tmp_path), "nothing.lst")
