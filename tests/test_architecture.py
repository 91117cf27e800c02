"""The map of the package, held by a test: who may import whom, which paths are public, what no file does.

The level table is DESIGN section 1's: arrows go only downwards.
"""

from __future__ import annotations

import ast
import functools
import pathlib
import sys
from collections.abc import Iterator
from typing import NamedTuple

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "gluonjax"

# Each row may import the rows above it at import time; units of one row do not import each other.
# "a+b" is one unit in two folders.
ORDER = (
    # leaf facts
    "_base",
    # operators and files
    "_ops _files",
    "_images",
    # the engine; knows neither NDArray nor Symbol
    "_engine",
    # values
    "context runtime libinfo",
    "util",
    "ndarray",
    "base",
    "name error registry",
    "attribute",
    "autograd random executor engine _jit",


    "_executor_monitor _profile_report",
    "autograd random executor engine",
    "_legacy_operator",
    "operator",
    "symbol",
    "numpy+numpy_extension",
    "numpy_op_signature numpy_dispatch_protocol numpy_op_fallback",
    # training parts
    "log lr_scheduler profiler recordio _metrics ndarray_doc symbol_doc",
    "metric misc optimizer initializer _checkpoint",
    "callback monitor visualization kvstore",
    "io",
    "image",
    # model APIs
    "gluon _feed_forward",
    "model",
    "module",
    "rnn executor_manager contrib",
    # edges
    "onnx interop tpu compat _stubs",
    "_testing",
    "test_utils",
    "port",
    "__main__",
)

# Imports inside functions that go upwards: (from, to) -> why it cannot be otherwise.
UPWARD = {
    ("ndarray", "autograd"): "NDArray.backward is a method of the array and a walk of the tape",
    ("ndarray", "base"): "an error class whose public home is mx.base, which needs ndarray's null object",
    ("ndarray", "image"): "nd._internal has the picture functions under the names that 1.9.1 registers",
    ("ndarray", "numpy"): "as_np_ndarray makes an array of the class that derives from NDArray",
    ("autograd", "symbol"): "get_symbol answers with a Symbol",
    ("_legacy_operator", "operator"): "NumpyOp and NDArrayOp run as a CustomOp",
    ("_legacy_operator", "symbol"): "get_symbol of a NumpyOp answers with a Symbol",
    ("initializer", "rnn"): "FusedRNN unpacks its parameters with the cells of mx.rnn",
    ("model", "executor_manager"): "mx.model re-exports a name of the older training loop, on first use",
    ("gluon", "contrib"): "text data sets make their vocabulary with mx.contrib.text",
    ("gluon", "compat"): "a data worker takes over that the parent resolves 'mxnet' to gluonjax",
    ("_feed_forward", "module"): "FeedForward trains through a Module",
}

# Public paths that MXNet 1.9.1 has not: ours by decision (DESIGN section 1).
OURS = {"compat", "interop", "port", "tpu"}


class Import(NamedTuple):
    """One imported gluonjax module or name, and whether importing the file executes it."""

    file: pathlib.Path
    line: int
    target: str
    at_import: bool


def sources() -> list[pathlib.Path]:
    return sorted(PACKAGE.rglob("*.py"))


