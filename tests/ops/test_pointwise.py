"""Kernels of one element are matrix products; they equal XLA's convolution in every layout."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from jax import lax

from gluonjax._ops.nn import pointwise
from gluonjax._ops.nn.convolution import correlate


@pytest.mark.parametrize("batch", [1, 3, 17])
@pytest.mark.parametrize(("stride", "pad"), [(1, 0), (2, 0), (3, 1)])
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("last", [False, True])
def test_pointwise_equals_convolution(
    batch: int, stride: int, pad: int, rank: int, last: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pointwise, "LARGE_IMAGE", 12)
    rng = np.random.default_rng(0)
    spatial = (5, 4, 3)[:rank]
    data = rng.normal(size=(batch, *spatial, 6) if last else (batch, 6, *spatial))
    weight = rng.normal(size=(7, *[1] * rank, 6) if last else (7, 6, *[1] * rank))
    axes = tuple(range(1, 1 + rank) if last else range(2, 2 + rank))
    channel = rank + 1 if last else 1
    settings = dict(stride=(stride,) * rank, padding=[(pad, pad)] * rank)

    def products(data: jax.Array, weight: jax.Array) -> jax.Array:
        one = (1,) * rank
        return correlate(data, weight, axes=axes, spread=one, dilate=one, groups=1, **settings)

    def convolution(data: jax.Array, weight: jax.Array) -> jax.Array:
        order = (0, channel, *axes)
        numbers = lax.ConvDimensionNumbers(order, order, order)
        return lax.conv_general_dilated(
            data, weight, settings["stride"], settings["padding"], dimension_numbers=numbers
        )  # fmt: skip

    with jax.enable_x64(True):
        got, pull = jax.vjp(products, data, weight)
        wanted, pull_wanted = jax.vjp(convolution, data, weight)
        np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-12)
        head = rng.normal(size=wanted.shape)
        for mine, other in zip(pull(head), pull_wanted(head)):
            np.testing.assert_allclose(mine, other, rtol=1e-10, atol=1e-12)
        assert "conv_general_dilated" not in str(jax.make_jaxpr(products)(data, weight))
