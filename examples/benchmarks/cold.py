"""Cold starts: what a fresh process waits for, with an empty compilation cache and with a warm one.

    python examples/benchmarks/cold.py --mxnet /path/to/python-with-mxnet

prints a table. Each row is one task in processes of its own; the clock starts after the import, except in the rows
that time imports. ``cold.py --task NAME --implementation gluonjax`` runs one task here and prints its seconds.
"""

import argparse
import importlib
import os
import statistics
import sys
import tempfile
import time

import numpy as np

# 30 operators, each on ten shapes.
OPERATORS = [
    lambda nd, a, b: a + b,
    lambda nd, a, b: a * b - 1,
    lambda nd, a, b: a / (b + 2),
    lambda nd, a, b: nd.tanh(a),
    lambda nd, a, b: nd.sigmoid(a),
    lambda nd, a, b: nd.relu(a - 0.5),
    lambda nd, a, b: nd.exp(a),
    lambda nd, a, b: nd.log(a + 1),
    lambda nd, a, b: nd.sqrt(a + 1),
    lambda nd, a, b: a**2,
    lambda nd, a, b: nd.dot(a, b, transpose_b=True),
    lambda nd, a, b: nd.FullyConnected(a, b, num_hidden=b.shape[0], no_bias=True),
    lambda nd, a, b: a.sum(axis=1),
    lambda nd, a, b: a.mean(),
    lambda nd, a, b: a.max(axis=0),
    lambda nd, a, b: nd.softmax(a),
    lambda nd, a, b: nd.log_softmax(a),
    lambda nd, a, b: a.reshape((-1, 1)),
    lambda nd, a, b: a.T,
    lambda nd, a, b: nd.concat(a, b, dim=0),
    lambda nd, a, b: nd.stack(a, b, axis=1),
    lambda nd, a, b: a[1:],
    lambda nd, a, b: nd.slice_axis(a, axis=1, begin=0, end=2),
    lambda nd, a, b: nd.broadcast_add(a, b[0:1]),
    lambda nd, a, b: nd.where(a > b, a, b),
    lambda nd, a, b: nd.maximum(a, b),
    lambda nd, a, b: nd.clip(a, 0.2, 0.8),
    lambda nd, a, b: nd.expand_dims(a, axis=0),
    lambda nd, a, b: nd.LayerNorm(a, b[0], b[0], axis=-1),
    lambda nd, a, b: nd.take(a, nd.array([0, 1])),
]
SHAPES = [(rows, columns) for rows in (2, 3, 5, 8, 13) for columns in (4, 7)]


def pairs(mx, tiny):
    """300 different (operator, shape) pairs, each once, every second one with its backward."""
    nd = mx.nd
    every = [(operator, shape) for operator in OPERATORS for shape in SHAPES]
    for number, (operator, shape) in enumerate(every[:: 30 if tiny else 1]):
        a, b = nd.ones(shape) * 0.5, nd.ones(shape) * 0.25
        if number % 2:
            a.attach_grad()
            with mx.autograd.record():
                result = operator(nd, a, b)
            result.backward()
            a.grad.asnumpy()
        else:
            operator(nd, a, b).asnumpy()


def first_step(mx, tiny):
    """The first training step of an eager ResNet-18, initialization included (tiny: two of its blocks)."""
    zoo = mx.gluon.model_zoo.vision
    net = zoo.ResNetV1(zoo.BasicBlockV1, [1, 1], [4, 4, 8], classes=10) if tiny else zoo.resnet18_v1()
    net.initialize(mx.init.Xavier())
    data, label = mx.nd.ones((2, 3, 64, 64)), mx.nd.array([1, 2])
    loss_of = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01, "momentum": 0.9})
    with mx.autograd.record():
        loss = loss_of(net(data), label)
    loss.backward()
    trainer.step(2)
    loss.asnumpy()


