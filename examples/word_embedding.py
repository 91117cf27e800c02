"""Word embeddings: skip-gram with negative sampling on English text.

An ordinary MXNet script. It reads ``--text FILE``, or the language reference that comes with Python. Printed are the
loss and how often a word's true neighbour in held-out text scores above a random word (0.5 is guessing), and some
words with the words nearest to them.
"""

import argparse
import collections
import re

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn


def read_words(path):
    if path:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    else:
        from pydoc_data.topics import topics

        text = "\n".join(topics[name] for name in sorted(topics))
    return re.findall(r"[a-z]+", text.lower())


def pairs_of(codes, window):
    """(word, neighbour) pairs within a window; -1 stands for rare words, which have none."""
    found = []
    for distance in range(1, window + 1):
        both = np.stack([codes[:-distance], codes[distance:]], axis=1)
        found += [both, both[:, ::-1]]
    pairs = np.concatenate(found)
    return pairs[(pairs >= 0).all(axis=1)]


class SkipGram(nn.HybridBlock):
    """Scores (batch, candidates) of words as neighbours of a word."""

    def __init__(self, words, width, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.inner = nn.Embedding(words, width, weight_initializer=mx.init.Uniform(0.1))
            self.outer = nn.Embedding(words, width, weight_initializer=mx.init.Zero())

    def hybrid_forward(self, F, word, candidates):
        vector = self.inner(word).expand_dims(2)
        return F.batch_dot(self.outer(candidates), vector).reshape((0, -1))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--text")
    options.add_argument("--tiny", action="store_true")
    options.add_argument("--steps", type=int, default=4000)
    options = options.parse_args()
    size, most, width, batch, steps = 80000, 2000, 64, 256, options.steps
    if options.tiny:
        size, most, width, batch, steps = 20000, 400, 16, 256, 400
    mx.random.seed(7)
    rng = np.random.RandomState(7)
    words = read_words(options.text)[:size]
    counted = collections.Counter(words).most_common(most)
    vocabulary = [word for word, _ in counted]
    index = {word: number for number, word in enumerate(vocabulary)}
    codes = np.array([index.get(word, -1) for word in words])
    cut = len(codes) // 10
    held_out, pairs = pairs_of(codes[:cut], 3), pairs_of(codes[cut:], 3)
    # Frequent words are drawn less often than they occur, as negatives too.
    weights = np.array([count for _, count in counted]) ** 0.75
    weights /= weights.sum()
    print("%d words, %d different, %d pairs" % (len(words), len(vocabulary), len(pairs)))
    net = SkipGram(len(vocabulary), width)
    net.initialize()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02})
    loss_of = gluon.loss.SigmoidBinaryCrossEntropyLoss()
    labels = nd.array(np.array([[1] + [0] * 5] * batch))
    for step in range(steps):
        chosen = pairs[rng.randint(0, len(pairs), batch)]
        negatives = rng.choice(len(vocabulary), (batch, 5), p=weights)
        candidates = nd.array(np.concatenate([chosen[:, 1:], negatives], axis=1))
        with autograd.record():
            loss = loss_of(net(nd.array(chosen[:, 0]), candidates), labels)
        loss.backward()
        trainer.step(batch)
        if (step + 1) % (steps // 5) == 0:
            print("step %4d: loss %.4f" % (step + 1, loss.mean().asscalar()))
    true = held_out[rng.randint(0, len(held_out), 2000)]
    random = rng.choice(len(vocabulary), (2000, 1), p=weights)
    scores = net(nd.array(true[:, 0]), nd.array(np.concatenate([true[:, 1:], random], axis=1))).asnumpy()
    vectors = net.inner.weight.data().asnumpy()
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    for word in vocabulary[20:60:10]:
        near = np.argsort(-(vectors @ vectors[index[word]]))[1:5]
        print("%s: %s" % (word, ", ".join(vocabulary[number] for number in near)))
    print("true neighbour preferred: %.4f" % (scores[:, 0] > scores[:, 1]).mean())


if __name__ == "__main__":
    main()
