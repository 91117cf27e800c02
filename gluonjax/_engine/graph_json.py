"""The symbol file format: writes what MXNet 1.9.1 writes, reads every generation since 0.8.

A file is a JSON object with ``nodes`` (inputs before users), ``arg_nodes``, ``node_row_ptr`` (running
count of
outputs), ``heads`` and ``attrs``. Layout details (spaces after commas, when a list goes over several
lines) follow
MXNet's writer, so that files can be compared byte by byte.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gluonjax._base.errors import MXNetError, did_you_mean
from gluonjax._engine.graph import HIDDEN_KEYS, Entry, Graph, Node, is_node_key, labels_of
from gluonjax._ops import registry
from gluonjax._ops.opdef import Attrs

VERSION = 10901
_LONG_LIST = 10  # longer lists of numbers are written one entry a line


def write(graph: Graph, np_shape: bool = False) -> str:
    """The JSON text of a graph."""
    body = _graph_object(graph)
    attrs = {"is_np_shape": ["int", 1]} if np_shape else {}
    body["attrs"] = {**attrs, "mxnet_version": ["int", VERSION]}
    return _show(body, 0)


def _graph_object(graph: Graph) -> dict[str, Any]:
    position = {id(node): index for index, node in enumerate(graph.order)}
    # A variable's version counts the operators that rewrite it; readers after the n-th see version n.
    version: dict[int, int] = {}
    nodes: list[dict[str, Any]] = []
    row_ptr = [0]
    for node in graph.order:
        for index in node.mutated:
            source = id(node.inputs[index][0])
            version[source] = version.get(source, 0) + 1
        if node.op is not None and registry.find(node.op.name) is not node.op:
            raise MXNetError(
                f"'{node.name}' calls the Python function {node.op.name}, which a symbol file cannot hold; take it out "
                "of the block, or save the parameters alone"
            )
        entry: dict[str, Any] = {"op": node.op.name if node.op else "null", "name": node.name}
        if node.attrs:
            entry["attrs"] = dict(sorted(node.attrs.items()))
        entry["inputs"] = [[position[id(s)], i, version.get(id(s), 0)] for s, i in node.inputs]
        if node.subgraphs:
            entry["subgraphs"] = _Lines(_graph_object(sub) for sub in node.subgraphs)
        nodes.append(entry)
        row_ptr.append(row_ptr[-1] + _outputs_in_file(node))
    return {
        "nodes": _Lines(nodes),
        "arg_nodes": [position[id(node)] for node in graph.variables],
        "node_row_ptr": row_ptr,
        "heads": [[position[id(s)], i, version.get(id(s), 0)] for s, i in graph.entries],
    }


def _pooling_outputs(attrs: Attrs) -> int:
    first_layouts = (None, "None", "NCW", "NCHW", "NCDHW")
    return (
        2 if attrs["pool_type"] == "max" and attrs["kernel"] and attrs.get("layout") in first_layouts else 1
    )


# Operators that have more outputs in MXNet than here: scratch space (Pooling, as its x86 builds with MKL-DNN
# count) and
# saved intermediates. Only ``node_row_ptr`` shows them.
_SCRATCH_OUTPUTS: dict[str, Callable[[Attrs], int]] = {
    "Pooling": _pooling_outputs, "sort": lambda _: 2, "CTCLoss": lambda _: 2, "_linalg_det": lambda _: 3,
    "_linalg_slogdet": lambda _: 4, "BilinearSampler": lambda _: 2, "ROIPooling": lambda _: 2,
    "GridGenerator": lambda _: 2, "SpatialTransformer": lambda _: 3, "Correlation": lambda _: 3,
    "_contrib_DeformablePSROIPooling": lambda _: 2, "_contrib_BatchNormWithReLU": lambda _: 4,
}  # fmt: skip


def _outputs_in_file(node: Node) -> int:
    count = node.output_count
    if node.op is not None and node.op.name in _SCRATCH_OUTPUTS:
        return max(count, _SCRATCH_OUTPUTS[node.op.name](node.parsed))
    return count


class _Lines(list[Any]):
    """A list that is written one entry a line whatever its length."""


def _show(value: Any, depth: int) -> str:
    if isinstance(value, Mapping):
        parts = [f"{_quote(key)}: {_show(item, depth + 1)}" for key, item in value.items()]
        return _wrap("{", parts, "}", depth, len(parts) > 1)
    if isinstance(value, _Lines):
        return _wrap("[", [_show(item, depth + 1) for item in value], "]", depth, True)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _wrap("[", [_show(item, depth + 1) for item in value], "]", depth, len(value) > _LONG_LIST)
    return _quote(value) if isinstance(value, str) else str(value)


def _wrap(opening: str, parts: list[str], closing: str, depth: int, lines: bool) -> str:
    if not lines or not parts:
        return opening + ", ".join(parts) + closing
    pad = "  " * (depth + 1)
    return f"{opening}\n{pad}" + f", \n{pad}".join(parts) + "\n" + "  " * depth + closing


_ESCAPES = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def _quote(text: str) -> str:
    return '"' + text.translate(_ESCAPES) + '"'


def read(text: str) -> tuple[Graph, dict[str, Any]]:
    """The graph in a JSON text, brought up to date, and the file's own attributes (``mxnet_version``, ...).

    Raises MXNetError for text that is not a symbol file and for operators that do not exist.
    """
    try:
        data = json.loads(text, strict=False)
        stated = {key: value[1] for key, value in data.get("attrs", {}).items()}
        # Files before 0.9 do not say which version wrote them.
        version = int(stated.get("mxnet_version", 800))
        _check_operators(data)
        graph = _read_graph(data, version)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        if isinstance(error, MXNetError):
            raise
        raise MXNetError(
            f"load_json: this is not the JSON of a symbol ({type(error).__name__}: {error})"
        ) from error
    if version > VERSION:
        warnings.warn(
            f"loading symbol saved by MXNet version {version} with lower version of MXNet v{VERSION}",
            stacklevel=3,
        )
    graph.check()
    return graph, stated


def _names_in(data: Mapping[str, Any]) -> Iterator[str]:
    """The operators of a graph and of the graphs within it."""
    for item in data["nodes"]:
        yield item["op"]
        for sub in item.get("subgraphs", ()):
            yield from _names_in(sub)


def _check_operators(data: Mapping[str, Any]) -> None:
    """Raise where operators are missing, for all of them at once: whoever ports a model wants the whole list."""
    unknown = dict.fromkeys(name for name in _names_in(data) if name != "null" and registry.find(name) is None)
    if len(unknown) == 1:
        registry.get(*unknown)
    if unknown:
        listed = ", ".join(f"'{name}'{did_you_mean(name, registry.names()).replace(';', ' -')}" for name in unknown)
        raise MXNetError(f"load_json: Cannot find {len(unknown)} operators of this symbol: {listed}")


def _read_graph(data: Mapping[str, Any], version: int) -> Graph:
    nodes: list[Node] = []

    def entries(rows: Sequence[Sequence[int]]) -> list[Entry]:
        return [(nodes[row[0]], row[1] if len(row) > 1 else 0) for row in rows]

    for item in data["nodes"]:
        # Three generations of names for the attribute table; the oldest files have two of them.
        attrs = {**item.get("param", {}), **item.get("attr", {}), **item.get("attrs", {})}
        op = None if item["op"] == "null" else registry.get(item["op"])
        subgraphs = tuple(_read_graph(sub, version) for sub in item.get("subgraphs", ()))
        node = Node(op, item["name"], attrs, entries(item["inputs"]), subgraphs)
        if version < VERSION:
            _upgrade(node, version)
        nodes.append(node)
    return Graph(entries(data["heads"]))


def _upgrade(node: Node, version: int) -> None:
    """What MXNet does to a node that an older version wrote."""
    _move_hidden_keys(node)
    if node.op is None:
        return
    if version < 905 and node.op.name in ("argmax", "argmin") and node.attrs.get("axis") == "-1":
        del node.attrs["axis"]  # -1 was the spelling of "over everything"
        node._parsed = None
    if version < 900 and node.op.variadic is None:
        # Auxiliary variables were not stored before 0.9.
        names = labels_of(node.op, node.parsed, len(node.inputs))
        added = [
            (Node(None, variable_name(node.name, name), node.attrs), 0) for name in names[len(node.inputs) :]
        ]
        node.inputs += tuple(added)
    if version < 904:
        set_variable_attrs(node)


def _move_hidden_keys(node: Node) -> None:
    """Store ``lr_mult`` as ``__lr_mult__`` and give ``weight_lr_mult`` to the input ``weight``."""
    found = [
        (key, hidden) for key in node.attrs if not is_node_key(key) for hidden in HIDDEN_KEYS
        if key == hidden or key.endswith(f"_{hidden}")
    ]  # fmt: skip
    held = [(key, hidden, node.attrs.pop(key)) for key, hidden in found]
    for key, hidden, text in held:
        if key == hidden:
            node.attrs[f"__{hidden}__"] = text
            continue
        owner = key[: -len(hidden) - 1]
        labels = node.input_labels
        if owner in labels and labels.index(owner) < len(node.inputs):
            source = node.inputs[labels.index(owner)][0]
            if source.op is None:
                source.attrs[f"__{hidden}__"] = text
                continue
        if node.op is None or key in node.op.attr_table:
            node.attrs[key] = text
        else:
            node.attrs[f"__{key}__"] = text  # it belongs to no input: keep it where it cannot disturb parsing


def variable_name(node_name: str, input_name: str) -> str:
    """The name of a variable that is made for a missing input."""
    return f"{node_name}_{input_name}" if node_name else input_name


def set_variable_attrs(node: Node) -> None:
    """Give input variables what the operator wants for them (``__init__`` of statistics)."""
    if node.op is None or not node.op.variable_attrs:
        return
    for label, (source, _) in zip(node.input_labels, node.inputs):
        for key, text in node.op.variable_attrs.get(label, {}).items():
            if source.op is None:
                source.attrs.setdefault(key, text)
