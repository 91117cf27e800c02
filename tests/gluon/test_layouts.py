"""Channels last is channels first with its axes moved (MXNet has it on GPUs only, so nothing of it is recorded)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import autograd, nd
from gluonjax.gluon import nn

LAYOUTS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}
LAYERS: dict[str, dict[str, Any]] = {
    "Conv{}D": {"channels": 6, "kernel_size": 3, "padding": 1, "groups": 2, "strides": 2, "activation": "relu"},
    "Conv{}DTranspose": {"channels": 3, "kernel_size": 3, "strides": 2, "padding": 1, "output_padding": 1},
    "MaxPool{}D": {"pool_size": 2, "strides": 2},
    "AvgPool{}D": {"pool_size": 3, "padding": 1, "ceil_mode": True, "count_include_pad": False},
    "GlobalAvgPool{}D": {},
    "GlobalMaxPool{}D": {},
}


@pytest.mark.parametrize("dimensions", LAYOUTS)
@pytest.mark.parametrize("name", LAYERS)
def test_channels_last(name: str, dimensions: int) -> None:
    kind = getattr(nn, name.format(dimensions))
    first, last = (kind(layout=layout, **LAYERS[name]) for layout in LAYOUTS[dimensions])
    to_last = (0, *range(2, dimensions + 2), 1)
    to_first = (0, dimensions + 1, *range(1, dimensions + 1))
    x = np.random.default_rng(0).normal(size=(2, 4, 6, 5, 4)[: dimensions + 2]).astype(np.float32)
    inputs = nd.array(x), nd.array(x.transpose(to_last))
    for block, array in zip((first, last), inputs):
        block.initialize(mx.init.Normal(0.5))
        block.hybridize()
        block(array)
        array.attach_grad()
    for one, other in zip(first.collect_params().values(), last.collect_params().values()):
        value = one.data().asnumpy()
        other.set_data(nd.array(value.transpose(to_last) if value.ndim > 1 else value))
    outputs = []
    for block, array in zip((first, last), inputs):
        with autograd.record():
            y = block(array)
            loss = (y * y).sum()
        loss.backward()
        outputs.append(y.asnumpy())
    np.testing.assert_allclose(outputs[1].transpose(to_first), outputs[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        inputs[1].grad.asnumpy().transpose(to_first), inputs[0].grad.asnumpy(), rtol=1e-3, atol=1e-4
    )
