"""Peak memory of a training step against the hand-written twin, and whether a long eager loop stays flat (Linux).

    python examples/benchmarks/memory.py

Each number comes from a process of its own: resident memory at its highest during the steps, less what the process
held after the imports. A first run of every process fills a compilation cache that is thrown away afterwards, so that
the compiler's own memory is not counted.
"""

import argparse
import gc
import json
import sys
import tempfile

from load import workloads
from processes import printed


def resident(field="VmRSS"):
    """Megabytes of this process: VmRSS is now, VmHWM the highest since ``forget_peak``."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(field):
                return int(line.split()[1]) / 1024
    raise RuntimeError("no %s in /proc/self/status" % field)


def forget_peak():
    with open("/proc/self/clear_refs", "w") as switch:
        switch.write("5")


def resnet(mx, tiny):
    zoo = mx.gluon.model_zoo.vision
    if tiny:
        return zoo.ResNetV1(zoo.BasicBlockV1, [1, 1], [4, 4, 8], classes=10), (2, 3, 32, 32)
    return zoo.resnet18_v1(), (16, 3, 96, 96)


def big_mlp(mx, tiny):
    nn, units = mx.gluon.nn, 16 if tiny else 4096
    net = nn.HybridSequential()
    net.add(nn.Dense(units, activation="relu"), nn.Dense(units, activation="relu"), nn.Dense(10))
    return net, (4 if tiny else 256, units)


def resnet_twin(tiny):
    import jax_twin

    def build(tiny):
        net, shape = jax_twin.resnet18(tiny)
        return net, shape if tiny else (16, 96, 96, 3)

    return jax_twin.flax_training(build)(tiny)


def mlp_twin(tiny):
    import jax_twin

    units = 16 if tiny else 4096

    def parameters(rng):
        return {"dense": jax_twin.dense_parameters(rng, (units, units, units, 10))}

    return jax_twin.plain_training(jax_twin.mlp, parameters, (256, units))(tiny)


STEPS = {
    "ResNet-18, batch 16, 96x96": (resnet, resnet_twin),
    "MLP 4096-4096-4096-10, batch 256": (big_mlp, mlp_twin),
}


def peak(name, who, tiny):
    """Megabytes of a few steps above what the imports need."""
    build, make_twin = STEPS[name]
    if who == "jax":
        import jax

        jax.block_until_ready(jax.jit(lambda x: x + 1)(1.0))
        before = resident()
        step, wait = make_twin(tiny), jax.block_until_ready
    else:
        import gluonjax as mx

        (mx.nd.ones((2, 2)) + 1).wait_to_read()
        before = resident()
        step = workloads.training(build, True)(mx, tiny)
        if who == "mx.jit":
            step = mx.jit(step)

        def wait(found):
            workloads.run_once(lambda: found, mx)

    wait(step())
    gc.collect()
    forget_peak()
    for _ in range(6):
        wait(step())
    return resident("VmHWM") - before


def growth(steps):
    """Megabytes after ``steps`` eager training steps more than after a tenth of them."""
    import gluonjax as mx

    step = workloads.training(workloads.mlp, False)(mx, True)
    early = 0.0
    for number in range(1, steps + 1):
        step()
        if number == steps // 10:
            mx.nd.waitall()
            gc.collect()
            early = resident()
    mx.nd.waitall()
    gc.collect()
    return resident() - early


def in_process(folder, *arguments):
    cache = {"JAX_COMPILATION_CACHE_DIR": folder, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    return json.loads(printed([sys.executable, __file__, *arguments], XDG_CACHE_HOME=folder, **cache))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--whole-step", action="store_true", help="also under mx.jit")
    parser.add_argument("--steps", type=int, default=5000, help="steps of the eager loop")
    parser.add_argument("--tiny", action="store_true", help="small sizes: tries the program out")
    parser.add_argument("--peak", nargs=2, metavar=("NAME", "WHO"), help=argparse.SUPPRESS)
    parser.add_argument("--growth", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        print(json.dumps(peak(*options.peak, options.tiny)))
        return
    if options.growth:
        print(json.dumps(growth(options.growth)))
        return
    tail = ["--tiny"] if options.tiny else []
    everyone = ["gluonjax", "jax", *(["mx.jit"] if options.whole_step else [])]
    print("| peak of a training step | MB | JAX by hand, MB | ratio (wanted: 1.15) |\n|---|---|---|---|")
    for name in STEPS:
        if options.only not in name:
            continue
        found = {}
        with tempfile.TemporaryDirectory() as folder:
            for who in everyone:
                for _ in range(2):
                    found[who] = in_process(folder, "--peak", name, who, *tail)
        for who in everyone:
            if who != "jax":
                label = name if who == "gluonjax" else "%s, %s" % (name, who)
                cells = label, found[who], found["jax"], found[who] / max(found["jax"], 1e-9)
                print("| %s | %.0f | %.0f | %.2f |" % cells, flush=True)
    steps = min(options.steps, 200) if options.tiny else options.steps
    if options.only in "eager loop":
        with tempfile.TemporaryDirectory() as folder:
            print("eager loop: %.1f MB more after %d steps than after %d"
                  % (in_process(folder, "--growth", str(steps)), steps, steps // 10))  # fmt: skip


if __name__ == "__main__":
    main()
