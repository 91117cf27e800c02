"""Inception V3 (Szegedy et al. 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gluonjax._base.devices import CPU0
from gluonjax.gluon import nn
from gluonjax.gluon.contrib.nn import HybridConcurrent
from gluonjax.gluon.model_zoo.model_store import DEFAULT_ROOT, load_pretrained
from gluonjax.gluon.model_zoo.vision._builders import Classifier, relu, stack

# A convolution is (channels, kernel, stride, padding); a branch is a list of pools ("avg", "max"), convolutions and
# Split entries, whose branches run side by side.
WIDE, TALL = ((1, 7), (0, 3)), ((7, 1), (3, 0))


class Split(list):  # type: ignore[type-arg]
    """Branches within a branch."""


def _conv(channels: int, kernel: Any = 1, stride: int = 1, padding: Any = 0) -> nn.HybridSequential:
    convolution = nn.Conv2D(channels, kernel, stride, padding, use_bias=False)
    return stack(convolution, nn.BatchNorm(epsilon=0.001), relu())


def _branch(plan: Sequence[Any]) -> nn.HybridSequential:
    branch = stack()
    for entry in plan:
        if entry == "avg":
            branch.add(nn.AvgPool2D(pool_size=3, strides=1, padding=1))
        elif entry == "max":
            branch.add(nn.MaxPool2D(pool_size=3, strides=2))
        elif isinstance(entry, Split):
            branch.add(_concurrent(entry, ""))
        else:
            branch.add(_conv(*entry))
    return branch


def _concurrent(plans: Sequence[Sequence[Any]], prefix: str) -> HybridConcurrent:
    module = HybridConcurrent(axis=1, prefix=prefix)
    with module.name_scope():
        module.add(*[_branch(plan) for plan in plans])
    return module


def _module_a(pool_features: int) -> list[Any]:
    return [
        [(64,)], [(48,), (64, 5, 1, 2)], [(64,), (96, 3, 1, 1), (96, 3, 1, 1)], ["avg", (pool_features,)],
    ]  # fmt: skip


def _module_c(narrow: int) -> list[Any]:
    def wide(channels: int) -> tuple[Any, ...]:
        return (channels, WIDE[0], 1, WIDE[1])

    def tall(channels: int) -> tuple[Any, ...]:
        return (channels, TALL[0], 1, TALL[1])

    long = [(narrow,), tall(narrow), wide(narrow), tall(narrow), wide(192)]
    return [[(192,)], [(narrow,), wide(narrow), tall(192)], long, ["avg", (192,)]]


MODULE_B: list[Any] = [[(384, 3, 2)], [(64,), (96, 3, 1, 1), (96, 3, 2)], ["max"]]
MODULE_D: list[Any] = [
    [(192,), (320, 3, 2)], [(192,), (192, WIDE[0], 1, WIDE[1]), (192, TALL[0], 1, TALL[1]), (192, 3, 2)], ["max"],
]  # fmt: skip
_FORK = Split([[(384, (1, 3), 1, (0, 1))], [(384, (3, 1), 1, (1, 0))]])


def _module_e(prefix: str) -> HybridConcurrent:
    module = HybridConcurrent(axis=1, prefix=prefix)
    with module.name_scope():
        module.add(_branch([(320,)]))
        for start in ([(384,)], [(448,), (384, 3, 1, 1)]):
            # The start of a forked branch is a stack of its own; files carry its structure.
            module.add(stack(_branch(start), _concurrent(_FORK, "")))
        module.add(_branch(["avg", (192,)]))
    return module


def make_aux(classes: int) -> nn.HybridSequential:
    """The auxiliary classifier of the paper, to put on the last 17 x 17 features while training."""
    head = stack(nn.AvgPool2D(pool_size=5, strides=3), _conv(128), _conv(768, 5))
    head.add(nn.Flatten(), nn.Dense(classes))
    return head


class Inception3(Classifier):
    """Inception V3, for images of 299 x 299.

    Args:
        classes: number of classes.
    """

    def __init__(self, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            features = stack(
                _conv(32, 3, 2), _conv(32, 3), _conv(64, 3, 1, 1), nn.MaxPool2D(pool_size=3, strides=2)
            )
            features.add(_conv(80), _conv(192, 3), nn.MaxPool2D(pool_size=3, strides=2))
            for prefix, plan in (
                ("A1_", _module_a(32)), ("A2_", _module_a(64)), ("A3_", _module_a(64)), ("B_", MODULE_B),
                ("C1_", _module_c(128)), ("C2_", _module_c(160)), ("C3_", _module_c(160)), ("C4_", _module_c(192)),
                ("D_", MODULE_D),
            ):  # fmt: skip
                features.add(_concurrent(plan, prefix))
            features.add(_module_e("E1_"), _module_e("E2_"), nn.AvgPool2D(pool_size=8), nn.Dropout(0.5))
            self.features = features
            self.output = nn.Dense(classes)


def inception_v3(
    pretrained: bool = False, ctx: Any = CPU0, root: str = DEFAULT_ROOT, **kwargs: Any
) -> Inception3:
    """Inception V3, with ImageNet's weights if ``pretrained``."""
    return load_pretrained(Inception3(**kwargs), pretrained, "inceptionv3", root, ctx)
