"""Batches taken from arrays in one piece are what stacking the samples gives, and nobody can tell."""

from __future__ import annotations

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import autograd, nd
from gluonjax.gluon import data
from gluonjax.gluon.data import _gather
from gluonjax.gluon.data.dataloader import default_batchify_fn

IMAGES = np.arange(72.0).reshape(6, 3, 4)
SETS = {
    "array and vector": lambda: data.ArrayDataset(nd.array(IMAGES), nd.arange(6)),
    "one array": lambda: data.ArrayDataset(nd.array(IMAGES, dtype="float16")),
    "numpy": lambda: data.ArrayDataset(IMAGES.astype("uint8"), np.arange(6), IMAGES[:, :2].copy()),
    "numpy vector": lambda: data.SimpleDataset(np.arange(6, dtype="int32")),
    "simple": lambda: data.SimpleDataset(nd.array(IMAGES, dtype="int64")),
    "vector of an array": lambda: data.SimpleDataset(nd.arange(6)),
    "a view": lambda: data.ArrayDataset(nd.array(IMAGES).reshape((-1, 4))[3:9], list(range(6))),
    "computed": lambda: data.ArrayDataset(nd.array(IMAGES) * 2, nd.arange(6) - 1),
    "pinned": lambda: data.ArrayDataset(nd.array(IMAGES, ctx=mx.cpu_pinned()), np.arange(6) > 2),
    "another dtype": lambda: data.ArrayDataset(nd.array(IMAGES).astype("bfloat16"), np.arange(6, dtype=">i4")),
    "transposed": lambda: data.ArrayDataset(np.asfortranarray(IMAGES), IMAGES.astype("float32")),
    "np arrays": lambda: data.ArrayDataset(mx.np.array(IMAGES), mx.np.arange(6)),
    "texts and arrays": lambda: data.SimpleDataset([(1, nd.ones((2,)))] * 6),
    "transformed": lambda: data.ArrayDataset(nd.array(IMAGES), nd.arange(6)).transform_first(lambda x: x + 1),
}  # fmt: skip


def seen(batch):
    if isinstance(batch, list):
        return [seen(one) for one in batch]
    return type(batch), batch.context, np.dtype(batch.dtype), batch.shape, batch.asnumpy().tolist()


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("order", [[0, 1, 2], [5, 0, 5], [-1, 2], [np.int64(3)]])
def test_batches_are_stacked_samples(name, order):
    dataset = SETS[name]()
    (batch,) = data.DataLoader(dataset, batch_sampler=[order])
    assert seen(batch) == seen(default_batchify_fn([dataset[index] for index in order]))


def test_it_is_done_in_one_piece():
    in_one_piece = [name for name in SETS if _gather._in_one_piece(SETS[name](), [1, 4]) is not None]
    assert in_one_piece == ["array and vector", "one array", "numpy", "numpy vector", "simple", "computed"]


@pytest.mark.parametrize("order", [[6], [0, -7], [0, 1.5]])
def test_errors_are_those_of_the_data_set(order):
    dataset = SETS["array and vector"]()
    with pytest.raises(Exception) as expected:
        [dataset[index] for index in order]
    with pytest.raises(type(expected.value)) as found:
        list(data.DataLoader(dataset, batch_sampler=[order]))
    assert str(found.value) == str(expected.value)


def test_writing_to_a_batch_leaves_the_data_set_alone():
    images = nd.array(IMAGES)
    (batch,) = data.DataLoader(data.ArrayDataset(images), 6)
    batch[:] = 0
    assert images.asnumpy().tolist() == IMAGES.tolist()
    images[:] = 1
    assert batch.sum().asscalar() == 0


def test_changed_classes_are_respected(monkeypatch):
    class Doubled(data.ArrayDataset):
        def __getitem__(self, idx):
            return super().__getitem__(idx) * 2

    (batch,) = data.DataLoader(Doubled(np.arange(3.0)), 3)
    assert batch.asnumpy().tolist() == [0, 2, 4]
    monkeypatch.setattr(data.SimpleDataset, "__getitem__", lambda self, idx: -idx)
    (batch,) = data.DataLoader(data.SimpleDataset(np.arange(3)), 3)
    assert batch.asnumpy().tolist() == [0, -1, -2]


def test_gradients_reach_the_data_set():
    images = nd.array(IMAGES)
    images.attach_grad()
    with autograd.record():
        loss = sum((batch * batch).sum() for batch in data.DataLoader(data.SimpleDataset(images), 4))
    loss.backward()
    assert images.grad.asnumpy().tolist() == (2 * IMAGES).tolist()
