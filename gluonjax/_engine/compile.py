"""``jax.jit`` with the compiler settings that measurements call for, for our own programs only.

XLA:CPU hands convolutions to a library ("ynn fusion") that runs them on one core: a 3×3 convolution of 64 channels at
56×56 takes 52 ms with it and 13 ms without (jaxlib 0.10.2, 2 cores; 23 and 12 ms with 0.12). For matrix products the
library is the better choice: a dense layer of 4,096 to 1,024 units on 16 rows takes 3.8 ms with it, 14.5 ms without;
128 rows of 784 to 256: 0.26 and 0.36 ms. So it keeps those. Options belong to outermost programs, so inside
somebody's trace the plain function is used.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, cast

import jax
from jax.extend.core import get_opaque_trace_state

_CPU_OPTIONS: dict[str, Any] = {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"}

_found: list[dict[str, Any] | None] = []


def _state_outside_of_traces() -> Any:
    """JAX's trace state where nothing is traced: that of a fresh thread, even if this import is being traced."""
    states: list[Any] = []
    thread = threading.Thread(target=lambda: states.append(get_opaque_trace_state()))
    thread.start()
    thread.join()
    return states[0]


_OUTSIDE = _state_outside_of_traces()


def _options() -> dict[str, Any] | None:
    """The options that this jaxlib knows, or None. Tried once."""
    if not _found:
        options = _CPU_OPTIONS if jax.default_backend() == "cpu" else None
        if options is not None:
            try:
                jax.jit(lambda: 0, compiler_options=options).lower().compile()
            except Exception:  # whatever this jaxlib says to an option it does not know
                options = None
        _found.append(options)
    return _found[0]


class Jitted:
    """A compiled function; called inside a trace it becomes part of the traced program.

    Args:
        fn: what to compile.
        donate: the arguments whose memory may be used for results.
    """

    __slots__ = ("_donate", "_outermost", "plain")

    def __init__(self, fn: Callable[..., Any], donate: tuple[int, ...] = ()) -> None:
        self.plain = jax.jit(fn, donate_argnums=donate)
        self._donate = donate
        self._outermost: Callable[..., Any] | None = None

    def __call__(self, *args: Any) -> Any:
        if get_opaque_trace_state() != _OUTSIDE:
            return self.plain(*args)
        function = self._outermost
        if function is None:
            options = _options()
            function = self.plain
            if options is not None:
                inner = cast(Any, self.plain).__wrapped__
                function = jax.jit(inner, compiler_options=options, donate_argnums=self._donate)
            self._outermost = function
        return function(*args)
