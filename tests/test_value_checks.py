"""Errors that depend on values: indices outside, ranges of parameters, matrices without a result."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import gluonjax as mx
from gluonjax import nd
from gluonjax.ndarray.ndarray import wrap


def data():
    return nd.array(np.arange(6).reshape(2, 3))


@pytest.mark.parametrize(
    "call, words",
    [
        (
            lambda: nd.take(data(), nd.array([5]), mode="raise"),
            "take operator contains indices out of bound, got 5",
        ),
        (lambda: nd.take(data(), nd.array([-1]), mode="raise"), "out of bound, got -1"),
        (
            lambda: nd.gather_nd(data(), nd.array([[5], [0]])),
            "index 5 is out of bounds for axis 0 with size 2",
        ),
        (
            lambda: nd.gather_nd(data(), nd.array([[0], [-4]])),
            "index -4 is out of bounds for axis 1 with size 3",
        ),
        (
            lambda: nd.scatter_nd(nd.array([1]), nd.array([[5], [0]]), shape=(2, 3)),
            "index 5 is out of bounds",
        ),
    ],
)
def test_indices_outside(call, words):
    with pytest.raises(mx.MXNetError, match=words) as caught:
        call()
    assert isinstance(caught.value, IndexError)


def test_indices_inside_and_clipped_ones_pass():
    assert nd.take(data(), nd.array([1]), mode="raise").asnumpy().tolist() == [[3, 4, 5]]
    assert nd.take(data(), nd.array([9])).asnumpy().tolist() == [[3, 4, 5]]
    assert nd.gather_nd(data(), nd.array([[-1], [0]])).asnumpy().tolist() == [3]


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: nd.random.uniform(2, 1), "low must be less or equal to high"),
        (lambda: nd.random.normal(0, -1), "scale parameter in gaussian has to be positive"),
        (lambda: nd.linalg.potrf(nd.array([[1, 2], [2, 1]])), "not symmetric or not positive definite"),
        (lambda: nd.linalg.inverse(nd.array([[1, 2], [2, 4]])), "non-convertible"),
        (lambda: nd.linalg.potri(nd.zeros((2, 2))), "not a Cholesky factorization"),
    ],
)
def test_values_without_result(call, words):
    with pytest.raises(mx.MXNetError, match=words):
        call().wait_to_read()


def test_numbers_that_are_not_finite_are_no_error():
    assert np.isnan(nd.linalg.potrf(nd.array([[np.nan, 1], [1, 2]])).asnumpy()).any()


def test_nothing_is_checked_under_a_trace():
    @jax.jit
    def function(value, index):
        return nd.take(wrap(value, mx.cpu()), wrap(index, mx.cpu()), mode="raise")._value

    assert function(np.arange(3.0, dtype=np.float32), np.array([7])).tolist() == [2]


class TakeStrictly(mx.gluon.HybridBlock):
    """Elements at positions that must exist."""

    def hybrid_forward(self, F, x, index):
        return F.take(x * 2, index, mode="raise") + 1


@pytest.mark.parametrize("record", [False, True])
def test_a_compiled_block_raises_for_indices_outside_where_its_result_is_read(record):
    net = TakeStrictly()
    net.hybridize()
    x = nd.arange(4)
    x.attach_grad()
    for bad in (nd.array([0, 4]), nd.array([-1, 2]), nd.array([np.nan, 0])):
        with mx.autograd.record() if record else mx.autograd.pause():
            good, wrong = net(x, nd.array([3, 0])), net(x, bad)
        assert good.asnumpy().tolist() == [7, 1]
        with pytest.raises(mx.MXNetError, match="indices out of bound"):
            wrong.asnumpy()
    if record:
        with mx.autograd.record():
            good = net(x, nd.array([3, 3]))
        good.backward()
        assert x.grad.asnumpy().tolist() == [0, 0, 0, 4]


@pytest.mark.parametrize("train", [False, True])
def test_an_executor_raises_for_indices_outside_where_its_outputs_are_read(train):
    net = mx.sym.take(mx.sym.var("x"), mx.sym.BlockGrad(mx.sym.var("index")), mode="raise", axis=-1)
    executor = net.simple_bind(mx.cpu(), x=(2, 3), index=(2,))
    executor.arg_dict["x"][:] = np.arange(6).reshape(2, 3)
    for index, right in (([2, 0], True), ([3, 0], False), ([1, 1], True)):
        executor.forward(is_train=train, index=nd.array(index))
        if right:
            assert executor.outputs[0].asnumpy().tolist() == np.arange(6).reshape(2, 3)[:, index].tolist()
            if train:
                executor.backward(nd.ones((2, 2)))
                assert executor.grad_dict["x"].asnumpy()[0].tolist() == np.bincount(index, minlength=3).tolist()
            continue
        with pytest.raises(mx.MXNetError, match="indices out of bound"):
            executor.outputs[0].asnumpy()
