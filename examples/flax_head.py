"""What JAX adds: a Gluon backbone with a Flax head, trained together in one optax loop.

``interop.functional`` makes the backbone a pure function; the head is an nnx module; the step is one ``jax.jit``. At
the end the trained head becomes a Gluon block, so that the whole network can be saved and used as any other.
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from sklearn.datasets import load_digits

import gluonjax as mx
from gluonjax import interop
from gluonjax.gluon import nn


def backbone(width):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(width, 3, padding=1), nn.BatchNorm(), nn.Activation("relu"), nn.MaxPool2D(2), nn.Flatten())
    net.initialize(mx.init.Xavier())
    return net


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--tiny", action="store_true")
    options.add_argument("--steps", type=int, default=600)
    options = options.parse_args()
    width, steps = (8, 120) if options.tiny else (32, options.steps)
    mx.random.seed(9)
    rng = np.random.RandomState(9)
    found = load_digits()
    images, labels = (found.images[:, None] / 16).astype("float32"), found.target
    net = backbone(width)
    apply, params, aux = interop.functional(net, images[:1])
    head = nnx.Linear(width * 16, 10, rngs=nnx.Rngs(9))
    graph, of_head = nnx.split(head)
    rule = optax.adam(0.01)

    def loss_of(trained, aux, x, y):
        features, aux = apply(trained["backbone"], aux, x, train=True)
        scores = nnx.merge(graph, trained["head"])(features)
        return optax.softmax_cross_entropy_with_integer_labels(scores, y).mean(), aux

    @jax.jit
    def step(trained, state, aux, x, y):
        (loss, aux), slopes = jax.value_and_grad(loss_of, has_aux=True)(trained, aux, x, y)
        updates, state = rule.update(slopes, state, trained)
        return optax.apply_updates(trained, updates), state, aux, loss

    trained = {"backbone": params, "head": of_head}
    state = rule.init(trained)
    for number in range(steps):
        chosen = rng.randint(0, 1500, 64)
        trained, state, aux, loss = step(trained, state, aux, jnp.asarray(images[chosen]), jnp.asarray(labels[chosen]))
        if (number + 1) % (steps // 4) == 0:
            print(f"step {number + 1}: loss {loss:.4f}")
    for name, parameter in net._collect_params_with_prefix().items():
        parameter.set_data(interop.mx_view({**trained["backbone"], **aux}[name]))
    whole = nn.HybridSequential()
    whole.add(net, interop.from_flax(nnx.merge(graph, trained["head"])))
    whole[1].initialize()
    whole.hybridize()
    guesses = whole(mx.nd.array(images[1500:])).asnumpy().argmax(axis=1)
    print(f"held-out accuracy of the joined Gluon network: {(guesses == labels[1500:]).mean():.4f}")


if __name__ == "__main__":
    main()
