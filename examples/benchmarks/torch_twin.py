"""The training workloads in PyTorch, for gpu.py. ``TWINS[name](tiny, device)`` prepares one and returns (step, wait).

Names that end in "bfloat16" run under autocast. Nothing here is needed where torch is not installed.
"""

import numpy as np
import torch
from torch import nn


def mlp(tiny):
    return nn.Sequential(
        nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10)
    ), (8 if tiny else 128, 784)  # fmt: skip


def lenet(tiny):
    return nn.Sequential(
        nn.Conv2d(1, 20, 5), nn.Tanh(), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.Tanh(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(800, 500), nn.Tanh(), nn.Linear(500, 10),
    ), (4 if tiny else 64, 1, 28, 28)  # fmt: skip


def normalized(inputs, filters, size, stride=1, groups=1):
    conv = nn.Conv2d(inputs, filters, size, stride, size // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(filters))


class Residual(nn.Module):
    """A ResNet v1 block of either kind."""

    def __init__(self, inputs, filters, stride, bottleneck):
        super().__init__()
        inner = filters // 4 if bottleneck else filters
        parts = [normalized(inputs, inner, 1 if bottleneck else 3, stride), nn.ReLU(), normalized(inner, inner, 3)]
        if bottleneck:
            parts += [nn.ReLU(), normalized(inner, filters, 1)]
        self.body = nn.Sequential(*parts)
        same = inputs == filters and stride == 1
        self.shortcut = nn.Identity() if same else normalized(inputs, filters, 1, stride)

    def forward(self, x):
        return torch.relu(self.body(x) + self.shortcut(x))


def resnet(stages, channels, classes, bottleneck=False):
    inputs = channels[0]
    parts = [normalized(3, inputs, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    for stage, (blocks, filters) in enumerate(zip(stages, channels[1:])):
        for block in range(blocks):
            parts.append(Residual(inputs, filters, 2 if stage and not block else 1, bottleneck))
            inputs = filters
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))


def resnet18(tiny):
    if tiny:
        return resnet((1, 1), (4, 4, 8), 10), (2, 3, 32, 32)
    return resnet((2, 2, 2, 2), (64, 64, 128, 256, 512), 1000), (8, 3, 224, 224)


def resnet50(tiny):
    if tiny:
        return resnet((1, 1), (4, 16, 32), 10, True), (2, 3, 32, 32)
    return resnet((3, 4, 6, 3), (64, 256, 512, 1024, 2048), 1000, True), (64, 3, 224, 224)


def mobilenet(tiny):
    scale = 4 if tiny else 1
    inputs, parts = 32 // scale, [normalized(3, 32 // scale, 3, 2), nn.ReLU()]
    pairs = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]
    for channels, stride in pairs:
        parts += [normalized(inputs, inputs, 3, stride, inputs), nn.ReLU()]
        parts += [normalized(inputs, channels // scale, 1), nn.ReLU()]
        inputs = channels // scale
    net = nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1000))
    return net, (2, 3, 32, 32) if tiny else (8, 3, 224, 224)


def waiting(device):
    return lambda found: torch.cuda.synchronize() if device == "cuda" else None


def training(build, bfloat16=False):
    """Cross-entropy and SGD with momentum; images in channels-last memory."""

    def prepare(tiny, device):
        net, shape = build(tiny)
        net = net.to(device)
        data = torch.rand(shape, device=device)
        if data.dim() == 4:
            net, data = net.to(memory_format=torch.channels_last), data.contiguous(memory_format=torch.channels_last)
        label = torch.arange(shape[0], device=device) % 10
        rule = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9)
        loss_of = nn.CrossEntropyLoss()

        def step():
            rule.zero_grad(set_to_none=True)
            with torch.autocast(device, torch.bfloat16, enabled=bfloat16):
                loss = loss_of(net(data), label)
            loss.backward()
            rule.step()
            return loss

        return step, waiting(device)

    return prepare


def lstm(sizes, tiny_sizes, bfloat16=False):
    """Two layers of (steps, batch, units): forward, backward, update."""

    def prepare(tiny, device):
        steps, batch, units = tiny_sizes if tiny else sizes
        net = nn.LSTM(units, units, 2).to(device)
        data = torch.as_tensor(np.random.RandomState(0).rand(steps, batch, units), dtype=torch.float32, device=device)
        rule = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9)

        def step():
            rule.zero_grad(set_to_none=True)
            with torch.autocast(device, torch.bfloat16, enabled=bfloat16):
                loss = net(data)[0].float().square().mean()
            loss.backward()
            rule.step()
            return loss

        return step, waiting(device)

    return prepare


def exact_float32():
    """float32 means float32: no TF32 in matrix products and convolutions."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True


SIZES = (64, 64, 1024), (5, 2, 8)
TWINS = {
    "MLP training, hybridized": training(mlp),
    "LeNet training, hybridized": training(lenet),
    "ResNet-18 training, hybridized": training(resnet18),
    "MobileNet 1.0 training, hybridized": training(mobilenet),
    "ResNet-50 training, float32": training(resnet50),
    "ResNet-50 training, bfloat16": training(resnet50, bfloat16=True),
    "LSTM 2x1024 training, float32": lstm(*SIZES),
    "LSTM 2x1024 training, bfloat16": lstm(*SIZES, bfloat16=True),
}
