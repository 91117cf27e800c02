"""``autograd.grad(create_graph=True)`` to the third order, against ``jax.grad``, for many operators."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from gluonjax import autograd, nd

RANDOM = np.random.default_rng(5)
WEIGHT = RANDOM.normal(size=(3, 4)).astype(np.float64)
KERNEL = RANDOM.normal(size=(2, 1, 2, 2)).astype(np.float64)
IMAGE = (1, 1, 4, 4)


def _w(values):
    return nd.array(values, dtype="float64")


def _convolution(x):
    return lax.conv(x, KERNEL, (1, 1), "VALID")


def _batch_norm(x):
    mean, variance = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-3)


def _nd_batch_norm(x):
    one, zero = nd.ones((1,), dtype="float64"), nd.zeros((1,), dtype="float64")
    return nd.BatchNorm(x, one, zero, zero.copy(), one.copy(), eps=1e-3, fix_gamma=False)


def _average(x):
    return lax.reduce_window(x, 0.0, lax.add, (1, 1, 2, 2), (1, 1, 2, 2), "VALID") / 4


def _maximum(x):
    return x.reshape(1, 1, 2, 2, 2, 2).max((3, 5))


def _nd_layer_norm(x):
    return nd.LayerNorm(x, nd.ones((4,), dtype="float64"), nd.zeros((4,), dtype="float64"), eps=1e-3)


def _layer_norm(x):
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-3)


# name: (on NDArrays, on JAX arrays, shape); inputs lie in (0.5, 1.5).
OPERATORS = {
    "exp": (nd.exp, jnp.exp, (3,)), "log": (nd.log, jnp.log, (3,)), "sin": (nd.sin, jnp.sin, (3,)),
    "tanh": (nd.tanh, jnp.tanh, (3,)), "sigmoid": (nd.sigmoid, jax.nn.sigmoid, (3,)),
    "power": (lambda x: x**3.5, lambda x: x**3.5, (3,)), "divide": (lambda x: 1 / x, lambda x: 1 / x, (3,)),
    "sqrt": (lambda x: nd.sqrt(x) + x, lambda x: jnp.sqrt(x) + x, (3,)),
    "softrelu": (lambda x: nd.Activation(x, act_type="softrelu"), jax.nn.softplus, (3,)),
    "dot": (lambda x: nd.dot(x, x * x), lambda x: x @ (x * x), (3, 3)),
    "FullyConnected": (lambda x: nd.FullyConnected(x, _w(WEIGHT), no_bias=True, num_hidden=3),
                       lambda x: x @ WEIGHT.T, (2, 4)),
    "Convolution": (lambda x: nd.Convolution(x, _w(KERNEL), no_bias=True, kernel=(2, 2), num_filter=2),
                    _convolution, IMAGE),
    "BatchNorm": (_nd_batch_norm, _batch_norm, (2, 1, 2, 2)),
    "LayerNorm": (_nd_layer_norm, _layer_norm, (2, 4)), "softmax": (nd.softmax, jax.nn.softmax, (2, 4)),
    "log_softmax": (nd.log_softmax, jax.nn.log_softmax, (2, 4)),
    "average pooling": (lambda x: nd.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="avg"), _average, IMAGE),
    "max pooling": (lambda x: nd.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max"), _maximum, IMAGE),
    "transpose": (lambda x: x.T * x, lambda x: x.T * x, (3, 3)),
    "slice": (lambda x: x[1:] * x[:-1], lambda x: x[1:] * x[:-1], (4,)),
    "take": (lambda x: x[[0, 2, 0]], lambda x: x[jnp.array([0, 2, 0])], (3,)),
    "mean": (lambda x: x.mean(axis=1), lambda x: x.mean(1), (2, 3)),
    "concat": (lambda x: nd.concat(x, x * x, dim=0), lambda x: jnp.concatenate([x, x * x]), (3,)),
    "norm": (lambda x: x.norm(), lambda x: jnp.sqrt((x * x).sum()), (3,)),
    "prod": (lambda x: x.prod(), lambda x: x.prod(), (3,)),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_three_orders(name):
    ours, theirs, shape = OPERATORS[name]
    value = np.random.default_rng(1).uniform(0.5, 1.5, shape)
    x = nd.array(value, dtype="float64")
    x.attach_grad()
    with autograd.record():
        first = autograd.grad((ours(x) ** 3).sum(), x, create_graph=True, retain_graph=True)[0]
        second = autograd.grad((first * first).sum(), x, create_graph=True, retain_graph=True)[0]
        total = (second * second).sum()
    total.backward()

    def f(v):
        return (theirs(v) ** 3).sum()

    def g(v):
        return (jax.grad(f)(v) ** 2).sum()

    with jax.enable_x64(True):
        h = jax.grad(lambda u: (jax.grad(g)(u) ** 2).sum())
        expected = jax.jit(lambda v: (jax.grad(f)(v), jax.grad(g)(v), h(v)))(jnp.asarray(value))
    for order, (array, gradient) in enumerate(zip((first, second, x.grad), map(np.asarray, expected)), 1):
        scale = np.abs(gradient).max() + 1e-12
        np.testing.assert_allclose(array.asnumpy() / scale, gradient / scale, atol=1e-8, err_msg=f"order {order}")


def test_the_fourth_derivative_of_a_polynomial():
    x = nd.array([2.0])
    x.attach_grad()
    with autograd.record():
        y = x**5
        for _ in range(3):
            (y,) = autograd.grad(y, x, create_graph=True, retain_graph=True)
    y.backward()
    assert x.grad.asnumpy().tolist() == [240.0]


def test_head_gradients_are_differentiated_too():
    x, h = nd.array([2.0]), nd.array([5.0])
    x.attach_grad()
    h.attach_grad()
    with autograd.record():
        y = x * x * x
        (slope,) = autograd.grad(y, x, head_grads=h, create_graph=True, retain_graph=True)
    slope.backward()
    assert h.grad.asnumpy().tolist() == [12.0] and x.grad.asnumpy().tolist() == [60.0]
