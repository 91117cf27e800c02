"""Transformations that pictures of many sizes go into."""

from __future__ import annotations

import numpy as np
import pytest

from gluonjax import autograd, gluon, nd
from gluonjax._base.errors import MXNetError
from gluonjax._engine.run import counters
from gluonjax.gluon.data.vision import transforms


def test_resizing_transformations_alone_hybrid_and_recorded():
    """On the host they run without being compiled; the answers are those of the compiled operators."""
    picture = nd.array(np.arange(7 * 9 * 3).reshape(7, 9, 3) % 256, dtype="uint8")
    for one in (
        transforms.Resize((4, 5)), transforms.Resize(5, keep_ratio=True), transforms.CropResize(1, 2, 5, 4),
        transforms.CropResize(1, 2, 5, 4, (3, 6), 1),
    ):  # fmt: skip
        plain = one(picture)
        net = gluon.nn.HybridSequential()
        net.add(one)
        net.hybridize()
        compiled = net(picture)
        with autograd.record():
            recorded = one(picture)
        batch = one(nd.stack(picture, picture))
        for other in (compiled, recorded, batch[1]):
            assert plain.dtype == other.dtype == np.uint8
            assert np.abs(plain.asnumpy().astype(int) - other.asnumpy().astype(int)).max() <= 1
    with pytest.raises(MXNetError):
        transforms.CropResize(5, 5, 9, 9)(picture).wait_to_read()
    with pytest.raises(MXNetError, match="greater than 0"):
        transforms.Resize(-3)(picture)


def test_pictures_of_many_sizes_compile_once():
    change = transforms.Compose([transforms.Resize((8, 8)), transforms.ToTensor(), transforms.Normalize(0.5, 0.5)])
    change(nd.ones((9, 9, 3), dtype="uint8")).wait_to_read()
    before = counters.compiled
    for size in range(10, 30):
        assert change(nd.ones((size, size + 1, 3), dtype="uint8")).shape == (3, 8, 8)
    assert counters.compiled - before <= 2
