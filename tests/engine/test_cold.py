"""Graphs that run for the first time run operator by operator, and give what the compiled graph gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import nd, sym
from gluonjax._engine import cold, loops, op_by_op, run, step_kernels
from gluonjax._ops.opdef import Attrs

CPU = mx.cpu()


def foreach() -> Any:
    def body(row: Any, state: Any) -> Any:
        new = sym.tanh(row * sym.var("w") + state[0])
        return new * 2, [new]

    outputs, states = sym.contrib.foreach(body, sym.var("x"), [sym.var("s")])
    return sym.Group([outputs, states[0] * 3])


def while_loop() -> Any:
    w = sym.var("w")
    outputs, states = sym.contrib.while_loop(
        lambda i, s: i < 3,
        lambda i, s: (s * w, (i + 1, s + w * i)),
        (sym.var("i"), sym.var("s")),
        max_iterations=5,
    )
    return sym.Group([outputs[0], states[1]])


def branch() -> Any:
    x, w = sym.var("x"), sym.var("w")
    return sym.contrib.cond(sym.sum(x) > 0, lambda: x * w, lambda: x - w)


def nested() -> Any:
    def body(row: Any, state: Any) -> Any:
        new = sym.contrib.cond(row.sum() > 0, lambda: state[0] + row, lambda: state[0] * row)
        return new, [new]

    outputs, _ = sym.contrib.foreach(body, sym.var("x"), [sym.var("s")])
    return sym.broadcast_mul(outputs, sym.var("w"))


CASES = {
    "foreach": (foreach, {"x": (4, 3), "s": (3,), "w": (3,)}),
    "while_loop": (while_loop, {"i": (1,), "s": (1,), "w": (1,)}),
    "cond": (branch, {"x": (2, 3), "w": (2, 3)}),
    "nested": (nested, {"x": (4, 3), "s": (3,), "w": (1, 3)}),
    "dense": (
        lambda: sym.FullyConnected(sym.tanh(sym.var("x")) * 2, num_hidden=3, name="f"),
        {"x": (2, 3), "f_weight": (3, 3), "f_bias": (3,)},
    ),
}


def results(name: str, request: str = "write") -> list[np.ndarray]:
    make, shapes = CASES[name]
    random = np.random.RandomState(5)
    values = {key: nd.array(random.uniform(-1, 1, shape)) for key, shape in shapes.items()}
    gradients = {key: nd.ones(shape) for key, shape in shapes.items()}
    executor = make().bind(CPU, values, gradients, grad_req=request)
    outputs = executor.forward(is_train=True)
    executor.backward([nd.array(random.uniform(0.5, 1, output.shape)) for output in outputs])
    return [array.asnumpy() for array in (*outputs, *(gradients[key] for key in shapes))]


@pytest.mark.parametrize("request_", ["write", "add"])
@pytest.mark.parametrize("name", CASES)
def test_a_cold_graph_gives_what_the_whole_graph_gives(
    name: str, request_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = []
    monkeypatch.setattr(cold, "OpByOp", lambda *args: taken.append(args) or op_by_op.OpByOp(*args))
    found = results(name, request_)
    assert taken
    monkeypatch.setattr("gluonjax.executor.run_cold", lambda *_: None)
    for ours, wanted in zip(found, results(name, request_), strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-5, atol=1e-6)


def test_a_loop_traces_nothing_for_its_structure() -> None:
    """Bodies of operators that are known run at once, whatever loop they are in."""
    results("foreach")
    before = len(step_kernels._kernels)

    def body(row: Any, state: Any) -> Any:
        return sym.tanh(state[0] + row * sym.var("w")) * 2, [row]

    outputs, _ = sym.contrib.foreach(body, sym.var("x"), [sym.var("s")])
    executor = outputs.simple_bind(CPU, x=(4, 3), s=(3,), w=(3,))
    executor.forward(is_train=True)
    executor.backward(nd.ones((4, 3)))
    assert len(step_kernels._kernels) == before


def test_unusual_loops_are_left_to_the_compiled_graph() -> None:
    outputs, _ = sym.contrib.while_loop(
        lambda i: i < 0, lambda i: (i * 2, (i + 1,)), (sym.var("i"),), max_iterations=3
    )
    executor = outputs[0].simple_bind(CPU, i=(1,))
    assert executor.forward(i=nd.array([5]))[0].asnumpy().tolist() == [[0], [0], [0]]
    attrs = Attrs(subgraphs=(None,), in_data_locs=(0,), in_state_locs=(), remain_locs=(), num_out_data=1)
    with pytest.raises(loops.Unfit):
        loops.Foreach(attrs, [np.zeros((0, 2), np.float32)], lambda *_: pytest.fail("no step, no body"))


def test_a_graph_is_cold_no_longer_than_compiling_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(op_by_op, "PRICE_NS", 0)
    x = sym.var("x")
    executor = (sym.sin(x) * sym.cos(x) + 0.125).simple_bind(CPU, x=(2, 2))
    executor.forward(is_train=True, x=nd.ones((2, 2)))
    assert list(executor._kernel(True).spent.values()) == [(float("inf"), 0)]
    executor.backward(nd.ones((2, 2)))
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), np.cos(2) * np.ones((2, 2)), rtol=1e-5)


def test_random_numbers_come_from_two_cold_runs_and_stay_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    cold_runs = []
    monkeypatch.setattr(cold, "OpByOp", lambda *given: cold_runs.append(1) or op_by_op.OpByOp(*given))
    executor = (sym.random.normal(shape=(2, 3)) * sym.random.uniform(shape=(2, 3))).bind(CPU, {})
    drawn = []
    for _ in range(4):
        mx.random.seed(3)
        drawn.append(executor.forward()[0].asnumpy())
    assert len(cold_runs) == 2 and np.array_equal(drawn[0], drawn[1]) and np.array_equal(drawn[2], drawn[3])
    np.testing.assert_allclose(drawn[0], drawn[2], rtol=1e-5)


def test_waiting_twice_does_not_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    monkeypatch.setattr(run.Kernel, "_run_compiled", lambda self, *_: compiled.append(self.name))
    kernel = run.Kernel("double", lambda x: (x * 2,))

    class Late:
        shape, dtype = (2,), np.dtype(np.float32)

        def is_ready(self) -> bool:
            return False

        def __array__(self, *_: Any, **__: Any) -> np.ndarray:
            return np.ones(2, np.float32)

    assert kernel.run((Late(),), True)[0].tolist() == [2.0, 2.0]
    assert not compiled
