"""The table of operators: add, look up by name or alias, list by namespace."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

from gluonjax._base.errors import MXNetError, did_you_mean
from gluonjax._ops.opdef import OpDef

_by_name: dict[str, OpDef] = {}

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
    for name in (op.name, *op.aliases):
        if name in _by_name:
            raise TypeError(f"operator name {name!r} is registered twice: {_by_name[name].name} and {op.name}")
        _by_name[name] = op


def find(name: str) -> OpDef | None:
    """The operator of that name or alias, or None."""
    return _by_name.get(name)


def get(name: str) -> OpDef:
    """The operator of that name or alias. Raises MXNetError with a suggestion where there is none."""
    op = _by_name.get(name)
    if op is None:
        raise MXNetError(f"Cannot find operator '{name}'{did_you_mean(name, _by_name)}")
    return op


def items() -> Iterator[tuple[str, OpDef]]:
    """Every accepted name with its operator."""
    return iter(tuple(_by_name.items()))


def operators() -> list[OpDef]:
    """Every operator once, by its own name."""
    return [op for name, op in _by_name.items() if op.name == name]


def load_all() -> None:
    """Import every family, once."""
    for family in FAMILIES:
        importlib.import_module(f"gluonjax._ops.{family}")
