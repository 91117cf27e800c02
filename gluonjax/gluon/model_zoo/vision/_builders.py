"""Pieces that several image models are made of."""

from __future__ import annotations

from typing import Any

from gluonjax.gluon import nn
from gluonjax.gluon.block import HybridBlock


def stack(*blocks: Any, prefix: str | None = "") -> nn.HybridSequential:
    """Blocks in a HybridSequential whose names are those of the surrounding block."""
    sequence = nn.HybridSequential(prefix=prefix)
    sequence.add(*blocks)
    return sequence


def relu() -> nn.Activation:
    return nn.Activation("relu")


class Classifier(HybridBlock):
    """A model that maps features to classes: subclasses set ``features`` and ``output``."""

    features: Any
    output: Any

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.output(self.features(x))
