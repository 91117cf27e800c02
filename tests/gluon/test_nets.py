"""Whole nets: control flow inside, nested inputs and outputs, hybrid and other blocks mixed, copies, contexts."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import autograd, gluon, nd
from gluonjax.gluon import nn

X = np.arange(6, dtype=np.float32).reshape(3, 2) / 3


class Net(gluon.HybridBlock):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def hybrid_forward(self, F: Any, *args: Any) -> Any:
        return self.function(F, *args)


def leaves(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, (list, tuple)) else [value]


def run(function: Callable[..., Any], hybrid: bool, *arrays: np.ndarray) -> tuple[list[Any], list[Any]]:
    """Values of all outputs and gradients of all inputs."""
    net = Net(function)
    if hybrid:
        net.hybridize()
    inputs = [nd.array(array) for array in arrays]
    for one in inputs:
        one.attach_grad()
    with autograd.record():
        outputs = leaves(net(*inputs))
    autograd.backward(outputs)
    return [one.asnumpy() for one in outputs], [one.grad.asnumpy() for one in inputs]


@pytest.mark.parametrize("hybrid", [False, True])
def test_foreach(hybrid: bool) -> None:
    def loop(F: Any, rows: Any, start: Any) -> Any:
        return F.contrib.foreach(lambda row, state: (row * state, state + row), rows, start)

    (outputs, last), (of_rows, of_start) = run(loop, hybrid, X, np.array([1.0, 2.0], np.float32))
    states = np.array([1.0, 2.0]) + np.concatenate([np.zeros((1, 2)), X.cumsum(axis=0)])
    np.testing.assert_allclose(outputs, X * states[:3], rtol=1e-5)
    np.testing.assert_allclose(last, states[3], rtol=1e-5)
    np.testing.assert_allclose(of_start, X.sum(axis=0) + 1, rtol=1e-5)
    np.testing.assert_allclose(of_rows[2], states[2] + 1, rtol=1e-5)


@pytest.mark.parametrize("hybrid", [False, True])
def test_while_loop_and_cond(hybrid: bool) -> None:
    def loop(F: Any, x: Any) -> Any:
        count = x.sum() * 0
        _, (_, last) = F.contrib.while_loop(
            lambda i, a: i < 3, lambda i, a: (a, [i + 1, a * 2]), [count, x], max_iterations=5
        )
        return last, F.contrib.cond(x.sum() > 2, lambda: x * 3, lambda: x * 5)

    (last, chosen), (slope,) = run(loop, hybrid, np.array([1.0, 2.0], np.float32))
    assert last.tolist() == [8.0, 16.0] and chosen.tolist() == [3.0, 6.0] and slope.tolist() == [11.0, 11.0]
    assert run(loop, hybrid, np.array([0.5, 1.0], np.float32))[0][1].tolist() == [2.5, 5.0]


@pytest.mark.parametrize("hybrid", [False, True])
def test_nested_structures(hybrid: bool) -> None:
    net = Net(lambda F, many, x: [many[0] + many[1][0] * x, {"last": (many[1][1], x)}])
    if hybrid:
        net.hybridize()
    x = nd.array(X)
    first, rest = net([x, [x * 2, x * 3]], x)
    np.testing.assert_allclose(first.asnumpy(), X + 2 * X * X, rtol=1e-5)
    np.testing.assert_allclose(rest["last"][0].asnumpy(), 3 * X, rtol=1e-5)
    assert rest["last"][1].shape == (3, 2)


class Mixed(gluon.Block):
    """Not hybrid itself; what is below may be compiled, and may hold what reads values."""

    def __init__(self) -> None:
        super().__init__(prefix="mixed_")
        with self.name_scope():
            self.a = nn.HybridSequential()
            self.a.add(nn.Dense(2, in_units=2))
            self.b = nn.Dense(1, in_units=2)

    def forward(self, x: Any) -> Any:
        return self.b(self.a(x) + float(x.sum().asscalar()))


def test_hybrid_children_of_other_blocks() -> None:
    found = []
    for hybrid in (False, True):
        net = Mixed()
        net.initialize(mx.init.One())
        if hybrid:
            net.hybridize()
        with autograd.record():
            loss = net(nd.array(X)).sum()
        loss.backward()
        found.append((loss.asscalar(), net.a[0].weight.grad().asnumpy().tolist()))
    assert found[0] == found[1]
    with pytest.raises(ValueError, match="must also be HybridBlock"):
        nn.HybridSequential().add(Mixed())


def small() -> nn.HybridSequential:
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(2, in_units=2), nn.BatchNorm(in_channels=2))
    net.initialize(mx.init.One())
    net.hybridize()
    return net


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_copies_are_independent_and_train(duplicate: Callable[[Any], Any]) -> None:
    net = small()
    before = net(nd.array(X)).asnumpy()
    other = duplicate(net)
    np.testing.assert_array_equal(other(nd.array(X)).asnumpy(), before)
    trainer = gluon.Trainer(other.collect_params(), "sgd", {"learning_rate": 1.0})
    with autograd.record():
        loss = (other(nd.array(X)) ** 2).sum()
    loss.backward()
    trainer.step(1)
    assert np.abs(other(nd.array(X)).asnumpy() - before).max() > 0.01
    np.testing.assert_array_equal(net(nd.array(X)).asnumpy(), before)


def test_parameters_shared_by_structure() -> None:
    net, other = small(), small()
    other.share_parameters(net._collect_params_with_prefix())
    net[0].weight.set_data(nd.zeros((2, 2)))
    np.testing.assert_array_equal(other(nd.array(X)).asnumpy(), net(nd.array(X)).asnumpy())
    assert other[0].weight is net[0].weight


def test_every_context_has_its_copy() -> None:
    contexts = [mx.cpu(0), mx.cpu(1)]
    net = nn.Dense(2)
    net.initialize(mx.init.One(), ctx=contexts)
    outs = [net(nd.array(X, ctx=one)) for one in contexts]
    assert [out.context for out in outs] == contexts
    with pytest.raises(mx.MXNetError, match=r"(?s)was not initialized on context cpu\(2\).*in layer"):
        net(nd.array(X, ctx=mx.cpu(2)))


def test_symbol_blocks_move_between_contexts(tmp_path) -> None:
    net = small()
    expected = net(nd.array(X)).asnumpy()
    net.export(str(tmp_path / "net"))
    block = gluon.SymbolBlock.imports(str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params"))
    block.reset_ctx(mx.cpu(1))
    out = block(nd.array(X, ctx=mx.cpu(1)))
    assert out.context == mx.cpu(1)
    np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-6)
    pair = gluon.SymbolBlock([mx.sym.var("data") * 2, mx.sym.var("data") + 1], [mx.sym.var("data")])
    assert [one.shape for one in pair(nd.array(X))] == [(3, 2), (3, 2)]
    assert [one.list_arguments() for one in pair(mx.sym.var("q"))] == [["q"], ["q"]]
