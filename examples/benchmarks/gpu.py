"""The comparison on a GPU: gluonjax, JAX with Flax by hand, and PyTorch where it is installed. Under six minutes.

    python examples/benchmarks/gpu.py --results gpu.json

Rows that matter most come first: ResNet-50 and an LSTM in float32 and bfloat16, then the training rows of compare.py.
No row starts after ``--seconds`` are spent; what was left out is said. float32 is float32 for everyone here: no TF32.
``--device cpu --tiny`` tries the script out without a GPU.
"""

import argparse
import importlib.util
import json
import pathlib
import statistics
import sys
import time

import numpy as np
from load import bursts, workloads
from processes import Worker, WorkerFailed

LSTM_SIZES = (64, 64, 1024), (5, 2, 8)
LARGE = (
    "ResNet-50 training, float32", "ResNet-50 training, bfloat16", "LSTM 2x1024 training, float32",
    "LSTM 2x1024 training, bfloat16",
)  # fmt: skip
# ResNet-18, MobileNet, LSTM and the rest: rows of the CPU's table that have a hand-written twin.
SMALL = (
    "MLP training, hybridized", "LeNet training, hybridized", "ResNet-18 training, hybridized",
    "MobileNet 1.0 training, hybridized", "LSTM 2x200, 35 steps, forward + backward",
    "LSTMCell unrolled 20 steps, training", "Embedding 50,000 x 128, training", "ResNet-18 inference, hybridized",
    "MLP inference, hybridized", "dot 1024 x 1024", "Module.fit LeNet, 1,280 images",
)  # fmt: skip


def resnet50(mx, tiny):
    zoo = mx.gluon.model_zoo.vision
    if tiny:
        return zoo.ResNetV1(zoo.BottleneckV1, [1, 1], [4, 16, 32], classes=10), (2, 3, 32, 32)
    return zoo.resnet50_v1(), (64, 3, 224, 224)


def large_step(mx, name, tiny):
    """The step of a LARGE row in MXNet's style: ``net.cast`` and a multi-precision optimizer where it is bfloat16."""
    half = name.endswith("bfloat16")
    gluon, dtype = mx.gluon, "bfloat16" if half else "float32"
    recurrent = name.startswith("LSTM")
    if recurrent:
        shape = LSTM_SIZES[tiny]
        net = gluon.rnn.LSTM(shape[2], num_layers=2, input_size=shape[2])
    else:
        net, shape = resnet50(mx, tiny)
    net.initialize(mx.init.Xavier())
    net.cast(dtype)
    net.hybridize(static_alloc=True, static_shape=True)
    data = mx.nd.array(np.random.RandomState(0).rand(*shape)).astype(dtype)
    label = mx.nd.array(np.arange(shape[0]) % 10)
    rule = {"learning_rate": 0.01, "momentum": 0.9, "multi_precision": half}
    trainer = gluon.Trainer(net.collect_params(), "sgd", rule)
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()

    def step():
        with mx.autograd.record():
            out = net(data).astype("float32")
            loss = out.square().mean() if recurrent else loss_of(out, label)
        loss.backward()
        trainer.step(1 if recurrent else shape[0])
        return loss

    return step


def large_twin(name, tiny):
    """The same with Flax and optax."""
    import jax
    import jax.numpy as jnp
    import jax_twin

    dtype = jnp.bfloat16 if name.endswith("bfloat16") else jnp.float32
    if not name.startswith("LSTM"):

        def build(tiny):
            if tiny:
                return jax_twin.ResNet((1, 1), (4, 16, 32), 10, True, dtype), (2, 32, 32, 3)
            stages, channels = (3, 4, 6, 3), (64, 256, 512, 1024, 2048)
            return jax_twin.ResNet(stages, channels, bottleneck=True, dtype=dtype), (64, 224, 224, 3)

        return jax_twin.flax_training(build)(tiny)
    steps, batch, units = LSTM_SIZES[tiny]
    rng = np.random.RandomState(0)
    layers = [jax_twin.lstm_parameters(rng, units, units) for _ in range(2)]
    data = jnp.asarray(rng.rand(steps, batch, units), jnp.float32)

    def loss_of(layers, state, x):
        x = x.astype(dtype)
        for layer in jax.tree.map(lambda w: w.astype(dtype), layers):
            x = jax_twin.lstm(layer, x)
        return jnp.square(x.astype(jnp.float32)).mean(), state

    return jax_twin.stepping(loss_of, layers, (), jax_twin.SGD, data)


