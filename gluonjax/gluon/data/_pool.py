"""The worker processes of all loaders, as the parent sees them: started once, shared, ended with the interpreter.

A process that runs JAX must not fork (its threads would be missing in the child), so workers are fresh interpreters
that are told over a pipe what to load. They import the user's script only where a data set needs it.
"""

from __future__ import annotations

import ast
import atexit
import itertools
import os
import subprocess
import sys
import threading
import weakref
from multiprocessing import Pipe
from typing import Any

from gluonjax.gluon._errors import MXNetError
from gluonjax.gluon.data._messages import CannotSend, packed

_START = "import sys; from gluonjax.gluon.data._worker import main; main(int(sys.argv[1]))"


class WorkerDied(MXNetError, RuntimeError):
    """A worker process ended while a batch was expected of it."""


class Mailbox:
    """Where the results of one round arrive, by position."""

    def __init__(self) -> None:
        self._results: dict[int, bytes] = {}
        self._died: str | None = None
        self._changed = threading.Condition()

    def put(self, position: int, data: bytes) -> None:
        with self._changed:
            self._results[position] = data
            self._changed.notify_all()

    def close(self, reason: str) -> None:
        with self._changed:
            self._died = reason
            self._changed.notify_all()

    def take(self, position: int, timeout: float) -> bytes | None:
        """The bytes of a batch, or None after ``timeout`` seconds. Raises WorkerDied."""
        with self._changed:
            self._changed.wait_for(lambda: position in self._results or self._died is not None, timeout)
            if position in self._results:
                return self._results.pop(position)
            if self._died is not None:
                raise WorkerDied(self._died)
            return None


class Worker:
    """One worker process and the thread that reads its answers."""

    def __init__(self, script: str | None) -> None:
        ours, theirs = Pipe()
        paths = [path or os.getcwd() for path in sys.path]
        environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": os.pathsep.join(paths)}
        self.process = subprocess.Popen(
            [sys.executable, "-c", _START, str(theirs.fileno())], env=environment, pass_fds=(theirs.fileno(),)
        )
        theirs.close()
        self._pipe = ours
        self._sending = threading.Lock()
        self.rounds: weakref.WeakValueDictionary[int, Mailbox] = weakref.WeakValueDictionary()
        self.sources: set[int] = set()
        self.alive = True
        mxnet = sys.modules.get("mxnet") is sys.modules["gluonjax"]
        self.send({"path": paths, "script": script, "mxnet": mxnet})
        threading.Thread(target=self._read, name="gluonjax-data", daemon=True).start()

    def send(self, message: Any) -> None:
        try:
            with self._sending:
                self._pipe.send(message)
        except OSError:
            self._has_died()

    def _read(self) -> None:
        while True:
            try:
                number, position, data = self._pipe.recv()
            except (EOFError, OSError, TypeError):  # TypeError: the pipe was closed while we read
                break
            mailbox = self.rounds.get(number)
            if mailbox is not None:
                mailbox.put(position, data)
        self._has_died()

    def _has_died(self) -> None:
        self.alive = False
        try:
            status = self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            status = None
        reason = (
            f"a DataLoader worker (process {self.process.pid}) ended with status {status} before it delivered its "
            "batch; run the loader with num_workers=0 to see why"
        )
        for mailbox in list(self.rounds.values()):
            mailbox.close(reason)

    def close(self) -> None:
        """Ask the process to end; it does so after the batch that it is loading."""
        self.alive = False
        self._pipe.close()

    def end(self) -> None:
        """Wait a little for the end, then force it."""
        try:
            self.process.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Source:
    """What a loader loads from (data set and batchify function), as it is sent to workers.

    Raises:
        CannotSend: where worker processes cannot have it; the text says why.
    """

    _numbers = itertools.count()

    def __init__(self, dataset: Any, batchify: Any) -> None:
        self.data, needs_script = packed((dataset, batchify))
        self.script = _script() if needs_script else None
        self.number = next(self._numbers)
        weakref.finalize(self, _forget, self.number)


def _script() -> str:
    """The path of the running script, if a worker may run it for its definitions."""
    path = getattr(sys.modules.get("__main__"), "__file__", None)
    if path is None or not os.path.exists(path):
        raise CannotSend("it uses what is defined in an interactive session")
    with open(path, "rb") as file:
        tree = ast.parse(file.read())
    guarded = any(isinstance(part, ast.If) and "__name__" in ast.dump(part.test) for part in tree.body)
    if not guarded:
        raise CannotSend(f"{path} defines parts of it and has no `if __name__ == '__main__':` around what it does")
    return os.path.abspath(path)


_lock = threading.Lock()
_workers: dict[str | None, list[Worker]] = {}


def workers_for(source: Source, count: int) -> list[Worker]:
    """That many workers which know the source."""
    with _lock:
        alive = [worker for worker in _workers.get(source.script, ()) if worker.alive]
        alive += [Worker(source.script) for _ in range(count - len(alive))]
        _workers[source.script] = alive
        chosen = alive[:count]
        for worker in chosen:
            if source.number not in worker.sources:
                worker.sources.add(source.number)
                worker.send(("data set", source.number, source.data))
    return chosen


def _forget(number: int) -> None:
    for workers in list(_workers.values()):
        for worker in workers:
            if worker.alive and number in worker.sources:
                worker.sources.discard(number)
                worker.send(("forget", number))


@atexit.register
def end_workers() -> None:
    """End all worker processes; the next round starts new ones."""
    with _lock:
        ending = [worker for workers in _workers.values() for worker in workers]
        _workers.clear()
    for worker in ending:
        worker.close()
    for worker in ending:
        worker.end()
