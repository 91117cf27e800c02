"""``mx.autograd``: record operations on arrays and differentiate them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from gluonjax._base.devices import is_usual
from gluonjax._base.errors import ArgumentValueError, MXNetError
from gluonjax._base.python_types import string_types as string_types
from gluonjax._base.scopes import modes
from gluonjax._engine import lazy, tape
from gluonjax._engine.run import Kernel
from gluonjax.ndarray._invoke import new_handle
from gluonjax.ndarray.ndarray import NDArray


def set_recording(is_recording: bool) -> bool:
    """Switch recording on or off for this thread; returns the previous state."""
    before, modes.recording = modes.recording, bool(is_recording)
    return before


def set_training(train_mode: bool) -> bool:
    """Switch training mode on or off for this thread; returns the previous state."""
    before, modes.training = modes.training, bool(train_mode)
    return before


def is_recording() -> bool:
    """True inside ``record`` (and outside of ``pause``)."""
    return modes.recording


def is_training() -> bool:
    """True in training mode."""
    return modes.training


class _ModeScope:
    """Sets recording and training (None leaves one alone) for a block, re-entrant."""

    __slots__ = ("_before", "_recording", "_training")

    def __init__(self, recording: bool | None, training: bool | None) -> None:
        self._recording = recording
        self._training = training
        self._before: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        self._before.append((modes.recording, modes.training))
        if self._recording is not None:
            modes.recording = self._recording
        if self._training is not None:
            modes.training = self._training

    def __exit__(self, *exc: object) -> None:
        modes.recording, modes.training = self._before.pop()


def record(train_mode: bool = True) -> _ModeScope:
    """A scope in which operations are recorded for differentiation.

    >>> from gluonjax import autograd, nd
    >>> x = nd.array([3.0]); x.attach_grad()
    >>> with autograd.record():
    ...     y = x * x
    >>> y.backward(); x.grad.asscalar().item()
    6.0
    """
    return _ModeScope(True, train_mode)


def pause(train_mode: bool = False) -> _ModeScope:
    """A scope in which operations are not recorded."""
    return _ModeScope(False, train_mode)


def train_mode() -> _ModeScope:
    """A scope in training mode; recording stays as it is."""
    return _ModeScope(None, True)


def predict_mode() -> _ModeScope:
    """A scope in prediction mode; recording stays as it is."""
    return _ModeScope(None, False)


def mark_variables(
    variables: NDArray | Sequence[NDArray], gradients: NDArray | Sequence[NDArray], grad_reqs: Any = "write"
) -> None:
    """Make arrays variables with the given gradient buffers.

    Args:
        grad_reqs: 'write', 'add' or 'null', for all or one for each.
    """
    if isinstance(variables, NDArray):
        variables, gradients = [variables], [gradients]  # type: ignore[list-item]
    if isinstance(grad_reqs, str):
        grad_reqs = [grad_reqs] * len(variables)
    for variable, gradient, req in zip(variables, gradients, grad_reqs):  # type: ignore[arg-type]
        variable._mark(gradient, req if isinstance(req, str) else {0: "null", 1: "write", 3: "add"}[req])


def _heads(heads: Any, head_grads: Any) -> list[tuple[Any, Any, Any]]:
    if isinstance(heads, NDArray):
        heads = [heads]
        head_grads = None if head_grads is None else [head_grads]
    if head_grads is None:
        head_grads = [None] * len(heads)
    if isinstance(head_grads, NDArray):
        head_grads = [head_grads]
    if len(head_grads) != len(heads):
        raise ArgumentValueError(f"backward: {len(heads)} heads but {len(head_grads)} head gradients")
    prepared = []
    for head, gradient in zip(heads, head_grads):
        entry = _entry_for_backward(head)
        if gradient is None:
            value = _ones_for(entry, head)
            prepared.append((entry, value, None))
            continue
        if gradient.shape != head.shape:
            gradient = _fitted(gradient, head)
        value = gradient._raw
        if value.dtype != head._cell.value.dtype:
            gradient = gradient.astype(head.dtype)
            value = gradient._raw
        prepared.append((entry, value, gradient._entry))
    return prepared


def _fitted(gradient: NDArray, head: NDArray) -> NDArray:
    """A head gradient of another shape than its head's, read in order as MXNet does; it may have elements to spare."""
    if gradient.size < head.size:
        raise MXNetError(
            f"backward: head gradient has shape {gradient.shape}, the head has shape {head.shape}: "
            f"{gradient.size} elements for {head.size}"
        )
    flat = gradient.reshape((-1,)) if gradient.size == head.size else gradient.reshape((-1,))[: head.size]
    return flat.reshape(head.shape)


