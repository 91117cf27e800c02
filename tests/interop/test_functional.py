"""Blocks as pure functions, arrays of the other kind, blocks inside of the user's own JAX code."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

import gluonjax as mx
from gluonjax import autograd, gluon, interop
from gluonjax.gluon import nn


def small_net(dropout: float = 0.0) -> nn.HybridSequential:
    net = nn.HybridSequential()
    net.add(nn.Dense(4, activation="tanh", in_units=3), nn.BatchNorm(in_channels=4))
    if dropout:
        net.add(nn.Dropout(dropout))
    net.add(nn.Dense(2, in_units=4))
    net.initialize(mx.init.Xavier())
    return net


X = np.linspace(-1, 1, 15, dtype=np.float32).reshape(5, 3)


@pytest.mark.parametrize("hybrid", [False, True])
def test_names_values_and_new_states(hybrid: bool) -> None:
    net = small_net()
    if hybrid:
        net.hybridize()
    apply, params, aux = interop.functional(net)
    assert set(params) == {"0.weight", "0.bias", "1.gamma", "1.beta", "2.weight", "2.bias"}
    assert set(aux) == {"1.running_mean", "1.running_var"}
    before = net[1].running_mean.data().asnumpy()
    out, same = apply(params, aux, X)
    np.testing.assert_allclose(out, net(mx.nd.array(X)).asnumpy(), rtol=1e-5)
    np.testing.assert_array_equal(same["1.running_mean"], aux["1.running_mean"])
    _, new = apply(params, aux, X, train=True)
    np.testing.assert_array_equal(net[1].running_mean.data().asnumpy(), before, "the block stays as it was")
    with autograd.train_mode():
        net(mx.nd.array(X))
    np.testing.assert_allclose(new["1.running_mean"], net[1].running_mean.data().asnumpy(), rtol=1e-5)


@pytest.mark.parametrize("hybrid", [False, True])
def test_jit_grad_and_vmap_agree_with_the_tape(hybrid: bool) -> None:
    net = small_net()
    if hybrid:
        net.hybridize()
    apply, params, aux = interop.functional(net)

    @jax.jit
    def loss(params, aux, x):
        out, new = apply(params, aux, x, train=True)
        return (out**2).sum(), new

    slopes, new = jax.grad(loss, has_aux=True)(params, aux, jnp.asarray(X))
    with autograd.record():
        value = (net(mx.nd.array(X)) ** 2).sum()
    value.backward()
    for name, parameter in net._collect_params_with_prefix().items():
        if name in slopes:
            np.testing.assert_allclose(slopes[name], parameter.grad().asnumpy(), rtol=1e-4, atol=1e-5, err_msg=name)
        else:
            np.testing.assert_allclose(new[name], parameter.data().asnumpy(), rtol=1e-5, err_msg=name)
    rows = jax.vmap(lambda x: apply(params, aux, x[None])[0][0])(jnp.asarray(X))
    np.testing.assert_allclose(rows, apply(params, aux, X)[0], rtol=1e-4, atol=1e-6)


def test_shard_map() -> None:
    net = small_net()
    apply, params, aux = interop.functional(net)
    mesh = Mesh(np.array(jax.devices("cpu")[:1]), ("batch",))
    run = jax.shard_map(
        lambda p, a, x: apply(p, a, x)[0], mesh=mesh, in_specs=(P(), P(), P("batch")), out_specs=P("batch")
    )
    np.testing.assert_allclose(jax.jit(run)(params, aux, X), apply(params, aux, X)[0], rtol=1e-5)


def test_keys_decide_what_is_drawn() -> None:
    net = small_net(dropout=0.5)
    apply, params, aux = interop.functional(net)
    run = jax.jit(lambda key: apply(params, aux, X, train=True, key=key)[0])
    first, again, other = run(jax.random.key(1)), run(jax.random.key(1)), run(jax.random.key(2))
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)
    with pytest.raises(mx.MXNetError, match=r"key=jax\.random\.key"):
        jax.jit(lambda x: apply(params, aux, x, train=True)[0])(X)
    assert jax.jit(lambda x: apply(params, aux, x)[0])(X).shape == (5, 2)


def test_optax_loop_and_deferred_shapes() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(8, activation="relu"), nn.Dense(1))
    net.initialize(mx.init.Xavier())
    apply, params, aux = interop.functional(net, X)
    y = X[:, :1] * 2 - X[:, 1:2]
    rule = optax.adam(0.05)

    @jax.jit
    def step(params, state):
        loss, slopes = jax.value_and_grad(lambda p: ((apply(p, aux, X)[0] - y) ** 2).mean())(params)
        updates, state = rule.update(slopes, state)
        return optax.apply_updates(params, updates), state, loss

    state = rule.init(params)
    losses = []
    for _ in range(60):
        params, state, loss = step(params, state)
        losses.append(float(loss))
    assert losses[-1] < 0.05 * losses[0]


def test_wrong_names_and_shapes() -> None:
    apply, params, aux = interop.functional(nn_dense())
    with pytest.raises(mx.MXNetError, match="no parameter 'wieght'"):
        apply({"wieght": params["weight"]}, aux, X)
    with pytest.raises(mx.MXNetError, match=r"weight has shape \(3, 2\)"):
        apply({"weight": params["weight"].T}, aux, X)


def nn_dense() -> nn.Dense:
    net = nn.Dense(2, in_units=3)
    net.initialize()
    return net


def test_views_share_memory() -> None:
    array = jnp.arange(4.0)
    view = interop.mx_view({"a": [array]})["a"][0]
    assert isinstance(view, mx.nd.NDArray) and view.jax is array
    view[0] = 9
    assert array[0] == 0 and view.asnumpy()[0] == 9
    there = mx.nd.array([1.0, 2.0]) + 0
    assert interop.jax_view((there, 3))[1] == 3
    assert interop.jax_view(there) is interop.jax_view(there)
    point = interop.jax_view(there).unsafe_buffer_pointer()
    assert interop.jax_view(interop.mx_view(interop.jax_view(there))).unsafe_buffer_pointer() == point


def test_blocks_in_the_users_own_jit() -> None:
    class Twice(gluon.Block):
        def __init__(self) -> None:
            super().__init__()
            self.dense = nn_dense()

        def forward(self, x):
            return mx.nd.relu(self.dense(x)), {"x": x * 2}

    net = Twice()
    got, more = jax.jit(net)(X)
    np.testing.assert_allclose(got, net(mx.nd.array(X))[0].asnumpy(), rtol=1e-5)
    assert isinstance(got, jax.Array) and more["x"].shape == (5, 3)
    slope = jax.grad(lambda x: net(x)[0].sum())(jnp.asarray(X))
    assert slope.shape == X.shape
    lstm = gluon.rnn.LSTM(4, input_size=3)
    lstm.initialize()
    assert jax.jit(lambda x: lstm(x))(X[:, None]).shape == (5, 1, 4)
    joined = gluon.nn.HybridLambda(lambda F, pair: pair[0] + pair[1][0])
    assert jax.jit(lambda x: joined([x, (x * 2,)]))(X).tolist() == (X * 3).tolist()
    bare = jax.jit(lambda x: net.dense(interop.mx_view(x)).jax)
    np.testing.assert_allclose(bare(X), net.dense(mx.nd.array(X)).asnumpy(), rtol=1e-5)


@pytest.mark.parametrize("hybrid", [False, True])
def test_states_do_not_leak_out_of_a_trace(hybrid: bool) -> None:
    net = small_net()
    if hybrid:
        net.hybridize()
    net(mx.nd.array(X))
    before = net[1].running_mean.data().asnumpy()

    def forward(x):
        with autograd.train_mode():
            return net(x)

    with pytest.warns(UserWarning, match=r"interop\.functional"):
        jax.jit(forward)(X)
    np.testing.assert_array_equal(net[1].running_mean.data().asnumpy(), before)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jax.jit(net)(X)


OVER_TWO_DEVICES = """
import jax, numpy as np, gluonjax as mx
from gluonjax import interop
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
net = mx.gluon.contrib.nn.SyncBatchNorm(num_devices=2, in_channels=1)
net.initialize()
apply, params, aux = interop.functional(net)
mesh = Mesh(np.array(jax.devices("cpu")[:2]), ("batch",))
place = lambda value, spec: jax.device_put(value, NamedSharding(mesh, spec))
x = place(np.array([[1.0], [1.0], [0.0], [0.0]], np.float32), P("batch"))
out, new = jax.jit(lambda p, a, x: apply(p, a, x, train=True))(place(params, P()), place(aux, P()), x)
assert len(out.sharding.device_set) == 2
print(np.asarray(out).ravel().round(3).tolist(), float(new["running_mean"][0]))
"""


def test_batches_over_devices_are_normalized_as_a_whole() -> None:
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", OVER_TWO_DEVICES], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["[1.0,", "1.0,", "-1.0,", "-1.0]", "0.05000000074505806"]
