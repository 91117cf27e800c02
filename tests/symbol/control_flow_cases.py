"""Loops and branches, built with whatever ``mx`` is handed in; recorded with MXNet 1.9.1 by record_control_flow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# What each case needs: (build(mx) -> list of symbols, shapes of its variables).
Case = tuple[Callable[[Any], list[Any]], dict[str, tuple[int, ...]]]


def running_sum(mx: Any) -> list[Any]:
    def step(row: Any, states: Any) -> Any:
        total = row * mx.sym.var("w") + states[0]
        return total, [total]

    outputs, states = mx.sym.contrib.foreach(step, mx.sym.var("data"), [mx.sym.var("start")])
    return [outputs, *states]


def two_sequences(mx: Any) -> list[Any]:
    outer = mx.sym.var("w") * 2

    def step(rows: Any, states: Any) -> Any:
        first, (second, third) = rows[0] * outer, states
        return [first + second, rows[1]], [second + rows[1], third * first]

    data = [mx.sym.var("a"), mx.sym.var("b")]
    outputs, states = mx.sym.contrib.foreach(step, data, [mx.sym.var("s"), mx.sym.var("t")])
    return [*outputs, *states]


def vector_rows(mx: Any) -> list[Any]:
    outputs, state = mx.sym.contrib.foreach(lambda x, s: (x * s, s + x), mx.sym.var("data"), mx.sym.var("start"))
    return [outputs, state]


def nested(mx: Any) -> list[Any]:
    def inner(x: Any, s: Any) -> Any:
        return x + s, s + x * mx.sym.var("w")

    def outer(rows: Any, s: Any) -> Any:
        outputs, state = mx.sym.contrib.foreach(inner, rows, s)
        return outputs * 2, state

    outputs, state = mx.sym.contrib.foreach(outer, mx.sym.var("data"), mx.sym.var("start"))
    return [outputs, state]


def dense_body(mx: Any) -> list[Any]:
    def step(row: Any, state: Any) -> Any:
        hidden = mx.sym.FullyConnected(row + state, num_hidden=3, name="fc")
        return hidden.tanh(), hidden

    outputs, state = mx.sym.contrib.foreach(step, mx.sym.var("data"), mx.sym.var("start"))
    return [outputs, state]


def doubling(mx: Any) -> list[Any]:
    outputs, states = mx.sym.contrib.while_loop(
        lambda i, s: i < 4, lambda i, s: (mx.sym.broadcast_mul(s, i), [i + 1, s + s * mx.sym.var("w")]),
        [mx.sym.var("i"), mx.sym.var("s")], max_iterations=4,
    )  # fmt: skip
    return [outputs, *states]


def limit_from_outside(mx: Any) -> list[Any]:
    limit = mx.sym.var("limit")
    scaled = limit * 2
    outputs, states = mx.sym.contrib.while_loop(
        lambda i, s: i < limit + scaled, lambda i, s: (s * limit + scaled, [i + limit, s * 2]),
        [mx.sym.var("i"), mx.sym.var("s")], max_iterations=5,
    )  # fmt: skip
    return [outputs, *states]


def loop_of_loops(mx: Any) -> list[Any]:
    def func(i: Any, s: Any) -> Any:
        outputs, (_, t) = mx.sym.contrib.while_loop(
            lambda j, t: j < 2, lambda j, t: (t * 2, [j + 1, t + i]), [i * 0, s], max_iterations=2
        )
        return outputs, [i + 1, t]

    outputs, states = mx.sym.contrib.while_loop(
        lambda i, s: i < 3, func, [mx.sym.var("i"), mx.sym.var("s")], max_iterations=3
    )
    return [outputs, *states]


def branch(mx: Any) -> list[Any]:
    a, b = mx.sym.var("a"), mx.sym.var("b")
    return [mx.sym.contrib.cond(a.sum() < b.sum(), lambda: a * b + 1, lambda: a - b)]


def branch_of_two(mx: Any) -> list[Any]:
    a, b = mx.sym.var("a"), mx.sym.var("b")
    inside = b * 3
    return list(mx.sym.contrib.cond(a.sum() > 100, lambda: [a, inside], lambda: [inside * a, b + a]))


CASES: dict[str, Case] = {
    "running_sum": (running_sum, {"data": (3, 2), "start": (2,), "w": (2,)}),
    "two_sequences": (two_sequences, {"a": (4, 2), "b": (4, 2), "s": (2,), "t": (2,), "w": (2,)}),
    "vector_rows": (vector_rows, {"data": (4,), "start": (1,)}),
    "nested": (nested, {"data": (2, 3, 2), "start": (2,), "w": (2,)}),
    "dense_body": (dense_body, {"data": (3, 2, 3), "start": (2, 3), "fc_weight": (3, 3), "fc_bias": (3,)}),
    "doubling": (doubling, {"i": (1,), "s": (3,), "w": (3,)}),
    "limit_from_outside": (limit_from_outside, {"i": (1,), "s": (1,), "limit": (1,)}),
    "loop_of_loops": (loop_of_loops, {"i": (1,), "s": (1,)}),
    "branch": (branch, {"a": (2, 2), "b": (2, 2)}),
    "branch_of_two": (branch_of_two, {"a": (2, 2), "b": (2, 2)}),
}
# MXNet 1.9.1 cannot bind the backward of these (its own inference fails).
FORWARD_ONLY = ("loop_of_loops", "branch", "branch_of_two", "limit_from_outside")


def values_of(name: str) -> dict[str, np.ndarray]:
    """The arrays that a case runs on; counters start at 0."""
    draw = np.random.RandomState(len(name))
    shapes = CASES[name][1]
    return {key: np.zeros(s, "f") if key == "i" else draw.uniform(0.5, 1.5, s).astype("f") for key, s in shapes.items()}


def run(mx: Any, name: str) -> dict[str, Any]:
    """JSON, inferred shapes, outputs and gradients of a case."""
    with mx.name.NameManager():
        mx.AttrScope._subgraph_names.clear()
        symbol = mx.sym.Group(CASES[name][0](mx))
    arrays = {key: mx.nd.array(value) for key, value in values_of(name).items()}
    trained = name not in FORWARD_ONLY
    grads = {key: mx.nd.zeros(value.shape) for key, value in arrays.items()} if trained else {}
    known = {key: value.shape for key, value in arrays.items() if not key.startswith("fc_")}
    _, shapes, _ = symbol.infer_shape(**known)
    executor = symbol.bind(mx.cpu(), arrays, args_grad=grads, grad_req="write" if trained else "null")
    outputs = executor.forward(is_train=trained)
    if trained:
        executor.backward([mx.nd.ones(out.shape) * (i + 1) for i, out in enumerate(outputs)])
    return {
        "json": symbol.tojson(),
        "arguments": symbol.list_arguments(),
        "outputs": symbol.list_outputs(),
        "shapes": shapes and [list(shape) for shape in shapes],
        "values": [out.asnumpy().tolist() for out in outputs],
        "grads": {key: value.asnumpy().tolist() for key, value in grads.items()},
    }
