"""The same call here, and what differs between its results and the real MXNet's."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

import gluonjax as mx
from gluonjax._engine.tape import NOT_IN_GRAPH
from gluonjax._ops import registry
from gluonjax.ndarray._invoke import run_operator
from tests.oracle.random_calls.domain import inside
from tests.samples import differentiable, floating, head_gradients, rewritten
from tests.samples._sample import Sample

# Relative to the largest magnitude of an array.
TOLERANCE = {"bfloat16": 6e-2, "float16": 2e-2, "float32": 2e-4, "float64": 1e-6}

# How both sides refuse whole numbers.
FLOATING_ONLY = "only support floating point types"


@dataclass
class Outcome:
    """What a call gave: arrays by name (``out0``, ``grad1``, ``state2``), or the error's text."""

    status: str
    text: str = ""
    arrays: dict[str, np.ndarray] | None = None


@dataclass
class Difference:
    """What differs: in words and, where numbers do, those elements of both sides."""

    text: str = ""
    ours: np.ndarray | None = None
    theirs: np.ndarray | None = None

    def __bool__(self) -> bool:
        return bool(self.text)


def run(sample: Sample) -> Outcome:
    """The call on gluonjax: forward, and backward from the head gradients that the recorder uses."""
    try:
        return Outcome("ok", arrays=_run(sample))
    except mx.MXNetError as error:
        return Outcome("error", f"{type(error).__name__}: {error}")
    except Exception as error:
        return Outcome("exception", f"{type(error).__name__}: {error}")


def _run(sample: Sample) -> dict[str, np.ndarray]:
    arrays = [mx.nd.array(array, dtype=array.dtype) for array in sample.inputs]
    found = _record(sample, arrays)
    return {**found, **rewritten(sample.inputs, [array.asnumpy() for array in arrays])}


def _record(sample: Sample, arrays: list[mx.nd.NDArray]) -> dict[str, np.ndarray]:
    op = registry.get(sample.op)
    mx.random.seed(0)
    wanted = differentiable(sample)
    for place in wanted:
        arrays[place].attach_grad()
    # As in the worker: outside of the NumPy mode a size of 0 means "unknown" to MXNet.
    empty = any(array.size == 0 for array in sample.inputs)
    with mx.util.np_shape(empty), mx.autograd.record(train_mode=sample.train):
        result = run_operator(op, arrays, dict(sample.attrs), None, mx.nd.NDArray)
    outputs = result if isinstance(result, list) else [result]
    found = {f"out{i}": output.asnumpy() for i, output in enumerate(outputs)}
    if not wanted or not any(floating(o.dtype) for o in outputs):
        return found
    heads = head_gradients([o.shape for o in outputs], [np.dtype(o.dtype) for o in outputs])
    heads = [mx.nd.array(h, dtype=h.dtype) for h, o in zip(heads, outputs) if floating(o.dtype)]
    try:
        mx.autograd.backward([o for o in outputs if floating(o.dtype)], heads, train_mode=sample.train)
    except mx.MXNetError as error:
        if not str(error).endswith(NOT_IN_GRAPH):
            raise
    found.update({f"grad{place}": arrays[place].grad.asnumpy() for place in wanted})
    return found


def verdict(sample: Sample, theirs: Outcome, ours: Outcome) -> tuple[str, Difference]:
    """``(kind, explanation)``: agree, both refuse, died, undefined, lenient, strict, wrong, exception or unworded.

    lenient: only MXNet refuses. strict: only gluonjax does. exception: gluonjax raises something else than MXNetError.
    unworded: gluonjax refuses in words of JAX or NumPy. undefined: MXNet's answer is chance.
    """
    if ours.status == "exception":
        return "exception", Difference(ours.text)
    if ours.status == "error" and "Error in operator" in ours.text and FLOATING_ONLY not in ours.text:
        return "unworded", Difference(ours.text)
    if theirs.status == "died":
        return "died", Difference(theirs.text)
    if not inside(sample):
        return "undefined", Difference()
    if theirs.status == "error":
        if ours.status == "error":
            return "both refuse", Difference()
        return "lenient", Difference(_last_line(theirs.text))
    if ours.status == "error":
        return "strict", Difference(ours.text)
    assert theirs.arrays is not None and ours.arrays is not None
    problem = difference(sample, theirs.arrays, ours.arrays)
    if problem.ours is not None:
        problem = difference(sample, theirs.arrays, ours.arrays, rounding(sample, theirs.arrays))
    return ("wrong" if problem else "agree"), problem


def rounding(sample: Sample, theirs: dict[str, np.ndarray]) -> dict[str, float]:
    """What terms that cancel leave of their rounding: how far both sides are off the results in float64, at most.

    Ours are those in float32, with neighbouring inputs too, for some happen to round well; MXNet computes in the
    dtype of the inputs. The better side counts: a formula that only one side has unstable stays wrong.
    """
    names = {array.dtype.name for array in sample.inputs if floating(array.dtype)}
    if len(names) != 1 or not names <= {"float16", "float32"} or chance(sample):
        return {}
    dtype = names.pop()
    times = 8 * float(np.finfo(dtype).eps / np.finfo(np.float32).eps)
    random, off, their_off = np.random.RandomState(0), {}, {}
    for number in range(4):
        inputs = [
            (a * (1 + 4e-3 * random.rand(*a.shape))).astype(dtype) if floating(a.dtype) and number else a
            for a in sample.inputs
        ]
        single, double = (_in_dtype(sample, inputs, wide) for wide in (np.float32, np.float64))
        for side, found in ((off, single), (their_off, theirs if number == 0 else {})):
            for name, array in found.items():
                if name in double and floating(array.dtype) and array.shape == double[name].shape:
                    side[name] = max(side.get(name, 0.0), _largest(array.astype(np.float64) - double[name]))
    return {name: min(times * ours, 8 * their_off.get(name, 0.0)) for name, ours in off.items()}


