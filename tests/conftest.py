"""A fresh state for every test: seed, modes and names; warnings are errors (pyproject.toml)."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

import gluonjax as mx
from gluonjax._base.scopes import modes


@pytest.fixture(autouse=True)
def fresh_state():
    """Seed everything, start from default modes and from new name counters."""
    mx.random.seed(0)
    np.random.seed(0)
    before = dict(modes.__dict__)
    with mx.name.NameManager():
        yield
    modes.__dict__.update(before)


@pytest.fixture
def shared_data() -> pathlib.Path:
    """The folder of real data beside the checkout; tests that need it are skipped elsewhere."""
    above = pathlib.Path(__file__).resolve().parents
    # Beside the checkout, or one higher for a worktree.
    for folder in (above[level] / "shared" / "data" for level in (2, 3) if level < len(above)):
        if folder.is_dir():
            return folder
    pytest.skip("the shared data folder is not here")
