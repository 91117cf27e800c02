"""Networks whose summary tables are compared with the real MXNet's."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import Any


def convolutional(mx: Any) -> tuple[Any, dict[str, Any]]:
    net = mx.sym.var("data")
    for number in (1, 2):
        net = mx.sym.Convolution(net, kernel=(3, 3), num_filter=4 * number, name=f"conv{number}", no_bias=number == 1)
        net = mx.sym.BatchNorm(net, name=f"bn{number}", fix_gamma=number == 1)
        net = mx.sym.Activation(net, act_type="relu", name=f"relu{number}")
    net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net, name="flat"), num_hidden=10, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax"), {"shape": {"data": (2, 3, 12, 12)}}


def branches(mx: Any) -> tuple[Any, dict[str, Any]]:
    a, b = mx.sym.var("a"), mx.sym.var("b")
    left = mx.sym.FullyConnected(a, num_hidden=5, name="left", no_bias=True)
    right = mx.sym.Embedding(b, input_dim=7, output_dim=5, name="right")
    net = mx.sym.Concat(left, mx.sym.reshape(right, shape=(-1, 5), name="rows"), dim=1, name="joined")
    return mx.sym.tanh(net + 1, name="end"), {"shape": {"a": (3, 4), "b": (3,)}, "line_length": 80}


def without_shapes(mx: Any) -> tuple[Any, dict[str, Any]]:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=5, name="a_rather_long_name_for_a_layer_of_this_size")
    return mx.sym.LeakyReLU(net, name="leaky"), {"positions": [0.3, 0.5, 0.8, 1.0]}


CASES: dict[str, Callable[[Any], tuple[Any, dict[str, Any]]]] = {
    one.__name__: one for one in (convolutional, branches, without_shapes)
}


def printed(mx: Any, name: str) -> str:
    """What ``print_summary`` prints."""
    symbol, arguments = CASES[name](mx)
    with contextlib.redirect_stdout(io.StringIO()) as text:
        mx.viz.print_summary(symbol, **arguments)
    return text.getvalue()
