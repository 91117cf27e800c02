"""Properties of every operator, over its samples.

Forward against NumPy and against recorded MXNet 1.9.1 values; gradients against recorded ones and central
differences; eager, interpreted, compiled, symbolic and reloaded from JSON agree; inferred shapes and dtypes
are the actual ones.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import pathlib

import numpy as np
import pytest

import gluonjax as mx
from gluonjax._engine.functions import namespace_of
from gluonjax._engine.run import Kernel
from gluonjax._engine.tape import NOT_IN_GRAPH
from gluonjax._ops import registry
from gluonjax._ops.opdef import zero_grad
from gluonjax.ndarray._cached import CachedGraph
from gluonjax.ndarray._invoke import run_operator
from gluonjax.symbol.register import find_function
from tests.samples import FAMILIES, differentiable, error_samples_of, fingerprint, head_gradients, samples_of

DATA = pathlib.Path(__file__).parent.parent / "data" / "ops"
CASES = [(family, index) for family in FAMILIES for index in range(len(samples_of(family)))]
ERRORS = [(family, index) for family in FAMILIES for index in range(len(error_samples_of(family)))]


def case_id(case):
    family, index = case
    sample = samples_of(family)[index]
    return f"{family}-{index}-{sample.op}"


@functools.lru_cache(maxsize=4)
def recorded_family(family):
    path = DATA / f"{family}.npz"
    if not path.exists():
        return {}
    with np.load(path) as archive:
        return dict(archive)


def recorded(family, index):
    """The recorded values of a sample, or None where none are expected."""
    sample = samples_of(family)[index]
    if not sample.oracle:
        assert sample.why, f"{family}[{index}]: a sample without recording says why"
        return None
    prefix = f"{index}/"
    found = {k[len(prefix) :]: v for k, v in recorded_family(family).items() if k.startswith(prefix)}
    assert found, f"{family}[{index}] is not recorded: python -m tests.oracle.record_ops {family}"
    assert str(found["id"]) == fingerprint(sample), f"{family}[{index}] has changed since it was recorded"
    return found


def arrays_of(sample):
    return [mx.nd.array(array, dtype=array.dtype) for array in sample.inputs]


def call(sample, arrays):
    with mx.util.np_shape(False):
        result = run_operator(registry.get(sample.op), arrays, dict(sample.attrs), None, mx.nd.NDArray)
    return result if isinstance(result, list) else [result]


def tolerances(sample, *dtypes):
    rtol, atol = sample.rtol, sample.atol
    if any(np.dtype(d).name in ("float16", "bfloat16") for d in dtypes):
        return max(rtol, 5e-3), max(atol, 5e-3)
    return rtol, atol


def assert_close(actual, wanted, sample, what):
    actual, wanted = np.asarray(actual), np.asarray(wanted)
    assert actual.shape == wanted.shape, f"{what}: shape {actual.shape}, wanted {wanted.shape}"
    rtol, atol = tolerances(sample, actual.dtype, wanted.dtype)
    kind = np.float64 if actual.dtype.kind != "b" else np.bool_
    np.testing.assert_allclose(
        actual.astype(kind), wanted.astype(kind), rtol=rtol, atol=atol, err_msg=what, equal_nan=True
    )


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_forward(case):
    """Values and dtypes are those of the NumPy reference and of MXNet."""
    family, index = case
    sample = samples_of(family)[index]
    with mx.autograd._ModeScope(False, sample.train):
        outputs = [out.asnumpy() for out in call(sample, arrays_of(sample))]
    truth = recorded(family, index)
    if truth is not None:
        assert len(outputs) == sum(name.startswith("out") for name in truth)
        for number, out in enumerate(outputs):
            wanted = truth[f"out{number}"]
            assert out.dtype == wanted.dtype, (
                f"output {number}: dtype {out.dtype}, MXNet gives {wanted.dtype}"
            )
            assert_close(out, wanted, sample, f"output {number} against MXNet")
    if sample.reference is not None:
        wanted = sample.reference(*sample.inputs)
        wanted = list(wanted) if isinstance(wanted, (tuple, list)) else [wanted]
        for number, (out, one) in enumerate(zip(outputs, wanted)):
            assert_close(out, np.asarray(one).reshape(out.shape), sample, f"output {number} against NumPy")
    assert truth is not None or sample.reference is not None or sample.why


@pytest.mark.parametrize("case", [c for c in CASES if differentiable(samples_of(c[0])[c[1]])], ids=case_id)
def test_gradient(case):
    """Gradients are those of MXNet, and of central differences where those apply."""
    family, index = case
    sample = samples_of(family)[index]
    wanted_inputs = differentiable(sample)
    arrays = arrays_of(sample)
    for place in wanted_inputs:
        arrays[place].attach_grad()
    truth = recorded(family, index)
    with mx.autograd.record(train_mode=sample.train):
        outputs = call(sample, arrays)
    floating = [out for out in outputs if np.dtype(out.dtype).kind == "f"]
    all_heads = head_gradients([o.shape for o in outputs], [np.dtype(o.dtype) for o in outputs])
    heads = [h for h, o in zip(all_heads, outputs) if np.dtype(o.dtype).kind == "f"]
    try:
        mx.autograd.backward(
            floating, [mx.nd.array(h, dtype=h.dtype) for h in heads], train_mode=sample.train
        )
        grads = {place: arrays[place].grad.asnumpy() for place in wanted_inputs}
    except mx.MXNetError as error:
        assert str(error).endswith(NOT_IN_GRAPH), error
        grads = {place: np.zeros_like(sample.inputs[place]) for place in wanted_inputs}  # passes no gradient
    if truth is not None and "nograd" not in truth:
        for place in wanted_inputs:
            assert_close(
                grads[place], truth[f"grad{place}"], sample, f"gradient of input {place} against MXNet"
            )
    if sample.numeric_grad and registry.get(sample.op).grad is None and not registry.get(sample.op).uses_key:
        compare_with_differences(sample, wanted_inputs, heads, grads)


def compare_with_differences(sample, places, heads, grads):
    """The derivative along one random direction of all inputs, against the inner product of gradients."""
    op = registry.get(sample.op)
    if any(np.dtype(sample.inputs[p].dtype).name == "float16" for p in places) or op.host:
        return
    kernel, attrs = kernel_of(sample)
    draw = np.random.RandomState(3)
    wide = [a.astype(np.float64) if a.dtype.kind == "f" else a for a in sample.inputs]
    directions = {p: draw.uniform(-1, 1, wide[p].shape) for p in places}
    step = 1e-6

    def value(scale):
        moved = [w + scale * directions[i] if i in directions else w for i, w in enumerate(wide)]
        outs = [np.asarray(o) for o in kernel.run(moved, True)[: op.visible(attrs)]]
        outs = [o for o in outs if o.dtype.kind == "f"]
        return sum(float((o.astype(np.float64) * h.astype(np.float64)).sum()) for o, h in zip(outs, heads))

    numeric = (value(step) - value(-step)) / (2 * step)
    analytic = sum(float((grads[p].astype(np.float64) * directions[p]).sum()) for p in places)
    scale = sum(float(np.abs(grads[p].astype(np.float64) * directions[p]).sum()) for p in places)
    assert abs(numeric - analytic) <= 1e-3 * max(1.0, scale), f"numeric {numeric}, analytic {analytic}"


def kernel_of(sample, **options):
    """The sample's operator as a kernel, and its attributes."""
    op = registry.get(sample.op)
    attrs = op.parse(sample.attrs)
    if op.variadic and attrs.get(op.variadic) is None:
        attrs[op.variadic] = len(sample.inputs)
    return Kernel(op.name, op.pure(attrs, sample.train), **options), attrs


