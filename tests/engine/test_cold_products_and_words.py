"""What the NumPy tier hands to others: large products to one-threaded BLAS, many random words to compiled blocks."""

from __future__ import annotations

import numpy as np
import pytest

from gluonjax import sym
from gluonjax._engine import remembered, run
from gluonjax._engine._numpy_rules import blas, random, word_blocks
from gluonjax._engine._numpy_rules.site import KEY_DTYPE


@pytest.mark.parametrize("sizes", [(1, 300, 100), (100, 300, 1), (70, 90, 80), (200, 1, 60), (1, 20000, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("turned", [(False, False), (False, True), (True, False), (True, True)])
def test_products_in_one_thread(sizes, dtype, turned, monkeypatch):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    rows, depth, columns = sizes
    draw = np.random.default_rng(0).normal
    left = draw(size=(depth, rows)).astype(dtype).T if turned[0] else draw(size=(rows, depth)).astype(dtype)
    right = draw(size=(columns, depth)).astype(dtype).T if turned[1] else draw(size=(depth, columns)).astype(dtype)
    found = blas.product(rows, depth, columns, np.dtype(dtype))(left, right)
    assert found.dtype == dtype and found.shape == (rows, columns)
    np.testing.assert_allclose(found, left.astype(np.float64) @ right.astype(np.float64), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_blocks_make_the_same_words(width, monkeypatch):
    key = np.array([5, 9], np.uint32).view(KEY_DTYPE).reshape(())
    size = word_blocks.WORDS + 1000
    monkeypatch.setattr(word_blocks._Spent, "words", 0)
    by_numpy = random.bits(key, width, (size,))
    assert word_blocks._Spent.words == size
    monkeypatch.setattr(word_blocks._Spent, "words", run.PRICE_NS)
    assert word_blocks.pay(size)
    np.testing.assert_array_equal(random.bits(key, width, (size,)), by_numpy)


def test_inference_is_remembered_for_equal_graphs_only():
    def network(units, shape=None):
        return sym.FullyConnected(sym.var("x", shape=shape), num_hidden=units, name="fc")

    assert network(4).infer_shape(x=(2, 3))[0] == [(2, 3), (4, 3), (4,)]
    assert len(remembered._equal_graphs)
    assert network(4).infer_shape(x=(2, 3))[0] == [(2, 3), (4, 3), (4,)]
    assert network(5).infer_shape(x=(2, 3))[0] == [(2, 3), (5, 3), (5,)]
    assert network(4).infer_shape(x=(2, 6))[0] == [(2, 6), (4, 6), (4,)]
    one = network(4)
    assert one.infer_shape(x=(2, 3))[1] == [(2, 4)]
    assert one.infer_shape(x=(7, 3), fc_bias=(4,))[1] == [(7, 4)]
    assert one.infer_type(x="float64")[1] == [np.float64]
    assert one.infer_type(x="float16")[1] == [np.float16]
    assert network(4, (9, 3)).infer_shape()[1] == [(9, 4)]
