"""The hybridized training steps of workloads.py written by hand in JAX and optax. Prints the same JSON."""

import itertools
import json
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
from timing import seconds_per_call


def dense_parameters(rng, sizes):
    return [
        {"w": jnp.asarray(rng.randn(o, i) / np.sqrt(i), jnp.float32), "b": jnp.zeros(o)}
        for i, o in itertools.pairwise(sizes)
    ]


def mlp_parameters(rng):
    return {"dense": dense_parameters(rng, (784, 256, 128, 10))}


def mlp(parameters, x):
    *hidden, last = parameters["dense"]
    for layer in hidden:
        x = jax.nn.relu(x @ layer["w"].T + layer["b"])
    return x @ last["w"].T + last["b"]


def lenet_parameters(rng):
    convolutions = [
        {"w": jnp.asarray(rng.randn(o, i, 5, 5) / np.sqrt(25 * i), jnp.float32), "b": jnp.zeros((o, 1, 1))}
        for i, o in ((1, 20), (20, 50))
    ]
    return {"conv": convolutions, "dense": dense_parameters(rng, (800, 500, 10))}


def lenet(parameters, x):
    for layer in parameters["conv"]:
        x = jax.lax.conv_general_dilated(x, layer["w"], (1, 1), "VALID", dimension_numbers=("NCHW", "OIHW", "NCHW"))
        x = jnp.tanh(x + layer["b"])
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    x = x.reshape(len(x), -1)
    first, last = parameters["dense"]
    return jnp.tanh(x @ first["w"].T + first["b"]) @ last["w"].T + last["b"]


def training(apply, parameters, shape):
    rule = optax.sgd(0.01, momentum=0.9)
    state = rule.init(parameters)
    data = jnp.asarray(np.random.RandomState(0).rand(*shape), jnp.float32)
    label = jnp.arange(shape[0]) % 10

    @jax.jit
    def step(parameters, state, data, label):
        def mean_loss(parameters):
            return optax.softmax_cross_entropy_with_integer_labels(apply(parameters, data), label).mean()

        loss, gradients = jax.value_and_grad(mean_loss)(parameters)
        updates, state = rule.update(gradients, state, parameters)
        return optax.apply_updates(parameters, updates), state, loss

    def once():
        nonlocal parameters, state
        parameters, state, _ = step(parameters, state, data, label)

    return seconds_per_call(once, lambda: jax.block_until_ready(parameters))


WORKLOADS = {
    "MLP training step, hybridized": lambda rng: training(mlp, mlp_parameters(rng), (128, 784)),
    "LeNet training step, hybridized": lambda rng: training(lenet, lenet_parameters(rng), (64, 1, 28, 28)),
}


if __name__ == "__main__":
    wanted = [name for name in sys.argv[2:] if name in WORKLOADS] or list(WORKLOADS)
    print(json.dumps({name: WORKLOADS[name](np.random.RandomState(0)) for name in wanted}))
