"""What tells users where something went wrong: paths in errors, debug(), summaries, recompilation warnings."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import autograd, gluon, nd
from gluonjax.gluon import nn
from gluonjax.ndarray import _recompiling


class Body(gluon.HybridBlock):
    def __init__(self) -> None:
        super().__init__()
        with self.name_scope():
            self.first = nn.Dense(4, in_units=3)
            self.second = nn.Dense(2, in_units=5)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.second(self.first(x))  # the line of the mistake


class Model(gluon.Block):
    def __init__(self, body: gluon.Block) -> None:
        super().__init__()
        with self.name_scope():
            self.body = body

    def forward(self, x: Any) -> Any:
        return self.body(x)


@pytest.mark.parametrize("hybrid", [False, True])
def test_errors_name_the_layer_and_the_line(hybrid: bool) -> None:
    net = Model(Body())
    net.initialize()
    if hybrid:
        net.hybridize()
    with pytest.raises(mx.MXNetError) as caught:
        net(nd.ones((1, 3)))
    text = str(caught.value)
    assert "in layer body.second: Dense(5 -> 2, linear)" in text
    assert "test_debugging.py:" in text
    if not hybrid:
        assert "# the line of the mistake" in text
    assert text.count("in layer") == 1


def bad_net() -> nn.HybridSequential:
    net = nn.HybridSequential()
    inner = nn.HybridSequential()
    inner.add(nn.HybridLambda(lambda F, x: F.log(x - 1)), nn.Dense(2, in_units=3))
    net.add(nn.Dense(3, in_units=3, weight_initializer="zeros"), inner)
    net.initialize()
    net.hybridize()
    return net


def test_debug_finds_the_first_nan() -> None:
    net = bad_net()
    assert np.isnan(net(nd.ones((2, 3))).asnumpy()).all()
    with pytest.raises(FloatingPointError, match=r"log in layer 1\.0: result 0 has 6 NaN .* shape \(2, 3\)") as caught:
        net.debug(nd.ones((2, 3)))
    assert (caught.value.operator, caught.value.layer) == ("log", "1.0")
    assert "F.log(x - 1)" in caught.value.line
    assert net._active and np.isnan(net(nd.ones((2, 3))).asnumpy()).all(), "afterwards all is as before"


def test_debug_returns_the_outputs_and_sees_gradients() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(3, in_units=2), nn.HybridLambda(lambda F, x: F.sqrt(F.relu(x))))
    net.initialize(mx.init.Zero())
    assert net.debug(nd.ones((1, 2))).asnumpy().tolist() == [[0, 0, 0]]
    with pytest.raises(FloatingPointError, match="the gradient of sqrt in layer 1"), net.debug():
        with autograd.record():
            loss = net(nd.ones((1, 2))).sum()
        loss.backward()


def test_summary_of_a_hybridized_net(capsys) -> None:
    net = Model(bad_net())
    net(nd.ones((2, 3)))
    net.summary(nd.ones((2, 3)))
    shown = capsys.readouterr().out
    assert "Dense-1" in shown and "HybridLambda-2" in shown and "Total params: 20" in shown
    assert net.body._active and net.body[0]._active


def counting_net(most: int, monkeypatch: pytest.MonkeyPatch) -> nn.HybridSequential:
    monkeypatch.setattr(_recompiling, "MOST_SHAPES", most)
    net = nn.HybridSequential(prefix="net_")
    net.add(nn.Dense(2, flatten=False, in_units=3))
    net.initialize()
    net.hybridize()
    return net


@pytest.mark.parametrize("record", [False, True])
def test_changing_shapes_are_noticed_once(record: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    net = counting_net(3, monkeypatch)

    def run(length: int) -> None:
        for _ in range(2):  # what is met once is not compiled
            if record:
                with autograd.record():
                    out = net(nd.ones((2, length, 3)))
                out.backward()
            else:
                net(nd.ones((2, length, 3)))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for length in (1, 2, 3, 1, 2, 3):
            run(length)
    wanted = r"net has been compiled for 4 different shapes .*input 0 \('data'\) has had 4 shapes.*float32\[2, 4, 3\]"
    with pytest.warns(UserWarning, match=wanted):
        run(4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(5)
    assert len(net._compilations) == 5


def test_stale_gradients_name_parameters_and_blocks() -> None:
    net = nn.Sequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(2, in_units=2), nn.Dense(2, in_units=2))
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    with autograd.record():
        loss = net[0](nd.ones((1, 2))).sum()
    loss.backward()
    with pytest.raises(UserWarning, match=r"net_dense1_bias. on .* has not been updated by backward") as caught:
        trainer.step(1)
    assert "Blocks that were not called: net_dense1" in str(caught.value)
    assert "net_dense1_bias" in str(caught.value)
