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
    """One update of several weights by an optax transformation.

    Every weight keeps the state that optax would make for it alone. Together they are the state of a dictionary of
    weights: what optax keeps for a weight comes from that weight's state, what it keeps once (a step count) is in all.
    """

    def __init__(self, transformation: optax.GradientTransformation, clip: float | None) -> None:
        self.transformation = transformation
        self.clip = clip

    def __call__(
        self, weights: Sequence[Array], grads: Sequence[Array], states: Sequence[Any], hyper: dict[str, Any]
    ) -> tuple[list[Array], list[Any]]:
        from gluonjax._ops.update_rules import bounded, working_dtype

        names = [f"weight{place:06d}" for place in range(len(weights))]
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
        named = dict(zip(names, params))
        wanted, structure = jax.tree_util.tree_flatten_with_path(jax.eval_shape(self.transformation.init, named))
        owners = [_owner(path, names) for path, _ in wanted]
        kept = [leaves_of(state) for state in states]
        whole = [
            _restored(kept[owner or 0][place], shape.dtype)
            for (_, shape), owner, place in zip(wanted, owners, _places(owners, kept))
        ]
        steps: Any
        after: Any
        steps, after = self.transformation.update(dict(zip(names, slopes)), structure.unflatten(whole), named)
        changed: list[list[Array]] = [[] for _ in weights]
        for owner, leaf in zip(owners, structure.flatten_up_to(after)):
            for index in range(len(weights)) if owner is None else (owner,):
                changed[index].append(_plain(leaf, kept[index][len(changed[index])].dtype))
        moved = [weight + lr * steps[name] for name, weight, lr in zip(names, params, numbers["lr"])]
        return moved, [tuple(leaves) or None for leaves in changed]


def _owner(path: Any, names: Sequence[str]) -> int | None:
    """Which weight a leaf of optax's state belongs to; None for what is kept once."""
    found = [key.key for key in path if isinstance(key, jax.tree_util.DictKey) and key.key in names]
    return names.index(found[0]) if found else None


def _places(owners: Sequence[int | None], kept: Sequence[Sequence[Any]]) -> list[int]:
    """For every leaf of the state of all weights, its place in the state of its owner (of the first, if of all)."""
    seen, places = [0] * len(kept), []
    for owner in owners:
        places.append(seen[owner or 0])
        for index in range(len(kept)) if owner is None else (owner,):
            seen[index] += 1
    if seen != [len(own) for own in kept]:
        raise OptimizerError(
            "OptaxOptimizer: this transformation keeps another state for all weights together than for each alone, "
            "which MXNet's updaters cannot hold; use it with gluonjax.interop.functional"
        )
    return places


def _restored(leaf: Array, dtype: Any) -> Array:
    """A leaf as optax has it: random keys travel as their numbers."""
    return jax.random.wrap_key_data(leaf) if _is_key(dtype) else leaf.astype(dtype)


def _plain(leaf: Any, dtype: Any) -> Array:
    return jax.random.key_data(leaf) if _is_key(jnp.asarray(leaf).dtype) else jnp.asarray(leaf, dtype)


def _is_key(dtype: Any) -> bool:
    return jnp.issubdtype(dtype, jax.dtypes.prng_key)


@register
class OptaxOptimizer(Optimizer):
    """Any optax transformation where MXNet takes an optimizer.

    Trainer and Module give it all weights of a step together, as a dictionary, so that global norms are global; where
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
            leaves = [jax.random.key_data(leaf) if _is_key(leaf.dtype) else leaf for leaf in leaves]
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