def prepared(who, name, options):
    """(step, wait) of one implementation."""
    if who == "torch":
        import torch_twin

        torch_twin.exact_float32()
        return torch_twin.TWINS[name](options.tiny, "cuda" if options.device == "gpu" else "cpu")
    if who == "jax":
        import jax
        import jax_twin

        step = large_twin(name, options.tiny) if name in LARGE else jax_twin.TWINS[name](options.tiny)
        return step, jax.block_until_ready
    import gluonjax as mx

    context = mx.gpu(0) if options.device == "gpu" else mx.cpu(0)
    context.__enter__()  # for the rest of the process
    step = large_step(mx, name, options.tiny) if name in LARGE else workloads.WORKLOADS[name].prepare(mx, options.tiny)
    if who == "mx.jit":
        step = mx.jit(step)
    return step, lambda found: workloads.run_once(lambda: found, mx)


def serve(who, name, options):
    """The worker's side: see worker.py."""
    step, wait = prepared(who, name, options)
    limits = {"seconds": 0.002, "warm_calls": 3} if options.tiny else {"warm_seconds": 2.0}
    burst = bursts.Bursts(step, wait, **limits)
    print("ready", burst.first, flush=True)
    for _ in sys.stdin:
        print(burst(), flush=True)


def trains(name):
    return name in LARGE or workloads.WORKLOADS[name].training


def measure(name, options, torch):
    """{who: (seconds of a step, seconds until the first was done)}; who fails says so on standard error."""
    everyone = ["gluonjax", "jax"]
    everyone += ["mx.jit"] if options.whole_step and trains(name) else []
    everyone += ["torch"] if name in torch else []
    tail = ["--device", options.device, *(["--tiny"] if options.tiny else [])]
    # Several processes share the device; full float32 products by JAX's own setting.
    common = {
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        "JAX_PLATFORMS": "cuda,cpu" if options.device == "gpu" else "cpu",
    }
    exact = {"JAX_DEFAULT_MATMUL_PRECISION": "float32"}
    workers = {
        who: Worker(
            sys.executable, "--serve", who, name, *tail, script="gpu.py", **common, **(exact if who == "jax" else {})
        )
        for who in everyone
    }
    first, times = {}, {}
    try:
        for who, worker in list(workers.items()):
            try:
                first[who] = worker.ready()
            except WorkerFailed as error:
                print(error, file=sys.stderr)
                del workers[who]
        for _ in range(2 if options.tiny else options.rounds):
            for who, worker in workers.items():
                times.setdefault(who, []).append(worker.burst())
        return {who: (statistics.median(values), first[who]) for who, values in times.items()}
    finally:
        for worker in workers.values():
            worker.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("gpu", "cpu"), default="gpu")
    parser.add_argument("--seconds", type=float, default=300.0, help="start no row after this long")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--whole-step", action="store_true", help="also measure training steps under mx.jit")
    parser.add_argument("--results", help="a JSON file, written after every row")
    parser.add_argument("--tiny", action="store_true", help="small sizes: tries the script out")
    parser.add_argument("--serve", nargs=2, metavar=("WHO", "NAME"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(*options.serve, options)
        return
    start, found, left, failed = time.perf_counter(), {}, [], False
    torch = ()
    if importlib.util.find_spec("torch"):
        import torch_twin

        torch = torch_twin.TWINS
    print("| workload (%s) | gluonjax | JAX by hand | ratio | mx.jit | ratio | PyTorch | ratio |" % options.device)
    print("|---" * 8 + "|")
    for name in LARGE + SMALL:
        if options.only not in name:
            continue
        if time.perf_counter() - start > options.seconds:
            left.append(name)
            continue
        row = found[name] = measure(name, options, torch)
        failed |= not {"gluonjax", "jax"} <= row.keys()
        ours, hand = row.get("gluonjax"), row.get("jax")
        cells = [name, bursts.shown(ours[0]) if ours else "failed"]
        for who, base in (("jax", ours), ("mx.jit", None), ("torch", ours)):
            cells.append(bursts.shown(row[who][0]) if who in row else "")
            if who == "mx.jit" and who in row and hand:
                cells.append("%.2f" % (row[who][0] / hand[0]))
            else:
                cells.append("%.2f" % (base[0] / row[who][0]) if base and who in row else "")
        print("| " + " | ".join(cells) + " |", flush=True)
        if options.results:
            pathlib.Path(options.results).write_text(json.dumps(found, indent=1) + "\n")
    for name in left:
        print("not measured, the time was over: " + name)
    print("%.0f s in all" % (time.perf_counter() - start))
    sys.exit(failed)


if __name__ == "__main__":
    main()
