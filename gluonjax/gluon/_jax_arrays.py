"""JAX arrays and tracers where Gluon expects NDArrays: blocks take them, and answer in kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from gluonjax._base.devices import Context, current_context
from gluonjax._engine.run import is_tracer
from gluonjax.ndarray import NDArray
from gluonjax.ndarray.ndarray import wrap

_KINDS = {"cpu": "cpu", "gpu": "gpu", "cuda": "gpu", "rocm": "gpu", "tpu": "tpu"}


def context_of(array: Any) -> Context:
    """The context whose device holds an array; the current one for tracers and arrays on several devices."""
    if is_tracer(array) or not isinstance(array, jax.Array):
        return current_context()
    devices = array.devices()
    if len(devices) != 1:
        return current_context()
    device = next(iter(devices))
    peers = [one for one in jax.devices(device.platform) if one.process_index == jax.process_index()]
    return Context(_KINDS.get(device.platform, device.platform), peers.index(device))


def mapped(tree: Any, change: Callable[[Any], Any]) -> Any:
    """Containers with ``change`` applied to what is in them."""
    if isinstance(tree, dict):
        return {key: mapped(value, change) for key, value in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(mapped(value, change) for value in tree))
    if isinstance(tree, (list, tuple)):
        return type(tree)(mapped(value, change) for value in tree)
    return change(tree)


def handles(tree: Any) -> Any:
    """``mx_view`` that takes NumPy arrays as well."""

    def change(one: Any) -> Any:
        if isinstance(one, (jax.Array, np.ndarray)):
            return wrap(one, context_of(one))
        return one

    return mapped(tree, change)


def from_handles(tree: Any) -> Any:
    """NDArrays in containers as JAX arrays."""
    return mapped(tree, lambda one: one.jax if isinstance(one, NDArray) else one)


def holds_jax(value: Any) -> bool:
    """Whether an argument is a JAX array, or a container that begins with one."""
    while type(value) in (list, tuple) and value:
        value = value[0]
    return isinstance(value, jax.Array)


def call_on_jax(block: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a block with JAX arrays; the results are JAX arrays."""
    return from_handles(block(*handles(args), **handles(kwargs)))
