"""JAX functions as operators."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gluonjax as mx
from gluonjax import autograd, gluon, interop, nd
from gluonjax.gluon import nn


@interop.wrap
def swish(x, beta=1.0):
    """x times the sigmoid of beta x."""
    return x * jax.nn.sigmoid(beta * x)


def test_values_and_gradients_of_any_order() -> None:
    x = nd.array([-1.0, 0.5, 2.0])
    x.attach_grad()
    with autograd.record():
        y = swish(x, beta=2.0)
        (slope,) = autograd.grad(y.sum(), x, create_graph=True, retain_graph=True)
        slope.sum().backward()

    def f(v):
        return (v * jax.nn.sigmoid(2 * v)).sum()

    np.testing.assert_allclose(y.asnumpy().sum(), f(x.jax), rtol=1e-5)
    np.testing.assert_allclose(slope.asnumpy(), jax.grad(f)(x.jax), rtol=1e-5)
    np.testing.assert_allclose(x.grad.asnumpy(), jax.grad(lambda v: jax.grad(f)(v).sum())(x.jax), rtol=1e-5)


def test_nested_arguments_and_results() -> None:
    @interop.wrap
    def both(pair, scale, *, mode):
        a, b = pair["a"], pair["b"]
        return {"sum": a + b * scale, "list": [jnp.max(a), mode == "max"]}

    found = both({"a": nd.array([1.0, 3.0]), "b": np.ones(2, np.float32)}, 2, mode="max")
    assert found["sum"].asnumpy().tolist() == [3.0, 5.0]
    assert found["list"][0].asscalar() == 3.0 and bool(found["list"][1].asscalar())
    assert both({"a": jnp.ones(2), "b": jnp.ones(2)}, 1, mode="min")["sum"].asnumpy().tolist() == [2.0, 2.0]
    with pytest.raises(mx.MXNetError, match="argument of type set"):
        both({"a": nd.ones(2), "b": nd.ones(2)}, 2, mode={1})


def test_the_users_precision_is_kept() -> None:
    made = interop.wrap(lambda x: x + jnp.zeros(3) + jnp.arange(3))(nd.ones(3))
    assert made.dtype == np.float32
    double = interop.wrap(lambda x: x * jnp.pi)(nd.ones(3, dtype="float64"))
    assert double.dtype == np.float64 and double.asnumpy()[0] == np.pi


def test_custom_rules_are_respected() -> None:
    @jax.custom_vjp
    def straight_through(x):
        return jnp.round(x)

    straight_through.defvjp(lambda x: (jnp.round(x), None), lambda _, head: (head * 10,))
    x = nd.array([0.4, 1.6])
    x.attach_grad()
    with autograd.record():
        y = interop.wrap(straight_through)(x)
    y.backward()
    assert y.asnumpy().tolist() == [0.0, 2.0] and x.grad.asnumpy().tolist() == [10.0, 10.0]


class WithSwish(gluon.HybridBlock):
    def __init__(self) -> None:
        super().__init__()
        with self.name_scope():
            self.dense = nn.Dense(4, in_units=3)
            self.scale = self.params.get("scale", shape=(4,), init="ones")

    def hybrid_forward(self, F, x, scale):
        return swish(self.dense(x), beta=1.5) * 2 + interop.wrap(lambda a, s: jnp.outer(a[:, 0], s))(x, scale)


def test_inside_of_hybridized_blocks() -> None:
    net = WithSwish()
    net.initialize(mx.init.Xavier())
    x = nd.array(np.linspace(-1, 1, 6).reshape(2, 3))
    gradients = []
    for hybrid in (False, True):
        net.hybridize(hybrid)
        with autograd.record():
            y = net(x)
        y.backward()
        gradients.append((y.asnumpy(), net.scale.grad().asnumpy(), net.dense.weight.grad().asnumpy()))
    for plain, compiled in zip(*gradients):
        np.testing.assert_allclose(plain, compiled, rtol=1e-5)
    assert net(nd.ones((5, 3))).shape == (5, 4), "another shape is traced anew"
    with pytest.raises(mx.MXNetError, match="calls the Python function"):
        net.export("never_written")


def test_keys_are_fresh_and_seeded() -> None:
    noise = interop.wrap(lambda x, rng: x + jax.random.normal(rng, x.shape), key="rng")
    mx.random.seed(1)
    first, second = noise(nd.zeros(4)).asnumpy(), noise(nd.zeros(4)).asnumpy()
    mx.random.seed(1)
    np.testing.assert_array_equal(noise(nd.zeros(4)).asnumpy(), first)
    assert not np.allclose(first, second)


def test_shapes_must_be_known() -> None:
    net = nn.HybridSequential()
    net.add(nn.HybridLambda(lambda F, x: swish(x)), nn.Dense(2))
    net.initialize()
    net.hybridize()
    assert net(nd.ones((2, 3))).shape == (2, 2)
    with pytest.raises(mx.MXNetError, match="shapes of its inputs are not known"):
        swish(mx.sym.var("x"))


def test_blocks_are_not_wrapped() -> None:
    with pytest.raises(mx.MXNetError, match="functional"):
        interop.wrap(nn.Dense(1))
