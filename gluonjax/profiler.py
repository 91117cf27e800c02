"""``mx.profiler``: where time and memory go, by operator, with a trace for chrome://tracing or Perfetto.

>>> set_config(profile_all=True, aggregate_stats=True, filename="/tmp/profile.json")
>>> set_state("run")
>>> # ... what is to be measured ...
>>> set_state("stop")
>>> table = dumps(reset=True)

While it runs, operators are launched one by one and waited for, and compiled graphs run operator by operator: times
are those of single operators, and the whole is slower than without it. To see compiled programs as they really run,
use JAX's own profiler: ``set_config(profile_symbolic=False, profile_imperative=False, device_trace="folder")`` writes
a trace of the device for TensorBoard or Perfetto.
"""

from __future__ import annotations

import atexit
import threading
import warnings
from dataclasses import dataclass, fields
from time import perf_counter_ns
from typing import Any

import jax

from gluonjax._base.attrs import AttributeTextError, parse_bool, parse_float
from gluonjax._base.errors import MXNetError, did_you_mean
from gluonjax._engine.profile import recorder
from gluonjax._files.atomic import atomic_write
from gluonjax._profile_report import SORT_KEYS, as_json, as_table, as_trace

_PROCESSES = ("worker", "server")
_SCOPES = {"global": "g", "process": "p", "thread": "t", "task": "t", "marker": "t"}


@dataclass
class _Config:
    """What ``set_config`` sets; ``device_trace`` is ours: a folder for JAX's trace of the device."""

    profile_all: bool = False
    profile_symbolic: bool = True
    profile_imperative: bool = True
    profile_memory: bool = True
    profile_api: bool = True
    filename: str = "profile.json"
    continuous_dump: bool = False
    dump_period: float = 1.0
    aggregate_stats: bool = False
    profile_process: str = "worker"
    device_trace: str = ""


class _Output:
    """Where the trace goes, and whether it may still be written."""

    def __init__(self) -> None:
        self.config = _Config()
        self.enabled = False
        self.written = 0
        self.device_trace = ""
        self.stopped = threading.Event()

    def write(self) -> None:
        events = list(recorder.events)
        self.written = len(events)
        atomic_write(self.config.filename, as_trace(events).encode())

    def write_regularly(self, stopped: threading.Event) -> None:
        while not stopped.wait(self.config.dump_period):
            if self.enabled and len(recorder.events) > self.written:
                self.write()


_output = _Output()


def _read(name: str, value: Any) -> Any:
    kind = _Config.__dataclass_fields__[name].type
    parse = {"bool": parse_bool, "float": parse_float}.get(str(kind), str)
    try:
        return parse(value)
    except AttributeTextError:
        raise MXNetError(f"Invalid Parameter format for {name} expect {kind} but value='{value}'") from None


def _check_process(process: str) -> None:
    if process not in _PROCESSES:
        raise MXNetError(f"Invalid Input: '{process}', valid values are: {{'server', 'worker'}}")


def set_config(**kwargs: Any) -> None:
    """Configure the profiler; keyword arguments only.

    Args:
        filename: the trace file that ``dump`` writes.
        profile_all: everything.
        profile_symbolic: graphs (executors, modules, hybridized blocks), operator by operator.
        profile_imperative: operators called on arrays.
        profile_memory: bytes of operator results that are alive.
        profile_api: accepted; there is no C API here.
        continuous_dump: write the file every ``dump_period`` seconds while running.
        aggregate_stats: keep the tables that ``dumps`` returns.
        profile_process: 'worker', or 'server' (which does not exist here).
        device_trace: a folder; JAX's own profiler writes a trace of the device there. Not in MXNet.
    """
    names = [one.name for one in fields(_Config)]
    for name in kwargs:
        if name not in names:
            raise MXNetError(
                f"Cannot find argument '{name}'{did_you_mean(name, names)}, Possible Arguments: {', '.join(names)}"
            )
    _check_process(kwargs.get("profile_process", "worker"))
    config = _Config(**{name: _read(name, value) for name, value in kwargs.items()})
    if "filename" not in kwargs:
        config.filename = _output.config.filename
    _output.config = config
    recorder.operators = config.profile_all or config.profile_imperative
    recorder.graphs = config.profile_all or config.profile_symbolic
    recorder.memory = config.profile_all or config.profile_memory
    recorder.statistics = config.aggregate_stats
    recorder.refresh()


def profiler_set_config(mode: str = "symbolic", filename: str = "profile.json") -> None:
    """Deprecated: ``set_config``.

    Args:
        mode: 'symbolic', 'imperative' or 'all'.
    """
    warnings.warn("profiler_set_config() is deprecated, use profiler.set_config()", stacklevel=2)
    set_config(**{f"profile_{mode}": True}, filename=filename)


def set_state(state: str = "stop", profile_process: str = "worker") -> None:
    """Start ('run') or stop ('stop') recording."""
    if state not in ("run", "stop"):
        raise KeyError(state)
    _check_process(profile_process)
    running = state == "run"
    if running and not recorder.running:
        _start()
    elif recorder.running and not running:
        _stop()
    recorder.running = running
    if running:
        recorder.paused = False
    recorder.refresh()


def _start() -> None:
    config = _output.config
    if not _output.enabled:
        recorder.events.clear()
        _output.written = 0
    _output.enabled = True
    if config.device_trace:
        jax.profiler.start_trace(config.device_trace)
        _output.device_trace = config.device_trace
    if config.continuous_dump:
        stopped = _output.stopped = threading.Event()
        threading.Thread(target=_output.write_regularly, args=(stopped,), daemon=True).start()


def _stop() -> None:
    _output.stopped.set()
    if _output.device_trace:
        _output.device_trace = ""
        jax.profiler.stop_trace()


