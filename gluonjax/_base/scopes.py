"""Thread-local modes: recording, training, np-shape, np-array."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Modes(threading.local):
    """What one thread is doing. Read attributes directly; change them through the context managers."""

    def __init__(self) -> None:
        super().__init__()
        self.recording: bool = False
        self.training: bool = False
        self.np_shape: bool = False
        self.np_array: bool = False
        self.np_default_dtype: bool = False
        # While a whole step is traced: what watches reads and writes of memory (``ndarray/_capture.py``).
        self.tracer: Any = None
        # Arrays of blocks are lent to a pure function (interop.functional), which puts back what they held.
        self.lent: bool = False
        # Samplers are called once for each shape (initializers): compiling them would not pay.
        self.once: bool = False
        # Of a block that runs uncompiled: whether its operators are put off (``_engine/joining.py``).
        self.joining: Any = None
        # Sees every operator's results (Block.debug).
        self.watch: Any = None


modes = Modes()


class Epoch:
    """Counts changes of what compiled steps take for granted: which arrays the parameters have."""

    number: int = 0


epoch = Epoch()


@contextmanager
def mode(**changes: bool) -> Iterator[None]:
    """Set some modes for the block and put the old values back.

    >>> with mode(training=True):
    ...     modes.training
    True
    >>> modes.training
    False
    """
    before = {name: getattr(modes, name) for name in changes}
    for name, value in changes.items():
        setattr(modes, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(modes, name, value)