def _in_dtype(sample: Sample, inputs: list[np.ndarray], dtype: type) -> dict[str, np.ndarray]:
    """What the call gives with other inputs, computed in a dtype; nothing where it is refused."""
    inputs = [array.astype(dtype) if floating(array.dtype) else array for array in inputs]
    return run(dataclasses.replace(sample, inputs=tuple(inputs))).arrays or {}


def _largest(array: np.ndarray) -> float:
    """The largest finite magnitude."""
    magnitudes = np.abs(array.astype(np.float64))
    return float(np.max(magnitudes, where=np.isfinite(magnitudes), initial=0))


def against_single(sample: Sample, ours: Outcome) -> Difference:
    """Where MXNet has no half precision: what differs from our own answer in float32, which other calls compare."""
    halves = ("float16", "bfloat16")
    there = any(array.dtype.name in halves for array in sample.inputs)
    # With master copies the dtype of the weight decides which array is read.
    if not there or ours.arrays is None or chance(sample) or "mp_" in sample.op:
        return Difference()
    wide = [a.astype(np.float32) if a.dtype.name in halves else a for a in sample.inputs]
    single = run(dataclasses.replace(sample, inputs=tuple(wide)))
    if single.arrays is None:
        return Difference()
    with np.errstate(all="ignore"):
        rounded = {
            name: array.astype(ours.arrays[name].dtype) if floating(ours.arrays[name].dtype) else array
            for name, array in single.arrays.items()
            if name in ours.arrays
        }
    found = difference(sample, rounded, ours.arrays)
    return Difference(f"against float32: {found.text}", found.ours, found.theirs) if found else found


def _last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return next((line for line in lines if "Error" in line and "Traceback" not in line), lines[-1] if lines else "")


def chance(sample: Sample) -> bool:
    """Whether the call draws random numbers, so that only shapes and dtypes can agree."""
    op = registry.get(sample.op)
    if op.name == "LeakyReLU":
        return sample.attrs.get("act_type") == "rrelu" and sample.train
    if op.name == "RNN" and float(sample.attrs.get("p", 0)) == 0:
        return False
    return op.uses_key and (sample.train or not op.uses_train or sample.attrs.get("mode") == "always")


def difference(
    sample: Sample, theirs: dict[str, Any], ours: dict[str, Any], slack: dict[str, float] | None = None
) -> Difference:
    """The first thing that differs, or an empty text. ``slack``: by how much an array's elements may."""
    outputs = [name for name in theirs if name.startswith("out")]
    if len(outputs) != sum(name.startswith("out") for name in ours):
        return Difference(f"{len(outputs)} outputs, got {sum(name.startswith('out') for name in ours)}")
    random = chance(sample)
    inputs = [array.dtype.name for array in (*sample.inputs, *(theirs[name] for name in outputs))]
    for name, wanted in theirs.items():
        if name in ("nograd", "id"):
            continue
        got = ours.get(name)
        if got is None and name.startswith("state"):
            # Bytes may change without the numbers.
            got = sample.inputs[int(name.removeprefix("state"))]
        if got is None:
            if wanted.astype(np.float64).any():
                return Difference(f"{name}: no gradient, MXNet has one")
            continue
        if got.shape != wanted.shape:
            return Difference(f"{name}: shape {got.shape}, MXNet {wanted.shape}")
        if got.dtype != wanted.dtype:
            return Difference(f"{name}: dtype {got.dtype}, MXNet {wanted.dtype}")
        if not random and not (same := close(got, wanted, inputs, (slack or {}).get(name, 0))).all():
            other = np.broadcast_to(~same, got.shape)
            return Difference(f"{name}: {_short(got)}, MXNet {_short(wanted)}", got[other], wanted[other])
    extra = next((name for name in ours if name.startswith("state") and name not in theirs), None)
    if extra and not close(ours[extra], sample.inputs[int(extra.removeprefix("state"))], inputs).all():
        return Difference(f"{extra}: rewritten, but not by MXNet")
    return Difference()


def close(got: np.ndarray, wanted: np.ndarray, inputs: list[str], slack: float = 0.0) -> np.ndarray:
    """Which elements are equal up to rounding in the narrowest floating dtype that took part, or up to ``slack``."""
    if not floating(got.dtype):
        return got == wanted
    rank = list(TOLERANCE)
    narrow = min((rank.index(d) for d in [*inputs, got.dtype.name] if d in rank), default=1)
    tolerance = TOLERANCE[rank[narrow]]
    wide, other = got.astype(np.float64), wanted.astype(np.float64)
    finite = np.isfinite(other)
    scale = float(np.abs(other[finite]).max()) if finite.any() else 1.0
    if got.dtype.name == "float16":
        # Beyond 65504 one side has an infinity where the other, which rounds later, has a large number.
        wide, other = np.clip(wide, -60000, 60000), np.clip(other, -60000, 60000)
    spread = max(tolerance * min(max(scale, 1e-3), 1e3), slack)
    return np.isclose(wide, other, rtol=tolerance, atol=spread, equal_nan=True)


def _short(array: np.ndarray) -> str:
    return np.array2string(array.reshape(-1)[:12], precision=5, separator=",", max_line_width=200)
