"""mx.contrib.amp: converted graphs equal to MXNet's, scoped training in mixed precision, loss scaling."""

from __future__ import annotations

import json
import pathlib

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import autograd, gluon, nd
from gluonjax.contrib import amp
from tests import legacy_rnn_cases as cases

REFERENCES = json.loads((pathlib.Path(__file__).parent / "data" / "amp.json").read_text())
X = np.random.RandomState(0).rand(4, 2, 6, 6).astype("float32")


@pytest.mark.parametrize("case", cases.CONVERSIONS, ids="-".join)
def test_graph_is_mxnets(case):
    assert cases.convert(mx, amp, *case) == REFERENCES[" ".join(case)]


@pytest.mark.parametrize(("dtype", "counts"), [("float16", (4, 136, 318, 113, 2)), ("bfloat16", (2, 438, 15, 109, 2))])
def test_lists(dtype, counts):
    found = [
        amp.list_lp16_ops(dtype), amp.list_fp32_ops(dtype), amp.list_lp16_fp32_ops(dtype),
        amp.list_widest_type_cast(dtype), [name for name, _, _ in amp.list_conditional_fp32_ops(dtype)],
    ]  # fmt: skip
    assert tuple(map(len, found)) == counts
    assert len(set().union(*found)) == sum(counts)
    assert "SoftmaxOutput" in amp.list_loss_output_functions(dtype)


def test_conversion_refuses_what_it_cannot_do():
    net = cases.words(mx)
    with pytest.raises(AssertionError, match="float16 and bfloat16"):
        amp.convert_symbol(net, "float64")
    with pytest.raises(AssertionError, match=r"two or more lists.*exp"):
        amp.convert_symbol(net, target_dtype_ops=["exp"], fp32_ops=["exp"])
    with pytest.raises(AssertionError, match=r"nope.*not in any of them"):
        amp.convert_symbol(net, fp32_ops=["nope"])
    with pytest.raises(AssertionError, match="First argument"):
        amp.convert_model("net", {}, {})


def block():
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(4, 3, activation="relu"), gluon.nn.BatchNorm(), gluon.nn.Flatten(), gluon.nn.Dense(3))
    mx.random.seed(0)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    net(nd.array(X))
    return net


def casts(net):
    return net._cached_graph[1].tojson(remove_amp_cast=False).count('"op": "amp_cast"')


def test_scope_ends_and_float32_models_stay():
    before = block()
    expected = before(nd.array(X)).asnumpy()
    with amp.init("bfloat16"):
        inside = before(nd.array(X)).asnumpy()
        assert casts(before) > 0
    after = before(nd.array(X)).asnumpy()
    assert np.array_equal(after, expected)
    assert 0 < np.abs(inside - expected).max() < 0.1
    scope = amp.init()
    scope.close()
    scope.close()
    assert casts(block()) == 0


def test_float16_arithmetic_is_real():
    with amp.init("float16"):
        net = gluon.nn.Dense(1, use_bias=False, in_units=2)
        net.initialize(mx.init.One())
        net.hybridize()
        # 2048 + 1 has no float16.
        assert net(nd.array([[2048.0, 1.0]])).asscalar() == 2048.0


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_training(dtype):
    label, loss_of = nd.array([0, 1, 2, 1]), gluon.loss.SoftmaxCrossEntropyLoss()
    with amp.init(dtype):
        net = block()
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
        amp.init_trainer(trainer)
        losses = []
        for _ in range(20):
            with autograd.record():
                loss = loss_of(net(nd.array(X)), label)
                with amp.scale_loss(loss, trainer) as scaled:
                    scaled.backward()
            trainer.step(4)
            losses.append(float(loss.mean().asscalar()))
    assert losses[-1] < 0.3 * losses[0]
    assert {np.dtype(param.data().dtype) for param in net.collect_params().values()} == {np.dtype("float32")}


def trainer_of_one(value):
    param = gluon.Parameter("w", shape=(2,), init=mx.init.One())
    param.initialize()
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 1.0})
    with amp.init():
        amp.init_trainer(trainer)
    with autograd.record(), amp.scale_loss((param.data() * value).sum(), trainer) as scaled:
        scaled.backward()
    return param, trainer


