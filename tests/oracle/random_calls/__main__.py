"""Compare random calls with the real MXNet 1.9.1, from the project's folder:

    python -m tests.oracle.random_calls ORACLE_PYTHON [--seed 1] [--count 3000] [--only OP ...] [--accent CHANGE]

ORACLE_PYTHON has mxnet==1.9.1 and numpy==1.23.5. Prints every disagreement, then the counts.
"""

from __future__ import annotations

import argparse
import collections
import os
import pathlib
import subprocess
import tempfile
from typing import Any

import numpy as np

from gluonjax._ops import registry
from tests.oracle.random_calls import stream
from tests.oracle.random_calls.compare import Outcome, against_single, run, verdict
from tests.oracle.random_calls.coverage import Coverage
from tests.oracle.random_calls.draw import ACCENTS, draw_calls
from tests.oracle.random_calls.known import reason_for
from tests.samples import fingerprint, is_bfloat16
from tests.samples._sample import Sample

GOOD = ("agree", "both refuse", "died", "undefined", "deliberate")


def text_of(value: Any) -> str:
    """An attribute as MXNet's Python side hands it over."""
    return np.dtype(value).name if isinstance(value, (type, np.dtype)) else str(value)


def run_real(python: str, calls: list[Sample], target: pathlib.Path) -> None:
    """Append the outcomes in the real MXNet to a file. RNN needs oneDNN, everything else is better without."""
    for onednn in ("0", "1"):
        chosen = [i for i, call in enumerate(calls) if (registry.get(call.op).name == "RNN") == (onednn == "1")]
        if not chosen:
            continue
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "calls")
            with open(source, "wb") as file:
                for index in chosen:
                    call = calls[index]
                    attrs = {name: text_of(value) for name, value in call.attrs.items()}
                    header = {
                        "index": index, "id": fingerprint(call), "op": call.op, "attrs": attrs, "train": call.train
                    }  # fmt: skip
                    stream.write(file, header, {f"in{i}": array for i, array in enumerate(call.inputs)})
            environment = dict(
                os.environ, MXNET_MKLDNN_ENABLED=onednn, MXNET_USE_MKLDNN_RNN="0", OMP_NUM_THREADS="1",
                MXNET_STORAGE_FALLBACK_LOG_VERBOSE="0",
            )  # fmt: skip
            subprocess.run(
                [python, "-m", "tests.oracle.random_calls.worker", str(source), str(target)],
                check=True, env=environment,
            )  # fmt: skip


def outcomes(path: pathlib.Path, calls: list[Sample]) -> list[Outcome]:
    """What ``run_real`` wrote about these calls. Kept answers are stale where samples or attributes have changed."""
    found = [Outcome("died", "no answer")] * len(calls)
    with open(path, "rb") as file:
        for header, arrays in stream.read(file):
            if header["id"] != fingerprint(calls[header["index"]]):
                raise SystemExit(f"{path} answers other calls than seed and samples give now; remove it")
            here = {
                name: array.view("bfloat16") if is_bfloat16(array.dtype) else array for name, array in arrays.items()
            }
            found[header["index"]] = Outcome(header["status"], header.get("text", ""), here)
    return found


def describe(call: Sample) -> str:
    """A call in one line."""
    inputs = ", ".join(f"{a.dtype.name}{list(a.shape)}" for a in call.inputs)
    attrs = ", ".join(f"{name}={value!r}" for name, value in call.attrs.items())
    return f"{call.op}({inputs}; {attrs}){' train' if call.train else ''}  [{call.tag}]"


def main() -> int:
    """Returns 0 where nothing disagrees."""
    parser = argparse.ArgumentParser(description="Random calls against the real MXNet 1.9.1.")
    parser.add_argument("python", help="interpreter with mxnet==1.9.1")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--only", nargs="*", default=[], help="operators")
    parser.add_argument("--show", nargs="*", default=[], help="verdicts to print besides disagreements")
    parser.add_argument("--keep", type=pathlib.Path, help="file of MXNet's answers, used again where it exists")
    parser.add_argument("--accent", choices=sorted(ACCENTS), help="a change that every call gets")
    parser.add_argument("--table", type=pathlib.Path, help="file for calls, values and gradients by operator")
    options = parser.parse_args()
    calls = draw_calls(options.seed, options.count, tuple(options.only), options.accent)
    with tempfile.TemporaryDirectory() as folder:
        path = options.keep or pathlib.Path(folder, "answers")
        if not path.exists():
            run_real(options.python, calls, path)
        real = outcomes(path, calls)
    counts: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    coverage = Coverage()
    for number, (call, theirs) in enumerate(zip(calls, real)):
        with np.errstate(all="ignore"):
            ours = run(call)
            kind, found = verdict(call, theirs, ours)
            if kind == "lenient" and (other := against_single(call, ours)):
                kind, found = "wrong", other
        text = found.text
        coverage.add(call, kind, theirs)
        reason = reason_for(call, kind, found) if kind not in GOOD else None
        if reason is not None:
            text = f"({kind}; {reason}) {text}"
            kind = "deliberate"
            reasons[reason] += 1
        counts[kind] += 1
        if kind not in GOOD or kind in options.show:
            print(f"{number} {kind}: {describe(call)}\n    {text[:400]}", flush=True)
    for kind, count in counts.most_common():
        print(f"{count:>6} {kind}")
    for reason, count in reasons.most_common():
        print(f"{count:>6} deliberate: {reason}")
    print(coverage.report())
    if options.table:
        options.table.write_text(coverage.table() + "\n")
    return 0 if all(kind in GOOD for kind in counts) else 1


if __name__ == "__main__":
    raise SystemExit(main())
