"""The cold tier: evaluates a jaxpr with NumPy, so that an operator met for the first time is not compiled.

`build` turns a jaxpr into a `Program` once: nested calls are inlined, equations that nobody reads are
dropped, what depends on constants only is computed at once, and every remaining equation becomes one prepared
function on numbered slots. Calling the program then costs little more than the NumPy calls in it. What each
primitive means is written in `_numpy_rules`, one table per theme; a primitive without a rule makes `build`
answer None, and the caller compiles.
"""

from __future__ import annotations

import contextvars
import math
import threading
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.extend.core import Literal

from gluonjax._engine._numpy_rules import ELEMENTWISE, RULES, draws, work
from gluonjax._engine._numpy_rules.site import KEY_DTYPE, Inner, Operand, Site, identity
from gluonjax._engine.reverse import Aval, Reverse, Unfit
from gluonjax._engine.slots import Run, runner

#: Equations that only wrap a jaxpr, and the parameters under which the supported JAX versions keep it.
_CALLS = frozenset({
    "jit", "pjit", "closed_call", "core_call", "call", "named_call", "remat", "remat2", "checkpoint",
    "custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr",
})  # fmt: skip
#: Those of them, and others, that say what their gradient is.
_OWN_GRADIENT = frozenset({"custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr", "custom_linear_solve",
                           "call_hi_primitive"})  # fmt: skip
_CALL_PARAMETERS = ("jaxpr", "call_jaxpr", "fun_jaxpr")

#: An equation on constants is computed while building if that costs no more than this.
_FOLD_LIMIT = 65536.0

#: Views: they write nothing.
_FREE = frozenset({"reshape", "squeeze", "expand_dims", "transpose", "slice", "rev", "split", "unstack",
                   "broadcast_in_dim", "bitcast_convert_type", "dynamic_slice"})  # fmt: skip

_KEY_NAME = "key<fry>"

#: A call that compiled blocks answer (`_numpy_rules.draws`), as a primitive of its own.
_DRAW = SimpleNamespace(name="draw")


class _NoRule(Exception):
    """Ends a build at an equation that cannot be interpreted."""


# ------------------------------------------------------------------------------------ floating-point warnings


class _Quiet(threading.local):
    """One context per thread in which NumPy reports no floating-point events, as XLA reports none.

    Entering a ready context costs a fraction of what `np.errstate` costs.
    """

    def __init__(self) -> None:
        context = contextvars.Context()
        context.run(np.seterr, all="ignore")
        self.run = context.run


_quiet = _Quiet()


class Program:
    """A jaxpr made ready to run on NumPy values.

    Args:
        run: Computes the outputs from a sequence of inputs.
        cost: Estimated elementary operations of one call.
        inherent: How many of these a compiled program needs as well.
        equations: How many equations it evaluates, those of loops and branches included.
        steps: The same without those.
        drawn: Whether compiled blocks make its random numbers, if they are many.
    """

    __slots__ = ("_run", "cost", "drawn", "equations", "inherent", "steps")

    def __init__(
        self, run: Run, cost: float, inherent: float, equations: int, steps: int, drawn: bool
    ) -> None:
        self.steps = steps
        self.drawn = drawn
        self._run = run
        self.cost = cost
        self.inherent = inherent
        self.equations = equations

    def __call__(self, values: Sequence[Any]) -> tuple[np.ndarray, ...]:
        """Computes the outputs.

        Args:
            values: One per input of the jaxpr: NumPy arrays of exactly its shape and dtype, Python numbers
                for weakly typed scalars, JAX key arrays (or their uint32 words) for keys. Never written to.

        Returns:
            NumPy arrays of the jaxpr's output shapes and dtypes (JAX key arrays for keys). They may be views
            of the inputs or be shared between calls: nobody may write into them.
        """
        try:
            return _quiet.run(self._run, values)  # type: ignore[return-value]
        except RuntimeError:
            # The thread is in its quiet context already: a finalizer or signal handler interrupted a program.
            with np.errstate(all="ignore"):
                return self._run(values)  # type: ignore[return-value]


