"""A graph run one operator at a time: what the profiler times instead of a fused program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gluonjax._base.dtypes import is_floating
from gluonjax._engine import lazy
from gluonjax._engine.graph import Node
from gluonjax._engine.lower import Lowered
from gluonjax._engine.profile import recorder
from gluonjax._engine.run import ADD, Kernel
from gluonjax._engine.tape import is_number
from gluonjax._ops.opdef import zero_grad

Seen = Callable[[Node, Sequence[Any], Sequence[Any], Mapping[int, Any]], None]


class OpByOp:
    """One forward of a graph, operator by operator, that can be walked backwards.

    Args:
        lowered: the graph's function.
        values: what the function takes.
        on_host: the values live on the host CPU.
    """

    def __init__(self, lowered: Lowered, values: Sequence[Any], on_host: bool) -> None:
        self._lowered = lowered
        self._on_host = on_host
        self._given = [lazy.force(value) for value in values]
        # For every node: (step, kernel, what it was called with, what it returned)
        self._calls: list[tuple[Any, Kernel, list[Any], Sequence[Any]]] = []

    def forward(self) -> tuple[Any, ...]:
        """What the graph's function returns."""
        with recorder.graph():
            return self._lowered.execute(self._given, self._run_step)

    def _run_step(self, step: Any, values: list[Any]) -> Sequence[Any]:
        kernel = step.kernel
        if kernel is None:
            op = step.node.op
            kernel = Kernel(op.name, step.fn, host=op.host, on_whole=op.on_whole, steady=op.is_sampler)
            step.kernel = kernel
        results = kernel.run(values, self._on_host)
        self._calls.append((step, kernel, values, results))
        return results

    def results(self) -> Iterator[tuple[Node, Sequence[Any]]]:
        """Every operator's node with what it returned."""
        for step, _, _, results in self._calls:
            yield step.node, results[: step.count]

    def backward(self, heads: Sequence[Any], wanted: Sequence[int], seen: Seen | None = None) -> list[Any]:
        """Gradients of the wanted values.

        Args:
            heads: gradients of the outputs (None: no gradient).
            wanted: positions of values.
            seen: called with every operator's node, inputs, head gradients, and gradients by input number.
        """
        with recorder.graph():
            return self._walk(heads, wanted, seen)

    def _walk(self, heads: Sequence[Any], wanted: Sequence[int], seen: Seen | None) -> list[Any]:
        lowered = self._lowered
        table: dict[tuple[int, int], Any] = {}
        for place, head in zip(lowered.output_places, heads):
            if head is not None:
                self._add(table, place, lazy.force(head))
        variables = lowered.variable_places
        reached = {(variables[index], 0) for index in wanted}
        for step, _, _, _ in self._calls:
            if step.node.op.grad is not zero_grad and any(source in reached for source in step.sources):
                reached.update((step.place, index) for index in range(step.count))
        for step, kernel, values, results in reversed(self._calls):
            if (step.place, 0) not in reached:
                continue
            targets = tuple(
                index for index, source in enumerate(step.sources)
                if source in reached and is_number(values[index].dtype)
            )  # fmt: skip
            # As on the tape: whole numbers have a gradient only where they come from such, or from a cast.
            whole = kernel.on_whole == "pass" or not all(is_floating(np.dtype(values[i].dtype)) for i in targets)
            present = tuple(
                index for index in range(step.count)
                if (step.place, index) in table and (whole or is_floating(np.dtype(results[index].dtype)))
                and is_number(results[index].dtype)
            )  # fmt: skip
            if not present or not targets:
                continue
            pull = kernel.backward(targets, present, len(values))
            gradients = pull.run([*values, *(table[step.place, index] for index in present)], self._on_host)
            if seen is not None:
                given = [table[step.place, index] for index in present]
                seen(step.node, values, given, dict(zip(targets, gradients)))
            for index, gradient in zip(targets, gradients):
                self._add(table, step.sources[index], gradient)
        return [self._gradient(table.get((variables[index], 0)), self._given[index]) for index in wanted]

    def _add(self, table: dict[tuple[int, int], Any], place: tuple[int, int], gradient: Any) -> None:
        before = table.get(place)
        table[place] = gradient if before is None else ADD.run((before, gradient), self._on_host)[0]

    @staticmethod
    def _gradient(found: Any, value: Any) -> Any:
        return np.zeros(value.shape, value.dtype) if found is None else found
