"""Writing rows: the quick way for numbers gives what the way through handles gives."""

from __future__ import annotations

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import autograd, nd

KEYS = [0, 2, -1, slice(1, 3), slice(None), slice(0, 4), slice(-2, None), slice(3, 1)]
NUMBERS = [0, 1, -3, 2.5, 1e-3, 1 << 24, (1 << 24) + 1, 300, 1e300, float("inf"), float("-inf"), float("nan"), True]
DTYPES = ["float32", "float64", "float16", "int32", "uint8", "int8", "int64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("key", KEYS, ids=str)
def test_a_number_is_cast_as_an_array_of_it(dtype, key):
    for number in NUMBERS:
        written, expected = (nd.arange(12, dtype=dtype).reshape((4, 3)) for _ in range(2))
        written[key] = number
        expected[key] = np.asarray(number)
        np.testing.assert_array_equal(written.asnumpy(), expected.asnumpy())
        assert written.dtype is expected.dtype


@pytest.mark.parametrize("number", [7, 7.5])
def test_views_write_through(number):
    base = nd.zeros((4, 3))
    middle = base[1:3]
    middle[1] = number
    middle[:1] = -number
    assert base.asnumpy().tolist() == [[0] * 3, [-number] * 3, [number] * 3, [0] * 3]
    assert middle.asnumpy().tolist() == [[-number] * 3, [number] * 3]
    middle[:] = 1
    assert base.asnumpy().sum() == 6


def test_arrays_before_keep_their_values():
    array = nd.ones((2, 2))
    copy, shown = array.copy(), array.asnumpy()
    same = array
    array[0] = 5
    array += 1
    assert same is array and array.asnumpy().tolist() == [[6, 6], [2, 2]]
    assert copy.asnumpy().tolist() == shown.tolist() == [[1, 1], [1, 1]]


def test_vectors_and_single_elements():
    vector = nd.arange(3)
    vector[1], vector[-1] = 5, nd.array([7])
    assert vector.asnumpy().tolist() == [0, 5, 7]
    one = nd.zeros((1,))
    one[0] = 4
    assert one.asnumpy().tolist() == [4]
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        vector[3] = 1
    with mx.util.np_shape():
        with pytest.raises(IndexError, match="too many indices"):
            nd.zeros(())[0] = 1
        empty = nd.zeros((2, 0))
        empty[0] = 1
        assert empty.shape == (2, 0)


def test_memory_of_numpy_is_written():
    outside = np.zeros((2, 2), "float32")
    array = nd.from_numpy(outside, zero_copy=True)
    array[1] = 3
    array += 1
    assert outside.tolist() == [[1, 1], [4, 4]]


def test_what_is_not_broadcast_is_refused():
    array = nd.zeros((2, 3))
    with pytest.raises(ValueError, match="could not be broadcast"):
        array[0] = nd.zeros((2,))


def test_a_recorded_write_is_on_the_tape():
    x = nd.array([[1.0, 2.0], [3.0, 4.0]])
    x.attach_grad()
    with autograd.record():
        y = x * x
        y[0] = 3
        y.sum().backward()
    assert x.grad.asnumpy().tolist() == [[0, 0], [6, 8]]


def test_compiled_results_are_written_too():
    array = nd.array(np.ones((2, 2)))
    net = mx.gluon.nn.HybridLambda("relu")
    net.hybridize()
    for _ in range(3):
        found = net(array)
        found[0] = 5
        found += array
        assert found.asnumpy().tolist() == [[6, 6], [2, 2]]
