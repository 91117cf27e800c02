"""Gradients that an update used up are not written to memory, and are there all the same for whoever reads them."""

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import autograd, gluon, nd
from gluonjax._engine import lazy


@pytest.fixture(autouse=True)
def fresh_recipes():
    lazy.recipes.on, lazy.recipes.early = lazy.ENABLED, 0
    yield
    lazy.recipes.on, lazy.recipes.early = lazy.ENABLED, 0


def _train(read, steps=12, req="write"):
    mx.random.seed(0)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(8, activation="relu", in_units=5), gluon.nn.Dropout(0.3), gluon.nn.Dense(3, in_units=8))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    parameters = list(net.collect_params().values())
    for parameter in parameters:
        parameter.grad_req = req
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.002, "momentum": 0.9})
    mx.random.seed(1)
    seen = []
    for number in range(steps):
        data = nd.array(np.random.RandomState(number).randn(4, 5))
        with autograd.record():
            loss = (net(data) ** 2).sum()
        loss.backward()
        if read == "before":
            seen.append([parameter.grad().asnumpy() for parameter in parameters])
        trainer.step(1)
        if read == "after" and number % 4 == 3:
            seen.append([parameter.grad().asnumpy() for parameter in parameters])
    return seen, [parameter.data().asnumpy() for parameter in parameters]


@pytest.mark.parametrize("req", ["write", "add"])
def test_gradients_after_a_step_are_those_before_it(req):
    before, weights = _train("before", req=req)
    after, same = _train("after", req=req)
    for ours, theirs in zip(after, before[3::4]):
        for one, other in zip(ours, theirs):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    for one, other in zip(same, weights):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


@pytest.mark.skipif(not lazy.ENABLED, reason="everything is launched at once")
def test_who_keeps_reading_gets_them_kept():
    _train("nothing")
    assert lazy.recipes.on
    _train("after")
    assert not lazy.recipes.on


def test_waiting_for_everything_computes_no_spared_gradient():
    _train("nothing")
    nd.waitall()
    assert lazy.recipes.on and lazy.recipes.early == 0