# --------------------------------------------------------------------------------------------------- building


def build(closed_jaxpr: Any, patience: float = 1.0) -> Program | None:
    """Prepares a closed jaxpr for evaluation with NumPy.

    Args:
        closed_jaxpr: As from `jax.make_jaxpr(f)(...)` or `jax.jit(f).trace(...).jaxpr`.
        patience: So many times what they make as fast NumPy leaves to compiled blocks that draw random numbers.

    Returns:
        The program, or None if some equation, at any depth, cannot be interpreted.

    >>> import jax, numpy
    >>> program = build(jax.make_jaxpr(lambda x: x + 1)(numpy.ones(2, "float32")))
    >>> program([numpy.array([1, 2], "float32")])[0].tolist()
    [2.0, 3.0]
    """
    if closed_jaxpr.effects:
        return None
    try:
        builder = _quiet.run(_Builder, closed_jaxpr, patience)
    except _NoRule:
        return None
    return _program(builder)


def build_pullback(
    closed_jaxpr: Any, wanted: Sequence[int], present: Sequence[int], heads: Sequence[Any], patience: float = 1.0
) -> Program | None:
    """Prepares the gradient of a closed jaxpr: from its inputs and head gradients to gradients of inputs.

    Args:
        wanted: the inputs that get gradients, all floating.
        present: the outputs that have head gradients.
        heads: something with the shape and dtype of each of those.

    Returns:
        The program, or None if JAX should differentiate the function as a whole.
    """
    avals = getattr(closed_jaxpr, "out_avals", ())
    if closed_jaxpr.effects or any(tuple(avals[i].shape) != tuple(h.shape) for i, h in zip(present, heads)):
        return None
    pull = _Pull(wanted, present, [Aval(tuple(head.shape), np.dtype(head.dtype)) for head in heads])
    try:
        builder = _quiet.run(_Builder, closed_jaxpr, patience, pull)
    except (_NoRule, Unfit):
        return None
    return _program(builder)


def _program(builder: _Builder) -> Program:
    inherent = builder.inherent + builder.traffic()
    return Program(
        builder.outer(), builder.cost, inherent, builder.equations, len(builder.steps), builder.drawn
    )


def _operand(aval: Any) -> Operand:
    """Shape and dtype of an abstract value as rules see them: a key is one opaque item."""
    dtype = aval.dtype
    if not isinstance(dtype, np.dtype):
        if dtype.name != _KEY_NAME:
            raise _NoRule
        dtype = KEY_DTYPE
    return Operand(aval.shape, dtype)


def _is_key(aval: Any) -> bool:
    return not isinstance(aval.dtype, np.dtype)


def _constant(value: Any, aval: Any) -> np.ndarray:
    """A literal or captured constant as a plain NumPy array of the dtype that the jaxpr says."""
    if _is_key(aval):
        return _key_in(value)
    return np.asarray(value, aval.dtype)


def _key_in(value: Any) -> np.ndarray:
    """JAX keys, or their uint32 words, as 64-bit items."""
    data = value if isinstance(value, np.ndarray) else np.asarray(jax.random.key_data(value))
    return np.ascontiguousarray(data).view(KEY_DTYPE).reshape(data.shape[:-1])


def _key_out(value: np.ndarray) -> jax.Array:
    """64-bit items as a JAX key array."""
    words = np.ascontiguousarray(value).view(np.uint32).reshape(np.shape(value) + (2,))
    return jax.random.wrap_key_data(jax.numpy.asarray(words), impl="threefry2x32")


def _own(value: np.ndarray) -> np.ndarray:
    """Writes a broadcast view out: an output must not be one element that poses as many."""
    return value.copy() if 0 in value.strides and value.size > 1 else value


