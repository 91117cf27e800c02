"""safetensors, .npz and orbax checkpoints beside MXNet's own format, and the command that converts."""

from __future__ import annotations

import pathlib
import sys

import ml_dtypes
import numpy as np
import pytest

from gluonjax import nd
from gluonjax._base.errors import MXNetError
from gluonjax._files import formats
from gluonjax._files.params import SparseBlock
from gluonjax.port import cli

ARRAYS = {
    "arg:fc_weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "aux:mean/x": np.array(2.5),
    "half": np.arange(4).astype(ml_dtypes.bfloat16),
    "größe": np.array([[1, -2]], np.int8),
    "flags": np.array([True, False]),
    "file": np.ones((1, 2), np.float16),
}
needs = {"safetensors": "safetensors", "orbax": "orbax.checkpoint", "npz": "numpy", "params": "numpy"}


@pytest.fixture(params=formats.FORMATS)
def form(request: pytest.FixtureRequest) -> str:
    pytest.importorskip(needs[request.param])
    return request.param


quiet_orbax = pytest.mark.filterwarnings("ignore")  # orbax warns about itself and about JAX


def same(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> None:
    assert set(found) == set(wanted)
    for name, array in wanted.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].tobytes() == array.tobytes()


@quiet_orbax
def test_round_trip(form: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "saved"
    formats.write_arrays(path, list(ARRAYS.values()), list(ARRAYS), form)
    assert formats.format_of_content(str(path)) == form
    arrays, names = formats.read_arrays(path)
    same(dict(zip(names, arrays)), ARRAYS)  # type: ignore[arg-type]
    if form in ("params", "npz", "safetensors"):
        assert sorted(names) == sorted(ARRAYS)


@quiet_orbax
def test_save_and_load(form: str, tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "saved")
    handles = {name: nd.array(array, dtype=array.dtype) for name, array in ARRAYS.items() if array.ndim}
    nd.save(path, handles, format=form)
    found = nd.load(path)
    same({name: array.asnumpy() for name, array in found.items()}, {name: ARRAYS[name] for name in handles})
    found["half"][:] = 7  # arrays that were loaded can be written to
    nd.save(path + "2", [handles["half"], handles["flags"]], format=form)
    listed = nd.load(path + "2")
    assert isinstance(listed, list) and [one.shape for one in listed] == [(4,), (2,)]


@quiet_orbax
@pytest.mark.parametrize("after", ["x.safetensors", "x.npz", "checkpoint"])
def test_convert(after: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip(needs[formats.format_of_name(after)])
    first, second, third = (str(tmp_path / name) for name in ("a.params", after, "b.params"))
    formats.write_arrays(first, list(ARRAYS.values()), list(ARRAYS))
    assert cli.main(["convert", first, second]) == 0
    assert cli.main(["convert", second, third]) == 0
    assert "6 arrays from" in capsys.readouterr().out
    arrays, names = formats.read_arrays(third)
    same(dict(zip(names, arrays)), ARRAYS)  # type: ignore[arg-type]


def test_order_of_safetensors(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("safetensors")
    numbers = {f"w{10 - number}": np.full(3, number, np.float32) for number in range(5)}
    formats.write_arrays(tmp_path / "x.safetensors", list(numbers.values()), list(numbers))
    arrays, names = formats.read_arrays(tmp_path / "x.safetensors")
    assert {name: float(array[0]) for name, array in zip(names, arrays)} == {  # type: ignore[index]
        name: float(array[0]) for name, array in numbers.items()
    }


@quiet_orbax
def test_checkpoints_of_others(tmp_path: pathlib.Path) -> None:
    ocp = pytest.importorskip("orbax.checkpoint")
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(tmp_path / "7", {"layer": {"kernel": np.ones((2, 1))}, "steps": [np.zeros(3), np.ones(1)]})
    arrays, names = formats.read_arrays(tmp_path / "7")
    assert {name: array.shape for name, array in zip(names, arrays)} == {
        "layer/kernel": (2, 1), "steps/0": (3,), "steps/1": (1,)
    }  # fmt: skip


def test_what_cannot_be(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    sparse = SparseBlock("row_sparse", (2, 3), np.ones((1, 3), np.float32), np.array([1]))
    with pytest.raises(MXNetError, match=r"cannot hold the row_sparse array 'w'.*tostype"):
        formats.write_arrays(tmp_path / "x.npz", [sparse], ["w"])
    with pytest.raises(MXNetError, match="two arrays of the name 'w'"):
        formats.write_arrays(tmp_path / "x.npz", [np.ones(1), np.ones(1)], ["w", "w"])
    with pytest.raises(MXNetError, match=r"unknown format 'safetensor'.*did you mean 'safetensors'"):
        nd.save(str(tmp_path / "x"), nd.ones(1), format="safetensor")
    with pytest.raises(MXNetError, match=r"ending '\.npy' stands for no format.*did you mean '\.npz'"):
        formats.format_of_name("x.npy")
    for name, content in (("x.npz", b"PK\x03\x04 and no more"), ("x.safetensors", b"\x05" + bytes(7) + b"{...}")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(MXNetError, match=r"that can be read|needs the package"):
            nd.load(str(tmp_path / name))
    assert cli.main(["convert", str(tmp_path / "none.params"), "y.npz"]) == 1
    assert "there is no file" in capsys.readouterr().err
    np.savez(tmp_path / "words.npz", w=np.array(["a"]))
    assert cli.main(["convert", str(tmp_path / "words.npz"), str(tmp_path / "y.params")]) == 1
    assert "cannot hold 'w', which is <U1" in capsys.readouterr().err


def test_missing_packages_are_named(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, extra in (("safetensors.numpy", "safetensors"), ("orbax.checkpoint", "orbax")):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(MXNetError, match=rf'pip install "gluonjax\[{extra}\]"'):
            formats.write_arrays(tmp_path / "x", [np.ones(1)], ["w"], extra)
