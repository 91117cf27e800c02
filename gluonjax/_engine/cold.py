"""How a graph runs that is new: operator by operator, until that has cost what compiling it would.

MXNet runs every graph so. Tracing and compiling a graph as a whole takes from ten milliseconds to many seconds, which a
graph that runs once or twice never earns back; its operators have mostly been met before.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import thread_time_ns
from typing import Any

import jax
import numpy as np

from gluonjax._base.errors import MXNetError
from gluonjax._engine.lower import MIRROR, Lowered
from gluonjax._engine.op_by_op import Abandoned, Cold, OpByOp
from gluonjax._engine.profile import recorder
from gluonjax._engine.run import COLD_TIER, Kernel, is_tracer, signature_of

_GIVEN_UP = float("inf")
# So many runs of a graph that draws samples are cold. It is counted and not timed: the tiers round differently, and a
# script must give the same numbers whenever it runs.
_STEADY_RUNS = 2


def run_cold(kernel: Kernel, lowered: Lowered, values: Sequence[Any], wanted: tuple[int, ...]) -> Any:
    """Forward a graph with NumPy, one operator at a time.

    Args:
        kernel: the graph as one program; it remembers what has been spent.
        lowered: the graph's function.
        values: what the function takes, on the host.
        wanted: which values want a gradient.

    Returns:
        ``(results, function from head gradients to gradients)``, or None where the graph should run as one program.
    """
    if not _may_be_cold(lowered):
        return None
    steady = lowered.samples
    if not all(type(value) is np.ndarray or isinstance(value, jax.Array) for value in values):
        return None  # put off, or failed
    signature = (bool(wanted), *signature_of(values))  # each has a program of its own
    spent = kernel.spent
    before, allowed = spent.get(signature, (0, 0))
    if before == _GIVEN_UP or any(is_tracer(value) for value in values):
        return None
    given = [np.asarray(value) for value in values]
    cold = Cold(before, allowed, keep=bool(wanted), steady=steady)
    run = OpByOp(lowered, given, True, cold)
    try:
        results = run.forward()
    except (Abandoned, MXNetError):  # the program explains errors in terms of the graph
        spent[signature] = _GIVEN_UP, 0
        return None
    if steady:
        spent[signature] = (_GIVEN_UP if before + 1 >= _STEADY_RUNS else before + 1), 0
    else:
        spent[signature] = before + cold.elapsed, cold.allowed

    def pull(heads: Sequence[Any]) -> list[Any]:
        started = thread_time_ns()
        gradients = run.backward(heads, wanted)
        if not steady:
            before, allowed = spent[signature]
            spent[signature] = before + thread_time_ns() - started, allowed
        return gradients

    return results, pull


def _may_be_cold(lowered: Lowered) -> bool:
    return COLD_TIER and not lowered.host and not recorder.on and not MIRROR
