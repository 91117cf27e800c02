"""The two tiers agree, nothing compiles twice, results come before they are computed, errors come when waited for."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time

import jax
import numpy as np
import pytest

import gluonjax as mx
from gluonjax import autograd, nd
from gluonjax._engine import inflight, run
from gluonjax._engine.run import Kernel, counters
from gluonjax._ops import registry

RANDOM = np.random.default_rng(11)


def normal(*shape, dtype=np.float32):
    return RANDOM.normal(size=shape).astype(dtype)


# operator, attributes, inputs
CALLS = [
    ("relu", {}, [normal(3, 4)]), ("exp", {}, [normal(5)]), ("tanh", {}, [normal(2, 1, 3)]),
    ("sigmoid", {}, [normal(1)]),
    ("erf", {}, [normal(4)]), ("gamma", {}, [np.abs(normal(4)) + 1]),
    ("square", {}, [normal(3, 4, dtype=np.float64)]),
    ("broadcast_add", {}, [normal(3, 1), normal(1, 4)]),
    ("broadcast_div", {}, [normal(3, 4), np.abs(normal(4)) + 1]),
    ("broadcast_maximum", {}, [normal(3, 4), normal(3, 4)]), ("elemwise_mul", {}, [normal(3, 4), normal(3, 4)]),
    ("dot", {}, [normal(3, 4), normal(4, 5)]), ("batch_dot", {}, [normal(2, 3, 4), normal(2, 4, 5)]),
    ("dot", {"transpose_a": True}, [normal(4, 3), normal(4, 5)]),
    ("sum", {"axis": 1}, [normal(3, 4)]), ("mean", {}, [normal(3, 4)]),
    ("max", {"axis": (0, 2)}, [normal(2, 3, 4)]), ("prod", {}, [normal(5)]),
    ("norm", {"axis": 1}, [normal(3, 4)]), ("softmax", {"axis": 1}, [normal(3, 4)]),
    ("log_softmax", {}, [normal(3, 4)]),
    ("FullyConnected", {"num_hidden": 5}, [normal(3, 4), normal(5, 4), normal(5)]),
    ("Convolution", {"kernel": (3, 3), "num_filter": 2, "pad": (1, 1)},
     [normal(2, 3, 5, 5), normal(2, 3, 3, 3), normal(2)]),
    ("Pooling", {"kernel": (2, 2), "stride": (2, 2), "pool_type": "max"}, [normal(1, 2, 4, 4)]),
    ("Pooling", {"kernel": (3, 3), "pool_type": "avg"}, [normal(1, 2, 5, 5)]),
    ("LayerNorm", {}, [normal(3, 4), normal(4), normal(4)]),
    ("Activation", {"act_type": "softsign"}, [normal(3, 4)]), ("hard_sigmoid", {}, [normal(3, 4)]),
    ("transpose", {"axes": (1, 0, 2)}, [normal(2, 3, 4)]), ("Reshape", {"shape": (0, -1)}, [normal(2, 3, 4)]),
    ("slice", {"begin": (0, 1), "end": (2, 3)}, [normal(3, 4)]),
    ("slice_axis", {"axis": 1, "begin": 1, "end": 3}, [normal(3, 4)]),
    ("Concat", {"dim": 1, "num_args": 2}, [normal(2, 3), normal(2, 2)]),
    ("stack", {"num_args": 2}, [normal(2, 3), normal(2, 3)]),
    ("tile", {"reps": (2, 1)}, [normal(2, 3)]), ("flip", {"axis": 1}, [normal(2, 3)]),
    ("clip", {"a_min": -0.5, "a_max": 0.5}, [normal(3, 4)]),
    ("Pad", {"mode": "constant", "pad_width": (0, 0, 0, 0, 1, 1, 2, 0)}, [normal(1, 1, 3, 3)]),
    ("expand_dims", {"axis": 1}, [normal(3)]), ("broadcast_to", {"shape": (3, 4)}, [normal(3, 1)]),
    ("SliceChannel", {"num_outputs": 2}, [normal(2, 4)]), ("smooth_l1", {"scalar": 1.0}, [normal(3, 4)]),
]  # fmt: skip


@pytest.mark.parametrize(("op", "attrs", "inputs"), CALLS, ids=[f"{i} {c[0]}" for i, c in enumerate(CALLS)])
def test_both_tiers_give_the_same(op, attrs, inputs):
    definition = registry.get(op)
    function = definition.pure(definition.parse(attrs), True)
    interpreted, compiled = Kernel(op, function), Kernel(op, function, interpretable=False)
    assert interpreted.interprets(inputs), f"{op} on small shapes should be interpreted"
    assert not compiled.interprets(inputs)
    left, right = interpreted.run(inputs, True), compiled.run(inputs, True)
    wanted = tuple(range(len(inputs)))
    present = tuple(range(len(left)))
    heads = [RANDOM.normal(size=r.shape).astype(r.dtype) for r in left]
    operands = [*inputs, *heads]
    left_gradients = interpreted.backward(wanted, present, len(inputs)).run(operands, True)
    right_gradients = compiled.backward(wanted, present, len(inputs)).run(operands, True)
    for ours, theirs in zip((*left, *left_gradients), (*right, *right_gradients)):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        np.testing.assert_allclose(ours, np.asarray(theirs), rtol=2e-5, atol=2e-5)


# -- compilation ---------------------------------------------------------------------------------------------


def plans() -> int:
    return counters.compiled + counters.interpreted


def test_new_numbers_and_positions_need_no_new_plan():
    a = nd.arange(60).reshape((10, 6))

    def work(i, number):
        b = a[i] * number + number
        c = a[:, i % 6] / number
        d = a[i % 5 : i % 5 + 2, 1:3] - number
        e = a[[i, 1]]
        f = a.copy()
        f[i] = number
        f[:, i % 6] = number
        f[i, i % 6] = b[0]
        f[[i, 0]] = e
        return nd.clip(b + c.sum() + d.sum() + f.sum(), -number, 1e9), nd.maximum(f, number)

    work(2, 2.0)
    before = plans()
    for i in (3, 5, 9, 0):
        work(i, 1.5 + i)
    assert plans() == before


def test_recorded_work_needs_no_new_plan():
    x = nd.arange(12).reshape((4, 3))
    x.attach_grad()

    def step(i, number):
        with autograd.record():
            y = x * number
            y[i] = x[i] * number
            z = (y[:, i % 3] ** number).sum() + y[[i, 1]].sum()
        z.backward()
        x[:] = x - number * x.grad * 1e-3

    step(2, 2.0)
    before = plans()
    for i in (1, 3, 0):
        step(i, 1.5 + i)
    assert plans() == before


def test_the_same_call_is_planned_once():
    a = nd.ones((7, 13))
    (nd.tanh(a) + nd.tanh(a)).wait_to_read()
    before = plans()
    for _ in range(5):
        (nd.tanh(a) + nd.tanh(a)).wait_to_read()
    assert plans() == before
    (nd.tanh(nd.ones((7, 14)))).wait_to_read()
    assert plans() == before + 1


def test_a_hot_small_call_is_compiled_after_its_rent_is_paid(monkeypatch):
    monkeypatch.setattr(run, "PRICE_NS", 0)
    monkeypatch.setattr(run, "LAUNCH_NS", 0)
    kernel = Kernel("double", lambda x: (x * 2,))
    x = np.ones((4,), np.float32)
    assert type(kernel.run((x,), True)[0]) is np.ndarray
    result = kernel.run((x,), True)[0]
    assert isinstance(result, jax.Array) and np.asarray(result).tolist() == [2.0] * 4


def test_large_work_is_compiled_at_once():
    kernel = Kernel("exp", lambda x: (jax.numpy.exp(x),))
    assert not kernel.interprets((np.broadcast_to(np.float32(1), (20000, 20000)),))
    assert kernel.interprets((np.ones((2, 2), np.float32),))


# -- asynchrony ----------------------------------------------------------------------------------------------


def test_an_operator_returns_before_its_value_is_computed():
    a = nd.ones((1000, 1000))

    def chain():
        started = time.perf_counter()
        b = a
        for _ in range(4):
            b = nd.dot(b, a)
        launched = time.perf_counter() - started
        b.wait_to_read()
        return launched, time.perf_counter() - started

    chain()
    shares = [launched / total for launched, total in (chain() for _ in range(3))]
    assert min(shares) < 0.5, shares


def test_waitall_waits_for_results_that_nobody_kept():
    a = nd.ones((1000, 1000))
    nd.dot(a, a).wait_to_read()
    for _ in range(4):
        nd.dot(a, a)
    b = nd.dot(a, a)
    nd.waitall()
    assert b._value.is_ready()


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="a GPU's memory is not this process's")
def test_large_results_that_nobody_needs_do_not_pile_up():
    a = nd.ones((1024, 1024))
    for _ in range(12):
        nd.dot(a, a)
    assert len(inflight._launched) <= inflight.MOST_BYTES // (4 << 20)


SCALE = "scale parameter in gaussian has to be positive"


def failing():
    return nd.random.normal(0, -1, (2, 2))


READERS = {
    "asnumpy": lambda a: a.asnumpy(), "wait_to_read": lambda a: a.wait_to_read(), "print": lambda a: str(a),
    "scalar": lambda a: a[0, 0].asscalar(),
    "bool": lambda a: bool(a.sum()), "float": lambda a: float(a.mean()), "waitall": lambda a: nd.waitall(),
    "jax": lambda a: a.jax, "numpy": lambda a: np.asarray(a),
    "after dot": lambda a: nd.dot(a, a).asnumpy(), "after slice": lambda a: (a[:, 1] + 1).wait_to_read(),
    "after reshape": lambda a: a.reshape((4,))[1:3].asnumpy(),
    "after cast": lambda a: a.astype("float64").asnumpy(),
    "after index": lambda a: a[[1, 0]].asnumpy(), "after copy": lambda a: a.copyto(nd.zeros((2, 2))).asnumpy(),
    "after context": lambda a: a.as_in_context(mx.cpu(1)).asnumpy(),
    "comparison": lambda a: bool((a > 0).min()),
}  # fmt: skip


@pytest.mark.parametrize("reader", READERS)
def test_a_deferred_error_comes_when_the_value_is_needed(reader):
    a = failing()
    with pytest.raises(mx.MXNetError, match=SCALE):
        READERS[reader](a)
    nd.waitall()


def test_a_deferred_error_comes_once():
    a = failing()
    with pytest.raises(mx.MXNetError, match=SCALE):
        a.asnumpy()
    assert a.asnumpy().shape == (2, 2)
    nd.waitall()


def test_waitall_reports_what_nobody_kept():
    failing()
    with pytest.raises(mx.MXNetError, match=SCALE):
        nd.waitall()
    nd.waitall()


def test_an_error_that_was_seen_silences_waitall_but_not_other_arrays():
    failing()
    a, b = failing(), failing()
    with pytest.raises(mx.MXNetError, match=SCALE):
        a.asnumpy()
    nd.waitall()
    with pytest.raises(mx.MXNetError, match=SCALE):
        b.asnumpy()


def test_a_deferred_error_spreads_through_writes():
    a, b = nd.zeros((3, 2)), nd.zeros((3, 2))
    a[1] = failing()[0]
    b[:] = a
    with pytest.raises(mx.MXNetError, match=SCALE):
        b.asnumpy()


def test_a_deferred_error_spreads_through_the_tape():
    x = nd.ones((2, 2))
    x.attach_grad()
    with autograd.record():
        y = nd.FullyConnected(x, failing(), no_bias=True, num_hidden=2)
    y.backward()
    with pytest.raises(mx.MXNetError, match=SCALE):
        x.grad.asnumpy()


def test_a_deferred_error_in_a_block():
    net = mx.gluon.nn.Dense(3, in_units=2)
    net.initialize()
    out = net(failing())
    with pytest.raises(mx.MXNetError, match=SCALE):
        out.wait_to_read()


def test_several_deferred_errors_are_reported_together():
    with contextlib.suppress(mx.MXNetError):
        nd.waitall()  # what other tests of this process have left
    kept = [failing() for _ in range(3)]
    with pytest.raises(mx.MXNetError, match=SCALE):
        nd.waitall()
    nd.waitall()
    assert kept[0].asnumpy().shape == (2, 2)


def test_launched_failures_are_reported_once():
    class Failing:
        def is_deleted(self):
            return False

        def block_until_ready(self):
            raise RuntimeError("the program has failed")

    nd.waitall()
    inflight._launched.extend([Failing(), Failing()])
    with pytest.raises(mx.MXNetError, match="the program has failed"):
        nd.waitall()
    nd.waitall()


def test_other_errors_come_at_the_call():
    with pytest.raises(mx.MXNetError, match="dot"):
        nd.dot(nd.ones((2, 3)), nd.ones((2, 3)))
    with pytest.raises(mx.MXNetError, match="did you mean 'num_hidden'"):
        nd.FullyConnected(nd.ones((2, 3)), nd.ones((2, 3)), num_hiden=2)


def python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True,
        check=False
    )


def test_the_naive_engine_raises_at_the_call():
    code = """
