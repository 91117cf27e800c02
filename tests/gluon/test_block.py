"""Blocks: names, registration, repr, files in every key form, hooks."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import gluon, nd
from gluonjax.gluon import nn


def build(prefix: str | None = None) -> nn.HybridSequential:
    net = nn.HybridSequential(prefix=prefix)
    with net.name_scope():
        net.add(nn.Dense(4, activation="relu"), nn.BatchNorm(), nn.Dense(2))
    return net


def test_names_count_within_their_scope() -> None:
    net = build("net_")
    assert [child.name for child in net] == ["net_dense0", "net_batchnorm0", "net_dense1"]
    assert list(net.collect_params(".*weight")) == ["net_dense0_weight", "net_dense1_weight"]


def test_repr() -> None:
    assert repr(build()) == (
        "HybridSequential(\n  (0): Dense(None -> 4, Activation(relu))\n"
        "  (1): BatchNorm(axis=1, eps=1e-05, momentum=0.9, fix_gamma=False, use_global_stats=False, "
        "in_channels=None)\n  (2): Dense(None -> 2, linear)\n)"
    )


@pytest.mark.parametrize("how", ["structural", "full", "export", "without prefix"])
def test_every_kind_of_names_loads(tmp_path: object, how: str) -> None:
    net, x = build("net_"), nd.array(np.arange(6.0).reshape(2, 3))
    net.initialize(mx.init.Xavier())
    expected = net(x).asnumpy()
    file = f"{tmp_path}/x.params"
    if how == "structural":
        net.save_parameters(file)
    elif how == "export":
        net.hybridize()
        net(x)
        net.export(f"{tmp_path}/x")
        file = f"{tmp_path}/x-0000.params"
    else:
        net.collect_params().save(file, strip_prefix="net_" if how == "without prefix" else "")
    again = build("net_")
    again.load_parameters(file)
    np.testing.assert_allclose(again(x).asnumpy(), expected, rtol=1e-5)


def test_attributes_keep_their_type() -> None:
    class Net(gluon.Block):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Dense(2)

    net = Net()
    with pytest.raises(TypeError, match="Changing attribute type for layer"):
        net.layer = 3
    with pytest.raises(ValueError, match="must also be HybridBlock"):
        nn.HybridSequential().add(net)


def test_pickle_keeps_the_function() -> None:
    net, x = build(), nd.ones((2, 3))
    net.initialize()
    expected = net(x).asnumpy()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(net))(x).asnumpy(), expected)


def test_hooks_run_until_detached() -> None:
    seen = []
    layer = nn.Dense(2)
    layer.initialize()
    with layer.register_forward_hook(lambda block, inputs, output: seen.append(output.shape)):
        layer(nd.ones((3, 1)))
    layer(nd.ones((3, 1)))
    assert seen == [(3, 2)]


def test_summary(capsys: pytest.CaptureFixture[str]) -> None:
    net = build()
    net.initialize()
    net.summary(nd.ones((2, 3)))
    text = capsys.readouterr().out
    assert "Total params: 42" in text and "Non-trainable params: 8" in text


def test_values_from_a_dictionary() -> None:
    net, other, x = build("net_"), build("other_"), nd.ones((2, 3))
    net.initialize(mx.init.Xavier())
    expected = net(x).asnumpy()
    values = {name: one.data() for name, one in net._collect_params_with_prefix().items()}
    other.load_dict(values)
    np.testing.assert_array_equal(other(x).asnumpy(), expected)
    with pytest.raises(AssertionError, match=r"'2\.bias' is missing in param_dict"):
        build().load_dict({name: one for name, one in values.items() if name != "2.bias"})
    with pytest.raises(ValueError, match=r"'more' loaded from .* is not present"):
        build().load_dict({**values, "more": nd.ones(1)})
    build().load_dict({**values, "more": nd.ones(1)}, ignore_extra=True)


def test_models_without_parameters_come_back(tmp_path) -> None:
    net, x = nn.Activation("relu"), nd.array([[-1.0, 2.0]])
    net.hybridize()
    net(x)
    net.export(str(tmp_path / "net"))
    net.save_parameters(str(tmp_path / "net.params"))
    nn.Activation("relu").load_parameters(str(tmp_path / "net.params"))
    block = gluon.SymbolBlock.imports(str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params"))
    assert block(x).asnumpy().tolist() == [[0.0, 2.0]]
