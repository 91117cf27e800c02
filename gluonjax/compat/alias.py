"""Makes ``import mxnet`` give gluonjax: every ``mxnet.a.b`` is the very module object ``gluonjax.a.b``."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from gluonjax._base.errors import MXNetError

SOURCE, TARGET = "mxnet", "gluonjax"

# Short names that MXNet binds in its package; ``import mxnet.nd`` fails there, yet some code writes it.
SHORT = {
    "nd": "ndarray", "sym": "symbol", "mod": "module", "kv": "kvstore", "init": "initializer", "img": "image",
    "viz": "visualization", "mon": "monitor", "rnd": "random", "np": "numpy", "npx": "numpy_extension",
    "opt": "optimizer",
}  # fmt: skip


def _target_of(name: str) -> str:
    parts = name.split(".")
    parts[0] = TARGET
    if len(parts) > 1:
        parts[1] = SHORT.get(parts[1], parts[1])
    return ".".join(parts)


class _Loader(importlib.abc.Loader):
    """Hands out the existing module; importlib must not change its spec."""

    def __init__(self, target: str) -> None:
        self.target = target
        self._spec: Any = None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.target)
        self._spec = module.__spec__
        self._loader = getattr(module, "__loader__", None)
        return module

    def exec_module(self, module: ModuleType) -> None:
        # importlib has put the alias's spec on the module; put the module's own back.
        module.__spec__ = self._spec
        module.__loader__ = self._loader


class _Finder(importlib.abc.MetaPathFinder):
    """Answers for ``mxnet`` and everything below it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != SOURCE and not fullname.startswith(SOURCE + "."):
            return None
        wanted = _target_of(fullname)
        if importlib.util.find_spec(wanted) is None:
            return None
        spec = importlib.machinery.ModuleSpec(fullname, _Loader(wanted))
        spec.submodule_search_locations = []
        return spec


def install_as_mxnet() -> None:
    """From now on ``import mxnet`` gives gluonjax, in all its forms and for third-party packages too.

    Calling it again does nothing.

    Raises:
        MXNetError: where a real mxnet has been imported already.
    """
    present = sys.modules.get(SOURCE)
    package = importlib.import_module(TARGET)
    if present is not None and present is not package:
        raise MXNetError(
            f"install_as_mxnet: a real mxnet is imported already (from {getattr(present, '__file__', 'unknown')}); "
            "call gluonjax.install_as_mxnet() before anything imports mxnet, or run the script with "
            "'python -m gluonjax run'"
        )
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    sys.modules[SOURCE] = package
