"""Update rules as pure functions and as cached kernels of the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from gluonjax._engine.run import Kernel
from gluonjax._ops.update_rules import run_formula
from gluonjax.optimizer._state import leaves_of, refill

_kernels: dict[Any, Kernel] = {}


def split(state: Any, master_first: bool) -> tuple[Any, Any]:
    """(master copy, inner state) of a state made by ``create_state_multi_precision``."""
    return (state[0], state[1]) if master_first else (state[1], state[0])


def join(master: Any, inner: Any, master_first: bool) -> tuple[Any, Any]:
    """The pair in the optimizer's own order: SGD and its kin put the master copy last."""
    return (master, inner) if master_first else (inner, master)


def make_rule(
    formula: Callable[..., Any], static: dict[str, Any], master: bool, master_first: bool
) -> Callable[[Any, Any, Any, dict[str, Any]], tuple[Any, Any]]:
    """``rule(weight, grad, state, hyper) -> (new weight, new state)``."""

    def rule(weight: Any, grad: Any, state: Any, hyper: dict[str, Any]) -> tuple[Any, Any]:
        copy, inner = split(state, master_first) if master else (None, state)
        new, leaves, new_copy = run_formula(formula, weight, grad, leaves_of(inner), hyper, static, copy)
        new_inner = refill(inner, leaves)
        return new, join(new_copy, new_inner, master_first) if master else new_inner

    return rule


def kernel_for(optimizer: Any, master: bool, states: int, names: tuple[str, ...], rows: bool) -> Kernel:
    """The engine's kernel of one optimizer's settings.

    Its operands are weight, gradient (for ``rows``: row numbers and rows), the state's arrays and the
    changing values.
    """
    key = (optimizer.rule_key(), master, states, names, rows)
    found = _kernels.get(key)
    if found is not None:
        return found
    formula, static, first = optimizer.formula(), optimizer.static(), optimizer.master_first

    def step(weight: Any, grad: Any, leaves: Any, hyper: dict[str, Any]) -> tuple[Any, ...]:
        leaves = list(leaves)
        copy = leaves.pop(0 if first else -1) if master else None
        new, new_leaves, new_copy = run_formula(formula, weight, grad, leaves, hyper, static, copy)
        changed: list[Any] = list(new_leaves)
        if master:
            changed.insert(0 if first else len(changed), new_copy)
        return (new, *changed)

    def whole(weight: Any, grad: Any, *rest: Any) -> tuple[Any, ...]:
        return step(weight, grad, rest[:states], dict(zip(names, rest[states:])))

    def some_rows(weight: Any, numbers: Any, grad: Any, *rest: Any) -> tuple[Any, ...]:
        old = (weight, *rest[:states])
        taken = [array.at[numbers].get(mode="fill", fill_value=1) for array in map(jnp.asarray, old)]
        changed = step(taken[0], grad, taken[1:], dict(zip(names, rest[states:])))
        return tuple(a.at[numbers].set(b, mode="drop") for a, b in zip(map(jnp.asarray, old), changed))

    found = _kernels[key] = Kernel(f"{type(optimizer).__name__}.update", some_rows if rows else whole)
    return found


def row_operands(grad: Any, rows: int) -> tuple[Any, Any]:
    """Row numbers and rows of a row-sparse gradient, padded to a power of two so that few programs are compiled.

    Padding points behind the last row, where reads are filled and writes are dropped.
    """
    numbers, values = grad.indices.asnumpy(), grad.data.asnumpy()
    return pad_rows(numbers, values, rows)


def pad_rows(numbers: np.ndarray, values: np.ndarray, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """See ``row_operands``.

    >>> pad_rows(np.array([1, 4, 5]), np.ones((3, 1)), 9)[0].tolist()
    [1, 4, 5, 9]
    """
    count = len(numbers)
    missing = (1 << max(count - 1, 0).bit_length()) - count
    if missing:
        numbers = np.concatenate([numbers, np.full((missing,), rows, numbers.dtype)])
        values = np.concatenate([values, np.zeros((missing, *values.shape[1:]), values.dtype)])
    return numbers, values
