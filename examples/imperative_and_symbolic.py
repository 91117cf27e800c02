"""Imperative and symbolic: one formula computed at once and as a graph, a symbol looked into, a model fitted.

An ordinary MXNet script. Run it on gluonjax with ``python -m gluonjax run examples/imperative_and_symbolic.py``.
Sizes come from the environment: EXAMPLE_EPOCHS (default 6).
"""

import logging
import os
import sys

import mxnet as mx
import numpy as np
from mxnet import nd, sym

EPOCHS = int(os.environ.get("EXAMPLE_EPOCHS", "6"))


def show_formula():
    print("== (A + B) * C, imperative")
    a, b, c = nd.array([1, 2, 3]), nd.array([4, 5, 6]), nd.array([2, 3, 4])
    print((a + b) * c)

    print("== (A + B) * C, symbolic")
    A, B, C = sym.Variable("A"), sym.Variable("B"), sym.Variable("C")
    formula = (A + B) * C
    print(formula)
    print(formula.list_arguments(), formula.list_outputs())
    executor = formula.bind(ctx=mx.cpu(), args={"A": a, "B": b, "C": c})
    print(executor.forward())
    print(executor.outputs[0].asnumpy().tolist())


def convolutional():
    data = sym.Variable("data")
    conv = sym.Convolution(data, kernel=(3, 3), num_filter=100, pad=(1, 1), name="conv1")
    norm = sym.BatchNorm(conv, name="bn1")
    relu = sym.Activation(norm, act_type="relu", name="relu1")
    pool = sym.Pooling(relu, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool1")
    dense = sym.FullyConnected(pool, num_hidden=3, name="fc1")
    return sym.SoftmaxOutput(dense, name="softmax")


def show_symbol():
    print("== a symbol looked into")
    net = convolutional()
    print(net.list_arguments())
    print(net.list_auxiliary_states())
    print(net.list_outputs())
    arguments, outputs, auxiliary = net.infer_shape(data=(1, 3, 10, 10))
    for name, shape in zip(net.list_arguments(), arguments):
        print("  %-14s %s" % (name, shape))
    print(outputs, auxiliary)
    types, _, _ = net.infer_type(data="float32")
    print([t.__name__ for t in types])

    internals = net.get_internals()
    print(internals.list_outputs())
    pool = internals["pool1_output"]
    print(pool, pool.infer_shape(data=(1, 3, 10, 10))[1])
    head = sym.SoftmaxOutput(sym.FullyConnected(pool, num_hidden=5, name="other_head"), name="softmax")
    print(head.list_arguments())
    print(head.infer_shape(data=(1, 3, 10, 10))[1])


def blobs(count, seed):
    """Three well separated clusters in 8 dimensions: a task that every right implementation solves completely."""
    rng = np.random.RandomState(seed)
    labels = np.arange(count) % 3
    centres = 4.0 * np.eye(3, 8)
    return (centres[labels] + 0.3 * rng.randn(count, 8)).astype("float32"), labels.astype("float32")


def iterator(seed):
    points, labels = blobs(120, seed)
    return mx.io.NDArrayIter({"data": points}, {"softmax_label": labels}, batch_size=20)


def classifier():
    net = sym.FullyConnected(sym.Variable("data"), num_hidden=16, name="fc1")
    net = sym.Activation(net, act_type="relu", name="relu1")
    net = sym.FullyConnected(net, num_hidden=3, name="fc2")
    return sym.SoftmaxOutput(net, name="softmax")


def start_values():
    """Weights from NumPy, so that every implementation starts at the same point."""
    rng = np.random.RandomState(7)
    shapes = {"fc1_weight": (16, 8), "fc1_bias": (16,), "fc2_weight": (3, 16), "fc2_bias": (3,)}
    return {name: nd.array(0.2 * rng.randn(*shape)) for name, shape in shapes.items()}


def show_fit():
    print("== Module.fit")
    train, valid = iterator(1), iterator(2)
    print(train.provide_data, train.provide_label)
    mod = mx.mod.Module(classifier(), context=mx.cpu())
    mod.fit(
        train, eval_data=valid, eval_metric="acc", arg_params=start_values(), optimizer="sgd",
        optimizer_params={"learning_rate": 0.1}, num_epoch=EPOCHS,
    )
    print("held-out accuracy: %.3f" % dict(mod.score(valid, "acc"))["accuracy"])
    print(mod.predict(valid).shape)


def show_steps():
    print("== the same training, step by step")
    train, valid = iterator(1), iterator(2)
    mod = mx.mod.Module(classifier(), context=mx.cpu())
    mod.bind(data_shapes=train.provide_data, label_shapes=train.provide_label)
    mod.init_params()
    mod.set_params(start_values(), {})
    mod.init_optimizer(optimizer="sgd", optimizer_params={"learning_rate": 0.1})
    metric = mx.metric.create("acc")
    for epoch in range(EPOCHS):
        train.reset()
        metric.reset()
        for batch in train:
            mod.prepare(batch)
            mod.forward(batch, is_train=True)
            mod.update_metric(metric, batch.label)
            mod.backward()
            mod.update()
        print("epoch %d, training %s" % (epoch, "%s %.4f" % metric.get()))
    print("held-out accuracy: %.3f" % dict(mod.score(valid, "acc"))["accuracy"])
    print([out.shape for out in mod.get_outputs()])


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
    show_formula()
    show_symbol()
    show_fit()
    show_steps()
