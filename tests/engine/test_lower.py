"""Lowered graphs: long chains whose gradients meet do not make programs that grow with the square of the length."""

from __future__ import annotations

import jax
import numpy as np

import gluonjax as mx
from gluonjax._engine.lower import lower


def recurrent(steps: int):
    """Cell states that every step scales and reads, as those of an LSTM."""
    state, x = mx.sym.var("start"), mx.sym.var("x")
    total = None
    for number in range(steps):
        gate = mx.sym.sigmoid(mx.sym.FullyConnected(x, num_hidden=4, name=f"gate{number}"))
        state = state * gate + gate
        read = mx.sym.FullyConnected(state * gate, num_hidden=2, name=f"read{number}")
        total = read if total is None else total + read
    return total


def compiled_lines(steps: int) -> int:
    net = recurrent(steps)
    lowered = lower(net._graph, True)
    shapes = net.infer_shape(start=(3, 4), x=(3, 5))[0]
    arguments = [jax.ShapeDtypeStruct(shape, np.float32) for shape in shapes]

    def gradients(*values):
        outputs, pullback = jax.vjp(lambda *some: lowered(*some)[0], *values)
        return pullback(outputs)

    with jax.enable_x64(True):
        return jax.jit(gradients).lower(*arguments).compile().as_text().count("\n")


def test_programs_of_recurrent_gradients_grow_linearly() -> None:
    assert compiled_lines(48) < 2.6 * compiled_lines(24)


def test_gradients_of_long_graphs_are_right() -> None:
    net = recurrent(30)  # more nodes than the threshold
    executor = net.simple_bind(mx.cpu(), start=(3, 4), x=(3, 5))
    source = np.random.RandomState(0)
    for array in executor.arg_arrays:
        array[:] = mx.nd.array(source.uniform(-0.5, 0.5, array.shape))
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((3, 2)))
    found = executor.grad_dict["start"].asnumpy()
    start = executor.arg_dict["start"]
    before = start.asnumpy().copy()
    for place in ((0, 0), (2, 3)):
        values = []
        for step in (1e-2, -1e-2):
            moved = before.copy()
            moved[place] += step
            start[:] = mx.nd.array(moved)
            values.append(executor.forward()[0].asnumpy().astype(np.float64).sum())
        np.testing.assert_allclose(found[place], (values[0] - values[1]) / 2e-2, rtol=2e-2, atol=1e-4)
