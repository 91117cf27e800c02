"""Names that MXNet's modules show only because they import them; programs import them from there all the same."""

from __future__ import annotations

import importlib
from collections.abc import Mapping


def show_also(package: str, shown: Mapping[str, str]) -> None:
    """Bind names of other modules in modules of a package.

    Args:
        package: e.g. ``'gluonjax.gluon'``.
        shown: ``{'block': 'ndarray:NDArray symbol:Symbol'}`` binds both names in ``gluonjax.gluon.block``; sources
            are relative to ``gluonjax``, ``:name`` alone means the package itself; ``other=symbol:Symbol`` binds
            under another name.
    """
    for module_name, sources in shown.items():
        module = importlib.import_module(f"{package}.{module_name}" if module_name else package)
        for source in sources.split():
            alias, _, place = source.rpartition("=")
            path, _, name = place.partition(":")
            value = getattr(importlib.import_module(f"gluonjax.{path}" if path else "gluonjax"), name)
            if not hasattr(module, alias or name):
                setattr(module, alias or name, value)
