"""Writes tests/data/gluon/: what the real MXNet 1.9.1's Gluon saves, and what it computes. Run with that MXNet.

    record_gluon.py             write the files
    record_gluon.py FOLDER      read what ``tests/gluon/test_exchange.py`` wrote there, and check it
"""

from __future__ import annotations

import os
import sys

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon
from mxnet.gluon import nn, rnn

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "gluon")
X = np.linspace(-1, 1, 24, dtype=np.float32).reshape(2, 3, 4)


def convolutional():
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Conv1D(2, 2, use_bias=False), nn.BatchNorm(), nn.Swish(), nn.Dense(3))
    return net


# No PReLU: behind BatchNorm MXNet's CPU gradient of its one slope misses most of the sum.
# One layer: MXNet's CPU gradient of a bidirectional LSTM's lower layers is uninitialized memory.
# No bias before BatchNorm: its gradient is rounding noise, which Adam scales up to whole steps.
def recurrent():
    net = nn.HybridSequential(prefix="rec_")
    with net.name_scope():
        net.add(rnn.LSTM(3, bidirectional=True), nn.Dense(2, flatten=False))
    return net


NETS = {"convolutional": convolutional, "recurrent": recurrent}


def train(net):
    """Three steps, so that parameters and moving statistics have values of their own; returns the losses."""
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
    losses = []
    for _ in range(3):
        with autograd.record():
            loss = (net(mx.nd.array(X)) ** 2).mean()
        loss.backward()
        trainer.step(1)
        losses.append(loss.asscalar())
    return trainer, losses


def record():
    os.makedirs(FOLDER, exist_ok=True)
    answers = {}
    for name, build in NETS.items():
        mx.random.seed(4)
        net = build()
        net.initialize(mx.init.Normal(0.5))
        net(mx.nd.array(X))
        start = {f"{name}:start:{key}": value.data().asnumpy() for key, value in net.collect_params().items()}
        net.hybridize()
        trainer, losses = train(net)
        path = os.path.join(FOLDER, name)
        net.save_parameters(path + "-structural.params")
        net.collect_params().save(path + "-full.params")
        net.export(path)
        trainer.save_states(path + ".states")
        answers.update(start)
        answers[f"{name}:losses"] = np.array(losses)
        answers[f"{name}:output"] = net(mx.nd.array(X)).asnumpy()
    np.savez_compressed(os.path.join(FOLDER, "answers.npz"), **answers)
    print(sorted(os.listdir(FOLDER)))


def verify(folder):
    for name, build in NETS.items():
        path = os.path.join(folder, name)
        expected = np.load(path + "-output.npy")
        net = build()
        net.load_parameters(path + "-structural.params")
        np.testing.assert_allclose(net(mx.nd.array(X)).asnumpy(), expected, rtol=1e-4, atol=1e-5)
        block = gluon.SymbolBlock.imports(path + "-symbol.json", ["data"], path + "-0000.params")
        np.testing.assert_allclose(block(mx.nd.array(X)).asnumpy(), expected, rtol=1e-4, atol=1e-5)
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
        trainer.load_states(path + ".states")
        with autograd.record():
            loss = (net(mx.nd.array(X)) ** 2).mean()
        loss.backward()
        trainer.step(1)
        print(name, "read by mxnet", mx.__version__)


if __name__ == "__main__":
    verify(sys.argv[1]) if len(sys.argv) > 1 else record()
