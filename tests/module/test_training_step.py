"""One training step: like MXNet's, the same fused or in parts, compiled once."""

from __future__ import annotations

import numpy as np
import pytest

import gluonjax as mx
from tests.module import networks
from tests.oracle import record_module

SHAPE = (4, 5)


@pytest.fixture(scope="module")
def recorded(request):
    return np.load(request.path.parent.parent / "data" / "module.npz")


@pytest.mark.parametrize("look", [False, True], ids=["fused", "parts"])
@pytest.mark.parametrize("optimizer", record_module.OPTIMIZERS)
def test_five_steps_as_mxnet(recorded, optimizer, look):
    results = record_module.run(mx, networks, optimizer, look)
    names = [name for name in recorded.files if name.startswith(optimizer + "/")]
    assert len(names) == len(results)
    for name in names:
        value = results[name.removeprefix(optimizer + "/")]
        np.testing.assert_allclose(value, recorded[name], rtol=2e-4, atol=2e-5, err_msg=name)


def train(optimizer, parameters, steps=5, fused=True, shape=SHAPE, symbol=None, **bind):
    module = networks.module(mx, symbol or networks.perceptron(mx), shape, **bind)
    module.init_optimizer(optimizer=optimizer, optimizer_params=parameters)
    for data, label in zip(*networks.arrays(shape, steps)):
        batch = networks.batch(mx, data, label)
        module.forward_backward(batch)
        if not fused:
            module.get_outputs()
        module.update()
    return module


def values(module):
    args, auxs = module.get_params()
    return {name: array.asnumpy() for name, array in {**args, **auxs}.items()}


CASES = {
    "sgd": {"learning_rate": 0.1},
    "sgd-momentum": {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01, "clip_gradient": 0.02},
    "adam": {"learning_rate": 0.05, "wd": 0.1},
    "rmsprop": {"learning_rate": 0.05, "centered": True, "wd": 0.01},
    "adagrad": {"learning_rate": 0.05},
    "nadam": {"learning_rate": 0.05},
    "ftml": {"learning_rate": 0.05},
}


@pytest.mark.parametrize("case", CASES)
def test_fused_is_the_same_as_parts(case):
    name = case.split("-")[0]
    fused, parts = train(name, CASES[case]), train(name, CASES[case], fused=False)
    assert fused._step.compilations() == 1
    assert parts._step.compilations() == 0
    other = values(parts)
    for key, value in values(fused).items():
        np.testing.assert_allclose(value, other[key], rtol=2e-5, atol=1e-6, err_msg=key)


def test_multipliers_and_scheduler():
    def make(fused):
        parameters = {"learning_rate": 0.2, "momentum": 0.5, "lr_scheduler": mx.lr_scheduler.FactorScheduler(1, 0.5)}
        return train("sgd", parameters, fused=fused)

    fused, parts = values(make(True)), values(make(False))
    for key, value in fused.items():
        np.testing.assert_allclose(value, parts[key], rtol=1e-5, atol=1e-6)


def test_learning_rate_changes_compile_nothing():
    module = train("adam", {"learning_rate": 0.1}, steps=2)
    before = values(module)
    module._optimizer.lr = 0.0
    module._optimizer.rescale_grad = 0.5
    data, label = networks.arrays(SHAPE, 3, seed=5)
    for row, target in zip(data, label):
        module.forward_backward(networks.batch(mx, row, target))
        module.update()
    assert module._step.compilations() == 1
    for key, value in values(module).items():
        np.testing.assert_array_equal(value, before[key])


def test_another_batch_size_compiles_once_more():
    module = train("sgd", {"learning_rate": 0.1}, steps=2)
    for size in (3, 4, 3, 4):
        data, label = networks.arrays((size, 5), 1)
        module.forward_backward(networks.batch(mx, data[0], label[0]))
        module.update()
        assert module.get_outputs()[0].shape == (size, 3)
    assert module._step.compilations() == 2


def test_gradients_can_be_seen_after_a_fused_step():
    fused = train("sgd", {"learning_rate": 0.1}, steps=3)
    parts = train("sgd", {"learning_rate": 0.1}, steps=3, fused=False)
    for (mine,), (other,) in zip(fused._exec_group.grad_arrays, parts._exec_group.grad_arrays):
        np.testing.assert_allclose(mine.asnumpy(), other.asnumpy(), rtol=1e-5, atol=1e-7)
        assert np.abs(other.asnumpy()).max() > 0
    outputs = fused._exec_group.execs[0].outputs[0].asnumpy()
    np.testing.assert_allclose(outputs, parts.get_outputs()[0].asnumpy(), rtol=1e-5)


def test_gradients_that_were_touched_are_used():
    module = train("sgd", {"learning_rate": 0.1}, steps=1)
    before = values(module)
    data, label = networks.arrays(SHAPE, 1)
    module.forward_backward(networks.batch(mx, data[0], label[0]))
    for (gradient,) in module._exec_group.grad_arrays:
        gradient[:] = 0
    module.update()
    for key, value in values(module).items():
        np.testing.assert_array_equal(value, before[key])


def test_grad_req_add_sums_over_batches():
    data, label = networks.arrays(SHAPE, 1)
    batch = networks.batch(mx, data[0], label[0])
    module = networks.module(mx, networks.perceptron(mx), SHAPE, grad_req="add")
    module.init_optimizer(optimizer_params={"learning_rate": 1.0})
    start = values(module)
    for _ in range(2):
        module.forward_backward(batch)
        module._exec_group.flush()
    module.update()
    once = networks.module(mx, networks.perceptron(mx), SHAPE)
    once.init_optimizer(optimizer_params={"learning_rate": 1.0})
    once.forward_backward(batch)
    once.update()
    for key, value in values(module).items():
        np.testing.assert_allclose(value - start[key], 2 * (values(once)[key] - start[key]), rtol=1e-4, atol=1e-6)


