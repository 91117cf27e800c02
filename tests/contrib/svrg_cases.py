"""A regression trained with variance reduction; runs under gluonjax and the real MXNet."""

from __future__ import annotations

from typing import Any

import numpy as np


def train(mx: Any, optimizer: str, parameters: dict[str, Any], epochs: int = 5) -> dict[str, list[float]]:
    """Weights and the error after some epochs; the full gradient is renewed every second one."""
    from importlib import import_module

    module_class = import_module(f"{mx.__name__}.contrib.svrg_optimization.svrg_module").SVRGModule
    source = np.random.RandomState(3)
    data = source.uniform(-1, 1, (30, 2)).astype(np.float32)
    label = data @ np.array([1.0, -2.0], np.float32) + 0.5
    batches = mx.io.NDArrayIter(data, label, batch_size=8, label_name="lin_label")
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
    net = mx.sym.LinearRegressionOutput(net, mx.sym.var("lin_label"), name="out")
    module = module_class(net, data_names=["data"], label_names=["lin_label"], update_freq=2)
    metric = mx.metric.create("mse")
    module.fit(
        batches, eval_metric=metric, optimizer=optimizer, optimizer_params=parameters, num_epoch=epochs,
        initializer=mx.init.Constant(0.1),
    )  # fmt: skip
    found = {name: array.asnumpy().ravel().tolist() for name, array in module.get_params()[0].items()}
    return {**found, "mse": [metric.get()[1]]}


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("sgd", {"learning_rate": 0.3}),
    "momentum": ("sgd", {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01}),
    "adam": ("adam", {"learning_rate": 0.05}),
}