def first_per_operator(usable):
    """One case for each operator: the first of its samples that is usable."""
    chosen = {}
    for family, index in CASES:
        sample = samples_of(family)[index]
        if usable(sample):
            chosen.setdefault(registry.get(sample.op).name, (family, index))
    return list(chosen.values())


def runs_in_both_tiers(sample):
    op = registry.get(sample.op)
    return not op.host and not op.uses_key and all(a.size for a in sample.inputs)


@pytest.mark.parametrize("case", first_per_operator(runs_in_both_tiers), ids=case_id)
def test_tiers_agree(case):
    """Interpreted and compiled, forward and backward are the same function."""
    family, index = case
    sample = samples_of(family)[index]
    # XLA's and NumPy's powers differ in the last bit, which 1 - beta ** t (Adam's kind) shows magnified.
    sample = dataclasses.replace(sample, rtol=max(sample.rtol, 3e-5))
    values = list(sample.inputs)
    warm, attrs = kernel_of(sample, interpretable=False)
    cold, _ = kernel_of(sample)
    outs = [np.asarray(out) for out in cold.run(values, True)]
    for number, (one, other) in enumerate(zip(warm.run(values, True), outs, strict=True)):
        assert one.dtype == other.dtype
        assert_close(one, other, sample, f"result {number}")
    op = registry.get(sample.op)
    wanted = differentiable(sample)
    present = tuple(i for i in range(len(op.outputs(attrs))) if outs[i].dtype.kind == "f")
    if op.grad is zero_grad or not wanted or not present:
        return
    arguments = [*values, *head_gradients([outs[i].shape for i in present], [outs[i].dtype for i in present])]
    grads = [k.backward(wanted, present, len(values)).run(arguments, True) for k in (warm, cold)]
    for place, one, other in zip(wanted, *grads, strict=True):
        assert one.dtype == other.dtype
        assert_close(one, other, sample, f"gradient of input {place}")


