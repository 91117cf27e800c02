"""LeNet on real handwritten digits, as a hybridized Gluon network with a Trainer.

An ordinary MXNet script. Run it on gluonjax with ``python -m gluonjax run examples/digits_gluon.py``.
The images are scikit-learn's 1,797 packaged ones. Settings come from the environment: EXAMPLE_EPOCHS (default 12),
EXAMPLE_IMAGES (default all).
"""

import os
import time

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn
from sklearn.datasets import load_digits

EPOCHS = int(os.environ.get("EXAMPLE_EPOCHS", "12"))
IMAGES = int(os.environ.get("EXAMPLE_IMAGES", "1797"))
BATCH = 32


class LeNet(nn.HybridBlock):
    """Two convolutions with pooling and two dense layers."""

    def __init__(self, classes=10, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential()
            for filters in (20, 50):
                self.features.add(
                    nn.Conv2D(filters, kernel_size=3, padding=1, activation="relu"), nn.MaxPool2D(2, 2)
                )
            self.features.add(nn.Flatten(), nn.Dense(200, activation="relu"), nn.Dropout(0.3))
            self.output = nn.Dense(classes)

    def hybrid_forward(self, F, x):
        return self.output(self.features(x))


def loaders():
    """Batches of (count, 1, 16, 16) images in 0..1 and labels, shuffled; every fifth image is held out."""
    found = load_digits()
    order = np.random.RandomState(42).permutation(len(found.target))[:IMAGES]
    images = (found.images[order] / 16.0).astype("float32")
    images = images.repeat(2, axis=1).repeat(2, axis=2)[:, None]
    labels = found.target[order].astype("float32")
    held_out = np.arange(len(labels)) % 5 == 0
    train = gluon.data.ArrayDataset(images[~held_out], labels[~held_out])
    test = gluon.data.ArrayDataset(images[held_out], labels[held_out])
    print("%d images to train on, %d held out" % (len(train), len(test)))
    return gluon.data.DataLoader(train, BATCH, shuffle=True), gluon.data.DataLoader(test, BATCH)


def accuracy_on(net, loader):
    metric = mx.metric.Accuracy()
    for images, labels in loader:
        metric.update([labels], [net(images)])
    return metric.get()[1]


def main():
    mx.random.seed(42)
    np.random.seed(42)
    start = time.time()
    train, test = loaders()
    net = LeNet()
    net.initialize(mx.init.Xavier())
    net.hybridize()
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    schedule = mx.lr_scheduler.FactorScheduler(step=90, factor=0.7)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.002, "lr_scheduler": schedule})
    for epoch in range(EPOCHS):
        total, seen, tic = nd.zeros((1,)), 0, time.time()
        for images, labels in train:
            with autograd.record():
                loss = loss_of(net(images), labels)
            loss.backward()
            trainer.step(len(labels))
            total += loss.sum()
            seen += len(labels)
        print(
            "epoch %2d: loss %.4f, held-out accuracy %.4f, %.2f sec"
            % (epoch, total.asscalar() / seen, accuracy_on(net, test), time.time() - tic)
        )
    print("held-out accuracy: %.4f" % accuracy_on(net, test))
    print("seconds: %.1f" % (time.time() - start))


if __name__ == "__main__":
    main()
