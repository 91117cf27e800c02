"""Gradients of small programs without tracing: reverse-mode differentiation of a flat list of equations.

JAX finds the gradient of a function by tracing it three times over, which takes a millisecond or more for an operator
of one equation, for every new shape. The cold tier has the forward's equations already, and appends those of the
backward itself. What an equation's gradient is, it does not know better than JAX: primitives that work on each element
by itself are differentiated by ``jax.vjp`` once for each set of dtypes, on scalars, and the equations found are used
for every shape; only primitives that move, repeat or add up elements have a rule here, which says how sizes enter.
Whatever else there is (custom gradients, gathers, ...) is left to ``jax.vjp`` equation by equation.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np
from jax.core import Tracer
from jax.extend.core import Literal

from gluonjax._engine._numpy_rules import ELEMENTWISE
from gluonjax._engine._numpy_rules.site import inverse, is_floating

#: An equation, the slots that it reads, and those that it writes.
Unit = tuple[Any, list[int], list[int]]
#: The gradient of one output, or None.
Slot = int | None

#: So many equations are left to ``jax.vjp`` one by one; with more of them the whole is, which shares work.
_TRACED = 2

_SAME = frozenset({"copy", "copy_p", "optimization_barrier", "name", "pvary", "device_put", "sharding_constraint"})
#: Whose gradients need none of their results.
_LINEAR = frozenset({"gather", "dynamic_slice", "dynamic_update_slice", "dot_general", "conv_general_dilated", "stack",
                     "unstack", "scatter", "scatter-add", "tile"})  # fmt: skip
_NO_GRADIENT = frozenset({"stop_gradient", "floor", "ceil", "round", "sign", "is_finite"})


class Unfit(Exception):
    """The equations have to be differentiated as a whole."""


class Aval(NamedTuple):
    """Shape and dtype of a value that no tracing has made."""

    shape: tuple[int, ...]
    dtype: Any
    weak_type: bool = False


class Slots(Protocol):
    """What is known of the program that is being built (``interpret._Builder``)."""

    slots: list[Any]

    def flatten(self, closed: Any, arguments: list[int], equations: list[Any]) -> list[int]:
        """Append a jaxpr's equations; the slots of its outputs."""
        ...

    def new_constant(self, value: np.ndarray, aval: Any) -> int:
        """The slot of a constant."""
        ...


