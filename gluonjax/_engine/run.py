"""How one operator call runs: the only place that decides between interpreting and compiling.

A ``Kernel`` is a pure function of arrays. On a CPU a small call is interpreted (its jaxpr is evaluated with NumPy),
which costs a few microseconds and no compilation. It is compiled when its work is large, when the device is not a
host CPU, or when interpreting, and waiting for inputs that are still being computed, has cost more than compiling
would (rent or buy). ``GLUONJAX_COLD_TIER=0`` switches interpretation off.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from time import perf_counter_ns, thread_time_ns
from typing import Any, cast

import jax
import numpy as np
from jax.core import Tracer

from gluonjax._base.dtypes import FLOATS, NUMBERS
from gluonjax._base.errors import MXNetError, OperatorError, plain
from gluonjax._base.scopes import modes
from gluonjax._engine import inflight, lazy
from gluonjax._engine.compile import Jitted
from gluonjax._engine.lazy import Lazy
from gluonjax._engine.profile import recorder
from gluonjax._engine.pullback import Pullback, backward_of, forward_with_pullback, with_doubles
from gluonjax._ops.opdef import OnWhole

ndarray = np.ndarray
enable_x64 = jax.enable_x64

# Elementary operations above which a call is compiled at once (about 25 milliseconds of NumPy work).
LARGE = 1.0e8
# What a launch of a compiled program costs; interpreting is "rent" for whatever it takes above that.
LAUNCH_NS = 12_000
# The "price": total rent after which compiling (20 to 130 ms) would have been cheaper.
PRICE_NS = 40_000_000
# What NumPy takes for an elementary operation.
NS_EACH = 0.25
# Calls that take longer than this are timed by the processor's time from then on, which costs more to ask for.
LONG_NS = 300_000
# The most that one wait counts as rent. Compiling for one wait does not pay; who waits a third time goes on without.
WAIT_NS = 15_000_000
# In a loop that has long repeated itself, work of so much is put off to become part of the loop's program, although
# NumPy does it as fast: its threads and XLA's would take the processors from each other.
HEAVY_NS = 100_000
# The limit and the price are meant for programs of up to so many equations, and grow with the length of longer ones
# as compiling does.
USUAL_LENGTH = 16
# Calls that draw random numbers are interpreted up to so many elementary operations, and compiled above, always: the
# tiers round differently, and one seed must give the same numbers every time.
STEADY = 1.0e6
# The same where compiled blocks make the random numbers, if they are many, and NumPy does the rest.
STEADY_IN_BLOCKS = 1.6e7


def numpy_only() -> None:
    """From now on compile nothing that NumPy can do: for processes that should leave JAX's devices alone."""
    global LARGE, STEADY, PRICE_NS, PATIENCE, PATIENCE_ONCE
    LARGE = STEADY = PATIENCE = PATIENCE_ONCE = float("inf")
    PRICE_NS = 1 << 62


# How many samples NumPy draws before compiled blocks do, in units of what it draws as fast: in general, and for calls
# that happen once (initializers).
PATIENCE, PATIENCE_ONCE = 1.0, 16.0
COLD_TIER = os.environ.get("GLUONJAX_COLD_TIER", "1") != "0"
NAIVE = os.environ.get("MXNET_ENGINE_TYPE", "") == "NaiveEngine"


class Counters:
    """What the engine did; read by the profiler and by tests."""

    def __init__(self) -> None:
        self.compiled = 0
        self.interpreted = 0


counters = Counters()


def is_tracer(value: Any) -> bool:
    """True for a value that stands for an array while JAX traces a function."""
    return isinstance(value, Tracer)


def _any_failed(values: Sequence[Any]) -> bool:
    return any([type(value) is inflight.Failed for value in values])


def _length_of(program: Any) -> float:
    """The length of a NumPy program in units of the usual one, at least one."""
    return max(1.0, program.equations / USUAL_LENGTH)


