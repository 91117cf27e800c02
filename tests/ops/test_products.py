"""Large products have JAX's derivatives, to the second order, with and without zeros."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from jax import lax

from gluonjax._ops import products


@pytest.mark.parametrize("axes", [(1,), (0, 2), (0, 1, 2), (2,)])
@pytest.mark.parametrize("zeros", [0, 1, 2])
def test_derivatives(axes, zeros, monkeypatch):
    monkeypatch.setattr(products, "LARGE", 1)
    rng = np.random.RandomState(0)
    data = rng.uniform(0.5, 1.5, (3, 4, 5))
    data[0, :zeros, 0] = 0
    data[1, 2, :zeros] = 0
    tangent = rng.normal(size=data.shape)

    def derivatives(reduce):
        head = rng_head[: np.prod(jax.eval_shape(reduce, data).shape, dtype=int)]

        def gradient(x):
            result, pullback = jax.vjp(reduce, x)
            return pullback(head.reshape(result.shape))[0]

        return (reduce(data), *jax.jvp(gradient, (data,), (tangent,)))

    rng_head = rng.normal(size=60)
    with jax.enable_x64(True):
        found = derivatives(lambda x: products.product(x, axes))
        wanted = derivatives(lambda x: lax.reduce_prod(x, axes))
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
