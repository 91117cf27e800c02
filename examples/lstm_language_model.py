"""A language model of letters: an LSTM that reads English and is asked for the next letter.

An ordinary MXNet script. It reads ``--text FILE``, or the language reference that comes with every Python
(``pydoc_data.topics``). The hidden state goes on from batch to batch; gradients stop there and are clipped.
Printed is the perplexity on held-out text (the number of letters is what guessing blindly would give).
"""

import argparse
import time

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn, rnn


def read_text(path):
    if path:
        with open(path, encoding="utf-8") as file:
            return file.read()
    from pydoc_data.topics import topics

    return "\n".join(topics[name] for name in sorted(topics))


def batches(codes, batch, length):
    """(length, batch) pieces of text with what follows every letter, in reading order in each column."""
    rows = len(codes) // batch
    columns = codes[: rows * batch].reshape(batch, rows).T
    for start in range(0, rows - length - 1, length):
        yield nd.array(columns[start : start + length]), nd.array(columns[start + 1 : start + length + 1])


class LetterModel(nn.Block):
    def __init__(self, letters, width, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.embedding = nn.Embedding(letters, width)
            self.lstm = rnn.LSTM(width, num_layers=1)
            self.output = nn.Dense(letters, flatten=False)

    def forward(self, x, state):
        hidden, state = self.lstm(self.embedding(x), state)
        return self.output(hidden), state


def perplexity(model, codes, batch, length, loss_of):
    state = model.lstm.begin_state(batch)
    total, count = 0.0, 0
    for x, y in batches(codes, batch, length):
        guess, state = model(x, state)
        total += loss_of(guess, y).mean().asscalar()
        count += 1
    return float(np.exp(total / count))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--text")
    options.add_argument("--tiny", action="store_true")
    options.add_argument("--epochs", type=int, default=8)
    options = options.parse_args()
    width, batch, length, size, epochs = 256, 32, 48, 600000, options.epochs
    if options.tiny:
        width, batch, length, size, epochs = 32, 16, 16, 20000, 3
    mx.random.seed(2)
    text = read_text(options.text)[:size]
    letters = sorted(set(text))
    index = {letter: number for number, letter in enumerate(letters)}
    codes = np.array([index[letter] for letter in text], "float32")
    held_out, codes = codes[: len(codes) // 10], codes[len(codes) // 10 :]
    print("%d letters to train on, %d held out, %d different" % (len(codes), len(held_out), len(letters)))
    model = LetterModel(len(letters), width)
    model.initialize(mx.init.Xavier())
    model.hybridize()
    trainer = gluon.Trainer(model.collect_params(), "adam", {"learning_rate": 0.01})
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    for epoch in range(epochs):
        state, tic = model.lstm.begin_state(batch), time.time()
        for x, y in batches(codes, batch, length):
            state = [one.detach() for one in state]
            with autograd.record():
                guess, state = model(x, state)
                loss = loss_of(guess, y).mean()
            loss.backward()
            gradients = [p.grad() for p in model.collect_params().values()]
            gluon.utils.clip_global_norm(gradients, 1.0, check_isfinite=False)
            trainer.step(1)
        found = perplexity(model, held_out, batch, length, loss_of)
        seconds = time.time() - tic
        print("epoch %d: loss %.3f, held-out perplexity %.2f, %.1f sec" % (epoch, loss.asscalar(), found, seconds))
    print("held-out perplexity: %.2f" % found)


if __name__ == "__main__":
    main()