def _ones_for(entry: Any, head: NDArray) -> Any:
    """The head gradient where none is given: for a call that has been put off, a constant of its program."""
    value = head._cell.value
    put_off = lazy.waits(value) and type(entry) is tape.Entry and entry.node.pullback is None
    if put_off and is_usual(head.context):
        kernel, structs = _constant_ones(head.shape, value.dtype)
        return lazy.put_off(kernel, (), structs)[0]
    return _ones(head.shape, value.dtype, head.context)


@functools.lru_cache(maxsize=256)
def _constant_ones(shape: tuple[int, ...], dtype: Any) -> tuple[Kernel, Sequence[Any]]:
    kernel = Kernel("_ones", lambda: (jax.numpy.ones(shape, dtype),))
    return kernel, kernel.structs_of(())


@functools.lru_cache(maxsize=256)
def _ones(shape: tuple[int, ...], dtype: Any, ctx: Any) -> Any:
    """The head gradient where none is given; one array for every shape, since contents never change."""
    return new_on(np.ones(shape, dtype), ctx)


def new_on(value: np.ndarray, ctx: Any) -> Any:
    """A NumPy value on a device."""
    from gluonjax.ndarray.ndarray import wrap

    return wrap(value, ctx)._value


def _entry_for_backward(head: NDArray) -> Any:
    own = head._own
    if own is None and head._view is None:
        entry = head._cell.entry
        if entry is not None and not (type(entry) is tape.Entry and entry.node.dead):
            return entry
        if entry is not None and head._cell.leaf is not None:
            return head._cell.leaf
    else:
        entry = head._entry
        if entry is not None:
            return entry
    raise MXNetError(f"Check failed: !AGInfo::IsNone(*i): {tape.NOT_IN_GRAPH}")


def backward(heads: Any, head_grads: Any = None, retain_graph: bool = False, train_mode: bool = True) -> None:
    """Compute the gradients of the heads and put them into the buffers of the variables.

    Args:
        heads: an array or a list of arrays that were recorded.
        head_grads: gradients of the heads; None (for all or for one) means ones.
        retain_graph: keep what was recorded, so that backward can run again.

    Raises:
        MXNetError: where a head was not recorded, or its graph is gone.
    """
    with _ModeScope(False, train_mode):
        found = tape.walk(_heads(heads, head_grads), retain_graph, False)
        tape.deliver(found)


def grad(
    heads: Any, variables: Any, head_grads: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
    train_mode: bool = True,
) -> Any:  # fmt: skip
    """Return the gradients of the heads with respect to the variables: a list of new arrays, also for one variable.

    Args:
        create_graph: record the gradient computation too, so that it can be differentiated again.
        retain_graph: keep the graph; by default as ``create_graph``.

    >>> from gluonjax import autograd, nd
    >>> x = nd.array([2.0]); x.attach_grad()
    >>> with autograd.record():
    ...     slope = autograd.grad(x ** 3, [x], create_graph=True)[0]
    >>> slope.backward(); x.grad.asscalar().item()
    12.0
    """
    listed = [variables] if isinstance(variables, NDArray) else list(variables)
    if not listed:
        raise ArgumentValueError("variables cannot be an empty list.")
    retain = create_graph if retain_graph is None else retain_graph
    targets = [_entry_for_backward(variable) for variable in listed]
    with _ModeScope(create_graph, train_mode):
        found = tape.walk(_heads(heads, head_grads), retain, create_graph, targets)
    results = []
    for variable, target in zip(listed, targets):
        key = target if type(target) is tape.Leaf else (target.node.number, target.index)
        gradient = found.get(key)
        # Gradients are dense, also those of sparse arrays.
        cls = type(variable) if variable.stype == "default" else NDArray
        if gradient is None:
            value = np.zeros(variable.shape, variable._cell.value.dtype)
            results.append(new_handle(cls, new_on(value, variable.context), variable.context))
            continue
        handle = new_handle(cls, gradient.value, variable.context)
        handle._cell.entry = gradient.entry
        results.append(handle)
    return results


