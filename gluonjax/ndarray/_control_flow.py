"""``foreach``, ``while_loop`` and ``cond`` on arrays: Python loops, recorded like any other operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gluonjax._base.errors import MXNetError, OperatorError
from gluonjax._ops import registry
from gluonjax.ndarray import _creation
from gluonjax.ndarray._invoke import run_operator
from gluonjax.ndarray.ndarray import NDArray


class LoopError(MXNetError, AssertionError, ValueError):
    """A body, its data or its states do not have the form that a loop needs."""


def _flatten(value: Any, what: str) -> tuple[list[NDArray], Any]:
    if isinstance(value, NDArray):
        return [value], 0
    if not isinstance(value, (list, tuple)):
        raise LoopError(f"{what} must be (nested) list of NDArray, but got {value} of type {type(value)}")
    parts = [_flatten(entry, what) for entry in value]
    return [leaf for leaves, _ in parts for leaf in leaves], [form for _, form in parts]


def _regroup(leaves: Sequence[Any], form: Any) -> Any:
    rest = iter(leaves)

    def build(part: Any) -> Any:
        return next(rest) if part == 0 else [build(entry) for entry in part]

    return build(form)


def _operator(name: str, arrays: Sequence[NDArray], **attrs: Any) -> Any:
    return run_operator(registry.get(name), list(arrays), attrs, None, type(arrays[0]))


def _scalar(value: Any, kind: type, what: str) -> Any:
    if hasattr(value, "asscalar"):
        value = value.asscalar()
    try:
        return kind(value)
    except (TypeError, ValueError):
        raise OperatorError(f"Cannot convert {what} to python {kind.__name__}: {value!r}") from None


def foreach(body: Callable[..., Any], data: Any, init_states: Any) -> tuple[Any, Any]:
    """Run a function for every row of some arrays, with states that each step hands to the next.

    Args:
        body: ``(rows, states) -> (outputs, new states)``.
        data: an array or a list of arrays of one length.
        init_states: an array or nested lists of arrays.

    Returns:
        Outputs of all steps, stacked, and the last states, in the forms that ``body`` returned.

    >>> from gluonjax import nd
    >>> outputs, state = foreach(lambda row, s: (row + s, row + s), nd.array([1, 2, 3]), nd.zeros(1))
    >>> outputs.reshape(-1).asnumpy().tolist(), float(state.asscalar())
    ([1.0, 3.0, 6.0], 6.0)
    """
    leaves, _ = _flatten(data, "foreach input")
    _flatten(init_states, "foreach states")
    if not leaves:
        raise LoopError("foreach: data should be an NDArray or a list of NDArrays, got nothing")
    states, collected, form = init_states, [], None
    for number in range(leaves[0].shape[0]):
        rows = data[number] if isinstance(data, NDArray) else [array[number] for array in data]
        outputs, states = body(rows, states)
        flat, form = _flatten(outputs, "foreach output")
        collected.append(flat)
    if form is None:
        raise LoopError(f"foreach: data has no rows, its shape is {leaves[0].shape}; what body returns is unknown")
    return _regroup([_operator("stack", column, axis=0) for column in zip(*collected)], form), states


def while_loop(
    cond: Callable[..., Any], func: Callable[..., Any], loop_vars: Any, max_iterations: Any = None
) -> tuple[Any, Any]:
    """Run a function while a condition holds.

    Args:
        cond: ``(*loop_vars) -> array`` of one number; 0 ends the loop.
        func: ``(*loop_vars) -> (outputs, new loop_vars)``.
        loop_vars: an array or nested lists of arrays.
        max_iterations: the most steps.

    Returns:
        Outputs of all steps, stacked to ``max_iterations`` rows (0 beyond the last step; an empty list where there
        was no step), and the last loop_vars.

    >>> from gluonjax import nd
    >>> outputs, (i,) = while_loop(lambda i: i < 3, lambda i: (i * 2, [i + 1]), [nd.ones(1)], max_iterations=4)
    >>> outputs.reshape(-1).asnumpy().tolist(), float(i.asscalar())
    ([2.0, 4.0, 0.0, 0.0], 3.0)
    """
    if max_iterations is None:
        raise OperatorError("while_loop: max_iterations should be specified")
    limit = _scalar(max_iterations, int, "max_iteration")
    if len(loop_vars) == 0:
        raise OperatorError("while_loop: loop_vars should contain at least one element")
    single = isinstance(loop_vars, NDArray)
    current = [loop_vars] if single else loop_vars
    collected: list[list[NDArray]] = []
    form: Any = None
    while len(collected) < limit and _scalar(cond(*current), bool, "Return value of cond"):
        outputs, new = func(*current)
        outputs = [] if outputs is None else list(outputs) if isinstance(outputs, tuple) else outputs
        new = [] if new is None else list(new) if isinstance(new, (list, tuple)) else [new]
        if len(new) != len(current):
            raise LoopError(
                f"while_loop: The length of loop_vars should be consistent during the loop: {len(current)} went in, "
                f"{len(new)} came out"
            )
        flat, form = _flatten(outputs, "while output")
        if collected and len(flat) != len(collected[0]):
            raise LoopError("while_loop: Number of elements in step_output should be the same in each step")
        collected.append(flat)
        current = new
    stacked: Any = [_stack(column, limit, number) for number, column in enumerate(zip(*collected), 1)]
    if form is not None:
        stacked = _regroup(stacked, form)
    return stacked, current[0] if single else current


def _stack(column: Sequence[NDArray], limit: int, number: int) -> NDArray:
    """The outputs of all steps as rows, filled up with zeros."""
    if any(one.shape != column[0].shape for one in column):
        listed = "\n".join(f"  Step {step}, shape is {one.shape}" for step, one in enumerate(column))
        raise LoopError(
            f"while_loop: Shapes of {number}-th elements in step_outputs are inconsistent, which are:\n{listed}"
        )
    rows = _operator("stack", column, axis=0)
    if len(column) == limit:
        return rows
    shape = (limit - len(column), *column[0].shape)
    rest = _creation.zeros(shape, ctx=rows.context, dtype=rows.dtype)
    return _operator("Concat", [rows, rest], dim=0)


def cond(pred: Any, then_func: Callable[[], Any], else_func: Callable[[], Any]) -> Any:
    """Run one of two functions.

    Args:
        pred: an array of one number.
        then_func: called where ``pred`` is not 0.
        else_func: called where it is.

    Returns:
        What the function returned.

    >>> from gluonjax import nd
    >>> cond(nd.array([1.0]), lambda: "yes", lambda: "no")
    'yes'
    """
    return then_func() if _scalar(pred, bool, "pred") else else_func()
