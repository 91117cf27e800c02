"""Reading numbers of any length: a bidirectional LSTM with CTC over the columns of an image.

An ordinary MXNet script. Scikit-learn's digits are put side by side with gaps of random width; nothing tells the
network where a digit is. Printed is the share of held-out images whose whole number is read correctly.
"""

import argparse

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn, rnn
from sklearn.datasets import load_digits


def render(count, most, width, rng, source):
    """(count, width, 8) columns of ink and (count, most) labels padded with -1."""
    images, labels = source
    x, y = np.zeros((count, width, 8), "float32"), np.full((count, most), -1, "float32")
    for row in range(count):
        length, place = rng.randint(1, most + 1), rng.randint(0, 3)
        for position in range(length):
            chosen = rng.randint(len(labels))
            x[row, place : place + 8] = images[chosen].T
            y[row, position] = labels[chosen]
            place += 8 + rng.randint(0, 3)
    return x, y


class Reader(nn.HybridBlock):
    """Scores of ten digits and the blank for every column; neighbouring columns are seen by a convolution."""

    def __init__(self, width, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.look = nn.Conv1D(width, 5, padding=2, activation="relu")
            self.read = rnn.LSTM(width, bidirectional=True, layout="NTC")
            self.score = nn.Dense(11, flatten=False)

    def hybrid_forward(self, F, x):
        seen = self.look(x.transpose((0, 2, 1))).transpose((0, 2, 1))
        return self.score(self.read(seen))


def decode(scores):
    """Best symbol for every column, repetitions joined, blanks dropped."""
    for row in scores.argmax(axis=2).asnumpy().astype(int):
        kept = [symbol for symbol, before in zip(row, [-1, *row]) if symbol != before]
        yield [symbol for symbol in kept if symbol != 10]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--tiny", action="store_true")
    options.add_argument("--steps", type=int, default=1500)
    options = options.parse_args()
    most, width, steps, cells = (2, 22, 600, 48) if options.tiny else (4, 42, options.steps, 96)
    mx.random.seed(5)
    rng = np.random.RandomState(5)
    found = load_digits()
    source = found.images[:1500] / 16, found.target[:1500]
    held_out = render(200, most, width, rng, (found.images[1500:] / 16, found.target[1500:]))
    net = Reader(cells)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    loss_of = gluon.loss.CTCLoss(layout="NTC", label_layout="NT")
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    for step in range(steps):
        x, y = (nd.array(part) for part in render(32, most, width, rng, source))
        with autograd.record():
            loss = loss_of(net(x), y)
        loss.backward()
        trainer.step(32)
        if (step + 1) % (steps // 5) == 0:
            print("step %4d: loss %.3f" % (step + 1, loss.mean().asscalar()))
    wanted = [[int(symbol) for symbol in row if symbol >= 0] for row in held_out[1]]
    right = np.mean([guess == truth for guess, truth in zip(decode(net(nd.array(held_out[0]))), wanted)])
    print("numbers read correctly: %.4f" % right)


if __name__ == "__main__":
    main()
