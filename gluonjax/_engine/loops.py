"""Control flow in a graph that runs operator by operator: loops and branches in Python, over bodies that are graphs.

The operators are those of ``_ops/control_flow.py``, which say what their attributes mean. Whatever is unusual (a loop
of no steps, states that change their shape) raises ``Unfit``, and the operator's own function deals with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from gluonjax._base.dtypes import is_floating
from gluonjax._engine.lower import Body
from gluonjax._ops.opdef import Attrs


class Unfit(Exception):
    """This call is not for a loop in Python."""


class Ran(Protocol):
    """A body that has run."""

    @property
    def results(self) -> Sequence[Any]:
        """Its outputs."""
        ...

    def pull(self, heads: Sequence[Any], variables: Sequence[int]) -> Sequence[Any]:
        """Gradients of some of its variables from those of its outputs (None: no gradient)."""
        ...


RunBody = Callable[[Body, Sequence[Any]], Ran]


class Loop(Protocol):
    """A control-flow operator that has run."""

    results: tuple[Any, ...]

    def pull(self, targets: Sequence[int], heads: Mapping[int, Any]) -> list[Any]:
        """Gradients of some inputs.

        Args:
            targets: numbers of these inputs.
            heads: gradients of the results, by number.
        """
        ...


class _Gradients:
    """Gradients of a loop's inputs that grow with every step."""

    def __init__(self, values: Sequence[Any], targets: Sequence[int]) -> None:
        self._values = values
        self._targets = targets
        self._found: dict[int, Any] = {}

    def add(self, place: int, gradient: Any) -> None:
        if place in self._targets:
            before = self._found.get(place)
            self._found[place] = gradient if before is None else before + gradient

    def add_row(self, place: int, number: int, gradient: Any) -> None:
        if place in self._targets:
            if place not in self._found:
                self._found[place] = np.zeros(self._values[place].shape, gradient.dtype)
            row = self._found[place][number : number + 1]
            row += gradient.reshape(row.shape)

    def listed(self) -> list[Any]:
        zeros = {place: np.zeros(self._values[place].shape, self._values[place].dtype) for place in self._targets}
        return [np.asarray(self._found.get(place, zeros[place])) for place in self._targets]


def _row(array: Any, number: int, shape: tuple[int, ...] | None = None) -> Any:
    return array[number : number + 1].reshape((array.shape[1:] or (1,)) if shape is None else shape)


def _differentiable(values: Sequence[Any], places: Sequence[int], allowed: Sequence[int]) -> list[int]:
    """The variables of a body (``places``: which input each one is) that take part in gradients."""
    allowed_set = frozenset(allowed)
    return [
        variable for variable, place in enumerate(places)
        if place in allowed_set and is_floating(np.dtype(values[place].dtype))
    ]  # fmt: skip


def _must_be_alike(before: Sequence[Any], after: Sequence[Any]) -> None:
    if any(old.shape != new.shape or old.dtype != new.dtype for old, new in zip(before, after, strict=True)):
        raise Unfit


class _Steps:
    """A body that has run several times, each time with the states of before."""

    def __init__(self, values: Sequence[Any], places: Sequence[int], states: Sequence[int], collected: int) -> None:
        self._values = values
        # Which input every variable of the body is, and which of them are states.
        self._places = places
        self._states = states
        self._collected = collected
        # The first so many inputs go into the body row by row.
        self._rows = 0
        self._ran: list[Ran] = []

    def _collect(self, length: int) -> list[Any]:
        """The outputs of all steps below each other, and zeros behind them."""
        if not self._ran:
            raise Unfit
        outputs = []
        for index, first in enumerate(self._ran[0].results[: self._collected]):
            rows = np.zeros((length, *first.shape), first.dtype)
            np.stack([ran.results[index] for ran in self._ran], out=rows[: len(self._ran)])
            outputs.append(rows)
        return outputs

    def pull(self, targets: Sequence[int], heads: Mapping[int, Any]) -> list[Any]:
        found = _Gradients(self._values, targets)
        variables = _differentiable(self._values, self._places, (*targets, *self._states))
        states = [heads.get(self._collected + number) for number in range(len(self._states))]
        for number in range(len(self._ran) - 1, -1, -1):
            ran = self._ran[number]
            given = [
                _row(heads[i], number, ran.results[i].shape) if i in heads else None for i in range(self._collected)
            ]
            if all(head is None for head in (*given, *states)):
                continue
            before: list[Any] = [None] * len(states)
            for variable, gradient in zip(variables, ran.pull([*given, *states], variables)):
                place = self._places[variable]
                if place < self._rows:
                    found.add_row(place, number, gradient)
                elif place in self._states:
                    state = self._states.index(place)
                    before[state] = gradient if before[state] is None else before[state] + gradient
                else:
                    found.add(place, gradient)
            states = before
        for place, gradient in zip(self._states, states):
            if gradient is not None:
                found.add(place, gradient)
        return found.listed()


