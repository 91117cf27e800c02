"""VGG (Simonyan and Zisserman 2014)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gluonjax._base.devices import CPU0
from gluonjax.gluon import nn
from gluonjax.gluon._errors import ArgumentError
from gluonjax.gluon.model_zoo.model_store import DEFAULT_ROOT, load_pretrained
from gluonjax.gluon.model_zoo.vision._builders import Classifier, relu, stack
from gluonjax.initializer import Xavier

FILTERS = [64, 128, 256, 512, 512]
# Depth -> number of convolutions before each pooling, and their channels.
vgg_spec = {
    11: ([1, 1, 2, 2, 2], FILTERS), 13: ([2, 2, 2, 2, 2], FILTERS), 16: ([2, 2, 3, 3, 3], FILTERS),
    19: ([2, 2, 4, 4, 4], FILTERS),
}  # fmt: skip


class VGG(Classifier):
    """VGG.

    Args:
        layers: number of convolutions before each pooling.
        filters: their channels.
        classes: number of classes.
        batch_norm: normalize after every convolution.
    """

    def __init__(
        self, layers: Sequence[int], filters: Sequence[int], classes: int = 1000, batch_norm: bool = False,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        if len(layers) != len(filters):
            raise ArgumentError(
                f"VGG: layers and filters must have one length, got {len(layers)} and {len(filters)}"
            )
        with self.name_scope():
            features = stack()
            for count, channels in zip(layers, filters):
                for _ in range(count):
                    xavier = Xavier(rnd_type="gaussian", factor_type="out", magnitude=2)
                    features.add(
                        nn.Conv2D(channels, 3, padding=1, weight_initializer=xavier, bias_initializer="zeros")
                    )
                    if batch_norm:
                        features.add(nn.BatchNorm())
                    features.add(relu())
                features.add(nn.MaxPool2D(strides=2))
            for _ in range(2):
                dense = nn.Dense(
                    4096, activation="relu", weight_initializer="normal", bias_initializer="zeros"
                )
                features.add(dense, nn.Dropout(rate=0.5))
            self.features = features
            self.output = nn.Dense(classes, weight_initializer="normal", bias_initializer="zeros")


def get_vgg(
    num_layers: int, pretrained: bool = False, ctx: Any = CPU0, root: str = DEFAULT_ROOT, **kwargs: Any
) -> VGG:
    """VGG of a depth (11, 13, 16, 19), with ImageNet's weights if ``pretrained``."""
    if num_layers not in vgg_spec:
        raise ArgumentError(f"get_vgg: depth must be one of {sorted(vgg_spec)}, got {num_layers}")
    name = f"vgg{num_layers}" + ("_bn" if kwargs.get("batch_norm") else "")
    return load_pretrained(VGG(*vgg_spec[num_layers], **kwargs), pretrained, name, root, ctx)


def vgg11(**kwargs: Any) -> VGG:
    """VGG with 11 layers."""
    return get_vgg(11, **kwargs)


def vgg13(**kwargs: Any) -> VGG:
    """VGG with 13 layers."""
    return get_vgg(13, **kwargs)


def vgg16(**kwargs: Any) -> VGG:
    """VGG with 16 layers."""
    return get_vgg(16, **kwargs)


def vgg19(**kwargs: Any) -> VGG:
    """VGG with 19 layers."""
    return get_vgg(19, **kwargs)


def vgg11_bn(**kwargs: Any) -> VGG:
    """VGG with 11 layers and batch normalization."""
    return get_vgg(11, **{**kwargs, "batch_norm": True})


def vgg13_bn(**kwargs: Any) -> VGG:
    """VGG with 13 layers and batch normalization."""
    return get_vgg(13, **{**kwargs, "batch_norm": True})


def vgg16_bn(**kwargs: Any) -> VGG:
    """VGG with 16 layers and batch normalization."""
    return get_vgg(16, **{**kwargs, "batch_norm": True})


def vgg19_bn(**kwargs: Any) -> VGG:
    """VGG with 19 layers and batch normalization."""
    return get_vgg(19, **{**kwargs, "batch_norm": True})