def test_scaled_gradients_are_divided_again():
    param, trainer = trainer_of_one(0.25)
    assert (param.grad().asnumpy() == 0.25 * 2**16).all()
    trainer.step(1)
    np.testing.assert_allclose(param.data().asnumpy(), 0.75)


def test_unscale_divides_at_once():
    param, trainer = trainer_of_one(0.25)
    amp.unscale(trainer)
    assert (param.grad().asnumpy() == 0.25).all()
    trainer.step(1)
    np.testing.assert_allclose(param.data().asnumpy(), 0.75)


def test_overflow_skips_the_step_and_halves_the_scale():
    param, trainer = trainer_of_one(float("inf"))
    trainer.step(1)
    assert (param.data().asnumpy() == 1).all()
    with autograd.record(), amp.scale_loss((param.data() * 0.5).sum(), trainer) as scaled:
        scaled.backward()
    trainer.step(1)
    assert trainer._amp_loss_scaler.loss_scale == 2**15
    np.testing.assert_allclose(param.data().asnumpy(), 0.5)


def test_scale_doubles_after_a_long_time_without_overflow():
    scaler = amp.loss_scaler.LossScaler()
    scaler._scale_seq_len = 2
    param, _ = trainer_of_one(1.0)
    scales = []
    for _ in range(5):
        assert not scaler.has_overflow([param])
        scales.append(scaler.loss_scale)
    assert scales == [2**16, 2**16, 2**17, 2**17, 2**18]


def test_trainer_errors():
    trainer = gluon.Trainer([], "sgd")
    with pytest.raises(AssertionError, match=r"amp.init\(\)"):
        amp.init_trainer(trainer)
    with pytest.raises(AssertionError, match="init_trainer"), amp.scale_loss(nd.ones((1,)), trainer):
        pass
    with pytest.raises(TypeError, match="Gluon Trainer"):
        amp.unscale(mx.optimizer.SGD())


@pytest.mark.parametrize("stored", [False, True])
def test_converted_block(stored):
    net = block()
    expected = net(nd.array(X)).asnumpy()
    converted = amp.convert_hybrid_block(net, "bfloat16", cast_optional_params=stored, ctx=mx.cpu())
    result = converted(nd.array(X))
    assert result.dtype == np.float32
    assert 0 < np.abs(result.asnumpy() - expected).max() < 0.1
    types = {name.partition("_")[2]: np.dtype(p.dtype).name for name, p in converted.collect_params().items()}
    assert types["weight"] == ("bfloat16" if stored else "float32") and types["gamma"] == "float32"
    with pytest.raises(mx.MXNetError, match="hybridize"):
        amp.convert_hybrid_block(gluon.nn.Dense(2))


def test_converted_model_runs_and_leaves_the_original():
    symbol = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    args = {"fc_weight": nd.ones((2, 3)), "fc_bias": nd.zeros((2,))}
    converted, new_args, aux = amp.convert_model(symbol, args, {}, cast_optional_params=True)
    assert new_args["fc_weight"].dtype == np.float16 and args["fc_weight"].dtype == np.float32 and aux == {}
    executor = converted.bind(mx.cpu(), {**new_args, "data": nd.ones((1, 3))}, grad_req="null")
    assert executor.forward()[0].asnumpy().tolist() == [[3, 3]]


def test_converted_bucketing_module():
    def symbol_of(length):
        data = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, flatten=False, name="fc")
        return mx.sym.SoftmaxOutput(mx.sym.sum(data, axis=1), name="softmax"), ("data",), ("softmax_label",)

    module = mx.mod.BucketingModule(symbol_of, 3)
    module.bind([("data", (2, 3, 4))], [("softmax_label", (2,))], for_training=False)
    module.init_params(mx.init.One())
    converted = amp.convert_bucketing_module(module)
    converted.bind([("data", (2, 3, 4))], [("softmax_label", (2,))], for_training=False)
    batch = mx.io.DataBatch(
        [nd.ones((2, 3, 4))], None, bucket_key=3, provide_data=[mx.io.DataDesc("data", (2, 3, 4))], provide_label=None
    )
    converted.forward(batch, is_train=False)
    np.testing.assert_allclose(converted.get_outputs()[0].asnumpy(), 0.5)
    assert "amp_cast" in converted._buckets[3].symbol.tojson(remove_amp_cast=False)
