"""Writes tests/data/ndarray.json: what the real MXNet 1.9.1 answers to the cases in tests/ndarray/cases.

Run it from the project's folder with an interpreter that has mxnet==1.9.1 and numpy==1.23.5:

    MXNET_MKLDNN_ENABLED=0 python -m tests.oracle.record_ndarray

A theme runs in a process of its own that is started again behind a case that ends it.
"""

from __future__ import annotations

import base64
import json
import pathlib
import pickle
import subprocess
import sys

from tests.ndarray.cases import THEMES, cases_of, outcome

DATA = pathlib.Path(__file__).parent.parent / "data" / "ndarray.json"


def record_theme(theme, start):
    """Print one JSON line for each case from ``start`` on, behind a line that names it."""
    import mxnet as mx

    for index, case in enumerate(cases_of(theme)):
        if index >= start:
            print(json.dumps(["at", index, None]), flush=True)
            found = outcome(case, mx)
            found.pop("kinds", None) if isinstance(found, dict) else None
            print(json.dumps(["is", case.name, found]), flush=True)
            settle(mx)


def settle(mx):
    """Let a deferred error of this case surface here, not in the next one."""
    try:
        mx.nd.waitall()
    except mx.base.MXNetError:
        pass


def record_pickles():
    """Print pickles that the real MXNet writes, for the other direction."""
    import mxnet as mx

    arrays = {
        "float32": mx.nd.arange(6).reshape((2, 3)), "int64": mx.nd.array([2**53 + 1], dtype="int64"),
        "float16": mx.nd.array([1.5, 2], dtype="float16"), "view": mx.nd.arange(6).reshape((2, 3))[1],
        "cpu1": mx.nd.ones((1,), ctx=mx.cpu(1)),
    }  # fmt: skip
    for name, array in arrays.items():
        print(json.dumps(["is", name, base64.b64encode(pickle.dumps(array, 2)).decode()]), flush=True)


def collect(*arguments):
    """Run this module in a child and gather what it prints; restart behind a crash."""
    found, start, at = {}, 0, -1
    while True:
        command = [sys.executable, "-m", "tests.oracle.record_ndarray", *arguments, str(start)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
        for line in done.stdout.splitlines():
            if line.startswith('["at"'):
                at = json.loads(line)[1]
            elif line.startswith('["is"'):
                _, name, value = json.loads(line)
                found[name] = value
        if done.returncode == 0 or at < start:
            return found
        print(f"{arguments}: case {at} ended the process")
        start = at + 1


def main():
    found = {theme: collect("--theme", theme) for theme in THEMES}
    found["pickle"] = collect("--pickles")
    with open(DATA, "w") as stream:
        json.dump(found, stream, indent=0, sort_keys=True)
        stream.write("\n")
    print({theme: len(entries) for theme, entries in found.items()}, "in", DATA)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--theme"]:
        record_theme(sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1:2] == ["--pickles"]:
        record_pickles()
    else:
        main()
