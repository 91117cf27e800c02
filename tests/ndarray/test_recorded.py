"""Arrays behave as the real MXNet's: every case of tests/ndarray/cases against what 1.9.1 answered."""

from __future__ import annotations

import json
import pathlib

import pytest

import gluonjax as mx
from tests.ndarray.cases import THEMES, cases_of, outcome

RECORDED = json.loads((pathlib.Path(__file__).parent.parent / "data" / "ndarray.json").read_text())

# Where this library answers differently on purpose: (theme, case): reason.
DIFFERENT: dict[tuple[str, str], str] = {}

CASES = [(theme, case) for theme in THEMES for case in cases_of(theme)]


def _same(ours, theirs):
    """Equal; floating-point content may differ in the last digits."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        if "error" in theirs and "error" in ours:
            # MXNet asserts on user input; any error that says what is wrong is as good.
            return theirs["error"] == "AssertionError" or theirs["error"] in ours["kinds"]
        if theirs.keys() != ours.keys():
            return False
        if "values" in theirs and "float" in str(theirs.get("dtype")):
            tolerance = 2e-3 if theirs["dtype"] == "float16" else 1e-6
            left, right = ([float(v) for v in side["values"]] for side in (ours, theirs))
            rest = {k: v for k, v in theirs.items() if k != "values"} == {k: v for k, v in ours.items() if k != "values"}
            return rest and left == pytest.approx(right, rel=tolerance, abs=1e-12, nan_ok=True)
        return all(_same(ours[key], theirs[key]) for key in theirs)
    if isinstance(theirs, list) and isinstance(ours, list):
        return len(ours) == len(theirs) and all(_same(a, b) for a, b in zip(ours, theirs))
    return ours == theirs


def test_everything_is_recorded():
    missing = {theme: [c.name for c in cases_of(theme) if c.name not in RECORDED[theme]] for theme in THEMES}
    assert all(not names for names in missing.values()), missing
    assert all(len(RECORDED[theme]) >= 90 for theme in THEMES)


@pytest.mark.parametrize(("theme", "case"), CASES, ids=[f"{theme}: {case.name}" for theme, case in CASES])
def test_as_recorded(theme, case):
    ours, theirs = json.loads(json.dumps(outcome(case, mx))), RECORDED[theme][case.name]
    if (theme, case.name) in DIFFERENT:
        assert not _same(ours, theirs), "no longer different: remove it from the list"
        return
    assert _same(ours, theirs), f"ours   {str(ours)[:600]}\ntheirs {str(theirs)[:600]}"
