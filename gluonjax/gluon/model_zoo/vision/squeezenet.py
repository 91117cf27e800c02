"""SqueezeNet (Iandola et al. 2016)."""

from __future__ import annotations

from typing import Any

from gluonjax._base.devices import CPU0
from gluonjax.gluon import nn
from gluonjax.gluon._errors import ArgumentError
from gluonjax.gluon.contrib.nn import HybridConcurrent
from gluonjax.gluon.model_zoo.model_store import DEFAULT_ROOT, load_pretrained
from gluonjax.gluon.model_zoo.vision._builders import Classifier, relu, stack

# Version -> first convolution (channels, kernel), then squeeze sizes of fire modules, or "pool".
PLANS: dict[str, tuple[tuple[int, int], tuple[Any, ...]]] = {
    "1.0": ((96, 7), ("pool", 16, 16, 32, "pool", 32, 48, 48, 64, "pool", 64)),
    "1.1": ((64, 3), ("pool", 16, 16, "pool", 32, 32, "pool", 48, 48, 64, 64)),
}


def _conv(channels: int, kernel: int, padding: int = 0) -> nn.HybridSequential:
    return stack(nn.Conv2D(channels, kernel, padding=padding), relu())


def _fire(squeeze: int) -> nn.HybridSequential:
    """Squeeze to few channels, expand with 1x1 and 3x3 kernels side by side."""
    module = stack(_conv(squeeze, 1))
    expand = HybridConcurrent(axis=1, prefix="")
    expand.add(_conv(4 * squeeze, 1), _conv(4 * squeeze, 3, 1))
    module.add(expand)
    return module


class SqueezeNet(Classifier):
    """SqueezeNet.

    Args:
        version: ``'1.0'`` or ``'1.1'``.
        classes: number of classes.
    """

    def __init__(self, version: str, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if version not in PLANS:
            raise ArgumentError(f"Unsupported SqueezeNet version {version}: 1.0 or 1.1 expected")
        (channels, kernel), plan = PLANS[version]
        with self.name_scope():
            features = stack(nn.Conv2D(channels, kernel, strides=2), relu())
            for entry in plan:
                pool = entry == "pool"
                features.add(nn.MaxPool2D(pool_size=3, strides=2, ceil_mode=True) if pool else _fire(entry))
            features.add(nn.Dropout(0.5))
            self.features = features
            self.output = stack(nn.Conv2D(classes, kernel_size=1), relu(), nn.AvgPool2D(13), nn.Flatten())


def get_squeezenet(
    version: str, pretrained: bool = False, ctx: Any = CPU0, root: str = DEFAULT_ROOT, **kwargs: Any
) -> SqueezeNet:
    """SqueezeNet of a version, with ImageNet's weights if ``pretrained``."""
    return load_pretrained(SqueezeNet(version, **kwargs), pretrained, f"squeezenet{version}", root, ctx)


def squeezenet1_0(**kwargs: Any) -> SqueezeNet:
    """SqueezeNet 1.0."""
    return get_squeezenet("1.0", **kwargs)


def squeezenet1_1(**kwargs: Any) -> SqueezeNet:
    """SqueezeNet 1.1: fewer operations for the same accuracy."""
    return get_squeezenet("1.1", **kwargs)
