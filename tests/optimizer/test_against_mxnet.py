"""Every optimizer against twenty recorded updates of the real MXNet (tests/oracle/record_optimizers.py)."""

from __future__ import annotations

import pathlib
import warnings

import numpy as np
import pytest

import gluonjax as mx
from tests.optimizer.cases import CASES, VARIANTS, run_case

RECORDED = np.load(pathlib.Path(__file__).parents[1] / "data" / "optimizers.npz")


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", CASES)
def test_twenty_updates_equal_mxnet(name, variant):
    prefix = f"{name}/{variant}/"
    wanted = {key[len(prefix) :]: RECORDED[key] for key in RECORDED.files if key.startswith(prefix)}
    assert wanted, "no recorded values; run tests/oracle/record_optimizers.py"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = run_case(mx, name, variant)
    assert found.keys() == wanted.keys()
    for key, value in wanted.items():
        # Norms of half-precision weights are taken of the float32 master copy here, of the rounded weight
        # there.
        loose = 4e-3 if "half" in name else 2e-5
        assert found[key].dtype == value.dtype and found[key].shape == value.shape, key
        np.testing.assert_allclose(found[key], value, rtol=loose, atol=loose / 10, err_msg=key)
