"""Writes tests/data/gluon/graphs.json: the graphs that the real MXNet 1.9.1's blocks make, as digests. Run with it."""

from __future__ import annotations

import json
import os
import sys

import mxnet as mx

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, ROOT)

from tests.gluon.graph_cases import digest, graphs, zoo  # noqa: E402
from tests.gluon.zoo_weights import NAMES  # noqa: E402

if __name__ == "__main__":
    found = {name: digest(texts) for name, texts in graphs(mx).items()}
    found.update({f"zoo {name}": zoo(mx, name) for name in NAMES})
    with open(os.path.join(ROOT, "tests", "data", "gluon", "graphs.json"), "w") as file:
        json.dump(found, file, indent=1)
    print(len(found))
