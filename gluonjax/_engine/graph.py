"""Symbolic graphs: nodes that name an operator and its inputs, and graphs as lists of node outputs.

The structure never changes after construction; only a node's attribute texts may be replaced (``set_attr``).
Texts are kept as they were given, so that JSON is faithful; the parsed form is cached beside them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gluonjax._base.errors import MXNetError, OperatorError
from gluonjax._ops.opdef import Attrs, OpDef

# Attributes that describe a variable rather than an operator; MXNet stores them with underscores around them.
HIDDEN_KEYS = ("ctx_group", "lr_mult", "wd_mult", "force_mirroring", "mirror_stage")


class _Hints(threading.local):
    """Whether a trace has looked at the shape of a symbol; then it serves inputs of these shapes only."""

    read = False


hints = _Hints()


class Edits:
    """Counts changes of operator attributes: programs compiled before the last one are not valid."""

    count = 0


edits = Edits()


def is_node_key(key: str) -> bool:
    """True for keys such as ``__lr_mult__``, which belong to the node and never to its operator."""
    return len(key) > 4 and key.startswith("__") and key.endswith("__")


class Node:
    """One operator call or, with ``op`` None, one variable.

    Args:
        op: the operator, or None for a variable.
        name: unique by convention, not by force.
        attrs: attribute texts as given, operator attributes and node keys together.
        inputs: the entries (node, output index) that are read.
        subgraphs: bodies of control-flow operators.
    """

    __slots__ = ("_parsed", "attrs", "hint", "inputs", "name", "op", "subgraphs")

    def __init__(
        self,
        op: OpDef | None,
        name: str,
        attrs: Mapping[str, str] | None = None,
        inputs: Iterable[Entry] = (),
        subgraphs: tuple[Graph, ...] = (),
    ) -> None:
        self.op = op
        self.name = name
        self.attrs: dict[str, str] = dict(attrs or {})
        self.inputs: tuple[Entry, ...] = tuple(inputs)
        self.subgraphs = subgraphs
        self._parsed: Attrs | None = None
        # The shape that a traced block knows for this variable; the source of ``Symbol.shape``.
        self.hint: tuple[int, ...] | None = None

    def __repr__(self) -> str:
        return f"Node({self.op.name if self.op else 'variable'} {self.name!r}, {len(self.inputs)} inputs)"

    @property
    def is_variable(self) -> bool:
        return self.op is None

    @property
    def parsed(self) -> Attrs:
        """The operator's attributes, read and completed with defaults."""
        if self._parsed is None:
            if self.op is None:
                self._parsed = Attrs()
            else:
                # Creation operators carry the context they were made on; a graph runs where it is bound.
                given = {
                    key: text for key, text in self.attrs.items()
                    if not is_node_key(key) and (key != "ctx" or key in self.op.attr_table)
                }  # fmt: skip
                parsed = self.op.parse(given)
                if self.op.variadic is not None and parsed.get(self.op.variadic) is None:
                    parsed[self.op.variadic] = len(self.inputs)
                self._parsed = parsed
        return self._parsed

    @property
    def input_labels(self) -> tuple[str, ...]:
        """What the operator calls its inputs; ``arg0, arg1, ...`` where it takes any number."""
        if self.op is None:
            return ()
        return labels_of(self.op, self.parsed, len(self.inputs))

    @property
    def output_count(self) -> int:
        return 1 if self.op is None else len(self.op.outputs(self.parsed))

    @property
    def visible_count(self) -> int:
        return 1 if self.op is None else self.op.visible(self.parsed)

    @property
    def mutated(self) -> tuple[int, ...]:
        """Positions of the inputs that the operator rewrites."""
        if self.op is None:
            return ()
        return tuple(i for i in self.op.mutates(self.parsed, len(self.inputs)) if i < len(self.inputs))

    def output_name(self, index: int) -> str:
        """``fc1_output``; a variable's output has the variable's name."""
        if self.op is None:
            return self.name
        label = self.op.outputs(self.parsed)[index]
        return f"{self.name}_{label}" if self.name else label

    def set_attr(self, key: str, text: str) -> None:
        """Give an attribute another text. Graphs that share the node see it, as in MXNet."""
        changed = Node(self.op, self.name, {**self.attrs, key: text}, self.inputs, self.subgraphs)
        parsed = changed.parsed  # complains before anything is changed
        self.attrs, self._parsed = changed.attrs, parsed
        if self.op is not None and not is_node_key(key):
            edits.count += 1

    def with_inputs(self, inputs: Iterable[Entry]) -> Node:
        """A copy of this node that reads other entries."""
        copy = Node(self.op, self.name, self.attrs, inputs, self.subgraphs)
        copy._parsed = self._parsed
        copy.hint = self.hint
        return copy


Entry = tuple[Node, int]


def labels_of(op: OpDef, attrs: Attrs, count: int) -> tuple[str, ...]:
    """Names of an operator's inputs for a call with that many of them."""
    names = tuple(op.active_inputs(attrs))
    if op.variadic is not None and (names == op.input_names or len(names) != count):
        return tuple(f"arg{index}" for index in range(count))
    return names


