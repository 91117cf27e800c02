"""``mx.jit``: a whole training step, written as ordinary imperative code, as one compiled program.

The function runs twice on traced values when it is called with something new: once to see which memory it reads and
writes (``ndarray/_capture.py``), once to make the program from that memory's old content to its new content. From then
on a call collects arrays, launches the program, and puts the results into place; no Python of the function runs.
"""

from __future__ import annotations

import functools
import gc
import os
import threading
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.extend
import numpy as np

from gluonjax._base.errors import MXNetError, TracedValueError
from gluonjax._base.scopes import epoch, modes
from gluonjax._engine import inflight
from gluonjax._engine.compile import Jitted
from gluonjax._engine.lazy import Lazy, force
from gluonjax._engine.run import is_tracer
from gluonjax.ndarray._capture import Capture, placeholder
from gluonjax.ndarray._cell import Cell
from gluonjax.ndarray._in_place import taking_over
from gluonjax.ndarray._returning import Returning
from gluonjax.ndarray.ndarray import NDArray

HERE = os.path.dirname(os.path.abspath(__file__))
# So many versions of one function are compiled before a warning says that they are many.
MANY_VERSIONS = 8
NOT_KEPT = (
    "this gradient was used up by the update inside of a function compiled with mx.jit and was not kept. Return it "
    "from the function, or compile with mx.jit(..., keep_gradients=True)"
)


class _AlwaysReported(inflight.Fault):
    """A fault that raises at every read."""

    __slots__ = ()
    reported = property(lambda self: False, lambda self, value: None)  # type: ignore[assignment]


def jit(function: Callable[..., Any] | None = None, *, keep_gradients: bool = False) -> Any:
    """Compile a function over NDArrays into one program: forward, backward, update, whatever it contains.

    Use it as ``@mx.jit``. Nothing has to be declared: parameters, gradients, optimizer states, moving averages and
    random numbers that the function meets are found by running it on traced values. Memory that is replaced (weights,
    states) is donated to the program, unless something else still refers to it.

    NDArray arguments are data; a call with other shapes or dtypes compiles a new version. Other arguments are
    constants of a version. The Python code runs only when a version is made, so what it does beside computing with
    arrays (printing, counting, appending) happens then and not at later calls. Metrics may be updated inside: that is
    done after every call. Values cannot be read inside (``asnumpy``, ``float``, ``if loss > 1``).

    Args:
        function: what to compile.
        keep_gradients: whether ``parameter.grad()`` can be read after a call that contains the update. Without it
            the gradients are never written to memory.

    Returns:
        A callable with the function's signature. Inside of ``autograd.record`` it runs the function as it is.

    Raises:
        MXNetError: where the function cannot be traced, with the line that is in the way and what to do.

    >>> from gluonjax import autograd, gluon, nd
    >>> net = gluon.nn.Dense(1, in_units=2); net.initialize(init="ones")
    >>> trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> @jit
    ... def step(x):
    ...     with autograd.record():
    ...         loss = net(x).sum()
    ...     loss.backward()
    ...     trainer.step(1)
    ...     return loss
    >>> step(nd.ones((1, 2))).asscalar().item(), step(nd.ones((1, 2))).asscalar().item()
    (2.0, 0.5)
    """
    if function is None:
        return functools.partial(jit, keep_gradients=keep_gradients)
    return CompiledFunction(function, keep_gradients)


