"""Models that MXNet users left us: they load in every way there is, and answer as the real MXNet did."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import gluon, nd, sym
from gluonjax._base.errors import MXNetError
from tests.oracle.record_models import CASES, data_for, outputs

RECORDED = np.load(pathlib.Path(__file__).resolve().parent.parent / "data" / "files" / "models.npz")


def expected(name: str) -> list[np.ndarray]:
    return [RECORDED[key] for key in sorted(RECORDED.files) if key.startswith(f"{name}/")]


def same(found: list[np.ndarray], name: str) -> None:
    wanted = expected(name)
    assert len(found) == len(wanted) >= 1
    for got, want in zip(found, wanted):
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4 * max(1.0, float(np.abs(want).max())))


@pytest.fixture
def models(shared_data: pathlib.Path) -> pathlib.Path:
    folder = shared_data / "models"
    if not folder.is_dir():
        pytest.skip("the models are not in the shared data folder")
    return folder


@pytest.mark.filterwarnings("ignore:Data provided by label_shapes")
@pytest.mark.parametrize("name", list(CASES))
def test_checkpoints_in_a_module(name: str, models: pathlib.Path) -> None:
    same(outputs(mx, name, models), name)


@pytest.mark.parametrize("name", list(CASES))
def test_blocks(name: str, models: pathlib.Path) -> None:
    prefix, epoch, shape = CASES[name]
    names = ["data"] + [key for key in sym.load(f"{models / prefix}-symbol.json").list_arguments() if "label" in key]
    block = gluon.SymbolBlock.imports(
        f"{models / prefix}-symbol.json", names, f"{models / prefix}-{epoch:04d}.params"
    )
    found = block(nd.array(data_for(shape)), *[nd.zeros((shape[0],)) for _ in names[1:]])
    same([one.asnumpy() for one in (found if isinstance(found, (list, tuple)) else [found])], name)


@pytest.mark.parametrize("name", list(CASES))
def test_bound_by_hand(name: str, models: pathlib.Path) -> None:
    prefix, epoch, shape = CASES[name]
    symbol = sym.load(f"{models / prefix}-symbol.json")
    arguments, auxiliaries = mx.model.load_params(str(models / prefix), epoch)
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", data=shape)
    executor.copy_params_from(arguments, auxiliaries, allow_extra_params=True)
    same([one.asnumpy() for one in executor.forward(is_train=False, data=nd.array(data_for(shape)))], name)


def test_all_unknown_operators_are_named() -> None:
    nodes = [
        {"op": "null", "name": "x", "inputs": []},
        {"op": "FullyConected", "name": "a", "inputs": [[0, 0, 0]]},
        {"op": "MyOwnLayer", "name": "b", "inputs": [[1, 0, 0]]},
        {"op": "relu", "name": "c", "inputs": [[2, 0, 0]]},
        {"op": "MyOwnLayer", "name": "d", "inputs": [[3, 0, 0]]},
    ]
    text = str({"nodes": nodes, "arg_nodes": [0], "heads": [[4, 0, 0]]}).replace("'", '"')
    with pytest.raises(MXNetError, match=r"2 operators.*'FullyConected'.*'FullyConnected'.*'MyOwnLayer'"):
        sym.load_json(text)
