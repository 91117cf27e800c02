"""``mx.contrib``: what MXNet kept outside of its main interface."""

from __future__ import annotations

import importlib as _importlib
from typing import Any as _Any

_ELSEWHERE = {
    "nd": "gluonjax.ndarray.contrib", "ndarray": "gluonjax.ndarray.contrib", "sym": "gluonjax.symbol.contrib",
    "symbol": "gluonjax.symbol.contrib", "autograd": "gluonjax.contrib.autograd",
}  # fmt: skip


def __getattr__(name: str) -> _Any:
    target = _ELSEWHERE.get(name)
    if target is None:
        try:
            value = _importlib.import_module(f"gluonjax.contrib.{name}")
        except ModuleNotFoundError:
            raise AttributeError(f"module 'gluonjax.contrib' has no attribute '{name}'") from None
    else:
        value = _importlib.import_module(target)
    globals()[name] = value
    return value
