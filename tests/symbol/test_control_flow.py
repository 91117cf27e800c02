"""Loops and branches: what MXNet 1.9.1 writes, computes and differentiates; eager and hybridized agree."""

from __future__ import annotations

import json
import pathlib

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import gluon
from tests.symbol.control_flow_cases import CASES, run

RECORDED = json.loads((pathlib.Path(__file__).parent.parent / "data" / "control_flow.json").read_text())


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_mxnet(name):
    """The file, names, shapes, values and gradients of every case."""
    found, wanted = run(mx, name), RECORDED[name]
    assert found["json"] == wanted["json"]
    assert found["arguments"] == wanted["arguments"]
    assert found["outputs"] == wanted["outputs"]
    if wanted["shapes"]:  # MXNet does not find all that can be found
        assert found["shapes"] == wanted["shapes"]
    for one, other in zip(found["values"], wanted["values"], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    for key, value in wanted["grads"].items():
        np.testing.assert_allclose(found["grads"][key], value, rtol=1e-4, atol=1e-5, err_msg=key)


@pytest.mark.parametrize("name", CASES)
def test_files_can_be_read_back(name):
    """A symbol that is loaded from its file writes the same file and computes the same."""
    symbol = mx.sym.load_json(RECORDED[name]["json"])
    assert symbol.tojson() == RECORDED[name]["json"]
    assert symbol.list_arguments() == RECORDED[name]["arguments"]


class Cells(gluon.HybridBlock):
    """A recurrent cell over a sequence, then a layer with parameters and dropout for each row."""

    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.cell = gluon.rnn.LSTMCell(4)
            self.layer = gluon.nn.Dense(3)

    def hybrid_forward(self, F, x, states):
        outputs, states = F.contrib.foreach(self.cell, x, states)
        rows, _ = F.contrib.foreach(lambda row, s: (self.layer(row), s + row), outputs, states[0])
        return rows, states


def test_hybridized_is_eager():
    """Parameters inside of bodies are initialized from the data, trained, and both ways agree."""
    block = Cells()
    block.initialize(mx.init.Xavier())
    x, states = mx.nd.random.normal(shape=(3, 2, 5)), [mx.nd.ones((2, 4)), mx.nd.zeros((2, 4))]

    def step():
        with mx.autograd.record():
            rows, last = block(x, states)
            loss = (rows * rows).sum() + last[1].sum()
        loss.backward()
        return loss.asscalar(), {k: p.grad().asnumpy() for k, p in block.collect_params().items()}

    eager, eager_grads = step()
    block.hybridize()
    compiled, grads = step()
    assert compiled == pytest.approx(eager, rel=1e-5)
    assert len(grads) == 6
    for key, value in eager_grads.items():
        np.testing.assert_allclose(grads[key], value, rtol=1e-4, atol=1e-5)


def test_random_bodies_draw_anew_in_every_step():
    """Dropout inside of a loop has another mask in every step."""
    rows, _ = mx.sym.contrib.foreach(
        lambda x, s: (mx.sym.Dropout(x, p=0.5, mode="always"), s + x), mx.sym.var("data"), mx.sym.var("s")
    )
    data = mx.nd.ones((4, 64))
    masks = rows.eval(ctx=mx.cpu(), data=data, s=mx.nd.zeros(64))[0].asnumpy()
    assert len({mask.tobytes() for mask in masks}) == 4
    assert set(np.unique(masks)) == {0.0, 2.0}


def test_while_loop_stops_early():
    """Rows beyond the last step are 0 and states stay."""
    i = mx.sym.var("i")
    rows, last = mx.sym.contrib.while_loop(lambda i: i < 3, lambda i: (i + 1, [i + 1]), [i], max_iterations=5)
    values = mx.sym.Group([rows, *last]).eval(ctx=mx.cpu(), i=mx.nd.array([1.0]))
    assert values[0].asnumpy().ravel().tolist() == [2, 3, 0, 0, 0]
    assert values[1].asscalar() == 3
    eager, _ = mx.nd.contrib.while_loop(lambda i: i < 3, lambda i: (i + 1, [i + 1]), [mx.nd.array([1.0])], 5)
    assert eager.asnumpy().ravel().tolist() == [2, 3, 0, 0, 0]


def test_shapes_flow_out_of_bodies():
    """A dimension that is unknown outside stays unknown; parameters inside are inferred."""
    data = mx.sym.var("data", shape=(0, 3, 4))
    rows, _ = mx.sym.contrib.foreach(lambda x, s: (x + s, s * 2), data, mx.sym.var("s"))
    assert rows.infer_shape_partial()[1] == [(0, 3, 4)]


V = mx.sym.var
WRONG = [
    ("data arrays have to be used", lambda: mx.sym.contrib.foreach(lambda x, s: (s, s + 1), V("a"), V("s"))),
    ("state arrays have to be used", lambda: mx.sym.contrib.foreach(lambda x, s: (x, x), V("a"), V("s"))),
    ("different format", lambda: mx.sym.contrib.foreach(lambda x, s: (x + s, [s]), V("a"), V("s"))),
    ("max_iterations should be specified", lambda: mx.sym.contrib.while_loop(lambda i: i, lambda i: (i, i), V("i"))),
    ("doesn't involve", lambda: mx.sym.contrib.while_loop(
        lambda i, s: i, lambda i, s: (i, [i, i]), [V("i"), V("s")], max_iterations=2)),
    ("consistent during the loop", lambda: mx.sym.contrib.while_loop(
        lambda i, s: i, lambda i, s: (i, [i + s]), [V("i"), V("s")], max_iterations=2)),
    ("Number of outputs differs", lambda: mx.sym.contrib.cond(V("p"), lambda: V("a") + 1, lambda: [V("a"), V("b")])),
    ("max_iterations should be specified", lambda: mx.nd.contrib.while_loop(lambda i: i, lambda i: i, mx.nd.ones(1))),
    ("at least one element", lambda: mx.nd.contrib.while_loop(lambda: 1, lambda: 1, [], max_iterations=2)),
    ("nested. list of NDArray", lambda: mx.nd.contrib.foreach(lambda x, s: (1, s), mx.nd.ones((2, 1)), [])),
    ("runs subgraphs", lambda: mx.sym.load_json(RECORDED["running_sum"]["json"].replace("subgraphs", "x")).infer_shape(
        data=(2, 2), start=(2,), w=(2,))),
]  # fmt: skip


@pytest.mark.parametrize("message, call", WRONG, ids=[message for message, _ in WRONG])
def test_wrong_calls_are_explained(message, call):
    with pytest.raises(mx.MXNetError, match=message):
        call()


def test_states_keep_their_shape():
    """A body that changes a state's shape is refused with the shapes."""
    rows, state = mx.sym.contrib.foreach(
        lambda x, s: (x, mx.sym.concat(s, x, dim=0)), mx.sym.var("data"), mx.sym.var("s")
    )
    with pytest.raises(mx.MXNetError, match=r"must keep shape|incompatible|inconsistent"):
        mx.sym.Group([rows, state]).eval(ctx=mx.cpu(), data=mx.nd.ones((3, 2)), s=mx.nd.ones(2))