class _Pull(NamedTuple):
    """Which gradients are asked for: of which inputs, from which outputs, and what the head gradients look like."""

    wanted: Sequence[int]
    present: Sequence[int]
    heads: list[Aval]


class _Builder:
    """Builds one jaxpr, or its gradient: slots for its values, and the steps that fill them."""

    def __init__(self, closed_jaxpr: Any, patience: float = math.inf, pull: _Pull | None = None) -> None:
        self.patience = patience
        self.drawn = False
        jaxpr = getattr(closed_jaxpr, "jaxpr", closed_jaxpr)
        self.in_avals: list[Any] = [variable.aval for variable in jaxpr.invars]
        self.out_avals: list[Any] = [variable.aval for variable in jaxpr.outvars]
        inputs = len(self.in_avals)
        if pull is not None:
            self.out_avals = [self.in_avals[index] for index in pull.wanted]
            self.in_avals += pull.heads
        # For a gradient: the equations as they are differentiated.
        self.units: list[tuple[Any, list[int], list[int]]] | None = None if pull is None else []
        self.slots: list[Any] = list(self.in_avals)  # the abstract value of each slot
        self.constants: dict[int, np.ndarray] = {}
        self.fresh: set[int] = set()  # slots that hold neither views nor constants
        self.cost = self.inherent = 0.0
        self.equations = 0
        self.elementwise = True
        self.entries: dict[int, Callable[[Any], Any]] = {}
        equations: list[tuple[Any, list[int], list[int]]] = []
        outputs = self.flatten(closed_jaxpr, list(range(inputs)), equations)
        if pull is not None and self.units is not None:
            units, self.units = self.units, None
            heads = [(outputs[index], inputs + place) for place, index in enumerate(pull.present)]
            outputs = Reverse(self, equations).differentiate(units, heads, pull.wanted)
        live = self._live(equations, outputs)
        self._convert_scalars_at_entry(live, outputs)
        self.steps: list[tuple[Callable[..., Any], list[int], list[int]]] = []
        alias: dict[int, int] = {}  # slots of equations that change nothing
        for equation, ins, outs in live:
            resolved = [alias[slot] if slot in alias else slot for slot in ins]
            self._add(equation, resolved, outs, alias)
        self.outputs = [alias.get(slot, slot) for slot in outputs]

    def flatten(self, closed: Any, arguments: list[int], equations: list[Any]) -> list[int]:
        """Appends a jaxpr's equations, those of nested calls in place; returns the slots of its outputs."""
        jaxpr = getattr(closed, "jaxpr", closed)
        slots, names = self.slots, dict[Any, int](zip(jaxpr.invars, arguments))
        for variable, value in zip(jaxpr.constvars, getattr(closed, "consts", ())):
            names[variable] = self.new_constant(_constant(value, variable.aval), variable.aval)
        for equation in jaxpr.eqns:
            ins = [
                self.new_constant(_constant(v.val, v.aval), v.aval) if isinstance(v, Literal) else names[v]
                for v in equation.invars
            ]
            name = equation.primitive.name
            if name in _CALLS and draws.is_draw(equation):
                self.drawn = True
            if name in _CALLS and draws.is_large(equation, self.patience):
                outs = [len(slots)]
                slots.append(equation.outvars[0].aval)
                equations.append((SimpleNamespace(primitive=_DRAW, params=equation.params), ins, outs))
                if self.units is not None:
                    self.units.append((equation, ins, outs))
            elif name in _CALLS and not (name in _OWN_GRADIENT and self.units is not None):
                outs = self.flatten(_called(equation.params), ins, equations)
            elif name in _OWN_GRADIENT:
                units, self.units = self.units, None
                if name == "custom_linear_solve":
                    called, arguments = equation.params["jaxprs"].solve, _solve_arguments(equation, ins)
                else:
                    called = _expanded(equation) if name == "call_hi_primitive" else _called(equation.params)
                    arguments = ins
                outs = self.flatten(called, arguments, equations)
                self.units = units
                if units is not None:
                    units.append((equation, ins, outs))
            elif name == "platform_index":
                outs = [self.new_constant(_platform_index(equation), equation.outvars[0].aval)]
            elif name == "cond" and ins[0] in self.constants:
                branches = equation.params["branches"]
                chosen = min(max(int(self.constants[ins[0]]), 0), len(branches) - 1)
                outs = self.flatten(branches[chosen], ins[1:], equations)
            else:
                outs = list(range(len(slots), len(slots) + len(equation.outvars)))
                slots.extend(variable.aval for variable in equation.outvars)
                equations.append((equation, ins, outs))
                if self.units is not None:
                    self.units.append((equation, ins, outs))
            names.update(zip(equation.outvars, outs))
        return [
            self.new_constant(_constant(v.val, v.aval), v.aval) if isinstance(v, Literal) else names[v]
            for v in jaxpr.outvars
        ]

    def new_constant(self, value: np.ndarray, aval: Any) -> int:
        slot = len(self.slots)
        self.slots.append(aval)
        self.constants[slot] = value
        return slot

    @staticmethod
    def _live(equations: list[Any], outputs: list[int]) -> list[Any]:
        """The equations that some output depends on."""
        needed, live = set(outputs), []
        for entry in reversed(equations):
            if not needed.isdisjoint(entry[2]):
                live.append(entry)
                needed.update(entry[1])
        live.reverse()
        return live

    def _convert_scalars_at_entry(self, live: list[Any], outputs: list[int]) -> None:
        """Prepares the inputs that may arrive as something else than an array of their dtype.

        Where a weakly typed scalar is only ever converted to one other dtype, it is converted at once.
        """
        for slot, aval in enumerate(self.in_avals):
            if _is_key(aval):
                _operand(aval)  # refuses keys of another generator
                self.entries[slot] = _key_in
            elif aval.weak_type and aval.shape == ():
                dtype = aval.dtype
                users = [equation for equation, ins, _ in live if slot in ins]
                targets = {
                    user.params["new_dtype"] if user.primitive.name == "convert_element_type" else None
                    for user in users
                }
                if len(targets) == 1 and slot not in outputs and dtype.kind == "f":
                    (target,) = targets
                    if target is not None and np.dtype(target).kind not in "iub":
                        dtype = np.dtype(target)
                        self.slots[slot] = users[0].outvars[0].aval
                self.entries[slot] = _scalar_entry(dtype)

    def _add(self, equation: Any, ins: list[int], outs: list[int], alias: dict[int, int]) -> None:
        """Adds the step of one equation, unless it changes nothing or is constant."""
        name = equation.primitive.name
        rule = RULES.get(name)
        if rule is None:
            raise _NoRule
        slots = self.slots
        inners: dict[int, Inner | None] = {}

        def inner(jaxpr: Any) -> Inner | None:
            if id(jaxpr) not in inners:
                inners[id(jaxpr)] = _inner(jaxpr)
            return inners[id(jaxpr)]

        site = Site(
            name,
            equation.params,
            tuple([_operand(slots[slot]) for slot in ins]),
            tuple([_operand(slots[slot]) for slot in outs]),
            inner,
        )
        function = rule(site)
        if function is None:
            raise _NoRule
        if function is identity:
            alias.update(zip(outs, ins))
            return
        cost = 0.0 if name in _FREE else work(site)
        constants = self.constants
        if (
            cost <= _FOLD_LIMIT
            and all(slot in constants for slot in ins)
            and sum(o.size for o in site.outs) <= _FOLD_LIMIT
        ):
            results = function(*[constants[slot] for slot in ins])
            constants.update(zip(outs, results if len(outs) > 1 else (results,)))
            return
        self.cost += cost
        self.equations += 1
        if name == "dot_general":
            self.inherent += cost
        elif name == "draw":
            self.inherent += draws.inherent(site)
        for one in inners.values():
            if one is not None:
                self.equations += one.equations
                self.inherent += one.inherent * (equation.params["length"] if name == "scan" else 1)
        if name in ELEMENTWISE:
            self.fresh.update(outs)
        else:
            self.elementwise = False
        self.steps.append((function, ins, outs))

    def traffic(self) -> float:
        """A pass over inputs and outputs, which NumPy and compiled code both make."""
        return float(sum(math.prod(aval.shape) for aval in (*self.in_avals, *self.out_avals)))

    # ------------------------------------------------------------------------------------------------ running

    def inner(self) -> Run:
        """The program without conversions at its ends, for loops and branches."""
        return runner(self.steps, len(self.in_avals), self.constants, self.outputs, len(self.slots))

    def outer(self) -> Run:
        """The program with inputs converted and outputs made proper arrays."""
        exits: list[tuple[int, Callable[[Any], Any]]] = []
        for position, (slot, aval) in enumerate(zip(self.outputs, self.out_avals)):
            if _is_key(aval):
                exits.append((position, _key_out))
            elif slot in self.constants:
                self.constants[slot] = _own(np.asarray(self.constants[slot]))
            elif aval.shape == ():
                exits.append((position, np.asarray))
            elif slot not in self.fresh and slot >= len(self.in_avals):
                exits.append((position, _own))
        run, entries = self.inner(), list(self.entries.items())
        if not entries and not exits:
            return run
        if not entries and len(exits) == 1 and len(self.outputs) == 1:
            leave = exits[0][1]
            return lambda values: (leave(run(values)[0]),)

        def convert(values: Sequence[Any]) -> Sequence[Any]:
            values = list(values)
            for position, enter in entries:
                values[position] = enter(values[position])
            results = run(values)
            if exits:
                results = list(results)
                for position, leave in exits:
                    results[position] = leave(results[position])
                return tuple(results)
            return results

        return convert


