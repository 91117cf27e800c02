"""Writes tests/data/metrics.json: what the real MXNet 1.9.1's metrics answer. Run with that MXNet installed.

The cases themselves are in tests/metric_cases.py, which needs NumPy only.
"""

from __future__ import annotations

import json
import os
import sys

import mxnet as mx

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)
from metric_cases import cases  # noqa: E402


def answer(name, settings, batches):
    metric = mx.metric.create(name, **settings)
    answers = []
    for position, (labels, preds) in enumerate(batches):
        if position == 2:
            metric.reset_local()
        wrapped = [[mx.nd.array(array, dtype=array.dtype) for array in side] for side in (labels, preds)]
        metric.update(*wrapped)
        answers.append([metric.get_name_value(), metric.get_global_name_value()])
    return answers


def main():
    found = {key: answer(name, settings, batches) for key, name, settings, batches in cases()}
    path = os.path.join(ROOT, "data", "metrics.json")
    with open(path, "w") as stream:
        json.dump(found, stream, indent=0, sort_keys=True, default=float)
    print(len(found), "metrics in", path)


if __name__ == "__main__":
    main()
