"""A block that runs uncompiled and does the same at every call is launched as one program."""

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import autograd, gluon, nd
from gluonjax._engine import joining, lazy, run

pytestmark = pytest.mark.skipif(not lazy.ENABLED, reason="everything is launched at once")
CALLS = joining.PATIENCE + 4


@pytest.fixture(autouse=True)
def compiled_from_the_start(monkeypatch):
    """Calls of these sizes would be interpreted otherwise."""
    monkeypatch.setattr(run, "LARGE", 0.0)


def _network(units):
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(units, activation="relu", in_units=7), gluon.nn.BatchNorm(in_channels=units))
    net.add(gluon.nn.Dropout(0.5), gluon.nn.Dense(3, in_units=units))
    net.initialize(mx.init.Xavier())
    return net


def _launches(monkeypatch):
    seen = []
    launch = lazy.launch
    monkeypatch.setattr(lazy, "launch", lambda call, *rest: (seen.append(call.size), launch(call, *rest)))
    return seen


def test_the_values_are_those_of_calls_one_by_one(monkeypatch):
    net = _network(31)
    data = nd.array(np.random.RandomState(0).randn(5, 7))
    first = net(data).asnumpy()
    seen = _launches(monkeypatch)
    for _ in range(CALLS):
        found = net(data)
        assert not lazy.waits(found._raw)
    np.testing.assert_allclose(found.asnumpy(), first, rtol=1e-5, atol=1e-6)
    assert max(seen) >= 4 and len(seen) <= 4


def test_weights_and_data_may_change():
    net = _network(37)
    for number in range(CALLS + 3):
        data = nd.array(np.random.RandomState(number).randn(5, 7))
        found = net(data)
        hidden = np.maximum(data.asnumpy() @ net[0].weight.data().asnumpy().T + net[0].bias.data().asnumpy(), 0)
        hidden = hidden / np.sqrt(1 + 1e-5)
        expected = hidden @ net[3].weight.data().asnumpy().T + net[3].bias.data().asnumpy()
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-4, atol=1e-5)
        net[3].bias.set_data(nd.ones((3,)) * number)


class _Reading(gluon.HybridBlock):
    """Looks at a value in the middle, and keeps an array of its own up to date."""

    def __init__(self):
        super().__init__()
        self.total = nd.zeros((6,))

    def hybrid_forward(self, F, x):
        y = (x * 2).tanh()
        self.total += y
        return [y + 1, (y * 3,)] if y.sum().asscalar() > 0 else [y - 1, (y * 3,)]


def test_values_read_and_arrays_written_inside():
    block = _Reading()
    total = np.zeros(6)
    for number in range(CALLS + 4):
        data = np.full(6, (-1) ** number * 0.5, np.float32)
        one, (other,) = block(nd.array(data))
        tanh = np.tanh(data * 2)
        total += tanh
        np.testing.assert_allclose(one.asnumpy(), tanh + (-1) ** number, rtol=1e-5)
        np.testing.assert_allclose(other.asnumpy(), tanh * 3, rtol=1e-5)
        np.testing.assert_allclose(block.total.asnumpy(), total, rtol=1e-5, atol=1e-6)


def test_blocks_that_keep_changing_are_left_alone():
    net = _network(41)
    for _ in range(CALLS):
        net(nd.ones((2, 7)))
    assert net._joining.on
    for count in range(3, 12):
        assert net(nd.ones((count, 7))).shape == (count, 3)
    assert not net._joining.on and not net._joining.open


def test_recording_and_hybridizing_go_their_own_ways():
    net = _network(43)
    data = nd.ones((2, 7))
    for _ in range(CALLS):
        expected = net(data)
    with autograd.record(train_mode=False):
        out = net(data)
    out.backward()
    assert np.abs(net[0].weight.grad().asnumpy()).sum() > 0
    np.testing.assert_allclose(out.asnumpy(), expected.asnumpy(), rtol=1e-5)
    net.hybridize()
    np.testing.assert_allclose(net(data).asnumpy(), expected.asnumpy(), rtol=1e-5)


def test_an_error_inside_leaves_nothing_behind():
    net = _network(47)
    for _ in range(CALLS):
        net(nd.ones((2, 7)))
    with pytest.raises(mx.base.MXNetError, match="FullyConnected"):
        net(nd.ones((2, 8)))
    assert net(nd.ones((2, 7))).shape == (2, 3)