def compiled_cases():
    """The cases that are compiled as a graph: different attributes of an operator, up to a number of them.

    Compiling is what this suite costs. Samplers and loops take seconds each.
    """
    chosen, seen, taken = set(), set(), collections.Counter()
    for case in CASES:
        sample = samples_of(case[0])[case[1]]
        op = registry.get(sample.op)
        kind = (op.name, repr(sorted(sample.attrs.items())), sample.train, len(sample.inputs))
        limit = 1 if op.uses_key else 2 if op.heavy else 5
        if kind not in seen and taken[op.name] < limit:
            seen.add(kind)
            taken[op.name] += 1
            chosen.add(case)
    return chosen


COMPILED = compiled_cases()


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_every_way_to_run_agrees(case):
    """Reloaded from JSON, inferred and (some samples of each operator) compiled: eager's results."""
    family, index = case
    sample = samples_of(family)[index]
    op = registry.get(sample.op)
    if op.host:
        pytest.skip("runs on concrete values only; cannot be compiled")
    arrays = arrays_of(sample)
    mx.random.seed(5)
    with mx.autograd._ModeScope(False, sample.train):
        eager = [out.asnumpy() for out in call(sample, [a.copy() for a in arrays])]
    names = [f"in{i}" for i in range(len(arrays))]
    symbol = symbol_of(op, [mx.sym.var(name) for name in names], sample.attrs)
    if not symbol.list_outputs():
        assert not eager  # it only rewrites its inputs: there is nothing to bind
        return
    text = symbol.tojson(remove_amp_cast=False)
    reloaded = mx.sym.load_json(text)
    assert reloaded.tojson(remove_amp_cast=False) == text
    assert reloaded.list_outputs() == symbol.list_outputs()
    table = dict(zip(names, arrays))
    if case in COMPILED:
        for number, (one, other) in enumerate(zip(eager, run_compiled(reloaded, table, sample))):
            assert one.dtype == other.dtype
            assert_close(other, one, sample, f"output {number}: compiled graph against eager")
    if not any(
        0 in array.shape or array.ndim == 0 for array in [*arrays, *eager]
    ):  # unknown to MXNet's inference
        used = set(reloaded.list_inputs())
        _, shapes, _ = reloaded.infer_shape(**{k: a.shape for k, a in table.items() if k in used})
        assert [tuple(shape) for shape in shapes][: len(eager)] == [out.shape for out in eager]
    _, types, _ = reloaded.infer_type(**{k: a.dtype for k, a in table.items()})
    assert [np.dtype(t) for t in types][: len(eager)] == [out.dtype for out in eager]


def run_compiled(symbol, table, sample):
    """The outputs of a symbol as one compiled graph."""
    mx.random.seed(5)
    with mx.autograd._ModeScope(False, sample.train):
        if not table:
            return [out.asnumpy() for out in symbol.eval(ctx=mx.cpu())]
        graph = CachedGraph(symbol._graph, sample.op)
        feeds = [table[name].copy() for name in graph.arguments + graph.auxiliary]
        return [out.asnumpy() for out in graph(feeds, mx.nd.NDArray)]


def symbol_of(op, variables, attrs):
    function = find_function(*namespace_of(op.name), mx.sym.Symbol)
    if op.variadic:
        return function(*variables, **attrs)
    names = op.active_inputs(op.parse(attrs))
    return function(**dict(zip(names, variables, strict=True)), **attrs)


@pytest.mark.parametrize("case", ERRORS, ids=lambda c: f"{c[0]}-{c[1]}-{error_samples_of(c[0])[c[1]].op}")
def test_wrong_calls_are_explained(case):
    """Wrong input raises MXNetError at the call, with a message that says what is wrong."""
    family, index = case
    sample = error_samples_of(family)[index]
    with pytest.raises(mx.MXNetError, match=sample.match):
        run_operator(
            registry.get(sample.op), [mx.nd.array(a, dtype=a.dtype) for a in sample.inputs],
            dict(sample.attrs), None, mx.nd.NDArray,
        )  # fmt: skip


def test_every_operator_has_samples():
    """No operator goes unproved; samples name operators that exist."""
    sampled = {registry.get(sample.op).name for family in FAMILIES for sample in samples_of(family)}
    # Custom is whatever its user registers: tests/test_custom_op.py. Loops: tests/symbol/test_control_flow.py.
    plain = (op for op in registry.operators() if not (op.open_inputs or op.bodies))
    missing = sorted(op.name for op in plain if op.name not in sampled)
    assert not missing
