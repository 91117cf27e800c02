"""Watching the arrays inside an executor while it trains."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable
from typing import Any

from gluonjax._base.errors import ArgumentTypeError
from gluonjax.base import py_str as py_str
from gluonjax.ndarray import NDArray as NDArray


class Monitor:
    """Collects a statistic of outputs, weights and states every ``interval`` batches.

    Args:
        interval: in batches.
        stat_func: NDArray -> NDArray or a list of them; the root mean square where None.
        pattern: a regular expression that names must match from their start.
        sort: results come sorted by name.
        monitor_all: inputs of operators are watched, too.
    """

    def __init__(
        self,
        interval: int,
        stat_func: Callable[[Any], Any] | None = None,
        pattern: str = ".*",
        sort: bool = False,
        monitor_all: bool = False,
    ) -> None:
        self.interval = interval
        self.stat_func = stat_func or _root_mean_square
        self.re_prog = re.compile(pattern)
        self.sort = sort
        self.monitor_all = monitor_all
        self.activated = False
        self.queue: list[tuple[int, str, Any]] = []
        self.step = 0
        self.exes: list[Any] = []

    def stat_helper(self, name: str | bytes, array: Any) -> None:
        """Take in one array; executors call this while they run."""
        text = py_str(name) if isinstance(name, bytes) else name
        if self.activated and self.re_prog.match(text):
            self.queue.append((self.step, text, self.stat_func(array)))

    def install(self, exe: Any) -> None:
        """Watch an executor."""
        exe.set_monitor_callback(self.stat_helper, self.monitor_all)
        self.exes.append(exe)

    def tic(self) -> None:
        """Call before a batch's forward: starts collecting where it is this batch's turn."""
        if self.step % self.interval == 0:
            self.queue = []
            self.activated = True
        self.step += 1

    def toc(self) -> list[tuple[int, str, str]]:
        """Call after a batch: returns ``(step, name, text)`` of what was collected, and stops collecting."""
        if not self.activated:
            return []
        for exe in self.exes:
            for arrays in (exe.arg_dict, exe.aux_dict):
                for name, array in arrays.items():
                    self.stat_helper(name, array)
        self.activated = False
        found, self.queue = self.queue, []
        if self.sort:
            found.sort(key=lambda entry: entry[1])
        return [(step, name, _text(name, values)) for step, name, values in found]

    def toc_print(self) -> None:
        """Call after a batch: logs what ``toc`` returns."""
        for step, name, text in self.toc():
            logging.info(f"Batch: {step:7d} {name:30s} {text:s}")


def _root_mean_square(array: Any) -> Any:
    return array.norm() / math.sqrt(array.size)


def _text(name: str, values: Any) -> str:
    found = [values] if isinstance(values, NDArray) else values
    if not isinstance(found, list) or not all(isinstance(value, NDArray) for value in found):
        raise ArgumentTypeError(
            f"Monitor: stat_func returned {type(values).__name__} for {name!r}, wanted NDArrays"
        )
    shown = (value.asscalar() if value.shape == (1,) else value.asnumpy() for value in found)
    return "".join(f"{value!s}\t" for value in shown)
