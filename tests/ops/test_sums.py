"""Sums over all but the channels, compiled: they round little."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from gluonjax._engine.compile import Jitted
from gluonjax._ops.nn.sums import WORTH_STAGES, sum_over


@pytest.mark.parametrize(
    ("shape", "most"),
    [((2, 64, 112, 112), 3e-7), ((1, 17, 90, 91), 2e-6), ((4, 32, 32, 32), 2e-6), ((8, 128, 28, 28), 2e-6)],
)
def test_compiled_sums_round_little(shape, most):
    data = np.random.RandomState(0).rand(*shape).astype(np.float32)
    assert data.size >= WORTH_STAGES
    found = np.asarray(Jitted(lambda data: sum_over(data, (0, 2, 3)))(data))
    wanted = data.astype(np.float64).sum((0, 2, 3))
    assert np.abs(found / wanted - 1).max() < most


def test_sums_of_other_axes_and_dtypes():
    data = np.random.RandomState(0).rand(5, 6, 30, 40)
    with jax.enable_x64(True):
        for axes in ((0, 1, 3), (1, 3), (2, 3), (0, 1, 2, 3), (0, 1, 2)):
            np.testing.assert_allclose(sum_over(data, axes), data.sum(axes), rtol=1e-12)
        assert sum_over(data, (0, 3)).dtype == np.float64
