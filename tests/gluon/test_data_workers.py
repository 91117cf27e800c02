"""DataLoader's worker processes: same batches, own seeds, errors and timeouts that arrive, JAX left alone."""

from __future__ import annotations

import time
import traceback

import numpy as np
import pytest

import gluonjax as mx
from gluonjax.gluon import data
from gluonjax.gluon.data import _pool
from tests.gluon import module_for_workers as sets


@pytest.fixture(scope="module", autouse=True)
def no_workers_left():
    yield
    _pool.end_workers()


def batches(loader: data.DataLoader) -> list[list[list[float]]]:
    return [[part.asnumpy().tolist() for part in batch] for batch in loader]


def test_processes_give_the_same_batches() -> None:
    mx.nd.ones((2, 2)).wait_to_read()  # a parent that runs JAX
    expected = batches(data.DataLoader(sets.Squares(), 4))
    loader = data.DataLoader(sets.Squares(), 4, num_workers=2)
    assert batches(loader) == expected
    assert batches(loader) == expected, "and again in the next epoch"
    assert not loader._thread_pool
    pinned = next(iter(data.DataLoader(sets.Squares(), 4, num_workers=1, pin_memory=True)))
    assert pinned[0].context.device_type == "cpu_pinned"


def draw(seed: int) -> list[np.ndarray]:
    mx.random.seed(seed)
    loader = data.DataLoader(sets.Draws(), 1, num_workers=2)
    return [np.stack([batch.asnumpy()[0] for batch in loader]) for _ in range(2)]


def test_seeds_differ_by_worker_and_epoch_and_follow_the_one_seed() -> None:
    first, second = draw(7)
    assert len(set(first[:, 0])) == 2, "both workers took part"
    drawn = np.concatenate([first, second])[:, 1:]
    assert len(np.unique(drawn)) == drawn.size, "no number twice: all streams differ"
    again, _ = draw(7)
    np.testing.assert_array_equal(first[:, 1:], again[:, 1:])
    other, _ = draw(8)
    assert not np.isin(other[:, 1:], first[:, 1:]).any()


def test_errors_come_with_the_workers_traceback() -> None:
    loader = data.DataLoader(sets.Fails(), 1, num_workers=1)
    with pytest.raises(KeyError, match="sample 1 is broken") as caught:
        list(loader)
    text = "".join(traceback.format_exception(caught.value))
    assert "module_for_workers.py" in text and 'raise KeyError(f"sample {idx} is broken")' in text


def test_timeout_and_early_break() -> None:
    started = time.monotonic()
    with pytest.raises(TimeoutError, match=r"timed out after 0\.2 seconds"):
        next(iter(data.DataLoader(sets.Slow(), 1, num_workers=1, timeout=0.2)))
    assert time.monotonic() - started < 5
    _pool.end_workers()
    for batch in data.DataLoader(sets.Squares(), 1, num_workers=1):
        assert batch[1].asscalar() == 0
        break
    assert len(list(data.DataLoader(sets.Squares(), 1, num_workers=1))) == 10


def test_a_dead_worker_is_named() -> None:
    with pytest.raises(mx.MXNetError, match=r"ended with status 3 .* num_workers=0"):
        list(data.DataLoader(sets.Dies(), 1, num_workers=1, timeout=30))
    assert len(list(data.DataLoader(sets.Squares(), 5, num_workers=1))) == 2, "another one takes its place"


def test_workers_leave_jax_alone() -> None:
    assert [batch.asscalar() for batch in data.DataLoader(sets.Untouched(), 1, num_workers=1)] == [1.0, 1.0]


def test_what_cannot_be_sent_is_loaded_by_threads() -> None:
    doubled = data.SimpleDataset([1.0, 2.0]).transform(lambda x: x * 2)
    with pytest.warns(UserWarning, match="cannot be sent to worker processes"):
        loaded = [batch.asscalar() for batch in data.DataLoader(doubled, 1, num_workers=2)]
    assert loaded == [2.0, 4.0]


def test_what_workers_cannot_read_is_loaded_by_threads() -> None:
    loader = data.DataLoader(sets.OnlyHere(), 1, num_workers=1)
    with pytest.warns(UserWarning, match="only in the parent"):
        assert [batch.asscalar() for batch in loader] == [0.0, 1.0, 2.0]
    assert [batch.asscalar() for batch in loader] == [0.0, 1.0, 2.0]


def test_arrays_through_queues() -> None:
    queue = data.dataloader.SimpleQueue()
    queue.put((1, mx.nd.arange(6).reshape((2, 3))))
    number, array = queue.get()
    assert number == 1 and array.asnumpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    key_queue, data_queue = data.dataloader.SimpleQueue(), data.dataloader.SimpleQueue()
    for request in ((0, [1, 2]), (None, None)):
        key_queue.put(request)
    data.dataloader.worker_loop_v1(sets.Squares(), key_queue, data_queue, data.dataloader.default_mp_batchify_fn)
    data_queue.put((None, None))
    found: dict[int, list[mx.nd.NDArray]] = {}
    data.dataloader.fetcher_loop_v1(data_queue, found)
    assert found[0][0].asnumpy().tolist() == [[1, 1], [2, 4]]
