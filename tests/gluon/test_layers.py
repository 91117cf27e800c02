"""Every layer, loss and recurrent cell: eager and hybridized agree in outputs, gradients and auxiliary states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import autograd, gluon, nd
from gluonjax.gluon import loss, nn, rnn
from gluonjax.gluon.contrib import cnn as contrib_cnn
from gluonjax.gluon.contrib import nn as contrib_nn
from gluonjax.gluon.contrib import rnn as contrib_rnn

Shapes = tuple[tuple[int, ...], ...]
IMAGE, VECTOR, SEQUENCE = ((2, 4, 6, 6),), ((3, 5),), ((4, 2, 5),)
LINE, VOLUME = ((2, 4, 6),), ((2, 4, 5, 5, 5),)

LAYERS: dict[str, tuple[Callable[[], Any], Shapes]] = {
    "Dense": (lambda: nn.Dense(3), VECTOR),
    "Dense relu": (lambda: nn.Dense(3, activation="relu", use_bias=False, flatten=False), SEQUENCE),
    "Activation": (lambda: nn.Activation("softrelu"), VECTOR),
    "LeakyReLU": (lambda: nn.LeakyReLU(0.2), VECTOR),
    "PReLU": (lambda: nn.PReLU(), VECTOR),
    "ELU": (lambda: nn.ELU(0.7), VECTOR),
    "SELU": (lambda: nn.SELU(), VECTOR),
    "GELU": (lambda: nn.GELU(), VECTOR),
    "Swish": (lambda: nn.Swish(1.5), VECTOR),
    "Flatten": (lambda: nn.Flatten(), IMAGE),
    "Lambda": (lambda: nn.HybridLambda("tanh"), VECTOR),
    "BatchNorm": (lambda: nn.BatchNorm(momentum=0.7), IMAGE),
    "BatchNormReLU": (lambda: nn.BatchNormReLU(), IMAGE),
    "BatchNorm no scale": (lambda: nn.BatchNorm(axis=-1, scale=False, center=False), VECTOR),
    "SyncBatchNorm": (lambda: contrib_nn.SyncBatchNorm(num_devices=1), IMAGE),
    "LayerNorm": (lambda: nn.LayerNorm(), VECTOR),
    "InstanceNorm": (lambda: nn.InstanceNorm(), IMAGE),
    "GroupNorm": (lambda: nn.GroupNorm(2), IMAGE),
    "ReflectionPad2D": (lambda: nn.ReflectionPad2D(1), IMAGE),
    "Conv1D": (lambda: nn.Conv1D(3, 2, strides=2, activation="tanh"), LINE),
    "Conv2D": (lambda: nn.Conv2D(4, 3, padding=1, groups=2), IMAGE),
    "Conv3D": (lambda: nn.Conv3D(2, 2, use_bias=False), VOLUME),
    "Conv1DTranspose": (lambda: nn.Conv1DTranspose(3, 2, strides=2), LINE),
    "Conv2DTranspose": (lambda: nn.Conv2DTranspose(3, 2, strides=2, output_padding=1), IMAGE),
    "Conv3DTranspose": (lambda: nn.Conv3DTranspose(2, 2), VOLUME),
    "DeformableConvolution": (lambda: contrib_cnn.DeformableConvolution(3, 2, activation="relu"), IMAGE),
    "ModulatedDeformable": (lambda: contrib_cnn.ModulatedDeformableConvolution(3, 2, use_bias=False), IMAGE),
    "MaxPool1D": (lambda: nn.MaxPool1D(2), LINE),
    "MaxPool2D": (lambda: nn.MaxPool2D(3, 2, ceil_mode=True), IMAGE),
    "MaxPool3D": (lambda: nn.MaxPool3D(2), VOLUME),
    "AvgPool1D": (lambda: nn.AvgPool1D(2), LINE),
    "AvgPool2D": (lambda: nn.AvgPool2D(3, 2, padding=1, count_include_pad=False), IMAGE),
    "AvgPool3D": (lambda: nn.AvgPool3D(2), VOLUME),
    "GlobalMaxPool1D": (lambda: nn.GlobalMaxPool1D(), LINE),
    "GlobalMaxPool2D": (lambda: nn.GlobalMaxPool2D(), IMAGE),
    "GlobalMaxPool3D": (lambda: nn.GlobalMaxPool3D(), VOLUME),
    "GlobalAvgPool1D": (lambda: nn.GlobalAvgPool1D(), LINE),
    "GlobalAvgPool2D": (lambda: nn.GlobalAvgPool2D(), IMAGE),
    "GlobalAvgPool3D": (lambda: nn.GlobalAvgPool3D(), VOLUME),
    "PixelShuffle1D": (lambda: contrib_nn.PixelShuffle1D(2), LINE),
    "PixelShuffle2D": (lambda: contrib_nn.PixelShuffle2D(2), IMAGE),
    "PixelShuffle3D": (lambda: contrib_nn.PixelShuffle3D((2, 1, 2)), VOLUME),
    "RNN": (lambda: rnn.RNN(3, 2), SEQUENCE),
    "LSTM": (lambda: rnn.LSTM(3, layout="NTC", bidirectional=True), SEQUENCE),
    "GRU": (lambda: rnn.GRU(3), SEQUENCE),
    "L1Loss": (lambda: loss.L1Loss(), VECTOR * 2),
    "L2Loss": (lambda: loss.L2Loss(weight=2.0), VECTOR * 2),
    "SigmoidBCELoss": (lambda: loss.SigmoidBinaryCrossEntropyLoss(), VECTOR * 2),
    "SoftmaxCELoss dense": (lambda: loss.SoftmaxCrossEntropyLoss(sparse_label=False), VECTOR * 2),
    "KLDivLoss": (lambda: loss.KLDivLoss(from_logits=False), VECTOR * 2),
    "HuberLoss": (lambda: loss.HuberLoss(rho=0.5), VECTOR * 2),
    "HingeLoss": (lambda: loss.HingeLoss(), VECTOR * 2),
    "SquaredHingeLoss": (lambda: loss.SquaredHingeLoss(), VECTOR * 2),
    "LogisticLoss": (lambda: loss.LogisticLoss(), VECTOR * 2),
    "TripletLoss": (lambda: loss.TripletLoss(), VECTOR * 3),
    "PoissonNLLLoss": (lambda: loss.PoissonNLLLoss(), VECTOR * 2),
    "CosineEmbeddingLoss": (lambda: loss.CosineEmbeddingLoss(), (*VECTOR * 2, (3,))),
    "SDMLLoss": (lambda: loss.SDMLLoss(), VECTOR * 2),
}

CELLS: dict[str, Callable[[], Any]] = {
    "RNNCell": lambda: rnn.RNNCell(3, activation="relu"),
    "LSTMCell": lambda: rnn.LSTMCell(3),
    "GRUCell": lambda: rnn.GRUCell(3),
    "ResidualCell": lambda: rnn.ResidualCell(rnn.GRUCell(5)),
    "ZoneoutCell": lambda: rnn.ZoneoutCell(rnn.RNNCell(3), 0.0, 0.0),
    "LSTMPCell": lambda: contrib_rnn.LSTMPCell(4, 3),
    "VariationalDropoutCell": lambda: contrib_rnn.VariationalDropoutCell(rnn.GRUCell(3)),
}

SPATIAL_CELLS: dict[str, Callable[[], Any]] = {
    "Conv1DRNNCell": lambda: contrib_rnn.Conv1DRNNCell((4, 6), 3, 3, 3),
    "Conv1DLSTMCell": lambda: contrib_rnn.Conv1DLSTMCell((4, 6), 3, 3, 3),
    "Conv1DGRUCell": lambda: contrib_rnn.Conv1DGRUCell((4, 6), 3, 3, 3, i2h_pad=1),
    "Conv2DLSTMCell": lambda: contrib_rnn.Conv2DLSTMCell((4, 6, 6), 2, 3, 3, activation="relu"),
    "Conv3DGRUCell": lambda: contrib_rnn.Conv3DGRUCell((4, 5, 5, 5), 2, 3, 1),
}


def results(block: Any, inputs: list[Any], call: Callable[[Any, list[Any]], Any]) -> list[np.ndarray]:
    """Outputs, input gradients, parameter gradients and auxiliary states of one recorded call."""
    for array in inputs:
        array.attach_grad()
    with autograd.record():
        outputs = call(block, inputs)
        total = sum((output * output).sum() for output in outputs)
    total.backward()
    params = block.collect_params().values()
    found = [*outputs, *(array.grad for array in inputs)]
    found += [parameter.data() if parameter.grad_req == "null" else parameter.grad() for parameter in params]
    return [array.asnumpy() for array in found]


def check(block: Any, shapes: Shapes, call: Callable[[Any, list[Any]], Any]) -> None:
    draw = np.random.default_rng(3)
    values = [draw.normal(size=shape) for shape in shapes]
    block.initialize(mx.init.Normal(0.5))
    call(block, [nd.array(value) for value in values])
    before = {name: one.data().asnumpy() for name, one in block.collect_params().items()}
    eager = results(block, [nd.array(value) for value in values], call)
    for name, parameter in block.collect_params().items():
        parameter.set_data(nd.array(before[name]))
    block.hybridize()
    compiled = results(block, [nd.array(value) for value in values], call)
    assert len(eager) == len(compiled)
    for one, other in zip(eager, compiled):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(other, one, rtol=2e-4, atol=2e-5)


def as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


@pytest.mark.parametrize("name", LAYERS)
def test_eager_equals_hybridized(name: str) -> None:
    build, shapes = LAYERS[name]
    check(build(), shapes, lambda block, inputs: as_list(block(*inputs)))


@pytest.mark.parametrize("name", CELLS)
def test_cells_unroll_alike(name: str) -> None:
    def unroll(cell: Any, inputs: list[Any]) -> list[Any]:
        outputs, states = cell.unroll(2, inputs[0], layout="TNC", merge_outputs=True)
        return [outputs, *states]

    check(CELLS[name](), ((2, 3, 5),), unroll)


@pytest.mark.parametrize("name", SPATIAL_CELLS)
def test_convolutional_cells_step_alike(name: str) -> None:
    cell = SPATIAL_CELLS[name]()
    shapes = ((2, *cell._input_shape), *(info["shape"] for info in cell.state_info(2)))

    def step(block: Any, inputs: list[Any]) -> list[Any]:
        output, states = block(inputs[0], inputs[1:])
        return [output, *states]

    check(cell, shapes, step)


def test_every_layer_is_in_the_table() -> None:
    tested = {type(build()).__name__ for build, _ in LAYERS.values()}
    # Containers, and what takes integers or is random: tested elsewhere.
    others = {
        "Block", "Sequential", "HybridSequential", "HybridBlock", "SymbolBlock", "Lambda", "Embedding", "Dropout",
        "Concatenate", "HybridConcatenate", "Identity", "Concurrent", "HybridConcurrent", "SparseEmbedding",
        "CTCLoss", "Loss",
    }  # fmt: skip
    public = {
        name
        for module in (nn, loss, contrib_nn, contrib_cnn)
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, gluon.Block) and not name.startswith("_")
    }
    aliases = {"SigmoidBCELoss", "SoftmaxCELoss"}
    assert public - tested - others - aliases == set()


def test_integer_inputs() -> None:
    for block, inputs in (
        (nn.Embedding(7, 3), [nd.array([[1, 6], [0, 1]])]),
        (loss.SoftmaxCrossEntropyLoss(), [nd.array([[1.0, 2.0, 0.5], [0.1, 0.2, 0.3]]), nd.array([2, 0])]),
        (loss.CTCLoss(), [nd.array(np.random.default_rng(0).normal(size=(2, 6, 4))), nd.array([[0, 2], [1, 1]])]),
    ):
        block.initialize()
        eager = block(*inputs).asnumpy()
        block.hybridize()
        np.testing.assert_allclose(block(*inputs).asnumpy(), eager, rtol=1e-5)


def test_normalizing_with_relu_in_one_step() -> None:
    results = []
    for build in (lambda: nn.HybridSequential(), nn.BatchNormReLU):
        block = build()
        if isinstance(block, nn.HybridSequential):
            block.add(nn.BatchNorm(), nn.Activation("relu"))
        x = nd.array(np.random.default_rng(0).normal(size=(4, 3, 2, 2)))
        block.initialize()
        results.append(run_once(block, x))
    for one, other in zip(*results):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def run_once(block: Any, x: Any) -> list[np.ndarray]:
    """Output, slope of the input, and moving statistics of a recorded call."""
    x.attach_grad()
    with autograd.record():
        y = block(x)
        loss = (y * y).sum()
    loss.backward()
    statistics = [one.data() for name, one in block.collect_params().items() if "running" in name]
    return [one.asnumpy() for one in (y, x.grad, *statistics)]


def test_synchronized_normalization_says_where_it_is_not() -> None:
    layer = contrib_nn.SyncBatchNorm(num_devices=2, in_channels=3)
    layer.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
    layer(nd.ones((2, 3)))
    with pytest.warns(UserWarning, match=r"normalizes its own part.*jax\.jit"), autograd.record():
        layer(nd.ones((2, 3)))
    with autograd.record():
        layer(nd.ones((2, 3), ctx=mx.cpu(1)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strides": (1,)}, r"Stride must have the same number of dimensions with kernel_size.*\(1,\)"),
        ({"padding": (1, 1, 1)}, "Padding must have the same number of dimensions"),
        ({"dilation": (1,)}, "Dilate must have the same number of dimensions"),
        ({"strides": 0}, r"incorrect stride size: \(0, 0\)"),
        ({"dilation": (1, 0)}, "incorrect dilate size"),
        ({"kernel_size": 0}, "incorrect kernel size"),
        ({"kernel_size": (3, 3, 3)}, "kernel_size must be a number or a list of 2 ints"),
        ({"channels": 3, "groups": 2}, "output num_filter must divide group size: 3 output channels in 2 groups"),
        ({"groups": 2, "in_channels": 3}, "input num_filter must divide group size"),
        ({"groups": 0}, "channels and groups must be 1 or more"),
        ({"layout": "NCW"}, "Only supports 'NCHW' and 'NHWC' layout"),
    ],
)
@pytest.mark.parametrize("kind", [nn.Conv2D, nn.Conv2DTranspose])
def test_convolutions_that_cannot_be(kind: type, options: dict[str, Any], message: str) -> None:
    with pytest.raises(mx.MXNetError, match=message):
        kind(**{"channels": 4, "kernel_size": 3, **options})
