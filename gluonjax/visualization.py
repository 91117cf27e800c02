"""Pictures and tables of symbols."""

from __future__ import annotations

import collections
import json
import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gluonjax._base.errors import ArgumentTypeError, ShapeUnknownError
from gluonjax._files.atomic import atomic_write
from gluonjax.symbol import Symbol as Symbol

Node = dict[str, Any]

_INCOMPLETE = "Input {0} is incomplete: name the {0} of every input that it cannot be inferred for"
_COLUMNS = ("Layer (type)", "Output Shape", "Param #", "Previous Layer")
# Defaults as MXNet shows them; nobody writes to them.
_POSITIONS = [0.44, 0.64, 0.74, 1.0]
_NO_ATTRIBUTES: dict[str, str] = {}
_PARAMETER_ENDINGS = (
    "_weight", "_bias", "_beta", "_gamma", "_moving_var", "_moving_mean", "_running_var", "_running_mean",
)  # fmt: skip


class _Graph:
    """The nodes of a symbol as its JSON lists them, with what is known of their outputs."""

    def __init__(
        self, symbol: Any, shapes: Mapping[str, Any] | None, types: Mapping[str, Any] | None
    ) -> None:
        if not isinstance(symbol, Symbol):
            raise ArgumentTypeError(f"symbol must be Symbol, got {type(symbol).__name__}")
        content = json.loads(symbol.tojson())
        self.nodes: list[Node] = content["nodes"]
        self.head = content["heads"][0][0]
        self.shapes: dict[str, Any] = {}
        self.types: dict[str, Any] = {}
        internals = symbol.get_internals()
        if shapes is not None:
            _, found, _ = internals.infer_shape(**shapes)
            if found is None:
                raise ShapeUnknownError(_INCOMPLETE.format("shape"))
            self.shapes = dict(zip(internals.list_outputs(), found))
        if types is not None:
            _, kinds, _ = internals.infer_type(**types)
            if kinds is None:
                raise ShapeUnknownError(_INCOMPLETE.format("type"))
            self.types = dict(zip(internals.list_outputs(), kinds))

    def inputs(self, node: Node) -> list[tuple[int, Node]]:
        return [(entry[0], self.nodes[entry[0]]) for entry in node["inputs"]]

    def output(self, node: Node, table: dict[str, Any]) -> Any:
        """What ``table`` says of a node's output; of its last, where it has several that are counted."""
        name = node["name"]
        if node["op"] == "null":
            return table.get(name)
        count = attributes(node).get("num_outputs")
        return table.get(f"{name}_output", table.get(f"{name}_output{int(count) - 1}") if count else None)

    def sizes(self, node: Node) -> list[int]:
        """The output's shape without the batch axis; empty where unknown."""
        shape = self.output(node, self.shapes)
        return [] if shape is None else list(shape)[1:]


def attributes(node: Node) -> dict[str, str]:
    """A node's attributes as text."""
    return node.get("attrs", {})


def print_summary(
    symbol: Any,
    shape: Mapping[str, Sequence[int]] | None = None,
    line_length: int = 120,
    positions: Sequence[float] = _POSITIONS,
) -> None:
    """Print a table of the layers: name and type, output shape, number of parameters, inputs.

    Args:
        symbol: the graph.
        shape: name -> shape of the inputs; without it, shapes and most numbers of parameters are unknown.
        line_length: of the table.
        positions: where the columns end, as parts of the line or in characters.
    """
    graph = _Graph(symbol, shape, None)
    ends = (
        [int(line_length * end) for end in positions]
        if positions[-1] <= 1
        else [int(end) for end in positions]
    )
    rows = [
        node
        for number, node in enumerate(graph.nodes)
        # MXNet lists the first variable, the input as a rule, and no other.
        if node["op"] != "null" or number == 0
    ]
    print("_" * line_length)
    _print_row(_COLUMNS, ends)
    print("=" * line_length)
    total = 0
    for node in rows:
        count = _count_parameters(graph, node)
        total += count
        before = [
            source["name"]
            for number, source in graph.inputs(node)
            if source["op"] != "null" or number in (0, graph.head)
        ]
        sizes = "x".join(map(str, graph.sizes(node)))
        _print_row((f"{node['name']}({node['op']})", sizes, count, before[0] if before else ""), ends)
        for name in before[1:]:
            _print_row(("", "", "", name), ends)
        print(("=" if node is graph.nodes[-1] else "_") * line_length)
    print(f"Total params: {total}")
    print("_" * line_length)


