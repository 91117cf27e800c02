"""Uses of Gluon (``scenarios/``) see what they see under the real MXNet: texts, names, values, errors."""

from __future__ import annotations

import json
import math
import pathlib
from typing import Any

import pytest

import gluonjax as mx
from tests.gluon.scenario_runner import run, scenarios

RECORDED = json.loads((pathlib.Path(__file__).parents[1] / "data" / "gluon" / "scenarios.json").read_text())
SCENARIOS = scenarios()


def error_differs(wanted: dict[str, Any], found: dict[str, Any]) -> bool:
    """What catches MXNet's error must catch ours, which begins with its message (unless that is from its C++ code)."""
    if not wanted["error"] or wanted["error"][0] not in found.get("error", ()):
        return True
    message = wanted["message"]
    from_the_library = "Check failed" in message or "Traceback" in message or "MXNetError:" in message
    return not from_the_library and not found["message"].strip().startswith(message.rstrip("."))


def differences(wanted: Any, found: Any, where: str = "") -> list[str]:
    if isinstance(wanted, dict) and "error" in wanted and isinstance(found, dict):
        return [f"{where}: wanted {wanted}, got {found}"] if error_differs(wanted, found) else []
    if isinstance(wanted, dict) and isinstance(found, dict) and wanted.keys() == found.keys():
        return [line for key in wanted for line in differences(wanted[key], found[key], f"{where}.{key}")]
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        pairs = enumerate(zip(wanted, found))
        return [line for place, (one, other) in pairs for line in differences(one, other, f"{where}[{place}]")]
    if isinstance(wanted, float) and isinstance(found, (int, float)):
        return [] if math.isclose(wanted, found, rel_tol=1e-3, abs_tol=2e-5) else [f"{where}: {wanted} {found}"]
    return [] if wanted == found else [f"{where}: wanted {wanted!r}, got {found!r}"]


def test_all_are_recorded() -> None:
    assert sorted(SCENARIOS) == sorted(RECORDED) and len(SCENARIOS) > 60


@pytest.mark.parametrize("name", SCENARIOS)
def test_as_under_mxnet(name: str) -> None:
    assert differences(RECORDED[name], run(mx, SCENARIOS[name])) == []
