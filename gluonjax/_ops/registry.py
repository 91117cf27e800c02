"""The table of operators: add, look up by name or alias, list by namespace."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterator

from gluonjax._base.errors import MXNetError, did_you_mean
from gluonjax._ops.opdef import OpDef


class _Announced:
    """An operator whose definition is read when somebody asks for it."""

    __slots__ = ("names", "op", "read")

    def __init__(self, names: tuple[str, ...], read: Callable[[], OpDef]) -> None:
        self.names = names
        self.read = read
        self.op: OpDef | None = None


_by_name: dict[str, OpDef | _Announced] = {}
_reading = threading.RLock()

# Modules whose import registers operators, in the order a reader meets them.
FAMILIES = (
    "math_unary", "math_binary", "math_scalar", "reduce", "shape", "shape_join", "shape_slice", "shape_patches",
    "indexing", "indexing_points", "ordering", "creation", "dot", "linalg", "linalg_triangle",
    "nn.activation", "nn.dense", "nn.convolution", "nn.pooling", "nn.normalization", "nn.softmax",
    "nn.dropout", "nn.rnn", "nn.sequence", "nn.upsampling", "nn.output_layers", "nn.ctc", "nn.spatial",
    "random", "random_pdf", "optimizer_updates", "optimizer_multi", "image", "custom", "control_flow", "sparse",
    "contrib.boxes", "contrib.multibox", "contrib.proposal", "contrib.roi", "contrib.deformable", "contrib.resize",
    "contrib.attention", "contrib.misc", "numpy",
)  # fmt: skip


def add(op: OpDef) -> None:
    """Enter an operator under its name and aliases. Raises TypeError where a name is taken."""
    _enter((op.name, *op.aliases), op)


def announce(names: tuple[str, ...], read: Callable[[], OpDef]) -> None:
    """Like ``add`` (the operator's own name is the first), but the definition is read at its first use."""
    _enter(names, _Announced(names, read))


def _enter(names: tuple[str, ...], entry: OpDef | _Announced) -> None:
    for name in names:
        if name in _by_name:
            taken = _by_name[name]
            holder = taken.names[0] if isinstance(taken, _Announced) else taken.name
            raise TypeError(f"operator name {name!r} is registered twice: {holder} and {names[0]}")
        _by_name[name] = entry


def _read(entry: _Announced) -> OpDef:
    """The definition; the same object whichever thread asks first, because programs are kept by it."""
    with _reading:
        if entry.op is None:
            entry.op = entry.read()
            for name in entry.names:
                if _by_name.get(name) is entry:
                    _by_name[name] = entry.op
        return entry.op


def find(name: str) -> OpDef | None:
    """The operator of that name or alias, or None."""
    op = _by_name.get(name)
    return _read(op) if isinstance(op, _Announced) else op


def get(name: str) -> OpDef:
    """The operator of that name or alias. Raises MXNetError with a suggestion where there is none."""
    op = find(name)
    if op is None:
        raise MXNetError(f"Cannot find operator '{name}'{did_you_mean(name, _by_name)}")
    return op


def names() -> tuple[str, ...]:
    """Every accepted name, aliases among them."""
    return tuple(_by_name)


def items() -> Iterator[tuple[str, OpDef]]:
    """Every accepted name with its operator."""
    return ((name, get(name)) for name in names())


def operators() -> list[OpDef]:
    """Every operator once, by its own name."""
    return [op for name, op in items() if op.name == name]


def load_all() -> None:
    """Import every family, once."""
    for family in FAMILIES:
        importlib.import_module(f"gluonjax._ops.{family}")
