"""One call of a pure function on handles: look the kernel up, run, wrap, record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gluonjax._base.devices import Context, current_context
from gluonjax._base.dtypes import to_dtype
from gluonjax._base.errors import ArgumentTypeError, MXNetError, OperatorError
from gluonjax._base.scopes import modes
from gluonjax._engine.run import Kernel
from gluonjax._engine.tape import Entry, Node, Tracked, follows
from gluonjax.ndarray._invoke import cast, new_handle
from gluonjax.ndarray.ndarray import NDArray

_kernels: dict[Any, Kernel] = {}


class UnsupportedArgument(ArgumentTypeError, NotImplementedError):
    """An argument value of NumPy's that MXNet refuses with NotImplementedError."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(f"{name}: {text}")


def _freeze(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_freeze(entry) for entry in value)
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, NDArray):
        return _freeze(value.asnumpy().tolist())
    return value


def kernel_of(fn: Callable[..., Any], host: bool = False, **statics: Any) -> Kernel:
    """The kernel of a pure function with fixed keyword arguments; one for each combination."""
    key = (fn, tuple([(name, type(value), value) for name, value in statics.items()]))
    try:
        found = _kernels.get(key)
    except TypeError:
        statics = {name: _freeze(value) for name, value in statics.items()}
        key = (fn, tuple((name, type(value), value) for name, value in statics.items()))
        found = _kernels.get(key)
    if found is None:
        fixed = statics

        def run(*values: Any) -> tuple[Any, ...]:
            result = fn(*values, **fixed)
            return tuple(result) if isinstance(result, (tuple, list)) else (result,)

        name = str(statics.get("name", fn.__name__))
        run.__name__ = run.__qualname__ = name
        found = _kernels[key] = Kernel(name, run, host=host)
    return found


def invoke(
    kernel: Kernel,
    inputs: Sequence[Any],
    cls: Any,
    out: Any = None,
    ctx: Context | None = None,
    many: bool = False,
) -> Any:
    """Run a kernel on handles, NumPy constants and Python floats.

    Args:
        inputs: handles are what gradients flow to; everything else is constant.
        cls: the class of new handles.
        out: a handle to write into (a list of them where ``many``), or None.
        ctx: where a call without handles runs.
        many: answer a list, however many results there are.
    """
    values = []
    place = ctx
    found = None
    for value in inputs:
        if isinstance(value, NDArray):
            here = value._cell.ctx
            if found is None:
                found = place = here
            elif here is not found and not (here.is_host and found.is_host) and here.jax_device != found.jax_device:
                raise MXNetError(f"{kernel.name}: inputs are on different contexts, {found} and {here}; use as_in_ctx")
            values.append(value._value if kernel.host else value._raw)
        else:
            values.append(value)
    if place is None:
        place = current_context()
    on_host = place.is_host
    results = kernel.run(values, on_host, None if on_host or found is not None else place.jax_device)
    node = None
    if modes.recording and not kernel.host:
        parents = [value._entry if isinstance(value, NDArray) else None for value in inputs]
        if any(parents):
            structs = [(r.shape, r.dtype) for r in results]
            node = Node(kernel, values, parents, structs, on_host)
            if not any(follows(node, dtype) for _, dtype in structs):
                node.python = _zero_gradients(node)
    if out is not None:
        targets = list(out) if isinstance(out, (list, tuple)) else [out]
        for index, (target, value) in enumerate(zip(targets, results)):
            write_out(kernel.name, target, value, node, index)
        return out
    if many:
        return [_wrap(cls, value, place, node, index) for index, value in enumerate(results)]
    return _wrap(cls, results[0], place, node, 0)


def _wrap(cls: Any, value: Any, place: Context, node: Node | None, index: int) -> Any:
    handle = new_handle(cls, value, place, node, index)
    if node is not None and node.python is not None:
        handle._cell.entry = Entry(node, index)
    return handle


def _zero_gradients(node: Node) -> Callable[..., Any]:
    """Backward of comparisons and the like: MXNet lets it run, and writes zeros."""
    structs = [(node.values[i].shape, node.values[i].dtype) for i in node.wanted]

    def backward(heads: Any, create_graph: bool) -> list[Tracked]:
        return [Tracked(np.zeros(shape, dtype)) for shape, dtype in structs]

    return backward


def write_out(name: str, target: Any, value: Any, node: Node | None, index: int) -> None:
    """Write a result into the array given as ``out``; it has to have the right shape."""
    if not isinstance(target, NDArray):
        raise ArgumentTypeError(f"{name}: out wants an ndarray, got {type(target).__name__}")
    if tuple(value.shape) != target.shape:
        raise OperatorError(
            f"{name}: the result has shape {list(value.shape)}, but out has shape {list(target.shape)}; "
            "pass an out of the result's shape"
        )
    if value.dtype != target._cell.value.dtype:
        target._write(cast(value, target._cell.value.dtype, target._cell.ctx.is_host))
    else:
        target._write(value, None if node is None else Entry(node, index))


def dtype_or_none(dtype: Any) -> np.dtype | None:
    """A dtype argument; None stays None."""
    return None if dtype is None else to_dtype(dtype)


def axes_or_none(axis: Any) -> Any:
    """An axis argument as an int, a tuple of ints or None."""
    if axis is None or type(axis) is int:
        return axis
    if isinstance(axis, (list, tuple)):
        return tuple(int(one) for one in axis)
    return int(axis)


def shape_of(shape: Any) -> tuple[int, ...]:
    """A shape argument as a tuple."""
    if isinstance(shape, (int, np.integer)):
        return (int(shape),)
    if isinstance(shape, NDArray):
        shape = shape.asnumpy().tolist()
        return (int(shape),) if isinstance(shape, (int, float)) else tuple(int(n) for n in shape)
    return tuple(int(n) for n in shape)


def check_where(name: str, options: dict[str, Any]) -> None:
    """Refuse NumPy's ufunc keywords that MXNet refuses; their default values pass."""
    defaults = {"where": True, "casting": "same_kind", "order": "K", "dtype": None, "subok": True}
    for key, value in options.items():
        if key not in defaults:
            raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
        if value is not defaults[key] and value != defaults[key]:
            raise UnsupportedArgument(name, f"{key}={value} is not implemented yet for operator {name}")
