"""Record five training steps of a small network with the real MXNet (run it with that MXNet from the root).

Writes tests/data/module.npz with outputs, metric values, parameters and auxiliary states after every step, for some
optimizers.
"""

from __future__ import annotations

import importlib.util
import pathlib
from typing import Any

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
SHAPE = (4, 2, 6, 6)
STEPS = 5
OPTIMIZERS: dict[str, dict[str, Any]] = {
    "sgd": {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01},
    "adam": {"learning_rate": 0.01, "clip_gradient": 0.5},
    "rmsprop": {"learning_rate": 0.01, "wd": 0.001},
}


def networks() -> Any:
    """tests/module/networks.py, without importing the test package."""
    spec = importlib.util.spec_from_file_location("networks", HERE.parent / "module" / "networks.py")
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def run(mx: Any, nets: Any, optimizer: str, look: bool = False) -> dict[str, np.ndarray]:
    """Train; with ``look``, outputs are read before each update, so that nothing can be fused."""
    symbol = nets.convolutional(mx)
    module = nets.module(mx, symbol, SHAPE)
    parameters = dict(OPTIMIZERS[optimizer], lr_scheduler=mx.lr_scheduler.FactorScheduler(2, 0.5))
    module.init_optimizer(optimizer=optimizer, optimizer_params=parameters)
    metrics = mx.metric.create(["acc", "ce"])
    results = {}
    for step, (data, label) in enumerate(zip(*nets.arrays(SHAPE, STEPS))):
        batch = nets.batch(mx, data, label)
        module.forward(batch, is_train=True)
        if look:
            module.get_outputs()[0].wait_to_read()
        module.backward()
        module.update()
        module.update_metric(metrics, batch.label)
        results[f"{step}/output"] = module.get_outputs()[0].asnumpy()
        results[f"{step}/metric"] = np.array([value for _, value in metrics.get_name_value()])
        args, auxs = module.get_params()
        results.update({f"{step}/{name}": value.asnumpy() for name, value in {**args, **auxs}.items()})
    module.forward(nets.batch(mx, data, label), is_train=False)
    results["predict"] = module.get_outputs()[0].asnumpy()
    return results


if __name__ == "__main__":
    import mxnet

    everything = {
        f"{optimizer}/{name}": value
        for optimizer in OPTIMIZERS
        for name, value in run(mxnet, networks(), optimizer).items()
    }
    np.savez_compressed(HERE.parent / "data" / "module.npz", **everything)
    print(len(everything), "arrays")
