"""The tape: what ran while recording, and the walk backwards.

A ``Node`` is one recorded call. It keeps the values it was called with, so gradients are those of the values at
the time of the call, whatever is written into the arrays later. Entries point at a node's output; a ``Leaf`` is a
variable with a gradient buffer. The tape knows no NDArray: buffers only need ``_write`` and ``_value``.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Sequence
from typing import Any, final

import jax.numpy as jnp
import numpy as np

from gluonjax._base.dtypes import FLOATS, NUMBERS
from gluonjax._base.errors import MXNetError
from gluonjax._base.scopes import modes
from gluonjax._engine import lazy
from gluonjax._engine.profile import recorder
from gluonjax._engine.pullback import apply_pullback
from gluonjax._engine.run import ADD, Kernel

NOT_IN_GRAPH = (
    "Cannot differentiate node because it is not in a computational graph. You need to set is_recording to true or "
    "use autograd.record() to save computational graphs for backward. If you want to differentiate the same graph "
    "twice, you need to pass retain_graph=True to backward."
)

_numbers = itertools.count()

def is_number(dtype: Any) -> bool:
    """True for the types that MXNet gives gradients to: all but truth values."""
    return dtype in NUMBERS


@final
class Leaf:
    """A variable: where its gradient goes. ``req`` is 'write', 'add' or 'null'."""

    __slots__ = ("buffer", "fresh", "req")

    def __init__(self, buffer: Any, req: str) -> None:
        self.buffer = buffer
        self.req = req
        self.fresh = False


@final
class Entry:
    """One output of a recorded call. ``leaf`` is set on entries that stand in a variable's place after a write."""

    __slots__ = ("index", "leaf", "node")

    def __init__(self, node: Node, index: int) -> None:
        self.node = node
        self.index = index


