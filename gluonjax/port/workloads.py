"""The benchmark workloads, written against MXNet's API: each takes the module, so that any implementation runs them.

This file imports neither gluonjax nor mxnet. ``python -m gluonjax bench`` uses it, and ``examples/benchmarks`` load it
by path into a process of the real MXNet.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

# What a workload hands back: one call is one step and returns what has to be waited for.
Step = Callable[[], Any]


@dataclass(frozen=True)
class Workload:
    """One row of the table.

    Attributes:
        name: The row's name; hand-written twins carry the same one.
        prepare: ``(mx, tiny)`` -> the step. ``tiny`` asks for sizes that a test can afford.
        training: Whether the step records, goes backward and updates, so that a whole-step compile applies to it.
        operations: How many operations one step holds; the table shows the time of one.
    """

    name: str
    prepare: Callable[[Any, bool], Step]
    training: bool = False
    operations: int = 1


def small_operator(mx: Any, tiny: bool) -> Step:
    """One eager operator on two small arrays."""
    a, b = mx.nd.ones((10, 10)), mx.nd.ones((10, 10))
    return lambda: a + b


def in_place(mx: Any, tiny: bool) -> Step:
    """Two writes into an array that stays the same object."""
    a, b = mx.nd.ones((10, 10)), mx.nd.ones((10, 10))

    def step() -> Any:
        nonlocal a
        a += b
        a[2] = 0
        return a

    return step


def recorded(mx: Any, tiny: bool) -> Step:
    """41 recorded small operators and their backward."""
    nd = mx.nd
    x, w = nd.ones((10, 10)) * 0.1, nd.ones((10, 10)) * 0.1
    w.attach_grad()

    def step() -> Any:
        with mx.autograd.record():
            y = nd.dot(x, w)
            for _ in range(10):
                y = nd.tanh(y) + w
                y = y * 0.5 - x
        y.backward()
        return w.grad

    return step


def big_dot(mx: Any, tiny: bool) -> Step:
    """One large matrix product."""
    size = 32 if tiny else 1024
    a, b = mx.nd.ones((size, size)), mx.nd.ones((size, size))
    return lambda: mx.nd.dot(a, b)


def mlp(mx: Any, tiny: bool) -> tuple[Any, tuple[int, ...]]:
    """784-256-128-10; returns the network and its input's shape."""
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    net.add(nn.Dense(256, activation="relu"), nn.Dense(128, activation="relu"), nn.Dense(10))
    return net, (8 if tiny else 128, 784)


def lenet(mx: Any, tiny: bool) -> tuple[Any, tuple[int, ...]]:
    """20 and 50 filters of 5x5, 500 hidden units."""
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    net.add(nn.Conv2D(20, 5, activation="tanh"), nn.MaxPool2D(2, 2))
    net.add(nn.Conv2D(50, 5, activation="tanh"), nn.MaxPool2D(2, 2))
    net.add(nn.Flatten(), nn.Dense(500, activation="tanh"), nn.Dense(10))
    return net, (4 if tiny else 64, 1, 28, 28)


def resnet18(mx: Any, tiny: bool) -> tuple[Any, tuple[int, ...]]:
    """The model zoo's, for 1,000 classes (tiny: two of its blocks)."""
    zoo = mx.gluon.model_zoo.vision
    if tiny:
        return zoo.ResNetV1(zoo.BasicBlockV1, [1, 1], [4, 4, 8], classes=10), (2, 3, 32, 32)
    return zoo.resnet18_v1(), (8, 3, 224, 224)


def mobilenet(mx: Any, tiny: bool) -> tuple[Any, tuple[int, ...]]:
    """The model zoo's MobileNet 1.0 (tiny: a quarter of the channels)."""
    zoo = mx.gluon.model_zoo.vision
    return (zoo.mobilenet0_25(), (2, 3, 32, 32)) if tiny else (zoo.mobilenet1_0(), (8, 3, 224, 224))


