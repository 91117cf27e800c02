"""Updating many parameters at once: one compiled program for all of them, whatever the optimizer.

Trainer, Module and Updater share this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from typing import Any

import jax
import numpy as np

from gluonjax._base.errors import MXNetError
from gluonjax._base.scopes import epoch, modes
from gluonjax._engine import lazy
from gluonjax._engine.profile import recorder
from gluonjax._engine.run import NAIVE, Kernel, is_tracer
from gluonjax._engine.takeover import Takeover
from gluonjax.ndarray._capture import outside
from gluonjax.optimizer._numbers import Shared, spread


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


def apply_rules(optimizer: Any, masters: Sequence[bool]) -> Callable[..., tuple[list[Any], list[Any]]]:
    """A traceable function ``(weights, grads, states, hyper) -> (new weights, new states)``.

    ``hyper`` has a list of numbers, one for every weight, for each of ``hyper_names``.

    Args:
        masters: see ``masters_of``.
    """
    joint = optimizer.joint_rule(masters)
    if joint is not None:
        return joint
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
    """The update of one set of parameters as a kernel over flat arrays; the numbers come in as one matrix."""

    def __init__(self, optimizer: Any, masters: Sequence[bool], tree: Any, groups: Sequence[int]) -> None:
        names = optimizer.hyper_names
        count = len(masters)
        leaves = tree.num_leaves
        apply = apply_rules(optimizer, masters)

        def update(*flat: Any) -> tuple[Any, ...]:
            weights, grads = flat[:count], flat[count : 2 * count]
            states = jax.tree_util.tree_unflatten(tree, flat[2 * count : 2 * count + leaves])
            new_weights, new_states = apply(weights, grads, states, spread(flat[-1], names, groups))
            return (*new_weights, *jax.tree_util.tree_leaves(new_states))

        self.kernel = Kernel(f"{type(optimizer).__name__}_update", update)
        # The last step's numbers and the matrix made of them: they seldom change. One pair, for threads that share it.
        self.recent: tuple[Any, Any] = (None, None)


_updates: dict[Any, _Update] = {}


def _update_for(optimizer: Any, masters: tuple[bool, ...], tree: Any, groups: tuple[int, ...]) -> _Update:
    key = (optimizer.rule_key(), masters, tree, groups)
    update = _updates.get(key)
    if update is None:
        update = _updates[key] = _Update(optimizer, masters, tree, groups)
    return update


class _Prepared:
    """What an updater remembers of one list of weights, so that the next step with the same looks nothing up."""

    __slots__ = (
        "epoch", "grads", "indices", "kinds", "leaves", "masters", "places", "rule", "shared", "spent", "states",
        "structs", "tree", "update", "weights",
    )  # fmt: skip

    def fits(
        self, updater: Any, rule: Any, indices: Sequence[int], weights: Sequence[Any], grads: Sequence[Any]
    ) -> bool:
        return (
            self.indices == indices
            and self.epoch == epoch.number
            and self.rule == rule
            and all(map(is_, self.weights, weights))
            and all(map(is_, self.grads, grads))
            and all(map(is_, self.states, map(updater.states.get, indices)))
        )

    def values(self) -> list[Any]:
        """What weights, gradients and states hold."""
        return [handle._raw for handle in (*self.weights, *self.grads, *self.leaves)]

    def launch(self, results: Sequence[lazy.Lazy]) -> None:
        """Launch the update into the memory of what it replaces, and put the arrays into place.

        The gradients get the memory of the last step's.
        """
        pending = {
            number: value for number, handle in enumerate(self.grads) if lazy.waits(value := handle._raw)
        }  # fmt: skip
        kept, spent = list(pending.values()), self.spent
        before = [
            spent.pop(number) if number in spent else np.empty(value.shape, value.dtype)
            for number, value in pending.items()
        ]
        lazy.launch(results[0].call, Takeover(self.places, kept, before))
        for handle, value in zip((*self.weights, *self.leaves), results):
            _settle(handle, value)
        for number, value in pending.items():
            spent[number] = _settle(self.grads[number], value)

    def agrees_with(self, values: Sequence[Any]) -> bool:
        """Whether the dtypes are still the same."""
        return self.kinds == [value.dtype for value in values]


def _settle(handle: Any, value: lazy.Lazy) -> Any:
    """Put a launched call's result in its stand-in's place, and return it."""
    cell, result = handle._cell, value.result()
    if cell.value is value:
        cell.value = result
    return result


def _prepare(
    updater: Any, rule: Any, indices: Sequence[int], weights: Sequence[Any], grads: Sequence[Any]
) -> _Prepared | None:
    """Look everything up; None where the weights have to be updated one by one."""
    optimizer = updater.optimizer
    sparse = any(array.stype != "default" for array in (*weights, *grads))
    if not has_pure_rule(optimizer) or sparse:
        return None
    made = _Prepared()
    with outside():
        made.states = states_of(updater, indices, weights)
    made.leaves, made.tree = jax.tree_util.tree_flatten(made.states, is_leaf=lambda one: hasattr(one, "_cell"))
    made.masters = masters_of(optimizer, weights)
    made.shared = Shared(len(weights))
    made.update = None
    made.indices, made.weights, made.grads = list(indices), list(weights), list(grads)
    made.rule, made.epoch = rule, epoch.number
    count = len(weights)
    made.places = (*range(count), *range(2 * count, 2 * count + len(made.leaves)))
    made.spent = {}
    made.kinds = [value.dtype for value in made.values()]
    made.structs = None
    return made


def _matrix(found: _Prepared, optimizer: Any) -> Any:
    """This step's numbers on the device; advances the update counts and sees to the update that takes them."""
    numbers = optimizer.step_numbers(found.indices)
    before, matrix = (None, None) if found.update is None else found.update.recent
    if before != numbers:
        if found.shared.split(numbers) or found.update is None:
            found.update = _update_for(optimizer, found.masters, found.tree, found.shared.groups)
            found.structs = None
        with jax.enable_x64(True):
            matrix = jax.device_put(found.shared.matrix(numbers))
        found.update.recent = (numbers, matrix)
    return matrix


