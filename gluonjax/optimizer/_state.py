"""Optimizer state as MXNet shows it: None, an NDArray, or nested tuples of them.

A layout says what the state of one weight is made of: ``"zeros"`` and ``"copy"`` have the weight's shape
and dtype, ``"rows"`` has shape (rows, 1), None is no state, and a tuple is a tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

Layout = Any


def map_state(function: Callable[[Any], Any], state: Any) -> Any:
    """Apply a function to every array (or slot name) in a state, keeping its structure.

    >>> map_state(str.upper, ("zeros", None, ("copy",)))
    ('ZEROS', None, ('COPY',))
    """
    if state is None:
        return None
    if isinstance(state, (tuple, list)):
        return type(state)([map_state(function, entry) for entry in state])
    return function(state)


def leaves_of(state: Any) -> list[Any]:
    """The arrays of a state in order."""
    found: list[Any] = []
    map_state(found.append, state)
    return found


def refill(state: Any, leaves: Iterable[Any]) -> Any:
    """A state of the same structure with other arrays."""
    source = iter(leaves)
    return map_state(lambda _: next(source), state)


def slot_array(slot: str, weight: Any) -> Any:
    """The initial content of one slot for a weight given as a NumPy or JAX array.

    NumPy in, NumPy out, so that states of host arrays need no compilation.
    """
    if slot == "copy":
        return weight
    shape = (weight.shape[0], 1) if slot == "rows" else weight.shape
    if isinstance(weight, jax.Array):
        with jax.enable_x64(True):
            if isinstance(weight, Tracer):
                return jax.numpy.zeros(shape, weight.dtype)
            # Like the weight, committed to a device or not: see devices.put.
            there = weight.committed and shape == weight.shape
            return jax.numpy.zeros(shape, weight.dtype, device=weight.sharding if there else None)
    return np.zeros(shape, weight.dtype)
