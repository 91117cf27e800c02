"""The workloads as an expert writes them in JAX: Flax for the convolutional networks, optax for the updates.

``TWINS[name](tiny)`` prepares the twin of the workload of that name and returns a step; a training step is one jitted
function that donates what it replaces.
"""

import functools
import itertools

import flax.linen as fnn
import jax
import jax.numpy as jnp
import numpy as np
import optax


def scaled(rng, *shape):
    """A weight (out, in...) of a sensible size."""
    return jnp.asarray(rng.randn(*shape) / np.sqrt(np.prod(shape[1:])), jnp.float32)


def dense_parameters(rng, sizes):
    return [{"w": scaled(rng, o, i), "b": jnp.zeros(o)} for i, o in itertools.pairwise(sizes)]


def mlp_parameters(rng):
    return {"dense": dense_parameters(rng, (784, 256, 128, 10))}


def mlp(parameters, x):
    *hidden, last = parameters["dense"]
    for layer in hidden:
        x = jax.nn.relu(x @ layer["w"].T + layer["b"])
    return x @ last["w"].T + last["b"]


def lenet_parameters(rng):
    filters = [{"w": scaled(rng, o, i, 5, 5), "b": jnp.zeros((o, 1, 1))} for i, o in ((1, 20), (20, 50))]
    return {"conv": filters, "dense": dense_parameters(rng, (800, 500, 10))}


def lenet(parameters, x):
    for layer in parameters["conv"]:
        x = jax.lax.conv_general_dilated(x, layer["w"], (1, 1), "VALID", dimension_numbers=("NCHW", "OIHW", "NCHW"))
        x = jnp.tanh(x + layer["b"])
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    x = x.reshape(len(x), -1)
    first, last = parameters["dense"]
    return jnp.tanh(x @ first["w"].T + first["b"]) @ last["w"].T + last["b"]


# Flax keeps channels last and works in the dtype it is given; parameters stay float32.