class Reverse:
    """One differentiation.

    Args:
        program: what is being built.
        equations: its equations so far, to which those of the backward are appended.
    """

    def __init__(self, program: Slots, equations: list[Unit]) -> None:
        self.program = program
        self.slots = program.slots
        self.equations = equations

    def differentiate(
        self, units: Sequence[Unit], outputs: Sequence[tuple[int, int]], wanted: Sequence[int]
    ) -> list[int]:
        """The slots of gradients.

        Args:
            units: the forward: its equations, but for calls with a gradient of their own, which are one unit each.
            outputs: slots of results and of their head gradients.
            wanted: slots of the inputs that get gradients.

        Raises:
            Unfit: where that is better left to JAX as a whole.
        """
        active = self._active(units, wanted)
        gradients: dict[int, int] = {}

        def add(slot: int, gradient: int) -> None:
            before = gradients.get(slot)
            gradients[slot] = gradient if before is None else self.emit("add_any", [before, gradient], self.slots[slot])

        for output, head in outputs:
            if output in active:
                add(output, self.converted(head, self.slots[output].dtype))
        for equation, ins, outs in reversed(units):
            given = [gradients.pop(slot, None) for slot in outs]
            if not any(slot is not None for slot in given):
                continue
            mask = tuple([slot in active for slot in ins])
            for slot, gradient in zip(ins, self._pull(equation, ins, outs, given, mask)):
                if gradient is not None and slot in active:
                    add(slot, gradient)
        return [gradients[slot] if slot in gradients else self.zeros(slot) for slot in wanted]

    def _active(self, units: Sequence[Unit], wanted: Sequence[int]) -> set[int]:
        """The slots that depend on wanted inputs in floating point."""
        active, traced = set(wanted), 0
        again: set[int] = set()  # what the backward computes again
        for equation, ins, outs in units:
            name = equation.primitive.name
            if not again.isdisjoint(ins):
                raise Unfit  # it would be computed twice
            if name in _NO_GRADIENT or active.isdisjoint(ins):
                continue
            floats = [slot for slot in outs if self._is_floating(slot)]
            active.update(floats)
            if floats and name not in RULES and name not in ELEMENTWISE and name not in _SAME:
                traced += 1
                if name not in _LINEAR:
                    again.update(outs)
        if traced > _TRACED:
            raise Unfit
        return active

    def _is_floating(self, slot: int) -> bool:
        dtype = self.slots[slot].dtype
        if not isinstance(dtype, np.dtype):
            return False
        if dtype.kind == "c":
            raise Unfit
        return is_floating(dtype)

    def _pull(
        self, equation: Any, ins: list[int], outs: list[int], given: list[Slot], mask: tuple[bool, ...]
    ) -> Sequence[Slot]:
        """Gradients of what an equation reads, from those of what it writes."""
        name = equation.primitive.name
        if name in _SAME:
            return given
        rule = RULES.get(name)
        if rule is not None:
            found = rule(self, equation.params, ins, given, mask)
            if found is not None:
                return found
        elif name in ELEMENTWISE and given[0] is not None:
            found = self._by_template(equation, ins, outs, given[0], mask)
            if found is not None:
                return found
        return self._by_jax(equation, ins, outs, given, mask)

    # ------------------------------------------------------------------------------------------ new equations

    def emit(self, name: str, ins: list[int], like: Any, **params: Any) -> int:
        """Append one equation; the slot of its result, which looks like ``like``."""
        slot = len(self.slots)
        self.slots.append(Aval(tuple(like.shape), like.dtype))
        self.equations.append((SimpleNamespace(primitive=_named(name), params=params), ins, [slot]))
        return slot

    def moved(self, name: str, slot: int, shape: Sequence[int], **params: Any) -> int:
        """The same with one operand, whose dtype stays."""
        return self.emit(name, [slot], Aval(tuple(shape), self.slots[slot].dtype), **params)

    def converted(self, slot: int, dtype: np.dtype) -> int:
        """A slot in another dtype."""
        aval = self.slots[slot]
        if aval.dtype == dtype:
            return slot
        return self.emit("convert_element_type", [slot], Aval(tuple(aval.shape), dtype), new_dtype=dtype)

    def fitted(self, slot: int, shape: tuple[int, ...]) -> int:
        """A slot added up to the shape of an operand that was repeated: a scalar, or an axis of one."""
        whole = tuple(self.slots[slot].shape)
        if whole == shape:
            return slot
        axes = tuple([axis for axis, size in enumerate(whole) if not shape or size != shape[axis]])
        slot = self.moved("reduce_sum", slot, [size for axis, size in enumerate(whole) if axis not in axes], axes=axes)
        return self.moved("reshape", slot, shape)

    def zeros(self, slot: int) -> int:
        """Zeros like a slot's value."""
        aval = self.slots[slot]
        return self.program.new_constant(
            np.broadcast_to(np.zeros((), aval.dtype), aval.shape), Aval(aval.shape, aval.dtype)
        )

    # --------------------------------------------------------------------------------------- derived from JAX

    def _by_template(
        self, equation: Any, ins: list[int], outs: list[int], head: int, mask: tuple[bool, ...]
    ) -> list[Slot] | None:
        """Use what JAX finds for scalars; None where it is of another kind."""
        dtypes = tuple([self.slots[slot].dtype for slot in (outs[0], *ins)])
        try:
            found = _template(equation.primitive, tuple(equation.params.items()), dtypes, mask)
        except TypeError:  # a parameter that has no hash
            return None
        if found is None:
            return None
        closed, flows = found
        new: list[Unit] = []
        results = self.program.flatten(closed, [head, *ins], new)
        self._append(new, (equation, ins, outs), results)
        gradients: list[Slot] = []
        for slot, flow, operand in zip(results, flows, [slot for slot, on in zip(ins, mask) if on]):
            gradients.append(self.fitted(slot, tuple(self.slots[operand].shape)) if flow else None)
        return _at(mask, gradients)

    def _append(self, new: list[Unit], unit: Unit, results: list[int]) -> None:
        """Append a template's equations with the shapes that they have here."""
        equation, ins, outs = unit
        slots, known = self.slots, {}
        for entry, reads, writes in new:
            reads = [known.get(slot, slot) for slot in reads]
            if entry.primitive is equation.primitive and reads == ins and entry.params == equation.params:
                known.update(zip(writes, outs))  # the forward itself
                continue
            shapes = {tuple(slots[slot].shape) for slot in reads}
            shape = shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)
            for slot in writes:
                slots[slot] = Aval(shape, slots[slot].dtype)
            self.equations.append((entry, reads, writes))
        results[:] = [known.get(slot, slot) for slot in results]

    def _by_jax(
        self, equation: Any, ins: list[int], outs: list[int], given: list[Slot], mask: tuple[bool, ...]
    ) -> list[Slot]:
        """Let JAX differentiate one equation for its very shapes."""
        present = [index for index, slot in enumerate(given) if slot is not None]
        wanted = [index for index, on in enumerate(mask) if on]
        structs = [self._struct(slot) for slot in ins]
        heads = [slot for slot in given if slot is not None]
        primitive = equation.primitive
        params = primitive.get_bind_params(equation.params)

        def pull(*values: Any) -> Any:
            inputs, cotangents = values[: len(structs)], values[len(structs) :]

            def of_wanted(*some: Any) -> Any:
                full = list(inputs)
                for position, value in zip(wanted, some):
                    full[position] = value
                results = primitive.bind(*full, **params)
                results = results if primitive.multiple_results else (results,)
                return tuple(results[index] for index in present)

            return jax.vjp(of_wanted, *(inputs[position] for position in wanted))[1](tuple(cotangents))

        try:
            with jax.enable_x64(True):
                closed = jax.make_jaxpr(pull)(*structs, *(self._struct(slot) for slot in heads))
        except jax.errors.UnexpectedTracerError:
            # A gradient of its own that uses values of the trace in which it was defined (a random key).
            raise Unfit from None
        if closed.effects or any(isinstance(value, Tracer) for value in closed.consts):
            raise Unfit
        return _at(mask, self.program.flatten(closed, ins + heads, self.equations))

    def _struct(self, slot: int) -> jax.ShapeDtypeStruct:
        aval = self.slots[slot]
        return jax.ShapeDtypeStruct(aval.shape, aval.dtype)


