"""``nd.Custom``: a user's Python operator called on arrays, with its backward on the tape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gluonjax._base.errors import OperatorError
from gluonjax._base.scopes import modes
from gluonjax._engine import tape
from gluonjax._engine.run import is_tracer
from gluonjax._ops.custom import CUSTOM, Program, check_count, custom, program_of, result_structs
from gluonjax.ndarray._invoke import new_handle, run_operator
from gluonjax.ndarray.ndarray import NDArray, wrap


def Custom(*data: NDArray, **kwargs: Any) -> Any:
    out = kwargs.pop("out", None)
    kwargs.pop("name", None)
    named = {key: value for key, value in kwargs.items() if isinstance(value, NDArray)}
    attrs = CUSTOM.parse({key: value for key, value in kwargs.items() if key not in named and key != "ctx"})
    program = program_of(attrs)
    inputs = _in_order(program, data, named)
    check_count(program, len(inputs))
    if any(is_tracer(handle._value) for handle in inputs):
        return run_operator(CUSTOM, inputs, dict(attrs), out, type(inputs[0]))
    return _run(program, inputs, out)


Custom.__doc__ = custom.__doc__


def _in_order(program: Program, data: Sequence[NDArray], named: dict[str, NDArray]) -> list[NDArray]:
    """Inputs given by position, then those given by name, in the order of the operator's own lists."""
    for position, value in enumerate(data):
        if not isinstance(value, NDArray):
            raise OperatorError(
                f"Custom: input {position} must be an NDArray, got {type(value).__name__}: {value!r}"
            )
    names = (*program.arguments, *program.states)
    unknown = [name for name in named if name not in names]
    if unknown:
        raise OperatorError(f"Custom: there is no input '{unknown[0]}'; inputs are {', '.join(names)}")
    return [*data, *(named[name] for name in names[len(data) :] if name in named)]


def _run(program: Any, inputs: Sequence[NDArray], out: Any) -> Any:
    count = len(program.arguments)
    arguments, states = list(inputs[:count]), list(inputs[count:])
    ctx = inputs[0].context if inputs else program.default_context()
    cls = type(arguments[0]) if arguments and arguments[0].stype == "default" else NDArray
    structs = result_structs(
        program, [handle.shape for handle in inputs], [handle._cell.value.dtype for handle in inputs]
    )[: len(program.outputs)]
    session = program.start(ctx)
    outputs = program.new_outputs(arguments, structs, ctx, cls)
    given = [handle.detach() if handle.stype == "default" else handle for handle in arguments]
    program.call_forward(session, modes.training, ["write"] * len(outputs), given, outputs, states)
    if modes.recording:
        _record(program, session, arguments, states, outputs, cls)
    if out is not None:
        targets = list(out) if isinstance(out, (list, tuple)) else [out]
        for target, value in zip(targets, outputs):
            target._write(value._value, value._entry)
        return out
    return outputs[0] if len(outputs) == 1 else outputs


def _record(
    program: Any, session: Any, arguments: Sequence[NDArray], states: Sequence[NDArray],
    outputs: Sequence[NDArray], cls: type[NDArray],
) -> None:  # fmt: skip
    parents = [handle._entry for handle in arguments]
    if not any(parents):
        return
    values = [handle._value for handle in arguments]
    kept = [handle._value for handle in outputs]
    wanted = tape.wanted_inputs(values, parents)
    contexts = [handle.context for handle in outputs]
    stypes = [handle.stype for handle in arguments]
    ctx = outputs[0].context

    def handle_on(value: Any, context: Any, entry: Any = None) -> NDArray:
        handle = new_handle(cls, value, context)
        handle._cell.entry = entry
        return handle

    def pull(heads: list[tape.Tracked], create_graph: bool) -> list[tape.Tracked | None]:
        out_grad = [handle_on(h.value, c, h.entry) for h, c in zip(heads, contexts)]
        in_data = [
            program.as_stored(handle_on(v, ctx, p if create_graph else None), stype)
            for v, p, stype in zip(values, parents, stypes)
        ]
        out_data = [
            handle_on(v, c, tape.Entry(node, i) if create_graph else None)
            for i, (v, c) in enumerate(zip(kept, contexts))
        ]
        in_grad = [
            program.as_stored(wrap(np.zeros(v.shape, v.dtype), ctx)._as_class(cls), stype)
            for v, stype in zip(values, program.gradient_stypes(stypes))
        ]
        requests = ["write" if index in wanted else "null" for index in range(len(values))]
        program.call_backward(
            session, requests, out_grad, in_data, out_data, in_grad, list(states), create_graph
        )
        return [tape.Tracked(in_grad[i]._value, in_grad[i]._entry if create_graph else None) for i in wanted]

    shapes = [(handle.shape, handle._cell.value.dtype) for handle in outputs]
    node = tape.Node(None, values, parents, shapes, ctx.is_host, python=pull)
    for index, handle in enumerate(outputs):
        handle._cell.entry = tape.Entry(node, index)
        handle._own = None
