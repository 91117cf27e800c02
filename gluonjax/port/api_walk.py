"""Compares this package with the public names of MXNet 1.9.1: ``python -m gluonjax api [--missing] [PREFIX]``.

A name is *the same* where every call that MXNet's signature accepts means the same here. We may take more: further
optional parameters behind MXNet's, and more keyword arguments.

Left out, with the reason in ``EXCLUDED``: what belongs to MXNet's C library and not to its users, and what the project
does not have.
"""

from __future__ import annotations

import collections
import importlib
import inspect
import os
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple

from gluonjax.port._api_table import Name, names

# (pattern on the whole path, why it is left out)
EXCLUDED = tuple(
    (re.compile(pattern), reason)
    for pattern, reason in (
        (r"mxnet\._ctypes\..*", "the binding to the C library"),
        (
            r"mxnet\..*\b(c_(str|array|handle)\w*|check_call|ctypes2\w+|MXCallbackList|build_param_doc|py_str"
            r"|get_last_ffi_error|set_kvstore_handle)(\..*)?",
            "a helper for calls into the C library, shown by modules that import it",
        ),
        (r"mxnet\..*\b(\w+Handle|mx_\w+|[A-Z][a-z]+StructureC?)(\..*)?", "a C type"),
        (r"mxnet\.\w+(\.\w+)*_doc(\..*)?", "texts for generated documentation"),
        (r"mxnet\.(.*\.)?((re|de|)quantiz)\w*.*", "int8 quantization, which the project leaves out"),
        (r"mxnet\.test_utils\.np_symbol", "the class of symbols of mx.sym.np"),
        (r"mxnet\..*\.dgl_\w+", "sampling of graphs in sparse storage, which the project leaves out"),
        (
            r"mxnet\..*\.backward_(hawkesll|index_copy|quadratic)",
            "gradient nodes, which raise when they are called in 1.9.1 too",
        ),
    )
)
NOT_EXCLUDED = re.compile(r".*\bHookHandle\b.*")


class Finding(NamedTuple):
    """One difference: ``kind`` is 'missing' or 'differs'."""

    path: str
    kind: str
    wanted: str
    found: str

    def __str__(self) -> str:
        if self.kind == "missing":
            return f"missing  {self.path}{self.wanted}"
        return f"differs  {self.path}\n    mxnet:    {self.wanted}\n    gluonjax: {self.found}"


class Report(NamedTuple):
    """What a walk found; ``left_out`` counts the names that were not compared, by reason."""

    checked: int
    left_out: dict[str, int]
    findings: list[Finding]

    @property
    def excluded(self) -> int:
        return sum(self.left_out.values())


def reason_to_exclude(path: str) -> str | None:
    """Why a name is not compared, or None."""
    if NOT_EXCLUDED.fullmatch(path):
        return None
    return next((reason for pattern, reason in EXCLUDED if pattern.fullmatch(path)), None)


def walk(prefix: str = "mxnet") -> Report:
    """Compare all names that are ``prefix`` or lie below it.

    Args:
        prefix: e.g. ``'mxnet.gluon'``; ``'gluon'`` means the same.
    """
    if prefix.partition(".")[0] not in ("mxnet", ""):
        prefix = f"mxnet.{prefix}"
    checked = 0
    left_out: dict[str, int] = collections.Counter()
    findings = []
    for name in names():
        if prefix and name.path != prefix and not name.path.startswith(prefix + "."):
            continue
        reason = reason_to_exclude(name.path)
        if reason is not None:
            left_out[reason] += 1
            continue
        checked += 1
        findings.extend(_compare(name))
    return Report(checked, left_out, sorted(findings))


def _compare(name: Name) -> Iterator[Finding]:
    try:
        ours = resolve(name.path)
    except (ImportError, AttributeError):
        yield Finding(name.path, "missing", name.signature, "")
        return
    if not name.signature or name.kind in ("property", "value"):
        return
    found = signature_of(ours)
    if found is None:
        yield Finding(name.path, "differs", name.signature, "cannot be called")
    elif not accepts_all(name.signature, found):
        yield Finding(name.path, "differs", name.signature, str(found))


_modules: dict[str, ModuleType | None] = {}


def _module(path: str) -> ModuleType | None:
    if path not in _modules:
        try:
            _modules[path] = importlib.import_module(path)
        except ImportError:
            _modules[path] = None
    return _modules[path]