def _called(params: Any) -> Any:
    """The jaxpr that a call equation runs."""
    for name in _CALL_PARAMETERS:
        if name in params:
            return params[name]
    raise _NoRule


def _expanded(equation: Any) -> Any:
    """The jaxpr that defines one of JAX's high-level primitives (`jax.experimental.hijax`)."""
    primitive = equation.params.get("_prim")
    if not hasattr(primitive, "expand"):
        raise _NoRule
    flat = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in equation.invars]
    with jax.enable_x64(True):
        return jax.make_jaxpr(primitive.expand)(*jax.tree.unflatten(primitive.in_tree, flat))


def _platform_index(equation: Any) -> np.ndarray:
    """Which branch of `jax.lax.platform_dependent` serves a CPU: the one that names it, or the default."""
    platforms = equation.params["platforms"]
    position = next(i for i, names in enumerate(platforms) if names is None or "cpu" in names)
    return np.asarray(position, equation.outvars[0].aval.dtype)


def _solve_arguments(equation: Any, ins: list[int]) -> list[int]:
    """The operands of a linear solve that its `solve` jaxpr takes: constants and right-hand sides."""
    lengths = equation.params["const_lengths"]
    before = lengths.matvec + lengths.vecmat
    return ins[before : before + lengths.solve] + ins[before + lengths.solve + lengths.transpose_solve :]


def _scalar_entry(dtype: np.dtype) -> Callable[[Any], np.ndarray]:
    asarray = np.asarray
    return lambda value: asarray(value, dtype)


def _inner(jaxpr: Any) -> Inner | None:
    """Makes a jaxpr among an equation's parameters runnable (the `inner` of a `Site`)."""
    try:
        builder = _Builder(jaxpr)
    except _NoRule:
        return None
    return Inner(builder.inner(), builder.cost, builder.elementwise, builder.inherent, builder.equations)