class CompiledFunction:
    """What ``mx.jit`` returns. ``versions`` counts the programs compiled so far."""

    def __init__(self, function: Callable[..., Any], keep_gradients: bool) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._keep_gradients = keep_gradients
        self._programs: dict[Any, _Program] = {}
        self._lock = threading.RLock()
        self.versions = 0

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, structure = jax.tree_util.tree_flatten((args, kwargs))
        arrays = [leaf for leaf in leaves if isinstance(leaf, NDArray)]
        if modes.tracer is not None or modes.recording or any([is_tracer(array._cell.value) for array in arrays]):
            return self._function(*args, **kwargs)
        cells, layout = _cells_of(arrays)
        constants = tuple([_constant(leaf, self) for leaf in leaves if not isinstance(leaf, NDArray)])
        key = (structure, constants, layout, modes.training, modes.np_shape, modes.np_array)
        program = self._programs.get(key)
        if program is not None and program.is_current():
            outcome = program.run(cells)
            if outcome is not _STALE:
                return outcome
        with self._lock:
            program = self._programs[key] = self._compile(args, kwargs, cells, arrays)
            self._count(key)
            return program.run(cells)

    def _compile(
        self, args: Any, kwargs: Any, cells: Sequence[Cell], arrays: Sequence[NDArray]
    ) -> _Program:  # fmt: skip
        call = functools.partial(self._function, *args, **kwargs)
        name = getattr(self._function, "__name__", "function")
        try:
            return _Program(call, name, cells, arrays, self._keep_gradients)
        except (TracedValueError, jax.errors.ConcretizationTypeError) as error:
            raise TracedValueError(
                f"mx.jit: {name} cannot be compiled as it is: {_user_line(error)} needs a value, and while the "
                "function is compiled there are only stand-ins. Read values after the call (return them), and write "
                "conditions on values as nd.where or nd.contrib.cond, loops as nd.contrib.foreach or while_loop. "
                f"({error})"
            ) from error

    def _count(self, key: Any) -> None:
        self.versions += 1
        if self.versions == MANY_VERSIONS:
            keys = list(self._programs)
            what = "constants" if len({one[1] for one in keys}) > len({one[2] for one in keys}) else "shapes or dtypes"
            warnings.warn(
                f"mx.jit: {self.versions} versions of {getattr(self._function, '__name__', 'a function')} have been "
                f"compiled, because the {what} of its arguments keep changing; each takes time and memory. The last "
                f"call had {key[1] if what == 'constants' else [one[0] for one in key[2]]}. Pass changing numbers as "
                "NDArrays, and pad data to a few shapes.",
                stacklevel=4,
            )


_STALE = object()


def _cells_of(arrays: Sequence[NDArray]) -> tuple[list[Cell], tuple[Any, ...]]:
    """The memory of the arguments and of their gradients, and what a program takes for granted about it."""
    cells: list[Cell] = []
    layout: list[Any] = []
    for array in arrays:
        cell = array._cell
        value = cell.value
        leaf = array._leaf
        layout.append((value.shape, value.dtype, array._view, cell.ctx, type(array), leaf and leaf.req))
        cells.append(cell)
        if leaf is not None and leaf.buffer is not None:
            cells.append(leaf.buffer._cell)
    if len(cells) > 1 and len(set(cells)) < len(cells):
        first = {}
        layout.append(tuple([first.setdefault(cell, number) for number, cell in enumerate(cells)]))
    return cells, tuple(layout)


def _constant(leaf: Any, who: CompiledFunction) -> Any:
    """A key for an argument that is no NDArray."""
    if isinstance(leaf, (np.ndarray, jax.Array)):
        raise MXNetError(
            f"mx.jit: {getattr(who._function, '__name__', 'the function')} got a {type(leaf).__name__} of shape "
            f"{leaf.shape}; arrays have to be NDArrays (nd.array(...)), so that they are data and no constants"
        )
    try:
        hash(leaf)
    except TypeError:
        return (type(leaf), id(leaf))
    return (type(leaf), leaf)


