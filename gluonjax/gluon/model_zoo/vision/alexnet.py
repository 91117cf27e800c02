"""AlexNet (Krizhevsky 2014, "One weird trick for parallelizing convolutional neural networks")."""

from __future__ import annotations

from typing import Any

from gluonjax._base.devices import CPU0
from gluonjax.gluon import nn
from gluonjax.gluon.model_zoo.model_store import DEFAULT_ROOT, load_pretrained
from gluonjax.gluon.model_zoo.vision._builders import Classifier, stack


class AlexNet(Classifier):
    """AlexNet.

    Args:
        classes: number of classes.
    """

    def __init__(self, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            features = stack()
            with features.name_scope():
                # (channels, kernel, stride, padding, pooled afterwards)
                for channels, kernel, stride, padding, pooled in (
                    (64, 11, 4, 2, True), (192, 5, 1, 2, True), (384, 3, 1, 1, False), (256, 3, 1, 1, False),
                    (256, 3, 1, 1, True),
                ):  # fmt: skip
                    features.add(nn.Conv2D(channels, kernel, stride, padding, activation="relu"))
                    if pooled:
                        features.add(nn.MaxPool2D(pool_size=3, strides=2))
                features.add(nn.Flatten())
                for _ in range(2):
                    features.add(nn.Dense(4096, activation="relu"), nn.Dropout(0.5))
            self.features = features
            self.output = nn.Dense(classes)


def alexnet(pretrained: bool = False, ctx: Any = CPU0, root: str = DEFAULT_ROOT, **kwargs: Any) -> AlexNet:
    """AlexNet, with ImageNet's weights if ``pretrained``."""
    return load_pretrained(AlexNet(**kwargs), pretrained, "alexnet", root, ctx)
