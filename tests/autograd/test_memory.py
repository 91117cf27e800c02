"""What the tape keeps alive: nothing that nobody can reach any more, and no deep recursion."""

from __future__ import annotations

import gc

import numpy as np

from gluonjax import autograd, nd
from gluonjax._engine import inflight
from gluonjax._engine.tape import Node


def live_nodes() -> int:
    gc.collect()
    return sum(type(one) is Node for one in gc.get_objects())


def test_unsynchronized_steps_do_not_grow():
    before = live_nodes()
    w = nd.array(np.ones((8, 8)))
    w.attach_grad()
    x = nd.ones((4, 8))
    total = nd.zeros((1,))
    counts = []
    for step in range(2000):
        with autograd.record():
            loss = (nd.dot(x, w) ** 2).mean()
        loss.backward()
        w -= 1e-5 * w.grad
        total += loss
        if step % 500 == 499:
            counts.append(live_nodes() - before)
    assert max(counts) <= 8, counts
    assert len(inflight._launched) <= inflight.RUN_AHEAD
    assert np.isfinite(total.asscalar())


def test_a_running_total_outside_of_record_keeps_no_tape():
    x = nd.ones((4,))
    x.attach_grad()
    total, other = nd.zeros((1,)), 0
    before = live_nodes()
    for _ in range(3):
        with autograd.record():
            loss = (x * x).sum()
        total += loss
        other = other + loss
    assert live_nodes() > before
    del loss
    assert live_nodes() == before
    assert total.asscalar() == 12.0 and other.asscalar() == 12.0


def test_backward_frees_the_graph_of_a_kept_loss():
    x = nd.ones((4,))
    x.attach_grad()
    losses = []
    before = live_nodes()
    for _ in range(20):
        with autograd.record():
            loss = (nd.exp(x) * x).sum()
        loss.backward()
        losses.append(loss)
    # each loss keeps its own dead node, which keeps no values and no parents
    assert live_nodes() - before <= len(losses) + 2
    assert all(one._cell.entry is None or not one._cell.entry.node.values for one in losses)


def test_a_graph_without_backward_dies_with_its_results():
    x = nd.ones((4,))
    x.attach_grad()
    before = live_nodes()
    with autograd.record():
        y = x
        for _ in range(50):
            y = y * 1.01
    assert live_nodes() - before >= 50
    del y
    assert live_nodes() - before == 0


def test_a_deep_tape():
    x = nd.ones((1,))
    x.attach_grad()
    with autograd.record():
        y = x
        for _ in range(10_000):
            y = y + x
    y.backward()
    assert x.grad.asscalar() == 10_001.0
    with autograd.record():
        y = x
        for _ in range(10_000):
            y = y * 1.0
    del y  # freeing a long chain must not recurse either
    gc.collect()


def test_a_wide_tape_adds_up():
    x = nd.ones((3,))
    x.attach_grad()
    with autograd.record():
        y = nd.add_n(*[x * i for i in range(50)])
    y.backward()
    assert x.grad.asnumpy().tolist() == [1225.0] * 3


def test_writing_in_a_long_loop_under_record_stays_linear():
    x = nd.ones((4,))
    x.attach_grad()
    with autograd.record():
        state = x * 1
        for i in range(300):
            state[i % 4] = state[(i + 1) % 4] * 0.5
        loss = state.sum()
    loss.backward()
    assert np.isfinite(x.grad.asnumpy()).all()


def test_a_deep_grad_of_grad():
    x = nd.array([1.01])
    x.attach_grad()
    with autograd.record():
        y = x
        for _ in range(300):
            y = y * x
        (slope,) = autograd.grad(y, x, create_graph=True, retain_graph=True)
    slope.backward()
    np.testing.assert_allclose(x.grad.asscalar(), 301 * 300 * 1.01**299, rtol=1e-3)
