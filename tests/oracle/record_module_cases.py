"""Run under the real MXNet: writes tests/data/module_cases.json, what Modules do in tests/module/recorded_cases.py."""

from __future__ import annotations

import json
import pathlib
import sys

import mxnet as mx

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
from tests.module.recorded_cases import CASES  # noqa: E402

found = {name: run(mx) for name, run in CASES.items()}
(ROOT / "tests" / "data" / "module_cases.json").write_text(json.dumps(found, separators=(",", ":")) + "\n")
