"""Hybrid and lazy: the same network run imperatively and as a symbol, and calls that return before they are done.

An ordinary MXNet script. Run it on gluonjax with ``python -m gluonjax run examples/hybrid_and_lazy.py``.
Sizes come from the environment: EXAMPLE_SIZE (side of the square matrices, default 1500).
"""

import os
import time

import mxnet as mx
from mxnet import nd
from mxnet.gluon import nn

SIZE = int(os.environ.get("EXAMPLE_SIZE", "1500"))


class Stopwatch:
    """Prints how long a block took."""

    def __init__(self, label):
        self.label = label

    def __enter__(self):
        self.start = time.time()
        return self

    def __exit__(self, *error):
        print("%s: %.4f sec" % (self.label, time.time() - self.start))


def perceptron():
    net = nn.HybridSequential()
    net.add(nn.Dense(256, activation="relu"), nn.Dense(128, activation="relu"), nn.Dense(2))
    net.initialize()
    return net


class HybridNet(nn.HybridBlock):
    """Two layers whose forward tells what it is given."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.hidden = nn.Dense(10)
            self.output = nn.Dense(2)

    def hybrid_forward(self, F, x):
        print("F:", F)
        print("x:", x)
        x = F.relu(self.hidden(x))
        print("hidden:", x)
        return self.output(x)


def repeated(function, count):
    for _ in range(count):
        function().wait_to_read()


def show_sequential():
    print("== a network before and after hybridize")
    net = perceptron()
    x = nd.random.normal(shape=(1, 512))
    before = net(x)
    print(before.shape, before.dtype, before.context)
    net.hybridize()
    after = net(x)
    print(after.shape, "same values:", bool(nd.abs(before - after).max().asscalar() < 1e-5))
    with Stopwatch("200 hybridized calls"):
        repeated(lambda: net(x), 200)
    print(net(mx.sym.var("data")))
    for name, parameter in net.collect_params().items():
        print("  %-14s %s" % (name, parameter.shape))


def show_hybrid_forward():
    print("== what hybrid_forward sees")
    net = HybridNet(prefix="hybridnet0_")
    net.initialize(mx.init.One())
    x = nd.array([[0.25, 0.5, 0.75, 1.0]])
    print(net(x))
    net.hybridize()
    print("-- first hybridized call")
    print(net(x))
    print("-- second hybridized call")
    print(net(x))


def show_laziness():
    print("== calls return before the value is there")
    a = nd.ones((1, 2))
    b = nd.ones((1, 2))
    print(a * b + 2)
    x = nd.random.uniform(shape=(SIZE, SIZE))
    nd.waitall()
    with Stopwatch("asking for a product"):
        y = nd.dot(x, x)
    with Stopwatch("wait_to_read"):
        y.wait_to_read()
    with Stopwatch("asking for two products"):
        y, z = nd.dot(x, x), nd.dot(x + 1, x)
    with Stopwatch("waitall"):
        nd.waitall()
    with Stopwatch("asscalar of a norm"):
        value = y.norm().asscalar()
    print(type(value).__name__, value > 0, z.shape)


def show_parallel_work():
    print("== independent work, and copies beside computation")
    x = nd.random.uniform(shape=(SIZE, SIZE))
    y = nd.random.uniform(shape=(SIZE, SIZE), ctx=mx.cpu(1))
    nd.waitall()

    def products(array):
        return [nd.dot(array, array) for _ in range(5)]

    with Stopwatch("one after the other"):
        products(x)
        nd.waitall()
        products(y)
        nd.waitall()
    with Stopwatch("both at once"):
        products(x)
        products(y)
        nd.waitall()

    with Stopwatch("compute, then copy"):
        results = products(x)
        nd.waitall()
        copies = [result.copyto(mx.cpu(1)) for result in results]
        nd.waitall()
    with Stopwatch("copy while computing"):
        copies = [result.copyto(mx.cpu(1)) for result in products(x)]
        nd.waitall()
    print(len(copies), copies[0].context, copies[0].shape)


if __name__ == "__main__":
    show_sequential()
    show_hybrid_forward()
    show_laziness()
    show_parallel_work()