import gluonjax as mx
try:
    mx.nd.random.normal(0, -1, (2, 2))
    print("late")
except mx.MXNetError as error:
    print("at the call", error)
a = mx.nd.ones((300, 300))
b = mx.nd.dot(a, a)
print(getattr(b._value, "is_ready", lambda: True)())
print(float(b.sum()))
"""
    done = python(code, MXNET_ENGINE_TYPE="NaiveEngine")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("at the call") and SCALE in lines[0], done.stdout + done.stderr
    assert lines[1:] == ["True", "27000000.0"]


def test_the_cold_tier_can_be_switched_off():
    code = """
import gluonjax as mx
from gluonjax._engine.run import counters
print(mx.nd.array([1, 2]).exp().sum().asscalar() > 10, counters.interpreted, counters.compiled > 0)
"""
    done = python(code, GLUONJAX_COLD_TIER="0")
    assert done.stdout.split() == ["True", "0", "True"], done.stdout + done.stderr


@pytest.mark.parametrize(("calls", "interpreted"), [(10, True), (10**7, False)])
def test_a_settled_kernel_keeps_its_tier(calls, interpreted, monkeypatch):
    values = [normal(2, 3)]
    kernel = Kernel("twice", lambda x: (x + x,))
    monkeypatch.setattr(run, "LAUNCH_NS", -(10**6))  # as if every interpreted call cost a millisecond more
    kernel.settle(values, calls)
    monkeypatch.setattr(run, "PRICE_NS", -(10**9))
    for _ in range(3):
        kernel.run(values, True)
        assert kernel.interprets(values) is interpreted