def _at(mask: tuple[bool, ...], gradients: Sequence[Slot]) -> list[Slot]:
    """Gradients of the active operands, at their places."""
    remaining = iter(gradients)
    return [next(remaining) if on else None for on in mask]


@functools.cache
def _named(name: str) -> Any:
    return SimpleNamespace(name=name)


@functools.lru_cache(maxsize=4096)
def _template(
    primitive: Any, params: tuple[Any, ...], dtypes: tuple[Any, ...], mask: tuple[bool, ...]
) -> tuple[Any, list[bool]] | None:
    """The gradient of a primitive on scalars, and which of its results depend on the head gradient.

    Args:
        dtypes: of the result and the operands.
        mask: which operands get gradients.

    Returns:
        a jaxpr from head gradient and operands to gradients; None where it is not elementwise.
    """
    settings = dict(params)
    wanted = [index for index, on in enumerate(mask) if on]

    def pull(head: Any, *operands: Any) -> Any:
        def of_wanted(*some: Any) -> Any:
            full = list(operands)
            for index, value in zip(wanted, some):
                full[index] = value
            return primitive.bind(*full, **settings)

        return jax.vjp(of_wanted, *(operands[index] for index in wanted))[1](head)

    with jax.enable_x64(True):
        closed = jax.make_jaxpr(pull)(*(jax.ShapeDtypeStruct((), dtype) for dtype in dtypes))
    jaxpr = closed.jaxpr
    depend = {jaxpr.invars[0]}
    for equation in jaxpr.eqns:
        if equation.primitive.name not in ELEMENTWISE:
            return None
        if any(not isinstance(v, Literal) and v in depend for v in equation.invars):
            depend.update(equation.outvars)
    return closed, [not isinstance(v, Literal) and v in depend for v in jaxpr.outvars]


# ------------------------------------------------------------------------------- how sizes enter, by primitive

Rule = Callable[[Reverse, Any, list[int], list[Slot], tuple[bool, ...]], "Sequence[Slot] | None"]


def _one(rule: Callable[[Reverse, Any, Any, int, int], Slot]) -> Rule:
    """A rule for one operand: ``(reverse, parameters, its aval, its slot, head) -> gradient``."""

    def apply(rev: Reverse, params: Any, ins: list[int], given: list[Slot], mask: tuple[bool, ...]) -> Any:
        (head,) = given
        if len(ins) != 1 or head is None:
            return None
        found = rule(rev, params, rev.slots[ins[0]], ins[0], head)
        return None if found is None else [found]

    return apply


def _reshape(rev: Reverse, params: Any, aval: Any, operand: int, head: int) -> Slot:
    return rev.moved("reshape", head, aval.shape) if params.get("dimensions") is None else None


def _transpose(rev: Reverse, params: Any, aval: Any, operand: int, head: int) -> Slot:
    return rev.moved("transpose", head, aval.shape, permutation=inverse(params["permutation"]))


def _reverse(rev: Reverse, params: Any, aval: Any, operand: int, head: int) -> Slot:
    return rev.moved("rev", head, aval.shape, dimensions=params["dimensions"])


def _convert(rev: Reverse, params: Any, aval: Any, operand: int, head: int) -> Slot:
    return rev.converted(head, aval.dtype)


