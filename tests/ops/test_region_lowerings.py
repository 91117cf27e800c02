"""The ways in which regions are pooled and boxes are suppressed agree with the plain forms, gradients included."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from gluonjax._ops import registry
from gluonjax._ops.contrib import _part_sampling, _suppression, proposal

# batch, output_dim, group_size, bins, part_size, classes of offsets, samples along a side
PARTS = [(1, 4, 3, 3, 3, 1, 2), (3, 6, 2, 4, 3, 2, 3), (2, 6, 3, 4, 2, 3, 1), (2, 3, 2, 2, 2, 1, 4)]


def pooled(monkeypatch, products, op, arrays):
    """Result, gradients of data and offsets, and a gradient of a gradient."""
    monkeypatch.setattr(_part_sampling, "MOST_PIXELS", 1 << 30 if products else 0)
    data, rois, trans = arrays

    def result(data, trans):
        return op(data, rois, trans)[0]

    def slope(data, trans):
        return jax.grad(lambda trans: jnp.sum(jnp.sin(result(data, trans))))(trans)

    head = jnp.cos(jnp.arange(result(data, trans).size)).reshape(result(data, trans).shape)
    found, pullback = jax.vjp(result, data, trans)
    return found, *pullback(head), jax.grad(lambda data: jnp.sum(jnp.cos(slope(data, trans))))(data)


@pytest.mark.parametrize("case", PARTS, ids=str)
@pytest.mark.skipif(jax.default_backend() != "cpu", reason="products are the way of CPUs")
def test_deformable_psroi_pooling(monkeypatch, case):
    batch, dim, groups, bins, parts, classes, samples = case
    rng = np.random.RandomState(0)
    corner = rng.uniform(-8, 30, (9, 2))
    rois = np.concatenate([rng.randint(0, batch, (9, 1)), corner, corner + rng.uniform(0, 25, (9, 2))], 1)
    arrays = rng.normal(size=(batch, dim * groups**2, 9, 11)), rois, 2 * rng.normal(size=(9, 2 * classes, parts, parts))
    op = registry.get("_contrib_DeformablePSROIPooling")
    attrs = {
        "spatial_scale": 0.25, "output_dim": dim, "group_size": groups, "pooled_size": bins, "part_size": parts,
        "sample_per_part": samples, "trans_std": 0.1,
    }  # fmt: skip
    with jax.enable_x64(True):
        pure = op.pure(op.parse(attrs), True)
        one, other = (pooled(monkeypatch, products, pure, arrays) for products in (True, False))
    for a, b in zip(one, other, strict=True):
        assert np.abs(b).max() > 0
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)


def test_deformable_psroi_pooling_on_pixels(monkeypatch):
    """A sample on a pixel has no slope, in either way."""
    arrays = np.random.RandomState(1).normal(size=(1, 1, 6, 6)), np.array([[0, 1.0, 1, 3, 3]]), np.zeros((1, 2, 1, 1))
    op = registry.get("_contrib_DeformablePSROIPooling")
    attrs = {"spatial_scale": 1, "output_dim": 1, "group_size": 1, "pooled_size": 1, "sample_per_part": 3,
             "trans_std": 0.1, "part_size": 1}  # fmt: skip
    arrays[1][0, 1:] = [1, 1, 3, 3]
    with jax.enable_x64(True):
        pure = op.pure(op.parse(attrs), True)
        one, other = (pooled(monkeypatch, products, pure, arrays) for products in (True, False))
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("count", [1, 2, 40, 300])
@pytest.mark.parametrize("density", [0.02, 0.3, 1.0])
def test_suppression(monkeypatch, count, density):
    """All pairs at once, one by one, and in plain Python."""
    rng = np.random.RandomState(2)
    excludes, alive = rng.uniform(size=(count, count)) < density, rng.uniform(size=count) < 0.9
    wanted = alive.copy()
    for number in range(count):
        if wanted[number]:
            wanted[number + 1 :] &= ~excludes[number, number + 1 :]
    table = jnp.asarray(excludes)
    for limit in (_suppression._MOST_PAIRED, 0):
        monkeypatch.setattr(_suppression, "_MOST_PAIRED", limit)
        found = _suppression.suppress(jnp.asarray(alive), lambda index: table[index])
        np.testing.assert_array_equal(found, wanted)


def test_suppression_of_a_chain():
    """Each box removes the next one: as many rounds as boxes."""
    found = _suppression.suppress(jnp.ones(50, bool), lambda index: jnp.arange(50) == index + 1)
    np.testing.assert_array_equal(found, np.arange(50) % 2 == 0)


def test_coordinates_at_the_edge_are_exact():
    # Small differences of large numbers: in float32 they would be others in a batch, and others where interpreted.
    draw = np.random.RandomState(7)
    anchors = (draw.randint(0, 600, (500, 1)) + np.array([-200, -200, 200, 200])).astype(np.float32)
    moves = draw.rand(500, 4).astype(np.float32)
    with jax.enable_x64(True):
        found = jax.jit(lambda anchors, moves: proposal._moved(anchors, moves, False))(anchors, moves)
    assert found.dtype == np.float32
    left, size, middle = anchors[:, :2].astype(np.float64), np.full(2, 401.0), moves[:, :2].astype(np.float64)
    half = (np.exp(moves[:, 2:].astype(np.float64)) * size - 1) / 2
    center = middle * size + left + 200
    np.testing.assert_allclose(found, np.concatenate([center - half, center + half], axis=1), rtol=2e-7)
