"""Modules whose operator functions are made when somebody asks for one.

Making the 800 functions with their signatures and documentation takes longer than the rest of the import. One name
asked for makes one function; whoever looks at the module as a whole (``dir``, ``vars``, ``help``, a star import) finds
all of them in it, as if they had been there from the start.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any


class Namespace(ModuleType):
    """A module that has all of its functions once its dictionary is looked at."""

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        fill = _unfilled.get(self)
        if fill is not None:
            fill()
            _unfilled.pop(self, None)
        return _content_of(self)


_unfilled: dict[ModuleType, Callable[[], None]] = {}


def _content_of(module: ModuleType) -> dict[str, Any]:
    return vars(ModuleType)["__dict__"].__get__(module)


def install(
    module: ModuleType, names: Callable[[], Mapping[str, str]], function: Callable[[str], Callable[..., Any]]
) -> None:
    """Let a module find its functions; names that it defines itself stay.

    Args:
        module: the module.
        names: gives {name in the module: registered name}; asked once, when the first name is missing.
        function: the function of a registered name.
    """
    content = _content_of(module)
    own: Callable[[str], Any] | None = content.get("__getattr__")
    known = functools.cache(names)

    def find(name: str) -> Any:
        registered = None if name.startswith("__") else known().get(name)
        if registered is not None:
            return content.setdefault(name, function(registered))
        if own is not None:
            return own(name)
        raise AttributeError(f"module '{module.__name__}' has no attribute '{name}'")

    def fill() -> None:
        for name, registered in known().items():
            if name not in content:
                content[name] = function(registered)

    content["__getattr__"] = find
    _unfilled[module] = fill
    module.__class__ = Namespace