def test_input_gradients_and_fixed_parameters():
    symbol = networks.perceptron(mx)
    module = mx.mod.Module(symbol, fixed_param_names=["fc1_weight"])
    module.bind([("data", SHAPE)], [("softmax_label", SHAPE[:1])], inputs_need_grad=True)
    module.init_params(mx.init.Uniform(0.5))
    module.init_optimizer()
    before = values(module)
    data, label = networks.arrays(SHAPE, 1)
    module.forward_backward(networks.batch(mx, data[0], label[0]))
    module.update()
    after = values(module)
    np.testing.assert_array_equal(before["fc1_weight"], after["fc1_weight"])
    assert np.abs(before["fc2_weight"] - after["fc2_weight"]).max() > 0
    assert module.get_input_grads()[0].shape == SHAPE
    assert np.abs(module.get_input_grads()[0].asnumpy()).max() > 0


def test_monitor_sees_every_step():
    seen = []
    module = networks.module(mx, networks.perceptron(mx), SHAPE)
    module.init_optimizer()
    module._exec_group.executor.set_monitor_callback(lambda name, array: None)
    monitor = mx.mon.Monitor(1, stat_func=lambda x: seen.append(x.shape) or x.sum())
    module.install_monitor(monitor)
    for data, label in zip(*networks.arrays(SHAPE, 2)):
        monitor.tic()
        module.forward_backward(networks.batch(mx, data, label))
        module.update()
        names = [name for _, name, _ in monitor.toc()]
        assert "fc1_output" in names and "softmax_output" in names
    assert module._step.compilations() == 0


def test_head_gradients_are_needed_where_no_loss_is():
    module = mx.mod.Module(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc"), label_names=None)
    module.bind([("data", SHAPE)])
    module.init_params()
    module.init_optimizer()
    module.forward(mx.io.DataBatch([mx.nd.ones(SHAPE)]), is_train=True)
    with pytest.raises(mx.MXNetError, match="head_gradient is required"):
        module.backward()
    module.backward([mx.nd.ones((4, 2))])
    np.testing.assert_array_equal(module._exec_group.grad_arrays[1][0].asnumpy(), [4, 4])


def test_dropout_draws_anew_each_step_and_obeys_the_seed():
    data = mx.sym.Variable("data")
    symbol = mx.sym.MakeLoss(mx.sym.Dropout(mx.sym.FullyConnected(data, num_hidden=50, name="fc"), p=0.5))

    def outputs():
        mx.random.seed(3)
        module = mx.mod.Module(symbol, label_names=None)
        module.bind([("data", SHAPE)])
        module.init_params(mx.init.One())
        module.init_optimizer(optimizer_params={"learning_rate": 0.0})
        found = []
        for _ in range(2):
            module.forward_backward(mx.io.DataBatch([mx.nd.ones(SHAPE)]))
            module.update()
            found.append(module.get_outputs()[0].asnumpy())
        return found

    first, second = outputs(), outputs()
    assert (first[0] != first[1]).any()
    np.testing.assert_array_equal(first, second)


def test_optax_optimizer():
    optax = pytest.importorskip("optax")
    mine = train(optax.sgd(0.1), None)
    theirs = train("sgd", {"learning_rate": 0.1})
    assert mine._step.compilations() == 1
    for key, value in values(mine).items():
        np.testing.assert_allclose(value, values(theirs)[key], rtol=1e-5, atol=1e-6)


def test_optax_in_fit_and_feed_forward():
    optax = pytest.importorskip("optax")
    data, labels = networks.arrays(SHAPE, 1)
    results = []
    for optimizer, options in ((optax.sgd(0.1), {}), ("sgd", {"learning_rate": 0.1, "rescale_grad": 1 / SHAPE[0]})):
        batches = mx.io.NDArrayIter(data[0], labels[0], SHAPE[0])
        symbol = networks.perceptron(mx)
        given, _ = networks.initial(mx, symbol, SHAPE)
        module = mx.mod.Module(symbol)
        module.fit(batches, num_epoch=2, optimizer=optimizer, optimizer_params=options or None, arg_params=given)
        with pytest.warns(DeprecationWarning, match="FeedForward"):
            model = mx.model.FeedForward(symbol, num_epoch=2, optimizer=optimizer, arg_params=given, **options)
        model.fit(batches)
        results.append([module.get_params()[0], model.arg_params])
    for mine, theirs in zip(*results):
        for name, value in theirs.items():
            np.testing.assert_allclose(mine[name].asnumpy(), value.asnumpy(), rtol=1e-5, atol=1e-6, err_msg=name)


def test_half_precision_with_master_weights():
    module = mx.mod.Module(networks.perceptron(mx))
    module.bind([mx.io.DataDesc("data", SHAPE, "float16")], [mx.io.DataDesc("softmax_label", SHAPE[:1], "float16")])
    module.init_params(mx.init.Uniform(0.5))
    module.init_optimizer(optimizer_params={"learning_rate": 0.1, "momentum": 0.9, "multi_precision": True})
    for data, label in zip(*networks.arrays(SHAPE, 3)):
        batch = mx.io.DataBatch([mx.nd.array(data, dtype="float16")], [mx.nd.array(label, dtype="float16")])
        module.forward_backward(batch)
        module.update()
    assert module._step.compilations() == 1
    assert {str(np.dtype(value.dtype)) for value in values(module).values()} == {"float16"}
    momentum, master = module._updater.states[0]
    assert momentum.dtype == np.float32 and master.dtype == np.float32