class Node:
    """One recorded call. ``python`` is set for user-written backward functions (autograd.Function, CustomOp)."""

    __slots__ = (
        "dead", "kernel", "number", "on_host", "outputs", "parents", "plan", "pullback", "python", "values", "wanted",
        "zero",
    )  # fmt: skip

    def __init__(
        self, kernel: Kernel | None, values: Sequence[Any], parents: Sequence[Leaf | Entry | None],
        outputs: Sequence[tuple[tuple[int, ...], Any]], on_host: bool, pullback: Any = None,
        python: Callable[..., Any] | None = None, zero: bool = False, plan: Any = None,
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.values = values
        self.parents = parents
        self.outputs = outputs
        self.on_host = on_host
        self.pullback = pullback
        self.python = python
        self.number = next(_numbers)
        self.dead = False
        # What its kernel knows of such calls.
        self.plan = plan
        # The call passes no gradient: what lies before it gets zeros, without a walk through its backward.
        self.zero = zero
        if zero:
            self.wanted: tuple[int, ...] = ()
        elif plan is not None and pullback is None:
            self.wanted = tuple([index for index in plan.numbers if parents[index] is not None])
        else:
            self.wanted = wanted_inputs(values, parents, pullback is not None)


def wanted_inputs(values: Sequence[Any], parents: Sequence[Any], floats_only: bool = True) -> tuple[int, ...]:
    """The inputs that a gradient should flow to: recorded ones that hold numbers (for a pullback: floats)."""
    kinds = FLOATS if floats_only else NUMBERS
    return tuple([i for i, p in enumerate(parents) if p is not None and values[i].dtype in kinds])


def follows(node: Node, dtype: Any) -> bool:
    """Whether a result of this type is on the tape: whole numbers only where they come from such, or from a cast."""
    if dtype in FLOATS or node.zero or (node.kernel is not None and node.kernel.on_whole == "pass"):
        return True
    return any(node.values[i].dtype not in FLOATS for i in node.wanted)


class Tracked:
    """A gradient while walking back: its value and, under create_graph, its own tape entry."""

    __slots__ = ("entry", "value")

    def __init__(self, value: Any, entry: Leaf | Entry | None = None) -> None:
        self.value = value
        self.entry = entry


def _run(kernel: Kernel, inputs: Sequence[Tracked], on_host: bool, record: bool) -> list[Tracked]:
    values = [item.value for item in inputs]
    results = kernel.run(values, on_host)
    if not record:
        return [Tracked(result) for result in results]
    parents = [item.entry for item in inputs]
    if all(parent is None for parent in parents):
        return [Tracked(result) for result in results]
    node = Node(kernel, values, parents, [(r.shape, r.dtype) for r in results], on_host)
    return [Tracked(result, Entry(node, index)) for index, result in enumerate(results)]


def walk(
    heads: Sequence[tuple[Leaf | Entry, Any, Any]], retain_graph: bool, create_graph: bool,
    targets: Sequence[Leaf | Entry] = (),
) -> dict[Any, Tracked]:  # fmt: skip
    """Run backwards from the heads and return the gradient of every leaf and target that was reached.

    Args:
        heads: ``(entry, head gradient value, tape entry of the head gradient or None)``.
        create_graph: record the backward computation itself.
        targets: entries (not only leaves) whose gradients are wanted too; keys are ``(node number, index)``.
    """
    found: dict[Any, Tracked] = {}
    pending: dict[int, tuple[Node, list[Tracked | None]]] = {}
    order: list[int] = []
    wanted_keys = {(t.node.number, t.index) for t in targets if type(t) is Entry}

    def add(slot: Tracked | None, new: Tracked, on_host: bool) -> Tracked:
        return new if slot is None else _run(ADD, (slot, new), on_host, create_graph)[0]

    def send(target: Leaf | Entry, gradient: Tracked, on_host: bool) -> None:
        if type(target) is Leaf:
            found[target] = add(found.get(target), gradient, on_host)
            return
        node = target.node
        if node.dead:
            return
        slot = pending.get(node.number)
        if slot is None:
            slot = pending[node.number] = (node, [None] * len(node.outputs))
            heapq.heappush(order, -node.number)
        slot[1][target.index] = add(slot[1][target.index], gradient, node.on_host)

    for entry, value, value_entry in heads:
        if type(entry) is Entry and entry.node.dead:
            raise MXNetError(NOT_IN_GRAPH)
        send(entry, Tracked(value, value_entry), True if type(entry) is Leaf else entry.node.on_host)

    visited = []
    watch = modes.watch
    blocked: list[Any] = []
    structure = count = 0
    while order:
        number = -heapq.heappop(order)
        node, gradients = pending.pop(number)
        structure, count = hash((structure, id(node.kernel))), count + 1
        if wanted_keys:
            for index, gradient in enumerate(gradients):
                if gradient is not None and (number, index) in wanted_keys:
                    found[(number, index)] = gradient
        if not retain_graph:
            visited.append(node)
        parents, wanted = node.parents, node.wanted
        if node.zero:
            blocked.extend(parents)
        if not wanted:
            continue
        pulled = _pull(node, gradients, create_graph)
        if watch is not None:
            watch.backward(node, pulled)
        for index, gradient in zip(wanted, pulled):
            parent = parents[index]
            if gradient is None or parent is None:
                continue
            if type(parent) is Entry and parent.node.number not in pending and not parent.node.dead:
                before = parent.node  # the usual case of ``send``
                slots: list[Tracked | None] = [None] * len(before.outputs)
                slots[parent.index] = gradient
                pending[before.number] = (before, slots)
                heapq.heappush(order, -before.number)
            else:
                send(parent, gradient, node.on_host)
    lazy.eager.seen(structure, count)
    if blocked:
        _zero_leaves(blocked, found)
    for node in visited:
        release(node)
    return found


def _zero_leaves(parents: list[Any], found: dict[Any, Tracked]) -> None:
    """Leaves that are reached only through operators without a gradient get zeros."""
    seen: set[int] = set()
    while parents:
        parent = parents.pop()
        if type(parent) is Leaf:
            if parent not in found and parent.buffer is not None:
                value = parent.buffer._raw
                on_host = parent.buffer._cell.ctx.is_host
                found[parent] = Tracked((np if on_host else jnp).zeros(value.shape, value.dtype))
        elif parent is not None and parent.node.number not in seen:
            seen.add(parent.node.number)
            parents.extend(parent.node.parents)


def _pull(node: Node, gradients: list[Tracked | None], create_graph: bool) -> Sequence[Tracked | None]:
    outputs = node.outputs
    if node.python is not None:
        heads = [
            Tracked(_zeros(*outputs[i], node.on_host)) if g is None else g for i, g in enumerate(gradients)
        ]
        return node.python(heads, create_graph)
    if node.pullback is not None and not create_graph:
        # A head may have been put off, where an eager loop repeats itself.
        heads = tuple(
            _zeros(*outputs[i], node.on_host) if g is None else lazy.force(g.value)
            for i, g in enumerate(gradients)
        )
        return [Tracked(value) for value in apply_pullback(node.pullback, heads)]
    if len(gradients) == 1:
        present = (0,) if outputs[0][1] in NUMBERS else ()  # a node is met because it has a gradient
    else:
        present = tuple([i for i, g in enumerate(gradients) if g is not None and outputs[i][1] in NUMBERS])
    if not present:
        return [None] * len(node.wanted)
    assert node.kernel is not None
    values = node.values
    if not create_graph:
        heads = [gradients[i].value for i in present]  # type: ignore[union-attr]
        operands = [*values, *heads]
        plan = node.plan
        if plan is not None and modes.tracer is None and not recorder.on:
            for index, head in zip(present, heads):
                if head.dtype != outputs[index][1] or head.shape != outputs[index][0]:
                    break
            else:
                found = plan.backwards.get((node.wanted, present))
                if found is None:
                    kernel = node.kernel.backward(node.wanted, present, len(values))
                    found = plan.backwards[node.wanted, present] = (kernel, kernel.planned(operands))
                kernel, plan = found
                return [
                    Tracked(value)
                    for value in kernel.run_planned(plan, operands, node.on_host, None, lazy.eager.on)
                ]
    kernel = node.kernel.backward(node.wanted, present, len(values))
    if not create_graph:
        return [Tracked(value) for value in kernel.run(operands, node.on_host, None, lazy.eager.on)]
    inputs = [Tracked(value, parent) for value, parent in zip(values, node.parents)]
    return _run(kernel, [*inputs, *[gradients[i] for i in present]], node.on_host, True)  # type: ignore[list-item]


def _zeros(shape: tuple[int, ...], dtype: Any, on_host: bool) -> Any:
    if dtype not in FLOATS:
        return np.zeros(shape, _float0())
    return np.zeros(shape, dtype) if on_host else jnp.zeros(shape, dtype)


def _float0() -> Any:
    import jax

    return jax.dtypes.float0


def release(node: Node) -> None:
    """Forget what a node kept; entries that point at it are constants from now on."""
    node.dead = True
    node.values = node.parents = ()
    node.pullback = node.python = None
    node.wanted = ()


def deliver(found: dict[Any, Tracked]) -> None:
    """Write gradients into the buffers of their leaves, as each leaf's ``req`` says."""
    for leaf, gradient in found.items():
        if type(leaf) is not Leaf or leaf.req == "null" or leaf.buffer is None:
            continue
        buffer = leaf.buffer
        before: Any = buffer._cell.value if hasattr(buffer, "_cell") else None
        if lazy.waits(before):
            # Nobody has read or used the last gradient, but a loop without updates is there to compute them.
            lazy.launch(before.call)
        if leaf.req == "add":
            buffer._accumulate(gradient.value)
        else:
            buffer._write(gradient.value)
        leaf.fresh = True
        if modes.tracer is not None:
            modes.tracer.touched(leaf)
