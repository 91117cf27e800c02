"""A training step takes over the memory of what it replaces, and never that of what somebody still holds."""

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import autograd, gluon, nd
from gluonjax._engine import lazy, run
from gluonjax._engine.lazy_program import programs_made

# A loop of compiled eager code is put off, and so launched as a whole, once it has repeated itself a few times.
STEPS = 12


@pytest.fixture(params=["hybridized", "eager"])
def hybrid(request, monkeypatch):
    """Whether the network is hybridized; if not, its calls are compiled all the same, however small they are."""
    if request.param == "eager":
        monkeypatch.setattr(run, "LARGE", 0.0)
        lazy.eager.__init__()  # forget what earlier tests did in this thread
    return request.param == "hybridized"


class _Training:
    """A small network with dropout and momentum, one step at a time."""

    def __init__(self, hybrid=True, req="write", optimizer="sgd", clip=None, **settings):
        mx.random.seed(0)
        self.net = gluon.nn.HybridSequential()
        # Sizes that no other test has: how a call runs is decided once for each.
        units = 23 if hybrid else 29
        self.net.add(gluon.nn.Dense(units, activation="relu", in_units=5), gluon.nn.Dropout(0.3))
        self.net.add(gluon.nn.Dense(3, in_units=units))
        self.net.initialize(mx.init.Xavier())
        if hybrid:
            self.net.hybridize()
        self.parameters = list(self.net.collect_params().values())
        for parameter in self.parameters:
            parameter.grad_req = req
        settings = {"momentum": 0.9, **settings} if optimizer == "sgd" else settings
        self.trainer = gluon.Trainer(self.net.collect_params(), optimizer, {"learning_rate": 0.002, **settings})
        self.clip = clip
        self.number = 0
        mx.random.seed(1)

    def backward(self, retain=False):
        data = nd.array(np.random.RandomState(self.number).randn(4, 5))
        self.number += 1
        with autograd.record():
            self.loss = (self.net(data) ** 2).sum()
        self.loss.backward(retain_graph=retain)

    def step(self, retain=False):
        self.backward(retain)
        if self.clip is not None:
            gluon.utils.clip_global_norm([one.grad() for one in self.parameters], self.clip, check_isfinite=False)
        self.trainer.step(1)

    def weights(self):
        return [one.data().asnumpy() for one in self.parameters]


