"""ResNet (He et al. 2015) and its second version with normalization first (He et al. 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from gluonjax._base.devices import CPU0
from gluonjax.gluon import nn
from gluonjax.gluon._errors import ArgumentError
from gluonjax.gluon.block import HybridBlock
from gluonjax.gluon.model_zoo.model_store import DEFAULT_ROOT, load_pretrained
from gluonjax.gluon.model_zoo.vision._builders import Classifier, relu, stack

# Depth -> kind of block, blocks in each stage, channels (the first convolution's, then the stages').
resnet_spec = {
    18: ("basic_block", [2, 2, 2, 2], [64, 64, 128, 256, 512]),
    34: ("basic_block", [3, 4, 6, 3], [64, 64, 128, 256, 512]),
    50: ("bottle_neck", [3, 4, 6, 3], [64, 256, 512, 1024, 2048]),
    101: ("bottle_neck", [3, 4, 23, 3], [64, 256, 512, 1024, 2048]),
    152: ("bottle_neck", [3, 8, 36, 3], [64, 256, 512, 1024, 2048]),
}


def _conv3x3(channels: int, stride: int, in_channels: int) -> nn.Conv2D:
    return nn.Conv2D(channels, 3, stride, 1, use_bias=False, in_channels=in_channels)


class _BlockV1(HybridBlock):
    """Adds the input to what ``body`` makes of it, then ReLU."""

    # The order of the sum decides the order of the parameters in exported files.
    _shortcut_first: ClassVar[bool] = False

    def __init__(
        self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.body = self._body(channels, stride, in_channels)
        self.downsample = None
        if downsample:
            shortcut = nn.Conv2D(channels, 1, stride, use_bias=False, in_channels=in_channels)
            self.downsample = stack(shortcut, nn.BatchNorm())

    def _body(self, channels: int, stride: int, in_channels: int) -> nn.HybridSequential:
        raise ArgumentError(f"{type(self).__name__} defines no body; use BasicBlockV1 or BottleneckV1")

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        changed = self.body(x)
        shortcut = x if self.downsample is None else self.downsample(x)
        whole = shortcut + changed if self._shortcut_first else changed + shortcut
        return F.Activation(whole, act_type="relu")


class BasicBlockV1(_BlockV1):
    """Two 3x3 convolutions; for 18 and 34 layers.

    Args:
        channels: channels of the output.
        stride: stride of the first convolution.
        downsample: project the shortcut.
        in_channels: channels of the input.
    """

    _shortcut_first = True

    def _body(self, channels: int, stride: int, in_channels: int) -> nn.HybridSequential:
        first = _conv3x3(channels, stride, in_channels)
        return stack(first, nn.BatchNorm(), relu(), _conv3x3(channels, 1, channels), nn.BatchNorm())


class BottleneckV1(_BlockV1):
    """1x1, 3x3 and 1x1 convolutions; for 50 layers and more. Arguments as for BasicBlockV1."""

    def _body(self, channels: int, stride: int, in_channels: int) -> nn.HybridSequential:
        narrow = channels // 4
        return stack(
            nn.Conv2D(narrow, kernel_size=1, strides=stride), nn.BatchNorm(), relu(),
            _conv3x3(narrow, 1, narrow), nn.BatchNorm(), relu(),
            nn.Conv2D(channels, kernel_size=1, strides=1), nn.BatchNorm(),
        )  # fmt: skip


class _BlockV2(HybridBlock):
    """Normalization and ReLU before every convolution; the sum goes on as it is."""

    _count: int

    def __init__(
        self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        for number, convolution in enumerate(self._convolutions(channels, stride, in_channels), 1):
            setattr(self, f"bn{number}", nn.BatchNorm())
            setattr(self, f"conv{number}", convolution())
            self._count = number
        self.downsample = None
        if downsample:
            self.downsample = nn.Conv2D(channels, 1, stride, use_bias=False, in_channels=in_channels)

    def _convolutions(self, channels: int, stride: int, in_channels: int) -> list[Any]:
        raise ArgumentError(
            f"{type(self).__name__} defines no convolutions; use BasicBlockV2 or BottleneckV2"
        )

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        shortcut = x
        for number in range(1, self._count + 1):
            x = F.Activation(getattr(self, f"bn{number}")(x), act_type="relu")
            if number == 1 and self.downsample is not None:
                shortcut = self.downsample(x)
            x = getattr(self, f"conv{number}")(x)
        return x + shortcut


class BasicBlockV2(_BlockV2):
    """Two 3x3 convolutions; arguments as for BasicBlockV1."""

    def _convolutions(self, channels: int, stride: int, in_channels: int) -> list[Any]:
        return [lambda: _conv3x3(channels, stride, in_channels), lambda: _conv3x3(channels, 1, channels)]


class BottleneckV2(_BlockV2):
    """1x1, 3x3 and 1x1 convolutions; arguments as for BasicBlockV1."""

    def _convolutions(self, channels: int, stride: int, in_channels: int) -> list[Any]:
        narrow = channels // 4
        return [
            lambda: nn.Conv2D(narrow, kernel_size=1, strides=1, use_bias=False),
            lambda: _conv3x3(narrow, stride, narrow),
            lambda: nn.Conv2D(channels, kernel_size=1, strides=1, use_bias=False),
        ]


class _ResNet(Classifier):
    """What both versions have in common."""

    def _check(self, layers: Sequence[int], channels: Sequence[int]) -> None:
        if len(layers) != len(channels) - 1:
            raise ArgumentError(
                f"{type(self).__name__}: channels must have one entry more than layers, got "
                f"{len(channels)} and "
                f"{len(layers)}"
            )

    def _add_stem(self, features: nn.HybridSequential, channels: int, thumbnail: bool) -> None:
        if thumbnail:
            features.add(_conv3x3(channels, 1, 0))
        else:
            features.add(
                nn.Conv2D(channels, 7, 2, 3, use_bias=False), nn.BatchNorm(), relu(), nn.MaxPool2D(3, 2, 1)
            )

    def _add_stages(
        self, features: nn.HybridSequential, block: Any, layers: Sequence[int], channels: Sequence[int]
    ) -> None:
        for number, (count, before, after) in enumerate(zip(layers, channels, channels[1:]), 1):
            features.add(
                self._make_layer(block, count, after, 1 if number == 1 else 2, number, in_channels=before)
            )

    def _make_layer(
        self, block: Any, layers: int, channels: int, stride: int, stage_index: int, in_channels: int = 0
    ) -> nn.HybridSequential:
        layer = nn.HybridSequential(prefix=f"stage{stage_index}_")
        with layer.name_scope():
            layer.add(block(channels, stride, channels != in_channels, in_channels=in_channels, prefix=""))
            for _ in range(layers - 1):
                layer.add(block(channels, 1, False, in_channels=channels, prefix=""))
        return layer


class ResNetV1(_ResNet):
    """ResNet.

    Args:
        block: BasicBlockV1 or BottleneckV1.
        layers: blocks in each stage.
        channels: the first convolution's, then the stages'.
        classes: number of classes.
        thumbnail: for small images (CIFAR): no stride and no pooling at the start.
    """

    def __init__(
        self, block: Any, layers: Sequence[int], channels: Sequence[int], classes: int = 1000,
        thumbnail: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self._check(layers, channels)
        with self.name_scope():
            features = stack()
            self._add_stem(features, channels[0], thumbnail)
            self._add_stages(features, block, layers, channels)
            features.add(nn.GlobalAvgPool2D())
            self.features = features
            self.output = nn.Dense(classes, in_units=channels[-1])


class ResNetV2(_ResNet):
    """ResNet with normalization before convolution; arguments as for ResNetV1, with the V2 blocks."""

    def __init__(
        self, block: Any, layers: Sequence[int], channels: Sequence[int], classes: int = 1000,
        thumbnail: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self._check(layers, channels)
        with self.name_scope():
            features = stack(nn.BatchNorm(scale=False, center=False))
            self._add_stem(features, channels[0], thumbnail)
            self._add_stages(features, block, layers, channels)
            features.add(nn.BatchNorm(), relu(), nn.GlobalAvgPool2D(), nn.Flatten())
            self.features = features
            self.output = nn.Dense(classes, in_units=channels[-1])


resnet_net_versions = [ResNetV1, ResNetV2]
resnet_block_versions = [
    {"basic_block": BasicBlockV1, "bottle_neck": BottleneckV1},
    {"basic_block": BasicBlockV2, "bottle_neck": BottleneckV2},
]


def get_resnet(
    version: int, num_layers: int, pretrained: bool = False, ctx: Any = CPU0, root: str = DEFAULT_ROOT,
    **kwargs: Any,
) -> Any:  # fmt: skip
    """ResNet of a version (1 or 2) and a depth, with ImageNet's weights if ``pretrained``."""
    if num_layers not in resnet_spec:
        raise ArgumentError(f"Invalid number of layers: {num_layers}. Options are {list(resnet_spec)}")
    if version not in (1, 2):
        raise ArgumentError(f"Invalid resnet version: {version}. Options are 1 and 2.")
    kind, layers, channels = resnet_spec[num_layers]
    block = resnet_block_versions[version - 1][kind]
    net = resnet_net_versions[version - 1](block, layers, channels, **kwargs)
    return load_pretrained(net, pretrained, f"resnet{num_layers}_v{version}", root, ctx)


