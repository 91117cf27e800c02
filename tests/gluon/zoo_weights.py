"""Weights and inputs for the networks of the model zoo that are the same on every machine; NumPy only."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

CLASSES = 10
# Networks that end in a pooling window of fixed size need images of their full size; the others get small ones.
SIDES = {
    "inceptionv3": 299, "densenet": 224, "squeezenet": 224, "alexnet": 64, "vgg": 32, "resnet": 32, "mobilenet": 32,
}  # fmt: skip

NAMES = (
    "alexnet", "densenet121", "densenet161", "densenet169", "densenet201", "inceptionv3",
    *(f"mobilenet{width}" for width in ("0.25", "0.5", "0.75", "1.0")),
    *(f"mobilenetv2_{width}" for width in ("0.25", "0.5", "0.75", "1.0")),
    *(f"resnet{depth}_v{version}" for version in (1, 2) for depth in (18, 34, 50, 101, 152)),
    "squeezenet1.0", "squeezenet1.1", *(f"vgg{depth}{bn}" for depth in (11, 13, 16, 19) for bn in ("", "_bn")),
)  # fmt: skip


def side_of(name: str) -> int:
    """The height and width of the images that a network is tried with."""
    return next(side for start, side in SIDES.items() if name.startswith(start))


def images(name: str) -> np.ndarray:
    """Two images, (2, 3, side, side), float32."""
    side = side_of(name)
    count = 1 if side > 200 else 2
    return np.random.RandomState(7).normal(size=(count, 3, side, side)).astype(np.float32)


def value_of(structural_name: str, shape: tuple[int, ...]) -> np.ndarray:
    """The value of a parameter, decided by its name alone."""
    draw = np.random.RandomState(zlib.crc32(structural_name.encode()) & 0x7FFFFFFF).normal(size=shape)
    kind = structural_name.rpartition(".")[2]
    if kind == "weight":
        fan_in = int(np.prod(shape[1:])) or 1
        return (draw * np.sqrt(2.0 / fan_in)).astype(np.float32)
    if kind == "gamma":
        return (1 + 0.1 * draw).astype(np.float32)
    if kind == "running_var":
        return (1 + 0.2 * np.abs(draw)).astype(np.float32)
    return (0.1 * draw).astype(np.float32)


def fill(mx: Any, net: Any, name: str) -> None:
    """Give a network its weights; its shapes become known by one forward."""
    net.initialize(mx.init.Zero())
    net(mx.nd.array(images(name)))
    for structural_name, parameter in net._collect_params_with_prefix().items():
        parameter.set_data(mx.nd.array(value_of(structural_name, parameter.shape)))
