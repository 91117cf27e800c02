"""``jax.jit`` with the compiler settings that measurements call for, for our own programs only.

XLA:CPU hands convolutions to a library ("ynn fusion") that runs them on one core: a 3×3 convolution of 64 channels at
56×56 takes 52 ms with it and 13 ms without (jaxlib 0.10.2, 2 cores; 23 and 12 ms with 0.12). For matrix products the
library is the better choice: a dense layer of 4,096 to 1,024 units on 16 rows takes 3.8 ms with it, 14.5 ms without;
128 rows of 784 to 256: 0.26 and 0.36 ms. So it keeps those. Options belong to outermost programs, so inside
somebody's trace the plain function is used.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any, cast

import jax

from gluonjax._base.errors import MXNetError

_CPU_OPTIONS: dict[str, Any] = {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"}
# For MXNET_ENFORCE_DETERMINISM=1: the same bits in every run. A CPU gives them anyway.
_DETERMINISTIC: dict[str, Any] = {"xla_gpu_deterministic_ops": True}


@functools.cache
def _trace_state() -> tuple[Callable[[], Any], Any]:
    """The function that tells JAX's trace state, and what it tells where nothing is traced.

    The latter is a fresh thread's state, even if this call is being traced. Found when it is first needed, because
    ``jax.extend`` takes 20 ms to import.
    """
    from jax.extend.core import get_opaque_trace_state

    states: list[Any] = []
    thread = threading.Thread(target=lambda: states.append(get_opaque_trace_state()))
    thread.start()
    thread.join()
    return get_opaque_trace_state, states[0]


def inside_of_a_trace() -> bool:
    """Whether what JAX runs now becomes part of a traced program."""
    state, outside = _trace_state()
    return state() != outside


@contextlib.contextmanager
def at_once() -> Iterator[None]:
    """What JAX runs meanwhile is computed, with 64-bit types, also where something is being traced."""
    with jax.enable_x64(True), jax.ensure_compile_time_eval() if inside_of_a_trace() else contextlib.nullcontext():
        yield


def options() -> dict[str, Any] | None:
    """The compiler options for a program that is made now; None where there are none to give.

    Raises MXNetError where determinism is asked for and this jaxlib cannot promise it.
    """
    given = _known(frozenset(_CPU_OPTIONS.items())) if jax.default_backend() == "cpu" else {}
    if os.environ.get("MXNET_ENFORCE_DETERMINISM", "0") not in ("0", "", "false"):
        if not _known(frozenset(_DETERMINISTIC.items())):
            raise MXNetError(
                f"MXNET_ENFORCE_DETERMINISM is set, but this jaxlib does not know {', '.join(_DETERMINISTIC)}; use "
                "another jaxlib, or unset the variable"
            )
        given = given | _DETERMINISTIC
    return given or None


@functools.cache
def _known(candidates: frozenset[tuple[str, Any]]) -> dict[str, Any]:
    """The options as they are if this jaxlib takes them, else none. Tried once."""
    found = dict(candidates)
    try:
        jax.jit(lambda: 0, compiler_options=found).lower().compile()
    except Exception:  # whatever this jaxlib says to an option that it does not know
        return {}
    return found


class Jitted:
    """A compiled function; called inside a trace it becomes part of the traced program.

    Args:
        fn: what to compile.
        donate: the arguments whose memory may be used for results.
        out_shardings: how the results are spread over devices, as ``jax.jit`` takes it.
        keep_unused: pass arguments that nothing is computed from, too: for their memory.
    """

    __slots__ = ("_outermost", "_settings", "plain")

    def __init__(
        self, fn: Callable[..., Any], donate: tuple[int, ...] = (), out_shardings: Any = None, keep_unused: bool = False
    ) -> None:
        self._settings: dict[str, Any] = {"donate_argnums": donate, "keep_unused": keep_unused}
        if out_shardings is not None:
            self._settings["out_shardings"] = out_shardings
        self.plain = jax.jit(fn, **self._settings)
        self._outermost: Callable[..., Any] | None = None

    def __call__(self, *args: Any) -> Any:
        if inside_of_a_trace():
            return self.plain(*args)
        function = self._outermost
        if function is None:
            chosen = options()
            function = self.plain
            if chosen is not None:
                inner = cast(Any, self.plain).__wrapped__
                function = jax.jit(inner, compiler_options=chosen, **self._settings)
            self._outermost = function
        return function(*args)
