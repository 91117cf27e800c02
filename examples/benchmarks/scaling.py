"""How the cost of a step grows: with the number of parameters, depth, batch, and eager operators.

    python examples/benchmarks/scaling.py --chart scaling.png

Every point runs on gluonjax and in hand-written JAX, each in a process of its own, in alternating bursts. The networks
are so small that the step costs little more than its overhead, except in the batch series. The straight line through
each series names the constants: microseconds a step, and microseconds for each further tensor, layer or operator.
"""

import argparse
import itertools
import json
import os
import pathlib
import statistics
import sys

import numpy as np
from load import bursts
from processes import Worker

SERIES = {
    "parameters": ("tensors updated in a step", (10, 30, 100, 300, 1000), (2, 4)),
    "depth": ("dense layers of 8 units, hybridized", (1, 3, 10, 30, 100), (1, 2)),
    "batch": ("batch of a 64-64-10 MLP, hybridized", (1, 8, 64, 512, 4096), (1, 2)),
    "eager operators": ("operators on 4x4, recorded, with backward", (1, 5, 20, 80, 300), (1, 2)),
}


def dense_stack(mx, sizes, batch):
    """A hybridized training step of dense layers: (inputs, hidden..., outputs)."""
    gluon = mx.gluon
    net = gluon.nn.HybridSequential()
    for inputs, units in itertools.pairwise(sizes):
        net.add(gluon.nn.Dense(units, activation="tanh", in_units=inputs))
    net.initialize(mx.init.Xavier())
    net.hybridize(static_alloc=True, static_shape=True)
    loss_of = gluon.loss.L2Loss()
    loss_of.hybridize(static_alloc=True, static_shape=True)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01, "momentum": 0.9})
    data, label = mx.nd.ones((batch, sizes[0])), mx.nd.ones((batch, sizes[-1]))

    def step():
        with mx.autograd.record():
            loss = loss_of(net(data), label)
        loss.backward()
        trainer.step(batch)
        return loss

    return step


def many_parameters(mx, count):
    """A hybridized training step over ``count`` tensors of 8 numbers that are just added up."""

    class Total(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                for number in range(count):
                    setattr(self, "w%d" % number, self.params.get("w%d" % number, shape=(8,), init="ones"))

        def hybrid_forward(self, F, x, **parameters):
            return F.add_n(x, *parameters.values())

    net = Total()
    net.initialize()
    net.hybridize(static_alloc=True, static_shape=True)
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01, "momentum": 0.9})
    data = mx.nd.ones((8,))

    def step():
        with mx.autograd.record():
            loss = net(data)
        loss.backward()
        trainer.step(1)
        return loss

    return step


def eager_chain(mx, count):
    """``count`` recorded operators and their backward."""
    x, w = mx.nd.ones((4, 4)), mx.nd.ones((4, 4)) * 0.5
    w.attach_grad()

    def step():
        with mx.autograd.record():
            y = x
            for number in range(count):
                y = mx.nd.tanh(y) if number % 2 else y * w
        y.backward()
        return w.grad

    return step


def ours(name, size):
    import gluonjax as mx

    step = {
        "parameters": lambda: many_parameters(mx, size),
        "depth": lambda: dense_stack(mx, (8,) * (size + 1), 4),
        "batch": lambda: dense_stack(mx, (64, 64, 10), size),
        "eager operators": lambda: eager_chain(mx, size),
    }[name]()
    return step, lambda found: found.wait_to_read()


def twin(name, size):
    import jax
    import jax.numpy as jnp
    import jax_twin
    import optax

    rule = optax.sgd(0.01, momentum=0.9)

    def addition():
        def loss_of(parameters, state, x):
            return sum(parameters, x).sum(), state

        return jax_twin.stepping(loss_of, [jnp.ones(8) for _ in range(size)], (), rule, jnp.ones(8))

    def dense(sizes, batch):
        parameters = jax_twin.dense_parameters(np.random.RandomState(0), sizes)

        def loss_of(parameters, state, x, y):
            for layer in parameters:
                x = jnp.tanh(x @ layer["w"].T + layer["b"])
            return 0.5 * jnp.square(x - y).mean(), state

        shapes = (batch, sizes[0]), (batch, sizes[-1])
        return jax_twin.stepping(loss_of, parameters, (), rule, *map(jnp.ones, shapes))

    def chain():
        def run(x, w):
            for number in range(size):
                x = jnp.tanh(x) if number % 2 else x * w
            return x.sum()

        gradient = jax.jit(jax.grad(run, argnums=1))
        x, w = jnp.ones((4, 4)), jnp.ones((4, 4)) * 0.5
        return lambda: gradient(x, w)

    step = {
        "parameters": addition,
        "depth": lambda: dense((8,) * (size + 1), 4),
        "batch": lambda: dense((64, 64, 10), size),
        "eager operators": chain,
    }[name]()
    return step, jax.block_until_ready


def serve(who, name, size, tiny):
    """The worker's side: see worker.py."""
    step, wait = {"gluonjax": ours, "jax": twin}[who](name, size)
    burst = bursts.Bursts(step, wait, **({"seconds": 0.002, "warm_calls": 3} if tiny else {"seconds": 0.1}))
    print("ready", burst.first, flush=True)
    for _ in sys.stdin:
        print(burst(), flush=True)


def point(name, size, options):
    """{who: median microseconds}"""
    tail = ["--tiny"] if options.tiny else []
    workers = {
        who: Worker(sys.executable, "--serve", who, name, str(size), *tail, script="scaling.py")
        for who in ("gluonjax", "jax")
    }
    try:
        for worker in workers.values():
            worker.ready()
        times = {who: [] for who in workers}
        for _ in range(2 if options.tiny else options.rounds):
            for who, worker in workers.items():
                times[who].append(worker.burst(0.0 if options.tiny else 0.05) * 1e6)
        return {who: statistics.median(values) for who, values in times.items()}
    finally:
        for worker in workers.values():
            worker.end()


def line_through(xs, times):
    """(constant, slope) of the straight line, each point weighted by its own size."""
    slope, constant = np.polyfit(xs, times, 1, w=1 / np.asarray(times))
    return constant, slope


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="series whose name contains this")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--results", help="a JSON file to write")
    parser.add_argument("--chart", help="a PNG to draw (needs matplotlib)")
    parser.add_argument("--tiny", action="store_true", help="two small sizes in each series: tries the program out")
    parser.add_argument("--serve", nargs=3, metavar=("WHO", "SERIES", "SIZE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        who, name, size = options.serve
        serve(who, name, int(size), options.tiny)
        return
    found = {}
    for name, (label, sizes, small) in SERIES.items():
        if options.only not in name:
            continue
        sizes = small if options.tiny else sizes
        points = [point(name, size, options) for size in sizes]
        found[name] = (label, {who: (list(sizes), [p[who] for p in points]) for who in ("gluonjax", "jax")})
        print("%s: %s" % (name, label))
        print("| size | gluonjax | JAX by hand | overhead |\n|---|---|---|---|")
        for size, p in zip(sizes, points):
            print("| %d | %.0f us | %.0f us | %.0f us |" % (size, p["gluonjax"], p["jax"], p["gluonjax"] - p["jax"]))
        for who, (xs, times) in found[name][1].items():
            print("%s: %.1f us + %.2f us each" % (who, *line_through(xs, times)))
        print(flush=True)
    if options.results:
        pathlib.Path(options.results).write_text(json.dumps(found, indent=1) + "\n")
    if options.chart:
        from chart import lines

        lines(found, options.chart)


if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    main()