def _print_row(fields: Sequence[Any], ends: Sequence[int]) -> None:
    line = ""
    for field, end in zip(fields, ends):
        line = f"{line}{field}"[:end].ljust(end)
    print(line)


def _count_parameters(graph: _Graph, node: Node) -> int:
    rule = _COUNTS.get(node["op"])
    if rule is None:
        return 0
    channels = sum(
        int((graph.sizes(source) or [0])[0])
        for number, source in graph.inputs(node)
        if source["op"] != "null" or number in (0, graph.head)
    )
    return rule(attributes(node), channels, graph.sizes(node))


Count = Callable[[dict[str, str], int, list[int]], int]


def _has_bias(attrs: dict[str, str]) -> bool:
    return attrs.get("no_bias") not in ("True", "1", "true")


def _convolution_count(attrs: dict[str, str], channels: int, _: list[int]) -> int:
    filters = int(attrs["num_filter"])
    weights = (
        channels
        * filters
        // int(attrs.get("num_group", "1"))
        * math.prod(map(int, _numbers(attrs["kernel"])))
    )
    return weights + (filters if _has_bias(attrs) else 0)


_COUNTS: dict[str, Count] = {
    "Convolution": _convolution_count,
    "FullyConnected": lambda attrs, channels, _: (channels + _has_bias(attrs)) * int(attrs["num_hidden"]),
    "BatchNorm": lambda attrs, channels, sizes: 2 * sizes[0] if sizes else 0,
    "Embedding": lambda attrs, channels, _: int(attrs["input_dim"]) * int(attrs["output_dim"]),
}


def _numbers(text: str) -> list[str]:
    return re.findall(r"\d+", text)


def _window(attrs: dict[str, str], default: str) -> str:
    kernel = "x".join(_numbers(attrs["kernel"])) if "kernel" in attrs else default
    stride = "x".join(_numbers(attrs["stride"])) if "stride" in attrs else "1"
    return f"{kernel}/{stride}"


_COLOURS = ("#8dd3c7", "#fb8072", "#ffffb3", "#bebada", "#80b1d3", "#fdb462", "#b3de69", "#fccde5")
Label = Callable[[str, dict[str, str]], str]
# Operator -> colour, and text after the node's name where it says more.
_STYLES: dict[str, tuple[int, Label | None]] = {
    "Convolution": (1, lambda name, attrs: f"Convolution\n{_window(attrs, '')}, {attrs['num_filter']}"),
    "FullyConnected": (1, lambda name, attrs: f"FullyConnected\n{attrs['num_hidden']}"),
    "BatchNorm": (3, None),
    "Activation": (2, lambda name, attrs: f"Activation\n{attrs['act_type']}"),
    "LeakyReLU": (2, lambda name, attrs: f"LeakyReLU\n{attrs.get('act_type', 'Leaky')}"),
    "Pooling": (4, lambda name, attrs: f"Pooling\n{attrs.get('pool_type', 'max')}, {_window(attrs, '[]')}"),
    "Concat": (5, None),
    "Flatten": (5, None),
    "Reshape": (5, None),
    "Softmax": (6, None),
    "Custom": (7, lambda name, attrs: attrs["op_type"]),
}


