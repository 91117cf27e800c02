"""Building symbols: the handle on a graph, how operators are given inputs, how attributes become text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gluonjax._base.errors import ArgumentTypeError, MXNetError, OperatorError
from gluonjax._base.scopes import modes
from gluonjax._engine.graph import Entry, Graph, Node, check_hidden_key, is_node_key, labels_of
from gluonjax._engine.graph_json import set_variable_attrs, variable_name
from gluonjax._ops.opdef import OpDef
from gluonjax.attribute import AttrScope
from gluonjax.name import NameManager


class SymbolBase:
    """A handle on a graph. ``Symbol`` adds everything else.

    Args:
        handle: the graph.
    """

    __slots__ = ("__weakref__", "_graph")

    def __init__(self, handle: Graph) -> None:
        self._graph = handle

    def _compose(self, *args: SymbolBase, name: str | None = None, **kwargs: SymbolBase) -> None:
        """Replace variables of this symbol by outputs of other symbols, in place.

        Args:
            args: not accepted for composed symbols; MXNet wants variables to be named.
            name: a new name for the node behind the first output.
            kwargs: symbols by the name of the variable that they replace.
        """
        if args and kwargs:
            raise ArgumentTypeError(
                "compose only accept input Symbols either as positional or keyword arguments, not both"
            )
        for value in (*args, *kwargs.values()):
            if not isinstance(value, SymbolBase):
                raise ArgumentTypeError("Compose expect `Symbol` as arguments")
        if args and self._graph.entries[0][0].op is not None:
            raise MXNetError(
                "General composition only support kwargs for now: write net(data=other), with the name of "
                "the "
                "variable that is replaced"
            )
        mapping: dict[int, Entry] = {}
        matched = set()
        for node in self._graph.variables:
            if node.name in kwargs:
                mapping[id(node)] = single_entry(kwargs[node.name], f"Keyword Argument {node.name}")
                matched.add(node.name)
        if len(matched) != len(kwargs):
            raise _mismatch(kwargs, [node.name for node in self._graph.variables])
        old_head = self._graph.entries[0][0]
        self._graph = self._graph.replace(mapping)
        if name and id(old_head) not in mapping:
            self._graph.entries[0][0].name = name


def single_entry(symbol: SymbolBase, what: str) -> Entry:
    entries = symbol._graph.entries
    if len(entries) != 1:
        raise MXNetError(
            f"{what} is a tuple of {len(entries)}, single value is required: take one, e.g. symbol[0]"
        )
    return entries[0]


def _mismatch(given: Mapping[str, Any], candidates: Sequence[str]) -> MXNetError:
    wrong = next((key for key in given if key not in candidates), next(iter(given)))
    listed = "".join(f"\t[{i}]{name}\n" for i, name in enumerate(candidates))
    return OperatorError(
        f"Symbol.ComposeKeyword argument name {wrong} not found.\nCandidate arguments:\n{listed}"
    )


def attr_text(value: Any) -> str:
    """An attribute's value as the text that MXNet stores.

    >>> attr_text((2, np.int64(3))), attr_text([1]), attr_text(1e-05), attr_text(None)
    ('(2, 3)', '[1]', '1e-05', 'None')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, np.ndarray):
        value = tuple(value.reshape(-1).tolist())
    if isinstance(value, (tuple, list)):
        inner = [repr(item) if isinstance(item, str) else attr_text(item) for item in value]
        if isinstance(value, list):
            return "[" + ", ".join(inner) + "]"
        return "(" + ", ".join(inner) + (",)" if len(inner) == 1 else ")")
    if isinstance(value, np.bool_):
        return str(bool(value))
    return str(value)


def dtype_text(value: Any) -> str:
    """A data type as text; a type code stays a number. MXNet reads None as NumPy does: float64."""
    if isinstance(value, (str, int)):
        return str(value)
    return np.dtype(value).name


