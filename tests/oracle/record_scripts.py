"""Record what the real MXNet 1.9.1 prints for the document scripts and the small ones.

Run it with an interpreter that has mxnet==1.9.1 and numpy==1.23.5, from the project's folder:

    MXNET_MKLDNN_ENABLED=0 python -m tests.oracle.record_scripts
"""

from __future__ import annotations

import os
import subprocess
import sys

from tests.scripts.text import RECORDED, TINY, comparable, recorded_scripts


def main() -> None:
    RECORDED.mkdir(parents=True, exist_ok=True)
    for script in recorded_scripts():
        done = subprocess.run(
            [sys.executable, str(script)], env={**os.environ, **TINY}, capture_output=True, text=True, check=True
        )
        target = RECORDED / (script.stem + ".txt")
        target.write_text(comparable(done.stdout))
        print(target)


if __name__ == "__main__":
    main()
