"""A single-shot detector: finds squares and circles of any size in drawn images.

An ordinary MXNet script. Two feature maps predict classes and box offsets for anchors of several sizes
(``MultiBoxPrior``), targets come from ``MultiBoxTarget`` with hard negatives, and ``MultiBoxDetection`` makes boxes of
the predictions. Printed are the overlap with the true boxes and how often the kind of shape is right.
"""

import argparse

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

SIDE = 32
SIZES = ([0.25, 0.35], [0.5, 0.65])
RATIOS = [1]


def draw(count, rng):
    """(count, 1, SIDE, SIDE) images with one shape each and (count, 1, 5) labels: class, left, top, right, bottom."""
    x = rng.normal(0, 0.1, (count, 1, SIDE, SIDE)).astype("float32")
    labels = np.zeros((count, 1, 5), "float32")
    rows, columns = np.mgrid[:SIDE, :SIDE]
    for index in range(count):
        size = rng.randint(7, 22)
        left, top = rng.randint(0, SIDE - size, 2)
        kind = rng.randint(2)
        if kind == 0:
            inside = (columns >= left) & (columns < left + size) & (rows >= top) & (rows < top + size)
        else:
            middle = (size - 1) / 2
            inside = (columns - left - middle) ** 2 + (rows - top - middle) ** 2 <= (size / 2) ** 2
        x[index, 0][inside] += 1
        labels[index, 0] = [kind, *np.array([left, top, left + size, top + size]) / SIDE]
    return nd.array(x), nd.array(labels)


def stage(width):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(width, 3, padding=1), nn.BatchNorm(), nn.Activation("relu"), nn.MaxPool2D(2))
    return net


class Detector(nn.HybridBlock):
    """Class scores (batch, classes + 1, anchors), offsets (batch, anchors * 4) and anchors (1, anchors, 4)."""

    def __init__(self, width, classes=2, **kwargs):
        super().__init__(**kwargs)
        self.classes = classes
        with self.name_scope():
            self.stem = nn.HybridSequential()
            self.stem.add(stage(width), stage(2 * width))
            self.deep = stage(2 * width)
            anchors = len(SIZES[0]) + len(RATIOS) - 1
            self.class_heads, self.box_heads = nn.HybridSequential(), nn.HybridSequential()
            for _ in SIZES:
                self.class_heads.add(nn.Conv2D(anchors * (classes + 1), 3, padding=1))
                self.box_heads.add(nn.Conv2D(anchors * 4, 3, padding=1))

    def hybrid_forward(self, F, x):
        first = self.stem(x)
        scores, offsets, anchors = [], [], []
        for index, feature in enumerate((first, self.deep(first))):
            anchors.append(F.contrib.MultiBoxPrior(feature, sizes=SIZES[index], ratios=RATIOS))
            score = F.flatten(self.class_heads[index](feature).transpose((0, 2, 3, 1)))
            scores.append(score.reshape((0, -1, self.classes + 1)))
            offsets.append(F.flatten(self.box_heads[index](feature).transpose((0, 2, 3, 1))))
        return F.concat(*scores, dim=1), F.concat(*offsets, dim=1), F.concat(*anchors, dim=1)


def overlap(a, b):
    """Intersection over union of boxes (count, 4)."""
    low, high = np.maximum(a[:, :2], b[:, :2]), np.minimum(a[:, 2:], b[:, 2:])
    shared = np.prod(np.maximum(high - low, 0), axis=1)
    area = [np.prod(box[:, 2:] - box[:, :2], axis=1) for box in (a, b)]
    return shared / (area[0] + area[1] - shared)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--tiny", action="store_true")
    options.add_argument("--steps", type=int, default=600)
    options = options.parse_args()
    width, steps, batch = (8, 120, 16) if options.tiny else (32, options.steps, 32)
    mx.random.seed(6)
    rng = np.random.RandomState(6)
    net = Detector(width)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.005})
    class_loss, box_loss = gluon.loss.SoftmaxCrossEntropyLoss(), gluon.loss.HuberLoss()
    for step in range(steps):
        x, labels = draw(batch, rng)
        with autograd.record():
            scores, offsets, anchors = net(x)
            with autograd.pause():
                box_target, box_mask, class_target = nd.contrib.MultiBoxTarget(
                    anchors, labels, scores.transpose((0, 2, 1)), negative_mining_ratio=3, negative_mining_thresh=0.5
                )
            chosen = (class_target >= 0).expand_dims(2)
            loss = class_loss(scores, nd.relu(class_target), chosen) * 4
            loss = loss + box_loss(offsets * box_mask, box_target) * 4
        loss.backward()
        trainer.step(batch)
        if (step + 1) % (steps // 5) == 0:
            print("step %4d: loss %.4f" % (step + 1, loss.mean().asscalar()))
    x, labels = draw(100, rng)
    scores, offsets, anchors = net(x)
    found = nd.contrib.MultiBoxDetection(nd.softmax(scores, axis=-1).transpose((0, 2, 1)), offsets, anchors).asnumpy()
    best = found[np.arange(100), np.where(found[:, :, 0] >= 0, found[:, :, 1], -1).argmax(axis=1)]
    truth = labels.asnumpy()[:, 0]
    right = (best[:, 0] == truth[:, 0]).mean()
    print("mean overlap: %.4f, kind correct: %.4f" % (overlap(best[:, 2:], truth[:, 1:]).mean(), right))


if __name__ == "__main__":
    main()
