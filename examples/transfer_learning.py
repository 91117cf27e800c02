"""Transfer learning on a network of the model zoo: learn five digits, then five others from few images.

An ordinary MXNet script. A ResNet learns the digits 0 to 4; its features, frozen, get a new output layer, which sees
only a few images of each of the digits 5 to 9. The same layer on features of random weights shows what was transferred.
Images are scikit-learn's. ``--tiny`` takes a shallow ResNet of the same zoo; ``--model`` names another network.
"""

import argparse

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon.model_zoo import vision
from sklearn.datasets import load_digits


def images_of(digits, side):
    """(count, 3, side, side) images in -1..1 of some digits, and labels that count from 0."""
    found = load_digits()
    chosen = np.isin(found.target, digits)
    images = found.images[chosen].astype("float32") / 8 - 1
    images = images.repeat(side // 8, axis=1).repeat(side // 8, axis=2)
    labels = found.target[chosen].astype("float32") - min(digits)
    order = np.random.RandomState(0).permutation(len(labels))
    return np.stack([images[order]] * 3, axis=1), labels[order]


def zoo_net(name):
    if name == "tiny":
        return vision.ResNetV1(vision.BasicBlockV1, [1, 1], [8, 16, 32], classes=5, thumbnail=True)
    return vision.get_model(name, classes=5)


def train(net, params, images, labels, epochs, rate, batch=32):
    """Train some of a network's parameters; returns the mean loss of the last epoch."""
    trainer = gluon.Trainer(params, "adam", {"learning_rate": rate})
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    data = gluon.data.ArrayDataset(images, labels)
    for _ in range(epochs):
        losses = []
        for x, y in gluon.data.DataLoader(data, min(batch, len(data)), shuffle=True, last_batch="discard"):
            with autograd.record():
                loss = loss_of(net(x), y)
            loss.backward()
            trainer.step(len(y))
            losses.append(loss.mean())
        mean = nd.concat(*[one.reshape((1,)) for one in losses], dim=0).mean().asscalar()
    return mean


def accuracy(net, images, labels):
    return (net(nd.array(images)).asnumpy().argmax(1) == labels).mean()


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--tiny", action="store_true")
    options.add_argument("--model", default="mobilenet0.25")
    options.add_argument("--epochs", type=int, default=10)
    options = options.parse_args()
    name, side, epochs = ("tiny", 8, 3) if options.tiny else (options.model, 32, options.epochs)
    mx.random.seed(1)
    np.random.seed(1)
    images, labels = images_of(range(5), side)
    few = 50  # images to learn five new digits from
    others, other_labels = images_of(range(5, 10), side)
    source = zoo_net(name)
    source.initialize(mx.init.Xavier(magnitude=2))
    source.hybridize()
    source(nd.array(images[:32]))
    # The source's features, which stay as they are, and a new output layer.
    target = gluon.nn.HybridSequential()
    target.add(source.features, gluon.nn.Dense(5))
    target.hybridize()
    results = {}
    for kind in ("random", "learned"):
        if kind == "learned":
            source.collect_params(".*(weight|bias|gamma|beta)").setattr("grad_req", "write")
            loss = train(source, source.collect_params(), images, labels, epochs, 0.005)
            print("source digits 0-4: loss of the last epoch %.4f" % loss)
        source.features.collect_params().setattr("grad_req", "null")
        target[1].initialize(mx.init.Xavier(), force_reinit=True)
        loss = train(target, target[1].collect_params(), others[:few], other_labels[:few], 30, 0.02, few)
        results[kind] = accuracy(target, others[few:], other_labels[few:])
        print("%s features, %d images: loss %.4f, held-out accuracy %.4f" % (kind, few, loss, results[kind]))
    print("accuracy gained by transfer: %.4f" % (results["learned"] - results["random"]))


if __name__ == "__main__":
    main()
