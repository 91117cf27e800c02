"""Which operators of MXNet 1.9.1 are here: its list of names against the registry and the namespaces.

``python -m gluonjax ops`` prints a line for each family, ``--missing`` the names that are not there.
"""

from __future__ import annotations

import importlib.resources
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import NamedTuple

LIST = "operators_1_9_1.tsv"

# Families that may be incomplete: they are other work, or nodes that no program of a user can hold.
EXCLUDED = {
    "numpy": "the operators behind mx.np and mx.npx",
    "sparse": "sparse storage and graph sampling",
    "quantization": "int8 inference",
    "subgraph": "nodes that oneDNN's and TVM's graph rewriting makes",
    "engine": "nodes that the engine makes for itself; a call of them raises in 1.9.1 too",
}


class Row(NamedTuple):
    """One registered name of 1.9.1; ``alias_of`` is the operator's own name where this is another spelling."""

    family: str
    name: str
    alias_of: str


@dataclass
class Family:
    """What of a family is here: names, and namespaces where a name that is here cannot be found."""

    name: str
    total: int = 0
    missing: list[str] = field(default_factory=list)

    @property
    def excluded(self) -> bool:
        return self.name in EXCLUDED


def list_of_names() -> list[Row]:
    """Every name that 1.9.1 registers, gradient nodes (``_backward_*``) apart.

    >>> [row for row in list_of_names() if row.name == "flatten"]
    [Row(family='general', name='flatten', alias_of='Flatten')]
    """
    text = (importlib.resources.files("gluonjax.port") / LIST).read_text()
    return [Row(*line.split("\t")) for line in text.splitlines()[1:]]


def _places(row: Row) -> Iterator[tuple[ModuleType, str]]:
    """The modules and names by which MXNet's users reach the operator: as ``nd.*`` and ``sym.*`` (``F`` is one)."""
    from gluonjax import ndarray, symbol
    from gluonjax._engine.functions import namespace_of

    space, short = namespace_of(row.name)
    for root in (ndarray, symbol):
        if row.family not in EXCLUDED or row.family == "sparse":
            module = getattr(root, space)
            yield module, short
            if space == "op":
                yield root, short


def compare() -> list[Family]:
    """Each family of 1.9.1, with the names that are missing here."""
    from gluonjax._ops import registry
    from gluonjax.ndarray import _internal

    registry.load_all()
    found: dict[str, Family] = {}
    for row in list_of_names():
        family = found.setdefault(row.family, Family(row.family))
        family.total += 1
        op = registry.find(row.name)
        if op is None:
            # A few write to an array or deal with pictures: functions of nd, no operators of a graph.
            if not callable(getattr(_internal, row.name, None)):
                family.missing.append(row.name)
            continue
        own = registry.find(row.alias_of) if row.alias_of else op
        if own is not op:
            family.missing.append(f"{row.name} (is another operator than {row.alias_of})")
        family.missing += [
            f"{module.__name__.replace('gluonjax', 'mx', 1)}.{short}"
            for module, short in _places(row)
            if not callable(getattr(module, short, None))
        ]
    return sorted(found.values(), key=lambda family: (family.excluded, family.name))


def show(missing: bool = False) -> int:
    """Print the comparison. Returns 1 where a family that should be whole is not, else 0."""
    families = compare()
    for family in families:
        here = family.total - sum(not name.startswith("mx.") for name in family.missing)
        if missing and not family.missing:
            continue
        note = f"  ({EXCLUDED[family.name]})" if family.excluded else ""
        print(f"{family.name:<13}{here:>4} of {family.total:>3}{note}")
        if missing:
            for name in family.missing:
                print(f"    {name}")
    broken = [family for family in families if family.missing and not family.excluded]
    lost = sum(len(family.missing) for family in broken)
    total = sum(family.total for family in families if not family.excluded)
    print(f"{lost} of {total} missing" if broken else f"all {total} names outside of the excluded families are here")
    return 1 if broken else 0
