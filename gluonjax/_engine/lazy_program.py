"""What a structure of put-off calls is compiled to: one function of the arrays that come from outside.

The same structure in the next step finds its program again. A call whose backward is in it too is differentiated in
place, its forward computed once.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from gluonjax._engine.compile import Jitted

if TYPE_CHECKING:
    from gluonjax._engine.run import Kernel

# For every call its kernel, where its inputs come from (an argument's number, or (call, output)), and which of its
# results are wanted.
Steps = tuple[tuple["Kernel", tuple[Any, ...], tuple[int, ...]], ...]

_programs: OrderedDict[Any, Program] = OrderedDict()
_MOST_PROGRAMS = 512
_made = [0]


def programs_made() -> int:
    """How many programs have been traced, and compiled, so far."""
    return _made[0]


def _partners(steps: Steps) -> dict[int, int]:
    """For calls whose backward is among the others: its place."""
    places: dict[Any, int] = {}
    found: dict[int, int] = {}
    for number, (kernel, sources, _) in enumerate(steps):
        primal = kernel.primal
        forward = None if primal is None else places.get((id(primal), sources[: kernel.pulls[2]]))
        if forward is not None and forward not in found:
            found[forward] = number
        places.setdefault((id(kernel), sources), number)
    return found


def _forward_with_pullback(kernel: Kernel, backward: Kernel, values: Sequence[Any]) -> Any:
    """``(results, function of the backward's inputs)``, the forward computed once; None for whole numbers.

    XLA would merge the forward in the backward with the forward, but not where loops are in it.
    """
    wanted, present, arity = backward.pulls
    if any(not jax.numpy.issubdtype(values[index].dtype, np.floating) for index in wanted):
        return None

    def of_wanted(*some: Any) -> tuple[Any, Any]:
        full = list(values)
        for index, value in zip(wanted, some):
            full[index] = value
        results = kernel.fn(*full)
        return tuple(results[index] for index in present), results

    outputs, pull, results = jax.vjp(of_wanted, *(values[index] for index in wanted), has_aux=True)

    def pullback(inputs: Sequence[Any]) -> tuple[Any, ...]:
        heads = tuple([head.astype(output.dtype) for head, output in zip(inputs[arity:], outputs)])
        return tuple([one.astype(values[index].dtype) for index, one in zip(wanted, pull(heads))])

    return results, pullback


class Program:
    """A structure of calls, compiled.

    Args:
        front: the results that come first, ``(call, output)``.
        donated: how many of the leading arguments give their memory to these.
    """

    __slots__ = ("_compiled", "holders", "order")

    def __init__(self, steps: Steps, front: tuple[tuple[int, int], ...], donated: int) -> None:
        partner = _partners(steps)
        known = set(front)
        rest = [(number, index) for number, step in enumerate(steps) for index in step[2]]
        # What the results are, in order.
        self.order = [*front, *[one for one in rest if one not in known]]
        # How many references to each donated argument the calls hold, which end with the launch.
        uses = Counter(one for _, sources, _ in steps for one in sources if type(one) is int)
        self.holders = [uses[slot] for slot in range(donated)]
        order = self.order

        def program(*arrays: Any) -> tuple[Any, ...]:
            _made[0] += 1  # runs while tracing only
            table: list[tuple[Any, ...]] = []
            pullbacks: dict[int, Callable[..., Any]] = {}
            for number, (kernel, sources, _) in enumerate(steps):
                values = [arrays[one] if type(one) is int else table[one[0]][one[1]] for one in sources]
                if number in pullbacks:
                    results = pullbacks[number](values)
                elif number in partner and (pair := _forward_with_pullback(kernel, steps[partner[number]][0], values)):
                    results, pullbacks[partner[number]] = pair
                else:
                    results = kernel.fn(*values)
                table.append(results)
            outputs = tuple([table[number][index] for number, index in order])
            # Waiting for the launch needs a result that no later launch takes over.
            return (*outputs, jax.numpy.zeros((), np.int8)) if donated == len(order) else outputs

        self._compiled = Jitted(program, donate=tuple(range(donated)), keep_unused=donated > 0)

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        return self._compiled(*arrays)


def program_of(steps: Steps, front: tuple[tuple[int, int], ...], donated: int) -> Program:
    """The program of a structure; see ``Program``."""
    key = (steps, front, donated)
    found = _programs.get(key)
    if found is None:
        found = _programs[key] = Program(steps, front, donated)
        if len(_programs) > _MOST_PROGRAMS:
            _programs.popitem(last=False)
    else:
        _programs.move_to_end(key)
    return found
