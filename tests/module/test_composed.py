"""BucketingModule, SequentialModule, PythonModule and FeedForward."""

from __future__ import annotations

import logging
import random

import numpy as np
import pytest

import gluonjax as mx
from tests.module import networks

WIDTH = 3


def sentence(length):
    """Sums ``length`` inputs through one shared layer; a bucket's symbol."""
    data = mx.sym.Variable("data")
    weight, bias = mx.sym.Variable("shared_weight"), mx.sym.Variable("shared_bias")
    parts = mx.sym.SliceChannel(data, num_outputs=length, axis=1, squeeze_axis=True)
    total = None
    for index in range(length):
        one = mx.sym.FullyConnected(parts[index], weight, bias, num_hidden=3, name=f"step{index}")
        total = one if total is None else total + one
    return mx.sym.SoftmaxOutput(total, name="softmax"), ("data",), ("softmax_label",)


def bucket_batch(length, seed=0):
    source = np.random.RandomState(seed)
    data = mx.nd.array(source.uniform(-1, 1, (4, length, WIDTH)))
    label = mx.nd.array(source.randint(0, 3, (4,)))
    return mx.io.DataBatch(
        [data],
        [label],
        bucket_key=length,
        provide_data=[mx.io.DataDesc("data", data.shape)],
        provide_label=[mx.io.DataDesc("softmax_label", label.shape)],
    )


def buckets(optimizer="sgd", **options):
    module = mx.mod.BucketingModule(sentence, default_bucket_key=4)
    module.bind([("data", (4, 4, WIDTH))], [("softmax_label", (4,))])
    mx.random.seed(1)
    module.init_params(mx.init.Uniform(0.3))
    module.init_optimizer(optimizer=optimizer, optimizer_params={"learning_rate": 0.1, **options})
    return module


def test_one_program_for_each_bucket():
    module = buckets(momentum=0.9)
    for number, length in enumerate([4, 2, 3, 2, 4, 3, 2]):
        module.forward_backward(bucket_batch(length, number))
        module.update()
    assert module.compile_counts() == {4: 1, 2: 1, 3: 1}


def language(length):
    """Scores of every place of a sentence, with labels to ignore; places do not see each other."""
    net = mx.sym.Embedding(mx.sym.var("data"), input_dim=7, output_dim=4, name="embed")
    net = mx.sym.FullyConnected(mx.sym.reshape(net, shape=(-1, 4)), num_hidden=7, name="scores")
    label = mx.sym.reshape(mx.sym.var("softmax_label"), shape=(-1,))
    loss = mx.sym.SoftmaxOutput(net, label, use_ignore=True, ignore_label=-1, name="softmax")
    return loss, ("data",), ("softmax_label",)


def test_near_lengths_share_a_bucket_and_train_alike():
    lists = [[1 + (i + j) % 6 for j in range(length)] for i, length in enumerate([3, 4, 7, 8, 9, 12] * 4)]
    found = []
    for step in (None, 4):
        random.seed(0), np.random.seed(0)  # the iterator shuffles
        batches = mx.rnn.BucketSentenceIter(
            lists, 2, buckets=[3, 4, 7, 8, 9, 12], invalid_label=-1, dtype="float32"
        )
        module = mx.mod.BucketingModule(language, default_bucket_key=12)
        if step is not None:
            module.pad_buckets(step, data_value=0, label_value=-1)
        metric = mx.metric.Perplexity(-1)
        module.fit(batches, eval_metric=metric, num_epoch=1, initializer=mx.init.One(), optimizer="adam")
        found.append((metric.get()[1], module.get_params()[0]["scores_weight"].asnumpy(), module.compile_counts()))
    (plain, weight, counts), (padded, same, fewer) = found
    assert set(counts) == {3, 4, 7, 8, 9, 12} and set(fewer) == {4, 8, 12}
    assert all(count == 1 for count in fewer.values())
    assert padded == pytest.approx(plain, rel=1e-4)
    np.testing.assert_allclose(same, weight, rtol=1e-4, atol=1e-6)


