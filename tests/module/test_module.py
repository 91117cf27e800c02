"""Module: binding, parameters, files, the loops of BaseModule, and what they say."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import gluonjax as mx
from tests.module import networks

SHAPE = (5, 4)


def iterator(rows=20, size=5, shuffle=False):
    random = np.random.RandomState(2)
    data = random.uniform(-1, 1, (rows, 4)).astype(np.float32)
    labels = (data[:, 0] > 0).astype(np.float32)
    return mx.io.NDArrayIter(data, labels, size, shuffle=shuffle)


def bound(**options):
    module = mx.mod.Module(networks.perceptron(mx), **options)
    module.bind([("data", SHAPE)], [("softmax_label", SHAPE[:1])])
    return module


def ready():
    module = bound()
    module.init_params(mx.init.Uniform(0.5))
    module.init_optimizer()
    return module


def test_fit_learns_and_logs(caplog):
    caplog.set_level(logging.INFO)
    ended = []
    module = mx.mod.Module(networks.perceptron(mx))
    module.fit(
        iterator(200, 20, shuffle=True),
        eval_data=iterator(),
        num_epoch=12,
        initializer=mx.init.Xavier(),
        optimizer_params={"learning_rate": 0.5, "momentum": 0.9},
        epoch_end_callback=lambda *a: ended.append(a[0]),
        batch_end_callback=mx.callback.Speedometer(20, 5),
        validation_metric="ce",
    )
    assert module.score(iterator(), "acc")[0][1] > 0.9
    text = caplog.text
    assert "Epoch[0] Train-accuracy=" in text and "Epoch[11] Validation-cross-entropy=" in text
    assert "Epoch[0] Time cost=" in text and "Batch [0-5]\tSpeed: " in text
    assert ended == list(range(12))


def test_fit_starts_from_given_parameters_and_epoch():
    args, auxs = ready().get_params()
    seen = []
    module = mx.mod.Module(networks.perceptron(mx))
    module.fit(
        iterator(),
        num_epoch=4,
        begin_epoch=3,
        arg_params=args,
        aux_params=auxs,
        optimizer_params={"learning_rate": 0.0},
        batch_end_callback=lambda p: seen.append((p.epoch, p.nbatch)),
    )
    assert seen == [(3, number) for number in range(4)]
    for name, value in module.get_params()[0].items():
        np.testing.assert_array_equal(value.asnumpy(), args[name].asnumpy())


def test_score_and_predict_leave_padding_out():
    module = ready()
    data = iterator(rows=13)
    merged = module.predict(data)
    assert merged.shape == (13, 3)
    parts = module.predict(data, merge_batches=False)
    assert [one[0].shape for one in parts] == [(5, 3), (5, 3), (3, 3)]
    np.testing.assert_array_equal(parts[2][0].asnumpy(), merged.asnumpy()[10:])
    assert module.predict(data, num_batch=0) == []
    assert module.predict(data, num_batch=1, always_output_list=True)[0].shape == (5, 3)
    assert module.predict(mx.nd.ones(SHAPE)).shape == (5, 3)
    assert module.predict(np.ones(SHAPE, np.float32)).shape == (5, 3)
    calls = []
    found = module.score(
        data,
        ["acc", "ce"],
        num_batch=2,
        batch_end_callback=lambda p: calls.append(p.nbatch),
        score_end_callback=lambda p: calls.append(("end", p.nbatch)),
    )
    assert [name for name, _ in found] == ["accuracy", "cross-entropy"]
    assert calls == [0, 1, ("end", 2)]
    numbers = [number for _, number, _ in module.iter_predict(data)]
    assert numbers == [0, 1, 2]
    with pytest.raises(ValueError, match="eval_data must be of type NDArray or DataIter"):
        module.predict([1])


def test_facts():
    module = bound()
    assert module.data_names == ["data"] and module.label_names == ["softmax_label"]
    assert module.output_names == ["softmax_output"]
    assert module.output_shapes == [("softmax_output", (5, 3))]
    assert module.data_shapes[0].shape == SHAPE and module.label_shapes[0].name == "softmax_label"
    assert module.symbol.list_outputs() == ["softmax_output"]


def test_calls_out_of_order_say_what_is_missing():
    module = mx.mod.Module(networks.perceptron(mx))
    for call, missing in (
        (lambda: module.forward(None), "bind"),
        (module.init_params, "bind"),
        (module.get_params, "bind"),
        (lambda: module.data_shapes, "bind"),
        (lambda: module.install_monitor(None), "bind"),
        (module.init_optimizer, "init_params"),
        (module.update, "init_optimizer"),
        (lambda: module.save_optimizer_states("x"), "init_optimizer"),
        (lambda: module.reshape([]), "bind"),
        (module.get_input_grads, "inputs_need_grad"),
    ):
        with pytest.raises(AssertionError, match=missing) as caught:
            call()
        assert isinstance(caught.value, mx.MXNetError)
    with pytest.raises(AssertionError, match="number of epochs"):
        module.fit(None)


def test_names_are_checked():
    symbol = networks.perceptron(mx)
    with pytest.raises(ValueError, match=r"Module\(..., data_names=\['dat'\]\).*Did you mean one of"):
        mx.mod.Module(symbol, data_names=["dat"])
    with pytest.warns(UserWarning, match=r"label_names=\['lab'\]"):
        mx.mod.Module(symbol, label_names=["lab"])
    with pytest.raises(ValueError, match="don't match names specified by data_names"):
        mx.mod.Module(symbol).bind([("dat", SHAPE)])
    with pytest.raises(TypeError, match="tuple of ints"):
        mx.mod.Module(symbol).bind([("data", mx.nd.array([3, 4]))], [("softmax_label", (5,))])
    with pytest.raises(AssertionError, match="for_training"):
        mx.mod.Module(symbol).bind([("data", SHAPE)], inputs_need_grad=True, for_training=False)


def test_doing_things_twice_is_a_warning(caplog):
    module = ready()
    module.bind([("data", SHAPE)])
    module.init_optimizer()
    assert "Already bound, ignoring bind()" in caplog.text
    assert "optimizer already initialized, ignoring..." in caplog.text
    with pytest.warns(UserWarning, match="Parameters already initialized"):
        module.init_params()
    with pytest.warns(UserWarning, match="Parameters already initialized"):
        module.set_params({}, {}, force_init=False)


def test_set_params_and_its_flags():
    module = ready()
    args, auxs = module.get_params()
    ones = {name: mx.nd.ones(value.shape) for name, value in args.items()}
    few = {"fc1_bias": mx.nd.ones(6) * 3}
    module.set_params({**ones, "unknown": mx.nd.ones(1)}, auxs)  # not looked at, as in MXNet
    assert all((value.asnumpy() == 1).all() for value in module.get_params()[0].values())
    with pytest.raises(RuntimeError, match="is not presented"):
        module.set_params(few, auxs)
    module.set_params(few, auxs, allow_missing=True)
    assert (module.get_params()[0]["fc1_bias"].asnumpy() == 3).all()
    assert (module.get_params()[0]["fc1_weight"].asnumpy() == 1).all()
    with pytest.raises(ValueError, match='Find name "unknown" that is not in the arguments'):
        module.set_params({**few, "unknown": mx.nd.ones(1)}, auxs, allow_missing=True)
    module.set_params({**few, "unknown": mx.nd.ones(1)}, auxs, allow_missing=True, allow_extra=True)
    with pytest.raises(mx.MXNetError, match="shape"):
        module.set_params({**ones, "fc1_bias": mx.nd.ones(7)}, auxs)


def test_returned_parameters_can_be_changed_and_set():
    module = ready()
    args, auxs = module.get_params()
    args["fc1_weight"][:] = 7
    assert (module._exec_group.args["fc1_weight"].asnumpy() != 7).any()
    module.set_params(args, auxs)
    assert (module._exec_group.args["fc1_weight"].asnumpy() == 7).all()


def test_checkpoints_go_on_where_they_stopped(tmp_path):
    prefix = str(tmp_path / "model")
    whole, first = (networks.module(mx, networks.convolutional(mx), (4, 2, 6, 6)) for _ in range(2))
    batches = [networks.batch(mx, *one) for one in zip(*networks.arrays((4, 2, 6, 6), 4))]

    def steps(module, some):
        for batch in some:
            module.forward_backward(batch)
            module.update()

    options = {"optimizer": "sgd", "optimizer_params": {"learning_rate": 0.1, "momentum": 0.9}}
    whole.init_optimizer(**options)
    steps(whole, batches)
    first.init_optimizer(**options)
    steps(first, batches[:2])
    first.save_checkpoint(prefix, 3, save_optimizer_states=True)
    second = mx.mod.Module.load(prefix, 3, load_optimizer_states=True)
    second.bind([("data", (4, 2, 6, 6))], [("softmax_label", (4,))])
    second.init_optimizer(**options)
    steps(second, batches[2:])
    for mine, other in zip(second.get_params(), whole.get_params()):
        assert set(mine) == set(other)
        for name, value in mine.items():
            np.testing.assert_allclose(value.asnumpy(), other[name].asnumpy(), rtol=1e-5, atol=1e-6)


def test_params_files(tmp_path):
    path = str(tmp_path / "m.params")
    module, other = ready(), ready()
    module.save_params(path)
    other.load_params(path)
    for name, value in module.get_params()[0].items():
        np.testing.assert_array_equal(value.asnumpy(), other.get_params()[0][name].asnumpy())
    mx.nd.save(path, {"x:q": mx.nd.ones(1)})
    with pytest.raises(ValueError, match="Invalid param file"):
        other.load_params(path)
    with pytest.raises(mx.MXNetError, match="cannot read"):
        other.load_optimizer_states(str(tmp_path / "nothing"))


def test_other_shapes_come_by_themselves_and_back():
    module = ready()
    for rows in (3, 5, 8):
        module.forward(mx.io.DataBatch([mx.nd.ones((rows, 4))], [mx.nd.zeros(rows)]))
        assert module.get_outputs()[0].shape == (rows, 3)
    before = module.get_params()[0]["fc1_weight"].asnumpy()
    with pytest.raises(mx.MXNetError, match=r"fc1_weight changed from \(6, 4\) to \(6, 9\)"):
        module.forward(mx.io.DataBatch([mx.nd.ones((5, 9))], [mx.nd.zeros(5)]))
    module.forward(mx.io.DataBatch([mx.nd.ones((8, 4))], [mx.nd.zeros(8)]))
    assert module.get_outputs()[0].shape == (8, 3)
    np.testing.assert_array_equal(before, module.get_params()[0]["fc1_weight"].asnumpy())
    module.reshape([("data", (2, 4))], [("softmax_label", (2,))])
    assert module.output_shapes == [("softmax_output", (2, 3))]
    with pytest.raises(mx.MXNetError, match=r"'softmax_label' has shape \(2, 1\)"):
        module.forward(mx.io.DataBatch([mx.nd.ones((2, 4))], [mx.nd.zeros((2, 1))]))


def test_shared_module_sees_updates():
    train = ready()
    test = mx.mod.Module(networks.perceptron(mx))
    test.bind([("data", (2, 4))], [("softmax_label", (2,))], for_training=False, shared_module=train)
    batch = mx.io.DataBatch([mx.nd.ones((2, 4))])
    test.forward(batch)
    before = test.get_outputs()[0].asnumpy()
    test.forward(batch)  # asked for before the update, looked at after it
    train.forward_backward(mx.io.DataBatch([mx.nd.ones(SHAPE)], [mx.nd.zeros(5)]))
    train.update()
    np.testing.assert_array_equal(test.get_outputs()[0].asnumpy(), before)
    test.forward(batch)
    assert (test.get_outputs()[0].asnumpy() != before).any()


def test_states():
    state = mx.sym.Variable("state")
    symbol = mx.sym.Group([mx.sym.Variable("data") + state, state * 2])
    module = mx.mod.Module(symbol, label_names=None, state_names=["state"])
    shapes = [("data", (2, 3))]
    module.bind(shapes, for_training=False)
    module.init_params()
    assert module.get_params()[0] == {}
    module.set_states(value=3)
    module.forward(mx.io.DataBatch([mx.nd.ones((2, 3))]))
    assert (module.get_outputs()[0].asnumpy() == 4).all()
    module.set_states(states=[[module.get_outputs()[1]]])
    assert (module.get_states()[0].asnumpy() == 6).all()
    with pytest.raises(AssertionError, match="At least one of states & value"):
        module.set_states()


def test_grad_req_by_name_and_list():
    requests = {"data": "write", "fc1_weight": "add"}
    module = mx.mod.Module(networks.perceptron(mx), fixed_param_names=["fc2_bias"])
    module.bind([("data", SHAPE)], [("softmax_label", (5,))], grad_req=requests)
    assert module._exec_group.grad_req == {
        "data": "write",
        "fc1_weight": "add",
        "fc1_bias": "write",
        "fc2_weight": "write",
        "fc2_bias": "null",
        "softmax_label": "null",
    }
    with pytest.raises(AssertionError, match="2 entries for 6 arguments"):
        bound().bind([("data", SHAPE)], [("softmax_label", (5,))], force_rebind=True, grad_req=["write", "null"])


def test_optimizers_and_stores_are_checked():
    module = bound()
    module.init_params()
    with pytest.raises(ValueError, match="Cannot find optimizer"):
        module.init_optimizer(optimizer="nothing")
    with pytest.raises(TypeError, match="kvstore must be KVStore, str or None"):
        module.init_optimizer(kvstore=3)
    with pytest.warns(UserWarning, match="rescale_grad is not normalized"):
        module.init_optimizer(optimizer=mx.optimizer.SGD())
    assert module._optimizer.idx2name == dict(enumerate(["fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias"]))
    assert module._optimizer.wd_mult == {}


def test_a_class_of_ones_own_lists_what_it_lacks():
    with pytest.raises(NotImplementedError, match=r"BaseModule does not define bind\(\)"):
        mx.mod.BaseModule().bind([])
    with pytest.raises(NotImplementedError, match="data_names"):
        _ = mx.mod.BaseModule().data_names


@pytest.mark.slow
def test_real_digits_are_learned(shared_data):
    import gzip

    folder = shared_data / "mnist"
    images = np.frombuffer(gzip.decompress((folder / "t10k-images-idx3-ubyte.gz").read_bytes()), np.uint8, offset=16)
    labels = np.frombuffer(gzip.decompress((folder / "t10k-labels-idx1-ubyte.gz").read_bytes()), np.uint8, offset=8)
    data, target = images.reshape(-1, 1, 28, 28).astype(np.float32) / 255, labels.astype(np.float32)
    x = mx.sym.Variable("data")
    for filters in (8, 16):
        x = mx.sym.Activation(mx.sym.Convolution(x, kernel=(5, 5), num_filter=filters), act_type="tanh")
        x = mx.sym.Pooling(x, pool_type="max", kernel=(2, 2), stride=(2, 2))
    x = mx.sym.Activation(mx.sym.FullyConnected(mx.sym.flatten(x), num_hidden=64), act_type="tanh")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(mx.sym.FullyConnected(x, num_hidden=10), name="softmax"))
    module.fit(
        mx.io.NDArrayIter(data[:9000], target[:9000], 50, shuffle=True),
        num_epoch=2,
        initializer=mx.init.Xavier(),
        optimizer_params={"learning_rate": 0.05, "momentum": 0.9},
    )
    assert module.score(mx.io.NDArrayIter(data[9000:], target[9000:], 100), "acc")[0][1] > 0.95
