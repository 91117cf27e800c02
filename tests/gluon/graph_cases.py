"""Blocks called on symbols, for either package: what ``export`` would write of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from tests.gluon.observe import flat


def network(mx: Any) -> Any:
    """Scopes in scopes, one of them without a name."""
    nn = mx.gluon.nn
    net, inner = nn.HybridSequential(prefix="net_"), nn.HybridSequential(prefix="")
    with net.name_scope():
        net.add(nn.Conv2D(3, 3), nn.BatchNorm(), nn.Activation("relu"))
        with inner.name_scope():
            inner.add(nn.Dense(2), nn.Dense(3))
        side_by_side = mx.gluon.contrib.nn.HybridConcurrent(axis=1)
        side_by_side.add(nn.Dense(2))
        side_by_side.add(nn.Dense(3))
        net.add(inner, side_by_side)
    return net


def cells(mx: Any, *made: Any) -> Any:
    """Cells on top of each other."""
    whole = mx.gluon.rnn.HybridSequentialRNNCell(prefix="all_")
    for cell in made:
        whole.add(cell)
    return whole


Build = Callable[[Any], Any]
LAYERS: dict[str, Build] = {
    "dense": lambda mx: mx.gluon.nn.Dense(3, activation="relu"),
    "dense flat": lambda mx: mx.gluon.nn.Dense(3, use_bias=False, flatten=False),
    "conv": lambda mx: mx.gluon.nn.Conv2D(4, 3, activation="tanh", groups=2),
    "transposed": lambda mx: mx.gluon.nn.Conv1DTranspose(3, 2, strides=2, output_padding=1),
    "max": lambda mx: mx.gluon.nn.MaxPool2D(3, 2, 1),
    "average": lambda mx: mx.gluon.nn.AvgPool1D(count_include_pad=False),
    "global": lambda mx: mx.gluon.nn.GlobalAvgPool2D(),
    "batch norm": lambda mx: mx.gluon.nn.BatchNorm(scale=False, center=False, axis=3),
    "layer norm": lambda mx: mx.gluon.nn.LayerNorm(),
    "instance norm": lambda mx: mx.gluon.nn.InstanceNorm(axis=2),
    "group norm": lambda mx: mx.gluon.nn.GroupNorm(2),
    "sync batch norm": lambda mx: mx.gluon.contrib.nn.SyncBatchNorm(num_devices=1),
    "dropout": lambda mx: mx.gluon.nn.Dropout(0.5, axes=(1,)),
    "embedding": lambda mx: mx.gluon.nn.Embedding(3, 4, sparse_grad=True),
    "prelu": lambda mx: mx.gluon.nn.PReLU(),
    "selu": lambda mx: mx.gluon.nn.SELU(),
    "gelu": lambda mx: mx.gluon.nn.GELU(),
    "swish": lambda mx: mx.gluon.nn.Swish(2.0),
    "reflect": lambda mx: mx.gluon.nn.ReflectionPad2D(2),
    "shuffle": lambda mx: mx.gluon.contrib.nn.PixelShuffle2D((2, 3)),
    "shuffle volumes": lambda mx: mx.gluon.contrib.nn.PixelShuffle3D((2, 3, 4)),
    "network": network,
    "rnn": lambda mx: mx.gluon.rnn.RNN(3, activation="tanh"),
    "lstm": lambda mx: mx.gluon.rnn.LSTM(3, 2, bidirectional=True, layout="NTC", dropout=0.2),
    "gru": lambda mx: mx.gluon.rnn.GRU(3),
    "projected": lambda mx: mx.gluon.rnn.LSTM(4, projection_size=2),
}
CELLS: dict[str, Build] = {
    "rnn": lambda mx: mx.gluon.rnn.RNNCell(3, activation="relu"),
    "lstm": lambda mx: mx.gluon.rnn.LSTMCell(3),
    "gru": lambda mx: mx.gluon.rnn.GRUCell(3),
    "lstmp": lambda mx: mx.gluon.contrib.rnn.LSTMPCell(3, 2),
    "residual": lambda mx: mx.gluon.rnn.ResidualCell(mx.gluon.rnn.GRUCell(3)),
    "zoneout": lambda mx: mx.gluon.rnn.ZoneoutCell(mx.gluon.rnn.RNNCell(3), 0.1, 0.1),
    "variational": lambda mx: mx.gluon.contrib.rnn.VariationalDropoutCell(mx.gluon.rnn.LSTMCell(3), 0.1, 0.1, 0.1),
    "stack": lambda mx: cells(mx, mx.gluon.rnn.GRUCell(2), mx.gluon.rnn.DropoutCell(0.3), mx.gluon.rnn.RNNCell(2)),
    "both ways": lambda mx: mx.gluon.rnn.BidirectionalCell(
        mx.gluon.rnn.LSTMCell(2, prefix="l_"), mx.gluon.rnn.GRUCell(2, prefix="r_")
    ),
    "conv lstm": lambda mx: mx.gluon.contrib.rnn.Conv2DLSTMCell((2, 5, 5), 3, 3, 3),
    "conv gru": lambda mx: mx.gluon.contrib.rnn.Conv1DGRUCell((2, 5), 3, 3, 3),
}
LOSSES = {
    "L1Loss": {}, "L2Loss": {"weight": 0.5}, "SigmoidBCELoss": {}, "SoftmaxCELoss": {"axis": 1}, "CTCLoss": {},
    "KLDivLoss": {"from_logits": False}, "HuberLoss": {}, "HingeLoss": {}, "SquaredHingeLoss": {},
    "LogisticLoss": {"label_format": "binary"}, "PoissonNLLLoss": {},
}  # fmt: skip


def lines(symbol: Any) -> list[str]:
    """One line for each node of the JSON: operator, name, attributes and inputs."""
    graph = json.loads(symbol.tojson())
    found = [
        f"{node['op']} {node['name']} {sorted(node.get('attrs', {}).items())} {node['inputs']}"
        for node in graph["nodes"]
    ]
    return [*found, str(graph["heads"])]


def digest(texts: list[str]) -> str:
    """A short name for many lines."""
    return hashlib.md5("\n".join(texts).encode()).hexdigest()[:12]


def graphs(mx: Any) -> dict[str, list[str]]:
    """The lines of every case but the networks of the zoo."""
    found: dict[str, list[str]] = {}

    def keep(name: str, symbols: Any) -> None:
        found[name] = lines(mx.sym.Group(flat(symbols)))

    for name, build in LAYERS.items():
        with mx.name.NameManager():
            keep(f"layer {name}", build(mx)(mx.sym.var("data")))
    for name, build in CELLS.items():
        with mx.name.NameManager():
            keep(f"cell {name}", build(mx).unroll(2, mx.sym.var("data"), merge_outputs=True))
    for name, kwargs in LOSSES.items():
        with mx.name.NameManager():
            keep(f"loss {name}", getattr(mx.gluon.loss, name)(**kwargs)(mx.sym.var("a"), mx.sym.var("b")))
    return found


def zoo(mx: Any, name: str) -> tuple[str, str]:
    """Digests of a zoo network's graph and of its text."""
    with mx.name.NameManager():
        net = mx.gluon.model_zoo.vision.get_model(name, prefix="net_")
        return digest(lines(net(mx.sym.var("data")))), digest([repr(net)])
