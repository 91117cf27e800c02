"""Run under the real MXNet: writes tests/data/monitor.json, what monitors collect."""

from __future__ import annotations

import json
import pathlib
import sys

import mxnet as mx

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
from tests.module.monitor_cases import normalized, watched  # noqa: E402

CASES = [(False, True), (True, False), (False, False)]
found = {f"{every}-{train}": watched(mx, every, train) for every, train in CASES}
found |= {f"normalized-{train}": normalized(mx, train) for train in (False, True)}
(ROOT / "tests" / "data" / "monitor.json").write_text(json.dumps(found, indent=1))
