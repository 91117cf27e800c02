"""Summary tables are MXNet's, and graphs become pictures, or text where graphviz is missing."""

from __future__ import annotations

import json
import pathlib
import sys

import pytest

import gluonjax as mx
from tests.viz_cases import CASES, printed

RECORDED = json.loads((pathlib.Path(__file__).parent / "data" / "summaries.json").read_text())


@pytest.mark.parametrize("name", CASES)
def test_summary_is_the_table_of_mxnet(name: str) -> None:
    assert printed(mx, name) == RECORDED[name]


def test_network_as_text_without_graphviz(monkeypatch, tmp_path) -> None:
    monkeypatch.setitem(sys.modules, "graphviz", None)
    symbol, arguments = CASES["convolutional"](mx)
    graph = mx.viz.plot_network(symbol, title="net", shape=arguments["shape"], save_format="png")
    lines = graph.source.splitlines()
    assert lines[0] == 'digraph "net" {' and lines[-1] == "}"
    assert any(line.startswith('\t"conv1" [label="Convolution\\n3x3/1, 4"') for line in lines)
    assert any(line.startswith('\t"bn1" -> "conv1"') and 'label="4x10x10"' in line for line in lines)
    assert "weight" not in graph.source
    shown = mx.viz.plot_network(symbol, hide_weights=False, node_attrs={"shape": "oval"})
    assert "digraph" in shown.source and 'shape="oval"' in shown.source
    with pytest.warns(UserWarning, match="pip install graphviz"):
        path = graph.render(str(tmp_path / "net.gv"))
    assert pathlib.Path(path).read_text() == graph.source


def test_network_with_graphviz() -> None:
    graphviz = pytest.importorskip("graphviz")
    symbol, arguments = CASES["branches"](mx)
    graph = mx.viz.plot_network(symbol, shape=arguments["shape"])
    assert isinstance(graph, graphviz.Digraph) and "joined -> left" in graph.source


def test_repeated_names_are_reported() -> None:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    net = mx.sym.FullyConnected(net, num_hidden=2, name="fc")
    with pytest.warns(RuntimeWarning, match="multiple variables with the same name"):
        mx.viz.plot_network(net)
