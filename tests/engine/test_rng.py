"""One seed, one stream: the same numbers after the same seed, eagerly and compiled; different ones otherwise."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import gluon, nd
from gluonjax._engine import rng

DRAWS = {
    "uniform": lambda: nd.random.uniform(shape=(5,)), "normal": lambda: nd.random.normal(shape=(5,)),
    "randn": lambda: nd.random.randn(5), "gamma": lambda: nd.random.gamma(2, 2, shape=(5,)),
    "exponential": lambda: nd.random.exponential(1, shape=(5,)),
    "poisson": lambda: nd.random.poisson(20, shape=(20,)),
    "negative_binomial": lambda: nd.random.negative_binomial(20, 0.3, shape=(20,)),
    "randint": lambda: nd.random.randint(0, 10000, shape=(5,)),
    "generalized_negative_binomial": lambda: nd.random.generalized_negative_binomial(20, 0.3, shape=(20,)),
    "multinomial": lambda: nd.random.multinomial(nd.ones((1000,)) / 1000, shape=(8,)),
    "shuffle": lambda: nd.random.shuffle(nd.arange(100)),
    "array parameters": lambda: nd.random.normal(nd.zeros((3,)), nd.ones((3,)), shape=2),
    "dropout": lambda: nd.Dropout(nd.ones((100,)), p=0.5, mode="always"),
    "float64": lambda: nd.random.uniform(shape=(5,), dtype="float64"),
    "mx.random": lambda: mx.random.uniform(0, 1, shape=(5,)),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWS)
def test_the_seed_restarts_the_stream(name):
    draw = DRAWS[name]
    mx.random.seed(7)
    first, second = draw().asnumpy(), draw().asnumpy()
    mx.random.seed(7)
    again = draw().asnumpy()
    mx.random.seed(8)
    other = draw().asnumpy()
    assert (first == again).all()
    assert (first != second).any() and (first != other).any()


def test_seeds_of_any_size():
    for seed in (0, -1, 2**31, 2**40 + 3, np.int64(5)):
        mx.random.seed(seed)
        first = nd.random.uniform(shape=(3,)).asnumpy()
        mx.random.seed(seed)
        assert (nd.random.uniform(shape=(3,)).asnumpy() == first).all()
    with pytest.raises(TypeError):
        mx.random.seed("seven")


def test_what_is_drawn_does_not_depend_on_other_work():
    mx.random.seed(3)
    plain = [nd.random.uniform(shape=(2,)).asnumpy() for _ in range(3)]
    mx.random.seed(3)
    mixed = []
    for _ in range(3):
        nd.dot(nd.ones((3, 3)), nd.ones((3, 3)))
        mixed.append(nd.random.uniform(shape=(2,)).asnumpy())
    assert np.array_equal(plain, mixed)


def test_shuffle_permutes_rows():
    a = nd.arange(60).reshape((20, 3))
    b = nd.random.shuffle(a).asnumpy()
    assert sorted(b[:, 0].tolist()) == a.asnumpy()[:, 0].tolist() and (b != a.asnumpy()).any()
    assert (b[:, 1] - b[:, 0] == 1).all()


class Noise(gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return F.Dropout(x, p=0.5, mode="always") + F.random.uniform(shape=(4, 4)) + F.random.normal(shape=(4, 4))


def test_eager_and_hybridized_draw_the_same():
    results = []
    for hybridize in (False, True):
        net = Noise()
        if hybridize:
            net.hybridize()
        mx.random.seed(11)
        results.append([net(nd.ones((4, 4))).asnumpy() for _ in range(3)])
    np.testing.assert_allclose(results[0], results[1], rtol=1e-5, atol=1e-6)
    assert (results[1][0] != results[1][1]).any()


def test_an_initializer_draws_from_the_stream():
    weights = []
    for _ in range(2):
        mx.random.seed(5)
        net = gluon.nn.Dense(3, in_units=4)
        net.initialize(mx.init.Xavier())
        weights.append(net.weight.data().asnumpy())
    assert (weights[0] == weights[1]).all()


def test_the_numbers_of_a_context_are_the_same():
    mx.random.seed(2)
    a = nd.random.uniform(shape=(3,), ctx=mx.cpu(0)).asnumpy()
    mx.random.seed(2)
    b = nd.random.uniform(shape=(3,), ctx=mx.cpu(1)).asnumpy()
    assert (a == b).all()


def test_threads_share_the_stream_without_repeats():
    drawn = []

    def work():
        drawn.extend(tuple(int(part) for part in rng.take_keys()) for _ in range(200))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(drawn)) == 800


def test_keys_inside_of_a_trace_count_from_their_base():
    with rng.traced_key(np.array([1, 5], np.uint32)) as slot:
        first, second = rng.take_keys(2), rng.take_keys()
    assert first.tolist() == [1, 5] and second.tolist() == [1, 7] and slot[1] == 3
