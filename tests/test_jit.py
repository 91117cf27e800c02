"""mx.jit: whole functions over NDArrays as one program, with the same results as the Python code."""

import gc
import warnings
import weakref

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import autograd, gluon, nd
from gluonjax.gluon import nn


def _network(seed=3):
    mx.random.seed(seed)
    net = nn.HybridSequential()
    net.add(nn.Dense(16, activation="relu", in_units=5), nn.BatchNorm(in_channels=16), nn.Dropout(0.5))
    net.add(nn.Dense(4, in_units=16))
    net.initialize(mx.init.Xavier())
    return net


BATCHES = [
    (np.random.RandomState(n).randn(8, 5).astype("float32"), np.arange(8.0, dtype="float32") % 4) for n in range(5)
]
OPTIMIZERS = {
    "sgd": {"learning_rate": 0.05, "momentum": 0.9, "wd": 0.01},
    "adam": {"learning_rate": 0.01},
    "ftml": {"learning_rate": 0.01},
    "lamb": {"learning_rate": 0.01},
    "sgld": {"learning_rate": 0.01},
}


def _train(optimizer, hybridized, compiled, keep=False):
    net = _network()
    if hybridized:
        net.hybridize()
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), optimizer, dict(OPTIMIZERS[optimizer]))
    accuracy = mx.metric.CompositeEvalMetric(["acc", mx.metric.Loss()])

    def step(x, y):
        with autograd.record():
            out = net(x)
            loss = loss_of(out, y)
        loss.backward()
        trainer.step(len(x))
        accuracy.update([y], [out])
        return loss

    if compiled:
        step = mx.jit(step, keep_gradients=keep)
    mx.random.seed(7)
    losses = []
    for number, (x, y) in enumerate(BATCHES):
        if number == 3:
            trainer.set_learning_rate(0.001)
        losses.append(step(nd.array(x), nd.array(y)).asnumpy())
    values = [parameter.data().asnumpy() for parameter in net.collect_params().values()]
    return losses, values, accuracy.get(), step, net


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("optimizer", list(OPTIMIZERS))
def test_training_step_is_the_same_compiled(optimizer, hybridized):
    plain, compiled = (_train(optimizer, hybridized, how) for how in (False, True))
    np.testing.assert_allclose(compiled[0], plain[0], rtol=2e-4, atol=2e-5)
    for ours, theirs in zip(compiled[1], plain[1]):
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(compiled[2][1], plain[2][1], rtol=1e-4)
    assert compiled[3].versions == 1


def test_gradients_are_kept_on_request_and_refused_otherwise():
    *_, net = _train("sgd", True, True, keep=True)
    *_, other = _train("sgd", True, False)
    for ours, theirs in zip(net.collect_params().values(), other.collect_params().values()):
        if ours.grad_req != "null":
            np.testing.assert_allclose(ours.grad().asnumpy(), theirs.grad().asnumpy(), rtol=2e-4, atol=2e-5)
    *_, net = _train("sgd", True, True)
    for _ in range(2):
        with pytest.raises(mx.base.MXNetError, match="keep_gradients=True"):
            net[0].weight.grad().asnumpy()


def _imperative(compiled):
    mx.random.seed(1)
    weight = nd.array(np.arange(12.0).reshape(4, 3) / 10)
    weight.attach_grad()
    counts, buffer = nd.zeros((4,)), nd.zeros((3, 3))
    row = buffer[1]

    def function(x, factor=2):
        with autograd.record():
            hidden = nd.tanh(nd.dot(weight, x) + nd.random.normal(shape=(4, 2))) * factor
            loss = (hidden * hidden).sum()
        loss.backward()
        weight[:] = weight - 0.1 * weight.grad
        counts[1] = loss
        buffer[0] += 1
        row[:] = row + 2
        counts[2:4] = counts[1:3]
        return loss, {"sum": hidden.sum(axis=1), "weight": weight, "number": 3}, buffer[2], None

    run = mx.jit(function) if compiled else function
    seen = []
    for number in range(3):
        loss, named, last, nothing = run(nd.ones((3, 2)) * number)
        assert named["weight"] is weight and named["number"] == 3 and nothing is None
        seen += [a.asnumpy() for a in (loss, named["sum"], last, weight, counts, buffer, weight.grad)]
    return seen


def test_views_writes_and_random_numbers():
    for ours, theirs in zip(_imperative(True), _imperative(False)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_gradient_accumulation_is_state():
    weight = nd.ones((2,))
    weight.attach_grad("add")

    @mx.jit
    def add(x):
        with autograd.record():
            total = (weight * x).sum()
        total.backward()

    for _ in range(3):
        add(nd.array([1.0, 2.0]))
    assert weight.grad.asnumpy().tolist() == [3.0, 6.0]


def test_gradient_of_an_argument_goes_to_that_argument():
    @mx.jit
    def cube(x):
        with autograd.record():
            total = (x * x * x).sum()
        total.backward()

    for value in (2.0, 3.0):
        x = nd.array([value])
        x.attach_grad()
        cube(x)
        assert x.grad.asscalar() == 3 * value * value
    assert cube.versions == 1


def test_update_may_stay_outside():
    net = nn.Dense(1, in_units=1)
    net.initialize(init="ones")
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})

    @mx.jit
    def backward(x):
        with autograd.record():
            loss = net(x).sum()
        loss.backward()
        return loss

    seen = []
    for _ in range(3):
        seen.append(backward(nd.ones((1, 1))).asscalar())
        trainer.step(1)
    assert seen == [1.0, -1.0, -3.0]


