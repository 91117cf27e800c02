"""What the profiler records: the flag that the engine reads at every call, timings, counters and live memory.

While nothing is recorded a call costs one look at ``recorder.on``. While the profiler runs, calls are launched one
after the other and waited for, so that a time is that of its operator and not of a queue; graphs run operator by
operator (``op_by_op``), because inside of a fused program no operator has a time of its own.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import perf_counter_ns
from typing import Any, NamedTuple

import jax
import numpy as np

OPERATORS = "operator"
CUSTOM_OPERATORS = "Custom Operator"
STORAGE = "Device Storage"

# Nanoseconds between the epoch and perf_counter's zero.
_EPOCH = time.time_ns() - perf_counter_ns()


class Statistic:
    """Count, total, smallest and largest of some numbers; the last one too where they are a counter's values."""

    __slots__ = ("count", "high", "last", "low", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = self.low = self.high = 0.0
        self.last: float | None = None

    def add(self, value: float) -> None:
        """Take in one number."""
        self.low = value if self.count == 0 else min(self.low, value)
        self.high = value if self.count == 0 else max(self.high, value)
        self.total += value
        self.count += 1


class TraceEvent(NamedTuple):
    """One entry of a Chrome trace; ``time`` in microseconds since the epoch, ``lane`` its process row."""

    phase: str
    name: str
    category: str
    time: float
    lane: str
    thread: int
    extra: dict[str, Any] | None = None


class Recorder:
    """Everything that has been recorded, and the switches."""

    def __init__(self) -> None:
        self.running = False
        self.paused = False
        self.operators = True
        self.graphs = True
        self.memory = True
        self.statistics = False
        # Operator calls are timed; graphs run operator by operator. Both follow from the switches above.
        self.on = False
        self.op_by_op = False
        self.events: list[TraceEvent] = []
        self.tables: dict[str, dict[str, Statistic]] = {}
        self._live: dict[str, int] = {}
        self._local = threading.local()
        self._lock = threading.Lock()

    @property
    def active(self) -> bool:
        """Whether tasks, counters and markers are recorded."""
        return self.running and not self.paused

    def refresh(self) -> None:
        """Make the two flags agree with the switches."""
        self.on = self.active and (self.operators or self.graphs)
        self.op_by_op = self.active and self.graphs

    # -- durations -------------------------------------------------------------------------------------------

    def call(self, label: str, started: int, results: Iterable[Any]) -> None:
        """An operator call that began at ``started`` (perf_counter_ns) has returned these results."""
        for value in results:
            if isinstance(value, jax.Array):
                jax.block_until_ready(value)
        ended = perf_counter_ns()
        if not (self.graphs if getattr(self._local, "in_graph", False) else self.operators):
            return
        place = _place_of(results)
        inside = getattr(self._local, "custom", None)
        category = OPERATORS
        if inside is not None:
            category, label = CUSTOM_OPERATORS, f"{inside[0]}::{label}"
            inside[1] += ended - started
        self.duration(label, category, started, ended, place)
        if self.memory:
            self._count_memory(place, results)

    def duration(
        self, label: str, category: str, started: int, ended: int, lane: str | None = None, phases: str = "BE"
    ) -> None:
        """Something took from ``started`` to ``ended`` (perf_counter_ns)."""
        thread = threading.get_ident()
        lane = category if lane is None else lane
        # Task events ("b", "e") are matched by their id.
        extra = {"id": thread} if phases == "be" else None
        with self._lock:
            for phase, moment in zip(phases, (started, ended)):
                self.events.append(
                    TraceEvent(phase, label, category, (_EPOCH + moment) / 1000, lane, thread, extra)
                )
            self._statistic(category, label).add((ended - started) / 1e6)

    @contextmanager
    def custom(self, name: str) -> Iterator[None]:
        """Run a user's Python operator: its operators are listed under its name, the rest is its own time."""
        before = getattr(self._local, "custom", None)
        inside = self._local.custom = [name, 0]
        started = perf_counter_ns()
        try:
            yield
        finally:
            self._local.custom = before
            own = perf_counter_ns() - started - inside[1]
            self.duration(f"{name}::pure_python", CUSTOM_OPERATORS, started, started + own)

    @contextmanager
    def graph(self) -> Iterator[None]:
        """What runs in this scope belongs to a graph."""
        before = getattr(self._local, "in_graph", False)
        self._local.in_graph = True
        try:
            yield
        finally:
            self._local.in_graph = before

    # -- numbers ---------------------------------------------------------------------------------------------

    def counter(self, name: str, category: str, value: float) -> None:
        """A counter has a new value."""
        self._event("C", name, category, {"args": {name: value}})
        statistic = self._statistic(category, name)
        statistic.add(value)
        statistic.last = value

    def marker(self, name: str, domain: str, scope: str) -> None:
        """An instant has been marked; ``scope`` is one letter."""
        category = f"{domain},instant_marker"
        self._event("n", name, category, {"s": scope, "id": threading.get_ident()})
        self.tables.setdefault(category, {})

    def _event(self, phase: str, name: str, category: str, extra: dict[str, Any]) -> None:
        moment = (_EPOCH + perf_counter_ns()) / 1000
        with self._lock:
            self.events.append(TraceEvent(phase, name, category, moment, category, threading.get_ident(), extra))

    def _statistic(self, category: str, name: str) -> Statistic:
        return self.tables.setdefault(category, {}).setdefault(name, Statistic())

    # -- memory ----------------------------------------------------------------------------------------------

    def _count_memory(self, place: str, results: Iterable[Any]) -> None:
        """Bytes of operator results that are alive; where the device counts for itself, what it says."""
        used = None
        for value in results:
            if isinstance(value, jax.Array):
                stats = next(iter(value.devices())).memory_stats()
                used = stats.get("bytes_in_use") if stats else None
            elif type(value) is not np.ndarray:
                continue
            if used is None:
                self._live[place] = self._live.get(place, 0) + value.nbytes
                weakref.finalize(value, self._release, place, value.nbytes).atexit = False
        self.counter(f"Memory: {place}", STORAGE, self._live.get(place, 0) if used is None else used)

    def _release(self, place: str, count: int) -> None:
        self._live[place] -= count


def _place_of(results: Iterable[Any]) -> str:
    """The device that results lie on, written as in MXNet's traces."""
    for value in results:
        if isinstance(value, jax.Array):
            device = next(iter(value.devices()))
            return f"{'gpu' if device.platform in ('cuda', 'rocm') else device.platform}/{device.id}"
    return "cpu/0"


recorder = Recorder()
