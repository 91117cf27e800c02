"""Both ways between MXNet's optimizers and optax's gradient transformations."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from gluonjax.optimizer._base import Optimizer, OptimizerError, number, register
from gluonjax.optimizer._state import leaves_of


class RuleState(NamedTuple):
    """State of ``as_optax``.

    Steps done, the state of each leaf as MXNet lays it out, and carried host values.
    """

    count: Any
    states: tuple[Any, ...]
    carried: tuple[Any, ...]


def as_optax(optimizer: Optimizer) -> optax.GradientTransformation:
    """The optimizer's exact update rule as an optax transformation of any pytree.

    Leaves count as weights 0, 1, ... in tree order, to which ``lr_mult``, ``wd_mult`` and ``idx2name`` apply.
    A scheduler is called on the host with the step's number.

    >>> import jax.numpy as jnp, optax
    >>> from gluonjax.optimizer import SGD
    >>> transformation = as_optax(SGD(learning_rate=0.5))
    >>> params = {"w": jnp.ones(2)}
    >>> updates, _ = transformation.update(params, transformation.init(params), params)
    >>> optax.apply_updates(params, updates)["w"].tolist()
    [0.5, 0.5]
    """
    if not optimizer.fusable:
        raise OptimizerError(
            f"{type(optimizer).__name__} works on the host and cannot be an optax transformation"
        )
    rule = optimizer.pure_rule()

    def init(params: Any) -> RuleState:
        leaves = jax.tree.leaves(params)
        start = copy.copy(optimizer)
        start._get_lrs([])  # LARS notes the first rate
        carried = tuple(jnp.asarray(getattr(start, name), jnp.float32) for name in optimizer.carried)
        states = tuple(optimizer.init_state_arrays(jnp.asarray(leaf)) for leaf in leaves)
        return RuleState(jnp.zeros((), jnp.int32), states, carried)

    def update(grads: Any, state: RuleState, params: Any = None) -> tuple[Any, RuleState]:
        if params is None:
            raise OptimizerError("as_optax: call update(grads, state, params); the rule needs the weights")
        weights, structure = jax.tree.flatten(params)
        slopes = structure.flatten_up_to(grads)
        count = state.count + 1
        # A copy of the optimizer does the host arithmetic with traced values in place of numbers.
        worker = copy.copy(optimizer)
        worker.lr, worker.lr_scheduler = _rate(optimizer, count), None
        for name, value in zip(optimizer.carried, state.carried):
            setattr(worker, name, value)
        indices = range(len(weights))
        new, states = [], []
        t = count.astype(jnp.float32)
        rates, decays = worker._get_lrs(indices), worker._get_wds(indices)
        for index, (weight, slope, own) in enumerate(zip(weights, slopes, state.states)):
            hyper = {
                k: number(v) for k, v in worker.hyper(index, rates[index], decays[index], t, jnp).items()
            }
            changed, new_state = rule(weight, slope, own, hyper)
            new.append(changed - weight)
            states.append(new_state)
        carried = tuple(jnp.asarray(getattr(worker, name), jnp.float32) for name in optimizer.carried)
        return structure.unflatten(new), RuleState(count, tuple(states), carried)

    return optax.GradientTransformation(init, update)  # type: ignore[arg-type]


def _rate(optimizer: Optimizer, count: Array) -> Any:
    """The learning rate of a step; schedulers are called on the host, each time on a fresh copy."""
    scheduler = optimizer.lr_scheduler
    if scheduler is None:
        return optimizer.lr

    def ask(number_of_updates: Any) -> np.ndarray:
        return np.asarray(copy.deepcopy(scheduler)(int(number_of_updates)), np.float32)

    return jax.pure_callback(ask, jax.ShapeDtypeStruct((), jnp.float32), count, vmap_method="sequential")


class _WrappedFormula:
    """An optax transformation as a formula; hashable by the transformation."""

    def __init__(self, transformation: optax.GradientTransformation) -> None:
        self.transformation = transformation

    def __hash__(self) -> int:
        return hash(self.transformation)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _WrappedFormula) and other.transformation == self.transformation

    def structure(self, weight: Any) -> Any:
        return jax.tree.structure(jax.eval_shape(self.transformation.init, weight))

    def __call__(
        self,
        weight: Array,
        grad: Array,
        *states: Array,
        lr: Any,
        wd: Any,
        rescale_grad: Any,
        clip: float | None,
    ) -> tuple[Array, ...]:
        from gluonjax._ops.update_rules import bounded

        # States travel in the weight's dtype (see run_formula); counters are exact in float32 up to 2**24.
        shapes = jax.eval_shape(self.transformation.init, weight)
        wanted = jax.tree.leaves(shapes)
        own = [jnp.asarray(state, shape.dtype) for state, shape in zip(states, wanted)]
        state = jax.tree.unflatten(jax.tree.structure(shapes), own)
        full = bounded(grad * rescale_grad, clip) + wd * weight
        steps, new = self.transformation.update(full, state, weight)
        return (weight + lr * steps, *jax.tree.leaves(new))  # type: ignore[operator]


class _JointRule:
    """One update of a list of weights by an optax transformation.

    Every weight keeps the state that optax would make for it alone. Together they are the state of the list: what
    optax keeps for each weight is put into a list, what it keeps once (a step count) is the same for all.
    """

    def __init__(self, transformation: optax.GradientTransformation, clip: float | None) -> None:
        self.transformation = transformation
        self.clip = clip

    def __call__(
        self, weights: Sequence[Array], grads: Sequence[Array], states: Sequence[Any], hyper: dict[str, Any]
    ) -> tuple[list[Array], list[Any]]:
        from gluonjax._ops.update_rules import bounded, working_dtype

        wide = [working_dtype(weight.dtype) for weight in weights]
        params = [weight.astype(dtype) for weight, dtype in zip(weights, wide)]
        numbers = {
            name: [value.astype(dtype) for value, dtype in zip(hyper[name], wide)]
            for name in ("lr", "wd", "rescale_grad")
        }
        slopes = [
            bounded(grad.astype(weight.dtype) * scale, self.clip) + decay * weight
            for grad, weight, scale, decay in zip(grads, params, numbers["rescale_grad"], numbers["wd"])
        ]
        alone = jax.tree.structure(jax.eval_shape(self.transformation.init, params[0]))
        parts = alone.flatten_up_to(jax.eval_shape(self.transformation.init, params))
        kept = [leaves_of(state) for state in states]
        whole = [
            [own[place].astype(shape.dtype) for own, shape in zip(kept, part)]
            if isinstance(part, list)
            else kept[0][place].astype(part.dtype)
            for place, part in enumerate(parts)
        ]
        after: Any
        steps: Any
        steps, after = self.transformation.update(slopes, alone.unflatten(whole), params)
        parts = alone.flatten_up_to(after)
        new_states = [
            tuple(
                jnp.asarray(part[index] if isinstance(part, list) else part, leaf.dtype)
                for part, leaf in zip(parts, own)
            )
            or None
            for index, own in enumerate(kept)
        ]
        moved = [weight + lr * step for weight, lr, step in zip(params, numbers["lr"], steps)]
        return moved, new_states


@register
class OptaxOptimizer(Optimizer):
    """Any optax transformation where MXNet takes an optimizer.

    Trainer and Module give it all weights of a step together, as a list, so that global norms are global; where
    weights are updated one by one (on a kvstore, half precision with master copies), it sees one at a time.
    ``learning_rate`` (1 by default) scales the transformation's steps, so that schedulers and multipliers work.

    Args:
        transformation: an ``optax.GradientTransformation``.

    >>> import optax
    >>> from gluonjax import nd
    >>> optimizer, weight = OptaxOptimizer(optax.sgd(0.5)), nd.ones((2,))
    >>> optimizer.update(0, weight, nd.ones((2,)), optimizer.create_state(0, weight))
    >>> weight.asnumpy().tolist()
    [0.5, 0.5]
    """

    clips_at_zero: ClassVar[bool] = True

    def __init__(self, transformation: Any, **kwargs: Any) -> None:
        if not (hasattr(transformation, "init") and hasattr(transformation, "update")):
            raise OptimizerError(
                f"OptaxOptimizer: wants an optax.GradientTransformation, got {transformation!r}"
            )
        if kwargs.get("learning_rate") is None and kwargs.get("lr_scheduler") is None:
            kwargs["learning_rate"] = 1.0
        super().__init__(**kwargs)
        self.transformation = transformation
        self._wrapped = _WrappedFormula(transformation)

    def formula(self) -> Callable[..., Any]:
        return self._wrapped

    def joint_rule(self, masters: Sequence[bool]) -> Callable[..., tuple[list[Any], list[Any]]] | None:
        return None if any(masters) else _JointRule(self.transformation, self.static()["clip"])

    def init_state_arrays(self, weight: Any, master: bool = False) -> Any:
        """The leaves of optax's state as a tuple (None if it has none)."""
        if master:
            return super().init_state_arrays(weight, master)
        with jax.enable_x64(True):
            leaves = jax.tree.leaves(self.transformation.init(jnp.asarray(weight)))
        return tuple(leaves) or None

    def create_state(self, index: Any, weight: Any) -> Any:
        """Return the state of a weight: a tuple of NDArrays in optax's own order."""
        from gluonjax.ndarray.ndarray import wrap

        leaves = self.init_state_arrays(weight._value)
        if leaves is None:
            return None
        host = weight.context.is_host
        return tuple(wrap(np.array(leaf) if host else leaf, weight.context) for leaf in leaves)

    def optax_state(self, weight: Any, state: Any) -> Any:
        """A state as optax's own pytree."""
        return jax.tree.unflatten(
            self._wrapped.structure(weight._value), [a._value for a in leaves_of(state)]
        )

    def __getstate__(self) -> dict[str, Any]:
        raise OptimizerError(
            "OptaxOptimizer: an optax transformation cannot be saved; use "
            "get_states(dump_optimizer=False) and make "
            "the optimizer again when loading"
        )


__all__ = ["OptaxOptimizer", "RuleState", "as_optax"]
