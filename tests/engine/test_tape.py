"""The tape without NDArray: what is sent where, which inputs get gradients, what a walk leaves behind."""

from __future__ import annotations

import numpy as np
import pytest

from gluonjax._base.errors import MXNetError
from gluonjax._engine import tape
from gluonjax._engine.run import Kernel
from gluonjax._engine.tape import Entry, Leaf, Node

F32 = np.dtype(np.float32)
MULTIPLY = Kernel("multiply", lambda a, b: (a * b,))
SPLIT = Kernel("split", lambda a: (a * 2, a * 3))


class Buffer:
    """What a leaf writes into."""

    def __init__(self, value=0.0):
        self.value = np.full((2,), value, np.float32)

    def _write(self, value):
        self.value = np.asarray(value)

    def _accumulate(self, value):
        self.value = self.value + np.asarray(value)


def array(*values):
    return np.array(values, np.float32)


def call(kernel, values, parents):
    results = kernel.run(values, True)
    node = Node(kernel, values, parents, [(r.shape, r.dtype) for r in results], True)
    return results, [Entry(node, index) for index in range(len(results))]


def ones():
    return array(1, 1)


def test_one_call():
    leaf, x, y = Leaf(Buffer(), "write"), array(2, 3), array(5, 7)
    _, (entry,) = call(MULTIPLY, (x, y), (leaf, None))
    found = tape.walk([(entry, ones(), None)], False, False)
    assert list(found) == [leaf] and found[leaf].value.tolist() == [5, 7]
    tape.deliver(found)
    assert leaf.buffer.value.tolist() == [5, 7] and leaf.fresh


def test_an_input_used_twice_and_several_outputs():
    leaf, x = Leaf(Buffer(), "write"), array(2, 3)
    _, (square,) = call(MULTIPLY, (x, x), (leaf, leaf))
    _, entries = call(SPLIT, (x * x,), (square,))
    both = [(entries[0], ones(), None), (entries[1], array(10, 10), None)]
    found = tape.walk(both, True, False)
    # d(2 x^2) + 10 d(3 x^2)
    assert found[leaf].value.tolist() == [2 * 2 * 2 + 10 * 3 * 2 * 2, 2 * 2 * 3 + 10 * 3 * 2 * 3]
    only_second = tape.walk([(entries[1], ones(), None)], False, False)
    assert only_second[leaf].value.tolist() == [12, 18]


def test_a_walk_frees_what_it_visited():
    leaf, x = Leaf(Buffer(), "write"), array(2, 3)
    _, (first,) = call(MULTIPLY, (x, x), (leaf, None))
    _, (second,) = call(MULTIPLY, (x, x), (first, None))
    tape.walk([(second, ones(), None)], False, False)
    assert first.node.dead and second.node.dead and not second.node.values and not second.node.parents
    with pytest.raises(MXNetError, match="retain_graph"):
        tape.walk([(second, ones(), None)], False, False)


def test_a_graph_on_top_of_a_dead_one_stops_there():
    leaf, x = Leaf(Buffer(), "write"), array(2, 3)
    _, (first,) = call(MULTIPLY, (x, x), (leaf, None))
    _, (second,) = call(MULTIPLY, (x, x), (first, leaf))
    tape.walk([(first, ones(), None)], False, False)
    found = tape.walk([(second, ones(), None)], False, False)
    assert found[leaf].value.tolist() == [2, 3]


def test_targets_inside_of_the_graph():
    leaf, x = Leaf(Buffer(), "write"), array(2, 3)
    _, (middle,) = call(MULTIPLY, (x, x), (leaf, None))
    _, (last,) = call(MULTIPLY, (x, array(10, 10)), (middle, None))
    found = tape.walk([(last, ones(), None)], True, False, [middle, leaf])
    assert found[(middle.node.number, 0)].value.tolist() == [10, 10] and found[leaf].value.tolist() == [20, 30]


def test_create_graph_records_the_walk():
    leaf, x = Leaf(Buffer(), "write"), array(2, 3)
    _, (square,) = call(MULTIPLY, (x, x), (leaf, leaf))
    found = tape.walk([(square, ones(), None)], True, True)
    slope = found[leaf]
    assert slope.value.tolist() == [4, 6] and type(slope.entry) is Entry
    second = tape.walk([(slope.entry, ones(), None)], False, False)
    assert second[leaf].value.tolist() == [2, 2]


def test_requests():
    leaves = {req: Leaf(Buffer(1.0), req) for req in ("write", "add", "null")}
    for leaf in leaves.values():
        _, (entry,) = call(MULTIPLY, (array(2, 3), array(5, 5)), (leaf, None))
        tape.deliver(tape.walk([(entry, ones(), None)], False, False))
    assert {req: leaf.buffer.value.tolist() for req, leaf in leaves.items()} == {
        "write": [5, 5], "add": [6, 6], "null": [1, 1],
    }  # fmt: skip
    assert not leaves["null"].fresh


def test_which_inputs_want_gradients():
    leaf = Leaf(Buffer(), "write")
    values = (array(1), np.ones(1, np.int32), np.ones(1, bool), array(1))
    assert tape.wanted_inputs(values, (leaf, leaf, leaf, None)) == (0,)
    assert tape.wanted_inputs(values, (leaf, leaf, leaf, None), floats_only=False) == (0, 1)


def test_a_python_backward():
    leaf, x = Leaf(Buffer(), "write"), array(2, 3)
    seen = []

    def pull(heads, create_graph):
        seen.extend(head.value.tolist() for head in heads)
        return [tape.Tracked(heads[0].value * 100)]

    node = Node(None, (x,), (leaf,), [((2,), F32), ((2,), F32)], True, python=pull)
    found = tape.walk([(Entry(node, 0), ones(), None)], False, False)
    assert found[leaf].value.tolist() == [100, 100]
    assert seen == [[1, 1], [0, 0]]


def test_order_of_a_diamond():
    """Every node is pulled once, after all of its users."""
    leaf, x = Leaf(Buffer(), "write"), array(2, 3)
    pulled = []

    def make(name, parents):
        def pull(heads, create_graph):
            pulled.append(name)
            return [tape.Tracked(heads[0].value) for _ in parents]

        return Entry(Node(None, [x] * len(parents), parents, [((2,), F32)], True, python=pull), 0)

    bottom = make("bottom", [leaf])
    left, right = make("left", [bottom]), make("right", [bottom])
    top = make("top", [left, right, bottom])
    found = tape.walk([(top, ones(), None)], False, False)
    assert pulled == ["top", "right", "left", "bottom"] and found[leaf].value.tolist() == [3, 3]
