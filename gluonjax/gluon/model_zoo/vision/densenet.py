"""DenseNet (Huang et al. 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gluonjax._base.devices import CPU0
from gluonjax.gluon import nn
from gluonjax.gluon._errors import ArgumentError
from gluonjax.gluon.contrib.nn import HybridConcurrent, Identity
from gluonjax.gluon.model_zoo.model_store import DEFAULT_ROOT, load_pretrained
from gluonjax.gluon.model_zoo.vision._builders import Classifier, relu, stack

# Depth -> first channels, growth rate, layers in each block.
densenet_spec = {
    121: (64, 32, [6, 12, 24, 16]), 161: (96, 48, [6, 12, 36, 24]), 169: (64, 32, [6, 12, 32, 32]),
    201: (64, 32, [6, 12, 48, 32]),
}  # fmt: skip


def _dense_layer(growth_rate: int, bn_size: int, dropout: float) -> HybridConcurrent:
    """New features beside the old ones."""
    new = stack(
        nn.BatchNorm(), relu(), nn.Conv2D(bn_size * growth_rate, kernel_size=1, use_bias=False),
        nn.BatchNorm(), relu(), nn.Conv2D(growth_rate, kernel_size=3, padding=1, use_bias=False),
    )  # fmt: skip
    if dropout:
        new.add(nn.Dropout(dropout))
    both = HybridConcurrent(axis=1, prefix="")
    both.add(Identity(), new)
    return both


class DenseNet(Classifier):
    """DenseNet.

    Args:
        num_init_features: channels of the first convolution.
        growth_rate: channels that each layer adds.
        block_config: layers in each block.
        bn_size: width of the bottlenecks, in growth rates.
        dropout: rate after each layer.
        classes: number of classes.
    """

    def __init__(
        self, num_init_features: int, growth_rate: int, block_config: Sequence[int], bn_size: int = 4,
        dropout: float = 0, classes: int = 1000, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        with self.name_scope():
            features = stack(
                nn.Conv2D(num_init_features, kernel_size=7, strides=2, padding=3, use_bias=False), nn.BatchNorm(),
                relu(), nn.MaxPool2D(pool_size=3, strides=2, padding=1),
            )  # fmt: skip
            channels = num_init_features
            for number, count in enumerate(block_config, 1):
                block = nn.HybridSequential(prefix=f"stage{number}_")
                with block.name_scope():
                    block.add(*[_dense_layer(growth_rate, bn_size, dropout) for _ in range(count)])
                features.add(block)
                channels += count * growth_rate
                if number < len(block_config):
                    channels //= 2
                    features.add(
                        stack(
                            nn.BatchNorm(),
                            relu(),
                            nn.Conv2D(channels, kernel_size=1, use_bias=False),
                            nn.AvgPool2D(pool_size=2, strides=2),
                        )  # fmt: skip
                    )
            features.add(nn.BatchNorm(), relu(), nn.AvgPool2D(pool_size=7), nn.Flatten())
            self.features = features
            self.output = nn.Dense(classes)


def get_densenet(
    num_layers: int, pretrained: bool = False, ctx: Any = CPU0, root: str = DEFAULT_ROOT, **kwargs: Any
) -> DenseNet:
    """DenseNet of a depth (121, 161, 169, 201), with ImageNet's weights if ``pretrained``."""
    if num_layers not in densenet_spec:
        raise ArgumentError(f"get_densenet: depth must be one of {sorted(densenet_spec)}, got {num_layers}")
    net = DenseNet(*densenet_spec[num_layers], **kwargs)
    return load_pretrained(net, pretrained, f"densenet{num_layers}", root, ctx)


def densenet121(**kwargs: Any) -> DenseNet:
    """DenseNet with 121 layers."""
    return get_densenet(121, **kwargs)


def densenet161(**kwargs: Any) -> DenseNet:
    """DenseNet with 161 layers."""
    return get_densenet(161, **kwargs)


def densenet169(**kwargs: Any) -> DenseNet:
    """DenseNet with 169 layers."""
    return get_densenet(169, **kwargs)


def densenet201(**kwargs: Any) -> DenseNet:
    """DenseNet with 201 layers."""
    return get_densenet(201, **kwargs)
