"""``mx.sym``: expressions that are built first and bound to arrays later."""

from __future__ import annotations

import importlib as _importlib
import sys as _sys
from typing import Any

from gluonjax._engine.functions import install_generated as _install_generated
from gluonjax._ops import registry as _registry

_registry.load_all()

from gluonjax.symbol import _internal, contrib, image, linalg, op, random, register, sparse  # noqa: E402
from gluonjax.symbol import symbol as _symbol_module  # noqa: E402
from gluonjax.symbol._creation import (  # noqa: E402
    arange,
    eye,
    full,
    histogram,
    hypot,
    linspace,
    maximum,
    minimum,
    ones,
    pow,
    power,
    split_v2,
    zeros,
)  # fmt: skip
from gluonjax.symbol.register import namespace as _namespace  # noqa: E402
from gluonjax.symbol.symbol import (  # noqa: E402
    Group,
    Symbol,
    SymbolBase,
    Variable,
    fromjson,
    load,
    load_json,
    var,
)  # fmt: skip

# MXNet defines the creation functions in mxnet.symbol.symbol; scripts import them from there too.
for _name in "arange eye full histogram hypot linspace maximum minimum ones pow power split_v2 zeros".split():
    setattr(_symbol_module, _name, globals()[_name])
for _name in ("adamw_update", "mp_adamw_update"):  # MXNet's register module shows them too
    setattr(register, _name, getattr(contrib, _name))

_find, _names = _namespace("op", globals(), lambda: Symbol)
_install_generated(
    _sys.modules[__name__],
    lambda registered, public: register.make_function(_registry.get(registered), public, Symbol),
    SymbolBase,
)
_NUMPY = {"np": "numpy", "numpy": "numpy", "npx": "numpy_extension", "numpy_extension": "numpy_extension"}


def __getattr__(name: str) -> Any:
    if name in _NUMPY:
        return _importlib.import_module(f"gluonjax.symbol.{_NUMPY[name]}")
    return _find(name)


def __dir__() -> list[str]:
    return sorted({*_names(), *_NUMPY})


__all__ = [
    "Group",
    "Symbol",
    "SymbolBase",
    "Variable",
    "_internal",
    "arange",
    "contrib",
    "eye",
    "fromjson",
    "full",
    "histogram",
    "hypot",
    "image",
    "linalg",
    "linspace",
    "load",
    "load_json",
    "maximum",
    "minimum",
    "ones",
    "op",
    "pow",
    "power",
    "random",
    "register",
    "sparse",
    "split_v2",
    "var",
    "zeros",
]
