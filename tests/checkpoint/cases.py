"""A training that is interrupted: the same code runs under gluonjax and under the real MXNet."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np

DATA = pathlib.Path(__file__).parents[1] / "data" / "checkpoint"
BEFORE, AFTER = 10, 20
BATCH = 8
# optimizer -> its parameters
CASES: dict[str, dict[str, Any]] = {
    "sgd": {"learning_rate": 0.1, "momentum": 0.9, "wd": 1e-3},
    "adam": {"learning_rate": 0.01, "wd": 1e-3, "clip_gradient": 0.5},
    "nag": {"learning_rate": 0.05, "momentum": 0.8},
    "rmsprop": {"learning_rate": 0.005, "centered": True},
}


def network(mx: Any) -> Any:
    """Convolution, batch normalization (so that there are auxiliary states), pooling and a dense layer."""
    # No bias: before a normalization its gradient is rounding noise, which Adam would blow up.
    net = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=4, pad=(1, 1), no_bias=True, name="conv")
    net = mx.sym.BatchNorm(net, fix_gamma=False, momentum=0.8, name="bn")
    net = mx.sym.Activation(net, act_type="tanh", name="act")
    net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="avg", name="pool")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net, name="flat"), num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def batches(mx: Any, first: int, count: int) -> Any:
    """The batches of some steps; step n has the same one everywhere."""
    for number in range(first, first + count):
        source = np.random.RandomState(number)
        data = source.uniform(-1, 1, (BATCH, 2, 6, 6)).astype(np.float32)
        label = source.randint(0, 3, BATCH).astype(np.float32)
        yield mx.io.DataBatch([mx.nd.array(data)], [mx.nd.array(label)])


def bound(mx: Any, module: Any) -> Any:
    """The module, bound for training."""
    module.bind([("data", (BATCH, 2, 6, 6))], [("softmax_label", (BATCH,))])
    return module


def train(mx: Any, module: Any, first: int, count: int) -> None:
    """Some steps of training."""
    for batch in batches(mx, first, count):
        module.forward_backward(batch)
        module.update()


def interrupted(mx: Any, optimizer: str, prefix: str) -> None:
    """Train from the start and write a checkpoint in the middle."""
    module = bound(mx, mx.mod.Module(network(mx)))
    source = np.random.RandomState(1)
    shapes = {"conv_weight": (4, 2, 3, 3), "bn_gamma": (4,), "bn_beta": (4,),
              "fc_weight": (3, 36), "fc_bias": (3,)}  # fmt: skip
    start = {name: mx.nd.array(source.uniform(-0.3, 0.5, shape)) for name, shape in shapes.items()}
    module.init_params(
        arg_params=start, aux_params={"bn_moving_mean": mx.nd.zeros((4,)), "bn_moving_var": mx.nd.ones((4,))}
    )
    module.init_optimizer(optimizer=optimizer, optimizer_params=CASES[optimizer])
    train(mx, module, 0, BEFORE)
    module.save_checkpoint(prefix, BEFORE, save_optimizer_states=True)


def resumed(mx: Any, optimizer: str, prefix: str) -> dict[str, np.ndarray]:
    """Load the checkpoint, go on for twenty steps, and return parameters and outputs."""
    module = bound(mx, mx.mod.Module.load(prefix, BEFORE, load_optimizer_states=True))
    module.init_optimizer(optimizer=optimizer, optimizer_params=CASES[optimizer])
    train(mx, module, BEFORE, AFTER)
    args, auxs = module.get_params()
    found = {name: array.asnumpy() for name, array in {**args, **auxs}.items()}
    found["output"] = module.get_outputs()[0].asnumpy()
    return found
