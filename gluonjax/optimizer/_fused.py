"""Updating many parameters at once: one compiled program for all of them, whatever the optimizer.

Trainer, Module and Updater share this. The numbers that change from step to step (learning rates, decay, step
counts) go in as one small array each, so no step compiles anew.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from gluonjax._base.errors import MXNetError
from gluonjax._engine import inflight


def has_pure_rule(optimizer: Any) -> bool:
    """True where the optimizer's update is a pure function of arrays and numbers."""
    return bool(getattr(optimizer, "fusable", False))


def masters_of(optimizer: Any, weights: Sequence[Any]) -> tuple[bool, ...]:
    """For every weight, whether it is updated through a float32 master copy."""
    return tuple(optimizer.uses_master(np.dtype(weight.dtype)) for weight in weights)


def states_of(updater: Any, indices: Sequence[int], weights: Sequence[Any]) -> list[Any]:
    """The updater's states for these parameters; missing ones are created, loaded ones moved to the device."""
    optimizer, table = updater.optimizer, updater.states
    states = []
    for index, weight in zip(indices, weights):
        if index not in table:
            table[index] = optimizer.create_state_multi_precision(index, weight)
            updater.states_synced[index] = True
        elif not updater.states_synced.get(index, True):
            table[index] = updater.sync_state_context(table[index], weight.context)
            updater.states_synced[index] = True
        states.append(table[index])
    return states


def values_of(states: Any) -> Any:
    """The same nesting with raw arrays."""
    if states is None:
        return None
    if isinstance(states, (list, tuple)):
        return tuple(values_of(one) for one in states)
    return states._value if hasattr(states, "_cell") else states


def write_states(states: Any, new: Any) -> None:
    """Put new raw arrays into the states' arrays."""
    if states is None:
        return
    if isinstance(states, (list, tuple)):
        for one, value in zip(states, new):
            write_states(one, value)
    elif hasattr(states, "_cell"):
        states._write(new)


def hyper_of(optimizer: Any, indices: Sequence[int]) -> dict[str, np.ndarray]:
    """This step's numbers for every parameter, by name; advances the update counts."""
    rows = optimizer.step_hyper(indices)
    return {name: np.array([row[name] for row in rows], np.float64) for name in rows[0]} if rows else {}


def apply_rules(optimizer: Any, masters: Sequence[bool]) -> Callable[..., tuple[list[Any], list[Any]]]:
    """A traceable function ``(weights, grads, states, hyper) -> (new weights, new states)``.

    Args:
        masters: see ``masters_of``.
    """
    rules = {master: optimizer.pure_rule(master) for master in set(masters)}

    def apply(weights: Sequence[Any], grads: Sequence[Any], states: Sequence[Any], hyper: Any) -> Any:
        new_weights, new_states = [], []
        for place, (weight, grad, state) in enumerate(zip(weights, grads, states)):
            numbers = {name: column[place] for name, column in hyper.items()}
            new_weight, new_state = rules[masters[place]](weight, grad, state, numbers)
            new_weights.append(new_weight.astype(weight.dtype))
            new_states.append(new_state)
        return new_weights, new_states

    return apply


@functools.lru_cache(maxsize=256)
def _program(key: Any, masters: tuple[bool, ...], holder: _Holder) -> Any:
    return jax.jit(apply_rules(holder.optimizer, masters))


class _Holder:
    """Carries an optimizer into the cached builder without being part of the key."""

    __slots__ = ("optimizer",)

    def __init__(self, optimizer: Any) -> None:
        self.optimizer = optimizer

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Holder)


def update_all(updater: Any, indices: Sequence[int], weights: Sequence[Any], grads: Sequence[Any]) -> None:
    """Update every parameter from its gradient, in one launch where the optimizer has a pure rule.

    Args:
        updater: holds the optimizer and the states by index.
        weights, grads: NDArrays; weights and states are rewritten.
    """
    optimizer = updater.optimizer
    sparse = any(array.stype != "default" for array in (*weights, *grads))
    if not has_pure_rule(optimizer) or sparse or not indices:
        for index, weight, grad in zip(indices, weights, grads):
            updater(index, grad, weight)
        return
    states = states_of(updater, indices, weights)
    hyper = hyper_of(optimizer, indices)
    program = _program(optimizer.rule_key(), masters_of(optimizer, weights), _Holder(optimizer))
    try:
        with jax.enable_x64(True):
            new_weights, new_states = program(
                [w._value for w in weights], [g._value for g in grads], values_of(states), hyper
            )
    except MXNetError:
        raise
    except Exception as error:
        raise MXNetError(f"{type(optimizer).__name__}: the update failed: {error}") from error
    for handle, value in zip(weights, new_weights):
        handle._write(value)
    for state, value in zip(states, new_states):
        write_states(state, value)
    inflight.note(tuple(new_weights))
