"""Differences from 1.9.1 that are meant: what ``gluonjax/_ops/DIFFERENCES.md`` lists, as rules over verdicts."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from tests.samples._sample import Sample


@dataclass(frozen=True)
class Known:
    """A rule: which verdicts on which operators have which reason.

    Args:
        reason: why gluonjax differs.
        kinds: verdicts that it explains.
        op: regular expression on the operator's name.
        text: regular expression that the explanation holds.
        dtype: a dtype that one of the inputs has.
        empty: whether an input without elements is needed.
    """

    reason: str
    kinds: tuple[str, ...]
    op: str = ".*"
    text: str = ""
    dtype: str = ""
    empty: bool = False

    def explains(self, sample: Sample, kind: str, text: str) -> bool:
        """Whether the rule covers a verdict."""
        return (
            kind in self.kinds
            and re.fullmatch(self.op, sample.op) is not None
            and re.search(self.text, text) is not None
            and (not self.dtype or any(re.fullmatch(self.dtype, a.dtype.name) for a in sample.inputs))
            and (not self.empty or any(np.size(a) == 0 for a in sample.inputs))
        )


KNOWN: tuple[Known, ...] = ()


def reason_for(sample: Sample, kind: str, text: str) -> str | None:
    """The reason of the first rule that covers a verdict, or None."""
    return next((rule.reason for rule in KNOWN if rule.explains(sample, kind, text)), None)
