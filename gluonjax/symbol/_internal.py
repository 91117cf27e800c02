"""``mx.sym._internal``: operators whose names begin with an underscore."""

from __future__ import annotations

from typing import Any

from gluonjax.attribute import AttrScope as AttrScope
from gluonjax.name import NameManager as NameManager
from gluonjax.symbol._compose import SymbolBase as SymbolBase
from gluonjax.symbol.register import namespace
from gluonjax.symbol.symbol import Symbol

_find, _names = namespace("_internal", globals(), lambda: Symbol)


def __getattr__(name: str) -> Any:
    return _find(name)


def __dir__() -> list[str]:
    return _names()
