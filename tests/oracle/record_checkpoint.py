"""Run under the real MXNet: writes checkpoints, and resumes from its own and from gluonjax's.

    orc tests/oracle/record_checkpoint.py            writes mxnet-<optimizer>-*, and mxnet.npz: its own continuation
    python tests/oracle/record_checkpoint.py ours    under gluonjax: writes ours-<optimizer>-*
    orc tests/oracle/record_checkpoint.py resume     writes ours.npz: the real MXNet's continuation of ours-*
"""

from __future__ import annotations

import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))
from tests.checkpoint.cases import CASES, DATA, interrupted, resumed


def main() -> None:
    task = sys.argv[1] if len(sys.argv) > 1 else "mxnet"
    if task == "ours":
        import gluonjax as mx
    else:
        import mxnet as mx
    whose = "mxnet" if task == "mxnet" else "ours"
    DATA.mkdir(exist_ok=True)
    if task != "resume":
        for optimizer in CASES:
            interrupted(mx, optimizer, str(DATA / f"{whose}-{optimizer}"))
    if task != "ours":
        found = {
            f"{optimizer}/{name}": array
            for optimizer in CASES
            for name, array in resumed(mx, optimizer, str(DATA / f"{whose}-{optimizer}")).items()
        }
        np.savez_compressed(DATA / f"{whose}.npz", **found)


if __name__ == "__main__":
    main()