class _Plan:
    """How a kernel runs for one signature: a NumPy program while that is cheaper, else the compiled function."""

    __slots__ = (
        "backwards", "clock", "equations", "fits_numpy", "inherent", "length", "numbers", "program", "rent", "results",
        "settled", "structs",
    )  # fmt: skip

    def __init__(self, program: Any, structs: Any, values: Sequence[Any]) -> None:
        self.program = program
        # Whether it was for NumPy at first; it may have been compiled since, being hot.
        self.fits_numpy = program is not None
        self.structs = structs
        self.equations = 0 if program is None else program.equations
        self.length = 1.0 if program is None else _length_of(program)
        # What of a call's time a compiled program would take as well.
        self.inherent = 0 if program is None else int(program.inherent * NS_EACH)
        self.rent = 0
        # The first call and long ones are timed by the work they do: what other programs on this machine do is no
        # reason to compile.
        self.clock: Callable[[], int] = thread_time_ns
        self.settled = False
        # The inputs that gradients can flow to.
        self.numbers = tuple([i for i, v in enumerate(values) if type(v) is not float and v.dtype in NUMBERS])
        # Shapes and dtypes of the results, once there were any; None where they differ from call to call.
        self.results: list[tuple[tuple[int, ...], Any]] | None = None
        # {(wanted, present): (backward kernel, its plan)} for head gradients of the results' shapes and dtypes.
        self.backwards: dict[Any, tuple[Kernel, _Plan]] = {}


def signature_of(values: Sequence[Any]) -> tuple[Any, ...]:
    parts: list[Any] = []
    for value in values:
        if type(value) is not float:
            parts += (value.shape, value.dtype)
    return tuple(parts)


