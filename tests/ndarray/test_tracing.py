"""NDArray code inside of ``jax.jit`` and ``jax.grad``: handles may hold tracers."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gluonjax as mx
from gluonjax import autograd, nd
from gluonjax.ndarray.ndarray import wrap


def test_arithmetic_indexing_and_writes():
    @jax.jit
    def f(x):
        a = wrap(x)
        b = nd.tanh(a * 2 + 1)
        b[0] = 5
        b[1:] += a[:-1]
        c = nd.zeros((3, 4))
        c[1] = b[0:1].reshape((1,))
        c[:, 2] = b[0:3]
        return (nd.dot(c, nd.ones((4, 2))) + b.sum()).jax

    def pure(x):
        b = jnp.tanh(x * 2 + 1).at[0].set(5.0)
        b = b.at[1:].add(x[:-1])
        c = jnp.zeros((3, 4)).at[1].set(b[0]).at[:, 2].set(b[0:3])
        return c @ jnp.ones((4, 2)) + b.sum()

    x = jnp.arange(4.0)
    np.testing.assert_allclose(f(x), pure(x), rtol=1e-5)
    assert f(x).dtype == jnp.float32


def test_an_array_made_from_a_tracer():
    @jax.jit
    def f(x):
        return (nd.array(x) * 2).jax

    assert f(jnp.ones(3)).tolist() == [2, 2, 2]


def test_jax_grad_through_array_code():
    def f(x):
        a = wrap(x)
        return (nd.softmax(a) * nd.exp(a)).sum().jax[0]

    def pure(x):
        return (jax.nn.softmax(x) * jnp.exp(x)).sum()

    x = jnp.array([0.1, 0.5, -0.3])
    np.testing.assert_allclose(jax.grad(f)(x), jax.grad(pure)(x), rtol=1e-5)
    np.testing.assert_allclose(jax.jit(jax.grad(f))(x), jax.grad(pure)(x), rtol=1e-5)
    np.testing.assert_allclose(jax.vmap(f)(jnp.stack([x, x * 2])), jax.vmap(pure)(jnp.stack([x, x * 2])), rtol=1e-5)


def test_record_and_backward_inside_of_jit():
    @jax.jit
    def f(x, w):
        a, b = wrap(x), wrap(w)
        b.attach_grad()
        with autograd.record():
            y = nd.FullyConnected(a, b, no_bias=True, num_hidden=3)
            y[:, 0] *= 2
            loss = (y * y).mean()
        loss.backward()
        return loss.jax, b.grad.jax

    def pure(w, x):
        y = x @ w.T
        y = y.at[:, 0].multiply(2)
        return (y * y).mean()

    x, w = jnp.linspace(-1, 1, 8).reshape(2, 4), jnp.linspace(0, 1, 12).reshape(3, 4)
    loss, gradient = f(x, w)
    expected, slope = jax.value_and_grad(pure)(w, x)
    np.testing.assert_allclose(loss.reshape(()), expected, rtol=1e-5)
    np.testing.assert_allclose(gradient, slope, rtol=1e-5)


def test_second_order_inside_of_jit():
    @jax.jit
    def f(x):
        a = wrap(x)
        a.attach_grad()
        with autograd.record():
            (slope,) = autograd.grad((a**3).sum(), a, create_graph=True, retain_graph=True)
        slope.backward()
        return a.grad.jax

    np.testing.assert_allclose(f(jnp.array([1.0, 2.0])), [6.0, 12.0], rtol=1e-6)


def test_reading_a_value_says_what_to_do():
    readers = (lambda a: a.asnumpy(), lambda a: a.asscalar(), lambda a: bool(a), lambda a: float(a), lambda a: a.item())
    for reader in readers:

        @jax.jit
        def f(x, reader=reader):
            reader(wrap(x))
            return x

        with pytest.raises(mx.MXNetError, match="being traced"):
            f(jnp.ones((1,)))


def test_printing_and_waiting_do_not_fail():
    @jax.jit
    def f(x):
        a = wrap(x)
        assert "NDArray 2 @cpu(0)" in repr(a) and a.shape == (2,) and a.dtype == np.float32
        a.wait_to_read()
        nd.waitall()
        return a.jax

    assert f(jnp.ones(2)).tolist() == [1, 1]


def test_constants_from_outside_and_scalars():
    weight = nd.array([1.0, 2.0])

    @jax.jit
    def f(x, s):
        return (wrap(x) * weight + wrap(s)).jax

    assert f(jnp.ones(2), jnp.ones((1,))).tolist() == [2, 3]
    assert weight.asnumpy().tolist() == [1, 2]


def test_a_block_inside_of_jit():
    net = mx.gluon.nn.Dense(3, in_units=2)
    net.initialize()

    @jax.jit
    def f(x):
        return net(wrap(x)).jax

    x = np.ones((4, 2), np.float32)
    np.testing.assert_allclose(f(x), net(nd.array(x)).asnumpy(), rtol=1e-5)


def test_indices_that_are_traced():
    @jax.jit
    def f(x, i):
        return wrap(x)[wrap(i)].jax

    assert f(jnp.arange(4.0), jnp.array([3, -1, 0])).tolist() == [3, 3, 0]
