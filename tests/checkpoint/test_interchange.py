"""A training interrupted under one of gluonjax and the real MXNet goes on under the other one."""

from __future__ import annotations

import numpy as np
import pytest

import gluonjax as mx
from tests.checkpoint.cases import CASES, DATA, interrupted, resumed


def _compare(whose: str, optimizer: str, found: dict[str, np.ndarray]) -> None:
    recorded = np.load(DATA / f"{whose}.npz")
    wanted = {key.partition("/")[2]: recorded[key] for key in recorded.files if key.startswith(f"{optimizer}/")}
    assert found.keys() == wanted.keys() and wanted
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=2e-4, atol=2e-5, err_msg=name)


@pytest.mark.parametrize("optimizer", CASES)
def test_checkpoint_of_mxnet_goes_on_here(optimizer: str) -> None:
    _compare("mxnet", optimizer, resumed(mx, optimizer, str(DATA / f"mxnet-{optimizer}")))


@pytest.mark.parametrize("optimizer", CASES)
def test_mxnet_went_on_with_our_checkpoint(optimizer: str) -> None:
    """``ours.npz`` is what the real MXNet made of twenty steps from our files; we must make the same."""
    _compare("ours", optimizer, resumed(mx, optimizer, str(DATA / f"ours-{optimizer}")))


@pytest.mark.parametrize("optimizer", CASES)
def test_our_checkpoint_is_still_the_one_that_mxnet_read(optimizer: str, tmp_path) -> None:
    interrupted(mx, optimizer, str(tmp_path / "now"))
    old, new = (mx.nd.load(str(p)) for p in (DATA / f"ours-{optimizer}-0010.params", tmp_path / "now-0010.params"))
    assert list(old) == list(new)
    for name, array in old.items():
        np.testing.assert_allclose(new[name].asnumpy(), array.asnumpy(), rtol=2e-4, atol=2e-5, err_msg=name)
    assert (tmp_path / "now-symbol.json").read_text() == (DATA / f"ours-{optimizer}-symbol.json").read_text()


def test_symbol_files_are_equal() -> None:
    """The same network gives the same JSON under both, except for the version that writes it."""
    ours, theirs = ((DATA / f"{whose}-sgd-symbol.json").read_text() for whose in ("ours", "mxnet"))
    assert ours == theirs