@functools.cache
def tree_of(path: pathlib.Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


def _runs_at_import(node: ast.AST) -> Iterator[ast.AST]:
    """Every node that importing the file executes: not functions' bodies, not ``if TYPE_CHECKING``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from _runs_at_import(child)


def _typing_only(tree: ast.Module) -> set[int]:
    guards = [n for n in ast.walk(tree) if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.unparse(n.test)]
    return {id(node) for guard in guards for statement in guard.body for node in ast.walk(statement)}


def imports_of(path: pathlib.Path) -> Iterator[Import]:
    tree = tree_of(path)
    early = {id(node) for node in _runs_at_import(tree)}
    skipped = _typing_only(tree)
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import; write the full path"
            targets = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        else:
            continue
        for target in targets:
            if target.split(".")[0] == "gluonjax":
                yield Import(path, node.lineno, target, id(node) in early)


@functools.cache
def ranks() -> dict[str, tuple[int, str]]:
    """Unit name -> its row and the unit it belongs to."""
    return {
        name: (row, unit) for row, units in enumerate(ORDER) for unit in units.split() for name in unit.split("+")
    }


def unit_of_file(path: pathlib.Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def unit_of_target(target: str) -> str:
    """The unit a dotted target lies in; a name that the package itself re-exports counts as its root."""
    parts = target.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in ranks() else "__init__"


def test_every_unit_has_a_row():
    units = {unit_of_file(path) for path in sources()} - {"__init__"}
    assert not units - set(ranks()), "add these to ORDER in this file, on the row whose imports they need"


def test_imports_go_only_downwards():
    wrong, used = [], set()
    for path in sources():
        source = unit_of_file(path)
        if source == "__init__":
            continue
        for found in imports_of(path):
            target = unit_of_target(found.target)
            where = f"{path.relative_to(ROOT)}:{found.line} imports {found.target}"
            if target == "__init__":
                # The root imports everything below it; only the edges may lean on it.
                if ranks()[source][0] < ranks()["onnx"][0]:
                    wrong.append(where)
                continue
            (row, unit), (target_row, target_unit) = ranks()[source], ranks()[target]
            if unit == target_unit or target_row < row:
                continue
            if not found.at_import and (unit.split("+")[0], target_unit.split("+")[0]) in UPWARD:
                used.add((unit.split("+")[0], target_unit.split("+")[0]))
                continue
            wrong.append(where)
    assert not wrong, "\n".join(wrong)
    assert used == set(UPWARD), f"no longer needed: {set(UPWARD) - used}"


def test_operators_know_only_jax_numpy_and_the_base():
    allowed = {"jax", "numpy", "ml_dtypes", "gluonjax"}
    wrong = []
    for path in sorted((PACKAGE / "_ops").rglob("*.py")) + sorted((PACKAGE / "_base").rglob("*.py")):
        for node in ast.walk(tree_of(path)):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in (n.split(".")[0] for n in names):
                if name not in allowed and name not in sys.stdlib_module_names:
                    wrong.append(f"{path.relative_to(ROOT)}:{node.lineno} imports {name}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("folder", ["gluonjax", "tests", "examples"])
def test_no_source_text_is_run_and_no_star_is_imported(folder):
    wrong = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(tree_of(path)):
            called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
            star = isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
            if called in ("exec", "eval") or star:
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert not wrong, "\n".join(wrong)


def test_only_public_jax_is_used():
    wrong = []
    for path in sources():
        for node in ast.walk(tree_of(path)):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [ast.unparse(node)] if isinstance(node, ast.Attribute) else []
            if any(name.startswith(("jax._src", "jax.lib.xla", "jaxlib")) for name in names):
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert not wrong, "\n".join(wrong)


def test_public_paths_are_mxnets():
    mxnets = set((ROOT / "tests" / "data" / "mxnet_modules.txt").read_text().split())
    strange = []
    for path in sources():
        parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
        if parts[-1] == "__init__":
            parts.pop()
        if not parts or parts[0] in OURS or any(part.startswith("_") for part in parts):
            continue
        if ".".join(["mxnet", *parts]) not in mxnets:
            strange.append(str(path.relative_to(ROOT)))
    assert not strange, f"MXNet 1.9.1 has no such modules; give ours a leading underscore: {strange}"


def test_every_file_says_what_it_is():
    silent = [str(path.relative_to(ROOT)) for path in sources() if not ast.get_docstring(tree_of(path))]
    assert not silent


def test_every_operator_has_a_docstring():
    from gluonjax._ops import registry

    operators = registry.operators()
    assert len(operators) > 200
    silent = [op.name for op in operators if not (op.doc or "").strip()]
    assert not silent
    unfinished = [op.name for op in operators if not op.doc.strip().splitlines()[0].rstrip().endswith((".", ":"))]
    assert not unfinished, "a docstring's first line is a sentence"
