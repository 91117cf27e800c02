"""Timing shared by the benchmarks: warm-up, repeats, the median."""

import time


def seconds_per_call(function, wait, budget=0.4, repeats=5):
    """The median over repeats of the time per call; ``wait`` is called before the clock is read.

    Warms up until compiling is over (at least 20 calls or a second), then sizes a repeat to about ``budget`` seconds.
    """
    start = time.perf_counter()
    for count in range(20):
        function()
        if count >= 4 and time.perf_counter() - start > 20:
            break
    wait()
    start = time.perf_counter()
    for _ in range(3):
        function()
    wait()
    calls = max(3, int(budget / max((time.perf_counter() - start) / 3, 1e-6)))
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(calls):
            function()
        wait()
        found.append((time.perf_counter() - start) / calls)
    return sorted(found)[len(found) // 2]
