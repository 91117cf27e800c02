"""Runs scenarios in a folder of their own, with fresh names and seeds."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import tempfile
import warnings
from typing import Any

from tests.gluon.scenarios.seen import plain

MODULES = ("parameters", "blocks", "trainers", "recurrent", "datasets")


def scenarios() -> dict[str, Any]:
    """``module.function`` -> the function; helpers take more than the package."""
    found = {}
    for name in MODULES:
        module = importlib.import_module(f"tests.gluon.scenarios.{name}")
        for label, function in vars(module).items():
            code = getattr(function, "__code__", None)
            if code is None or function.__module__ != module.__name__:
                continue
            if function.__annotations__.get("return") == "Seen":
                found[f"{name}.{label}"] = function
    return found


def run(mx: Any, function: Any) -> Any:
    """What a scenario saw, as JSON."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        try:
            mx.random.seed(1)
            with mx.name.NameManager(), contextlib.redirect_stdout(io.StringIO()):
                return plain(function(mx))
        finally:
            os.chdir(before)
