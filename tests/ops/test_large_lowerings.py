"""Operators that go another way for large arrays agree with NumPy."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import gluonjax as mx


@pytest.mark.parametrize("count", [1, 7, 100])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_histogram(count, dtype):
    size = 3 + (1 << 20) // count
    values = np.random.RandomState(0).uniform(-12, 14, size).astype(dtype)
    values[:4] = [-10, 10, 0, 9]
    found, edges = mx.nd._internal._histogram(mx.nd.array(values, dtype=dtype), bin_cnt=count, range=(-10, 10))
    grid = (np.arange(count + 1) * (20 / count) - 10).astype(dtype)
    np.testing.assert_array_equal(edges.asnumpy(), grid)
    inside = values[(values >= grid[0]) & (values <= grid[-1])]
    place = np.minimum(np.searchsorted(grid, inside, side="right") - 1, count - 1)
    assert found.asnumpy().tolist() == np.bincount(place, minlength=count).tolist()


@pytest.mark.parametrize("kernel", [(5, 5), (13, 13), (7, 3), (6, 1)])
@pytest.mark.parametrize("kind", ["max", "avg", "sum", "lp"])
@pytest.mark.parametrize("stride", [1, 2, "kernel"])
def test_large_windows(kernel, kind, stride):
    """Windows summed or compared axis by axis; equal maxima: the first row by row gets the gradient."""
    rng = np.random.RandomState(1)
    data = rng.randint(0, 6, (2, 3, 20, 19)).astype(np.float64)
    steps = kernel if stride == "kernel" else (stride, stride)
    pad = (kernel[0] // 3, kernel[1] // 3)
    x = mx.nd.array(data, dtype="float64")
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Pooling(x, kernel=kernel, stride=steps, pad=pad, pool_type=kind, p_value=2)
    head = rng.uniform(1, 2, y.shape)
    y.backward(mx.nd.array(head, dtype="float64"))
    result, gradient = np.zeros(y.shape), np.zeros(data.shape)
    for at in np.ndindex(*y.shape):
        top, left = (at[2 + i] * steps[i] - pad[i] for i in (0, 1))
        rows, columns = (slice(max(a, 0), a + k) for a, k in ((top, kernel[0]), (left, kernel[1])))
        window, into = data[at[0], at[1], rows, columns], gradient[at[0], at[1], rows, columns]
        if kind == "max":
            result[at] = window.max()
            place = np.unravel_index(window.argmax(), window.shape)
            into[place] += head[at]
        elif kind == "lp":
            result[at] = np.sqrt((window**2).sum())
            into += head[at] * window / result[at]
        else:
            share = 1 / (kernel[0] * kernel[1]) if kind == "avg" else 1
            result[at] = window.sum() * share
            into += head[at] * share
    if kind == "avg":  # what lies beyond the padding does not count
        ends = [
            [min(i * s - p + k, n + p) - (i * s - p) for i in range(count)]
            for s, p, k, n, count in zip(steps, pad, kernel, data.shape[2:], y.shape[2:])
        ]
        assert (np.multiply.outer(*map(np.array, ends)) == kernel[0] * kernel[1]).all()
    np.testing.assert_allclose(y.asnumpy(), result, rtol=1e-12)
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.asnumpy(), gradient, rtol=1e-12, atol=1e-12)


def test_global_maximum_goes_to_the_first():
    data = np.random.RandomState(2).randint(0, 3, (3, 2, 4, 5, 3)).astype(np.float32)
    x = mx.nd.array(data)
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Pooling(x, global_pool=True, pool_type="max")
    y.backward()
    flat = data.reshape(3, 2, -1)
    wanted = np.zeros_like(flat)
    np.put_along_axis(wanted, flat.argmax(-1)[..., None], 1, -1)
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.asnumpy().reshape(flat.shape), wanted)
    np.testing.assert_array_equal(y.asnumpy().reshape(3, 2), flat.max(-1))


def test_triangular_systems_do_not_hang():
    """Sixteen at a time, with gradients: OpenBLAS's own threads got in each other's way."""
    rng = np.random.RandomState(3)
    left = mx.nd.array(np.tril(rng.uniform(0.1, 1, (16, 128, 128))) + 8 * np.eye(128))
    right = mx.nd.array(rng.normal(size=(16, 128, 128)))
    left.attach_grad()
    right.attach_grad()
    for _ in range(5):
        with mx.autograd.record():
            solved = mx.nd.linalg.trsm(left, right)
        solved.backward()
    np.testing.assert_allclose(
        np.matmul(left.asnumpy(), solved.asnumpy()), right.asnumpy(), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize("shape", [(5000,), (3, 2000), (70, 65)])
@pytest.mark.parametrize("upwards", [False, True])
def test_sorting_keeps_ties_in_order(shape, upwards):
    values = np.random.RandomState(4).randint(-40, 40, shape).astype(np.float32) / 4
    values[..., 0] = -0.0
    found = mx.nd.argsort(mx.nd.array(values), is_ascend=upwards, dtype="int32").asnumpy()
    wanted = np.argsort(values if upwards else -values, axis=-1, kind="stable")
    np.testing.assert_array_equal(found, wanted)
    ordered = mx.nd.sort(mx.nd.array(values), is_ascend=upwards).asnumpy()
    np.testing.assert_array_equal(ordered, np.take_along_axis(values, wanted, -1))


def test_large_content_is_read_in_place():
    """JAX takes aligned NumPy memory without a copy."""
    for value in (np.ones((300, 301), np.float32), np.ones((300, 301), np.float64)[:, ::2], np.arange(50000)):
        array = mx.nd.array(value, dtype=value.dtype)
        assert array._value.ctypes.data % 64 == 0 if isinstance(array._value, np.ndarray) else True
        np.testing.assert_array_equal(array.asnumpy(), value)
    with jax.enable_x64(True):
        content = mx.nd.array(np.ones((300, 300), np.float32))._value
        assert jax.device_put(content).unsafe_buffer_pointer() == content.ctypes.data


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
@pytest.mark.parametrize("axis", [0, 1])
def test_kept_slices_and_their_gradient(dtype, axis):
    """Forward and backward in NumPy, and in JAX where the gradient is recorded itself."""
    x = mx.nd.array(np.arange(1, 13).reshape(3, 4), dtype=dtype)
    x.attach_grad()
    mask = mx.nd.array([1, 0, 1] if axis == 0 else [0, 1, 1, 0])
    kept = np.flatnonzero(mask.asnumpy())
    for _ in range(2):
        with mx.autograd.record():
            y = mx.nd.contrib.boolean_mask(x, mask, axis=axis)
            z = y * 3
        z.backward()
        np.testing.assert_array_equal(y.asnumpy(), x.asnumpy().take(kept, axis))
        wanted = np.zeros((3, 4), dtype)
        wanted[(slice(None),) * axis + (kept,)] = 3
        assert x.grad.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(x.grad.asnumpy(), wanted)
    if dtype == "float64":
        with mx.autograd.record():
            y = mx.nd.contrib.boolean_mask(x, mask, axis=axis)
            (slope,) = mx.autograd.grad((y**3).sum(), [x], create_graph=True)
            total = slope.sum()
        total.backward()
        np.testing.assert_allclose(x.grad.asnumpy(), wanted * 2 * x.asnumpy())
