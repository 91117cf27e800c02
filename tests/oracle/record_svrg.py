"""Run under the real MXNet: writes tests/data/svrg.json, trainings with variance-reduced gradients."""

from __future__ import annotations

import json
import pathlib
import sys

import mxnet as mx

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
from tests.contrib.svrg_cases import CASES, train  # noqa: E402

found = {name: train(mx, *case) for name, case in CASES.items()}
(ROOT / "tests" / "data" / "svrg.json").write_text(json.dumps(found, indent=1))
