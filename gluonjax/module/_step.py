"""One training step of a module as one compiled program: forward, backward, and the optimizer's update."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gluonjax._base.errors import MXNetError
from gluonjax._engine import inflight, rng
from gluonjax._engine.lower import lower
from gluonjax.module.executor_group import ExecutorGroup
from gluonjax.ndarray import NDArray
from gluonjax.ndarray._invoke import new_handle
from gluonjax.optimizer import _fused as fused


class TrainingStep:
    """Runs the update of a module: fused with the pending forward and backward where there are any."""

    def __init__(self, group: ExecutorGroup, param_names: Sequence[str], optimizer: Any, updater: Any) -> None:
        self.group = group
        self.optimizer = optimizer
        self.updater = updater
        self.indices = {
            name: index for index, name in enumerate(param_names) if group.grad_req.get(name, "null") != "null"
        }
        self._programs: dict[Any, Any] = {}

    def run(self) -> None:
        """Update the parameters, and leave outputs and auxiliary states as a training step does."""
        group = self.group
        fusable = (
            group.pending == "forward_backward"
            and group.is_train
            and not group.monitored
            and not group.gradients_wanted
            and all(group.grad_req[name] == "write" for name in self.indices)
            and all(request == "null" for name, request in group.grad_req.items() if name not in self.indices)
            and fused.has_pure_rule(self.optimizer)
        )
        if fusable:
            self._run_fused()
            return
        group.flush()
        arrays = group.executor
        weights = [arrays.arg_dict[name] for name in self.indices]
        grads = [arrays.grad_dict[name] for name in self.indices]
        fused.update_all(self.updater, list(self.indices.values()), weights, grads)

    def _run_fused(self) -> None:
        group = self.group
        arrays = group.executor
        names, indices = list(self.indices), list(self.indices.values())
        weights = [arrays.arg_dict[name] for name in names]
        states = fused.states_of(self.updater, indices, weights)
        hyper = fused.hyper_of(self.optimizer, indices)
        program = self._program(weights, states, hyper)
        rest = [arrays.arg_dict[name]._value for name in program.rest]
        aux = [arrays.aux_dict[name] for name in group.aux_names]
        key = rng.take_keys(program.keys) if program.keys else None
        try:
            with jax.enable_x64(True):
                outputs, new_weights, new_states, new_aux = program.jitted(
                    [one._value for one in weights], fused.values_of(states), rest, [one._value for one in aux], key,
                    hyper,
                )  # fmt: skip
        except MXNetError:
            raise
        except Exception as error:
            raise MXNetError(f"Module.update: the training step cannot be compiled: {error}") from error
        for handle, value in zip(weights, new_weights):
            handle._write(value)
        for handle, value in zip(aux, new_aux):
            handle._write(value)
        fused.write_states(states, new_states)
        inflight.note(tuple(outputs))
        context = group.contexts[0]
        group.finish_step([new_handle(NDArray, value, context) for value in outputs])

    def _program(self, weights: list[NDArray], states: Any, hyper: Any) -> _Program:
        graph = self.group.symbol._graph
        key = (id(graph), self.optimizer.rule_key(), jax.tree_util.tree_structure(fused.values_of(states)))
        found = self._programs.get(key)
        if found is None:
            found = self._programs[key] = _Program(graph, list(self.indices), self.optimizer, self.group)
        return found


class _Program:
    """The jitted step for one symbol and one static configuration of the optimizer."""

    def __init__(self, graph: Any, names: list[str], optimizer: Any, group: ExecutorGroup) -> None:
        overrides = group.executor._overrides() if hasattr(group.executor, "_overrides") else None
        lowered = lower(graph, True, overrides)
        trained = set(names)
        self.rest = [name for name in lowered.arguments if name not in trained]
        self.keys = lowered.key_count
        place = {name: ("weight", i) for i, name in enumerate(names)}
        place.update({name: ("rest", i) for i, name in enumerate(self.rest)})
        order = [place[name] for name in lowered.arguments]
        count = lowered.output_count
        apply_rules = fused.apply_rules(optimizer)

        def step(weights: Any, states: Any, rest: Any, aux: Any, key: Any, hyper: Any) -> Any:
            def forward(trainable: Any) -> Any:
                arguments = [trainable[i] if kind == "weight" else rest[i] for kind, i in order]
                extra = [key] if lowered.key_count else []
                results = lowered(*arguments, *aux, *extra)
                return results[:count], results[count:]

            outputs, pullback, new_aux = jax.vjp(forward, list(weights), has_aux=True)
            heads = tuple(
                jnp.ones(out.shape, out.dtype) if jnp.issubdtype(out.dtype, jnp.inexact)
                else np.zeros(out.shape, jax.dtypes.float0) for out in outputs
            )  # fmt: skip
            (grads,) = pullback(heads)
            new_weights, new_states = apply_rules(weights, grads, states, hyper)
            return outputs, new_weights, new_states, new_aux

        self.jitted = jax.jit(step)