Builder = Callable[[Any, bool], "tuple[Any, tuple[int, ...]]"]


def initialized(mx: Any, build: Builder, tiny: bool, hybridized: bool) -> tuple[Any, Any]:
    """A network whose parameters have their shapes, and a batch for it."""
    net, shape = build(mx, tiny)
    net.initialize(mx.init.Xavier())
    if hybridized:
        net.hybridize(static_alloc=True, static_shape=True)
    data = mx.nd.array(np.random.RandomState(0).rand(*shape))
    net(data).wait_to_read()
    return net, data


def training(build: Builder, hybridized: bool) -> Callable[[Any, bool], Step]:
    """The classic Gluon step: forward and loss recorded, backward, SGD with momentum."""

    def prepare(mx: Any, tiny: bool) -> Step:
        net, data = initialized(mx, build, tiny, hybridized)
        label = mx.nd.array(np.arange(len(data)) % 10)
        loss_of = mx.gluon.loss.SoftmaxCrossEntropyLoss()
        if hybridized:
            loss_of.hybridize(static_alloc=True, static_shape=True)
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01, "momentum": 0.9})

        def step() -> Any:
            with mx.autograd.record():
                loss = loss_of(net(data), label)
            loss.backward()
            trainer.step(len(data))
            return loss

        return step

    return prepare


def inference(build: Builder, hybridized: bool) -> Callable[[Any, bool], Step]:
    """One forward call outside ``record``."""

    def prepare(mx: Any, tiny: bool) -> Step:
        net, data = initialized(mx, build, tiny, hybridized)
        return lambda: net(data)

    return prepare


def fused_lstm(mx: Any, tiny: bool) -> Step:
    """The RNN layer, two times 200 units over 35 steps: forward and backward."""
    steps, batch, units = (5, 2, 8) if tiny else (35, 32, 200)
    net = mx.gluon.rnn.LSTM(units, num_layers=2)
    net.initialize(mx.init.Xavier())
    net.hybridize(static_alloc=True, static_shape=True)
    data = mx.nd.array(np.random.RandomState(0).rand(steps, batch, units))
    net(data).wait_to_read()
    weight = next(iter(net.collect_params().values()))

    def step() -> Any:
        with mx.autograd.record():
            out = net(data)
        out.backward()
        return weight.grad()

    return step


def unrolled_lstm(mx: Any, tiny: bool) -> Step:
    """An LSTMCell unrolled inside a hybridized block, with a loss over every step and an update."""
    steps, batch, units = (3, 2, 8) if tiny else (20, 32, 128)
    gluon = mx.gluon

    class Unrolled(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            with self.name_scope():
                self.cell = gluon.rnn.LSTMCell(units, input_size=units)
                self.output = gluon.nn.Dense(units, flatten=False)

        def hybrid_forward(self, F: Any, data: Any) -> Any:
            out, _ = self.cell.unroll(steps, data, layout="NTC", merge_outputs=True)
            return self.output(out)

    net = Unrolled()
    net.initialize(mx.init.Xavier())
    net.hybridize(static_alloc=True, static_shape=True)
    loss_of = gluon.loss.L2Loss()
    loss_of.hybridize(static_alloc=True, static_shape=True)
    rng = np.random.RandomState(0)
    data, label = (mx.nd.array(rng.rand(batch, steps, units)) for _ in range(2))
    net(data).wait_to_read()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})

    def step() -> Any:
        with mx.autograd.record():
            loss = loss_of(net(data), label)
        loss.backward()
        trainer.step(batch)
        return loss

    return step


def embedding(mx: Any, tiny: bool) -> Step:
    """A table of 50,000 rows of which a batch meets 4,096: forward, backward, update."""
    rows, width, batch = (50, 8, 16) if tiny else (50_000, 128, 4_096)
    net = mx.gluon.nn.Embedding(rows, width)
    net.initialize(mx.init.Uniform())
    data = mx.nd.array(np.random.RandomState(0).randint(0, rows, batch))
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})

    def step() -> Any:
        with mx.autograd.record():
            out = net(data)
        out.backward()
        trainer.step(batch)
        return net.weight.data()

    return step