class Foreach(_Steps):
    """``_foreach``."""

    def __init__(self, attrs: Attrs, values: Sequence[Any], run_body: RunBody) -> None:
        (body,) = attrs.subgraphs
        rows, count = len(attrs.in_data_locs), len(attrs.in_state_locs)
        variables = (*attrs.in_data_locs, *attrs.in_state_locs, *attrs.remain_locs)
        places = [variables.index(number) for number in range(len(variables))]
        super().__init__(values, places, range(rows, rows + count), attrs.num_out_data)
        self._rows = rows
        sequences, states, rest = values[:rows], values[rows : rows + count], values[rows + count :]
        if not rows or any(not array.ndim or len(array) != len(sequences[0]) for array in sequences):
            raise Unfit
        for number in range(len(sequences[0])):
            given = [*(_row(array, number) for array in sequences), *states, *rest]
            self._ran.append(run_body(body, [given[place] for place in places]))
            following = self._ran[-1].results[self._collected :]
            _must_be_alike(states, following)
            states = following
        self.results: tuple[Any, ...] = (*self._collect(len(self._ran)), *states)


class While(_Steps):
    """``_while_loop``."""

    def __init__(self, attrs: Attrs, values: Sequence[Any], run_body: RunBody) -> None:
        condition, body = attrs.subgraphs
        places = attrs.func_input_locs
        super().__init__(values, places, [places[index] for index in attrs.func_var_locs], attrs.num_out_data)
        if len(set(self._states)) < len(self._states):
            raise Unfit
        table = list(values)
        for _ in range(attrs.max_iterations):
            (holds,) = run_body(condition, [table[place] for place in attrs.cond_input_locs]).results
            if holds.size != 1:
                raise Unfit
            if not holds.reshape(()):
                break
            self._ran.append(run_body(body, [table[place] for place in places]))
            following = self._ran[-1].results[self._collected :]
            _must_be_alike([table[place] for place in self._states], following)
            for place, state in zip(self._states, following):
                table[place] = state
        self.results: tuple[Any, ...] = (
            *self._collect(attrs.max_iterations), *(table[place] for place in self._states)
        )  # fmt: skip


class Cond:
    """``_cond``."""

    def __init__(self, attrs: Attrs, values: Sequence[Any], run_body: RunBody) -> None:
        condition, then_body, else_body = attrs.subgraphs
        self._values = values
        (holds,) = run_body(condition, [values[place] for place in attrs.cond_input_locs]).results
        if holds.size != 1:
            raise Unfit
        chosen = bool(holds.reshape(()))
        self._places = attrs.then_input_locs if chosen else attrs.else_input_locs
        self._ran = run_body(then_body if chosen else else_body, [values[place] for place in self._places])
        self.results: tuple[Any, ...] = tuple(self._ran.results)

    def pull(self, targets: Sequence[int], heads: Mapping[int, Any]) -> list[Any]:
        found = _Gradients(self._values, targets)
        variables = _differentiable(self._values, self._places, targets)
        given = [heads.get(number) for number in range(len(self.results))]
        for variable, gradient in zip(variables, self._ran.pull(given, variables)):
            found.add(self._places[variable], gradient)
        return found.listed()


LOOPS: dict[str, Callable[[Attrs, Sequence[Any], RunBody], Loop]] = {
    "_foreach": Foreach,
    "_while_loop": While,
    "_cond": Cond,
}
