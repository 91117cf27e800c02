"""The generated ``.pyi`` files."""

from __future__ import annotations

import ast

import pytest

import gluonjax as mx
from gluonjax import _stubs
from gluonjax._engine.functions import names_in

STUBS = _stubs.stubs()


@pytest.mark.parametrize("path", STUBS, ids=lambda path: "/".join(path.parts[-2:]))
def test_current(path):
    assert path.exists() and path.read_text() == STUBS[path], f"run: {_stubs.COMMAND}"


def functions(path):
    return {node.name: node for node in ast.parse(STUBS[path]).body if isinstance(node, ast.FunctionDef)}


def test_defaults_are_those_of_the_operator():
    convolution = functions(_stubs.PACKAGE / "ndarray" / "op.pyi")["Convolution"]
    names = [argument.arg for argument in convolution.args.args]
    defaults = dict(zip(reversed(names), map(ast.unparse, reversed(convolution.args.defaults))))
    assert names[:5] == ["data", "weight", "bias", "kernel", "stride"]
    assert (defaults["kernel"], defaults["num_group"], defaults["no_bias"]) == ("...", "1", "False")
    assert "data" not in defaults
    assert ast.get_docstring(convolution)


@pytest.mark.parametrize("package", ["ndarray", "symbol"])
def test_every_public_function_is_there(package):
    shown = set()
    for node in ast.parse(STUBS[_stubs.PACKAGE / package / "__init__.pyi"]).body:
        if isinstance(node, ast.ImportFrom):
            shown |= {alias.asname for alias in node.names}
        elif isinstance(node, ast.FunctionDef):
            shown.add(node.name)
    module = getattr(mx, package)
    public = {name for name in {*vars(module), *names_in("op")} if not name.startswith("_")}
    callables = {name for name in public if name.isidentifier() and callable(getattr(module, name))}
    assert not {name for name in callables if getattr(module, name).__module__.startswith("gluonjax")} - shown
