"""The worker process of a DataLoader: started fresh, it computes with NumPy and never asks JAX for a device.

It reads messages from a pipe: ``("data set", number, bytes)``, ``("forget", number)`` and
``("load", round, position, number of the data set, indices, seed or None, modes)``, and answers every "load" with
``(round, position, bytes of (True, batch) or (False, error))``.
"""

from __future__ import annotations

import os
import random
import runpy
import signal
import sys
import traceback
import types
from multiprocessing.connection import Connection
from typing import Any

import numpy as np


class Unreadable(Exception):
    """A worker cannot make the data set of the bytes that it was sent."""


class WorkerTraceback(Exception):
    """Shows where in a worker an error happened; it is the ``__cause__`` of the error in the parent."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


def main(descriptor: int) -> None:
    """Serve until the other end of the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    pipe = Connection(descriptor)
    start: dict[str, Any] = pipe.recv()
    sys.path[:] = start["path"]
    from gluonjax._engine import run
    from gluonjax.gluon.block import HybridBlock
    from gluonjax.gluon.data._messages import unpacked

    run.numpy_only()
    HybridBlock._may_compile = False
    if start["mxnet"]:
        from gluonjax.compat.alias import install_as_mxnet

        install_as_mxnet()
    if start["script"]:
        _take_over_script(start["script"])
    sources: dict[int, Any] = {}
    while True:
        try:
            kind, *message = pipe.recv()
        except (EOFError, OSError):
            return
        if kind == "data set":
            number, data = message
            try:
                sources[number] = unpacked(data)
            except Exception as error:
                sources[number] = Unreadable(f"{type(error).__name__}: {error}")
        elif kind == "forget":
            sources.pop(message[0], None)
        else:
            number, position, source, indices, seed, in_modes = message
            if seed is not None:
                _seed(seed)
            try:
                pipe.send((number, position, _load(sources[source], indices, in_modes)))
            except (BrokenPipeError, OSError):
                return


def _take_over_script(path: str) -> None:
    """Define what the user's script defines, without its ``if __name__ == "__main__"`` part."""
    module = types.ModuleType("__mp_main__")
    sys.path.insert(0, os.path.dirname(path))
    module.__dict__.update(runpy.run_path(path, run_name="__mp_main__"))
    sys.modules["__main__"] = sys.modules["__mp_main__"] = module


def _seed(value: int) -> None:
    from gluonjax import random as mx_random

    mx_random.seed(value)
    np.random.seed(value)
    random.seed(value)


def _load(source: Any, indices: Any, in_modes: dict[str, bool]) -> bytes:
    from gluonjax._base.scopes import mode
    from gluonjax.gluon.data._gather import load
    from gluonjax.gluon.data._messages import CannotSend, packed

    try:
        if isinstance(source, Unreadable):
            raise source
        dataset, batchify = source
        with mode(**in_modes):
            batch = load(dataset, indices, batchify)
        return packed((True, batch))[0]
    except Exception as error:
        text = traceback.format_exc()
        try:
            return packed((False, (error, text)))[0]
        except CannotSend:
            return packed((False, (None, text)))[0]
