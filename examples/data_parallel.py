"""Data-parallel training on several devices: every batch is split, gradients are added up.

An ordinary MXNet script; ``--devices cpu(0),cpu(1)`` or ``gpu(0),gpu(1)``. With ``XLA_FLAGS=--xla_force_host_platform_
device_count=2`` a CPU counts as two devices. Printed are the accuracy and that all devices hold the same weights.
"""

import argparse

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn
from sklearn.datasets import load_digits


def context(text):
    kind, _, number = text.partition("(")
    return mx.Context(kind, int(number.rstrip(")") or 0))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--devices", default="cpu(0),cpu(1)")
    options.add_argument("--tiny", action="store_true")
    options.add_argument("--epochs", type=int, default=20)
    options = options.parse_args()
    devices = [context(one) for one in options.devices.split(",")]
    epochs, width = (4, 32) if options.tiny else (options.epochs, 256)
    mx.random.seed(8)
    np.random.seed(8)
    found = load_digits()
    images, labels = (found.data / 16).astype("float32"), found.target.astype("float32")
    train = gluon.data.DataLoader(
        gluon.data.ArrayDataset(images[:1500], labels[:1500]), 64, shuffle=True, last_batch="discard"
    )
    net = nn.HybridSequential()
    net.add(nn.Dense(width, activation="relu"), nn.Dense(10))
    net.initialize(mx.init.Xavier(), ctx=devices)
    net.hybridize()
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.3, "momentum": 0.9}, kvstore="device")
    for epoch in range(epochs):
        total = 0.0
        for x, y in train:
            parts = zip(gluon.utils.split_and_load(x, devices), gluon.utils.split_and_load(y, devices))
            with autograd.record():
                losses = [loss_of(net(data), label) for data, label in parts]
            for loss in losses:
                loss.backward()
            trainer.step(len(y))
            total += sum(loss.mean().asscalar() for loss in losses) / len(losses)
        print("epoch %2d: loss %.4f on %s" % (epoch, total / len(train), ", ".join(map(str, devices))))
    copies = [one.asnumpy() for one in net[0].weight.list_data()]
    print("weights differ between devices by %.2g" % max(np.abs(one - copies[0]).max() for one in copies))
    guesses = net(nd.array(images[1500:], ctx=devices[-1])).asnumpy().argmax(axis=1)
    print("held-out accuracy: %.4f" % (guesses == labels[1500:]).mean())


if __name__ == "__main__":
    main()
