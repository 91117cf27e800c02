"""Arrays behave as the real MXNet's: every case of tests/ndarray/cases against what 1.9.1 answered."""

from __future__ import annotations

import json
import pathlib

import pytest

import gluonjax as mx
from tests.ndarray.cases import THEMES, cases_of, outcome

RECORDED = json.loads((pathlib.Path(__file__).parent.parent / "data" / "ndarray.json").read_text())

# Where this library answers differently on purpose: (theme, case): reason.
EMPTY = "zero-size results are arrays, MXNet's are errors"
NUMBERS = "float() and int() of an array of one element work"
KEYS = "a key writes where it reads; MXNet writes the whole array for a Python bool"
DIFFERENT: dict[tuple[str, str], str] = {
    ("memory", "share dlpack"): "a DLPack capsule holds the value at the time, it is not a window for writing",
    ("memory", "zero-size views"): EMPTY,
    ("dtypes", "add numpy"): "NumPy operands are taken, with the array's dtype; MXNet refuses them",
    **{("reading", f"a[{key}]"): EMPTY for key in ("2:1", ":,9:", "[]", "np []")},
    ("reading", "zero size"): EMPTY,
    ("reading", "np shape [:, 1:1]"): EMPTY,
    **{("writing", f"count a[{key}]"): EMPTY for key in ("1:1", "2:1", "5:", "[]", "np []")},
    ("writing", "a[1:1] = list"): EMPTY,
    ("dtypes", "make arange none"): EMPTY,
    ("reading", "a[np.uint8]"): "every NumPy integer is an index",
    ("writing", "count a[np.uint8]"): "every NumPy integer is an index",
    ("reading", "a[[0,1],None]"): "None behind an index list stands where NumPy puts it, not in front of the list",
    ("reading", "a[list of nd]"): "lists may hold arrays",
    ("writing", "count a[list of nd]"): "lists may hold arrays",
    ("dtypes", "make array list of nd"): "lists may hold arrays",
    ("reading", "np shape len"): "a 0-d array has no length",
    ("reading", "np shape iterate"): "a 0-d array cannot be iterated",
    ("writing", "a[:] = None"): "None is no number; MXNet writes nan",
    **{("writing", name): KEYS for name in ("a[True] = 3", "count a[True]", "count a[False]")},
    ("writing", "cast into bool"): "bool arrays take part in everything",
    ("dtypes", "unary float16"): "float16 can be sorted",
    **{("conversion", f"{kind} of {value}"): NUMBERS
       for kind in ("float", "int") for value in ("f32", "zero", "one", "negative")},
    ("conversion", "asscalar of f32"): "asscalar gives a scalar, MXNet's an array of shape (1, 1)",
    ("conversion", "context wrong"): "MXNetError that lists the device types",
    ("conversion", "from_numpy wrong"): "TypeError that says what is wanted",
    ("conversion", "attach_grad bad"): "ValueError that lists the choices",
    ("conversion", "transpose bad"): "an axis named twice is an error; MXNet returns garbage",
    ("conversion", "transpose args"): "axes may be given one by one",
}  # fmt: skip

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
            rest = all(theirs[key] == ours[key] for key in theirs if key != "values")
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