def resolve(path: str) -> Any:
    """The object here that has the place of ``mxnet.a.b.c``."""
    parts = ["gluonjax", *path.split(".")[1:]]
    # A module's attribute first: ``model_zoo.vision.alexnet`` is a function beside the module of that name.
    for cut in range(len(parts) - 1, 0, -1):
        module = _module(".".join(parts[:cut]))
        if module is not None:
            found: Any = module
            for part in parts[cut:]:
                found = getattr(found, part)
            return found
    raise ImportError(path)


def signature_of(value: Any) -> inspect.Signature | None:
    """The signature without annotations and without our own private parameters; None for what has none."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return None
    kept = [
        parameter.replace(annotation=inspect.Parameter.empty) for parameter in found.parameters.values()
        if not (parameter.name.startswith("_") and parameter.default is not inspect.Parameter.empty)
    ]  # fmt: skip
    return found.replace(parameters=kept, return_annotation=inspect.Signature.empty)


class _Wanted(NamedTuple):
    """A parameter as the text of a signature shows it."""

    text: str
    name: str
    default: str | None

    @property
    def stars(self) -> int:
        return len(self.text) - len(self.text.lstrip("*"))


def _split(text: str) -> list[_Wanted]:
    """The parameters in ``(a, b=(1, 2), *args, **kwargs)``, without evaluating anything."""
    parts: list[str] = []
    depth, start, quote = 0, 1, ""
    for place, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "([{<":
            depth += 1
        elif letter in ")]}>":
            depth -= 1
        if (letter == "," and depth == 1 and not quote) or place == len(text) - 1:
            parts.append(text[start:place].strip())
            start = place + 1
    wanted = []
    for part in parts:
        if part:
            name, _, default = part.partition("=")
            wanted.append(_Wanted(part, name.lstrip("*"), default if "=" in part else None))
    return wanted


def accepts_all(wanted_text: str, ours: inspect.Signature) -> bool:
    """Whether every call that fits the text of MXNet's signature binds in ours to the same names and defaults."""
    parameters = list(ours.parameters.values())
    positional = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    by_name = {one.name: one for one in parameters}
    takes_args = any(one.kind is one.VAR_POSITIONAL for one in parameters)
    takes_kwargs = any(one.kind is one.VAR_KEYWORD for one in parameters)
    keyword_only, place = False, 0
    listed = set()
    for wanted in _split(wanted_text):
        if wanted.text in ("*", "/"):
            keyword_only = wanted.text == "*" or keyword_only
            continue
        if wanted.stars == 1:
            if not takes_args:
                return False
            keyword_only = True
            continue
        if wanted.stars == 2:
            if not takes_kwargs:
                return False
            continue
        mine = by_name.get(wanted.name)
        if not keyword_only and (place >= len(positional) or positional[place].name != wanted.name):
            return False
        place += 1
        if mine is None or not _same_default(wanted.default, mine):
            return False
        listed.add(wanted.name)
    return all(
        one.name in listed or one.default is not one.empty or one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        for one in parameters
    )


def _same_default(wanted: str | None, ours: inspect.Parameter) -> bool:
    if wanted is None:
        return True
    return ours.default is not ours.empty and _plain(wanted) == _plain(repr(ours.default))


def _plain(text: str) -> str:
    """A default's text without what differs between processes and packages."""
    text = text.replace(os.path.expanduser("~") + "/.mxnet", "/root/.mxnet")
    text = re.sub(r" at 0x[0-9a-f]+", "", text).replace("gluonjax", "mxnet")
    text = re.sub(r"<module '([\w.]+)' from '[^']*'>", r"<module '\1'>", text)
    return re.sub(r"<(class '|function |)(?:\w+\.)*(\w+)( object|'|)>", r"<\2>", text)


def main(prefix: str, missing_only: bool) -> int:
    """Print what differs. Returns 0 where nothing does."""
    report = walk(prefix)
    shown = [one for one in report.findings if one.kind == "missing" or not missing_only]
    for finding in shown:
        print(finding)
    missing = sum(one.kind == "missing" for one in report.findings)
    other = len(report.findings) - missing
    print(f"{report.checked} names compared, {missing} missing, {other} with another signature")
    for reason, count in sorted(report.left_out.items(), key=lambda item: -item[1]):
        print(f"  {count:>3} left out: {reason}")
    return 1 if shown else 0
