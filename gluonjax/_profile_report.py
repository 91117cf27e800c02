"""What the profiler writes: tables and JSON of statistics, and traces for chrome://tracing or Perfetto."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gluonjax._engine.profile import STORAGE, Recorder, Statistic, TraceEvent

SORT_KEYS: dict[str, Callable[[Statistic], float]] = {
    "total": lambda one: one.total,
    "avg": lambda one: one.total / one.count,
    "min": lambda one: one.low,
    "max": lambda one: one.high,
    "count": lambda one: one.count,
}
_TIMES = ("Time (ms)", "Min Time (ms)", "Max Time (ms)", "Avg Time (ms)")
_BYTES = ("Min Use  (kB)", "Max Use  (kB)", "Avg Use  (kB)")
_HEAD = "\nProfile Statistics:\n\tNote the difference in units for different entries.\n"


def _sorted(table: Mapping[str, Statistic], sort_by: str, ascending: bool) -> list[tuple[str, Statistic]]:
    key = SORT_KEYS[sort_by]
    return sorted(table.items(), key=lambda entry: key(entry[1]), reverse=not ascending)


def _numbers(one: Statistic, is_memory: bool) -> dict[str, float]:
    """What is shown of a statistic: milliseconds, kilobytes, or a counter's values."""
    scale = 1e3 if is_memory else 1.0
    total = {} if is_memory else {"Total": one.total if one.last is None else one.last}
    return {
        "Count": one.count,
        **total,
        "Min": one.low / scale,
        "Max": one.high / scale,
        "Avg": one.total / one.count / scale,
    }


def as_table(recorder: Recorder, sort_by: str, ascending: bool) -> str:
    """All statistics as text, a table for each category."""
    parts = [_HEAD]
    for category in sorted(recorder.tables):
        is_memory = category == STORAGE
        titles = ("Total Count", *(_BYTES if is_memory else _TIMES))
        widths = (16, *(17,) * (len(titles) - 1))
        parts += [category, "\n=================\n", _line("Name", titles, widths)]
        parts.append(_line("----", ["-" * len(title) for title in titles], widths))
        for name, one in _sorted(recorder.tables[category], sort_by, ascending):
            count, *values = _numbers(one, is_memory).values()
            parts.append(_line(name, [str(count), *(f"{value:.4f}" for value in values)], widths))
        parts.append("\n")
    return "".join(parts)


def _line(name: str, cells: Sequence[str], widths: Sequence[int]) -> str:
    return f"{name:<25}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths)) + "\n"


def as_json(recorder: Recorder, sort_by: str, ascending: bool) -> str:
    """All statistics as JSON: {"Time": {category: {name: numbers}}, "Memory": ..., "Unit": ...}."""
    found: dict[str, Any] = {"Time": {}, "Memory": {}, "Unit": {"Time": "ms", "Memory": "kB"}}
    for category in sorted(recorder.tables):
        is_memory = category == STORAGE
        found["Memory" if is_memory else "Time"][category] = {
            name: _numbers(one, is_memory)
            for name, one in _sorted(recorder.tables[category], sort_by, ascending)
        }
    return json.dumps(found, indent=4)


def as_trace(events: Sequence[TraceEvent]) -> str:
    """Events as a Chrome trace; every device and every category is a process of its own."""
    lanes = {lane: number for number, lane in enumerate(dict.fromkeys(["cpu/0", *(one.lane for one in events)]))}
    rows: list[dict[str, Any]] = [
        {"ph": "M", "args": {"name": lane}, "pid": number, "name": "process_name"} for lane, number in lanes.items()
    ]
    rows += [
        {
            "name": one.name,
            "cat": one.category,
            "ph": one.phase,
            "ts": one.time,
            **(one.extra or {}),
            "pid": lanes[one.lane],
            "tid": one.thread,
        }
        for one in events
    ]
    return json.dumps({"traceEvents": rows, "displayTimeUnit": "ms"}, indent=1)
