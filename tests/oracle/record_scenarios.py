"""Writes tests/data/gluon/scenarios.json: what ``tests/gluon/scenarios`` see under MXNet 1.9.1. Run with that MXNet."""

from __future__ import annotations

import json
import os
import sys

import mxnet as mx

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, ROOT)

from tests.gluon.scenario_runner import run, scenarios  # noqa: E402

if __name__ == "__main__":
    found, failed = {}, False
    for name, function in scenarios().items():
        try:
            found[name] = run(mx, function)
        except Exception as error:
            print(name, type(error).__name__, str(error)[:300])
            failed = True
    assert not failed
    with open(os.path.join(ROOT, "tests", "data", "gluon", "scenarios.json"), "w") as file:
        json.dump(found, file, indent=None, separators=(",", ":"))
    print(len(found))
