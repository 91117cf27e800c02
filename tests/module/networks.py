"""Networks and batches for the module tests; written for ``mx`` of either library."""

from __future__ import annotations

from typing import Any

import numpy as np

CLASSES = 3


def perceptron(mx: Any) -> Any:
    """Two fully connected layers and a softmax loss."""
    data = mx.sym.Variable("data")
    hidden = mx.sym.Activation(mx.sym.FullyConnected(data, num_hidden=6, name="fc1"), act_type="relu", name="relu1")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, num_hidden=CLASSES, name="fc2"), name="softmax")


def convolutional(mx: Any) -> Any:
    """Convolution, batch normalization, pooling, a fully connected layer and a softmax loss."""
    data = mx.sym.Variable("data")
    x = mx.sym.Convolution(data, kernel=(3, 3), num_filter=4, pad=(1, 1), no_bias=True, name="conv")
    x = mx.sym.BatchNorm(x, fix_gamma=False, momentum=0.8, name="bn")
    x = mx.sym.Activation(x, act_type="relu", name="relu")
    x = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool")
    x = mx.sym.FullyConnected(mx.sym.flatten(x, name="flat"), num_hidden=CLASSES, name="fc")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def arrays(shape: tuple[int, ...], steps: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Data and labels for some batches of one shape."""
    random = np.random.RandomState(seed)
    data = random.uniform(-1, 1, (steps, *shape)).astype(np.float32)
    labels = random.randint(0, CLASSES, (steps, shape[0])).astype(np.float32)
    return data, labels


def initial(mx: Any, symbol: Any, shape: tuple[int, ...], seed: int = 1) -> tuple[dict[str, Any], dict[str, Any]]:
    """Values for all parameters and auxiliary states."""
    random = np.random.RandomState(seed)
    arg_shapes, _, aux_shapes = symbol.infer_shape(data=shape)
    inputs = ("data", "softmax_label")
    args = {
        name: mx.nd.array(random.uniform(-0.5, 0.5, size).astype(np.float32))
        for name, size in zip(symbol.list_arguments(), arg_shapes)
        if name not in inputs
    }
    auxs = {
        name: mx.nd.array(np.full(size, 1.0 if name.endswith("var") else 0.0, np.float32))
        for name, size in zip(symbol.list_auxiliary_states(), aux_shapes)
    }
    return args, auxs


def module(mx: Any, symbol: Any, shape: tuple[int, ...], **bind: Any) -> Any:
    """A bound module with fixed initial values."""
    found = mx.mod.Module(symbol)
    found.bind([("data", shape)], [("softmax_label", shape[:1])], **bind)
    args, auxs = initial(mx, symbol, shape)
    found.init_params(arg_params=args, aux_params=auxs)
    return found


def batch(mx: Any, data: np.ndarray, label: np.ndarray) -> Any:
    """One DataBatch."""
    return mx.io.DataBatch([mx.nd.array(data)], [mx.nd.array(label)])