def _close(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


def _weights_call_by_call(monkeypatch, hybrid, **settings):
    """What the same training gives when every call is launched at once."""
    with monkeypatch.context() as patch:
        patch.setattr(lazy.eager.origin, "on", False)
        patch.setattr(lazy.Origin, "__init__", _never)
        training = _Training(hybrid, **settings)
        for _ in range(STEPS):
            training.step()
        return training.weights()


def _never(origin):
    origin.on, origin.early = False, 0


@pytest.mark.parametrize("req", ["write", "add"])
def test_gradients_after_a_step_are_those_before_it(req):
    seen = []
    for before in (True, False):
        training = _Training(req=req)
        own = []
        for _ in range(STEPS):
            training.backward()
            if before:
                own.append([one.grad().asnumpy() for one in training.parameters])
            training.trainer.step(1)
            if not before:
                own.append([one.grad().asnumpy() for one in training.parameters])
        seen.append((own, training.weights()))
    (before, weights), (after, same) = seen
    for ours, theirs in zip(after, before, strict=True):
        _close(ours, theirs)
    _close(same, weights)


@pytest.mark.parametrize(
    "settings",
    [{}, {"req": "add"}, {"optimizer": "adam"}, {"optimizer": "dcasgd"}, {"wd": 0.01}, {"clip": 0.1}],
    ids=str,
)
def test_the_weights_are_those_of_training_call_by_call(monkeypatch, hybrid, settings):
    training = _Training(hybrid=hybrid, **settings)
    for _ in range(STEPS):
        training.step()
    _close(training.weights(), _weights_call_by_call(monkeypatch, hybrid, **settings))


@pytest.mark.skipif(not lazy.ENABLED, reason="everything is launched at once")
def test_the_memory_is_taken_over_and_one_program_serves_every_step(hybrid):
    training = _Training(hybrid=hybrid)
    for _ in range(STEPS):
        training.step()
    nd.waitall()
    programs = programs_made()
    (states,) = [updater.states for updater in training.trainer._updaters]
    handles = [*[one.data() for one in training.parameters], *states.values()]
    before = [handle._value for handle in handles]
    places = [value.unsafe_buffer_pointer() for value in before]
    del before
    slopes = {one.grad()._value.unsafe_buffer_pointer() for one in training.parameters}
    training.step()
    assert [handle._value.unsafe_buffer_pointer() for handle in handles] == places
    assert {one.grad()._value.unsafe_buffer_pointer() for one in training.parameters} == slopes
    assert programs_made() == programs


def test_what_somebody_holds_survives(hybrid):
    training = _Training(hybrid=hybrid)
    for _ in range(STEPS):
        training.step()
    weight = training.parameters[0]
    copied, view = weight.data().copy(), np.asarray(weight.data()._value)
    slope = weight.grad().copy()
    same = weight.data().detach()
    values = [copied.asnumpy(), view.copy(), slope.asnumpy()]
    for _ in range(3):
        training.step()
    for ours, theirs in zip((copied.asnumpy(), view, slope.asnumpy()), values, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert np.abs(weight.data().asnumpy() - values[0]).max() > 0
    np.testing.assert_array_equal(same.asnumpy(), weight.data().asnumpy())


def test_a_graph_that_is_kept_keeps_its_weights():
    training = _Training()
    for _ in range(STEPS):
        training.step()
    training.backward(retain=True)
    slopes = [one.grad().asnumpy() for one in training.parameters]
    training.trainer.step(1)
    training.loss.backward()
    _close([one.grad().asnumpy() for one in training.parameters], slopes)


def test_results_of_old_weights_that_wait_are_computed_from_the_old_weights():
    training = _Training()
    for _ in range(STEPS):
        training.step()
    data = nd.ones((2, 5))
    with autograd.record(train_mode=False):
        waiting = training.net(data)
    expected = training.weights()
    training.step()
    hidden = np.maximum(np.ones((2, 5)) @ expected[0].T + expected[1], 0)
    np.testing.assert_allclose(waiting.asnumpy(), hidden @ expected[2].T + expected[3], rtol=1e-4, atol=1e-5)


def test_parameters_that_stop_and_start_learning():
    training = _Training()
    for number in range(STEPS):
        training.parameters[0].grad_req = "null" if number % 4 > 1 else "write"
        before = training.parameters[0].data().asnumpy()
        training.step()
        moved = np.abs(training.parameters[0].data().asnumpy() - before).max() > 0
        assert moved == (number % 4 <= 1)


def test_states_that_are_loaded_or_saved_between_steps(tmp_path):
    found = []
    for renewed in (False, True):
        training = _Training()
        for number in range(STEPS):
            training.step()
            if renewed and number % 3 == 0:
                training.trainer.save_states(str(tmp_path / "states"))
                training.net.save_parameters(str(tmp_path / "weights"))
                training.trainer.load_states(str(tmp_path / "states"))
                training.net.load_parameters(str(tmp_path / "weights"))
        found.append(training.weights())
    _close(*found)


def test_gradients_that_nobody_uses_are_computed_all_the_same(monkeypatch):
    """A loop of backward passes without updates is somebody's measurement or warm-up, not nothing."""
    launched = []
    launch = lazy.launch
    monkeypatch.setattr(lazy, "launch", lambda call, *rest: (launched.append(call), launch(call, *rest)))
    training = _Training()
    training.backward()  # the first call is not compiled
    for _ in range(5):
        training.backward()
    assert len(launched) == 4
    nd.waitall()


@pytest.mark.parametrize("cold_forward", [True, False])
def test_a_table_in_an_eager_loop_keeps_its_place(monkeypatch, cold_forward):
    """The rows that a step looked up are those of the old table, and nothing copies the table to look them up later."""
    copied = []
    protect = lazy.protect

    def watched(values, places, holders):
        before = [id(value) for value in values]  # a reference more would make a copy
        protect(values, places, holders)
        copied.extend(value.shape for one, value in zip(before, values) if one != id(value))

    rows, width = (37, 3) if cold_forward else (41, 3)
    net = gluon.nn.Embedding(rows, width)
    net.initialize(mx.init.One())
    index = nd.array([1, 5, 1, 7])
    net(index).wait_to_read()
    # In the cold case only what writes the whole table is compiled.
    monkeypatch.setattr(run, "LARGE", rows * width / 2 if cold_forward else 0.0)
    lazy.eager.__init__()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})

    def step():
        with autograd.record():
            found = net(index)
        found.backward()
        trainer.step(4)
        return found

    for _ in range(STEPS):
        step()
    nd.waitall()
    monkeypatch.setattr(lazy, "protect", watched)
    places = [handle._value.unsafe_buffer_pointer() for handle in (net.weight.data(), net.weight.grad())]
    for number in range(STEPS, STEPS + 4):
        found = step()
        np.testing.assert_allclose(found.asnumpy()[:, 0], 1 - np.array([2, 1, 2, 1]) * number / 4, rtol=1e-6)
    assert not copied
    assert places == [handle._value.unsafe_buffer_pointer() for handle in (net.weight.data(), net.weight.grad())]


@pytest.mark.skipif(not lazy.ENABLED or not run.COLD_TIER, reason="there are no two ways")
def test_a_loop_that_goes_on_leaves_no_heavy_work_to_numpy(monkeypatch):
    """Its products become part of the step's program, though NumPy does them as fast."""
    monkeypatch.setattr(run, "HEAVY_NS", 1_000)
    lazy.eager.__init__()
    net = gluon.nn.Dense(33, in_units=65)
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    data, kinds = nd.ones((40, 65)), []
    for _ in range(lazy.HOT_AFTER + 3):
        with autograd.record():
            out = net(data)
        kinds.append(type(out._raw))
        out.backward()
        trainer.step(40)
    assert kinds[0] is np.ndarray and kinds[-1] is lazy.Lazy
    weight, bias = net.weight.data().asnumpy(), net.bias.data().asnumpy()
    np.testing.assert_allclose(net(data).asnumpy(), np.ones((40, 65)) @ weight.T + bias, rtol=1e-4, atol=1e-3)
