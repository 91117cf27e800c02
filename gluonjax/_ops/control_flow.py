"""Loops and branches with bodies that are graphs: ``_foreach``, ``_while_loop``, ``_cond``.

A body arrives as an object ``body(values, key) -> outputs``: values in the order of the subgraph's variables, raw key
data or None. The attributes say which input of the operator is which variable of which body.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._ops.opdef import Attrs, Ports, check, operator

Where = tuple[int, ...]


def _outputs(attrs: Attrs) -> tuple[str, ...]:
    count = attrs.num_outputs
    return ("output",) if count == 1 else tuple(f"output{index}" for index in range(count))


def _numbered(key: Array, number: Any) -> Array:
    """Raw key data for one step of a loop."""
    return jax.random.key_data(jax.random.fold_in(key, number))


def _row(data: Array, number: Any) -> Array:
    row = lax.dynamic_index_in_dim(data, number, keepdims=False)
    return lax.reshape(row, (1,)) if row.ndim == 0 else row


def _check_states(name: str, before: Sequence[Array], after: Sequence[Array]) -> None:
    for number, (old, new) in enumerate(zip(before, after, strict=True)):
        check(
            old.shape == new.shape and old.dtype == new.dtype,
            f"{name}: state {number} goes into the body as {old.dtype}{list(old.shape)} and comes out as "
            f"{new.dtype}{list(new.shape)}; a loop's states must keep shape and dtype",
        )


# ---- foreach -------------------------------------------------------------------------------------------


def _foreach_ports(attrs: Attrs, count: int) -> tuple[Ports, ...]:
    return (
        Ports(
            inputs=_owners((*attrs.in_data_locs, *attrs.in_state_locs, *attrs.remain_locs)),
            sliced=frozenset(range(len(attrs.in_data_locs))),
            outputs=tuple((index, index) for index in range(attrs.num_outputs)),
            stacked=frozenset(range(attrs.num_out_data)),
        ),
    )


def _owners(places: Where) -> Where:
    """Input number ``i`` is the subgraph's variable ``places[i]``: the inputs in the order of the variables."""
    owner = [0] * len(places)
    for index, place in enumerate(places):
        owner[place] = index
    return tuple(owner)


@operator(
    "_foreach", variadic="num_args", outputs=_outputs, dtypes="free", bodies=_foreach_ports, heavy=True
)
def foreach(
    *data: Array, num_args: int, num_outputs: int, num_out_data: int, in_state_locs: Where, in_data_locs: Where,
    remain_locs: Where, subgraphs: Any, key: Any,
) -> tuple[Array, ...]:  # fmt: skip
    """Run a body for every row of some arrays, with states that each step hands to the next.

    Args:
        data: arrays of one length, then the first states, then what else the body reads.
        num_outputs: outputs of the body, states included.
        num_out_data: how many of them are collected.

    Returns:
        Collected outputs with the length in front, then the last states.
    """
    (body,) = subgraphs
    rows, count = len(in_data_locs), len(in_state_locs)
    check(rows > 0, "foreach: needs at least one data array to go through")
    sequences, states, rest = data[:rows], data[rows : rows + count], data[rows + count :]
    for array in sequences:
        check(array.ndim > 0, "foreach: cannot go through a scalar")
        check(
            array.shape[0] == sequences[0].shape[0],
            f"foreach: data arrays have different lengths: {[array.shape for array in sequences]}",
        )
    owner = _owners((*in_data_locs, *in_state_locs, *remain_locs))

    def call(number: Array, states: Sequence[Array]) -> tuple[Sequence[Array], Sequence[Array]]:
        given = [*(_row(array, number) for array in sequences), *states, *rest]
        step_key = _numbered(key, number) if body.uses_key else None
        results = body([given[index] for index in owner], step_key)
        return results[num_out_data:], results[:num_out_data]

    def step(states: tuple[Array, ...], number: Array) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        new, outputs = call(number, states)
        _check_states("foreach", states, new)
        return tuple(new), tuple(outputs)

    steps = jnp.arange(sequences[0].shape[0], dtype=jnp.int32)
    last, collected = lax.scan(step, tuple(states), steps)
    return (*collected, *last)


# ---- while_loop ----------------------------------------------------------------------------------------


def _while_ports(attrs: Attrs, count: int) -> tuple[Ports, ...]:
    number = attrs.num_outputs
    return (
        Ports(inputs=attrs.cond_input_locs),
        Ports(
            inputs=attrs.func_input_locs,
            outputs=tuple((index, index) for index in range(number)),
            stacked=frozenset(range(attrs.num_out_data)),
            length=attrs.max_iterations,
        ),
    )