def test_buckets_train_one_set_of_parameters():
    module = buckets(momentum=0.9)
    start = module.get_params()[0]
    plain = {}
    single = mx.mod.Module(sentence(4)[0])
    single.bind([("data", (4, 4, WIDTH))], [("softmax_label", (4,))])
    single.init_params(arg_params=start, aux_params={})
    single.init_optimizer(optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
    for number, length in enumerate([4, 2, 3, 2, 4, 3]):
        batch = bucket_batch(length, number)
        module.forward_backward(batch)
        module.update()
        # the same steps, one module a length, handing parameters and momentum on by hand
        one = mx.mod.Module(sentence(length)[0])
        one.bind(batch.provide_data, batch.provide_label)
        one.init_params(arg_params=plain.get("args", start), aux_params={})
        one.borrow_optimizer(single)
        one.forward_backward(batch)
        one.update()
        plain["args"] = one.get_params()[0]
    for name, value in module.get_params()[0].items():
        np.testing.assert_allclose(value.asnumpy(), plain["args"][name].asnumpy(), rtol=1e-4, atol=1e-6)
    assert {key: one._step.compilations() for key, one in module._buckets.items()} == {4: 1, 2: 1, 3: 1}


def test_bucket_facts_and_errors():
    module = mx.mod.BucketingModule(sentence, default_bucket_key=4)
    assert module.data_names == ("data",) and module.output_names == ["softmax_output"]
    for call in (lambda: module.symbol, lambda: module.data_shapes, lambda: module.switch_bucket(2, [])):
        with pytest.raises(AssertionError, match="bind"):
            call()
    with pytest.raises(AssertionError, match="default_bucket_key"):
        mx.mod.BucketingModule(sentence)
    module = buckets()
    module.prepare(bucket_batch(2))
    assert set(module._buckets) == {2, 4} and module._curr_bucket_key == 4
    module.forward(bucket_batch(2))
    assert module._curr_bucket_key == 2 and module.data_shapes[0].shape == (4, 2, WIDTH)
    assert module.get_outputs()[0].shape == (4, 3)


def test_bucket_checkpoints(tmp_path):
    prefix = str(tmp_path / "buckets")
    module = buckets()
    module.forward_backward(bucket_batch(2))
    module.update()
    module.save_checkpoint(prefix, 1)
    loaded = mx.mod.BucketingModule.load(prefix, 1, sym_gen=sentence, default_bucket_key=4)
    loaded.bind([("data", (4, 4, WIDTH))], [("softmax_label", (4,))])
    for name, value in module.get_params()[0].items():
        np.testing.assert_array_equal(value.asnumpy(), loaded.get_params()[0][name].asnumpy())
    for one in (module, loaded):
        one.forward(bucket_batch(3), is_train=False)
    np.testing.assert_array_equal(module.get_outputs()[0].asnumpy(), loaded.get_outputs()[0].asnumpy())
    with pytest.raises(AssertionError, match="no bucket 9"):
        mx.mod.BucketingModule.load(prefix, 1, sym_gen=sentence, default_bucket_key=9)
    with pytest.raises(AssertionError, match="sym_gen is required"):
        mx.mod.BucketingModule.load(prefix, 1, default_bucket_key=4)


def test_gradients_add_up_over_buckets():
    module = mx.mod.BucketingModule(sentence, default_bucket_key=4)
    module.bind([("data", (4, 4, WIDTH))], [("softmax_label", (4,))], grad_req="add")
    module.init_params(mx.init.Uniform(0.3))
    alone = []
    for length in (4, 2):
        single = mx.mod.Module(sentence(length)[0])
        batch = bucket_batch(length)
        single.bind(batch.provide_data, batch.provide_label)
        single.init_params(arg_params=module.get_params()[0], aux_params={})
        single.forward_backward(batch)
        alone.append(single._exec_group.execs[0].grad_dict["shared_weight"].asnumpy())
        module.forward_backward(batch)
    total = module._curr_module._exec_group.execs[0].grad_dict["shared_weight"].asnumpy()
    np.testing.assert_allclose(total, alone[0] + alone[1], rtol=1e-4, atol=1e-6)


def halves():
    data = mx.sym.Variable("data")
    first = mx.sym.Activation(mx.sym.FullyConnected(data, num_hidden=6, name="fc1"), act_type="relu")
    second = mx.sym.FullyConnected(mx.sym.Variable("hidden"), num_hidden=3, name="fc2")
    return first, mx.sym.SoftmaxOutput(second, name="softmax")


def test_a_chain_trains_as_the_whole_network():
    first, second = halves()
    chain = mx.mod.SequentialModule()
    assert chain.data_names == [] and chain.output_names == []
    chain.add(mx.mod.Module(first, label_names=None))
    chain.add(mx.mod.Module(second, data_names=["hidden"]), take_labels=True, auto_wiring=True)
    whole = networks.module(mx, networks.perceptron(mx), (4, 5))
    chain.bind([("data", (4, 5))], [("softmax_label", (4,))])
    args, _ = whole.get_params()
    chain.init_params(arg_params=args, aux_params={})
    for module in (chain, whole):
        module.init_optimizer(optimizer_params={"learning_rate": 0.1, "rescale_grad": 0.25})
        metric = mx.metric.create("acc")
        for data, label in zip(*networks.arrays((4, 5), 3)):
            batch = networks.batch(mx, data, label)
            module.forward_backward(batch)
            module.update()
            module.update_metric(metric, batch.label)
        assert metric.num_inst == 12
    np.testing.assert_allclose(chain.get_outputs()[0].asnumpy(), whole.get_outputs()[0].asnumpy(), rtol=1e-5)
    for name, value in chain.get_params()[0].items():
        np.testing.assert_allclose(value.asnumpy(), whole.get_params()[0][name].asnumpy(), rtol=1e-5, atol=1e-6)
    assert chain.output_shapes == [("softmax_output", (4, 3))] and chain.label_shapes[0][1] == (4,)


def test_chain_errors():
    chain = mx.mod.SequentialModule()
    with pytest.raises(AssertionError, match="empty SequentialModule"):
        chain.bind([("data", (4, 5))])
    with pytest.raises(AssertionError, match='Unknown meta "take_label", a typo'):
        chain.add(None, take_label=True)
    first, _ = halves()
    again = mx.sym.FullyConnected(mx.sym.Variable("hidden"), num_hidden=6, name="fc1")
    chain.add(mx.mod.Module(first, label_names=None))
    chain.add(mx.mod.Module(again, data_names=["hidden"], label_names=None), auto_wiring=True)
    chain.bind([("data", (4, 5))])
    with pytest.raises(ValueError, match='Duplicated parameter names: parameter "fc1_weight" is in module 1'):
        chain.init_params()


def test_python_loss_at_the_end_of_a_chain():
    def gradient(scores, labels):
        return scores - mx.nd.one_hot(labels, 3)

    data = mx.sym.Variable("data")
    scores = mx.sym.softmax(mx.sym.FullyConnected(data, num_hidden=3, name="fc"))
    chain = mx.mod.SequentialModule()
    chain.add(mx.mod.Module(scores, label_names=None))
    chain.add(mx.mod.PythonLossModule(grad_func=gradient), take_labels=True, auto_wiring=True)
    chain.bind([("data", (4, 5))], [("softmax_label", (4,))])
    chain.init_params(mx.init.Uniform(0.1))
    chain.init_optimizer(optimizer_params={"learning_rate": 2.0})
    data, label = networks.arrays((4, 5), 1)
    batch = networks.batch(mx, data[0], label[0])
    metric = mx.metric.create("acc")
    for _ in range(60):
        chain.forward_backward(batch)
        chain.update()
    chain.update_metric(metric, batch.label)
    assert metric.get()[1] == 1.0
    assert chain.get_params()[1] == {}


def test_python_loss_alone():
    loss = mx.mod.PythonLossModule()
    loss.bind([("data", (2, 3))], [("softmax_label", (2,))])
    assert loss.output_shapes == [("pyloss_output", (2, 3))]
    loss.forward(mx.io.DataBatch([mx.nd.ones((2, 3))], [mx.nd.zeros(2)]), is_train=True)
    assert loss.get_outputs()[0].shape == (2, 3) and loss.get_params() == ({}, {})
    with pytest.raises(NotImplementedError, match="grad_func"):
        loss.backward()
    with pytest.raises(AssertionError, match="out_grads should be None"):
        loss.backward([mx.nd.ones((2, 3))])
    with pytest.raises(ValueError, match="data_shapes"):
        mx.mod.PythonLossModule().bind([("other", (2, 3))])
    with pytest.raises(NotImplementedError, match="_compute_output_shapes"):
        mx.mod.PythonModule(["data"], None, ["out"]).bind([("data", (2, 3))])


def points(rows=40):
    random = np.random.RandomState(0)
    data = random.uniform(-1, 1, (rows, 4)).astype(np.float32)
    return data, (data[:, 0] > 0).astype(np.float32)


def forward_model(**options):
    with pytest.warns(DeprecationWarning, match="FeedForward has been deprecated"):
        return mx.model.FeedForward(networks.perceptron(mx), **options)


def test_feed_forward_learns_predicts_and_saves(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    data, labels = points()
    seen = []
    model = forward_model(
        num_epoch=30, learning_rate=0.5, momentum=0.9, numpy_batch_size=8, initializer=mx.init.Xavier()
    )
    model.fit(data, labels, eval_data=(data, labels), batch_end_callback=lambda p: seen.append((p.epoch, p.nbatch)))
    assert seen[:6] == [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 1)]
    for text in ("Start training with [cpu(0)]", "Epoch[29] Resetting Data Iterator", "Epoch[0] Validation-accuracy="):
        assert text in caplog.text
    assert model.score(mx.io.NDArrayIter(data, labels, 10)) > 0.9
    outputs, given, wanted = model.predict(mx.io.NDArrayIter(data, labels, 16), return_data=True)
    assert outputs.shape == (40, 3) and isinstance(outputs, np.ndarray)
    np.testing.assert_array_equal(given, data)
    np.testing.assert_array_equal(wanted, labels)
    assert model.predict(mx.io.NDArrayIter(data, labels, 16), num_batch=1).shape == (16, 3)
    prefix = str(tmp_path / "old")
    model.save(prefix)
    with pytest.warns(DeprecationWarning):
        loaded = mx.model.FeedForward.load(prefix, 30)
    assert loaded.begin_epoch == 30
    np.testing.assert_allclose(loaded.predict(data), model.predict(data), rtol=1e-6)


def test_feed_forward_epochs_by_size_and_create():
    data, labels = points(20)
    seen = []
    model = forward_model(num_epoch=3, epoch_size=3, learning_rate=0.1)
    model.fit(mx.io.NDArrayIter(data, labels, 5), batch_end_callback=lambda p: seen.append((p.epoch, p.nbatch)))
    assert seen == [(epoch, number) for epoch in range(3) for number in (1, 2, 3)]
    with pytest.warns(DeprecationWarning):
        made = mx.model.FeedForward.create(
            networks.perceptron(mx), data, labels, num_epoch=1, ctx=[mx.cpu(0), mx.cpu(1)]
        )
    assert made.predict(data).shape == (20, 3)


def test_feed_forward_errors():
    data, labels = points(20)
    model = forward_model(num_epoch=1)
    with pytest.raises(ValueError, match="y must be specified"):
        model.fit(data)
    with pytest.raises(TypeError, match="X must be DataIter"):
        model.fit([1, 2], labels)
    with pytest.raises(ValueError, match="data points and labels not equal: 20 and 3"):
        model.fit(data, labels[:3])
    with pytest.raises(ValueError, match="Label must be 1D"):
        model.fit(data, np.ones((20, 2)))
    with pytest.raises(TypeError, match="Eval data must be"):
        model.fit(data, labels, eval_data=data)
    with pytest.raises(AssertionError, match="no parameters"):
        model.predict(data)
    with pytest.raises(AssertionError, match="num_epoch"):
        forward_model().fit(data, labels)


def test_executor_manager_runs_a_step():
    symbol = networks.perceptron(mx)
    data, labels = points(8)
    source = mx.io.NDArrayIter(data, labels, 4)
    manager = mx.executor_manager.DataParallelExecutorManager(symbol, [mx.cpu(0), mx.cpu(1)], source, None, None, None)
    args, auxs = networks.initial(mx, symbol, (4, 4))
    manager.set_params(args, auxs)
    metric = mx.metric.create("acc")
    batch = next(source)
    manager.load_data_batch(batch)
    manager.forward(is_train=True)
    manager.backward()
    manager.update_metric(metric, batch.label)
    assert metric.num_inst == 4
    assert all(np.abs(gradient.asnumpy()).max() > 0 for (gradient,) in manager.grad_arrays)
    copies = {name: mx.nd.zeros(value.shape) for name, value in args.items()}
    manager.copy_to(copies, {})
    np.testing.assert_array_equal(copies["fc1_weight"].asnumpy(), args["fc1_weight"].asnumpy())
