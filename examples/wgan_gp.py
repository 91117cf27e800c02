"""A Wasserstein GAN with gradient penalty: the gradient of a gradient, on handwritten digits.

An ordinary MXNet script on scikit-learn's 8 x 8 images. The penalty needs the critic's gradient as a recorded value
(``autograd.grad(..., create_graph=True)``). Quality is the distance of generated images to the nearest real one,
compared with that of random noise and of real images that were held out.
"""

import argparse

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn
from sklearn.datasets import load_digits


def perceptron(widths, last=None):
    net = nn.HybridSequential()
    for width in widths[:-1]:
        net.add(nn.Dense(width), nn.LeakyReLU(0.2))
    net.add(nn.Dense(widths[-1]))
    if last:
        net.add(nn.Activation(last))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    return net


def nearest(images, real):
    """The mean distance of images to the nearest real one."""
    squares = (images**2).sum(1)[:, None] + (real**2).sum(1)[None] - 2 * images @ real.T
    return float(np.sqrt(np.maximum(squares, 0).min(axis=1)).mean())


def penalty(critic, real, fake):
    """How far the critic's slope is from 1 on the lines between real and generated images."""
    share = nd.random.uniform(shape=(len(real), 1))
    between = share * real + (1 - share) * fake
    between.attach_grad()
    with autograd.record():
        (slope,) = autograd.grad(critic(between).sum(), between, create_graph=True, retain_graph=True)
        return nd.square(nd.sqrt(nd.square(slope).sum(axis=1) + 1e-12) - 1).mean()


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--tiny", action="store_true")
    options.add_argument("--steps", type=int, default=2000)
    options = options.parse_args()
    width, steps = (64, 250) if options.tiny else (256, options.steps)
    mx.random.seed(4)
    np.random.seed(4)
    images = (load_digits().data / 16).astype("float32")
    real, held_out = images[:1500], images[1500:]
    generator, critic = perceptron([width, width, 64], "sigmoid"), perceptron([width, width, 1])
    of_generator = gluon.Trainer(generator.collect_params(), "adam", {"learning_rate": 2e-3, "beta1": 0.5})
    of_critic = gluon.Trainer(critic.collect_params(), "adam", {"learning_rate": 2e-3, "beta1": 0.5})
    batch, noise = 64, 16
    for step in range(steps):
        for _ in range(2):
            x = nd.array(real[np.random.randint(0, len(real), batch)])
            fake = generator(nd.random.normal(shape=(batch, noise)))
            with autograd.record():
                gap = critic(x).mean() - critic(fake).mean()
                loss = 10 * penalty(critic, x, fake) - gap
            loss.backward()
            of_critic.step(1)
        with autograd.record():
            loss = -critic(generator(nd.random.normal(shape=(batch, noise)))).mean()
        loss.backward()
        of_generator.step(1)
        if (step + 1) % (steps // 5) == 0:
            made = generator(nd.random.normal(shape=(300, noise))).asnumpy()
            print("step %4d: critic's gap %.3f, distance %.3f" % (step + 1, gap.asscalar(), nearest(made, real)))
    blind = np.random.permutation(real.ravel())[: 300 * 64].reshape(300, 64)  # the same pixels, no order
    print(
        "distance to real digits: %.3f generated, %.3f shuffled pixels, %.3f held-out digits"
        % (nearest(made, real), nearest(blind, real), nearest(held_out, real))
    )


if __name__ == "__main__":
    main()
