"""Data parallelism: every batch is shared by two contexts, and the result is that of one.

An ordinary MXNet script. Run it on gluonjax with ``python -m gluonjax run examples/two_contexts.py``.
Without GPUs the contexts are two CPU devices: XLA_FLAGS=--xla_force_host_platform_device_count=2 makes two of them.
EXAMPLE_TINY=1 takes fewer points.
"""

import os

import mxnet as mx
import numpy as np

TINY = os.environ.get("EXAMPLE_TINY") == "1"
POINTS, EPOCHS, BATCH = (400, 6, 40) if TINY else (4000, 20, 80)


def points():
    """Two half moons."""
    source = np.random.RandomState(0)
    label = np.arange(POINTS) % 2
    angle = source.uniform(0, np.pi, POINTS)
    data = np.stack([np.cos(angle) + label, np.sin(angle) * (1 - 2 * label) + 0.4 * label], 1)
    return (data + source.normal(0, 0.1, data.shape)).astype("float32"), label.astype("float32")


def train(contexts):
    mx.random.seed(4)
    np.random.seed(4)
    data, label = points()
    split = POINTS * 3 // 4
    train_batches = mx.io.NDArrayIter(data[:split], label[:split], BATCH)
    test_batches = mx.io.NDArrayIter(data[split:], label[split:], BATCH)
    net = mx.sym.Activation(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=32, name="fc1"), act_type="relu")
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=2, name="fc2"), name="softmax")
    model = mx.mod.Module(net, context=contexts)
    model.fit(
        train_batches, num_epoch=EPOCHS, initializer=mx.init.Xavier(), kvstore="device",
        optimizer_params={"learning_rate": 0.3, "momentum": 0.9},
    )
    accuracy = dict(model.score(test_batches, "acc"))["accuracy"]
    print("%s: held-out accuracy %.3f" % (contexts, accuracy))
    return model.get_params()[0]


def main():
    one, two = train([mx.cpu(0)]), train([mx.cpu(0), mx.cpu(1)])
    difference = max(np.abs(one[name].asnumpy() - two[name].asnumpy()).max() for name in one)
    print("largest difference of a weight: %.1e" % difference)


if __name__ == "__main__":
    main()
