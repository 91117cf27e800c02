"""Runs the workloads on several implementations, alternately, each in a process of its own; prints a table.

    python examples/benchmarks/compare.py --mxnet /path/to/python-with-mxnet

Without ``--mxnet`` (or MXNET_PYTHON) it compares with JAX alone. ``--rounds`` repeats everything; the table shows
medians over the rounds. MXNet runs with its defaults (oneDNN on) and with MXNET_MKLDNN_ENABLED=0; the faster of the
two counts, and the table names it.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
NAMES = (
    "eager a + b, 10x10", "a += b; a[2] = 0, 10x10", "41 recorded small operators + backward",
    "MLP training step, eager", "MLP training step, hybridized", "MLP inference, eager", "MLP inference, hybridized",
    "LeNet training step, eager", "LeNet training step, hybridized", "Module.fit, LeNet, one epoch of 1,280",
)  # fmt: skip
TWINS = ("MLP training step, hybridized", "LeNet training step, hybridized")
COLD = "300 pairs, cold"
TARGETS = {
    "eager a + b, 10x10": 0.6, "41 recorded small operators + backward": 0.6, "MLP training step, eager": 0.8,
    "MLP training step, hybridized": 0.8, "LeNet training step, eager": 0.8, "LeNet training step, hybridized": 0.8,
    "Module.fit, LeNet, one epoch of 1,280": 0.8,
}  # fmt: skip


def run(python, script, *arguments, **environment):
    """The JSON that one process prints."""
    settings = {name: value for name, value in os.environ.items() if name != "JAX_COMPILATION_CACHE_DIR"}
    settings["PYTHONPATH"] = os.pathsep.join([str(HERE.parent.parent), *filter(None, [settings.get("PYTHONPATH")])])
    done = subprocess.run(
        [python, str(HERE / script), *arguments], env={**settings, **environment}, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit("%s %s failed:\n%s" % (script, " ".join(arguments), done.stderr))
    return json.loads(done.stdout.splitlines()[-1])


def participants(mxnet):
    found = {"gluonjax": lambda *a: run(sys.executable, a[0], "gluonjax", *a[1:])}
    if mxnet:
        plain = {"MXNET_STORAGE_FALLBACK_LOG_VERBOSE": "0"}
        found["mxnet"] = lambda *a: run(mxnet, a[0], "mxnet", *a[1:], **plain)
        found["mxnet without oneDNN"] = lambda *a: run(
            mxnet, a[0], "mxnet", *a[1:], MXNET_MKLDNN_ENABLED="0", MXNET_USE_MKLDNN_RNN="0", **plain
        )
    return found


def measure(mxnet, names, rounds):
    """{workload: {implementation: [seconds, ...]}}"""
    found = {name: {} for name in names}
    for number in range(rounds):
        for name in names:
            script, rest = ("cold.py", ()) if name == COLD else ("workloads.py", (name,))
            for who, call in participants(mxnet).items():
                found[name].setdefault(who, []).append(call(script, *rest)[name])
            if name in TWINS:
                twin = run(sys.executable, "jax_twin.py", "jax", name)
                found[name].setdefault("jax", []).append(twin[name])
            print("round %d: %s" % (number + 1, name), file=sys.stderr, flush=True)
    return found


def shown(seconds):
    return "%.1f us" % (seconds * 1e6) if seconds < 1e-3 else "%.2f ms" % (seconds * 1e3) if seconds < 1 else (
        "%.2f s" % seconds
    )  # fmt: skip


def table(found):
    lines = ["| workload | gluonjax | MXNet 1.9.1 | ratio | wanted | JAX + optax by hand | ratio |", "|" + "---|" * 7]
    for name, times in found.items():
        middle = {who: statistics.median(values) for who, values in times.items()}
        ours = middle["gluonjax"]
        rivals = {who: value for who, value in middle.items() if who.startswith("mxnet")}
        cells = [name, shown(ours)]
        if rivals:
            best = min(rivals, key=rivals.get)
            note = " (no oneDNN)" if best != "mxnet" else ""
            cells += [shown(rivals[best]) + note, "%.2f" % (ours / rivals[best])]
        else:
            cells += ["", ""]
        cells.append("<= 5 s" if name == COLD else "<= %.1f" % TARGETS[name] if name in TARGETS else "")
        cells += [shown(middle["jax"]), "%.2f (<= 1.15)" % (ours / middle["jax"])] if "jax" in middle else ["", ""]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mxnet", default=os.environ.get("MXNET_PYTHON"), help="an interpreter that has mxnet 1.9.1")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help="workloads whose name contains this")
    options = parser.parse_args()
    names = [name for name in (*NAMES, COLD) if not options.only or options.only in name]
    print(table(measure(options.mxnet, names, options.rounds)))


if __name__ == "__main__":
    main()
