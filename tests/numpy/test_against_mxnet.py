"""``mx.np`` gives what MXNet 1.9.1 gave for the calls in ``cases.py``: values, dtypes, gradients, texts."""

from __future__ import annotations

import json
import pathlib

import numpy
import pytest

import gluonjax as mx
from tests.numpy import cases
from tests.numpy.record import run_case, run_text

RECORDED = json.loads((pathlib.Path(__file__).parents[1] / "data" / "numpy.json").read_text())
ARRAYS = cases.arrays()


@pytest.fixture(autouse=True)
def numpy_mode():
    mx.npx.set_np()


@pytest.mark.parametrize("name", cases.CASES)
def test_case(name: str) -> None:
    wanted = RECORDED["cases"][name]
    found = run_case(mx, cases.CASES[name][0], ARRAYS[name])
    assert (found["dtype"], found["shape"]) == (wanted["dtype"], wanted["shape"])
    numpy.testing.assert_allclose(found["value"], wanted["value"], rtol=2e-5, atol=1e-6)
    assert len(found["gradients"]) == len(wanted["gradients"])
    for ours, theirs in zip(found["gradients"], wanted["gradients"]):
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


# MXNet's cosine windows carry float32 rounding; NumPy's scalars show their type since NumPy 2; -0.0 is kept.
SHOWN_OTHERWISE = {"unique", "linspace", "hanning", "around"}


@pytest.mark.parametrize("name", [name for name in cases.TEXTS if name not in SHOWN_OTHERWISE])
def test_text(name: str) -> None:
    assert run_text(mx, cases.TEXTS[name]) == RECORDED["texts"][name]
