"""``mx.sym.linalg``: linear algebra."""

from __future__ import annotations

from typing import Any

from gluonjax.symbol._compose import SymbolBase as SymbolBase
from gluonjax.symbol.register import namespace
from gluonjax.symbol.symbol import Symbol

_find, _names = namespace("linalg", globals(), lambda: Symbol)


def __getattr__(name: str) -> Any:
    return _find(name)


def __dir__() -> list[str]:
    return _names()
