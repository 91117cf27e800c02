"""Benchmark processes as the driver sees them: start, be ready, time a burst, end."""

import os
import subprocess
import tempfile
import time

from load import HERE, ROOT


class WorkerFailed(Exception):
    """A process ended or said something else; carries what it wrote to standard error."""


def settings(**environment):
    """The environment of a benchmark process: this checkout importable, no compilation cache unless asked for."""
    found = {name: value for name, value in os.environ.items() if name != "JAX_COMPILATION_CACHE_DIR"}
    # Large memory pages for everybody: programs that allocate hundreds of megabytes a step gain 10 to 20 %.
    found.setdefault("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")
    found["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [found.get("PYTHONPATH")])])
    return {**found, "MXNET_STORAGE_FALLBACK_LOG_VERBOSE": "0", **environment}


def printed(command, **environment):
    """What a process prints last."""
    done = subprocess.run(command, env=settings(**environment), capture_output=True, text=True)
    if done.returncode:
        raise WorkerFailed("%s:\n%s" % (" ".join(command[1:]), done.stderr.strip()))
    return done.stdout.splitlines()[-1]


class Worker:
    """A process of worker.py that keeps its workload prepared.

    Attributes:
        seconds: How long the last burst kept us waiting.
    """

    def __init__(self, python, *arguments, script="worker.py", **environment):
        self.seconds = 0.0
        self._name = " ".join(map(str, arguments))
        self._errors = tempfile.TemporaryFile(mode="w+")
        self._process = subprocess.Popen(
            [python, str(HERE / script), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self._errors, text=True, env=settings(**environment),
        )  # fmt: skip

    def _read(self):
        line = self._process.stdout.readline()
        if line:
            return line
        self._process.wait()
        self._errors.seek(0)
        raise WorkerFailed("%s:\n%s" % (self._name, self._errors.read().strip()))

    def ready(self):
        """Waits for the workload to be prepared. Returns the seconds until its first step was done."""
        return float(self._read().split()[1])

    def burst(self, pause=0.0):
        """The seconds of one step in a burst that begins after a pause."""
        time.sleep(pause)
        start = time.perf_counter()
        try:
            self._process.stdin.write("go\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the reason is on its standard error
        found = float(self._read())
        self.seconds = time.perf_counter() - start
        return found

    def end(self):
        """Ends the process if it still runs."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._process.stdout.close()
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass
        self._errors.close()


class ImportTimer:
    """Looks like a Worker; a burst is one import in a new process, timed there.

    Everybody has bytecode, as every installed package has: where PYTHONDONTWRITEBYTECODE keeps Python from writing it
    for this checkout, compiling the sources at each start would take more than half of the import.
    """

    def __init__(self, python, module):
        self.seconds = 0.0
        self._bytecode = tempfile.TemporaryDirectory()
        clocked = "import time; t = time.perf_counter(); import %s; print(time.perf_counter() - t)"
        self._command = [python, "-c", clocked % module]

    def ready(self):
        """Once, so that bytecode and the system's file cache are as in a second start."""
        return self.burst()

    def burst(self, pause=0.0):
        """The seconds one import takes."""
        time.sleep(pause)
        bytecode = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": self._bytecode.name}
        self.seconds = float(printed(self._command, **bytecode))
        return self.seconds

    def end(self):
        """Nothing runs between bursts."""
        self._bytecode.cleanup()
