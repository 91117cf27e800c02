"""The quickest way to run prepared equations: functions on numbered slots, or without slots where there is one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

Run = Callable[[Sequence[Any]], Sequence[Any]]
Step = Callable[[list[Any]], None]


def runner(
    steps: list[Any], input_count: int, constants: dict[int, np.ndarray], outputs: list[int], slot_count: int
) -> Run:
    """The quickest way to run some steps."""
    if not steps:
        return _pick(outputs, input_count, constants)
    if len(steps) == 1:
        function, ins, outs = steps[0]
        if outputs == outs:
            single = _single(function, ins, len(outs), input_count, constants)
            if single is not None:
                return single
    template = [constants.get(slot) for slot in range(slot_count)]
    prepared = [_step(*step) for step in steps]
    read = itemgetter(*outputs) if len(outputs) > 1 else None
    only = outputs[0] if len(outputs) == 1 else -1

    def run(values: Sequence[Any]) -> Sequence[Any]:
        env = template.copy()
        env[:input_count] = values
        for step in prepared:
            step(env)
        return read(env) if read is not None else (env[only],)

    return run


def _pick(outputs: list[int], input_count: int, constants: dict[int, np.ndarray]) -> Run:
    """A program without steps: its outputs are inputs or constants."""
    fixed = [constants.get(slot) for slot in outputs]
    return lambda values: tuple(
        [values[slot] if slot < input_count else value for slot, value in zip(outputs, fixed)]
    )


def _single(
    function: Callable[..., Any],
    ins: list[int],
    out_count: int,
    input_count: int,
    constants: dict[int, np.ndarray],
) -> Run | None:
    """A program of one step on one or two operands: no slots at all."""
    if out_count > 1:
        if len(ins) == 1 and ins[0] < input_count:
            place = ins[0]
            return lambda values: tuple(function(values[place]))
        return None
    if len(ins) == 1:
        place = ins[0]
        return (lambda values: (function(values[place]),)) if place < input_count else None
    if len(ins) == 2:
        first, second = ins
        if first < input_count and second < input_count:
            return lambda values: (function(values[first], values[second]),)
        if first < input_count and second in constants:
            right = constants[second]
            return lambda values: (function(values[first], right),)
        if second < input_count and first in constants:
            left = constants[first]
            return lambda values: (function(left, values[second]),)
        return None
    if len(ins) == 3 and all(slot < input_count for slot in ins):
        first, second, third = ins
        return lambda values: (function(values[first], values[second], values[third]),)
    return None


def _step(function: Callable[..., Any], ins: list[int], outs: list[int]) -> Step:
    """One equation as a function of the slots."""
    if len(outs) != 1:
        places = slice(outs[0], outs[-1] + 1)  # an equation's outputs lie side by side

        def several(env: list[Any]) -> None:
            env[places] = function(*[env[slot] for slot in ins])

        return several
    (out,) = outs
    if len(ins) == 1:
        (first,) = ins

        def unary(env: list[Any]) -> None:
            env[out] = function(env[first])

        return unary
    if len(ins) == 2:
        first, second = ins

        def binary(env: list[Any]) -> None:
            env[out] = function(env[first], env[second])

        return binary
    if len(ins) == 3:
        first, second, third = ins

        def ternary(env: list[Any]) -> None:
            env[out] = function(env[first], env[second], env[third])

        return ternary

    def many(env: list[Any]) -> None:
        env[out] = function(*[env[slot] for slot in ins])

    return many
