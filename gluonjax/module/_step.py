"""One training step of a module as one compiled program: forward, backward, and the optimizer's update."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gluonjax._base.errors import MXNetError
from gluonjax._engine import inflight, rng
from gluonjax._engine.compile import Jitted
from gluonjax._engine.lower import Lowered
from gluonjax._engine.profile import recorder
from gluonjax.module._mesh import DeviceMesh, mesh_of
from gluonjax.module.executor_group import DataParallelExecutorGroup
from gluonjax.ndarray import NDArray
from gluonjax.ndarray._in_place import taking_over
from gluonjax.ndarray.ndarray import wrap
from gluonjax.optimizer import _fused as fused
from gluonjax.optimizer._numbers import Shared, spread


class TrainingStep:
    """Runs the update of a module: fused with the pending forward and backward where there are any.

    Args:
        group: whose parameters are updated.
        updater: holds the optimizer, and its states by parameter number.
        reduce: what a key-value store does with the gradients first: ``reduce(names, gradients)``. Steps then run in
            parts.
    """

    def __init__(
        self,
        group: DataParallelExecutorGroup,
        updater: Any,
        reduce: Callable[[list[str], list[NDArray]], None] | None = None,
    ) -> None:
        self.group = group
        self.updater = updater
        self.reduce = reduce
        # The optimizer's own numbers: modules that share it (buckets) may list their parameters in another order.
        numbers = {name: index for index, name in self.optimizer.idx2name.items()}
        if not all(name in numbers for name in group.param_names):
            numbers = {name: index for index, name in enumerate(group.param_names)}
        self.indices = {name: numbers[name] for name in group.param_names if group.grad_req.get(name, "null") != "null"}
        self.mesh = mesh_of(group.contexts)
        home = group.contexts[0].jax_device
        arrays = [*group.args.values(), *group.auxs.values()]
        self._fusable = (
            reduce is None
            and bool(self.indices)
            and all(group.grad_req[name] == "write" for name in self.indices)
            and all(request == "null" for name, request in group.grad_req.items() if name not in self.indices)
            and all(array.context.jax_device == home and array.stype == "default" for array in arrays)
        )
        self._programs: dict[Any, _Program] = {}
        self._operands: _Operands | None = None

    @property
    def optimizer(self) -> Any:
        """The rule."""
        return self.updater.optimizer

    def run(self) -> None:
        """Update the parameters, and leave outputs and auxiliary states as a training step does."""
        group = self.group
        fusable = (
            self._fusable
            and group.pending == "forward_backward"
            and group.monitor is None
            and not group.gradients_wanted
            and not recorder.op_by_op
            and fused.has_pure_rule(self.optimizer)
            and not _lowered(group).host
            and not _lowered(group).guards
        )
        if fusable:
            self._run_fused()
            return
        group.flush_family()
        names = list(self.indices)
        weights = [group.args[name] for name in names]
        gradients = [group.grads[name] for name in names]
        if self.reduce is not None:
            self.reduce(names, gradients)
        fused.update_all(self.updater, list(self.indices.values()), weights, gradients)

    def _run_fused(self) -> None:
        group = self.group
        pending, group.pending = group.pending, None
        group.flush_family()
        group.pending = pending
        operands = self._operands_now()
        mesh = self.mesh if self.mesh is not None and self.mesh.fits(group.batch_size) else None
        numbers = self.optimizer.step_numbers(operands.indices)
        operands.shared.split(numbers)
        hyper = operands.shared.matrix(numbers)
        program = self._program(operands, mesh)
        count = program.lowered.key_count
        key = rng.take_keys(count) if count else None
        inputs = [group.args[name] for name in program.rest]
        state, grads = operands.state, operands.grads
        replaced = [*state, *grads]
        if mesh is None:
            values = [one._value for one in replaced]
            rest = [one._value for one in inputs]
            cells = [one._cell if one._view is None else None for one in replaced]
            with taking_over(cells, values, range(len(values))):
                results, gradients, outputs = _launch(program.step, values, rest, key, hyper)
                for handle, value in zip(replaced, (*results, *gradients)):
                    handle._write(value)
        else:
            axes = [group.input_axes.get(name, -1) for name in program.rest]
            rest = [mesh.deal(one._value, axis) for one, axis in zip(inputs, axes)]
            results, gradients, outputs = _launch(program.step, mesh.replicas(state), rest, key, hyper)
            for handle, value in zip(state, results):
                handle._write(mesh.keep(handle._cell, value))
            for handle, value in zip(grads, gradients):
                handle._write(mesh.home_part(value))
        inflight.note(tuple(outputs))
        home = outputs if mesh is None else [mesh.take_home(value) for value in outputs]
        group.finish_step([wrap(value, group.contexts[0]) for value in home])

    def _operands_now(self) -> _Operands:
        """The arrays of a step; looked up anew only when the group or the optimizer has got other ones."""
        group, found = self.group, self._operands
        names = list(self.indices) if found is None else found.names
        indices = list(self.indices.values()) if found is None else found.indices
        weights = (
            [group.args[name] for name in names] if found is None or found.args is not group.args else found.weights
        )
        states = fused.states_of(self.updater, indices, weights)
        if found is None or found.args is not group.args or any(a is not b for a, b in zip(states, found.states)):
            aux = [group.auxs[name] for name in group.aux_names]
            masters = fused.masters_of(self.optimizer, weights)
            grads = [group.grads[name] for name in names]
            found = self._operands = _Operands(group.args, names, indices, weights, grads, aux, states, masters)
        return found

    def _program(self, operands: _Operands, mesh: DeviceMesh | None) -> _Program:
        lowered = _lowered(self.group)
        rule = self.optimizer.rule_key()
        key = (id(lowered), rule, operands.masters, operands.structure, operands.shared.groups, mesh is None)
        found = self._programs.get(key)
        if found is None:
            rules = fused.apply_rules(self.optimizer, operands.masters)
            found = self._programs[key] = _Program(lowered, operands, rules, self.optimizer.hyper_names, mesh)
        return found

    def compilations(self) -> int:
        """How many programs have been traced, and compiled, so far."""
        return sum(program.traces for program in self._programs.values())


def _lowered(group: DataParallelExecutorGroup) -> Lowered:
    return group.executor._lowered(True)


class _Operands:
    """The arrays that a step reads and writes."""

    def __init__(
        self,
        args: dict[str, NDArray],
        names: list[str],
        indices: list[Any],
        weights: list[NDArray],
        grads: list[NDArray],
        aux: list[NDArray],
        states: list[Any],
        masters: tuple[bool, ...],
    ) -> None:
        self.args, self.names, self.indices = args, names, indices
        self.weights, self.grads, self.aux, self.states, self.masters = weights, grads, aux, states, masters
        self.leaves, self.structure = jax.tree.flatten(_tuples(states), is_leaf=lambda one: isinstance(one, NDArray))
        self.shared = Shared(len(weights))
        # What a step replaces beside the gradients: its program's first arguments and results.
        self.state = [*weights, *self.leaves, *aux]


def _tuples(states: Any) -> Any:
    return tuple(_tuples(one) for one in states) if isinstance(states, (list, tuple)) else states


def _launch(program: Any, *inputs: Any) -> Any:
    try:
        with jax.enable_x64(True):
            return program(*inputs)
    except MXNetError:
        raise
    except Exception as error:
        raise MXNetError(f"Module.update: the training step failed: {error}") from error


class _Program:
    """The jitted step for one graph and one static configuration of the optimizer.

    ``step(state, rest, key, hyper) -> (state, gradients, outputs)``, for a state as ``_Operands`` has it. The old
    gradients come after it, for their memory.
    """

    def __init__(
        self, lowered: Lowered, operands: _Operands, rules: Any, names: Sequence[str], mesh: DeviceMesh | None
    ) -> None:
        self.lowered = lowered
        self.traces = 0
        trained = {name: ("weight", index) for index, name in enumerate(operands.names)}
        self.rest = [name for name in lowered.arguments if name not in trained]
        place = {**trained, **{name: ("rest", index) for index, name in enumerate(self.rest)}}
        order = [place[name] for name in lowered.arguments]
        count, structure, groups = lowered.output_count, operands.structure, operands.shared.groups
        weights_end = len(operands.weights)
        leaves_end = weights_end + len(operands.leaves)
        aux_end = leaves_end + len(operands.aux)

        def step(state: Any, rest: Any, key: Any, hyper: Any) -> Any:
            self.traces += 1  # runs while tracing only
            weights, leaves, aux = state[:weights_end], state[weights_end:leaves_end], state[leaves_end:aux_end]

            def forward(trainable: Any) -> Any:
                arguments = [trainable[i] if kind == "weight" else rest[i] for kind, i in order]
                results = lowered(*arguments, *aux, *([] if key is None else [key]))
                return results[:count], results[count:]

            outputs, pullback, new_aux = jax.vjp(forward, list(weights), has_aux=True)
            (gradients,) = pullback(tuple(_head(output) for output in outputs))
            states = jax.tree.unflatten(structure, leaves)
            new_weights, new_states = rules(weights, gradients, states, spread(hyper, names, groups))
            return [*new_weights, *jax.tree.leaves(new_states), *new_aux], gradients, list(outputs)

        if mesh is None:
            self.step = Jitted(step, donate=(0,), keep_unused=True)
        else:
            self.step = Jitted(step, out_shardings=(mesh.replicated, mesh.replicated, None))


def _head(output: Any) -> Any:
    """The head gradient of a loss: its operator does not look at it, but JAX wants one."""
    if jnp.issubdtype(output.dtype, jnp.inexact):
        return jnp.ones(output.shape, output.dtype)
    return np.zeros(output.shape, jax.dtypes.float0)
