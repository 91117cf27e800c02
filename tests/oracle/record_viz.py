"""Run under the real MXNet: writes tests/data/summaries.json, tables of print_summary."""

from __future__ import annotations

import json
import pathlib
import sys

import mxnet as mx

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
from tests.viz_cases import CASES, printed  # noqa: E402

found = {name: printed(mx, name) for name in CASES}
(ROOT / "tests" / "data" / "summaries.json").write_text(json.dumps(found, indent=1))