def _matrix_at_every_call(found: _Prepared, optimizer: Any) -> Any:
    """In a function that is being captured: what ``_matrix`` gives at each of its calls."""
    scale, count = optimizer.rescale_grad, len(found.indices)
    # Later calls could not take another program if the numbers came to differ.
    found.shared, found.structs = Shared(count, apart=True), None
    found.update = _update_for(optimizer, found.masters, found.tree, found.shared.groups)

    def numbers() -> Any:
        optimizer.rescale_grad = scale
        return _matrix(found, optimizer)

    return modes.tracer.host(numbers, (len(optimizer.hyper_names), count), np.float64)


def update_all(updater: Any, indices: Sequence[int], weights: Sequence[Any], grads: Sequence[Any]) -> None:
    """Update every parameter from its gradient, in one launch where the optimizer has a pure rule.

    Gradients whose computation has been put off are part of that launch.

    Args:
        updater: holds the optimizer and the states by index.
        weights, grads: NDArrays; weights and states are rewritten.
    """
    if not indices:
        return
    optimizer = updater.optimizer
    rule = optimizer.rule_key()
    found = updater.prepared
    if found is not None and not found.fits(updater, rule, indices, weights, grads):
        found = None
    flat = [] if found is None else found.values()
    if found is None or not found.agrees_with(flat):
        found = _prepare(updater, rule, indices, weights, grads)
        if found is None:
            if modes.tracer is not None:
                raise MXNetError(
                    f"{type(optimizer).__name__} updates one weight at a time with numbers that Python works out "
                    "(learning rate, step count); a compiled function would repeat those of its first call. Call "
                    "step() or the updater outside of the function given to mx.jit"
                )
            for index, weight, grad in zip(indices, weights, grads):
                updater(index, grad, weight)
            return
        # A list of states could change inside without being noticed.
        lasting = all(type(state) is not list for state in found.states)
        updater.prepared = found if lasting else None
        flat = found.values()
    if modes.tracer is None:
        matrix = _matrix(found, optimizer)
    else:
        matrix = _matrix_at_every_call(found, optimizer)
        modes.tracer.guard(optimizer.rule_key, rule)
        variables = [weight._leaf for weight in weights]
        modes.tracer.consume([leaf.buffer._cell for leaf in variables if leaf is not None and leaf.req == "write"])
    flat.append(matrix)
    kernel = found.update.kernel
    on_host = weights[0]._cell.ctx.is_host
    try:
        if _is_launch(kernel, flat, on_host):
            if found.structs is None:
                found.structs = kernel.structs_of(flat)
            results = lazy.put_off(kernel, flat, found.structs)
        else:
            results = kernel.run(flat, on_host)
    except MXNetError as error:
        raise MXNetError(f"{type(optimizer).__name__}: the update failed: {error}") from error
    flat.clear()
    for handle, value in zip((*weights, *found.leaves), results):
        handle._write(value)
    if type(results[0]) is lazy.Lazy:
        found.launch(results)


def _is_launch(kernel: Kernel, values: Sequence[Any], on_host: bool) -> bool:
    """Whether an update is launched as a program, which may take over the memory of what it replaces."""
    if modes.tracer is not None or recorder.on or NAIVE:
        return False
    if any(map(lazy.waits, values)):
        return True
    held = all([isinstance(value, (jax.Array, np.ndarray)) and not is_tracer(value) for value in values])
    return held and not (on_host and kernel.interprets(values))
