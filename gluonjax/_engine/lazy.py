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
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax

from gluonjax._base.errors import MXNetError, OperatorError
from gluonjax._engine.inflight import note
from gluonjax._engine.lazy_program import program_of
from gluonjax._engine.takeover import Takeover, protect

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

# After so many equal tapes a loop will go on, and compiling all of it pays.
HOT_AFTER = 24

# Held while calls are launched; whoever looks at a result meanwhile waits for it.
lock = threading.RLock()
# Calls that nobody needed any more leave dead references behind, which are swept now and then.
_waiting: dict[int, weakref.ref[Call]] = {}
_MOST_WAITING = 1024


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

    @property
    def hot(self) -> bool:
        """Whether the loop has repeated itself so often that compiling all of it pays."""
        return self.on and self._repeats >= HOT_AFTER

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
        "__weakref__", "blocks", "inputs", "kernel", "origin", "outputs", "results", "size", "sources", "users",
    )  # fmt: skip

    def __init__(self, kernel: Kernel, inputs: list[Any], sources: Sequence[Call], origin: Origin | None) -> None:
        self.kernel = kernel
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

    @classmethod
    def promise(cls) -> Call:
        """A call that somebody else runs, who holds ``lock`` until it has set the results."""
        return cls(None, [], (), None)  # type: ignore[arg-type]


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


eager = Eager()


def put_off(
    kernel: Kernel, values: Sequence[Any], structs: Sequence[Any], origin: Origin | None = None
) -> tuple[Lazy, ...]:
    """Lazy results of a call; ``structs`` are the shapes and dtypes of its results."""
    inputs: list[Any] = []
    sources: list[Call] = []
    for value in values:
        if type(value) is Lazy:
            source = value.call
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
    call = value.call
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


def _let_read(ends: set[int], calls: Sequence[Call]) -> None:
    """Launch this thread's operators, apart from these calls, that read what ends, given by id.

    They would need a copy of it else. As parts of the same program XLA would make one: nothing orders them.
    """
    related = set(calls)
    for reference in list(_waiting.values()):
        call = reference()
        if call is None or call in related or call.results is not None or call.origin is not eager.origin:
            continue
        if any(id(one) in ends for one in call.inputs) and any(output() is not None for output in call.outputs):
            launch(call)


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


def launch(start: Call, takeover: Takeover | None = None) -> None:
    """Compile (once per structure) and launch a call with everything that hangs together with it.

    Args:
        takeover: the memory that the call's results may have, for an update of arrays that nothing else refers to.
    """
    with lock:
        if start.results is not None:
            return
        calls = _related(start)
        _notice_early_reads(calls)
        position = {call: number for number, call in enumerate(calls)}
        slots: dict[int, int] = {}
        arrays: list[Any] = []
        # The results that come first, in the order of the arguments whose memory they may have.
        front: list[tuple[int, int]] = []
        if takeover is not None:
            if eager.on:
                _let_read({id(start.inputs[place]) for place in takeover.places}, calls)
            front = _make_room(start, takeover, position, slots, arrays)
        donated = len(arrays)
        steps: list[tuple[Kernel, tuple[Any, ...], tuple[int, ...]]] = []
        one: Any
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
            alive = tuple([index for index, output in enumerate(call.outputs) if output() is not None])
            steps.append((call.kernel, tuple(sources), alive))
        program = program_of(tuple(steps), tuple(front), donated)
        one = None
        try:
            with jax.enable_x64(True):
                if donated:
                    protect(arrays, range(donated), program.holders)
                outputs = program(*arrays)
        except MXNetError:
            raise
        except Exception as error:
            raise OperatorError(f"a put-off computation failed: {error}") from error
        for call in calls:
            call.results = [None] * len(call.outputs)
            _waiting.pop(id(call), None)
        for (number, index), value in zip(program.order, outputs):
            calls[number].results[index] = value  # type: ignore[index]
        for call in calls:
            call.inputs, call.sources, call.users = [], (), []
        note(outputs)


def _make_room(
    start: Call, takeover: Takeover, position: dict[Call, int], slots: dict[int, int], arrays: list[Any]
) -> list[tuple[int, int]]:
    """Begin a launch's arguments with the arrays that it takes over; the results that may have their memory."""
    front: list[tuple[int, int]] = []
    for index, place in enumerate(takeover.places):
        one = start.inputs[place]
        if type(one) is not tuple and id(one) not in slots:
            slots[id(one)] = len(arrays)
            arrays.append(one)
            front.append((position[start], index))
    for result, one in zip(takeover.kept, takeover.spent):
        if result.call in position and id(one) not in slots:
            slots[id(one)] = len(arrays)
            arrays.append(one)
            front.append((position[result.call], result.index))
    # From here on the arguments alone hold it.
    takeover.spent.clear()
    return front


def _notice_early_reads(calls: Sequence[Call]) -> None:
    """A block whose results are read before its backward gains nothing from being put off."""
    differentiated = {id(call.kernel.primal) for call in calls if call.kernel.primal is not None}
    for call in calls:
        origin = call.origin
        if origin is not None and id(call.kernel) not in differentiated:
            origin.early += 1
            if origin.early >= PATIENCE:
                origin.on = False
