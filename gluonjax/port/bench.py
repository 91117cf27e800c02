"""``python -m gluonjax bench``: the benchmark workloads on the user's own device, with progress and a table."""

from __future__ import annotations

import platform
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

import jax

import gluonjax as mx
from gluonjax.port.bursts import Bursts, shown
from gluonjax.port.workloads import WORKLOADS, Workload, run_once

BURSTS = 5
IMPORTS = ("import gluonjax", "import jax")


class Timing(NamedTuple):
    """What one row shows: seconds to the end of the first step, seconds of a step (the median burst), the spread."""

    first: float
    step: float
    slowest: float


def device_named(name: str | None) -> mx.Context:
    """The device to measure: 'cpu' or 'gpu', by default the GPU if there is one.

    >>> device_named("cpu")
    cpu(0)
    """
    gpus = mx.context.num_gpus()
    if name == "gpu" and not gpus:
        raise mx.MXNetError("bench: --device gpu was asked for and JAX sees no GPU; use --device cpu")
    return mx.gpu(0) if name == "gpu" or (name is None and gpus) else mx.cpu(0)


def measure(workload: Workload, tiny: bool = False) -> Timing:
    """Time one workload on the current device."""
    start = time.perf_counter()
    step = workload.prepare(mx, tiny)
    run_once(step, mx)
    first = time.perf_counter() - start
    limits = {"seconds": 0.002, "warm_calls": 3} if tiny else {}
    burst = Bursts(step, lambda found: run_once(lambda: found, mx), **limits)
    found = [burst() / workload.operations for _ in range(2 if tiny else BURSTS)]
    return Timing(first, statistics.median(found), max(found))


def measure_import(statement: str, tiny: bool = False) -> Timing:
    """Time an import in fresh processes; the bare interpreter's own start is taken off."""

    def seconds(text: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", text], check=True)
        return time.perf_counter() - start

    found = [max(seconds(statement) - seconds("pass"), 0.0) for _ in range(1 if tiny else 3)]
    return Timing(found[0], statistics.median(found), max(found))


def row_names(only: str | None = None) -> list[str]:
    """The rows whose name contains the text, capitals or not.

    >>> row_names("import jax")
    ['import jax']
    """
    names = [*WORKLOADS, *IMPORTS]
    return [name for name in names if not only or only.lower() in name.lower()]


def table(found: dict[str, Timing]) -> str:
    """The Markdown table."""
    lines = ["| workload | per step | slowest burst | until the first step was done |", "|---|---|---|---|"]
    for name, row in found.items():
        lines.append(f"| {name} | {shown(row.step)} | {shown(row.slowest)} | {shown(row.first)} |")
    return "\n".join(lines)


def bench(only: str | None = None, tiny: bool = False, device: str | None = None) -> int:
    """Measure the rows and print them. Returns the process's exit status."""
    names = row_names(only)
    if not names:
        rows = "; ".join([*WORKLOADS, *IMPORTS])
        print(f"gluonjax bench: no workload's name contains '{only}'; there are: {rows}", file=sys.stderr)
        return 2
    try:
        context = device_named(device)
    except mx.MXNetError as error:
        print(f"gluonjax {error}", file=sys.stderr)
        return 2
    found: dict[str, Timing] = {}
    with context:
        for number, name in enumerate(names, 1):
            print(f"[{number}/{len(names)}] {name} ...", end=" ", file=sys.stderr, flush=True)
            found[name] = measure_import(name, tiny) if name in IMPORTS else measure(WORKLOADS[name], tiny)
            print(shown(found[name].step), file=sys.stderr, flush=True)
    kind = context.jax_device.device_kind
    print(f"gluonjax {mx.__version__} on jax {jax.__version__}, Python {platform.python_version()}, {kind}\n")
    print(table(found))
    return 0
