"""Record optimizer runs, learning rates, saved states and initial values of the real MXNet 1.9.1.

Run under the real MXNet from the repository's root: ``python tests/oracle/record_optimizers.py``. Writes
``tests/data/optimizers.npz`` and ``tests/data/optimizer_states.bin``.
"""

from __future__ import annotations

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import mxnet as mx  # noqa: E402
import numpy as np  # noqa: E402

from tests.optimizer.cases import CASES, VARIANTS, run_case  # noqa: E402


def states_file() -> bytes:
    """What MXNet's updater saves after three Adam steps, with the optimizer and its scheduler."""
    scheduler = mx.lr_scheduler.FactorScheduler(step=2, factor=0.5, base_lr=0.1)
    adam = mx.optimizer.Adam(learning_rate=0.1, lr_scheduler=scheduler, wd=0.01)
    updater = mx.optimizer.get_updater(adam)
    weight = mx.nd.array([[1.0, 2.0], [3.0, 4.0]])
    for _ in range(3):
        updater(0, weight * 0.1, weight)
    return updater.get_states(dump_optimizer=True)


def main() -> None:
    found: dict[str, np.ndarray] = {}
    for name in CASES:
        for variant in VARIANTS:
            try:
                result = run_case(mx, name, variant)
            except Exception as error:  # what fails in MXNet is printed and has no recorded values
                print(name, variant, repr(error)[:200])
                continue
            found.update({f"{name}/{variant}/{key}": value for key, value in result.items()})
    np.savez_compressed(ROOT / "tests/data/optimizers.npz", **found)
    (ROOT / "tests/data/optimizer_states.bin").write_bytes(states_file())


if __name__ == "__main__":
    main()