def test_deferred_parameters_and_new_shapes():
    net = nn.Dense(2)
    net.initialize(init="ones")
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})

    @mx.jit
    def step(x):
        with autograd.record():
            loss = net(x).sum()
        loss.backward()
        trainer.step(1)
        return loss

    assert [step(nd.ones((1, 3))).asscalar() for _ in range(2)] == [6.0, -2.0]
    net.initialize(init="ones", force_reinit=True)
    assert step(nd.ones((1, 3))).asscalar() == 6.0
    assert step(nd.ones((2, 3))).asscalar() == -4.0
    net.cast("float16")
    assert step(nd.ones((1, 3), dtype="float16")).dtype == np.float16


def test_memory_that_somebody_holds_survives_and_the_rest_is_donated():
    weight = nd.ones((64, 64))

    @mx.jit
    def double(x):
        weight[:] = weight * x

    two = nd.array([2.0])
    double(two)
    held, view, copy = weight.jax, np.asarray(weight.jax), weight.copy()
    double(two)
    assert held[0, 0] == view[0, 0] == copy[0, 0].asscalar() == 2.0 and weight[0, 0].asscalar() == 4.0
    del held, view
    old = weight._cell.value
    reference = weakref.ref(old)
    del old
    double(two)
    gc.collect()
    assert reference() is None and weight[0, 0].asscalar() == 8.0


def test_arguments_that_share_memory():
    @mx.jit
    def add(a, b):
        a += b
        return a

    a, b = nd.ones((2,)), nd.ones((2,))
    result = add(a, a)
    assert a.asnumpy().tolist() == [2.0, 2.0] and result.asnumpy().tolist() == [2.0, 2.0]
    add(a, b)
    assert a.asnumpy().tolist() == [3.0, 3.0] and b.asnumpy().tolist() == [1.0, 1.0] and add.versions == 2


def test_methods_and_recording_outside():
    class Counter:
        def __init__(self):
            self.total = nd.zeros((1,))

        @mx.jit
        def add(self, x):
            self.total += x
            return self.total * 1

    counter = Counter()
    assert [counter.add(nd.ones((1,))).asscalar() for _ in range(3)] == [1.0, 2.0, 3.0]
    square = mx.jit(lambda x: x * x)
    x = nd.array([3.0])
    x.attach_grad()
    with autograd.record():
        y = square(x)
    y.backward()
    assert x.grad.asscalar() == 6.0


def test_what_cannot_be_compiled_is_explained():
    @mx.jit
    def decides(x):
        y = x * 2
        if y.sum() > 3:  # the line that the message quotes
            y = y + 1
        return y

    with pytest.raises(mx.base.MXNetError, match=r"line \d+ of .*the line that the message quotes.*nd.where"):
        decides(nd.ones(3))
    kept = []

    @mx.jit
    def leaks(x):
        kept.append(x * 2)

    with pytest.raises(mx.base.MXNetError, match="still held outside"):
        leaks(nd.ones(3))
    with pytest.raises(mx.base.MXNetError, match=r"nd\.array"):
        mx.jit(lambda x: x)(np.ones(3))

    class Own(mx.optimizer.Optimizer):
        def create_state(self, index, weight):
            return None

        def update(self, index, weight, grad, state):
            weight[:] = weight - self._get_lr(index) * grad

    net = nn.Dense(1, in_units=1)
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), Own(learning_rate=0.1))

    @mx.jit
    def step(x):
        with autograd.record():
            loss = net(x).sum()
        loss.backward()
        trainer.step(1)

    with pytest.raises(mx.base.MXNetError, match="outside of the function"):
        step(nd.ones((1, 1)))
    # Nothing has changed by the attempts.
    assert nd.ones(3).asnumpy().tolist() == [1.0, 1.0, 1.0]


def test_changed_settings_are_noticed():
    weight = gluon.Parameter("weight", shape=(1,))
    weight.initialize(init="zeros")
    trainer = gluon.Trainer([weight], "sgd", {"learning_rate": 1.0, "momentum": 0.0})

    @mx.jit
    def step(x):
        with autograd.record():
            loss = (weight.data() * x).sum()
        loss.backward()
        trainer.step(1)

    step(nd.ones((1,)))
    trainer.optimizer.clip_gradient = 0.5
    step(nd.ones((1,)))
    assert weight.data().asscalar() == -1.5


def test_many_versions_warn_once():
    double = mx.jit(lambda x: x * 2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for length in range(1, 12):
            double(nd.ones((length,)))
    assert len([one for one in caught if "versions" in str(one.message)]) == 1
    assert double.versions == 11


def test_recurrent_network():
    def losses(compiled):
        mx.random.seed(2)
        cell = gluon.rnn.LSTM(8, 2, input_size=4)
        cell.initialize(mx.init.Xavier())
        trainer = gluon.Trainer(cell.collect_params(), "adam", {"learning_rate": 0.01})

        def step(x, states):
            with autograd.record():
                out, new = cell(x, states)
                loss = (out * out).mean()
            loss.backward()
            trainer.step(1)
            return loss, [state.detach() for state in new]

        run = mx.jit(step) if compiled else step
        states, seen = cell.begin_state(3), []
        for _ in range(3):
            loss, states = run(nd.ones((5, 3, 4)), states)
            seen.append(loss.asscalar())
        return seen

    np.testing.assert_allclose(losses(True), losses(False), rtol=1e-4)