def module_fit(mx: Any, tiny: bool) -> Step:
    """One epoch of ``Module.fit``: LeNet as a symbol, images from an NDArrayIter in batches of 64."""
    sym, count, batch = mx.sym, 8 if tiny else 1_280, 4 if tiny else 64
    net = sym.Variable("data")
    for filters in (20, 50):
        net = sym.Convolution(net, kernel=(5, 5), num_filter=filters)
        net = sym.Activation(net, act_type="tanh")
        net = sym.Pooling(net, pool_type="max", kernel=(2, 2), stride=(2, 2))
    net = sym.Activation(sym.FullyConnected(sym.flatten(net), num_hidden=500), act_type="tanh")
    net = sym.SoftmaxOutput(sym.FullyConnected(net, num_hidden=10), name="softmax")
    images = np.random.RandomState(0).rand(count, 1, 28, 28).astype("float32")
    data = mx.io.NDArrayIter(images, np.arange(count) % 10, batch)
    quiet = logging.Logger("benchmark", logging.CRITICAL)
    module = mx.mod.Module(net, context=mx.context.current_context(), logger=quiet)
    weight = net.list_arguments()[1]

    def step() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the second and later calls find the module bound, and say so
            module.fit(
                data, num_epoch=1, optimizer="sgd", optimizer_params={"learning_rate": 0.01, "momentum": 0.9},
                initializer=mx.init.Xavier(),
            )  # fmt: skip
        return module.get_params()[0][weight]

    return step


def data_loader(mx: Any, tiny: bool) -> Step:
    """All batches of 1,000 small images, without workers."""
    count, batch = (20, 5) if tiny else (1_000, 50)
    images = mx.nd.array(np.random.RandomState(0).rand(count, 3, 32, 32))
    labels = mx.nd.array(np.arange(count) % 10)
    loader = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(images, labels), batch_size=batch)

    def step() -> Any:
        batches = [data for data, _ in loader]
        for data in batches:
            data.wait_to_read()
        return batches[-1]

    return step


NETWORKS: tuple[tuple[str, Builder, bool], ...] = (
    ("MLP", mlp, True), ("LeNet", lenet, True), ("ResNet-18", resnet18, False), ("MobileNet 1.0", mobilenet, False),
)  # fmt: skip


def _network_rows() -> list[Workload]:
    rows = []
    for name, build, both in NETWORKS:
        for hybridized in (False, True) if both else (True,):
            how = "hybridized" if hybridized else "eager"
            rows.append(Workload(f"{name} training, {how}", training(build, hybridized), training=True))
        for hybridized in (False, True) if both else (True,):
            how = "hybridized" if hybridized else "eager"
            rows.append(Workload(f"{name} inference, {how}", inference(build, hybridized)))
    return rows


WORKLOADS: dict[str, Workload] = {
    row.name: row
    for row in (
        Workload("eager a + b", small_operator),
        Workload("a += b; a[2] = 0, per operator", in_place, operations=2),
        Workload("41 recorded operators + backward", recorded),
        *_network_rows(),
        Workload("LSTM 2x200, 35 steps, forward + backward", fused_lstm),
        Workload("LSTMCell unrolled 20 steps, training", unrolled_lstm, training=True),
        Workload("Module.fit LeNet, 1,280 images", module_fit),
        Workload("DataLoader, 1,000 images", data_loader),
        Workload("Embedding 50,000 x 128, training", embedding, training=True),
        Workload("dot 1024 x 1024", big_dot),
    )
}


def run_once(step: Step, mx: Any) -> None:
    """One step, waited for."""
    found = step()
    for array in found if isinstance(found, (list, tuple)) else (found,):
        array.wait_to_read()
    mx.nd.waitall()
