"""Record what the image record iterators of the real MXNet give (run it with that MXNet from the root).

Reads tests/data/files/*.rec, writes tests/data/files/pictures.npz. Every case runs in a process of its own, since
these iterators may abort theirs at its end.
"""

from __future__ import annotations

import importlib.util
import pathlib
import pickle
import subprocess
import sys
from typing import Any

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = HERE.parent / "data" / "files"


def cases() -> Any:
    """tests/io/picture_cases.py, without importing the test package."""
    spec = importlib.util.spec_from_file_location("picture_cases", HERE.parent / "io" / "picture_cases.py")
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def one(name: str) -> None:
    import mxnet

    sys.stdout.buffer.write(pickle.dumps(cases().epochs(mxnet, str(FOLDER), name)))
    sys.stdout.buffer.flush()


def main() -> None:
    recorded: dict[str, Any] = {}
    for name in cases().CASES:
        done = subprocess.run([sys.executable, __file__, name], capture_output=True, timeout=60)
        for key, value in pickle.loads(done.stdout).items():
            array = np.asarray(value)
            whole = array.astype(np.uint8)
            # Pixels that were not scaled are bytes; a file of them is small.
            recorded[f"{name}/{key}"] = whole if np.array_equal(whole, array) and array.dtype == np.float32 else array
        print(name, len(recorded))
    np.savez_compressed(FOLDER / "pictures.npz", **recorded)


if __name__ == "__main__":
    one(sys.argv[1]) if len(sys.argv) > 1 else main()
