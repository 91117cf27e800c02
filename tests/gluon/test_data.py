"""Data sets, samplers and loaders."""

from __future__ import annotations

import time

import numpy as np
import pytest

import gluonjax as mx
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
