"""MobileNet (Howard et al. 2017) and MobileNetV2 (Sandler et al. 2018)."""

from __future__ import annotations

from typing import Any

from gluonjax._base.devices import CPU0
from gluonjax.gluon import nn
from gluonjax.gluon.block import HybridBlock
from gluonjax.gluon.model_zoo.model_store import DEFAULT_ROOT, load_pretrained
from gluonjax.gluon.model_zoo.vision._builders import Classifier, relu, stack

# MobileNet: output channels and stride of every separable convolution.
V1_PLAN = [
    (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1),
]  # fmt: skip
# MobileNetV2: output channels, expansion, stride, repetitions.
V2_PLAN = [
    (16, 1, 1, 1), (24, 6, 2, 2), (32, 6, 2, 3), (64, 6, 2, 4), (96, 6, 1, 3), (160, 6, 2, 3), (320, 6, 1, 1),
]  # fmt: skip


class RELU6(HybridBlock):
    """ReLU with an upper bound of 6."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.clip(x, 0, 6, name="relu6")


def _add_conv(
    out: nn.HybridSequential, channels: int, kernel: int = 1, stride: int = 1, pad: int = 0, groups: int = 1,
    act: Any = relu,
) -> None:  # fmt: skip
    out.add(nn.Conv2D(channels, kernel, stride, pad, groups=groups, use_bias=False), nn.BatchNorm(scale=True))
    if act is not None:
        out.add(act())


class LinearBottleneck(HybridBlock):
    """Expand, convolve each channel by itself, project; with a shortcut where the shape stays.

    Args:
        in_channels, channels: channels of input and output.
        t: expansion.
        stride: stride of the middle convolution.
    """

    def __init__(self, in_channels: int, channels: int, t: int, stride: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_shortcut = stride == 1 and in_channels == channels
        wide = in_channels * t
        with self.name_scope():
            self.out = nn.HybridSequential()
            _add_conv(self.out, wide, act=RELU6)
            _add_conv(self.out, wide, 3, stride, 1, groups=wide, act=RELU6)
            _add_conv(self.out, channels, act=None)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        out = self.out(x)
        return F.elemwise_add(out, x) if self.use_shortcut else out


class MobileNet(Classifier):
    """MobileNet.

    Args:
        multiplier: factor of all channels.
        classes: number of classes.
    """

    def __init__(self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            features = stack()
            with features.name_scope():
                channels = int(32 * multiplier)
                _add_conv(features, channels, 3, 2, 1)
                for wanted, stride in V1_PLAN:
                    _add_conv(features, channels, 3, stride, 1, groups=channels)
                    channels = int(wanted * multiplier)
                    _add_conv(features, channels)
                features.add(nn.GlobalAvgPool2D(), nn.Flatten())
            self.features = features
            self.output = nn.Dense(classes)


class MobileNetV2(Classifier):
    """MobileNetV2.

    Args:
        multiplier: factor of all channels.
        classes: number of classes.
    """

    def __init__(self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            features = nn.HybridSequential(prefix="features_")
            with features.name_scope():
                channels = int(32 * multiplier)
                _add_conv(features, channels, 3, 2, 1, act=RELU6)
                for wanted, expansion, stride, repetitions in V2_PLAN:
                    for number in range(repetitions):
                        out = int(wanted * multiplier)
                        features.add(LinearBottleneck(channels, out, expansion, stride if number == 0 else 1))
                        channels = out
                _add_conv(features, int(1280 * multiplier) if multiplier > 1 else 1280, act=RELU6)
                features.add(nn.GlobalAvgPool2D())
            self.features = features
            self.output = nn.HybridSequential(prefix="output_")
            with self.output.name_scope():
                self.output.add(nn.Conv2D(classes, 1, use_bias=False, prefix="pred_"), nn.Flatten())


def _suffix(multiplier: float) -> str:
    """``1.0``, ``0.75``, ``0.5``, ``0.25``: as the files spell it."""
    text = f"{multiplier:.2f}"
    return text[:-1] if text in ("1.00", "0.50") else text


def get_mobilenet(
    multiplier: float, pretrained: bool = False, ctx: Any = CPU0, root: str = DEFAULT_ROOT, **kwargs: Any
) -> MobileNet:
    """MobileNet with a width, with ImageNet's weights if ``pretrained``."""
    return load_pretrained(
        MobileNet(multiplier, **kwargs), pretrained, f"mobilenet{_suffix(multiplier)}", root, ctx
    )


def get_mobilenet_v2(
    multiplier: float, pretrained: bool = False, ctx: Any = CPU0, root: str = DEFAULT_ROOT, **kwargs: Any
) -> MobileNetV2:
    """MobileNetV2 with a width, with ImageNet's weights if ``pretrained``."""
    name = f"mobilenetv2_{_suffix(multiplier)}"
    return load_pretrained(MobileNetV2(multiplier, **kwargs), pretrained, name, root, ctx)


def mobilenet1_0(**kwargs: Any) -> MobileNet:
    """MobileNet of full width."""
    return get_mobilenet(1.0, **kwargs)


def mobilenet0_75(**kwargs: Any) -> MobileNet:
    """MobileNet of 3/4 width."""
    return get_mobilenet(0.75, **kwargs)


def mobilenet0_5(**kwargs: Any) -> MobileNet:
    """MobileNet of half width."""
    return get_mobilenet(0.5, **kwargs)


def mobilenet0_25(**kwargs: Any) -> MobileNet:
    """MobileNet of quarter width."""
    return get_mobilenet(0.25, **kwargs)


def mobilenet_v2_1_0(**kwargs: Any) -> MobileNetV2:
    """MobileNetV2 of full width."""
    return get_mobilenet_v2(1.0, **kwargs)


def mobilenet_v2_0_75(**kwargs: Any) -> MobileNetV2:
    """MobileNetV2 of 3/4 width."""
    return get_mobilenet_v2(0.75, **kwargs)


def mobilenet_v2_0_5(**kwargs: Any) -> MobileNetV2:
    """MobileNetV2 of half width."""
    return get_mobilenet_v2(0.5, **kwargs)


def mobilenet_v2_0_25(**kwargs: Any) -> MobileNetV2:
    """MobileNetV2 of quarter width."""
    return get_mobilenet_v2(0.25, **kwargs)
