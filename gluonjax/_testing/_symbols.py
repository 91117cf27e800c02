"""Checking symbols: outputs and gradients against given values and finite differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gluonjax import ndarray as nd
from gluonjax import symbol as sym_module
from gluonjax._base.errors import ArgumentTypeError
from gluonjax._testing._arrays import TestDataError, create_sparse_array
from gluonjax._testing._compare import assert_almost_equal, to_numpy
from gluonjax._testing._tolerance import Tolerance, default_numeric_eps, get_tolerance
from gluonjax.context import current_context

Arrays = dict[str, Any]
PROJECTION = "__random_proj"
_FLOATS = (np.float16, np.float32, np.float64)


def _check_dtype(dtype: Any, as_numpy: bool = True) -> None:
    if not (as_numpy and isinstance(dtype, str) and dtype == "asnumpy") and dtype not in _FLOATS:
        raise ArgumentTypeError(f"dtype must be float16, float32 or float64, got {dtype!r}")


def _to_ndarray(value: Any, ctx: Any, dtype: Any) -> Any:
    if isinstance(value, nd.NDArray):
        return value
    array = np.asarray(value)
    return nd.array(array, ctx=ctx, dtype=array.dtype if isinstance(dtype, str) else dtype)


def _by_name(names: Sequence[str], values: Any, what: str) -> Arrays:
    if not isinstance(values, Mapping):
        return dict(zip(names, values))
    if set(values) != set(names):
        raise TestDataError(
            f"Symbol {what} and keys of the given location do not match: symbol has {sorted(names)}, "
            f"given are {sorted(values)}"
        )
    return dict(values)


def _arguments(sym: Any, location: Any, ctx: Any, dtype: Any) -> Arrays:
    found = _by_name(sym.list_arguments(), location, "arguments")
    return {name: _to_ndarray(value, ctx, dtype) for name, value in sorted(found.items())}


def _states(sym: Any, aux_states: Any, ctx: Any, dtype: Any) -> Arrays | None:
    if aux_states is None:
        return None
    found = _by_name(sym.list_auxiliary_states(), aux_states, "aux_states names")
    return {name: _to_ndarray(value, ctx, dtype) for name, value in found.items()}


def _requests(sym: Any, grad_req: Any) -> dict[str, str]:
    names = sym.list_arguments()
    if isinstance(grad_req, str):
        return dict.fromkeys(names, grad_req)
    return dict(grad_req) if isinstance(grad_req, Mapping) else dict(zip(names, grad_req))


def simple_forward(sym: Any, ctx: Any = None, is_train: bool = False, **inputs: Any) -> Any:
    """Run a symbol on NumPy arrays.

    Args:
        sym: the symbol.
        ctx: the context.
        is_train: run as in training.
        **inputs: its arguments.

    Returns:
        The output as a NumPy array, or a list where there are several.
    """
    executor = sym.bind(
        ctx or current_context(), args={name: nd.array(value) for name, value in inputs.items()}
    )
    executor.forward(is_train=is_train)
    outputs = [output.asnumpy() for output in executor.outputs]
    return outputs[0] if len(outputs) == 1 else outputs


def numeric_grad(
    executor: Any,
    location: Arrays,
    aux_states: Arrays | None = None,
    eps: float = 1e-4,
    use_forward_train: bool = True,
    dtype: Any = np.float32,
) -> Arrays:
    """Return gradients of the sum of an executor's first output, by central differences.

    Args:
        executor: the bound symbol.
        location: name -> NumPy array of the arguments.
        aux_states: name -> NumPy array; set again before every run.
        eps: the distance between the two points of a difference.
        use_forward_train: run as in training.
        dtype: the type of the arguments.

    Returns:
        name -> array.
    """
    _check_dtype(dtype, as_numpy=False)

    def put(name: str, value: np.ndarray) -> None:
        target = executor.arg_dict[name]
        array = nd.array(value, ctx=target.context, dtype=dtype)
        target[:] = array if target.stype == "default" else array.tostype(target.stype)

    def total() -> float:
        for name, value in (aux_states or {}).items():
            executor.aux_dict[name][:] = value
        executor.forward(is_train=use_forward_train)
        return executor.outputs[0].asnumpy().astype(np.float64).sum()

    for name, value in location.items():
        if executor.arg_dict[name].stype == "default":
            put(name, to_numpy(value))
    elements = sum(np.size(value) for value in map(to_numpy, location.values()) if value.dtype.kind == "f")
    executor._settle(use_forward_train, 2 * elements)
    gradients: Arrays = {}
    for name, value in location.items():
        base = np.array(to_numpy(value), order="C")
        gradients[name] = np.zeros(base.shape, dtype)
        if base.dtype.kind != "f":
            continue
        for place in np.ndindex(base.shape):
            around = []
            for step in (eps / 2, -eps / 2):
                moved = base.copy()
                moved[place] += step
                put(name, moved)
                around.append(total())
            gradients[name][place] = (around[0] - around[1]) / eps
        put(name, base)
    return gradients


def check_numeric_gradient(
    sym: Any,
    location: Any,
    aux_states: Any = None,
    numeric_eps: Any = None,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    grad_nodes: Any = None,
    use_forward_train: bool = True,
    ctx: Any = None,
    grad_stype_dict: Mapping[str, str] | None = None,
    dtype: Any = np.float32,
) -> None:
    """Raise AssertionError where a symbol's gradients are not those of finite differences.

    Args:
        sym: a symbol with one output.
        location: its arguments, by name or in order.
        aux_states: its auxiliary states.
        numeric_eps: the step; by type where None.
        rtol: relative tolerance.
        atol: absolute tolerance.
        grad_nodes: the arguments to check: names, or name -> ``"write"``, ``"add"``, ``"null"``; all where
        None. use_forward_train: finite differences run as in training.
        ctx: the context.
        grad_stype_dict: name -> storage type of the gradient.
        dtype: the type of the arguments.
    """
    _check_dtype(dtype, as_numpy=False)
    context = ctx or current_context()
    arguments = _arguments(sym, location, context, dtype)
    states = _states(sym, aux_states, context, dtype)
    host_arguments = {name: value.asnumpy() for name, value in arguments.items()}
    host_states = None if states is None else {name: value.asnumpy() for name, value in states.items()}
    nodes = sym.list_arguments() if grad_nodes is None else grad_nodes
    requests = dict(nodes) if isinstance(nodes, Mapping) else dict.fromkeys(nodes, "write")
    _, out_shapes, _ = sym.infer_shape(**{name: value.shape for name, value in arguments.items()})
    # A random weighting of the outputs, so that errors of different elements do not cancel.
    weights = np.random.rand(*out_shapes[0]) + 0.1
    arguments[PROJECTION] = nd.array(weights, ctx=context, dtype=dtype)
    before = {
        name: np.random.normal(0, 0.01, arguments[name].shape).astype(dtype)
        for name in [*requests, PROJECTION]
    }
    gradients = {name: nd.array(value, ctx=context, dtype=dtype) for name, value in before.items()}
    for name, stype in (grad_stype_dict or {}).items():
        if name in gradients and stype != "default":
            gradients[name] = nd.zeros(before[name].shape, context, dtype, stype=stype)
    executor = _weighted(sym).bind(
        context, grad_req=requests, args=arguments, args_grad=gradients, aux_states=states
    )
    executor.forward(is_train=True)
    executor.backward()
    eps = get_tolerance(executor.outputs[0], numeric_eps, default_numeric_eps())
    numeric = numeric_grad(executor, host_arguments, host_states, eps, use_forward_train, dtype)
    for name, request in requests.items():
        found = executor.grad_dict[name]
        _compare_gradient(name, request, numeric[name], found, before[name], rtol, atol, "NUMERICAL")


def _weighted(sym: Any) -> Any:
    weights: Any = sym_module.Variable(PROJECTION)
    if hasattr(sym, "as_nd_ndarray") and type(sym) is not type(weights):
        weights = weights.as_np_ndarray()
        return sym_module.make_loss((sym * weights).as_nd_ndarray())
    return sym_module.make_loss(sym * weights)


def _compare_gradient(
    name: str,
    request: str,
    expected: Any,
    found: Any,
    before: Any,
    rtol: Tolerance,
    atol: Tolerance,
    source: str,
    equal_nan: bool = False,
) -> None:
    names = (f"{source}_{name}", f"BACKWARD_{name}")
    if request == "write":
        assert_almost_equal(expected, found, rtol, atol, names, equal_nan)
    elif request == "add":
        assert_almost_equal(expected, to_numpy(found) - before, rtol, atol, names, equal_nan)
    elif request == "null":
        # Nothing may have been written. Executors may drop a gradient that is not asked for.
        if found is not None:
            assert_almost_equal(before, found, rtol, atol, names, equal_nan)
    else:
        raise TestDataError(f"Invalid grad_req {request} for argument {name}")


def check_symbolic_forward(
    sym: Any,
    location: Any,
    expected: Any,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    aux_states: Any = None,
    ctx: Any = None,
    equal_nan: bool = False,
    dtype: Any = np.float32,
) -> list[Any]:
    """Raise AssertionError where a symbol's outputs are not the expected ones.

    Args:
        sym: the symbol.
        location: its arguments, by name or in order.
        expected: its outputs, by name or in order.
        rtol: relative tolerance.
        atol: absolute tolerance.
        aux_states: its auxiliary states.
        ctx: the context.
        equal_nan: NaN equals NaN.
        dtype: the type of the arguments; ``"asnumpy"`` keeps that of the NumPy arrays.

    Returns:
        The outputs.
    """
    _check_dtype(dtype)
    context = ctx or current_context()
    arguments = _arguments(sym, location, context, dtype)
    names = sym.list_outputs()
    wanted = [expected[name] for name in names] if isinstance(expected, Mapping) else expected
    gradients = {
        name: nd.array(
            np.zeros(value.shape), ctx=context, dtype=value.dtype if isinstance(dtype, str) else dtype
        )
        for name, value in arguments.items()
    }
    executor = sym.bind(
        context, args=arguments, args_grad=gradients, aux_states=_states(sym, aux_states, context, dtype)
    )
    executor.forward(is_train=False)
    for name, want, output in zip(names, wanted, executor.outputs):
        assert_almost_equal(want, output, rtol, atol, (f"EXPECTED_{name}", f"FORWARD_{name}"), equal_nan)
    return executor.outputs


def check_symbolic_backward(
    sym: Any,
    location: Any,
    out_grads: Any,
    expected: Any,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    aux_states: Any = None,
    grad_req: Any = "write",
    ctx: Any = None,
    grad_stypes: Mapping[str, str] | None = None,
    equal_nan: bool = False,
    dtype: Any = np.float32,
) -> Arrays:
    """Raise AssertionError where a symbol's gradients are not the expected ones.

    Args:
        sym: the symbol.
        location: its arguments, by name or in order.
        out_grads: the gradients of its outputs, by name or in order.
        expected: the gradients of its arguments, by name or in order.
        rtol: relative tolerance.
        atol: absolute tolerance.
        aux_states: its auxiliary states.
        grad_req: one for all, by name or in order.
        ctx: the context.
        grad_stypes: name -> storage type of the gradient.
        equal_nan: NaN equals NaN.
        dtype: the type of the arguments; ``"asnumpy"`` keeps that of the NumPy arrays.

    Returns:
        name -> gradient.
    """
    _check_dtype(dtype)
    context = ctx or current_context()
    wanted = dict(expected) if isinstance(expected, Mapping) else dict(zip(sym.list_arguments(), expected))
    requests = _requests(sym, grad_req)
    before: Arrays = {}
    gradients: Arrays = {}
    for name, value in sorted(wanted.items()):
        before[name] = np.random.normal(size=value.shape)
        stype = (grad_stypes or {}).get(name, "default")
        kind = value.dtype if isinstance(dtype, str) else dtype
        gradients[name] = (
            nd.array(before[name], ctx=context, dtype=kind)
            if stype in (None, "default")
            else create_sparse_array(value.shape, stype, density=0.0)
        )
    executor = sym.bind(
        context,
        args=_arguments(sym, location, context, dtype),
        args_grad=gradients,
        aux_states=_states(sym, aux_states, context, dtype),
        grad_req=requests,
    )
    executor.forward(is_train=True)
    executor.backward(_heads(out_grads, context, dtype))
    for name, value in wanted.items():
        _compare_gradient(
            name, requests[name], value, gradients[name], before[name], rtol, atol, "EXPECTED", equal_nan
        )
    return gradients


def _heads(out_grads: Any, context: Any, dtype: Any) -> Any:
    if out_grads is None:
        return None
    if isinstance(out_grads, Mapping):
        return {name: _to_ndarray(value, context, dtype) for name, value in out_grads.items()}
    return [_to_ndarray(value, context, dtype) for value in out_grads]
