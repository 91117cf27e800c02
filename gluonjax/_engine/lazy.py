"""Calls that are put off, so that what follows them can be part of one compiled program.

A hybridized block called under ``record`` returns lazy results: shapes and dtypes are known (and checked), the
computation is not launched. Whatever is computed from them joins: the loss, the backward, the optimizer's update.
``Trainer.step`` launches the whole as one program, the same one at every step; reading a value launches what is
there so far. Values are captured at the call, so what is written into arrays later does not matter.

``GLUONJAX_LAZY=0`` launches everything at once.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from gluonjax._base.errors import MXNetError, OperatorError
from gluonjax._engine.compile import Jitted
from gluonjax._engine.inflight import note

if TYPE_CHECKING:
    from gluonjax._engine.run import Kernel

ENABLED = os.environ.get("GLUONJAX_LAZY", "1") != "0" and os.environ.get("MXNET_ENGINE_TYPE") != "NaiveEngine"
# More block calls than this in one program (an unrolled loop) would compile longer than it is worth.
MOST_BLOCKS = 8
# A program of more calls than this is launched as it is.
MOST_CALLS = 400
# Tapes of more calls than this run operator by operator: their programs would compile for too long.
LONGEST_EAGER = 120
# How often a block's results may be read before its backward, until it stops being put off.
PATIENCE = 2

_lock = threading.RLock()
# Calls that nobody needed any more leave dead references behind, which are swept now and then.
_waiting: dict[int, weakref.ref[Call]] = {}
_MOST_WAITING = 1024
_programs: OrderedDict[Any, Callable[..., Any]] = OrderedDict()
_MOST_PROGRAMS = 512


class Origin:
    """What a block remembers about being put off: whether that pays."""

    __slots__ = ("early", "on")

    def __init__(self) -> None:
        self.on = ENABLED
        self.early = 0


class Eager(threading.local):
    """Whether operators called one by one are put off as well: once this thread repeats itself.

    A loop whose tape stays the same (three times for a short one) goes on as one program a step. Code whose structure
    keeps changing (trees, ragged sequences) would compile at every change, so it stays as it is.
    """

    def __init__(self) -> None:
        super().__init__()
        self.on = False
        self.origin = Origin()
        self._last: Any = None
        self._repeats = 0
        self._changes = 0

    def seen(self, structure: int, count: int) -> None:
        """A backward walk has met ``count`` calls whose kernels hash to ``structure``."""
        if not self.origin.on or self._changes >= PATIENCE + 1:
            self.on = False
        elif structure == self._last and count <= LONGEST_EAGER:
            self._repeats += 1
            # The longer the tape, the longer its program compiles, and the longer the loop must have run.
            self.on = self.on or self._repeats >= max(3, count // 4)
        else:
            self._changes += self.on
            self._last, self._repeats, self.on = structure, 0, False


class Call:
    """One kernel call that has not been launched, or that has been and holds its results."""

    __slots__ = (
        "__weakref__", "blocks", "inputs", "kernel", "origin", "outputs", "recipe", "results", "size", "sources",
        "users",
    )  # fmt: skip

    def __init__(self, kernel: Kernel, inputs: list[Any], sources: Sequence[Call], origin: Origin | None) -> None:
        self.kernel = kernel
        # What results that were not kept would be computed from.
        self.recipe: Recipe | None = None
        # Arrays, floats, or (call, output index) of other lazy calls: those must not keep the handles' objects alive.
        self.inputs = inputs
        # The other lazy calls among the inputs.
        self.sources = sources
        self.origin = origin
        self.results: list[Any] | None = None
        self.users: list[weakref.ref[Call]] = []
        size, blocks = 1, 0
        for call in sources:
            size += call.size
            if call.blocks > blocks:
                blocks = call.blocks
        self.size = size
        self.blocks = blocks if origin is None or origin is eager.origin else blocks + 1


class Lazy:
    """Stands for one result of a put-off call."""

    __slots__ = ("__weakref__", "call", "dtype", "index", "shape")

    def __init__(self, call: Call, index: int, shape: tuple[int, ...], dtype: Any) -> None:
        self.call = call
        self.index = index
        self.shape = shape
        self.dtype = dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        total = 1
        for length in self.shape:
            total *= length
        return total

    def is_ready(self) -> bool:
        """False, so that nobody takes the quick path with it."""
        return False

    def result(self) -> Any:
        """The array, or None while it has not been computed."""
        results = self.call.results
        return None if results is None else results[self.index]


class Recipe:
    """What a launch was made of, for results that it did not keep: whoever reads one has it computed again."""

    __slots__ = ("made_of",)

    def __init__(self, calls: Sequence[Call]) -> None:
        self.made_of = [(call, call.inputs) for call in calls]

    def revive(self) -> None:
        """Give every result that was not kept and still has a handle a call of its own."""
        wanted: list[tuple[Call, Lazy]] = []
        for call, _ in self.made_of:
            for output in call.outputs:
                one = output()
                if one is not None and call.results is not None and call.results[one.index] is None:
                    wanted.append((call, one))
        needed = {call for call, _ in wanted}
        for call, inputs in reversed(self.made_of):
            if call in needed:
                needed.update(one[0] for one in inputs if type(one) is tuple and one[0].results[one[1]] is None)
        again: dict[Call, Call] = {}
        for call, inputs in self.made_of:
            if call not in needed:
                continue
            known: list[Any] = []
            for one in inputs:
                if type(one) is tuple:
                    kept = one[0].results[one[1]]
                    one = (again[one[0]], one[1]) if kept is None else kept
                known.append(one)
            made = again[call] = Call(call.kernel, known, [one[0] for one in known if type(one) is tuple], recipes)
            made.outputs = [_nobody] * len(call.outputs)
        for call, one in wanted:
            one.call = again[call]
            one.call.outputs[one.index] = weakref.ref(one)
        self.made_of = []


eager = Eager()
# Whether gradients that an update has used up are left uncomputed; off once somebody has read such a one a few times.
recipes = Origin()


def _nobody() -> None:
    """The reference to a result that nobody has a handle on."""



def _call_of(value: Lazy) -> Call:
    """The call that a value is a result of; a new one where its launch did not keep the value."""
    if value.call.recipe is not None:
        with _lock:
            recipe = value.call.recipe
            if recipe is not None and value.result() is None:
                recipe.revive()
    return value.call


def put_off(
    kernel: Kernel, values: Sequence[Any], structs: Sequence[Any], origin: Origin | None = None
) -> tuple[Lazy, ...]:
    """Lazy results of a call; ``structs`` are the shapes and dtypes of its results."""
    inputs: list[Any] = []
    sources: list[Call] = []
    for value in values:
        if type(value) is Lazy:
            source = _call_of(value)
            if source.results is None:
                inputs.append((source, value.index))
                if source not in sources:
                    sources.append(source)
            else:
                inputs.append(source.results[value.index])
        else:
            inputs.append(value)
    call = Call(kernel, inputs, sources, origin)
    results = tuple([Lazy(call, index, struct.shape, struct.dtype) for index, struct in enumerate(structs)])
    call.outputs = [weakref.ref(one) for one in results]
    reference = weakref.ref(call)
    _waiting[id(call)] = reference
    if len(_waiting) > _MOST_WAITING:
        _sweep()
    for source in sources:
        source.users.append(reference)
    if call.blocks > MOST_BLOCKS or call.size > MOST_CALLS:
        launch(call)
    return results


def waits(value: Any) -> bool:
    """Whether a value has been put off and not been computed."""
    return type(value) is Lazy and value.call.results is None


def force(value: Any) -> Any:
    """The array behind a value; launches what is needed for it and everything that hangs together with it."""
    if type(value) is not Lazy:
        return value
    call = _call_of(value)
    if call.results is None:
        launch(call)
    return value.result()


def _sweep() -> None:
    for key, reference in list(_waiting.items()):
        if reference() is None:
            _waiting.pop(key, None)


def launch_all() -> None:
    """Launch everything that has been put off."""
    for reference in list(_waiting.values()):
        call = reference()
        if call is not None and call.results is None and any(output() is not None for output in call.outputs):
            launch(call)
    _waiting.clear()


def _related(start: Call) -> list[Call]:
    """The call, what it needs, and what has been put off on top of these; inputs before users."""
    chosen: set[Call] = set()
    order: list[Call] = []
    _append_with_sources(start, chosen, order)
    for call in order:  # grows meanwhile
        for reference in call.users:
            user = reference()
            if user is not None and user not in chosen and user.results is None:
                _append_with_sources(user, chosen, order)
    return order


def _append_with_sources(last: Call, chosen: set[Call], order: list[Call]) -> None:
    """Append a call to an order, after those it needs that are not in it yet."""
    work = [last]
    while work:
        call = work[-1]
        missing = [one for one in call.sources if one not in chosen and one.results is None]
        if missing and call not in chosen:
            work += missing
            continue
        work.pop()
        if call not in chosen:
            chosen.add(call)
            order.append(call)


def launch(start: Call, spare: Sequence[Any] = ()) -> None:
    """Compile (once per structure) and launch a call with everything that hangs together with it.

    Args:
        spare: results that are needed inside the program only. They are not written to memory; whoever reads one
            later has it computed again, from the same inputs.
    """
    with _lock:
        if start.results is not None:
            return
        calls = _related(start)
        spared = {id(one): one for one in spare if type(one) is Lazy and one.call.results is None}
        _notice_early_reads(calls)
        position = {call: number for number, call in enumerate(calls)}
        slots: dict[int, int] = {}
        arrays: list[Any] = []
        steps: list[tuple[Kernel, tuple[Any, ...], tuple[int, ...]]] = []
        for call in calls:
            # Where each input comes from: an argument's number, or (call, output).
            sources: list[Any] = []
            for one in call.inputs:
                if type(one) is tuple:
                    other, index = one
                    if other.results is None:
                        sources.append((position[other], index))
                        continue
                    one = other.results[index]
                key = id(one)
                slot = slots.get(key)
                if slot is None or type(one) is float:  # equal floats are different arguments
                    slot = slots[key] = len(arrays)
                    arrays.append(one)
                sources.append(slot)
            alive = tuple([
                index for index, output in enumerate(call.outputs)
                if (one := output()) is not None and id(one) not in spared
            ])  # fmt: skip
            steps.append((call.kernel, tuple(sources), alive))
        program = _program(tuple(steps))
        try:
            with jax.enable_x64(True):
                outputs = program(*arrays)
        except MXNetError:
            raise
        except Exception as error:
            raise OperatorError(f"a put-off computation failed: {error}") from error
        taken = 0
        for call, (_, _, alive) in zip(calls, steps):
            results: list[Any] = [None] * len(call.outputs)
            for index in alive:
                results[index] = outputs[taken]
                taken += 1
            call.results = results
            _waiting.pop(id(call), None)
        if spared:
            # The call that used them up (an optimizer's update) is not needed for them.
            recipe = Recipe([call for call in calls if call is not start])
            for one in spared.values():
                one.call.recipe = recipe
        for call in calls:
            call.inputs, call.sources, call.users = [], (), []
        note(outputs)


def _notice_early_reads(calls: Sequence[Call]) -> None:
    """A block whose results are read before its backward gains nothing from being put off."""
    differentiated = {id(call.kernel.primal) for call in calls if call.kernel.primal is not None}
    for call in calls:
        origin = call.origin
        if origin is not None and id(call.kernel) not in differentiated:
            origin.early += 1
            if origin.early >= PATIENCE:
                origin.on = False


def _partners(steps: tuple[Any, ...]) -> dict[int, int]:
    """For calls whose backward is among the others: its place."""
    places: dict[Any, int] = {}
    found: dict[int, int] = {}
    for number, (kernel, sources, _) in enumerate(steps):
        primal = kernel.primal
        forward = None if primal is None else places.get((id(primal), sources[: kernel.pulls[2]]))
        if forward is not None and forward not in found:
            found[forward] = number
        places.setdefault((id(kernel), sources), number)
    return found


def _forward_with_pullback(kernel: Kernel, backward: Kernel, values: Sequence[Any]) -> Any:
    """``(results, function of the backward's inputs)``, the forward computed once; None for whole numbers.

    XLA would merge the forward in the backward with the forward, but not where loops are in it.
    """
    wanted, present, arity = backward.pulls
    if any(not jax.numpy.issubdtype(values[index].dtype, np.floating) for index in wanted):
        return None

    def of_wanted(*some: Any) -> tuple[Any, Any]:
        full = list(values)
        for index, value in zip(wanted, some):
            full[index] = value
        results = kernel.fn(*full)
        return tuple(results[index] for index in present), results

    outputs, pull, results = jax.vjp(of_wanted, *(values[index] for index in wanted), has_aux=True)

    def pullback(inputs: Sequence[Any]) -> tuple[Any, ...]:
        heads = tuple([head.astype(output.dtype) for head, output in zip(inputs[arity:], outputs)])
        return tuple([one.astype(values[index].dtype) for index, one in zip(wanted, pull(heads))])

    return results, pullback


def _program(steps: tuple[Any, ...]) -> Callable[..., Any]:
    found = _programs.get(steps)
    if found is None:
        partner = _partners(steps)

        def program(*arrays: Any) -> tuple[Any, ...]:
            table: list[tuple[Any, ...]] = []
            outputs: list[Any] = []
            pullbacks: dict[int, Callable[..., Any]] = {}
            for number, (kernel, sources, alive) in enumerate(steps):
                values = [arrays[one] if type(one) is int else table[one[0]][one[1]] for one in sources]
                if number in pullbacks:
                    results = pullbacks[number](values)
                elif number in partner and (pair := _forward_with_pullback(kernel, steps[partner[number]][0], values)):
                    results, pullbacks[partner[number]] = pair
                else:
                    results = kernel.fn(*values)
                table.append(results)
                outputs.extend(results[index] for index in alive)
            return tuple(outputs)

        found = _programs[steps] = Jitted(program)
        if len(_programs) > _MOST_PROGRAMS:
            _programs.popitem(last=False)
    else:
        _programs.move_to_end(steps)
    return found
