"""The same call here, and what differs between its results and the real MXNet's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import gluonjax as mx
from gluonjax._engine.tape import NOT_IN_GRAPH
from gluonjax._ops import registry
from gluonjax.ndarray._invoke import run_operator
from tests.oracle.random_calls.domain import inside
from tests.samples import differentiable, head_gradients
from tests.samples._sample import Sample

# Relative to the largest magnitude of an array.
TOLERANCE = {"float16": 2e-2, "float32": 2e-4, "float64": 1e-6}


@dataclass
class Outcome:
    """What a call gave: arrays by name (``out0``, ``grad1``), or the error's text."""

    status: str
    text: str = ""
    arrays: dict[str, np.ndarray] | None = None


def run(sample: Sample) -> Outcome:
    """The call on gluonjax: forward, and backward from the head gradients that the recorder uses."""
    try:
        return Outcome("ok", arrays=_run(sample))
    except mx.MXNetError as error:
        return Outcome("error", f"{type(error).__name__}: {error}")
    except Exception as error:
        return Outcome("exception", f"{type(error).__name__}: {error}")


def _run(sample: Sample) -> dict[str, np.ndarray]:
    op = registry.get(sample.op)
    mx.random.seed(0)
    arrays = [mx.nd.array(array, dtype=array.dtype) for array in sample.inputs]
    wanted = differentiable(sample)
    for place in wanted:
        arrays[place].attach_grad()
    # As in the worker: outside of the NumPy mode a size of 0 means "unknown" to MXNet.
    empty = any(array.size == 0 for array in sample.inputs)
    with mx.util.np_shape(empty), mx.autograd.record(train_mode=sample.train):
        result = run_operator(op, arrays, dict(sample.attrs), None, mx.nd.NDArray)
    outputs = result if isinstance(result, list) else [result]
    found = {f"out{i}": output.asnumpy() for i, output in enumerate(outputs)}
    floating = [o for o in outputs if np.dtype(o.dtype).kind == "f"]
    if not wanted or not floating:
        return found
    heads = head_gradients([o.shape for o in outputs], [np.dtype(o.dtype) for o in outputs])
    heads = [mx.nd.array(h, dtype=h.dtype) for h, o in zip(heads, outputs) if np.dtype(o.dtype).kind == "f"]
    try:
        mx.autograd.backward(floating, heads, train_mode=sample.train)
    except mx.MXNetError as error:
        if not str(error).endswith(NOT_IN_GRAPH):
            raise
    found.update({f"grad{place}": arrays[place].grad.asnumpy() for place in wanted})
    return found


def verdict(sample: Sample, theirs: Outcome, ours: Outcome) -> tuple[str, str]:
    """``(kind, explanation)``: agree, both refuse, died, undefined, lenient, strict, wrong or exception.

    lenient: only MXNet refuses. strict: only gluonjax does. exception: gluonjax raises something else than MXNetError.
    undefined: MXNet's answer is chance.
    """
    if ours.status == "exception":
        return "exception", ours.text
    if theirs.status == "died":
        return "died", theirs.text
    if not inside(sample):
        return "undefined", ""
    if theirs.status == "error":
        if ours.status == "error":
            return "both refuse", ""
        return "lenient", _last_line(theirs.text)
    if ours.status == "error":
        return "strict", ours.text
    assert theirs.arrays is not None and ours.arrays is not None
    problem = difference(sample, theirs.arrays, ours.arrays)
    return ("wrong", problem) if problem else ("agree", "")


def _last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return next((line for line in lines if "Error" in line and "Traceback" not in line), lines[-1] if lines else "")


def difference(sample: Sample, theirs: dict[str, Any], ours: dict[str, Any]) -> str:
    """The first thing that differs, or an empty text."""
    outputs = [name for name in theirs if name.startswith("out")]
    if len(outputs) != sum(name.startswith("out") for name in ours):
        return f"{len(outputs)} outputs, got {sum(name.startswith('out') for name in ours)}"
    random = registry.get(sample.op).uses_key
    inputs = [array.dtype.name for array in (*sample.inputs, *(theirs[name] for name in outputs))]
    for name, wanted in theirs.items():
        if name in ("nograd", "id"):
            continue
        got = ours.get(name)
        if got is None:
            if np.any(wanted):
                return f"{name}: no gradient, MXNet has one"
            continue
        if got.shape != wanted.shape:
            return f"{name}: shape {got.shape}, MXNet {wanted.shape}"
        if got.dtype != wanted.dtype:
            return f"{name}: dtype {got.dtype}, MXNet {wanted.dtype}"
        if not random and not close(got, wanted, inputs):
            return f"{name}: {_short(got)}, MXNet {_short(wanted)}"
    return ""


def close(got: np.ndarray, wanted: np.ndarray, inputs: list[str]) -> bool:
    """Equal up to rounding in the narrowest floating dtype that took part."""
    if got.dtype.kind not in "fc":
        return bool((got == wanted).all())
    rank = list(TOLERANCE)
    narrow = min((rank.index(d) for d in [*inputs, got.dtype.name] if d in rank), default=1)
    tolerance = TOLERANCE[rank[narrow]]
    wide, other = got.astype(np.float64), wanted.astype(np.float64)
    finite = np.isfinite(other)
    scale = float(np.abs(other[finite]).max()) if finite.any() else 1.0
    if got.dtype.name == "float16":
        # Beyond 65504 one side has an infinity where the other, which rounds later, has a large number.
        wide, other = np.clip(wide, -60000, 60000), np.clip(other, -60000, 60000)
    return np.allclose(wide, other, rtol=tolerance, atol=tolerance * min(max(scale, 1e-3), 1e3), equal_nan=True)


def _short(array: np.ndarray) -> str:
    return np.array2string(array.reshape(-1)[:12], precision=5, separator=",", max_line_width=200)