def convolution(filters, size, stride=1, groups=1, dtype=None):
    pads = ((size // 2, size // 2),) * 2
    return fnn.Conv(
        filters, (size, size), stride, pads, feature_group_count=groups, use_bias=False, dtype=dtype
    )  # fmt: skip


def normalized(x, train, dtype):
    return fnn.BatchNorm(use_running_average=not train, momentum=0.9, epsilon=1e-5, dtype=dtype)(x)


class ResNet(fnn.Module):
    """ResNet v1. ``stages`` lists blocks per stage; ``bottleneck`` chooses 1x1-3x3-1x1 blocks (stride on the first)."""

    stages: tuple
    channels: tuple
    classes: int = 1000
    bottleneck: bool = False
    dtype: object = None

    @fnn.compact
    def __call__(self, x, train):
        conv, norm = functools.partial(convolution, dtype=self.dtype), functools.partial(normalized, dtype=self.dtype)
        x = fnn.relu(norm(conv(self.channels[0], 7, 2)(x), train))
        x = fnn.max_pool(x, (3, 3), (2, 2), ((1, 1), (1, 1)))
        for stage, (blocks, filters) in enumerate(zip(self.stages, self.channels[1:])):
            for block in range(blocks):
                stride = 2 if stage and not block else 1
                shortcut = x
                if self.bottleneck:
                    y = fnn.relu(norm(conv(filters // 4, 1, stride)(x), train))
                    y = fnn.relu(norm(conv(filters // 4, 3)(y), train))
                    y = norm(conv(filters, 1)(y), train)
                else:
                    y = fnn.relu(norm(conv(filters, 3, stride)(x), train))
                    y = norm(conv(filters, 3)(y), train)
                if shortcut.shape != y.shape:
                    shortcut = norm(conv(filters, 1, stride)(x), train)
                x = fnn.relu(y + shortcut)
        return fnn.Dense(self.classes, dtype=self.dtype)(x.mean((1, 2))).astype(jnp.float32)


class MobileNet(fnn.Module):
    """MobileNet 1.0: depthwise 3x3 and 1x1 pairs."""

    multiplier: float = 1.0
    dtype: object = None

    @fnn.compact
    def __call__(self, x, train):
        def wide(channels):
            return int(channels * self.multiplier)

        pairs = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]
        x = fnn.relu(normalized(convolution(wide(32), 3, 2, dtype=self.dtype)(x), train, self.dtype))
        for channels, stride in pairs:
            depth = x.shape[-1]
            x = fnn.relu(normalized(convolution(depth, 3, stride, depth, dtype=self.dtype)(x), train, self.dtype))
            x = fnn.relu(normalized(convolution(wide(channels), 1, dtype=self.dtype)(x), train, self.dtype))
        return fnn.Dense(1000, dtype=self.dtype)(x.mean((1, 2))).astype(jnp.float32)


def resnet18(tiny):
    if tiny:
        return ResNet((1, 1), (4, 4, 8), classes=10), (2, 32, 32, 3)
    return ResNet((2, 2, 2, 2), (64, 64, 128, 256, 512)), (8, 224, 224, 3)


def mobilenet(tiny):
    return (MobileNet(0.25), (2, 32, 32, 3)) if tiny else (MobileNet(), (8, 224, 224, 3))


def cross_entropy(logits, label):
    return optax.softmax_cross_entropy_with_integer_labels(logits, label).mean()


def stepping(loss_of, parameters, state, rule, *batch):
    """One jitted training step of ``loss_of(parameters, state, *batch) -> (loss, new state)``, as a closure."""

    @functools.partial(jax.jit, donate_argnums=(0, 1, 2))
    def step(parameters, state, slots, *batch):
        (loss, state), gradients = jax.value_and_grad(loss_of, has_aux=True)(parameters, state, *batch)
        updates, slots = rule.update(gradients, slots, parameters)
        return optax.apply_updates(parameters, updates), state, slots, loss

    carried = (parameters, state, rule.init(parameters))

    def once():
        nonlocal carried
        *carried, loss = step(*carried, *batch)
        return loss

    once.compiled = lambda: step.lower(*carried, *batch).compile()
    return once


SGD = optax.sgd(0.01, momentum=0.9)


def plain_training(apply, make_parameters, shape):
    def prepare(tiny):
        size = (8 if tiny else shape[0], *shape[1:])
        data = jnp.asarray(np.random.RandomState(0).rand(*size), jnp.float32)
        label = jnp.arange(size[0]) % 10
        parameters = make_parameters(np.random.RandomState(1))
        return stepping(lambda p, s, x, y: (cross_entropy(apply(p, x), y), s), parameters, (), SGD, data, label)

    return prepare


def plain_inference(apply, make_parameters, shape):
    def prepare(tiny):
        data = jnp.asarray(np.random.RandomState(0).rand(8 if tiny else shape[0], *shape[1:]), jnp.float32)
        parameters, run = make_parameters(np.random.RandomState(1)), jax.jit(apply)
        return lambda: run(parameters, data)

    return prepare


def flax_parts(build, tiny):
    net, shape = build(tiny)
    data = jnp.asarray(np.random.RandomState(0).rand(*shape), jnp.float32)
    variables = jax.jit(functools.partial(net.init, train=False))(jax.random.key(0), data)
    return net, data, variables


def flax_training(build):
    def prepare(tiny):
        net, data, variables = flax_parts(build, tiny)

        def loss_of(parameters, state, x, y):
            logits, new = net.apply({"params": parameters, **state}, x, True, mutable=["batch_stats"])
            return cross_entropy(logits, y), new

        state = {"batch_stats": variables["batch_stats"]}
        return stepping(loss_of, variables["params"], state, SGD, data, jnp.arange(len(data)) % 10)

    return prepare


def flax_inference(build):
    def prepare(tiny):
        net, data, variables = flax_parts(build, tiny)
        run = jax.jit(functools.partial(net.apply, train=False))
        return lambda: run(variables, data)

    return prepare


def lstm_parameters(rng, inputs, units):
    return {"x": scaled(rng, 4 * units, inputs), "h": scaled(rng, 4 * units, units), "b": jnp.zeros(4 * units)}


def lstm(parameters, x):
    """(T, N, I) -> (T, N, H): the input's share of the gates for all steps at once, then a scan."""
    batch, units = x.shape[1], parameters["h"].shape[1]
    gates = x @ parameters["x"].T + parameters["b"]

    def advance(carry, gate):
        h, c = carry
        i, f, g, o = jnp.split(gate + h @ parameters["h"].T, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zero = jnp.zeros((batch, units), x.dtype)
    return jax.lax.scan(advance, (zero, zero), gates)[1]


def fused_lstm(tiny):
    steps, batch, units = (5, 2, 8) if tiny else (35, 32, 200)
    rng = np.random.RandomState(0)
    layers = [lstm_parameters(rng, units, units) for _ in range(2)]
    data = jnp.asarray(rng.rand(steps, batch, units), jnp.float32)

    @jax.jit
    def both(layers, x):
        out, pullback = jax.vjp(lambda layers: functools.reduce(lambda y, layer: lstm(layer, y), layers, x), layers)
        return out, pullback(jnp.ones_like(out))

    return lambda: both(layers, data)


def unrolled_lstm(tiny):
    steps, batch, units = (3, 2, 8) if tiny else (20, 32, 128)
    rng = np.random.RandomState(0)
    parameters = {"cell": lstm_parameters(rng, units, units), "out": dense_parameters(rng, (units, units))[0]}
    data, label = (jnp.asarray(rng.rand(steps, batch, units), jnp.float32) for _ in range(2))

    def loss_of(p, state, x, y):
        out = lstm(p["cell"], x) @ p["out"]["w"].T + p["out"]["b"]
        return 0.5 * jnp.square(out - y).mean((0, 2)).mean(), state

    return stepping(loss_of, parameters, (), optax.sgd(0.1), data, label)


def embedding(tiny):
    rows, width, batch = (50, 8, 16) if tiny else (50_000, 128, 4_096)
    rng = np.random.RandomState(0)
    index = jnp.asarray(rng.randint(0, rows, batch))
    parameters = scaled(rng, rows, width)
    return stepping(lambda w, s, i: (w[i].sum() / batch, s), parameters, (), optax.sgd(0.1), index)


def fit(tiny):
    """An epoch over 1,280 images held by NumPy: one jitted step a batch, accuracy counted inside."""
    count, batch = (8, 4) if tiny else (1_280, 64)
    images = np.random.RandomState(0).rand(count, 1, 28, 28).astype("float32")
    labels = np.arange(count) % 10
    parameters = lenet_parameters(np.random.RandomState(1))

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def step(parameters, slots, right, x, y):
        def loss_of(parameters):
            logits = lenet(parameters, x)
            return cross_entropy(logits, y), logits

        gradients, logits = jax.grad(loss_of, has_aux=True)(parameters)
        updates, slots = SGD.update(gradients, slots, parameters)
        return optax.apply_updates(parameters, updates), slots, right + (logits.argmax(1) == y).sum()

    carried = (parameters, SGD.init(parameters))

    def epoch():
        nonlocal carried
        right = jnp.zeros((), jnp.int32)
        for begin in range(0, count, batch):
            *carried, right = step(*carried, right, images[begin : begin + batch], labels[begin : begin + batch])
        return float(right)

    return epoch


def big_dot(tiny):
    a = jnp.ones((32, 32) if tiny else (1024, 1024))
    product = jax.jit(jnp.dot)
    return lambda: product(a, a)


TWINS = {
    "MLP training, hybridized": plain_training(mlp, mlp_parameters, (128, 784)),
    "MLP inference, hybridized": plain_inference(mlp, mlp_parameters, (128, 784)),
    "LeNet training, hybridized": plain_training(lenet, lenet_parameters, (64, 1, 28, 28)),
    "LeNet inference, hybridized": plain_inference(lenet, lenet_parameters, (64, 1, 28, 28)),
    "ResNet-18 training, hybridized": flax_training(resnet18),
    "ResNet-18 inference, hybridized": flax_inference(resnet18),
    "MobileNet 1.0 training, hybridized": flax_training(mobilenet),
    "MobileNet 1.0 inference, hybridized": flax_inference(mobilenet),
    "LSTM 2x200, 35 steps, forward + backward": fused_lstm,
    "LSTMCell unrolled 20 steps, training": unrolled_lstm,
    "Module.fit LeNet, 1,280 images": fit,
    "Embedding 50,000 x 128, training": embedding,
    "dot 1024 x 1024": big_dot,
}
