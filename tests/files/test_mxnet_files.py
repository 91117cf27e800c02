"""Files that the real MXNet wrote, with the values they hold; tests/oracle/write_files.py made them."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import nd, util
from gluonjax.ndarray import utils

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "data" / "files" / "arrays"
EXPECTED = np.load(FOLDER / "expected.npz")
FILES = sorted({key.split("|")[0] for key in EXPECTED.files})


def expected(name: str) -> dict[str, np.ndarray]:
    return {key.split("|", 1)[1]: EXPECTED[key] for key in EXPECTED.files if key.startswith(f"{name}|")}


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("name", FILES)
def test_read(name: str, mapped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if mapped:
        monkeypatch.setattr(utils, "_MAPPED_FROM", 1)
    with util.np_shape(name.startswith("np_")):
        found = nd.load(str(FOLDER / f"{name}.params"))
        wanted = expected(name)
        pairs = found if isinstance(found, dict) else {str(at): array for at, array in enumerate(found)}
        if name == "one":
            pairs = {"": pairs["0"]}
        assert list(pairs) == list(wanted)
        for key, array in pairs.items():
            assert (np.dtype(array.dtype), array.shape) == (wanted[key].dtype, wanted[key].shape)
            assert np.array_equal(array.asnumpy(), wanted[key])


@pytest.mark.parametrize("name", FILES)
def test_written_again_it_is_the_same_file(name: str, tmp_path: pathlib.Path) -> None:
    original = (FOLDER / f"{name}.params").read_bytes()
    with util.np_shape(name.startswith("np_")):
        nd.save(str(tmp_path / "again"), nd.load(str(FOLDER / f"{name}.params")))
        assert (tmp_path / "again").read_bytes() == original
        assert nd.load_frombuffer(original) is not None


def test_storage_types() -> None:
    found = nd.load(str(FOLDER / "csr.params"))
    assert {key: array.stype for key, array in found.items()} == {"m": "csr", "half": "csr"}


def test_large_files_are_mapped(tmp_path: pathlib.Path) -> None:
    """A large file is in memory once, as arrays; those stay when the file goes."""
    path = tmp_path / "large.params"
    nd.save(str(path), {"w": nd.arange(600_000), "b": nd.ones(3)})
    found = nd.load(str(path))
    path.unlink()
    assert float(found["w"][-1].asscalar()) == 599_999
    found["w"][0] = 5
    assert found["w"][0].asscalar() == 5


ORACLE = os.environ.get("MXNET_PYTHON", "")


@pytest.mark.skipif(not ORACLE, reason="MXNET_PYTHON names no Python that has the real MXNet")
def test_mxnet_reads_what_we_write(tmp_path: pathlib.Path) -> None:
    script = pathlib.Path(__file__).resolve().parent.parent / "oracle" / "check_files.py"
    mx.nd.waitall()
    ours = subprocess.run([sys.executable, str(script), "write", str(tmp_path)], capture_output=True, text=True)
    assert ours.returncode == 0, ours.stderr
    theirs = subprocess.run([ORACLE, str(script), "check", str(tmp_path)], capture_output=True, text=True)
    assert theirs.returncode == 0, theirs.stdout + theirs.stderr