def check_hidden_key(key: str, text: str) -> str:
    """The stored form of an attribute key: ``lr_mult`` -> ``__lr_mult__``.

    Raises MXNetError for the retired spelling ``weight_lr_mult``, which set an attribute of an input
    variable.
    """
    for hidden in HIDDEN_KEYS:
        if key == hidden:
            return f"__{key}__"
        if key.endswith(f"_{hidden}") and not is_node_key(key):
            owner = key[: -len(hidden) - 1]
            raise MXNetError(
                f"setting variable attributes with {key} is deprecated. please instead use\n"
                f"w = Variable({hidden}={text})\nsym = YourSymbolName({owner}=w)"
            )
    return key


class Graph:
    """An ordered list of entries, with what can be said about the nodes behind them (computed once)."""

    __slots__ = ("_arguments", "_auxiliary", "_order", "entries", "programs")

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries: tuple[Entry, ...] = tuple(entries)
        self._order: tuple[Node, ...] | None = None
        self._arguments: tuple[Node, ...] | None = None
        self._auxiliary: tuple[Node, ...] | None = None
        # Lowered and compiled forms, kept by whoever makes them; they live as long as the graph.
        self.programs: dict[Any, Any] = {}

    @property
    def order(self) -> tuple[Node, ...]:
        """Every node once, inputs first: the order in which MXNet visits and writes nodes."""
        if self._order is None:
            self._order = tuple(_topological(self.entries))
        return self._order

    @property
    def variables(self) -> tuple[Node, ...]:
        return tuple(node for node in self.order if node.op is None)

    def _split(self) -> None:
        mutated: set[int] = set()
        for node in self.order:
            for index in node.mutated:
                mutated.add(id(node.inputs[index][0]))
        self._arguments = tuple(node for node in self.variables if id(node) not in mutated)
        self._auxiliary = tuple(node for node in self.variables if id(node) in mutated)

    @property
    def arguments(self) -> tuple[Node, ...]:
        """Variables that are only read."""
        if self._arguments is None:
            self._split()
        return self._arguments  # type: ignore[return-value]

    @property
    def auxiliary(self) -> tuple[Node, ...]:
        """Variables that some operator rewrites."""
        if self._auxiliary is None:
            self._split()
        return self._auxiliary  # type: ignore[return-value]

    @property
    def output_names(self) -> list[str]:
        return [node.output_name(index) for node, index in self.entries]

    def internals(self, hidden: bool = False) -> Graph:
        """Every visible output of every node; with ``hidden``, those that users do not see too."""
        return Graph(
            (node, index)
            for node in self.order
            for index in range(node.output_count if hidden else node.visible_count)
        )

    def children(self) -> Graph | None:
        """The inputs of the nodes behind the entries, each node asked once; None where there are none."""
        seen: set[int] = set()
        found: list[Entry] = []
        for node, _ in self.entries:
            if id(node) not in seen:
                seen.add(id(node))
                found.extend(node.inputs)
        return Graph(found) if found else None

    def copy(self) -> Graph:
        """The same graph on new nodes."""
        return self.rebuild(lambda node, inputs: (node.with_inputs(inputs), None))

    def replace(self, mapping: Mapping[int, Entry]) -> Graph:
        """A graph on new nodes in which variables, named by ``id``, are replaced by entries."""

        def build(node: Node, inputs: list[Entry]) -> tuple[Node, Mapping[int, Entry] | None]:
            entry = mapping.get(id(node))
            return (entry[0], {0: entry}) if entry is not None else (node.with_inputs(inputs), None)

        return self.rebuild(build)

    def rebuild(self, build: Callable[[Node, list[Entry]], tuple[Node, Mapping[int, Entry] | None]]) -> Graph:
        """Rebuild bottom-up; ``build(node, inputs)`` gives a node and where its outputs move, or None."""
        made: dict[int, tuple[Node, Mapping[int, Entry] | None]] = {}

        def moved(entry: Entry) -> Entry:
            node, redirect = made[id(entry[0])]
            return redirect[entry[1]] if redirect is not None else (node, entry[1])

        for node in self.order:
            made[id(node)] = build(node, [moved(entry) for entry in node.inputs])
        return Graph(moved(entry) for entry in self.entries)

    def check(self) -> None:
        """Raise MXNetError for unreadable attributes and for inputs that do not exist."""
        for node in self.order:
            try:
                count = node.output_count
            except OperatorError as error:
                raise type(error)(f"node '{node.name}': {error}") from None
            if not 0 < count:
                raise MXNetError(f"node '{node.name}' ({node.op and node.op.name}) has no outputs")
            for position, (source, index) in enumerate(node.inputs):
                if not 0 <= index < source.output_count:
                    raise MXNetError(
                        f"node '{node.name}': input {position} reads output {index} of '{source.name}', "
                        f"which has {source.output_count}"
                    )


def _topological(entries: Iterable[Entry]) -> Iterable[Node]:
    """Depth first, inputs before users, with a stack of our own (graphs may be tens of thousands deep)."""
    visited: set[int] = set()
    for head, _ in entries:
        if id(head) in visited:
            continue
        visited.add(id(head))
        stack = [(head, iter(head.inputs))]
        while stack:
            node, pending = stack[-1]
            for source, _ in pending:
                if id(source) not in visited:
                    visited.add(id(source))
                    stack.append((source, iter(source.inputs)))
                    break
            else:
                stack.pop()
                yield node