def profiler_set_state(state: str = "stop") -> None:
    """Deprecated: ``set_state``."""
    warnings.warn("profiler_set_state() is deprecated, use profiler.set_state()", stacklevel=2)
    set_state(state)


def dump(finished: bool = True, profile_process: str = "worker") -> None:
    """Write the trace file.

    Args:
        finished: nothing more will be written until the profiler is started again.
    """
    _check_process(profile_process)
    if not _output.enabled:
        raise MXNetError("Profiler hasn't been run. Config and start profiler first")
    _output.write()
    if finished is True:
        _output.enabled = False


def dump_profile() -> None:
    """Deprecated: ``dump``."""
    warnings.warn("dump_profile() is deprecated, use profiler.dump()", stacklevel=2)
    dump(True)


def dumps(reset: bool = False, format: str = "table", sort_by: str = "total", ascending: bool = False) -> str:
    """Statistics of what has been recorded, empty without ``aggregate_stats``.

    Counters show their values: the last one as total.

    Args:
        reset: start the statistics anew.
        format: 'table' or 'json'.
        sort_by: 'total', 'avg', 'min', 'max' or 'count'.
        ascending: smallest first.
    """
    for name, value, allowed in (
        ("format", format, ("table", "json")),
        ("sort_by", sort_by, tuple(SORT_KEYS)),
        ("ascending", ascending, (False, True)),
        ("reset", reset, (False, True)),
    ):
        if value not in allowed:
            # MXNet asserts here; scripts may catch that.
            raise _DumpArgumentError(
                f"Invalid value provided for {name}: {value}. Support: {', '.join(map(repr, allowed))}"
            )
    if not recorder.statistics:
        return ""
    text = (as_json if format == "json" else as_table)(recorder, sort_by, bool(ascending))
    if reset:
        recorder.tables.clear()
    return text


class _DumpArgumentError(MXNetError, ValueError, AssertionError):
    """A wrong argument of ``dumps``."""


def pause(profile_process: str = "worker") -> None:
    """Record nothing until ``resume``."""
    _check_process(profile_process)
    recorder.paused = True
    recorder.refresh()


def resume(profile_process: str = "worker") -> None:
    """Record again."""
    _check_process(profile_process)
    recorder.paused = False
    recorder.refresh()


class Domain:
    """Groups tasks, frames, counters and markers; a row of the trace."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return self.name

    def new_task(self, name: str) -> Task:
        """A task of this domain."""
        return Task(self, name)

    def new_frame(self, name: str) -> Frame:
        """A frame of this domain."""
        return Frame(self, name)

    def new_counter(self, name: str, value: int | None = None) -> Counter:
        """A counter of this domain."""
        return Counter(self, name, value)

    def new_marker(self, name: str) -> Marker:
        """A marker of this domain."""
        return Marker(self, name)


class _Duration:
    """Something with a beginning and an end; also a context manager, which MXNet's is not."""

    _phases = "BE"

    def __init__(self, category: str, name: str) -> None:
        self.name = name
        self._category = category
        self._started: int | None = None

    def start(self) -> None:
        """It begins now."""
        self._started = perf_counter_ns()

    def stop(self) -> None:
        """It ends now."""
        started, self._started = self._started, None
        if started is not None and recorder.active:
            recorder.duration(self.name, self._category, started, perf_counter_ns(), phases=self._phases)

    def __enter__(self) -> Any:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def __str__(self) -> str:
        return self.name


class Task(_Duration):
    """A piece of work of a domain; all its runs are one entry of the statistics."""

    _phases = "be"

    def __init__(self, domain: Domain, name: str) -> None:
        super().__init__(domain.name, name)


class Frame(_Duration):
    """One pass of something that repeats, such as a batch."""

    _phases = "()"

    def __init__(self, domain: Domain, name: str) -> None:
        super().__init__(f"{domain.name},frame", name)


class Event(_Duration):
    """A stretch of one thread's time, without a domain."""

    def __init__(self, name: str) -> None:
        super().__init__("event", name)


class Counter:
    """A number that changes over time; ``counter += 1`` and ``counter -= 1`` work."""

    def __init__(self, domain: Domain, name: str, value: int | None = None) -> None:
        self.name = name
        self._category = domain.name
        self._value = 0
        if value is not None:
            self.set_value(value)

    def set_value(self, value: int) -> None:
        """Set the number."""
        self._value = int(value)
        if recorder.active:
            recorder.counter(self.name, self._category, self._value)

    def increment(self, delta: int = 1) -> None:
        """Add to the number."""
        self.set_value(self._value + int(delta))

    def decrement(self, delta: int = 1) -> None:
        """Take from the number."""
        self.set_value(self._value - int(delta))

    def __iadd__(self, delta: int) -> Counter:
        self.increment(delta)
        return self

    def __isub__(self, delta: int) -> Counter:
        self.decrement(delta)
        return self

    def __str__(self) -> str:
        return self.name


class Marker:
    """A moment worth seeing in the trace."""

    def __init__(self, domain: Domain, name: str) -> None:
        self.name = name
        self.domain = domain

    def mark(self, scope: str = "process") -> None:
        """It is now.

        Args:
            scope: 'global', 'process', 'thread', 'task' or 'marker'.
        """
        if scope not in _SCOPES:
            raise MXNetError(f"Invalid Input: '{scope}', valid values are: {sorted(_SCOPES)}")
        if recorder.active:
            recorder.marker(self.name, self.domain.name, _SCOPES[scope])


@atexit.register
def _write_at_exit() -> None:
    if recorder.running:
        set_state("stop")
    if _output.enabled and len(recorder.events) > _output.written:
        _output.write()