class Kernel:
    """A pure function ``fn(*arrays, *scalars) -> tuple``, run by the cheapest tier and differentiable.

    Args:
        name: what errors call it.
        fn: the pure function; takes and returns arrays only.
        validate: called with the values once per new signature; raises an MXNetError for wrong input.
        interpretable: False forces compilation.
        host: runs on concrete NumPy values, never compiled.
        data_inputs: how many of the leading inputs are data; the rest are positions. None: all are data.
        source: what the kernel was made from, for ``autograd.get_symbol``; opaque here.
        on_whole: what the gradient with respect to whole numbers is (``OpDef.on_whole``).
        steady: never change the tier, because it draws random numbers.
    """

    __slots__ = (
        "_backwards", "_plans", "_pullbacks", "asked", "data_inputs", "fn", "host", "interpretable", "jitted", "name",
        "on_whole", "primal", "pulls", "source", "spent", "steady", "validate",
    )  # fmt: skip

    def __init__(
        self, name: str, fn: Callable[..., tuple[Any, ...]], validate: Callable[[Sequence[Any]], None] | None = None,
        interpretable: bool = True, host: bool = False, source: Any = None,
        data_inputs: int | None = None, on_whole: OnWhole = "derive", steady: bool = False,
    ) -> None:  # fmt: skip
        self.name = name
        self.fn = fn
        self.jitted = Jitted(fn)
        self.validate = validate
        self.interpretable = interpretable and COLD_TIER
        self.host = host
        self.source = source
        # The kernel that this one is the backward of.
        self.primal: Kernel | None = None
        # Of a backward: the inputs that get gradients, the results that have head gradients, the number of inputs.
        self.pulls: tuple[tuple[int, ...], tuple[int, ...], int] = ((), (), 0)
        self.data_inputs = data_inputs
        self.on_whole: OnWhole = on_whole
        self.steady = steady
        self._plans: dict[Any, _Plan] = {}
        self._backwards: dict[Any, Kernel] = {}
        self._pullbacks: dict[Any, Any] = {}
        # How often each set of gradients was asked for (``Executor``).
        self.asked: dict[tuple[int, ...], int] = {}
        # What running a graph's operators one by one has cost so far, and may cost, by signature (``run_cold``).
        self.spent: dict[Any, tuple[float, float]] = {}

    def run(
        self, values: Sequence[Any], on_host: bool, device: Any = None, defer: bool = False
    ) -> tuple[Any, ...]:
        """Run on NumPy or JAX arrays (and Python floats); returns NumPy or JAX arrays.

        Args:
            on_host: the operands live on the host CPU, so NumPy may be used.
            device: where to run a function without inputs; None for the default.
            defer: put the call off where it would be compiled, to become part of a larger program.
        """
        plan = self.lookup(values)
        if plan is None:
            return self.run_observed(values, on_host, device)
        return self.run_planned(plan, values, on_host, device, defer)

    def run_observed(self, values: Sequence[Any], on_host: bool, device: Any = None) -> tuple[Any, ...]:
        """``run`` where ``lookup`` has answered None."""
        if modes.tracer is not None and any([is_tracer(value) for value in values]):
            return self._run_traced(values)
        return self._run_timed(values, on_host, device)

    def lookup(self, values: Sequence[Any]) -> _Plan | None:
        """What is known of calls with such values, for ``run_planned``; None where they are traced or timed."""
        if recorder.on or (modes.tracer is not None and any([is_tracer(value) for value in values])):
            return None
        parts: list[Any] = []
        for value in values:
            if type(value) is not float:
                parts += (value.shape, value.dtype)
        signature = tuple(parts)
        return self._plans.get(signature) or self._make_plan(signature, values)

    def run_planned(
        self, plan: _Plan, values: Sequence[Any], on_host: bool, device: Any = None, defer: bool = False
    ) -> tuple[Any, ...]:
        """``run`` for somebody who has looked up the plan."""
        plain = on_host
        waits = False
        for value in values:
            kind = type(value)
            if kind is not ndarray and kind is not float:
                plain = False
                if kind is Lazy and value.call.results is None:
                    waits = True
        if waits and not self.host and plan.structs is not None and not _any_failed(values):
            return lazy.put_off(self, values, plan.structs, lazy.eager.origin if defer and modes.recording else None)
        program = plan.program
        if defer and plan.inherent > HEAVY_NS and not plan.settled and (lazy.eager.hot or modes.joining is not None):
            program = None
        if on_host and program is not None:
            operands = values if plain else self._ready(values, plan)
            if operands is not None:
                clock = plan.clock
                started = clock()
                try:
                    results = program(operands)
                except MXNetError:
                    raise
                except Exception as error:
                    raise self._explain(error, values) from error
                taken = clock() - started
                if taken > LONG_NS:
                    if clock is not thread_time_ns:
                        # Perhaps other programs took the time.
                        plan.clock = thread_time_ns
                        return results
                elif clock is thread_time_ns:
                    plan.clock = perf_counter_ns
                rent = plan.rent + taken - LAUNCH_NS - plan.inherent
                if rent > PRICE_NS * plan.length and not plan.settled:
                    plan.program = None
                plan.rent = rent if rent > 0 else 0
                return results
        if defer and not self.host and not any(is_tracer(v) or type(v) is inflight.Failed for v in values):
            return lazy.put_off(self, values, self.structs_of(values), lazy.eager.origin if modes.recording else None)
        return self._run_compiled(values, device)

    def _run_timed(self, values: Sequence[Any], on_host: bool, device: Any) -> tuple[Any, ...]:
        """Run alone and at once, for the profiler."""
        values = [lazy.force(value) for value in values]
        if any(is_tracer(value) for value in values):
            return self._run_compiled(values, device)
        signature = signature_of(values)
        plan = self._plans.get(signature)
        if plan is None:
            plan = self._make_plan(signature, values)
        settled = [inflight.settled(value) for value in values]
        started = perf_counter_ns()
        operands = self._ready(settled, plan) if on_host and plan.program else None
        results = self._run_compiled(values, device) if operands is None else plan.program(operands)
        recorder.call(self.label, started, results)
        return results

    @property
    def label(self) -> str:
        """The name in the profiler's tables."""
        return self.name if self.primal is None else f"_backward_{self.primal.name}"

    @staticmethod
    def _ready(values: Sequence[Any], plan: _Plan) -> list[Any] | None:
        """The values as NumPy arrays, or None where one is traced, failed, or put off.

        Waiting for one that is still being computed is rent, too: who often waits goes on with a compiled program.
        """
        operands = []
        for value in values:
            kind = type(value)
            if kind is not ndarray and kind is not float:
                if kind is Lazy:
                    value = value.result()
                    if value is None:
                        return None
                if is_tracer(value):
                    return None
                if not value.is_ready():
                    if type(value) is inflight.Failed:
                        return None
                    started = perf_counter_ns()
                    value = np.asarray(value)
                    plan.rent += min(perf_counter_ns() - started, WAIT_NS)
                else:
                    value = np.asarray(value)
            operands.append(value)
        return operands

    def structs_of(self, values: Sequence[Any]) -> Sequence[Any]:
        """Shapes and dtypes of the results for these values; wrong values raise here. Cached."""
        return self.plan_of(values).structs

    def planned(self, values: Sequence[Any]) -> _Plan:
        """How calls with such values run."""
        signature = signature_of(values)
        return self._plans.get(signature) or self._make_plan(signature, values)

    def plan_of(self, values: Sequence[Any]) -> _Plan:
        """What is known of calls with such values, the shapes and dtypes of their results among it."""
        plan = self.planned(values)
        if plan.structs is None:
            plan.structs = self.result_structs(values)
        return plan

    def interprets(self, values: Sequence[Any]) -> bool:
        """True where ``run`` on the host would interpret rather than compile for these values."""
        return self.planned(values).program is not None

    def settle(self, values: Sequence[Any], calls: int) -> None:
        """Choose the tier now for that many calls with such values, and keep it.

        The tiers differ in the last bit, which differences of nearby results (numeric gradients) would show.
        """
        plan = self.planned(values)
        operands = None if plan.program is None else self._ready(values, plan)
        if plan.program is not None and operands is not None:
            started = thread_time_ns()
            plan.program(operands)
            if (thread_time_ns() - started - LAUNCH_NS - plan.inherent) * calls > PRICE_NS * plan.length:
                plan.program = None
        plan.settled = True

    def _run_compiled(self, values: Sequence[Any], device: Any) -> tuple[Any, ...]:
        pending = False
        for index, value in enumerate(values):
            kind = type(value)
            if kind is inflight.Failed:
                return self._fail_with(value.fault, values)
            if kind is Lazy:
                found = lazy.force(value) if self.host else value.result()
                if found is None:
                    pending = True
                else:
                    values = [*values[:index], found, *values[index + 1 :]]
        if pending:
            return lazy.put_off(self, values, self.structs_of(values))
        if self.host:
            return self._run_host(values)
        try:
            with enable_x64(True):
                if device is not None:
                    with jax.default_device(device):
                        results = self.jitted(*values)
                else:
                    results = self.jitted(*values)
        except MXNetError:
            raise
        except Exception as error:
            raise self._explain(error, values) from error
        if NAIVE and not is_tracer(results[0] if results else None):
            inflight.wait(results)
        else:
            inflight.note(results)
        return results

    def _run_traced(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Be part of what is being traced."""
        if self.validate is not None:
            self.validate(values)
        values = [lazy.force(value) for value in values]
        if self.host:
            return self._run_host(values)
        try:
            return self.jitted.plain(*values)
        except MXNetError:
            raise
        except Exception as error:
            raise self._explain(error, values) from error

    def _fail_with(self, fault: inflight.Fault, values: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(inflight.Failed(s.shape, s.dtype, fault) for s in self.result_structs(values))

    def result_structs(self, values: Sequence[Any]) -> Sequence[Any]:
        """Shapes and dtypes of the results for these values, without running."""
        structs = [v if type(v) is float else jax.ShapeDtypeStruct(v.shape, v.dtype) for v in values]
        with enable_x64(True):
            return jax.eval_shape(self.fn, *structs)

    def fail(self, error: MXNetError, values: Sequence[Any]) -> tuple[Any, ...]:
        """Results that raise the error when someone waits for them (at once under NaiveEngine)."""
        if NAIVE:
            raise error
        return inflight.failed_results(error, self.result_structs(values))

    def _run_host(self, values: Sequence[Any]) -> tuple[Any, ...]:
        with enable_x64(True):
            return tuple(self.fn(*self._concrete(values)))

    def _concrete(self, values: Sequence[Any]) -> list[Any]:
        """The values in NumPy."""
        if any(is_tracer(value) for value in values):
            raise MXNetError(
                f"{self.name}: the shape of its result depends on values, so it cannot be compiled; "
                "call it outside of the hybridized block or the jitted function"
            )
        return [value if type(value) is float else np.asarray(value) for value in values]

    def _make_plan(self, signature: Any, values: Sequence[Any]) -> _Plan:
        if self.validate is not None:
            self.validate(values)
        program = structs = None
        derived = None if self.host else self._derived(values)
        if derived is not None:
            program, structs = derived
            if program is not None and program.cost > self._limit(program):
                program = None
        elif not self.host:
            structs = [v if type(v) is float else jax.ShapeDtypeStruct(v.shape, v.dtype) for v in values]
            try:
                with enable_x64(True):
                    traced = self.jitted.plain.trace(*structs)
            except MXNetError:
                raise
            except Exception as error:
                raise self._explain(error, values) from error
            structs = traced.jaxpr.out_avals
            if self.interpretable:
                from gluonjax._engine import interpret

                program = interpret.build(traced.jaxpr, PATIENCE_ONCE if modes.once else PATIENCE)
                if program is not None and program.cost > self._limit(program):
                    program = None
        if not self.host:
            if program is None:
                counters.compiled += 1
            else:
                counters.interpreted += 1
        plan = self._plans[signature] = _Plan(program, structs, values)
        plan.settled = self.steady
        return plan

    def _derived(self, values: Sequence[Any]) -> tuple[Any, Any] | None:
        """The program of a backward and its result structs, derived from the equations of the forward.

        None where JAX has to trace and differentiate the forward, which takes several times as long.
        """
        primal = self.primal
        if primal is None or not self.interpretable or primal.on_whole == "pass" or hasattr(primal.fn, "pull"):
            return None
        wanted, present, arity = self.pulls
        heads, of_wanted = values[arity:], [values[index] for index in wanted]
        if not all(value.dtype in FLOATS for value in (*heads, *of_wanted)):
            return None
        from gluonjax._engine import interpret

        structs = [v if type(v) is float else jax.ShapeDtypeStruct(v.shape, v.dtype) for v in values]
        try:
            with enable_x64(True):
                traced = primal.jitted.plain.trace(*structs[:arity])
        except Exception:
            return None  # tracing the whole explains it
        program = interpret.build_pullback(traced.jaxpr, wanted, present, structs[arity:])
        return None if program is None else (program, [structs[index] for index in wanted])

    def _limit(self, program: Any) -> float:
        """The cost above which a program is not interpreted."""
        limit = LARGE * max(1.0, program.steps / USUAL_LENGTH)  # loops have no more patience for being long inside
        if not self.steady or modes.once:
            return limit
        return min(limit, STEADY_IN_BLOCKS if program.drawn else STEADY)

    def _explain(self, error: Exception, values: Sequence[Any]) -> MXNetError:
        shown = ", ".join(
            f"{np.dtype(v.dtype).name}{list(v.shape)}" for v in values if hasattr(v, "shape") and hasattr(v, "dtype")
        )
        return OperatorError(f"Error in operator {self.name}: {plain(error)} (inputs: {shown or 'none'})")

    def backward(self, wanted: tuple[int, ...], present: tuple[int, ...], arity: int) -> Kernel:
        """The kernel ``(inputs..., head gradients of the present outputs...) -> gradients of the wanted inputs``.

        It recomputes what it needs of the forward; XLA and the interpreter drop the rest.
        """
        key = (wanted, present, arity)
        found = self._backwards.get(key)
        if found is None:
            pull = backward_of(self.fn, wanted, present, arity, self.data_inputs, self.on_whole)
            pull.__name__ = f"{self.name}_backward"
            found = self._backwards[key] = Kernel(
                pull.__name__, pull, interpretable=self.interpretable, host=self.host, steady=self.steady
            )
            found.primal = self
            found.pulls = key
        return found

    def has_pullback(self, wanted: tuple[int, ...], count: int) -> bool:
        """Whether ``with_pullback`` has a program for these inputs."""
        return (wanted, count) in self._pullbacks

    def with_pullback(self, values: Sequence[Any], wanted: tuple[int, ...], count: int) -> tuple[Any, Any]:
        """Run forward and keep its residuals: ``(results, pullback)``; the pullback is a pytree.

        Args:
            count: how many of the results take head gradients (the rest are auxiliary).
        """
        key = (wanted, count)
        jitted = self._pullbacks.get(key)
        if jitted is None:
            forward = forward_with_pullback(self.fn, wanted, count)
            forward.__name__ = f"{self.name}_forward"
            jitted = self._pullbacks[key] = Jitted(forward)
        if self.validate is not None:
            self.validate(values)
        for value in values:
            if type(value) is inflight.Failed:
                return self._fail_with(value.fault, values), None
        values = [lazy.force(value) for value in values]
        started = perf_counter_ns()
        try:
            with enable_x64(True):
                if self.host:
                    # Nothing is compiled, and what forward has computed need not be computed again.
                    results, pull = cast(Any, jitted.plain).__wrapped__(*self._concrete(values))
                    return results, Pullback(with_doubles(pull))
                results, pullback = jitted(*values)
                inflight.note(results)
                if recorder.on:
                    recorder.call(self.label, started, results)
                return results, pullback
        except MXNetError:
            raise
        except Exception as error:
            raise self._explain(error, values) from error


def _add(left: Any, right: Any) -> tuple[Any]:
    return (left + right,)


ADD = Kernel("_grad_add", _add)
