"""What hybridizing makes of a block: graphs traced from ``hybrid_forward``, compiled and called without Python.

A trace belongs to one structure of arguments, one training mode, and, where ``hybrid_forward`` read a ``.shape``,
one set of input shapes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from gluonjax import symbol as sym
from gluonjax._base.scopes import modes
from gluonjax._engine import graph as _graph
from gluonjax.gluon._errors import ArgumentError
from gluonjax.ndarray import NDArray
from gluonjax.ndarray._cached import CachedGraph, show_internals
from gluonjax.symbol import Symbol

WRONG_INPUTS = (
    "In HybridBlock, there must be one NDArray or one Symbol in the input. Please check the type of the args.\n"
)
# What ``flatten`` returns as the format of so many arrays and no keyword arguments.
ARRAYS = tuple(((0,) * count, ("dict", (), ())) for count in range(9))


def tensors(value: Any) -> Iterator[Any]:
    """All arrays and symbols in nested lists, tuples and dictionaries."""
    if isinstance(value, (NDArray, Symbol)):
        yield value
    elif isinstance(value, (list, tuple)):
        for entry in value:
            yield from tensors(entry)
    elif isinstance(value, dict):
        for entry in value.values():
            yield from tensors(entry)


def kind_of_inputs(value: Any) -> Any:
    """The first array or symbol among the arguments, after checking that they are all of one kind."""
    found = tensors(value)
    first = next(found, None)
    if first is None:
        raise ArgumentError(WRONG_INPUTS)
    symbolic = isinstance(first, Symbol)
    if any(isinstance(other, Symbol) is not symbolic for other in found):
        raise ArgumentError(
            "In HybridBlock, we do not support mixed NDArrays and Symbols types for the input. Please check the type "
            "of the args.\n"
        )
    return first


def check_one_context(leaves: list[Any]) -> None:
    """Refuse arrays of several devices; pinned and shared memory count as the CPU."""
    first = leaves[0]._cell.ctx
    for leaf in leaves:
        if leaf._cell.ctx is not first:
            break
    else:
        return
    contexts = {leaf.context for leaf in leaves}
    if len({(one.device_type.partition("_")[0], one.device_id) for one in contexts}) > 1:
        raise ArgumentError(
            "Find multiple contexts in the input, After hybridized, the HybridBlock only supports one input "
            "context. You can print the ele.ctx in the input arguments to inspect their contexts. "
            f"Find all contexts = {contexts}"
        )


def flatten(value: Any, where: str, plain: bool = False) -> tuple[list[Any], Any]:
    """The tensors of nested containers, and a hashable format to put them back.

    Formats: 0 a tensor, -1 None, n > 0 a symbol with n outputs, a tuple for a list, ("dict", keys, parts), or
    ("value", x, type) for anything else, which becomes part of the structure.

    Args:
        value: nested lists, tuples and dictionaries.
        where: what errors call it.
        plain: numbers and texts are allowed: in keyword arguments and dictionaries, which MXNet does not have here.
    """
    if isinstance(value, NDArray):
        return [value], 0
    if isinstance(value, Symbol):
        count = len(value.list_outputs())
        return [value], count if count > 1 else 0
    if value is None:
        return [], -1
    if isinstance(value, (list, tuple)):
        parts = [flatten(entry, where, plain) for entry in value]
        return [leaf for leaves, _ in parts for leaf in leaves], tuple(form for _, form in parts)
    if isinstance(value, dict):
        parts = [flatten(entry, where, where == "input") for entry in value.values()]
        return [leaf for leaves, _ in parts for leaf in leaves], ("dict", tuple(value), tuple(f for _, f in parts))
    if plain and isinstance(value, (bool, int, float, str, slice, type)):
        # 1, 1.0 and True are equal, but not the same argument.
        return [], ("value", value, type(value))
    raise ArgumentError(
        f"When hybridized, the {where} of HybridBlock must be (nested) list of Symbol or NDArray, but got "
        f"{value} of type {type(value)}"
    )


def regroup(leaves: Any, form: Any) -> Any:
    """Undo ``flatten``; lists stay lists."""
    rest = iter(leaves)

    def build(part: Any) -> Any:
        if isinstance(part, int):
            if part < 0:
                return None
            return [next(rest) for _ in range(part)] if part > 0 else next(rest)
        if part and part[0] == "dict":
            return {key: build(one) for key, one in zip(part[1], part[2])}
        if part and part[0] == "value":
            return part[1]
        return [build(entry) for entry in part]

    return build(form)


class Rewriter(NamedTuple):
    """What changes traced graphs (mixed precision does); traces of equal ``key`` are interchangeable."""

    key: Any
    rewrite: Callable[[Symbol], Symbol]


# The last one is in force.
rewriters: list[Rewriter] = []


class Trace:
    """One traced graph of a block.

    Args:
        inputs: the input variables, one for every tensor among the arguments.
        output: all outputs, grouped.
        out_format: how the outputs are nested.
        by_shape: the trace read input shapes, so it serves only these.
    """

    def __init__(self, inputs: list[Symbol], output: Symbol, out_format: Any, by_shape: bool) -> None:
        self.inputs = inputs
        self.output = output
        self.out_format = out_format
        self.by_shape = by_shape
        # True where the graph cannot be compiled, because shapes in it depend on values; known once prepared.
        self.needs_values = False
        self._cached: CachedGraph | None = None
        self._sources: list[Any] = []

    def prepare(self, block: Any) -> None:
        """Find where every variable of the graph comes from: an argument's position or a parameter."""
        if self._cached is not None:
            return
        name = block.name or type(block).__name__
        cached = CachedGraph(
            self.output._graph, name, block._compilations, [str(variable.name) for variable in self.inputs]
        )
        params = dict(block.collect_params().items())
        position = {str(variable.name): index for index, variable in enumerate(self.inputs)}
        sources: list[Any] = []
        for name in cached.arguments + cached.auxiliary:
            if name in position:
                sources.append(position[name])
            elif name in params:
                sources.append(params[name])
            else:
                raise ArgumentError(
                    f"{block.name}: the graph reads a variable '{name}' that is neither an input "
                    f"({', '.join(position)}) nor a parameter of the block"
                )
        self._sources = sources
        self._cached = cached
        self.needs_values = cached.needs_values
        self._warn_of_unused(params)

    def _warn_of_unused(self, params: dict[str, Any]) -> None:
        used = {source if isinstance(source, int) else source.name for source in self._sources}
        for index in range(len(self.inputs)):
            if index not in used:
                warnings.warn(
                    f"The {index}-th input to HybridBlock is not used by any computation. Is this intended?",
                    stacklevel=7,
                )
        idle = ", ".join(sorted(name for name in params if name not in used))
        if idle:
            warnings.warn(f"Parameter {idle} is not used by any computation. Is this intended?", stacklevel=7)

    def parameters(self) -> list[Any]:
        """The parameters that the graph reads, in its order."""
        return [source for source in self._sources if not isinstance(source, int)]

    def show(self, leaves: list[Any], context: Any, callback: Callable[..., Any], monitor_all: bool) -> None:
        """Call ``callback`` with the results of all operators."""
        assert self._cached is not None
        handles = [leaves[s] if type(s) is int else s.data(context) for s in self._sources]
        show_internals(self._cached, handles, callback, monitor_all)

    def __call__(self, leaves: list[Any], context: Any) -> Any:
        """Run on the tensors among the arguments."""
        handles = [leaves[s] if type(s) is int else s.data(context) for s in self._sources]
        assert self._cached is not None
        outputs = self._cached(handles, type(leaves[0]))
        if self.out_format == (0,):
            return outputs[0]
        return regroup(outputs, self.out_format)[0]


