"""LeNet on real handwritten digits, trained with Module.fit.

An ordinary MXNet script. Run it on gluonjax with ``python -m gluonjax run examples/digits_module.py``.
The images are scikit-learn's 1,797 packaged ones. Settings come from the environment: EXAMPLE_EPOCHS (default 12),
EXAMPLE_IMAGES (default all).
"""

import logging
import os
import sys
import time

import mxnet as mx
import numpy as np
from mxnet import sym
from sklearn.datasets import load_digits

EPOCHS = int(os.environ.get("EXAMPLE_EPOCHS", "12"))
IMAGES = int(os.environ.get("EXAMPLE_IMAGES", "1797"))
BATCH = 32


def digits():
    """Images as (count, 1, 16, 16) in 0..1 and labels, shuffled; every fifth one is held out."""
    found = load_digits()
    order = np.random.RandomState(42).permutation(len(found.target))[:IMAGES]
    images = (found.images[order] / 16.0).astype("float32")
    images = images.repeat(2, axis=1).repeat(2, axis=2)[:, None]
    labels = found.target[order].astype("float32")
    held_out = np.arange(len(labels)) % 5 == 0
    return images[~held_out], labels[~held_out], images[held_out], labels[held_out]


def lenet():
    net = sym.Variable("data")
    for position, filters in enumerate((20, 50), 1):
        net = sym.Convolution(net, kernel=(3, 3), pad=(1, 1), num_filter=filters, name="conv%d" % position)
        net = sym.Activation(net, act_type="relu", name="relu%d" % position)
        net = sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool%d" % position)
    net = sym.FullyConnected(sym.flatten(net), num_hidden=200, name="fc1")
    net = sym.Activation(net, act_type="relu", name="relu3")
    net = sym.Dropout(net, p=0.3)
    net = sym.FullyConnected(net, num_hidden=10, name="fc2")
    return sym.SoftmaxOutput(net, name="softmax")


def main():
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
    mx.random.seed(42)
    np.random.seed(42)
    start = time.time()
    train_images, train_labels, test_images, test_labels = digits()
    train = mx.io.NDArrayIter(train_images, train_labels, BATCH, shuffle=True)
    test = mx.io.NDArrayIter(test_images, test_labels, BATCH)
    print("%d images to train on, %d held out" % (len(train_labels), len(test_labels)))

    model = mx.mod.Module(lenet(), context=mx.cpu())
    schedule = mx.lr_scheduler.FactorScheduler(step=90, factor=0.7)
    model.fit(
        train, eval_data=test, num_epoch=EPOCHS, initializer=mx.init.Xavier(), optimizer="adam",
        optimizer_params={"learning_rate": 0.002, "lr_scheduler": schedule},
        batch_end_callback=mx.callback.Speedometer(BATCH, 20),
    )
    accuracy = dict(model.score(test, "acc"))["accuracy"]
    print("held-out accuracy: %.4f" % accuracy)
    print("seconds: %.1f" % (time.time() - start))


if __name__ == "__main__":
    main()
