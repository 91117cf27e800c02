"""Heavy operators, forward and with gradient, on gluonjax and the real MXNet 1.9.1 in turn; prints ratios.

    python examples/benchmarks/heavy_ops.py --mxnet /path/to/python-with-mxnet [--only TEXT ...] [--rounds 3]

Each library has a process; both measure a case directly after each other, some rounds, and the table shows medians
and the median ratio. MXNet runs with its defaults. Its OpenMP threads spin for a while after each burst of work, so
the processes pause before they measure. A case counts where MXNet needs over 5 ms; none of those should be over 2.
"""

import argparse
import importlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

from heavy_cases import CASES, FAMILIES, LAST
from processes import settings

HERE = pathlib.Path(__file__).resolve().parent
PARTS = ("forward", "with gradient")


def function_of(mx, op):
    """The nd function of a registered name."""
    prefixes = {"_contrib_": "contrib", "_linalg_": "linalg"}
    for prefix, space in prefixes.items():
        if op.startswith(prefix):
            return getattr(getattr(mx.nd, space), op[len(prefix) :])
    return getattr(mx.nd._internal if op.startswith("_") else mx.nd, op)


def seconds(function, wait, least=5, budget=0.2):
    """The median of several calls, each waited for, after the first ones."""
    started, calls = time.perf_counter(), 0
    # gluonjax compiles an operator after some calls only.
    while calls < 3 or (calls < 20 and time.perf_counter() - started < 1.5):
        function()
        wait()
        calls += 1
    found = []
    while len(found) < least or (sum(found) < budget and len(found) < 50):
        start = time.perf_counter()
        function()
        wait()
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def measure(mx, name):
    """[forward, forward and backward or None] in seconds."""
    op, inputs, attrs, differentiated = CASES[name]()
    arrays = [mx.nd.array(value, dtype=value.dtype) for value in inputs if value is not None]
    wanted = arrays[-1:] if differentiated == LAST else arrays[:differentiated]
    for array in wanted:
        array.attach_grad()
    function = function_of(mx, op)

    def forward():
        return function(*arrays, **attrs)

    def both():
        with mx.autograd.record():
            result = function(*arrays, **attrs)
        (result[0] if isinstance(result, list) else result).backward()

    mx.nd.waitall()
    time.sleep(0.3)
    return [seconds(forward, mx.nd.waitall), seconds(both, mx.nd.waitall) if wanted else None]


def work(implementation):
    """Measures the case that each line on standard input names; a line of JSON is the answer."""
    mx = importlib.import_module(implementation)
    for line in sys.stdin:
        try:
            answer = measure(mx, line.strip())
        except (mx.base.MXNetError, TypeError, AttributeError) as error:
            answer = str(error).splitlines()[-1]
        print(json.dumps(answer), flush=True)


class Side:
    """One library's process."""

    def __init__(self, python, implementation):
        self.name = implementation
        self._process = subprocess.Popen(
            [python, str(HERE / "heavy_ops.py"), "--worker", implementation],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=settings(),
        )  # fmt: skip

    def measure(self, case):
        """[forward, with gradient or None] in ms; exits where the process cannot."""
        self._process.stdin.write(case + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        found = json.loads(line) if line else "the process ended"
        if isinstance(found, str):
            print(f"{self.name}, {case}: {found}", file=sys.stderr)
            return None
        return [None if value is None else value * 1e3 for value in found]

    def end(self):
        """Ends the process."""
        self._process.stdin.close()
        self._process.wait()


def compared(case, sides, rounds):
    """{library: [pair of each round]} of one case."""
    found = {side.name: [] for side in sides}
    for _ in range(rounds):
        for side in sides:
            pair = side.measure(case)
            if pair is None:
                return found
            found[side.name].append(pair)
    return found


def summary(found, part):
    """(our ms, MXNet's ms, ratio) of forward (0) or with gradient (1); None for what was not measured."""
    columns = {name: [pair[part] for pair in pairs if pair[part] is not None] for name, pairs in found.items()}
    ours, theirs = columns.get("gluonjax", []), columns.get("mxnet", [])
    ratio = statistics.median(a / b for a, b in zip(ours, theirs)) if ours and theirs else None
    return *(statistics.median(column) if column else None for column in (ours, theirs)), ratio


def shown(case, found):
    """A line of the table."""
    line = f"{case:40}"
    for part in range(len(PARTS)):
        *times, ratio = summary(found, part)
        line += "".join(f"{value:>10.2f}" if value is not None else " " * 10 for value in times)
        line += f"{ratio:>7.2f}   " if ratio is not None else " " * 10
    return line.rstrip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mxnet", default=os.environ.get("MXNET_PYTHON"), help="an interpreter that has mxnet 1.9.1")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", help="texts in the names of cases, or families: " + ", ".join(FAMILIES))
    parser.add_argument("--results", help="a JSON file: cases measured now replace those of the same name in it")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options.worker)
        return
    chosen = {name for text in options.only or [] for name in FAMILIES.get(text, ())}
    parts = [text for text in options.only or [] if text not in FAMILIES]
    names = [
        name for name in CASES if not options.only or name in chosen or any(text in name for text in parts)
    ]
    sides = [Side(sys.executable, "gluonjax")]
    if options.mxnet:
        sides.append(Side(options.mxnet, "mxnet"))
    path = pathlib.Path(options.results) if options.results else None
    kept = json.loads(path.read_text()) if path and path.exists() else {}
    print(f"{'ms':40}{'gluonjax':>10}{'mxnet':>10}{'ratio':>7}   {'gluonjax':>10}{'mxnet':>10}{'ratio':>7}")
    slow = []
    for name in names:
        kept[name] = found = compared(name, sides, options.rounds)
        print(shown(name, found), flush=True)
        if path:
            path.write_text(json.dumps(kept) + "\n")
        for part, what in enumerate(PARTS):
            _, theirs, ratio = summary(found, part)
            if ratio is not None and ratio > 2 and theirs > 5:
                slow.append(f"{name} {what}: {ratio:.1f}")
    for side in sides:
        side.end()
    print("more than 2 times slower where MXNet needs over 5 ms: " + ("; ".join(slow) or "none"))


if __name__ == "__main__":
    main()
