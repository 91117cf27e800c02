"""The public names of MXNet 1.9.1 with their signatures, as packaged in ``mxnet_api.tsv``.

The file says everything once. Fields are divided by tabs, the first is the kind::

    f  name  signature  modules          a function, in every module that shows it
    v  name             modules          a constant
    c  name  signature  modules  like    a class; ``like`` is the number of an earlier class whose members it has too
     m name  signature                   a method of the class above (p: a property, -: not a member after all)

Modules are written without ``mxnet.``, divided by blanks; ``.`` is the package itself. ``pack`` writes the file.
"""

from __future__ import annotations

import importlib.resources
from collections.abc import Iterable, Iterator
from typing import NamedTuple

FILE = "mxnet_api.tsv"
_KINDS = {"function": "f", "value": "v", "class": "c", "method": "m", "property": "p"}
_WORDS = {short: word for word, short in _KINDS.items()}


class Name(NamedTuple):
    """One public name: ``mxnet.gluon.nn.Dense.forward``, its kind, and its signature text ('' where none is known)."""

    path: str
    kind: str
    signature: str


Member = tuple[str, str, str]  # kind letter, name, signature


def names() -> Iterator[Name]:
    """All public names, grouped by what they are."""
    text = (importlib.resources.files("gluonjax.port") / FILE).read_text(encoding="utf-8")
    yield from unpack(text.splitlines())


def unpack(lines: Iterable[str]) -> Iterator[Name]:
    """The names that the packed lines describe."""
    classes: list[dict[str, Member]] = []
    open_class: tuple[str, str, list[str]] | None = None

    def finish() -> Iterator[Name]:
        if open_class is None:
            return
        name, signature, modules = open_class
        for module in modules:
            yield Name(f"{module}.{name}", "class", signature)
            for kind, member, text in classes[-1].values():
                yield Name(f"{module}.{name}.{member}", _WORDS[kind], text)

    for line in lines:
        kind, *fields = line.strip(" ").split("\t")
        if kind in "mp-":
            if kind == "-":
                del classes[-1][fields[0]]
            else:
                classes[-1][fields[0]] = (kind, fields[0], fields[1])
            continue
        yield from finish()
        open_class = None
        name, signature, places = fields[:3]
        modules = ["mxnet" if place == "." else f"mxnet.{place}" for place in places.split(" ")]
        if kind == "c":
            classes.append(dict(classes[int(fields[3])]) if fields[3] else {})
            open_class = (name, signature, modules)
        else:
            for module in modules:
                yield Name(f"{module}.{name}", _WORDS[kind], signature)
    yield from finish()


def pack(listed: Iterable[Name]) -> Iterator[str]:
    """The packed lines for names; classes must come before their members."""
    classes: dict[str, tuple[str, dict[str, Member]]] = {}
    plain: dict[Member, list[str]] = {}
    for path, kind, signature in listed:
        owner, _, name = path.rpartition(".")
        if kind == "class":
            classes[path] = (signature, {})
        elif owner in classes:
            classes[owner][1][name] = (_KINDS[kind], name, signature)
        else:
            plain.setdefault((_KINDS[kind], name, signature), []).append(owner)
    for (kind, name, signature), owners in sorted(plain.items()):
        yield "\t".join((kind, name, signature, _places(owners)))
    yield from _pack_classes(classes)


def _places(owners: Iterable[str]) -> str:
    return " ".join("." if owner == "mxnet" else owner.removeprefix("mxnet.") for owner in owners)


def _pack_classes(classes: dict[str, tuple[str, dict[str, Member]]]) -> Iterator[str]:
    alike: dict[tuple[str, str, tuple[Member, ...]], list[str]] = {}
    for path, (signature, members) in classes.items():
        owner, _, name = path.rpartition(".")
        alike.setdefault((name, signature, tuple(members.values())), []).append(owner)
    done: list[dict[str, Member]] = []
    for (name, signature, listed), owners in sorted(alike.items(), key=lambda item: len(item[0][2])):
        members = {member[1]: member for member in listed}
        best, number = len(members), ""
        for place, other in enumerate(done):
            changes = sum(members.get(key) != value for key, value in other.items())
            changes += sum(key not in other for key in members)
            if changes < best:
                best, number = changes, str(place)
        base = done[int(number)] if number else {}
        yield "\t".join(("c", name, signature, _places(owners), number))
        yield from (f" -\t{gone}" for gone in base if gone not in members)
        yield from (" " + "\t".join(member) for key, member in members.items() if base.get(key) != member)
        done.append(members)
