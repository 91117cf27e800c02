"""Flax modules as blocks, blocks as Flax modules."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import gluonjax as mx
from gluonjax import autograd, gluon, interop, nd
from gluonjax.gluon import nn

flax = pytest.importorskip("flax")
from flax import linen, nnx  # noqa: E402 - only where Flax is installed

X = np.linspace(-1, 1, 24, dtype=np.float32).reshape(8, 3)
Y = X[:, :1] * X[:, 1:2]


class Head(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.first = nnx.Linear(3, 16, rngs=rngs)
        self.norm = nnx.BatchNorm(16, momentum=0.9, rngs=rngs)
        self.drop = nnx.Dropout(0.1, rngs=rngs)
        self.last = nnx.Linear(16, 1, rngs=rngs)

    def __call__(self, x):
        return self.last(self.drop(jnp.tanh(self.norm(self.first(x)))))


class LinenHead(linen.Module):
    @linen.compact
    def __call__(self, x, train: bool = False):
        x = linen.BatchNorm(use_running_average=not train, momentum=0.9)(linen.Dense(16)(x))
        return linen.Dense(1)(linen.Dropout(0.1, deterministic=not train)(jnp.tanh(x)))


def nnx_block() -> interop.FlaxBlock:
    return interop.from_flax(Head(nnx.Rngs(0)))


def linen_block() -> interop.FlaxBlock:
    return interop.from_flax(LinenHead(), jnp.ones((1, 3)))


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("make", [nnx_block, linen_block])
def test_trains_with_a_trainer(make, hybrid: bool) -> None:
    net = make()
    net.initialize()
    if hybrid:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
    loss = gluon.loss.L2Loss()
    x, y = nd.array(X), nd.array(Y)
    values = []
    for _ in range(60):
        with autograd.record():
            value = loss(net(x), y)
        value.backward()
        trainer.step(8)
        values.append(value.mean().asscalar())
    assert min(values[-5:]) < 0.2 * values[0]
    np.testing.assert_array_equal(net(x).asnumpy(), net(x).asnumpy(), "nothing is dropped in inference")
    means = [p.data().asnumpy() for name, p in net._collect_params_with_prefix().items() if name.endswith("mean")]
    assert len(means) == 1 and np.abs(means[0]).max() > 0, "moving statistics are kept"


def test_same_values_as_flax() -> None:
    module = Head(nnx.Rngs(0))
    net = interop.from_flax(module)
    net.initialize()
    module.eval()
    np.testing.assert_allclose(net(nd.array(X)).asnumpy(), module(X), rtol=1e-5, atol=1e-6)
    assert "first.kernel" in net._collect_params_with_prefix()
    linen_module = LinenHead()
    variables = linen_module.init(jax.random.key(3), jnp.ones((1, 3)))
    net = interop.from_flax(linen_module, jnp.ones((1, 3)), rngs=jax.random.key(3))
    net.initialize()
    np.testing.assert_allclose(net(nd.array(X)).asnumpy(), linen_module.apply(variables, X), rtol=1e-5, atol=1e-6)
    with pytest.raises(mx.MXNetError, match="initialized with inputs"):
        interop.from_flax(LinenHead())
    with pytest.raises(mx.MXNetError, match="got Dense"):
        interop.from_flax(nn.Dense(1))


def test_inside_of_a_gluon_net_and_files(tmp_path) -> None:
    def build() -> nn.HybridSequential:
        net = nn.HybridSequential()
        net.add(nn.Dense(3, activation="relu", in_units=3), nnx_block())
        return net

    net = build()
    net.initialize(mx.init.Xavier())
    net.hybridize()
    with autograd.record():
        out = net(nd.array(X))
    out.backward()
    assert np.abs(net[0].weight.grad().asnumpy()).max() > 0
    net.save_parameters(str(tmp_path / "net.params"))
    other = build()
    other.load_parameters(str(tmp_path / "net.params"))
    np.testing.assert_allclose(other(nd.array(X)).asnumpy(), net(nd.array(X)).asnumpy(), rtol=1e-5)


def gluon_net() -> nn.HybridSequential:
    net = nn.HybridSequential()
    net.add(nn.Dense(16, activation="tanh", in_units=3), nn.BatchNorm(in_channels=16), nn.Dropout(0.1))
    net.add(nn.Dense(1, in_units=16))
    net.initialize(mx.init.Xavier())
    return net


def test_a_block_as_a_module_trains_in_an_optax_loop() -> None:
    net = gluon_net()
    module = interop.to_flax(net, rngs=nnx.Rngs(0))
    module.eval()
    np.testing.assert_allclose(module(X), net(nd.array(X)).asnumpy(), rtol=1e-5, atol=1e-6)
    module.train()
    optimizer = nnx.Optimizer(module, optax.adam(0.05), wrt=nnx.Param)

    @nnx.jit
    def step(module, optimizer):
        loss, slopes = nnx.value_and_grad(lambda m: ((m(X) - Y) ** 2).mean())(module)
        optimizer.update(module, slopes)
        return loss

    losses = [float(step(module, optimizer)) for _ in range(60)]
    assert min(losses[-5:]) < 0.2 * losses[0]
    assert np.abs(getattr(module, "1").running_mean[...]).max() > 0
    unchanged = interop.to_flax(net)
    assert not np.allclose(getattr(unchanged, "0").weight[...], getattr(module, "0").weight[...])


def test_weights_have_their_structural_paths() -> None:
    state = nnx.state(interop.to_flax(gluon_net()), nnx.Param)
    paths = {".".join(map(str, path)) for path, _ in nnx.to_flat_state(state)}
    assert {"0.weight", "1.gamma", "3.bias"} <= paths