def lengths(mx, tiny):
    """An eager LSTM trained on sequences of 50 different lengths, each met once."""
    gluon, units, batch = mx.gluon, 32, 8
    cell, output = gluon.rnn.LSTMCell(units, input_size=units), gluon.nn.Dense(5, in_units=units)
    parameters = cell.collect_params()
    parameters.update(output.collect_params())
    parameters.initialize(mx.init.Xavier())
    trainer = gluon.Trainer(parameters, "sgd", {"learning_rate": 0.1})
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    rng = np.random.RandomState(0)
    for length in range(5, 8 if tiny else 55):
        data, label = mx.nd.array(rng.rand(batch, length, units)), mx.nd.array(rng.randint(0, 5, batch))
        with mx.autograd.record():
            states = cell.begin_state(batch_size=batch)
            for step in range(length):
                out, states = cell(data[:, step], states)
            loss = loss_of(output(out), label)
        loss.backward()
        trainer.step(batch)
        loss.asnumpy()


TASKS = {"pairs": pairs, "first step": first_step, "lengths": lengths}
ROWS = (
    ("300 (operator, shape) pairs", "pairs", "3 s cold, 1.5 s warm"),
    ("first training step, eager ResNet-18", "first step", "8 s cold, 3 s warm"),
    ("eager LSTM, 50 lengths", "lengths", "3x MXNet"),
)


def timed(task, implementation, tiny):
    """The seconds of one task in this process, without the import; waits for everything."""
    mx = importlib.import_module(implementation)
    mx.nd.ones((1,)).wait_to_read()
    start = time.perf_counter()
    TASKS[task](mx, tiny)
    mx.nd.waitall()
    return time.perf_counter() - start


def in_process(python, task, implementation, tiny, **environment):
    """The same in a new process; its cache lies wherever the environment says."""
    from processes import printed

    arguments = ["--task", task, "--implementation", implementation, *(["--tiny"] if tiny else [])]
    return float(printed([python, __file__, *arguments], **environment))


def row(name, task, wanted, options):
    """Cold, warm, MXNet; medians."""
    cold, warm, rival = [], [], []
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as folder:
            # Both caches are here: ours lies in the user's cache directory, JAX's own where this variable says.
            cache = {
                "XDG_CACHE_HOME": folder, "JAX_COMPILATION_CACHE_DIR": os.path.join(folder, "jax"),
                "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            }  # fmt: skip
            cold.append(in_process(sys.executable, task, "gluonjax", options.tiny, **cache))
            warm.append(in_process(sys.executable, task, "gluonjax", options.tiny, **cache))
        if options.mxnet:
            rival.append(in_process(options.mxnet, task, "mxnet", options.tiny, MXNET_MKLDNN_ENABLED="0"))
    cells = [name, "%.2f s" % statistics.median(cold), "%.2f s" % statistics.median(warm)]
    cells += ["%.2f s" % statistics.median(rival) if rival else "", wanted]
    return "| " + " | ".join(cells) + " |"


def imports(options):
    """Import times, alternately."""
    from processes import ImportTimer

    pythons = {"gluonjax": sys.executable, "jax": sys.executable}
    if options.mxnet:
        pythons["mxnet"] = options.mxnet
    timers = {name: ImportTimer(python, name) for name, python in pythons.items()}
    for timer in timers.values():
        timer.ready()
    found = {name: [] for name in timers}
    for _ in range(max(1, options.rounds)):
        for name, timer in timers.items():
            found[name].append(timer.burst())
    middle = {name: statistics.median(values) for name, values in found.items()}
    limit = 1.15 * middle["jax"] + 0.3
    cells = ["import", "%.2f s" % middle["gluonjax"], "", "%.2f s" % middle["mxnet"] if options.mxnet else ""]
    cells.append("%.2f s (import jax: %.2f s)" % (limit, middle["jax"]))
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mxnet", default=os.environ.get("MXNET_PYTHON"), help="an interpreter that has mxnet 1.9.1")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--tiny", action="store_true", help="small sizes: tries the program out")
    parser.add_argument("--task", choices=TASKS, help="run one task in this process and print its seconds")
    parser.add_argument("--implementation", default="gluonjax", choices=("gluonjax", "mxnet"))
    options = parser.parse_args()
    if options.task:
        print(timed(options.task, options.implementation, options.tiny))
        return
    print("| after import, in a new process | empty cache | warm cache | MXNet 1.9.1 | wanted |\n" + "|---" * 5 + "|")
    for name, task, wanted in ROWS:
        if options.only in name:
            print(row(name, task, wanted, options), flush=True)
    if options.only in "import":
        print(imports(options), flush=True)


if __name__ == "__main__":
    main()