@operator(
    "_while_loop", variadic="num_args", outputs=_outputs, dtypes="free", bodies=_while_ports, heavy=True
)
def while_loop(
    *data: Array, num_args: int, num_outputs: int, num_out_data: int, max_iterations: int, cond_input_locs: Where,
    func_input_locs: Where, func_var_locs: Where, subgraphs: Any, key: Any,
) -> tuple[Array, ...]:  # fmt: skip
    """Run a body while a condition on the states holds, at most a given number of times.

    Args:
        data: whatever condition and body read.
        max_iterations: the most steps; also the length of collected outputs, whose unused rows are 0.
        func_var_locs: which of the body's variables are the states.

    Returns:
        Collected outputs with ``max_iterations`` in front, then the last states.
    """
    condition, body = subgraphs
    places = [func_input_locs[index] for index in func_var_locs]
    first = tuple(data[index] for index in places)

    def arguments(states: Sequence[Array], locs: Where) -> list[Array]:
        table = list(data)
        for place, state in zip(places, states):
            table[place] = state
        return [table[index] for index in locs]

    def holds(states: Sequence[Array], number: Any) -> Array:
        step_key = _numbered(key, 2 * number + 1) if condition.uses_key else None
        (value,) = condition(arguments(states, cond_input_locs), step_key)
        check(value.size == 1, f"while_loop: the condition must be one number, got the shape {value.shape}")
        return lax.reshape(value, ()) != 0

    def run(states: Sequence[Array], number: Any) -> tuple[Array, ...]:
        step_key = _numbered(key, 2 * number) if body.uses_key else None
        return tuple(body(arguments(states, func_input_locs), step_key))

    shapes = jax.eval_shape(run, first, np.int32(0))
    _check_states("while_loop", first, shapes[num_out_data:])  # type: ignore[arg-type]
    nothing = tuple(jnp.zeros(s.shape, s.dtype) for s in shapes[:num_out_data])

    def go_on(states: tuple[Array, ...], number: Array) -> tuple[tuple[Array, ...], Array, tuple[Array, ...]]:
        results = run(states, number)
        new = results[num_out_data:]
        return new, holds(new, number + 1), results[:num_out_data]

    def rest(states: tuple[Array, ...], number: Array) -> tuple[tuple[Array, ...], Array, tuple[Array, ...]]:
        return states, jnp.asarray(False), nothing

    def step(carry: tuple[tuple[Array, ...], Array], number: Array) -> tuple[Any, tuple[Array, ...]]:
        states, active = carry
        states, active, outputs = lax.cond(active, go_on, rest, states, number)
        return (states, active), outputs

    start = first, holds(first, np.int32(0))
    (last, _), collected = lax.scan(step, start, jnp.arange(max_iterations, dtype=jnp.int32))
    return (*collected, *last)


# ---- cond ----------------------------------------------------------------------------------------------


def _cond_ports(attrs: Attrs, count: int) -> tuple[Ports, ...]:
    pairs = tuple((index, index) for index in range(attrs.num_outputs))
    return (
        Ports(inputs=attrs.cond_input_locs),
        Ports(inputs=attrs.then_input_locs, outputs=pairs),
        Ports(inputs=attrs.else_input_locs, outputs=pairs),
    )


@operator("_cond", variadic="num_args", outputs=_outputs, dtypes="free", bodies=_cond_ports, heavy=True)
def cond(
    *data: Array, num_args: int, num_outputs: int, cond_input_locs: Where, then_input_locs: Where,
    else_input_locs: Where, subgraphs: Any, key: Any,
) -> tuple[Array, ...]:  # fmt: skip
    """Run one of two bodies.

    Args:
        data: whatever condition and bodies read.

    Returns:
        The outputs of the body that ran.
    """
    condition, then_body, else_body = subgraphs

    def run(body: Any, locs: Where, number: int) -> tuple[Array, ...]:
        body_key = _numbered(key, np.int32(number)) if body.uses_key else None
        return tuple(body([data[index] for index in locs], body_key))

    (value,) = run(condition, cond_input_locs, 0)
    check(value.size == 1, f"cond: the condition must be one number, got the shape {value.shape}")
    return lax.cond(
        lax.reshape(value, ()) != 0,
        lambda: run(then_body, then_input_locs, 1),
        lambda: run(else_body, else_input_locs, 2),
    )
