"""A graph run one operator at a time: what the profiler times instead of a fused program.

It is also how a graph runs that has just been made (``Cold``): nothing has to be traced for the graph as a whole, and
its operators have mostly been met before, in other graphs or in other places of this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from time import thread_time_ns
from typing import Any

import numpy as np

from gluonjax._base.dtypes import is_floating
from gluonjax._engine import lazy
from gluonjax._engine.graph import Node
from gluonjax._engine.loops import LOOPS, Loop, Unfit
from gluonjax._engine.lower import Body, Lowered
from gluonjax._engine.profile import recorder
from gluonjax._engine.run import ADD, PRICE_NS, USUAL_LENGTH, Kernel
from gluonjax._engine.step_kernels import kernel_of
from gluonjax._engine.tape import is_number
from gluonjax._ops.opdef import zero_grad

# Forward and backward together, in forwards; the backwards of new operators are traced, too.
_WITH_BACKWARD = 4.0
# For control flow without random numbers, which takes a key all the same.
_NO_KEY = np.zeros(2, np.uint32)

Seen = Callable[[Node, Sequence[Any], Sequence[Any], Mapping[int, Any]], None]


class Abandoned(BaseException):
    """A cold run has met something that is better compiled with the graph. Not an error that code in between wraps."""


class Cold:
    """A run of a new graph on the host with NumPy only.

    It may take what compiling would, which grows with the operators met, and what compiled code would take as well.

    Args:
        spent: nanoseconds of the processor that earlier runs have taken.
        allowed: what the last of them was allowed in the end.
        keep: whether it may be walked backwards, which has a program of its own.
        steady: decide by what runs, not by how long it takes.
    """

    __slots__ = ("_earned", "_limit", "_spent", "_started", "_steady", "keep")

    def __init__(self, spent: float, allowed: float, keep: bool, steady: bool = False) -> None:
        self._steady = steady
        self._started = thread_time_ns()
        self._spent = spent
        self._earned = float(PRICE_NS)
        self._limit = allowed
        self.keep = keep

    @property
    def allowed(self) -> float:
        """Nanoseconds that this run and earlier ones may take together, by the operators met so far."""
        return max(self._earned, self._limit)

    @property
    def elapsed(self) -> int:
        """Nanoseconds of the processor since it began."""
        return thread_time_ns() - self._started

    def check(self, kernel: Kernel, values: Sequence[Any]) -> None:
        """Give up where an operator would be compiled, or when the time is up."""
        if kernel.host:
            raise Abandoned
        plan = kernel.planned(values)
        price = plan.inherent + PRICE_NS * plan.equations / USUAL_LENGTH
        self._earned += _WITH_BACKWARD * price if self.keep else price
        if not plan.fits_numpy or (not self._steady and self._spent + self.elapsed > self.allowed):
            raise Abandoned


class _RanBody:
    """One run of a body; what loops see of it."""

    def __init__(self, run: OpByOp, order: Sequence[int], results: Sequence[Any]) -> None:
        self._run = run
        self._order = order
        self.results = results

    def pull(self, heads: Sequence[Any], variables: Sequence[int]) -> Sequence[Any]:
        return self._run.backward(heads, [self._order.index(variable) for variable in variables])


class OpByOp:
    """One forward of a graph, operator by operator, that can be walked backwards.

    Args:
        lowered: the graph's function.
        values: what the function takes.
        on_host: the values live on the host CPU.
        cold: use NumPy only; ``forward`` raises ``Abandoned`` where that does not pay.
    """

    def __init__(self, lowered: Lowered, values: Sequence[Any], on_host: bool, cold: Cold | None = None) -> None:
        self._lowered = lowered
        self._on_host = on_host
        self._cold = cold
        self._given = [lazy.force(value) for value in values]
        # For every node: (step, kernel, what it was called with, what it returned)
        self._calls: list[tuple[Any, Kernel | Loop, list[Any], Sequence[Any]]] = []

    def forward(self) -> tuple[Any, ...]:
        """What the graph's function returns."""
        with recorder.graph():
            return self._lowered.execute(self._given, self._run_step)

    def _run_step(self, step: Any, values: list[Any]) -> Sequence[Any]:
        cold = self._cold
        if cold is not None and step.node.subgraphs:
            loop = self._run_loop(step, values)
            if cold.keep:
                self._calls.append((step, loop, values, loop.results))
            return loop.results
        if step.kernel is None:
            step.kernel = self._make_kernel(step)
        kernel, numbers = step.kernel
        if numbers:
            place = len(step.sources)
            values[place:place] = numbers
        if cold is None:
            results = kernel.run(values, self._on_host)
        else:
            cold.check(kernel, values)
            results = [np.asarray(result) for result in kernel.run(values, True)]
            if not cold.keep:
                return results
        self._calls.append((step, kernel, values, results))
        return results

    def _make_kernel(self, step: Any) -> tuple[Kernel, list[float]]:
        op = step.node.op
        if step.node.subgraphs:
            return Kernel(op.name, step.fn, on_whole=op.on_whole), []
        return kernel_of(step.node, step.attrs, self._lowered.train)

    def _run_loop(self, step: Any, values: Sequence[Any]) -> Loop:
        try:
            return LOOPS[step.node.op.name](step.attrs, values, self._run_body)
        except Unfit:
            raise Abandoned from None

    def _run_body(self, body: Body, values: Sequence[Any]) -> _RanBody:
        if body.lowered.needs_key:
            raise Unfit  # the numbers of the step's key belong to the compiled loop
        given = [values[index] for index in body.order]
        if body.uses_key:
            given.append(_NO_KEY)
        run = OpByOp(body.lowered, given, self._on_host, self._cold)
        results = run.forward()[: body.lowered.output_count]
        return _RanBody(run, body.order, results)

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
            is_loop = not isinstance(kernel, Kernel)
            whole = (not is_loop and kernel.on_whole == "pass") or not all(
                is_floating(np.dtype(values[i].dtype)) for i in targets
            )
            present = tuple(
                index for index in range(step.count)
                if (step.place, index) in table and (whole or is_floating(np.dtype(results[index].dtype)))
                and is_number(results[index].dtype)
            )  # fmt: skip
            if not present or not targets:
                continue
            given = [table[step.place, index] for index in present]
            if is_loop:
                gradients: Sequence[Any] = kernel.pull(targets, dict(zip(present, given)))
            else:
                pull = kernel.backward(targets, present, len(values))
                gradients = pull.run([*values, *given], self._on_host)
                if self._cold is not None:
                    gradients = [np.asarray(gradient) for gradient in gradients]
            if seen is not None:
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
