"""A language model on real text: an LSTM for every sentence length, all with the same weights (BucketingModule).

An ordinary MXNet script. Run it on gluonjax with ``python -m gluonjax run examples/bucketing_lstm.py``.
The text is Python's own reference manual, which comes with every Python. EXAMPLE_TINY=1 takes a small part of it.
The last line compares the model with one that only knows how frequent words are; it must be better.
"""

import collections
import math
import os
import re
from pydoc_data.topics import topics

import mxnet as mx
import numpy as np

TINY = os.environ.get("EXAMPLE_TINY") == "1"
SENTENCES, WORDS, HIDDEN, EPOCHS, BATCH = (600, 60, 24, 4, 16) if TINY else (6000, 1500, 128, 12, 32)
BUCKETS = [6, 12] if TINY else [10, 20, 30]
PAD, RARE = 0, 1


def sentences():
    """Sentences as lists of words, lower case, without markup."""
    text = " ".join(topics[name] for name in sorted(topics))
    found = (re.findall(r"[a-z]+", one.lower()) for one in re.split(r"[.:;]\s", text))
    return [one for one in found if 3 <= len(one) <= BUCKETS[-1]][:SENTENCES]


def numbered(lists):
    """Words as numbers: frequent ones from 2 on, rare ones 1; 0 fills up."""
    counts = collections.Counter(word for one in lists for word in one)
    frequent = sorted(counts, key=lambda word: (-counts[word], word))[: WORDS - 2]
    numbers = {word: 2 + i for i, word in enumerate(frequent)}
    return [[numbers.get(word, RARE) for word in one] for one in lists]


def frequency_perplexity(train, test):
    """What guessing by word frequency alone achieves on the words after the first."""
    counts = collections.Counter(word for one in train for word in one[1:])
    total = sum(counts.values())
    logs = [math.log((counts[word] + 1) / (total + WORDS)) for one in test for word in one[1:]]
    return math.exp(-sum(logs) / len(logs))


def main():
    mx.random.seed(7)
    np.random.seed(7)
    lists = numbered(sentences())
    train, test = [one for i, one in enumerate(lists) if i % 8], lists[::8]
    print("%d sentences to train on, %d held out, buckets %s" % (len(train), len(test), BUCKETS))
    batches, held_out = (
        mx.rnn.BucketSentenceIter(part, BATCH, buckets=BUCKETS, invalid_label=PAD) for part in (train, test)
    )
    cell = mx.rnn.LSTMCell(HIDDEN, prefix="lstm_")

    def network(length):
        data, label = mx.sym.var("data"), mx.sym.var("softmax_label")
        embedded = mx.sym.Embedding(data, input_dim=WORDS, output_dim=HIDDEN, name="embed")
        cell.reset()
        outputs, _ = cell.unroll(length, inputs=embedded, merge_outputs=True)
        scores = mx.sym.FullyConnected(mx.sym.reshape(outputs, shape=(-1, HIDDEN)), num_hidden=WORDS, name="scores")
        loss = mx.sym.SoftmaxOutput(
            scores, mx.sym.reshape(label, shape=(-1,)), use_ignore=True, ignore_label=PAD, name="softmax"
        )
        return loss, ("data",), ("softmax_label",)

    model = mx.mod.BucketingModule(network, default_bucket_key=batches.default_bucket_key)
    metric = mx.metric.Perplexity(PAD)
    model.fit(
        batches, eval_data=held_out, eval_metric=metric, num_epoch=EPOCHS, initializer=mx.init.Xavier(),
        optimizer="adam", optimizer_params={"learning_rate": 0.02 if TINY else 0.005, "rescale_grad": 1 / BATCH / 8},
        epoch_end_callback=lambda epoch, *_: print("epoch %2d: training perplexity %.1f" % (epoch, metric.get()[1])),
    )
    held_out.reset()
    reached = dict(model.score(held_out, mx.metric.Perplexity(PAD)))["perplexity"]
    known = frequency_perplexity(train, test)
    print("held-out perplexity: %.1f, by word frequency alone: %.1f" % (reached, known))


if __name__ == "__main__":
    main()
