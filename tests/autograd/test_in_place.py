"""Writes under record: the gradient is that of the pure function that does the same."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from gluonjax import autograd, nd


def compare(imperative, pure, *shapes, scale=1.0):
    """Gradients of ``imperative`` (handles, in place) against ``jax.grad`` of ``pure``."""
    random = np.random.default_rng(3)
    inputs = [scale * random.normal(size=shape).astype(np.float32) for shape in shapes]
    arrays = [nd.array(x) for x in inputs]
    for array in arrays:
        array.attach_grad()
    with autograd.record():
        loss = imperative(*arrays)
    loss.backward()
    expected, gradients = jax.value_and_grad(pure, argnums=tuple(range(len(shapes))))(*inputs)
    np.testing.assert_allclose(loss.asnumpy().reshape(()), expected, rtol=1e-4, atol=1e-5)
    for array, gradient in zip(arrays, gradients):
        np.testing.assert_allclose(array.grad.asnumpy(), gradient, rtol=1e-4, atol=1e-5)


def add_to_result(x):
    y = x * x
    y += x
    y *= 3
    y -= 1
    y /= 2
    return (y * y).sum()


def slice_assign(x):
    y = x * 2
    y[1:3] = 5
    y[0] = x[3] * x[2]
    return (y * y).sum()


def slice_assign_pure(x):
    y = (x * 2).at[1:3].set(5.0).at[0].set(x[3] * x[2])
    return (y * y).sum()


def buffer_of_results(x):
    buffer = nd.zeros((3, 4))
    for i in range(3):
        buffer[i] = x * (i + 1)
    buffer[:, 1] = x[0:3] * x[1:4]
    return (buffer * buffer).sum()


def buffer_of_results_pure(x):
    buffer = jnp.stack([x * (i + 1) for i in range(3)]).at[:, 1].set(x[0:3] * x[1:4])
    return (buffer * buffer).sum()


def write_whole(x):
    y = x * x
    z = y * 2
    y[:] = x * 3
    return (y * z).sum()


def index_assign(x):
    y = x * x
    y[[0, 2]] = x[1:3] * 5
    y[nd.array([3], dtype="int32")] *= 2
    return (y * y).sum()


def index_assign_pure(x):
    y = (x * x).at[jnp.array([0, 2])].set(x[1:3] * 5)
    y = y.at[jnp.array([3])].multiply(2)
    return (y * y).sum()


def views_of_views(x):
    y = x * x
    part = y.reshape((2, 2))[1]
    part *= x[0:2]
    part[0:1] += 10 * x[3]
    y[0:2] = part * 2
    part[:] = part * y[0:2]
    return (y * x).sum()


def views_of_views_pure(x):
    y = x * x
    part = y[2:4] * x[0:2]
    part = part.at[0:1].add(10 * x[3])
    y = jnp.concatenate([part * 2, part])
    y = y.at[2:4].set(y[2:4] * y[0:2])
    return (y * x).sum()


def out_argument(x):
    y = x * 1
    nd.square(x, out=y)
    nd.broadcast_add(y, x, out=y)
    z = nd.zeros((2, 4))
    nd.exp(y * 0.1, out=z[1])
    return (y * y).sum() + z.sum()


def copyto(x):
    buffer = nd.zeros((2, 4))
    (x * x).copyto(buffer[1])
    (x * 3).copyto(buffer[0])
    return (buffer[0] * buffer[1]).sum()


def step_slices(x):
    y = x * x
    y[::2] = x[::-1][::2] * 4
    y[::-1] = y.copy() * x
    return (y * y).sum()


def step_slices_pure(x):
    y = (x * x).at[::2].set(x[::-1][::2] * 4)
    y = y.at[::-1].set(y * x)
    return (y * y).sum()


def broadcast_assign(x):
    y = nd.ones((3, 4)) * x
    y[:] = x * x
    y[1:3, 0:2] = x[2:4]
    return (y * y).sum()


def broadcast_assign_pure(x):
    y = jnp.broadcast_to(x * x, (3, 4)).at[1:3, 0:2].set(x[2:4])
    return (y * y).sum()


def overwritten(x):
    y = x * x
    y[:] = 3
    return (y * x).sum()


def loop(x):
    state = x * 1
    for i in range(4):
        state[i % 4] = state[(i + 1) % 4] * state[i % 4]
        state += 0.1 * x
    return state.sum()


def loop_pure(x):
    state = x * 1
    for i in range(4):
        state = state.at[i % 4].set(state[(i + 1) % 4] * state[i % 4])
        state = state + 0.1 * x
    return state.sum()


def read_before_write(x):
    y = x * x
    before = y[1:3] * 1
    view = y[1:3]
    y[1] = 7
    return (before * x[0:2]).sum() + (view * x[2:4]).sum()


def read_before_write_pure(x):
    y = x * x
    before = y[1:3]
    y = y.at[1].set(7.0)
    return (before * x[0:2]).sum() + (y[1:3] * x[2:4]).sum()


PAIRS = {
    "arithmetic": (add_to_result, lambda x: ((((x * x + x) * 3 - 1) / 2) ** 2).sum()),
    "slice assign": (slice_assign, slice_assign_pure), "buffer": (buffer_of_results, buffer_of_results_pure),
    "whole": (write_whole, lambda x: (3 * x * 2 * x * x).sum()),
    "index assign": (index_assign, index_assign_pure),
    "views of views": (views_of_views, views_of_views_pure),
    "out": (out_argument, lambda x: ((x * x + x) ** 2).sum() + jnp.exp(0.1 * (x * x + x)).sum()),
    "copyto": (copyto, lambda x: (x * x * 3 * x).sum()), "steps": (step_slices, step_slices_pure),
    "broadcast": (broadcast_assign, broadcast_assign_pure), "overwritten": (overwritten, lambda x: 3 * x.sum()),
    "loop": (loop, loop_pure), "read before write": (read_before_write, read_before_write_pure),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_one_input(name):
    compare(*PAIRS[name], (4,))


def test_two_inputs_into_one_buffer():
    def imperative(x, y):
        buffer = nd.zeros((4, 3))
        buffer[0:2] = x
        buffer[2:4] = y * x
        buffer[1:3] *= buffer[0:2]
        return (buffer * buffer).sum()

    def pure(x, y):
        buffer = jnp.concatenate([x, y * x])
        buffer = buffer.at[1:3].multiply(buffer[0:2])
        return (buffer * buffer).sum()

    compare(imperative, pure, (2, 3), (2, 3))


def test_writing_into_a_variable_under_record():
    """The variable's gradient is that of the value it had when recording began."""
    x = nd.array([1.0, 2.0])
    x.attach_grad()
    with autograd.record():
        y = x * x
        x += 1
        z = (y * x).sum()
    z.backward()
    # z = x^2 (x + 1) with x the value before
    np.testing.assert_allclose(x.grad.asnumpy(), 3 * np.array([1.0, 4.0]) + 2 * np.array([1.0, 2.0]))
    assert x.asnumpy().tolist() == [2.0, 3.0]


