"""The workloads on MXNet's API. ``python workloads.py mxnet`` or ``python workloads.py gluonjax`` prints JSON.

Every value is the median time of one call in seconds. Names given after the implementation select workloads.
"""

import importlib
import json
import logging
import sys
import time

import numpy as np
from timing import seconds_per_call

mx = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "gluonjax")
nd, autograd, gluon, sym = mx.nd, mx.autograd, mx.gluon, mx.sym
nn = gluon.nn


def measured(function):
    return seconds_per_call(function, nd.waitall)


def small_operator():
    """a + b on 10x10."""
    a, b = nd.ones((10, 10)), nd.ones((10, 10))
    return measured(lambda: a + b)


def in_place():
    """a += b; a[2] = 0 on 10x10."""
    a, b = nd.ones((10, 10)), nd.ones((10, 10))

    def step():
        nonlocal a
        a += b
        a[2] = 0

    return measured(step)


def recorded():
    """41 recorded small operators and their backward."""
    x, w = nd.ones((10, 10)) * 0.1, nd.ones((10, 10)) * 0.1
    w.attach_grad()

    def step():
        with autograd.record():
            y = nd.dot(x, w)
            for _ in range(10):
                y = nd.tanh(y) + w
                y = y * 0.5 - x
        y.backward()

    return measured(step)


def mlp():
    net = nn.HybridSequential()
    net.add(nn.Dense(256, activation="relu"), nn.Dense(128, activation="relu"), nn.Dense(10))
    return net, (128, 784)


def lenet():
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(20, 5, activation="tanh"), nn.MaxPool2D(2, 2), nn.Conv2D(50, 5, activation="tanh"),
        nn.MaxPool2D(2, 2), nn.Flatten(), nn.Dense(500, activation="tanh"), nn.Dense(10),
    )
    return net, (64, 1, 28, 28)


def prepared(build, hybridized):
    net, shape = build()
    net.initialize(mx.init.Xavier())
    if hybridized:
        net.hybridize(static_alloc=True, static_shape=True)
    data = nd.array(np.random.RandomState(0).rand(*shape))
    net(data)
    return net, data


def training(build, hybridized):
    """One step: forward, loss, backward, SGD with momentum."""
    net, data = prepared(build, hybridized)
    label = nd.array(np.arange(len(data)) % 10)
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    if hybridized:
        loss_of.hybridize(static_alloc=True, static_shape=True)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01, "momentum": 0.9})

    def step():
        with autograd.record():
            loss = loss_of(net(data), label)
        loss.backward()
        trainer.step(len(data))

    return measured(step)


def inference(build, hybridized):
    net, data = prepared(build, hybridized)
    return measured(lambda: net(data))


def module_fit():
    """One epoch of Module.fit: LeNet, 1,280 images in batches of 64; the median epoch after the second."""
    net = sym.Variable("data")
    for filters in (20, 50):
        net = sym.Convolution(net, kernel=(5, 5), num_filter=filters)
        net = sym.Activation(net, act_type="tanh")
        net = sym.Pooling(net, pool_type="max", kernel=(2, 2), stride=(2, 2))
    net = sym.Activation(sym.FullyConnected(sym.flatten(net), num_hidden=500), act_type="tanh")
    net = sym.SoftmaxOutput(sym.FullyConnected(net, num_hidden=10), name="softmax")
    rng = np.random.RandomState(0)
    images = rng.rand(1280, 1, 28, 28).astype("float32")
    data = mx.io.NDArrayIter(images, np.arange(1280) % 10, 64)
    module = mx.mod.Module(net, context=mx.cpu())
    ends = []

    def mark(*_):
        nd.waitall()
        ends.append(time.perf_counter())

    logging.disable(logging.CRITICAL)
    module.fit(
        data, num_epoch=7, optimizer="sgd", optimizer_params={"learning_rate": 0.01, "momentum": 0.9},
        initializer=mx.init.Xavier(), epoch_end_callback=mark,
    )
    times = np.sort(np.diff(ends[1:]))
    return float(times[len(times) // 2])


WORKLOADS = {
    "eager a + b, 10x10": small_operator,
    "a += b; a[2] = 0, 10x10": in_place,
    "41 recorded small operators + backward": recorded,
    "MLP training step, eager": lambda: training(mlp, False),
    "MLP training step, hybridized": lambda: training(mlp, True),
    "MLP inference, eager": lambda: inference(mlp, False),
    "MLP inference, hybridized": lambda: inference(mlp, True),
    "LeNet training step, eager": lambda: training(lenet, False),
    "LeNet training step, hybridized": lambda: training(lenet, True),
    "Module.fit, LeNet, one epoch of 1,280": module_fit,
}


if __name__ == "__main__":
    wanted = sys.argv[2:] or list(WORKLOADS)
    print(json.dumps({name: WORKLOADS[name]() for name in wanted}))