class DotText:
    """What is used of ``graphviz.Digraph``, without the package: makes the text, cannot draw it."""

    def __init__(self, name: str, format: str) -> None:
        self.name, self.format = name, format
        self._lines: list[str] = []

    def node(self, name: str, label: str, **attributes: str) -> None:
        """Add a node."""
        self._lines.append(f"\t{_quoted(name)} [{_attributes(label=label, **attributes)}]")

    def edge(self, tail: str, head: str, **attributes: str) -> None:
        """Add an edge."""
        self._lines.append(f"\t{_quoted(tail)} -> {_quoted(head)} [{_attributes(**attributes)}]")

    @property
    def source(self) -> str:
        """The graph in the DOT language."""
        return "\n".join([f"digraph {_quoted(self.name)} {{", *self._lines, "}", ""])

    def __str__(self) -> str:
        return self.source

    def save(self, filename: str | None = None) -> str:
        """Write the text to a file (``<name>.gv``) and return its path."""
        path = filename or f"{self.name}.gv"
        atomic_write(path, self.source.encode())
        return path

    def render(self, filename: str | None = None, **_: Any) -> str:
        """Write the text; a picture needs the graphviz package."""
        path = self.save(filename)
        warnings.warn(
            f"plot_network: wrote {path}; for a {self.format} picture pip install graphviz, or run: "
            f"dot -T{self.format} -O {path}",
            stacklevel=2,
        )
        return path

    view = render


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _attributes(**attributes: str) -> str:
    return " ".join(f"{name}={_quoted(value)}" for name, value in attributes.items())


def _digraph_class() -> Any:
    try:
        from graphviz import Digraph
    except ImportError:
        return DotText
    return Digraph


def plot_network(
    symbol: Any,
    title: str = "plot",
    save_format: str = "pdf",
    shape: Mapping[str, Sequence[int]] | None = None,
    dtype: Mapping[str, Any] | None = None,
    node_attrs: Mapping[str, str] = _NO_ATTRIBUTES,
    hide_weights: bool = True,
) -> Any:
    """Return a ``graphviz.Digraph`` of the graph, or, without the graphviz package, its text as a ``DotText``.

    Args:
        symbol: the graph.
        title: the picture's name.
        save_format: what ``render`` writes: pdf, png, ...
        shape: name -> shape of inputs; edges are labelled with shapes then.
        dtype: name -> type of inputs; edges are labelled with types then.
        node_attrs: Graphviz attributes for all nodes.
        hide_weights: leave out weights, biases and the like.
    """
    graph = _Graph(symbol, shape, dtype)
    counts = collections.Counter(node["name"] for node in graph.nodes)
    repeated = ",".join(name for name, count in counts.items() if count > 1)
    if repeated:
        warnings.warn(
            "There are multiple variables with the same name in your graph, this may result in cyclic graph. "
            f"Repeated names: {repeated}",
            RuntimeWarning,
            stacklevel=2,
        )
    base = {"shape": "box", "fixedsize": "true", "width": "1.3", "height": "0.8034", "style": "filled"}
    base.update(node_attrs)
    picture = _digraph_class()(name=title, format=save_format)
    hidden: set[str] = set()
    for node in graph.nodes:
        name = node["name"]
        if node["op"] == "null" and name.endswith(_PARAMETER_ENDINGS):
            if hide_weights:
                hidden.add(name)
            continue
        label, style = _appearance(node)
        picture.node(name=name, label=label, **{**base, **style})
    for node in graph.nodes:
        if node["op"] == "null":
            continue
        for _, source in graph.inputs(node)[: 1 if node["op"] == "_contrib_BilinearResize2D" else None]:
            if source["name"] not in hidden:
                label = _edge_label(graph, source)
                picture.edge(node["name"], source["name"], dir="back", arrowtail="open", label=label)
    return picture


def _appearance(node: Node) -> tuple[str, dict[str, str]]:
    name, op = node["name"], node["op"]
    if op == "null":
        return name, {"shape": "oval", "fillcolor": _COLOURS[0]}
    colour, label = _STYLES.get(op, (7, None))
    return label(name, attributes(node)) if label else name, {"fillcolor": _COLOURS[colour]}


def _edge_label(graph: _Graph, source: Node) -> str:
    text = "x".join(map(str, graph.sizes(source)))
    kind = graph.output(source, graph.types)
    return f"{text}({getattr(kind, '__name__', kind)})" if kind is not None else text
