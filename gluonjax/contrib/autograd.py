"""``mx.contrib.autograd``: the first autograd interface, still used by old code, on top of ``mx.autograd``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from gluonjax import autograd as _autograd
from gluonjax import ndarray as nd
from gluonjax._base.errors import ArgumentTypeError
from gluonjax._base.python_types import string_types as string_types
from gluonjax.ndarray import NDArray


def set_is_training(is_train: bool) -> bool:
    """Switch training mode, and recording with it; returns the previous training mode."""
    before = _autograd.set_training(is_train)
    _autograd.set_recording(is_train)
    return before


class TrainingStateScope:
    """A scope in (or out of) training mode and recording."""

    def __init__(self, enter_state: bool) -> None:
        self._enter_state = bool(enter_state)
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(set_is_training(self._enter_state))

    def __exit__(self, *exc: object) -> None:
        set_is_training(self._before.pop())


def train_section() -> TrainingStateScope:
    """A scope in which operations are recorded, in training mode."""
    return TrainingStateScope(True)


def test_section() -> TrainingStateScope:
    """A scope in prediction mode, without recording."""
    return TrainingStateScope(False)


def mark_variables(variables: Any, gradients: Any, grad_reqs: Any = "write") -> None:
    """Make arrays variables with the given gradient buffers."""
    _autograd.mark_variables(variables, gradients, grad_reqs)


def backward(outputs: Any, out_grads: Any = None, retain_graph: bool = False) -> None:
    """Compute gradients of the outputs into the buffers of the variables."""
    if not isinstance(outputs, (list, tuple)):
        raise ArgumentTypeError(f"outputs must be a list or tuple of NDArrays, got {type(outputs).__name__}")
    _autograd.backward(list(outputs), out_grads, retain_graph)


def compute_gradient(outputs: Sequence[NDArray]) -> None:
    """``backward`` with ones as head gradients."""
    backward(outputs)


def grad_and_loss(func: Callable[..., Any], argnum: int | Sequence[int] | None = None) -> Callable[..., Any]:
    """A function that returns the gradients of ``func`` with respect to its arguments, and its value.

    Args:
        argnum: which arguments to differentiate; None for all.

    >>> gradients, value = grad_and_loss(lambda x: x * x)(nd.array([3.0]))
    >>> gradients[0].asscalar().item()
    6.0
    """

    @functools.wraps(func)
    def wrapped(*args: Any) -> tuple[list[NDArray], Any]:
        chosen: Sequence[Any] = args
        if argnum is not None:
            chosen = [args[i] for i in ([argnum] if isinstance(argnum, int) else argnum)]
        for value in chosen:
            if not isinstance(value, NDArray):
                raise ArgumentTypeError(f"type of autograd input should be NDArray, got {type(value).__name__}")
        gradients = [nd.zeros_like(value) for value in chosen]
        mark_variables(list(chosen), gradients)
        with train_section():
            outputs = func(*args)
        compute_gradient([outputs] if isinstance(outputs, NDArray) else outputs)
        return gradients, outputs

    return wrapped


def grad(func: Callable[..., Any], argnum: int | Sequence[int] | None = None) -> Callable[..., list[NDArray]]:
    """A function that returns the gradients of ``func`` with respect to its arguments."""
    both = grad_and_loss(func, argnum)

    @functools.wraps(both)
    def wrapped(*args: Any) -> list[NDArray]:
        return both(*args)[0]

    return wrapped