def _sum(rev: Reverse, params: Any, aval: Any, operand: int, head: int) -> Slot:
    return rev.moved("broadcast_in_dim", head, aval.shape, broadcast_dimensions=_others(aval, params["axes"]))


def _others(aval: Any, axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(axis for axis in range(len(aval.shape)) if axis not in axes)


def _broadcast(rev: Reverse, params: Any, aval: Any, operand: int, head: int) -> Slot:
    shape, placed = rev.slots[head].shape, dict(zip(params["broadcast_dimensions"], aval.shape))
    axes = tuple(axis for axis, size in enumerate(shape) if size != 1 and placed.get(axis, 1) == 1)
    if axes:
        head = rev.moved("reduce_sum", head, [n for i, n in enumerate(shape) if i not in axes], axes=axes)
    return rev.moved("reshape", head, aval.shape)


def _slice(rev: Reverse, params: Any, aval: Any, operand: int, head: int) -> Slot:
    strides = params["strides"] or (1,) * len(aval.shape)
    config = []
    for size, start, stride, count in zip(aval.shape, params["start_indices"], strides, rev.slots[head].shape):
        reached = start + (count - 1) * stride + 1 if count else start
        config.append((int(start), int(size - reached), int(stride) - 1 if count else 0))
    return _padded(rev, head, aval.shape, config)


def _padded(rev: Reverse, head: int, shape: Sequence[int], config: list[tuple[int, int, int]]) -> int:
    dtype = rev.slots[head].dtype
    zero = rev.program.new_constant(np.zeros((), dtype), Aval((), dtype))
    return rev.emit("pad", [head, zero], Aval(tuple(shape), dtype), padding_config=config)


def _pad(rev: Reverse, params: Any, ins: list[int], given: list[Slot], mask: tuple[bool, ...]) -> Any:
    (head,) = given
    if head is None or mask[1]:
        return None
    shape, result = rev.slots[ins[0]].shape, rev.slots[head].shape
    config = [(-int(low), -int(high), 0) for low, high, _ in params["padding_config"]]
    widths = [max(size + low + high, 0) for size, (low, high, _) in zip(result, config)]
    found = _padded(rev, head, widths, config)
    if any(interior for _, _, interior in params["padding_config"]):
        strides = [int(interior) + 1 for _, _, interior in params["padding_config"]]
        found = rev.moved("slice", found, shape, start_indices=[0] * len(shape), limit_indices=widths, strides=strides)
    return [found, None]


def _concatenate(rev: Reverse, params: Any, ins: list[int], given: list[Slot], mask: tuple[bool, ...]) -> Any:
    (head,) = given
    if head is None:
        return None
    axis, shape, start = params["dimension"], rev.slots[head].shape, 0
    found: list[Slot] = []
    for slot, on in zip(ins, mask):
        part = rev.slots[slot].shape
        first, last = [0] * len(shape), list(shape)
        first[axis], last[axis] = start, start + part[axis]
        start += part[axis]
        found.append(
            rev.moved("slice", head, part, start_indices=first, limit_indices=last, strides=None) if on else None
        )
    return found


def _split(rev: Reverse, params: Any, ins: list[int], given: list[Slot], mask: tuple[bool, ...]) -> Any:
    aval, axis = rev.slots[ins[0]], params["axis"]
    pieces: list[int] = []
    for size, slot in zip(params["sizes"], given):
        if slot is None:
            shape = (*aval.shape[:axis], int(size), *aval.shape[axis + 1 :])
            zeros = np.broadcast_to(np.zeros((), aval.dtype), shape)
            slot = rev.program.new_constant(zeros, Aval(shape, aval.dtype))
        pieces.append(slot)
    return [rev.emit("concatenate", pieces, aval, dimension=axis)]


def _running_sum(rev: Reverse, params: Any, aval: Any, operand: int, head: int) -> Slot:
    return rev.moved("cumsum", head, aval.shape, axis=params["axis"], reverse=not params["reverse"])


def _product(rev: Reverse, params: Any, aval: Any, operand: int, head: int) -> Slot:
    return rev.emit("reduce_prod_pull", [operand, head], aval, axes=params["axes"])


RULES: dict[str, Rule] = {
    "reshape": _one(_reshape), "squeeze": _one(_reshape), "expand_dims": _one(_reshape),
    "transpose": _one(_transpose), "rev": _one(_reverse), "convert_element_type": _one(_convert),
    "reduce_sum": _one(_sum), "broadcast_in_dim": _one(_broadcast), "slice": _one(_slice),
    "pad": _pad, "concatenate": _concatenate, "split": _split,
    "cumsum": _one(_running_sum), "reduce_prod": _one(_product),
}  # fmt: skip
