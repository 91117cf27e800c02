"""Rules for loops, branches and reductions whose step is itself a program."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gluonjax._engine._numpy_rules.reduce import reducer
from gluonjax._engine._numpy_rules.site import Function, Rule, Site, highest, lowest, padder, windows
from gluonjax._engine._numpy_rules.sliding import pool


def _cond(site: Site) -> Function | None:
    branches = [site.inner(branch) for branch in site.params["branches"]]
    if any(branch is None for branch in branches):
        return None
    runs, last = [branch.run for branch in branches if branch is not None], len(branches) - 1

    def cond(which: Any, *operands: Any) -> Any:
        return _one_or_all(runs[min(max(int(which), 0), last)](operands))

    return cond


def _while(site: Site) -> Function | None:
    test, body = site.inner(site.params["cond_jaxpr"]), site.inner(site.params["body_jaxpr"])
    if test is None or body is None:
        return None
    test_count, body_count = site.params["cond_nconsts"], site.params["body_nconsts"]
    run_test, run_body = test.run, body.run

    def loop(*operands: Any) -> Any:
        test_constants = operands[:test_count]
        body_constants = operands[test_count : test_count + body_count]
        carry = operands[test_count + body_count :]
        while run_test((*test_constants, *carry))[0]:
            carry = run_body((*body_constants, *carry))
        return _one_or_all(carry)

    return loop


def _scan(site: Site) -> Function | None:
    body = site.inner(site.params["jaxpr"])
    if body is None:
        return None
    params, run, length = site.params, body.run, site.params["length"]
    # Which operand is what shows in the shapes (a stacked one has an axis more outside than inside); the
    # parameters that say it have changed their names between JAX releases.
    inside = getattr(params["jaxpr"], "jaxpr", params["jaxpr"])
    input_count = sum(len(a.shape) > len(v.aval.shape) for a, v in zip(site.ins, inside.invars))
    carry_count = sum(len(a.shape) == len(v.aval.shape) for a, v in zip(site.outs, inside.outvars))
    constant_count = len(site.ins) - input_count - carry_count
    steps = range(length - 1, -1, -1) if params["reverse"] else range(length)
    stacked = [(out.shape, out.dtype) for out in site.outs[carry_count:]]

    def scan(*operands: Any) -> Any:
        constants = operands[:constant_count]
        carry = operands[constant_count : constant_count + carry_count]
        inputs = operands[constant_count + carry_count :]
        outputs = [np.empty(shape, dtype) for shape, dtype in stacked]
        for step in steps:
            results = run((*constants, *carry, *[x[step] for x in inputs]))
            carry = results[:carry_count]
            for output, result in zip(outputs, results[carry_count:]):
                output[step] = result
        return _one_or_all((*carry, *outputs))

    return scan


def _one_or_all(values: Any) -> Any:
    """A rule's function answers with the value itself where there is only one."""
    return values[0] if len(values) == 1 else values


# ---------------------------------------------------------------------- reductions by an arbitrary function

#: Reductions that NumPy can do by itself, by the name of the one equation of their step.
_MONOIDS = {
    "add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip


def _monoid(jaxpr: Any) -> Any:
    """The ufunc of a step that is one single known equation on its two arguments, or None."""
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    if len(jaxpr.eqns) != 1 or len(jaxpr.invars) != 2 or len(jaxpr.outvars) != 1:
        return None
    (equation,) = jaxpr.eqns
    if jaxpr.outvars[0] is not equation.outvars[0]:
        return None
    if set(map(id, equation.invars)) != set(map(id, jaxpr.invars)):
        return None
    return _MONOIDS.get(equation.primitive.name)


def _reduce(site: Site) -> Function | None:
    """A reduction of one or several operands by a function, from given starting values."""
    axes = tuple(site.params["dimensions"])
    count = len(site.ins) // 2
    ufunc = _monoid(site.params["jaxpr"])
    if ufunc is not None and count == 1:
        if site.ins[0].size == 0:
            shape, dtype = site.outs[0]
            return lambda x, start: np.full(shape, start, dtype)
        reduce = reducer(ufunc, site.ins[0], axes)
        return lambda x, start: ufunc(reduce(x), start)
    step = site.inner(site.params["jaxpr"])
    if step is None or not step.elementwise:
        return None
    run, rank = step.run, len(site.ins[0].shape)
    kept = [axis for axis in range(rank) if axis not in axes]
    shape, length = site.outs[0].shape, math.prod(site.ins[0].shape[axis] for axis in axes)

    def reduce_by_steps(*operands: Any) -> Any:
        lines = [x.transpose(*axes, *kept).reshape((length, *shape)) for x in operands[:count]]
        result = tuple(np.full(shape, start) for start in operands[count:])
        for position in range(length):
            result = run((*result, *[line[position] for line in lines]))
        return _one_or_all(tuple(result))

    return reduce_by_steps


def _reduce_window(site: Site) -> Function | None:
    """A windowed reduction by a function, from given starting values."""
    params, count = site.params, len(site.ins) // 2
    ufunc = _monoid(params["jaxpr"])
    neutral = {np.add: lambda dtype: 0, np.multiply: lambda dtype: 1, np.maximum: lowest, np.minimum: highest}
    if count == 1 and ufunc in neutral:
        reduce = pool(site, ufunc, neutral[ufunc](site.ins[0].dtype))
        return lambda x, start: ufunc(reduce(x), start)
    step = site.inner(params["jaxpr"])
    if step is None or not step.elementwise or len(params.get("consts", ())):
        return None
    run, shape = step.run, site.ins[0].shape
    config = [
        (low, high, dilation - 1) for (low, high), dilation in zip(params["padding"], params["base_dilation"])
    ]
    padded = [
        max(low + high + (n - 1) * (inner + 1) + 1 if n else low + high, 0)
        for n, (low, high, inner) in zip(shape, config)
    ]
    pad = padder(shape, config)
    sliding = windows(
        padded, params["window_dimensions"], params["window_strides"], params["window_dilation"]
    )
    offsets = sliding.offsets()
    # XLA leaves padding and the gaps of a dilated operand out; it does not reduce them
    inside = None if pad is None else pad(np.ones(shape, bool), False)

    def reduce_window(*operands: Any) -> Any:
        arrays, starts = operands[:count], operands[count:]
        if pad is not None:
            arrays = [pad(x, start) for x, start in zip(arrays, starts)]
        result = tuple(np.full(sliding.output, start) for start in starts)
        for offset in offsets:
            following = run((*result, *[x[offset] for x in arrays]))
            if inside is not None:
                following = tuple(np.where(inside[offset], new, old) for new, old in zip(following, result))
            result = following
        return _one_or_all(tuple(result))

    return reduce_window


RULES: dict[str, Rule] = {
    "cond": _cond,
    "while": _while,
    "scan": _scan,
    "reduce": _reduce,
    "reduce_window": _reduce_window,
}


def work(site: Site) -> float:
    """The cost of an equation that runs inner programs."""
    params = site.params
    costs = [inner.cost for jaxpr in _jaxprs(params) if (inner := site.inner(jaxpr)) is not None]
    if site.name == "cond":
        return max(costs, default=0.0)
    if site.name == "while":  # nobody knows how often; most loops in samplers run a few times
        return 8.0 * sum(costs)
    if site.name == "scan":
        return params["length"] * (sum(costs) + 16.0)
    return float(sum(operand.size for operand in site.ins))


def _jaxprs(params: Any) -> list[Any]:
    if "branches" in params:
        return list(params["branches"])
    return [params[name] for name in ("jaxpr", "cond_jaxpr", "body_jaxpr") if name in params]
