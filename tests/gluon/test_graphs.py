"""The graphs that blocks make are those of the real MXNet: operators, names, attributes and their order."""

from __future__ import annotations

import json
import pathlib

import pytest

import gluonjax as mx
from tests.gluon.graph_cases import digest, graphs, zoo
from tests.gluon.zoo_weights import NAMES

RECORDED = json.loads((pathlib.Path(__file__).parents[1] / "data" / "gluon" / "graphs.json").read_text())


def test_layers_cells_and_losses() -> None:
    made = graphs(mx)
    assert {name for name in RECORDED if not name.startswith("zoo ")} == set(made)
    other = {name: texts for name, texts in made.items() if digest(texts) != RECORDED[name]}
    assert other == {}


@pytest.mark.parametrize("name", NAMES)
def test_networks_of_the_zoo(name: str) -> None:
    assert list(zoo(mx, name)) == RECORDED[f"zoo {name}"]