def create(
    op: OpDef,
    hint: str,
    args: Sequence[SymbolBase],
    inputs: Mapping[str, SymbolBase],
    attrs: Mapping[str, Any],
    name: str | None,
    attr: Mapping[str, str] | None,
    cls: type[Any],
    subgraphs: tuple[Graph, ...] = (),
) -> Any:
    """A new operator node as a symbol.

    Args:
        op: the operator.
        hint: what an automatic name begins with.
        args: inputs by position (operators that take any number).
        inputs: inputs by name.
        attrs: operator attributes and node keys, as the user wrote them.
        name: the node's name, or None for an automatic one.
        attr: node attributes; those of the attribute scope are added.
        cls: the class of the result.
        subgraphs: bodies of control-flow operators.
    """
    label: str = NameManager.in_force().get(
        name, hint
    )  # before anything can fail: failed calls use up a number, too
    texts: dict[str, str] = {}
    for key, value in {**attrs, **AttrScope.in_force().get(dict(attr) if attr else None)}.items():
        if key == "dtype":
            if value is None and op.name.startswith("_np"):
                continue
            text = dtype_text(value)
        else:
            text = attr_text(value)
        texts[key if key in op.attr_table else check_hidden_key(key, text)] = text
    if op.variadic is not None and op.variadic not in texts:
        texts[op.variadic] = str(len(args) + len(inputs))
    node = Node(op, label, texts, (), subgraphs)
    parsed = node.parsed
    count = len(args)
    if op.variadic is not None:
        declared = parsed.get(op.variadic)
        count = max(count + len(inputs), declared if isinstance(declared, int) and not inputs else 0)
        names = labels_of(op, parsed, count)
        if tuple(op.active_inputs(parsed)) != op.input_names:
            names = tuple(op.active_inputs(parsed))
    else:
        names = tuple(op.active_inputs(parsed))
        if len(args) > len(names):
            raise OperatorError(f"{op.name}: takes {len(names)} inputs ({', '.join(names)}), got {len(args)}")
    entries = [single_entry(symbol, f"Argument {i}") for i, symbol in enumerate(args)]
    used = 0
    for wanted in names[len(entries) :]:
        given = inputs.get(wanted)
        if given is not None:
            entries.append(single_entry(given, f"Keyword Argument {wanted}"))
            used += 1
        else:
            # MXNet copies all attributes of the operator onto variables that it makes.
            entries.append((Node(None, variable_name(node.name, wanted), node.attrs), 0))
    if used != len(inputs):
        raise _mismatch(inputs, names[len(args) :])
    node.inputs = tuple(entries)
    for index in node.mutated:
        if entries[index][0].op is not None:
            raise MXNetError(
                f"{op.name}: input '{node.input_labels[index]}' is rewritten by the operator, so it has to "
                f"be a "
                f"variable, not the output of '{entries[index][0].name}' (Mutation target can only be "
                f"Variable)"
            )
    set_variable_attrs(node)
    return cls(Graph((node, index) for index in range(op.visible(parsed))))


def group(symbols: Iterable[SymbolBase], cls: type[Any]) -> Any:
    """All outputs of several symbols as one symbol."""
    return cls(Graph(entry for symbol in symbols for entry in symbol._graph.entries))


def remove_casts(graph: Graph) -> Graph:
    """The graph without the casts that automatic mixed precision inserted."""
    if not any(node.op is not None and node.op.name in ("amp_cast", "amp_multicast") for node in graph.order):
        return graph

    def build(node: Node, inputs: list[Entry]) -> tuple[Node, Mapping[int, Entry] | None]:
        if node.op is not None and node.op.name in ("amp_cast", "amp_multicast"):
            return node, dict(enumerate(inputs))
        return node.with_inputs(inputs), None

    return graph.rebuild(build)


def np_shape_on() -> bool:
    return modes.np_shape


__all__ = [
    "SymbolBase", "attr_text", "create", "dtype_text", "group", "is_node_key", "np_shape_on", "remove_casts",
    "single_entry",
]  # fmt: skip
