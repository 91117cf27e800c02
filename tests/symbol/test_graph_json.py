"""The symbol file format: MXNet's layout byte by byte, and files of older versions."""

from __future__ import annotations

import json
import pathlib

import pytest

from gluonjax import sym
from gluonjax._base.errors import MXNetError

MODELS = pathlib.Path("/work/shared/data/models")

SMALL = """{
  "nodes": [
    {
      "op": "null", 
      "name": "a", 
      "inputs": []
    }, 
    {
      "op": "_mul_scalar", 
      "name": "m", 
      "attrs": {"scalar": "-1.0"}, 
      "inputs": [[0, 0, 0]]
    }
  ], 
  "arg_nodes": [0], 
  "node_row_ptr": [0, 1, 2], 
  "heads": [[1, 0, 0]], 
  "attrs": {"mxnet_version": ["int", 10901]}
}"""


def test_layout_is_that_of_mxnet() -> None:
    op = sym._internal._mul_scalar(sym.var("a"), scalar=-1.0, name="m")
    assert op.tojson() == SMALL
    assert sym.load_json(SMALL).tojson() == SMALL


def test_long_lists_take_one_line_an_entry() -> None:
    text = sym.Concat(*(sym.var(f"v{i}") for i in range(12)), name="c").tojson()
    assert '"inputs": [\n        [0, 0, 0], \n        [1, 0, 0]' in text
    assert '"arg_nodes": [\n    0, \n    1' in text
    assert sym.load_json(text).tojson() == text


def test_text_with_quotes_and_control_characters_survives() -> None:
    value = 'tab\t line\n quote" back\\ é'
    text = sym.var("b", attr={"q": value}).tojson()
    assert json.loads(text)["nodes"][0]["attrs"]["q"] == value
    assert sym.load_json(text).attr("q") == value


def test_versions_count_the_operators_that_rewrite_a_state() -> None:
    mean = sym.var("mm")
    first = sym.BatchNorm(sym.var("x"), moving_mean=mean, name="b1")
    second = sym.BatchNorm(first, moving_mean=mean, name="b2")
    nodes = {node["name"]: node for node in json.loads(second.tojson())["nodes"]}
    assert nodes["b1"]["inputs"][3][2] == 1
    assert nodes["b2"]["inputs"][3][2] == 2


def test_casts_of_mixed_precision_are_left_out() -> None:
    net = sym.exp(sym.amp_cast(sym.relu(sym.var("a"), name="r"), dtype="float16", name="cast"), name="e")
    assert [n["name"] for n in json.loads(net.tojson())["nodes"]] == ["a", "r", "e"]
    assert [n["name"] for n in json.loads(net.tojson(remove_amp_cast=False))["nodes"]] == [
        "a",
        "r",
        "cast",
        "e",
    ]


OLD = {
    "nodes": [
        {"op": "null", "param": {}, "name": "data", "inputs": [], "backward_source_id": -1},
        {"op": "null", "param": {}, "name": "w", "inputs": [], "backward_source_id": -1},
        {"op": "null", "param": {}, "name": "b", "inputs": [], "backward_source_id": -1},
        {
            "op": "FullyConnected",
            "param": {"num_hidden": "3"},
            "name": "fc",
            "inputs": [[0, 0], [1, 0], [2, 0]],
            "attr": {"weight_lr_mult": "2", "lr_mult": "5", "ctx_group": "z", "bias_wd_mult": "0"},
        },
        {"op": "null", "param": {}, "name": "g", "inputs": []},
        {"op": "null", "param": {}, "name": "be", "inputs": []},
        {"op": "BatchNorm", "param": {"eps": "0.001"}, "name": "bn", "inputs": [[3, 0], [4, 0], [5, 0]]},
        {"op": "argmax", "param": {"axis": "-1"}, "name": "am", "inputs": [[6, 0]]},
    ],
    "arg_nodes": [0, 1, 2, 4, 5],
    "heads": [[7, 0]],
}


def test_files_of_version_0_8_are_brought_up_to_date() -> None:
    net = sym.load_json(json.dumps(OLD))
    attrs = net.attr_dict()
    assert attrs["w"]["__lr_mult__"] == "2"
    assert attrs["b"]["__wd_mult__"] == "0"
    assert attrs["fc"]["__lr_mult__"] == "5" and attrs["fc"]["ctx_group"] == "z"
    assert "weight_lr_mult" not in attrs["fc"]
    assert net.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    assert "axis" not in attrs.get("am", {})
    assert "one" in attrs["bn_moving_var"]["__init__"]


def test_what_is_no_symbol_is_refused() -> None:
    with pytest.raises(MXNetError, match="not the JSON of a symbol"):
        sym.load_json("{")
    with pytest.raises(MXNetError, match=r"Cannot find operator 'FullyConected'.*FullyConnected"):
        sym.load_json(SMALL.replace("_mul_scalar", "FullyConected"))
    with pytest.raises(MXNetError, match="cannot open"):
        sym.load("/nonexistent/file.json")


@pytest.mark.parametrize("path", sorted(MODELS.glob("*/*-symbol.json")), ids=lambda path: path.stem)
def test_real_models_load_and_round_trip(path: pathlib.Path) -> None:
    net = sym.load(str(path))
    text = net.tojson()
    assert sym.load_json(text).tojson() == text
    arguments, outputs, _ = net.infer_shape_partial(data=(1, *_image(path)))
    assert all(0 not in shape and shape for shape in arguments if shape) and all(outputs)


def _image(path: pathlib.Path) -> tuple[int, int, int]:
    sizes = {"LeNet-symbol": (1, 28, 28), "det1-symbol": (3, 12, 12), "det2-symbol": (3, 24, 24),
             "det3-symbol": (3, 48, 48), "model-symbol": (3, 112, 112)}  # fmt: skip
    return sizes[path.stem]
