"""Updating many parameters at once: one compiled program for all of them, whatever the optimizer.

Trainer, Module and Updater share this. The numbers that change from step to step (learning rates, decay, step
counts) go in as one small array each, so no step compiles anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from gluonjax._base.errors import MXNetError
from gluonjax._engine import lazy
from gluonjax._engine.run import Kernel


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


class _Update:
    """The update of one set of parameters as a kernel over flat arrays."""

    def __init__(self, optimizer: Any, masters: Sequence[bool], tree: Any, names: Sequence[str]) -> None:
        count = len(masters)
        leaves = tree.num_leaves
        apply = apply_rules(optimizer, masters)

        def update(*flat: Any) -> tuple[Any, ...]:
            weights, grads = flat[:count], flat[count : 2 * count]
            states = jax.tree_util.tree_unflatten(tree, flat[2 * count : 2 * count + leaves])
            hyper = dict(zip(names, flat[2 * count + leaves :]))
            new_weights, new_states = apply(weights, grads, states, hyper)
            return (*new_weights, *jax.tree_util.tree_leaves(new_states))

        self.kernel = Kernel(f"{type(optimizer).__name__}_update", update)
        self.tree = tree
        # The last step's numbers and the arrays made of them: they seldom change. One pair, for threads that share it.
        self.recent: tuple[Any, list[Any]] = (None, [])


_updates: dict[Any, _Update] = {}


def _columns(update: _Update, optimizer: Any, indices: Sequence[int]) -> tuple[list[str], list[Any]]:
    rows = optimizer.step_hyper(indices)
    numbers, columns = update.recent
    if numbers != rows:
        with jax.enable_x64(True):
            columns = [jax.device_put(np.array([row[n] for row in rows], np.float64)) for n in rows[0]]
        update.recent = (rows, columns)
    return list(rows[0]), columns


def update_all(updater: Any, indices: Sequence[int], weights: Sequence[Any], grads: Sequence[Any]) -> None:
    """Update every parameter from its gradient, in one launch where the optimizer has a pure rule.

    Gradients whose computation has been put off are part of that launch.

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
    leaves, tree = jax.tree_util.tree_flatten(_raw_of(states))
    masters = masters_of(optimizer, weights)
    key = (optimizer.rule_key(), masters, tree, tuple(indices))
    update = _updates.get(key)
    if update is None:
        update = _updates[key] = _Update(optimizer, masters, tree, optimizer.hyper_names)
    _, columns = _columns(update, optimizer, indices)
    flat = [*[w._raw for w in weights], *[g._raw for g in grads], *leaves, *columns]
    try:
        results = update.kernel.run(flat, weights[0].context.is_host)
    except MXNetError as error:
        raise MXNetError(f"{type(optimizer).__name__}: the update failed: {error}") from error
    for handle, value in zip(weights, results):
        handle._write(value)
    new_states = jax.tree_util.tree_unflatten(tree, results[len(weights) :])
    for state, value in zip(states, new_states):
        write_states(state, value)
    lazy.force(results[0])


def _raw_of(states: Any) -> Any:
    if states is None:
        return None
    if isinstance(states, (list, tuple)):
        return tuple(_raw_of(one) for one in states)
    return states._raw if hasattr(states, "_cell") else states
