"""Run calls in the real MXNet 1.9.1: ``python -m tests.oracle.random_calls.worker CALLS RESULTS``.

Each call runs in a forked process: MXNet's crashes and damaged memory end with it.
"""

from __future__ import annotations

import io
import os
import select
import signal
import sys
import time
from typing import Any

import numpy as np

from tests.oracle.random_calls import stream
from tests.oracle.record_ops import record
from tests.samples import rewritten
from tests.samples._sample import Sample

# Seconds that a call may take.
LIMIT = 20


def _call(header: dict[str, Any]) -> dict[str, Any]:
    """Which call an answer belongs to."""
    return {"index": header["index"], "id": header.get("id")}


def run(mx: Any, header: dict[str, Any], inputs: list[np.ndarray]) -> bytes:
    """The record of one call: outputs, gradients and rewritten inputs, or what MXNet said."""
    # Attributes come as text, and go to MXNet as text; only a count is looked at on the way.
    attrs = {name: int(text) if name.startswith("num_") and text.isdigit() else text
             for name, text in header["attrs"].items()}  # fmt: skip
    sample = Sample(header["op"], tuple(inputs), attrs, train=header["train"])
    mx.random.seed(0)
    file = io.BytesIO()
    try:
        # Outside of the NumPy mode a size of 0 means "unknown".
        with mx.util.np_shape(any(array.size == 0 for array in inputs)):
            arrays = [mx.nd.array(array, dtype=array.dtype) for array in inputs]
            found = record(mx, sample, arrays)
            found.update(rewritten(inputs, [array.asnumpy() for array in arrays]))
            if sample.op.endswith("nag_mom_update"):
                # Run in place: the first input is the output.
                found = {name: array for name, array in found.items() if name != "state0" and "grad" not in name}
        stream.write(file, {**_call(header), "status": "ok"}, found)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        stream.write(file, {**_call(header), "status": "error", "text": text[-600:]}, {})
    return file.getvalue()


def run_forked(mx: Any, header: dict[str, Any], inputs: list[np.ndarray]) -> bytes:
    """``run`` in a process of its own; a record of its death where it dies."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 2)
        answer = run(mx, header, inputs)
        with os.fdopen(writing, "wb") as file:
            file.write(answer)
        os._exit(0)
    os.close(writing)
    parts, ends = [], time.monotonic() + LIMIT
    while True:
        ready, _, _ = select.select([reading], [], [], max(0.0, ends - time.monotonic()))
        part = os.read(reading, 1 << 20) if ready else b""
        if not part:
            break
        parts.append(part)
    os.close(reading)
    status = "died"
    if time.monotonic() >= ends:
        os.kill(child, signal.SIGKILL)
        status = "took too long"
    _, code = os.waitpid(child, 0)
    if code == 0 and parts:
        return b"".join(parts)
    file = io.BytesIO()
    stream.write(file, {**_call(header), "status": "died", "text": f"{status} ({code})"}, {})
    return file.getvalue()


def main(calls: str, results: str) -> None:
    """Run every call of a file; results are appended as they come."""
    import mxnet as mx

    with open(calls, "rb") as source, open(results, "ab") as target:
        for header, arrays in stream.read(source):
            target.write(run_forked(mx, header, list(arrays.values())))
            target.flush()


__all__ = ["main", "run", "run_forked"]

if __name__ == "__main__":
    main(*sys.argv[1:3])
