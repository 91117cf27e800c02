"""A variational autoencoder of handwritten digits.

An ordinary MXNet script on scikit-learn's 8 x 8 images. The bound on the log-likelihood (in nats an image) is printed
every epoch, and at the end how far reconstructions are from held-out images, against the mean image as a baseline.
"""

import argparse

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn
from sklearn.datasets import load_digits


class VAE(nn.HybridBlock):
    """Encodes to a Gaussian, draws from it, decodes to the probability of ink."""

    def __init__(self, hidden, latent, pixels=64, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.encoder = nn.HybridSequential()
            self.encoder.add(nn.Dense(hidden, activation="relu"), nn.Dense(2 * latent))
            self.decoder = nn.HybridSequential()
            self.decoder.add(nn.Dense(hidden, activation="relu"), nn.Dense(pixels))

    def hybrid_forward(self, F, x):
        mean, log_variance = F.split(self.encoder(x), num_outputs=2, axis=1)
        noise = F.random.normal_like(mean)
        logits = self.decoder(mean + F.exp(0.5 * log_variance) * noise)
        divergence = 0.5 * F.sum(F.square(mean) + F.exp(log_variance) - log_variance - 1, axis=1)
        # Softplus form of the cross entropy between pixels in 0..1 and logits.
        surprise = F.sum(F.relu(logits) - logits * x + F.Activation(-F.abs(logits), act_type="softrelu"), axis=1)
        return surprise + divergence, F.sigmoid(logits)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--tiny", action="store_true")
    options.add_argument("--epochs", type=int, default=60)
    options = options.parse_args()
    hidden, latent, epochs = (64, 4, 8) if options.tiny else (256, 8, options.epochs)
    mx.random.seed(3)
    np.random.seed(3)
    images = (load_digits().data / 16).astype("float32")
    train, held_out = images[:1600], nd.array(images[1600:])
    net = VAE(hidden, latent)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.005})
    for epoch in range(epochs):
        total = nd.zeros((1,))
        for batch in gluon.data.DataLoader(train, 64, shuffle=True):
            with autograd.record():
                loss, _ = net(batch)
            loss.backward()
            trainer.step(len(batch))
            total += loss.sum()
        print("epoch %2d: bound %.2f nats" % (epoch, -total.asscalar() / len(train)))
    _, rebuilt = net(held_out)
    error = nd.square(rebuilt - held_out).mean().asscalar()
    baseline = nd.square(held_out - nd.array(train.mean(axis=0, keepdims=True))).mean().asscalar()
    print("squared error: %.4f, of the mean image: %.4f" % (error, baseline))


if __name__ == "__main__":
    main()