def _user_line(error: BaseException) -> str:
    """The innermost line outside of this package and JAX, as text."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = (HERE, os.path.dirname(os.path.abspath(jax.__file__)))
    for frame in reversed(frames):
        if not frame.filename.startswith(inside):
            return f"line {frame.lineno} of {frame.filename}, `{frame.line}`,"
    return "it"


_PENDING = frozenset([Lazy, inflight.Failed])


def _source(cell: Cell, places: dict[Cell, int]) -> Any:
    """Where to find a cell at a later call: the number of an argument, or the cell itself."""
    return places.get(cell, cell)


def _used(jaxpr: Any) -> list[bool]:
    """For every input of a jaxpr, whether anything depends on it."""
    users = {id(one) for equation in jaxpr.eqns for one in equation.invars} | {id(one) for one in jaxpr.outvars}
    return [id(one) in users for one in jaxpr.invars]


class _Nest:
    """A nest with arrays, to be built anew from the results of a call."""

    def __init__(self, value: Any, results: _Results) -> None:
        leaves, self._structure = jax.tree_util.tree_flatten(value)
        self._leaves = [results.describe(leaf) for leaf in leaves]

    def build(self, own: Sequence[Any], cells: Sequence[Cell], made: dict[int, Cell]) -> Any:
        """The nest; ``made`` remembers new cells, which several arrays may share."""
        built = []
        for kind, content, cls, ctx, view in self._leaves:
            if kind == "constant":
                built.append(content)
                continue
            if kind == "argument":
                cell = cells[content]
            else:
                cell = made.get(content)
                if cell is None:
                    cell = made[content] = Cell(own[content], ctx)
            handle = cls.__new__(cls)
            handle._cell, handle._view, handle._own = cell, view, None
            built.append(handle)
        return jax.tree_util.tree_unflatten(self._structure, built)


class _Results:
    """What a traced run gives: new contents of memory, then new arrays."""

    def __init__(self, capture: Capture, returned: Any, places: dict[Cell, int]) -> None:
        self._capture = capture
        self._places = places
        self.cells = list(capture.written)
        self.values = [capture.values[cell] for cell in self.cells]
        self._numbers: dict[Cell, int] = {}
        # Memory that somebody gets a handle on.
        self.needed: set[Cell] = set()
        self.returned = _Nest(returned, self)
        self.afterwards = [(function, _Nest(arguments, self)) for function, arguments in capture.afterwards]

    def describe(self, leaf: Any) -> tuple[Any, ...]:
        """``(kind, content, class, context, view)`` of one leaf."""
        if not isinstance(leaf, NDArray):
            return ("constant", leaf, None, None, None)
        cell = leaf._cell
        if cell not in self._capture.created:
            self.needed.add(cell)
            if cell not in self._places:
                return ("constant", leaf, None, None, None)
            return ("argument", self._places[cell], type(leaf), cell.ctx, leaf._view)
        number = self._numbers.get(cell)
        if number is None:
            number = self._numbers[cell] = len(self._numbers)
            self.values.append(cell.value)
        return ("result", number, type(leaf), cell.ctx, leaf._view)


class _Program:
    """One version: where its inputs come from, the compiled function, where its results go."""

    def __init__(
        self, call: Callable[[], Any], name: str, cells: Sequence[Cell], arrays: Sequence[NDArray], keep: bool
    ) -> None:  # fmt: skip
        places = {cell: number for number, cell in reversed(list(enumerate(cells)))}
        first = self._look_around(call)
        read_count = len(first.reads)
        structs = [jax.ShapeDtypeStruct(cell.value.shape, cell.value.dtype) for cell in first.reads]
        structs += [host.struct for host in first.hosts]
        found: list[Any] = []

        def traced(*values: Any) -> list[Any]:
            reads, hosts = values[:read_count], values[read_count:]

            def lift(kind: str, number: int, value: Any) -> Any:
                given = reads if kind == "cell" else hosts
                if number >= len(given) or given[number].shape != value.shape:
                    raise MXNetError(f"mx.jit: {name} did something else when it ran a second time")
                return given[number]

            capture = Capture(lift)
            with capture.running():
                returned = call()
                made = _Results(capture, returned, places)
            found[:] = [capture, made]
            return made.values

        with jax.enable_x64(True):
            closed = jax.make_jaxpr(traced)(*structs)
        capture, made = found
        self.capture_hosts = [host.make for host in capture.hosts]
        self._guards = capture.guards
        self._afterwards = made.afterwards
        self._returned = made.returned
        self._fresh = [(leaf, leaf.fresh) for leaf in capture.leaves]
        used = _used(closed.jaxpr)
        needed = made.needed.union(cell for cell, is_used in zip(capture.reads, used) if is_used)
        # Where the gradients are that are not kept, and what stands in their place.
        self._dropped: list[tuple[Any, inflight.Failed]] = []
        kept = []
        for number, cell in enumerate(made.cells):
            if not keep and cell in capture.consumed and cell not in needed:
                value, fault = made.values[number], _AlwaysReported(MXNetError(NOT_KEPT))
                self._dropped.append((_source(cell, places), inflight.Failed(value.shape, value.dtype, fault)))
            else:
                kept.append(number)
        self._targets = [_source(made.cells[number], places) for number in kept]
        results = [*kept, *range(len(made.cells), len(made.values))]
        inputs = [number for number, is_used in enumerate(used) if is_used]
        self._reads = [_source(capture.reads[n], places) for n in inputs if n < read_count]
        self._expected = [(structs[n].shape, structs[n].dtype) for n in inputs if n < read_count]
        self._hosts = [n - read_count for n in inputs if n >= read_count]
        written = {made.cells[number] for number in kept}
        of_cells = enumerate(inputs[: len(self._reads)])
        self._donated = tuple([place for place, number in of_cells if capture.reads[number] in written])
        evaluate = jax.extend.core.jaxpr_as_fun(closed)
        fill = [np.zeros(struct.shape, struct.dtype) if not is_used else None for struct, is_used in zip(structs, used)]

        def program(*values: Any) -> list[Any]:
            full = list(fill)
            for number, value in zip(inputs, values):
                full[number] = value
            outputs = evaluate(*full)
            chosen = [outputs[number] for number in results]
            # Waiting for the launch needs a result that no later call is given for good.
            return chosen if len(results) > len(kept) else [*chosen, jax.numpy.zeros((), np.int8)]

        program.__name__ = name
        self._compiled = Jitted(program, donate=self._donated)
        self._returning = Returning()
        self._epoch = epoch.number

    @staticmethod
    def _look_around(call: Callable[[], Any]) -> Capture:
        """Run once on stand-ins; refuse functions that leave traced arrays behind."""
        capture = Capture(placeholder)

        def nothing() -> list[Any]:
            with capture.running():
                returned = call()
                wanted = jax.tree_util.tree_leaves((returned, [arguments for _, arguments in capture.afterwards]))
                kept = {id(array._cell) for array in wanted if isinstance(array, NDArray)}

            def left() -> list[Cell]:
                return [cell for cell in capture.created if id(cell) not in kept and is_tracer(cell.value)]

            if left():
                gc.collect()  # what only cycles hold is no leak
                for cell in left():
                    raise MXNetError(
                        f"mx.jit: an array of shape {cell.value.shape} that the function computes is still held "
                        "outside after it has returned (in a global, an attribute or a list). Later calls run no "
                        "Python and would not renew it: return it, or write it in place into an array made before "
                        "(a[:] = ...)"
                    )
            return []

        with jax.enable_x64(True):
            jax.eval_shape(nothing)
        return capture

    def is_current(self) -> bool:
        """Whether what the program takes for granted still holds."""
        if self._epoch != epoch.number:
            return False
        for look, value in self._guards:
            if look() != value:
                return False
        return True

    def run(self, cells: Sequence[Cell]) -> Any:
        """Launch on the memory as it is now; ``_STALE`` where its shapes are no longer those of this version."""
        values: list[Any] = []
        memory = [cells[source] if type(source) is int else source for source in self._reads]
        for cell, (shape, dtype) in zip(memory, self._expected):
            value = cell.value
            if type(value) in _PENDING:
                value = inflight.wait(force(value))
            if value.shape != shape or value.dtype != dtype:
                return _STALE
            values.append(value)
        if np.ndarray in map(type, values):
            self._returning.upload(values, memory)
        value = None
        hosts = [make() for make in self.capture_hosts]
        values += [hosts[number] for number in self._hosts]
        with taking_over([memory[place] for place in self._donated], values, self._donated):
            results = self._compiled(*values)
            for target, value in zip(self._targets, results):
                cell = cells[target] if type(target) is int else target
                cell.value = value
                cell.version += 1
        inflight.note(results)
        for target, stand_in in self._dropped:
            (cells[target] if type(target) is int else target).replace(stand_in)
        for leaf, fresh in self._fresh:
            leaf.fresh = fresh
        return self._deliver(results, cells)

    def _deliver(self, results: Sequence[Any], cells: Sequence[Cell]) -> Any:
        own = results[len(self._targets) :]
        made: dict[int, Cell] = {}
        for function, arguments in self._afterwards:
            function(*arguments.build(own, cells, made))
        return self._returned.build(own, cells, made)
