"""What a run of random calls has proved: how many compared values and gradients, of which operators and inputs."""

from __future__ import annotations

import collections
from dataclasses import dataclass, field

import numpy as np

from gluonjax._ops import registry
from tests.oracle.random_calls.compare import Outcome, chance
from tests.samples import floating
from tests.samples._sample import Sample

# Verdicts where both sides answered and the answers were held against each other.
COMPARED = ("agree", "wrong")


def _special(sample: Sample) -> bool:
    return any(not np.isfinite(a.astype(np.float64)).all() for a in sample.inputs if floating(a.dtype) and a.size)


def _holds(sample: Sample, name: str) -> bool:
    return any(array.dtype.name == name for array in sample.inputs)


KINDS = {
    "float16 inputs": lambda sample: _holds(sample, "float16"),
    "bfloat16 inputs": lambda sample: _holds(sample, "bfloat16"),
    "float64 inputs": lambda sample: _holds(sample, "float64"),
    "whole inputs": lambda sample: any(a.dtype.kind in "iub" for a in sample.inputs),
    "NaN or infinity": _special,
    "no elements": lambda sample: any(a.size == 0 for a in sample.inputs),
    "training mode": lambda sample: sample.train,
}


@dataclass
class Count:
    """Calls of one operator: all, those whose values and those whose gradients were compared."""

    calls: int = 0
    values: int = 0
    gradients: int = 0
    differentiable: int = 0


@dataclass
class Coverage:
    """Counts of a run."""

    operators: dict[str, Count] = field(default_factory=lambda: collections.defaultdict(Count))
    kinds: collections.Counter[str] = field(default_factory=collections.Counter)

    def add(self, sample: Sample, verdict: str, theirs: Outcome) -> None:
        """Count a call; ``verdict`` is the one before deliberate differences are taken out."""
        op = registry.get(sample.op)
        count = self.operators[op.name]
        count.calls += 1
        if verdict not in COMPARED:
            return
        count.values += 1
        count.differentiable += any(floating(array.dtype) for array in sample.inputs)
        # The gradients of what is drawn are chance too.
        count.gradients += not chance(sample) and any(
            name.startswith("grad") and array.size for name, array in (theirs.arrays or {}).items()
        )
        self.kinds.update(kind for kind, test in KINDS.items() if test(sample))

    def report(self) -> str:
        """The shares, and the operators that no call compared."""
        counts = self.operators.values()
        calls, values = sum(c.calls for c in counts), sum(c.values for c in counts)
        gradients = sum(c.gradients for c in counts)
        lines = [
            f"{len(counts)} operators, {calls} calls: {values} compared values ({100 * values / max(calls, 1):.1f}%), "
            f"{gradients} of them gradients too",
            "    of them " + ", ".join(f"{number} {kind}" for kind, number in self.kinds.most_common()),
        ]
        never = sorted(name for name, c in self.operators.items() if not c.values)
        flat = sorted(name for name, c in self.operators.items() if c.differentiable and not c.gradients)
        lines.append(f"{len(never)} operators without a compared call: {' '.join(never)}")
        lines.append(f"{len(flat)} operators of floating inputs without a compared gradient: {' '.join(flat)}")
        return "\n".join(lines)

    def table(self) -> str:
        """One line for each operator."""
        return "\n".join(
            f"{name}\t{c.calls}\t{c.values}\t{c.gradients}" for name, c in sorted(self.operators.items())
        )
