"""Running a script or a module with ``mxnet`` resolving to gluonjax."""

from __future__ import annotations

import logging
import os
import runpy
import sys
from collections.abc import Sequence

from gluonjax.compat.alias import install_as_mxnet
from gluonjax.port.compile_cache import keep_compiled_programs


def _prepare() -> None:
    """Let ``mxnet`` mean gluonjax, keep compiled programs, and JAX's INFO lines (absent devices) out of the log."""
    install_as_mxnet()
    keep_compiled_programs()
    logger = logging.getLogger("jax")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.WARNING)


def run_script(path: str, arguments: Sequence[str]) -> int:
    """Run a script as ``python path arguments...`` would, but on gluonjax."""
    if not os.path.exists(path):
        print(f"gluonjax run: there is no file '{path}'", file=sys.stderr)
        return 2
    _prepare()
    sys.argv = [path, *arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    runpy.run_path(path, run_name="__main__")
    return 0


def run_module(name: str, arguments: Sequence[str]) -> int:
    """Run a module as ``python -m name arguments...`` would, but on gluonjax."""
    _prepare()
    sys.argv = [name, *arguments]
    sys.path.insert(0, os.getcwd())
    runpy.run_module(name, run_name="__main__", alter_sys=True)
    return 0
