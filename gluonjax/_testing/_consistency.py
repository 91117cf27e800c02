"""Comparing a symbol across devices and types, and timing it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gluonjax import ndarray as nd
from gluonjax._testing._arrays import TestDataError
from gluonjax._testing._compare import assert_almost_equal
from gluonjax._testing._tolerance import Tolerance, get_tols
from gluonjax.context import current_context

Arrays = dict[str, Any]


def check_speed(
    sym: Any,
    location: Mapping[str, Any] | None = None,
    ctx: Any = None,
    N: int = 20,
    grad_req: Any = None,
    typ: str = "whole",
    **kwargs: Any,
) -> float:
    """Return the seconds that one run of a symbol takes, the mean of ``N``.

    Args:
        sym: the symbol.
        location: name -> array of its arguments; random where None.
        ctx: the context.
        N: runs that are timed, after one that is not.
        grad_req: of all arguments; ``"write"`` where None.
        typ: ``"whole"`` times forward and backward, ``"forward"`` the prediction.
        **kwargs: shapes, where ``location`` is None.
    """
    if typ not in ("whole", "forward"):
        raise TestDataError(f'typ can only be "whole" or "forward", got {typ!r}')
    shapes = kwargs if location is None else {name: value.shape for name, value in location.items()}
    executor = sym.simple_bind(grad_req=grad_req or "write", ctx=ctx or current_context(), **shapes)
    for name, target in executor.arg_dict.items():
        if location is None:
            target[:] = np.random.normal(size=target.shape)
        elif name in location:
            target[:] = location[name].astype(target.dtype)

    def run() -> None:
        executor.forward(is_train=typ == "whole")
        if typ == "whole":
            executor.backward(out_grads=executor.outputs)

    run()
    nd.waitall()
    start = time.perf_counter()
    for _ in range(N):
        run()
    nd.waitall()
    return (time.perf_counter() - start) / N


def check_consistency(
    sym: Any,
    ctx_list: Sequence[dict[str, Any]],
    scale: float = 1.0,
    grad_req: Any = "write",
    arg_params: Arrays | None = None,
    aux_params: Arrays | None = None,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    raise_on_err: bool = True,
    ground_truth: Arrays | None = None,
    equal_nan: bool = False,
    use_uniform: bool = False,
    rand_type: Any = np.float64,
) -> Arrays:
    """Raise AssertionError where a symbol gives different results on different devices or types.

    Args:
        sym: a symbol, or one for each entry of ``ctx_list``.
        ctx_list: keyword arguments of ``simple_bind``: ``ctx``, shapes, ``type_dict``.
        scale: of the random arguments.
        grad_req: of all arguments.
        arg_params: arguments; random where missing.
        aux_params: auxiliary states; 0 where missing.
        rtol: relative tolerance.
        atol: absolute tolerance.
        raise_on_err: else errors are printed only.
        ground_truth: the results to compare with; those of the most exact type where None.
        equal_nan: NaN equals NaN.
        use_uniform: random arguments are uniform, not normal.
        rand_type: their type before they are cast.

    Returns:
        The results compared with: name -> array of outputs and gradients.
    """
    symbols = list(sym) if isinstance(sym, (list, tuple)) else [sym] * len(ctx_list)
    if len(symbols) < 2 or len(symbols) != len(ctx_list):
        raise TestDataError(
            f"check_consistency: {len(symbols)} symbols, {len(ctx_list)} contexts; give at least two"
        )
    executors = [one.simple_bind(grad_req=grad_req, **settings) for one, settings in zip(symbols, ctx_list)]
    arguments = {} if arg_params is None else arg_params
    states = {} if aux_params is None else aux_params
    for name, array in sorted(executors[0].arg_dict.items()):
        if name not in arguments:
            limit = 0.92 * scale
            drawn = (
                np.random.uniform(-limit, limit, array.shape)
                if use_uniform
                else np.random.normal(0, scale, array.shape)
            )
            arguments[name] = drawn.astype(rand_type)
    for executor in executors:
        _fill(executor, arguments, states, grad_req)
    kinds = [np.dtype(executor.outputs[0].dtype) for executor in executors]
    best = max(range(len(kinds)), key=lambda number: kinds[number].itemsize)
    outputs = symbols[0].list_outputs()
    problems: list[str] = []

    def compare(phase: str, want: Arrays, names: Sequence[str], results: Any) -> None:
        for number, executor in enumerate(executors):
            if number == best and ground_truth is None:
                continue
            for name, found in zip(names, results(executor)):
                if found is None or want.get(name) is None:
                    continue
                problem = _difference(found, want[name], kinds[number], kinds[best], rtol, atol, equal_nan)
                if problem:
                    problems.append(f"{phase} Err: ctx {number} vs ctx {best} at {name}: {problem}")

    for executor in executors:
        executor.forward(is_train=False)
    truth = ground_truth or dict(executors[best].output_dict)
    compare("Predict", truth, outputs, lambda executor: executor.outputs)
    if grad_req != "null":
        for executor in executors:
            executor.forward(is_train=True)
        heads = _common_heads(executors)
        for executor in executors:
            executor.backward(
                [
                    nd.array(head, ctx=output.context, dtype=output.dtype).tostype(output.stype)
                    for head, output in zip(heads, executor.outputs)
                ]
            )
        if ground_truth is None:
            truth = {**executors[best].output_dict, **executors[best].grad_dict}
        names = [*outputs, *symbols[0].list_arguments()]
        compare("Train", truth, names, lambda executor: [*executor.outputs, *executor.grad_arrays])
    if problems:
        print("\n".join(problems))
        if raise_on_err:
            raise AssertionError("\n".join(problems))
    return truth


def _fill(executor: Any, arguments: Arrays, states: Arrays, grad_req: Any) -> None:
    for name, array in executor.arg_dict.items():
        array[:] = arguments[name]
    for name, array in executor.aux_dict.items():
        array[:] = states.setdefault(name, 0)
    if grad_req == "add":
        for array in executor.grad_arrays:
            array[:] = 0
    executor.forward(is_train=False)


def _common_heads(executors: Sequence[Any]) -> list[np.ndarray]:
    """Head gradients that every executor's type can hold: outputs rounded to the least exact of them."""
    heads = []
    for position, output in enumerate(executors[0].outputs):
        kinds = [np.dtype(executor.outputs[position].dtype) for executor in executors]
        heads.append(output.asnumpy().astype(min(kinds, key=lambda kind: kind.itemsize)))
    return heads


def _difference(
    found: Any, want: Any, kind: np.dtype, best: np.dtype, rtol: Tolerance, atol: Tolerance, equal_nan: bool
) -> str:
    # An array is as exact as the less exact of its own type and that of its executor's output.
    as_exact = [
        np.empty(0, min(np.dtype(array.dtype), other, key=lambda one: one.itemsize))
        for array, other in ((found, kind), (want, best))
    ]
    relative, absolute = get_tols(as_exact[0], as_exact[1], rtol, atol)
    try:
        assert_almost_equal(found, want, relative, absolute, equal_nan=equal_nan)
    except AssertionError as error:
        return str(error)
    return ""


def same_symbol_structure(sym1: Any, sym2: Any) -> bool:
    """True where two symbols have the same operators in the same order."""
    first, second = ([node["op"] for node in json.loads(sym.tojson())["nodes"]] for sym in (sym1, sym2))
    return all(a == b for a, b in zip(first, second))
