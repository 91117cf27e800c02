"""One implementation's side of one row: prepares the workload, then times a burst for every line it reads.

    python worker.py gluonjax "MLP training, eager" [--tiny] [--whole-step] [--device gpu]

prints ``ready`` with the seconds until the first step was done, then, for every line on standard input, the seconds
of one step. The implementation is ``mxnet``, ``gluonjax``, or ``jax`` for the hand-written twin; ``--whole-step``
wraps a training step in ``mx.jit``.
"""

import argparse
import contextlib
import importlib
import sys
import time

from load import bursts, workloads


def prepared(options):
    """(step, wait, operations in a step)"""
    if options.implementation == "jax":
        import jax
        import jax_twin

        return jax_twin.TWINS[options.workload](options.tiny), jax.block_until_ready, 1
    row = workloads.WORKLOADS[options.workload]
    mx = importlib.import_module(options.implementation)
    context = mx.gpu(0) if options.device == "gpu" else mx.cpu(0)
    stack = contextlib.ExitStack()
    stack.enter_context(context)  # for the rest of the process
    step = row.prepare(mx, options.tiny)
    if options.whole_step:
        step = mx.jit(step)
    return step, lambda found: workloads.run_once(lambda: found, mx), row.operations


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("implementation", choices=("mxnet", "gluonjax", "jax"))
    parser.add_argument("workload")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--whole-step", action="store_true")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    options = parser.parse_args()
    start = time.perf_counter()
    step, wait, operations = prepared(options)
    wait(step())
    first = time.perf_counter() - start
    limits = {"seconds": 0.002, "warm_calls": 3} if options.tiny else {}
    burst = bursts.Bursts(step, wait, **limits)
    print("ready", first, flush=True)
    for _ in sys.stdin:
        print(burst() / operations, flush=True)


if __name__ == "__main__":
    main()