def resnet18_v1(**kwargs: Any) -> ResNetV1:
    """ResNet V1 with 18 layers."""
    return get_resnet(1, 18, **kwargs)


def resnet34_v1(**kwargs: Any) -> ResNetV1:
    """ResNet V1 with 34 layers."""
    return get_resnet(1, 34, **kwargs)


def resnet50_v1(**kwargs: Any) -> ResNetV1:
    """ResNet V1 with 50 layers."""
    return get_resnet(1, 50, **kwargs)


def resnet101_v1(**kwargs: Any) -> ResNetV1:
    """ResNet V1 with 101 layers."""
    return get_resnet(1, 101, **kwargs)


def resnet152_v1(**kwargs: Any) -> ResNetV1:
    """ResNet V1 with 152 layers."""
    return get_resnet(1, 152, **kwargs)


def resnet18_v2(**kwargs: Any) -> ResNetV2:
    """ResNet V2 with 18 layers."""
    return get_resnet(2, 18, **kwargs)


def resnet34_v2(**kwargs: Any) -> ResNetV2:
    """ResNet V2 with 34 layers."""
    return get_resnet(2, 34, **kwargs)


def resnet50_v2(**kwargs: Any) -> ResNetV2:
    """ResNet V2 with 50 layers."""
    return get_resnet(2, 50, **kwargs)


def resnet101_v2(**kwargs: Any) -> ResNetV2:
    """ResNet V2 with 101 layers."""
    return get_resnet(2, 101, **kwargs)


def resnet152_v2(**kwargs: Any) -> ResNetV2:
    """ResNet V2 with 152 layers."""
    return get_resnet(2, 152, **kwargs)