def test_a_variable_updated_between_steps():
    x = nd.array([4.0])
    x.attach_grad()
    for _ in range(5):
        with autograd.record():
            loss = x * x
        loss.backward()
        x -= 0.25 * x.grad
    assert x.asnumpy().tolist() == [0.125]
    assert x.grad.asnumpy().tolist() == [0.5]


def test_a_view_of_a_variable_takes_part():
    w = nd.array([[1.0, 2.0], [3.0, 4.0]])
    w.attach_grad()
    with autograd.record():
        y = w[0] * w.reshape((4,))[2:4] + w[:, 1]
    y.backward()
    assert w.grad.asnumpy().tolist() == [[3.0, 5.0], [1.0, 3.0]]


def test_a_view_made_before_record_takes_part():
    w = nd.array([1.0, 2.0, 3.0])
    w.attach_grad()
    tail = w[1:]
    with autograd.record():
        y = tail * tail
    y.backward()
    assert w.grad.asnumpy().tolist() == [0.0, 4.0, 6.0]


def test_writes_outside_of_record_do_not_count():
    x = nd.array([2.0, 3.0])
    x.attach_grad()
    y = nd.zeros((2,))
    y[:] = x * 5
    with autograd.record():
        z = y * x
    z.backward()
    assert x.grad.asnumpy().tolist() == [10.0, 15.0]


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed):
    """Random writes through random views, against the same program on pure arrays."""
    steps = np.random.default_rng(seed).integers(0, 6, size=(6, 4)).tolist()

    def run(x, new_buffer, read, write):
        y = new_buffer(x)
        for kind, i, j, k in steps:
            low, high = sorted((i, j))
            span = slice(low, high + 1)
            source = read(x, slice(k, k + 1)) + 0.5
            if kind < 2:
                y = write(y, span, read(y, span) * source)
            elif kind == 2:
                y = write(y, slice(None, None, max(1, i % 3)), read(y, slice(None, None, max(1, i % 3))) + source)
            elif kind == 3:
                y = write(y, [i, j], source)
            elif kind == 4:
                y = write(y, k, 0.5)
            else:
                y = write(y, span, source)
        return (y * y * x).sum()

    def write_in_place(y, key, value):
        y[key] = value
        return y

    def write_pure(y, key, value):
        key = jnp.array(key) if isinstance(key, list) else key
        return y.at[key].set(value[0] if isinstance(key, int) and jnp.ndim(value) else value)

    compare(
        lambda x: run(x, lambda v: v * v, lambda a, key: a[key], write_in_place),
        lambda x: run(x, lambda v: v * v, lambda a, key: a[key], write_pure),
        (6,),
        scale=0.7,
    )


def test_a_detached_variable_that_is_written_keeps_its_gradient():
    source = nd.array([1.0, 2.0])
    y = source.detach()
    y.attach_grad()
    for start in ([1.0, 2.0], [4.0, 3.0]):
        y[:] = nd.array(start)
        with autograd.record():
            y[0] = 5
            y *= 3
            z = (y * y).sum()
        z.backward()
        assert y.grad.asnumpy().tolist() == [0.0, 18 * start[1]]
        assert source.asnumpy().tolist() == [15.0, 3 * start[1]]


def test_a_view_that_is_a_variable_can_be_written():
    memory = nd.arange(4)
    view = memory[1:3]
    view.attach_grad()
    with autograd.record():
        view[0] = 7
        z = (view * view).sum()
    z.backward()
    assert view.grad.asnumpy().tolist() == [0.0, 4.0] and memory.asnumpy().tolist() == [0.0, 7.0, 2.0, 3.0]
    with autograd.record():
        view *= 2
        z = (view * view).sum()
    z.backward()
    assert view.grad.asnumpy().tolist() == [56.0, 16.0]