def get_symbol(x: NDArray) -> Any:
    """The recorded computation that made ``x``, as a Symbol."""
    from gluonjax.symbol._from_tape import symbol_of

    return symbol_of(_entry_for_backward(x))


class Function:
    """A differentiable function with a forward and a backward written by hand.

    >>> from gluonjax import autograd, nd
    >>> class Double(autograd.Function):
    ...     def forward(self, x):
    ...         return x * 2
    ...     def backward(self, dy):
    ...         return dy * 2
    >>> x = nd.array([1.0]); x.attach_grad()
    >>> with autograd.record():
    ...     y = Double()(x)
    >>> y.backward(); x.grad.asscalar().item()
    2.0
    """

    def __init__(self) -> None:
        self._used = False
        self.saved_tensors: tuple[NDArray, ...] = ()

    def save_for_backward(self, *args: NDArray) -> None:
        """Keep arrays for ``backward`` as ``self.saved_tensors``."""
        self.saved_tensors = args

    def __call__(self, *inputs: NDArray) -> Any:
        if self._used:
            raise MXNetError(
                "Each Function instance can only be called once. Please create another instance."
            )
        self._used = True
        with pause(train_mode=is_training()):
            outputs = self.forward(*inputs)
        if not modes.recording:
            return outputs
        single = isinstance(outputs, NDArray)
        listed = [outputs] if single else list(outputs)
        parents = [handle._entry for handle in inputs]
        if not any(parents):
            return outputs
        listed = [one.detach().copy() if any(one is i for i in inputs) else one for one in listed]
        values = [handle._value for handle in inputs]
        contexts = [handle.context for handle in listed]
        wanted = tape.wanted_inputs(values, parents)
        ctx = listed[0].context

        def pull(heads: list[tape.Tracked], create_graph: bool) -> list[tape.Tracked | None]:
            arrays = []
            for head, context in zip(heads, contexts):
                array = new_handle(NDArray, head.value, context)
                array._cell.entry = head.entry
                arrays.append(array)
            with _ModeScope(create_graph, None):
                grads = self.backward(*arrays)
            grads = [grads] if isinstance(grads, NDArray) else list(grads)
            if len(grads) != len(inputs):
                raise MXNetError(
                    f"{type(self).__name__}.backward must return exactly the same number of NDArrays as the number "
                    f"of NDArrays arguments to forward. Expecting {len(inputs)} got {len(grads)}"
                )
            for index, (gradient, value) in enumerate(zip(grads, values)):
                if not isinstance(gradient, NDArray):
                    raise MXNetError(f"{type(self).__name__}.backward: result {index} is not an NDArray")
                if gradient.shape != value.shape:
                    raise MXNetError(
                        f"{type(self).__name__}.backward: gradient {index} has shape {gradient.shape}, the input "
                        f"has shape {value.shape}"
                    )
            return [tape.Tracked(grads[i]._value, grads[i]._entry if create_graph else None) for i in wanted]

        node = tape.Node(
            None, values, parents, [(one.shape, one._cell.value.dtype) for one in listed], ctx.is_host, python=pull
        )
        for index, one in enumerate(listed):
            one._cell.entry = tape.Entry(node, index)
            one._own = None
        return listed[0] if single else listed

    def forward(self, *inputs: NDArray) -> Any:
        """Compute the outputs; overridden by subclasses."""
        raise MXNetError(f"{type(self).__name__} must define forward(self, *inputs)")

    def backward(self, *output_grads: NDArray) -> Any:
        """Compute the gradients of the inputs; overridden by subclasses."""
        raise MXNetError(f"{type(self).__name__} must define backward(self, *output_grads)")