def trace_block(block: Any, args: tuple[Any, ...], kwargs: dict[str, Any], shapes: bool = True) -> Trace:
    """Run ``hybrid_forward`` once with symbols."""
    leaves, form = flatten((args, kwargs), "input")
    if not leaves:
        raise ArgumentError(f"All args are None and we do not support such a case. Received args={args}")
    names = ["data"] if len(leaves) == 1 else [f"data{number}" for number in range(len(leaves))]
    variables = [sym.var(name) for name in names]
    if shapes:
        for variable, leaf in zip(variables, leaves):
            if isinstance(leaf, NDArray):
                variable._graph.entries[0][0].hint = leaf.shape
    symbolic_args, symbolic_kwargs = regroup(variables, form)
    before = _graph.hints.read
    _graph.hints.read = False
    try:
        result = block._run_on_symbols(*symbolic_args, **symbolic_kwargs)
    finally:
        by_shape, _graph.hints.read = _graph.hints.read, before
    outputs, out_format = flatten([result], "output")
    output = sym.Group(outputs)
    if rewriters:
        output = rewriters[-1].rewrite(output)
    return Trace(variables, output, out_format, by_shape)


def operators_on_values(output: Symbol) -> list[str]:
    """Names of the operators whose output shapes depend on values, which cannot be compiled."""
    return sorted({node.op.name for node in output._graph.order if node.op is not None and node.op.host})


def warn_not_compiled(block: Any, trace: Trace) -> None:
    """Say once that a block runs eagerly because of what it contains."""
    names = ", ".join(operators_on_values(trace.output))
    warnings.warn(
        f"{block.name}: runs without compilation, because the output shape of {names} depends on values",
        stacklevel=4,
    )


def mode_key() -> tuple[Any, ...]:
    """The modes that a trace depends on."""
    return modes.training, modes.np_shape, modes.np_array, rewriters[-1].key if rewriters else None
