"""Runs the workloads on gluonjax, on MXNet 1.9.1 and in hand-written JAX, alternately; prints a table.

    python examples/benchmarks/compare.py --mxnet /path/to/python-with-mxnet --results results.json --chart chart.png

Without ``--mxnet`` (or MXNET_PYTHON) it compares with JAX alone. Every implementation has a process of its own that
prepares the workload and then times one burst of about 0.3 s whenever it is told to; the driver goes round them. The
machine's speed drifts, so a ratio is taken between neighbouring bursts and the table shows the median ratio. MXNet's
threads spin for 0.2 s after work, hence the pause between bursts. MXNet runs with its defaults (oneDNN on) and with
MXNET_MKLDNN_ENABLED=0: two bursts of each decide which one counts for a row (or what ``--results`` has kept does).
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import sys

import jax_twin
from load import bursts, workloads
from processes import ImportTimer, Worker, WorkerFailed

IMPORT = "import"
PAUSE = 0.4
NO_ONEDNN = "mxnet without oneDNN"
# At most this much of MXNet's time; hand-written JAX itself needs more than MXNet for the first of these two here.
WANTED = {"ResNet-18 training, hybridized": 1.1, "MobileNet 1.0 training, hybridized": 1.1}


def participants(name, options, known):
    """{who: started worker} for one row; ``known`` is what an earlier run measured."""
    mxnet = options.mxnet
    if name == IMPORT:
        found = {"gluonjax": ImportTimer(sys.executable, "gluonjax"), "jax": ImportTimer(sys.executable, "jax")}
        return {**found, "mxnet": ImportTimer(mxnet, "mxnet")} if mxnet else found
    tail = ["--tiny"] if options.tiny else []
    cache = {}
    if options.cache:
        # 0.1 s: most of a first run goes into the large programs, and each small one would be a file.
        cache = {
            "JAX_COMPILATION_CACHE_DIR": options.cache, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1"
        }  # fmt: skip
    found = {"gluonjax": Worker(sys.executable, "gluonjax", name, *tail, **cache)}
    ways = {"mxnet": {}, NO_ONEDNN: {"MXNET_MKLDNN_ENABLED": "0", "MXNET_USE_MKLDNN_RNN": "0"}}
    for way in ways if mxnet else ():
        if not ways.keys() & known.keys() or way in known:
            found[way] = Worker(mxnet, "mxnet", name, *tail, **ways[way])
    if name in jax_twin.TWINS:
        found["jax"] = Worker(sys.executable, "jax", name, *tail, **cache)
    if options.whole_step and workloads.WORKLOADS[name].training:
        found["whole step"] = Worker(sys.executable, "gluonjax", name, "--whole-step", *tail, **cache)
    return found


def fastest_mxnet(workers):
    """Ends the slower of the two MXNet processes."""
    both = [who for who in ("mxnet", NO_ONEDNN) if who in workers]
    if len(both) == 2:
        trial = {who: workers[who].burst(PAUSE) for who in both}
        if max(trial.values()) < 1:
            trial = {who: min(time, workers[who].burst(PAUSE)) for who, time in trial.items()}
        workers.pop(max(trial, key=trial.get)).end()


def measure(name, options, known):
    """{who: [seconds of a step, one for each round]}, and {who: seconds until its first step was done}"""
    workers = participants(name, options, known)
    try:
        first = {who: worker.ready() for who, worker in workers.items()}
        fastest_mxnet(workers)
        # Ours stands between its two rivals, so that both are its neighbours.
        order = [who for who in ("mxnet", NO_ONEDNN, "gluonjax", "jax", "whole step") if who in workers]
        times = {who: [] for who in order}
        spent = 0.0
        for number in range(options.rounds):
            if number >= 3 and spent > options.seconds:
                break
            for who in order:
                times[who].append(workers[who].burst(0.0 if options.tiny else PAUSE))
                spent += PAUSE + workers[who].seconds
        return {"times": times, "first": first}
    finally:
        for worker in workers.values():
            worker.end()


def ratio(times, a, b):
    """The median over the rounds of a's burst against b's."""
    return statistics.median(x / y for x, y in zip(times[a], times[b]))


def ratios(row):
    """{rival: ratio} with 'mxnet' for the MXNet that counts; 'whole step' is against hand-written JAX."""
    times = row["times"]
    rivals = {("mxnet" if who.startswith("mxnet") else who): who for who in times}
    found = {key: ratio(times, "gluonjax", rivals[key]) for key in ("mxnet", "jax") if key in rivals}
    if "whole step" in times and "jax" in times:
        found["whole step"] = ratio(times, "whole step", "jax")
    return found


def mean_ratio(rows):
    """The geometric mean of the ratios to MXNet."""
    found = [r["mxnet"] for r in map(ratios, rows.values()) if "mxnet" in r]
    return math.exp(statistics.fmean(map(math.log, found))) if found else None


def table(rows):
    lines = [
        "| workload | gluonjax | MXNet 1.9.1 | ratio | wanted | JAX by hand | ratio | mx.jit, ratio to JAX |",
        "|" + "---|" * 8,
    ]
    for name, row in rows.items():
        if "failed" in row:
            lines.append("| %s | failed: %s |" % (name, row["failed"].splitlines()[-1]) + " |" * 6)
            continue
        middle = {who: bursts.shown(statistics.median(values)) for who, values in row["times"].items()}
        against = {rival: "%.2f" % value for rival, value in ratios(row).items()}
        mxnet = middle.get("mxnet") or (middle[NO_ONEDNN] + " (no oneDNN)" if NO_ONEDNN in middle else "")
        cells = [name, middle["gluonjax"], mxnet, against.get("mxnet", ""), "%.1f" % WANTED.get(name, 0.9)]
        cells += [middle.get("jax", ""), against.get("jax", ""), against.get("whole step", "")]
        lines.append("| " + " | ".join(cells) + " |")
    mean = mean_ratio({name: row for name, row in rows.items() if "failed" not in row})
    if mean:
        lines.append("| geometric mean | | | %.2f | 0.5 | | | |" % mean)
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mxnet", default=os.environ.get("MXNET_PYTHON"), help="an interpreter that has mxnet 1.9.1")
    parser.add_argument("--rounds", type=int, default=9, help="bursts of each implementation in a row (default 9)")
    parser.add_argument("--seconds", type=float, default=30.0, help="end a row after this long, from 3 rounds on")
    parser.add_argument("--only", action="append", help="rows whose name contains this; may be given several times")
    parser.add_argument("--results", help="a JSON file: rows measured now replace those of the same name in it")
    parser.add_argument("--chart", help="a PNG to draw (needs matplotlib)")
    parser.add_argument("--cache", help="a folder for JAX's compilation cache, so that a second run starts faster")
    parser.add_argument("--whole-step", action="store_true", help="also measure training steps under mx.jit")
    parser.add_argument("--tiny", action="store_true", help="small sizes, no pauses: tries the programs out")
    options = parser.parse_args()
    wanted = [text.lower() for text in options.only or [""]]
    names = [name for name in (*workloads.WORKLOADS, IMPORT) if any(text in name.lower() for text in wanted)]
    path = pathlib.Path(options.results) if options.results else None
    known = json.loads(path.read_text()) if path and path.exists() else {}
    for name in names:
        try:
            known[name] = measure(name, options, known.get(name, {}).get("times", {}))
            print(name, ratios(known[name]), file=sys.stderr, flush=True)
        except WorkerFailed as error:
            known[name] = {"failed": str(error)}
            print(name, error, file=sys.stderr, flush=True)
        if path:
            path.write_text(json.dumps(known, indent=1) + "\n")
    rows = {name: known[name] for name in (*workloads.WORKLOADS, IMPORT) if name in known}
    print(table(rows))
    if options.chart:
        from chart import comparison

        measured = {name: row for name, row in rows.items() if "failed" not in row}
        comparison({name: ratios(row) for name, row in measured.items()}, options.chart)
    sys.exit(any("failed" in row for row in rows.values()))


if __name__ == "__main__":
    main()
