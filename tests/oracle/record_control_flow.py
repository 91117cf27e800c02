"""Record loops and branches from the real MXNet 1.9.1: ``python -m tests.oracle.record_control_flow``."""

from __future__ import annotations

import json
import pathlib

import mxnet as mx

from tests.symbol.control_flow_cases import CASES, run

TARGET = pathlib.Path(__file__).parent.parent / "data" / "control_flow.json"

if __name__ == "__main__":
    TARGET.write_text(json.dumps({name: run(mx, name) for name in CASES}, indent=1, sort_keys=True) + "\n")
