"""Modules do what real MXNet's did: values, logged lines, warnings, and the classes and key words of errors."""

from __future__ import annotations

import json
import math
import pathlib
from typing import Any

import pytest

import gluonjax as mx
from tests.module.recorded_cases import CASES

RECORDED = json.loads((pathlib.Path(__file__).parents[1] / "data" / "module_cases.json").read_text())


def differences(wanted: Any, found: Any, place: str = "") -> list[str]:
    """Where two results differ. An error of ours may be of a more special class, and may say more."""
    if isinstance(wanted, dict) and "raises" in wanted:
        fits = bool(found["raises"]) == bool(wanted["raises"]) and set(wanted["raises"][:1]) <= set(found["raises"])
        return [] if fits and found["says"] == wanted["says"] else [f"{place}: {found} instead of {wanted}"]
    if isinstance(wanted, (list, dict)) and type(wanted) is type(found) and len(wanted) == len(found):
        keys = range(len(wanted)) if isinstance(wanted, list) else wanted
        if isinstance(wanted, list) or wanted.keys() == found.keys():
            return [line for key in keys for line in differences(wanted[key], found[key], f"{place}[{key!r}]")]
    if isinstance(wanted, float) and isinstance(found, (int, float)) and not isinstance(found, bool):
        if math.isclose(wanted, found, rel_tol=2e-5, abs_tol=2e-6):
            return []
    return [] if wanted == found else [f"{place}: {found} instead of {wanted}"]


def test_every_case_is_recorded() -> None:
    assert set(RECORDED) == set(CASES)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", CASES)
def test_the_same_as_mxnet(name: str) -> None:
    found = json.loads(json.dumps(CASES[name](mx)))
    assert not differences(RECORDED[name], found), "\n".join(differences(RECORDED[name], found)[:5])
