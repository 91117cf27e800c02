"""Layers, losses and cells in random configurations, for either package; the recorder and the tests share them.

Everything is drawn by one seeded generator from the tables below: which class, which arguments, which input shapes.
Only ``random`` and ``zlib`` decide, so that both packages and every Python see the same cases.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

# What a parameter of a constructor may be; None here means "not given".
Choices = dict[str, tuple[Any, ...]]


class Case(NamedTuple):
    """One configuration: how to build the block and what to feed it."""

    name: str
    path: str
    kwargs: dict[str, Any]
    shapes: tuple[tuple[int, ...], ...]
    kinds: str
    """One letter an input: f float, p positive, s sign, c class numbers, b zero or one."""


ACTIVATIONS = ("relu", "tanh", "sigmoid", "softrelu", "softsign")
NORM: Choices = {
    "epsilon": (None, 1e-3, 0.1),
    "center": (None, False, True),
    "scale": (None, False, True),
    "beta_initializer": (None, "ones"),
    "gamma_initializer": (None, "zeros", "ones"),
}
BATCH_NORM: Choices = {
    **NORM,
    "momentum": (None, 0.5, 0.0),
    "use_global_stats": (None, True),
    "running_mean_initializer": (None, "ones"),
    "running_variance_initializer": (None, "ones"),
}
COMMON: Choices = {"prefix": (None, "own_")}
LAYOUTS = {1: ("NCW",), 2: ("NCHW",), 3: ("NCDHW",)}


def _sizes(draw: random.Random, layout: str, channels: int = 4) -> tuple[int, ...]:
    """A small input for a layout."""
    spatial = {3: 7, 4: 6, 5: 5}[len(layout)]
    known = {"N": 2, "C": channels}
    return tuple(known.get(letter) or spatial + draw.randrange(2) for letter in layout)


def _ints(dimensions: int, *values: int) -> tuple[Any, ...]:
    """Sizes for all axes: as one number, or another for each axis."""
    mixed = tuple(values[axis % len(values)] for axis in range(dimensions))
    return (*values, mixed)


def _convolution(dimensions: int, transposed: bool) -> tuple[Choices, tuple[Any, ...]]:
    choices: Choices = {
        "strides": (None, *_ints(dimensions, 1, 2)),
        "padding": (None, *_ints(dimensions, 1, 0)),
        "dilation": (None, *_ints(dimensions, 1, 2)),
        "groups": (None, 1, 2),
        "layout": (None, *LAYOUTS[dimensions]),
        "activation": (None, *ACTIVATIONS),
        "use_bias": (None, False),
        "bias_initializer": (None, "ones"),
        "weight_initializer": (None, "ones"),
        "in_channels": (None, 4),
        **COMMON,
    }
    if transposed:
        choices["output_padding"] = (None, *_ints(dimensions, 1, 0))
    return choices, _ints(dimensions, 3, 2, 1)


def _pooling(dimensions: int, average: bool) -> Choices:
    choices: Choices = {
        "pool_size": (None, *_ints(dimensions, 2, 3)),
        "strides": (None, *_ints(dimensions, 1, 2, 3)),
        "padding": (None, *_ints(dimensions, 1, 0)),
        "layout": (None, *LAYOUTS[dimensions]),
        "ceil_mode": (None, True, False),
        **COMMON,
    }
    if average:
        choices["count_include_pad"] = (None, False, True)
    return choices


def _pick(draw: random.Random, choices: Choices) -> dict[str, Any]:
    """One value for every argument; most calls give only some."""
    given: dict[str, Any] = {}
    for name, values in choices.items():
        value = draw.choice(values)
        if value is not None and draw.random() < 0.6:
            given[name] = value
    return given


Build = Callable[[random.Random], tuple[dict[str, Any], tuple[tuple[int, ...], ...], str]]


def _spatial_layers() -> Iterator[tuple[str, Build]]:
    for dimensions in (1, 2, 3):
        for transposed in (False, True):

            def convolution(draw: random.Random, n: int = dimensions, t: bool = transposed) -> Any:
                choices, kernels = _convolution(n, t)
                kwargs = {"channels": draw.choice((2, 4)), "kernel_size": draw.choice(kernels), **_pick(draw, choices)}
                return kwargs, (_sizes(draw, LAYOUTS[n][0]),), "f"

            yield f"nn.Conv{dimensions}D{'Transpose' * transposed}", convolution
        for kind in ("Max", "Avg"):

            def pooling(draw: random.Random, n: int = dimensions, average: bool = kind == "Avg") -> Any:
                return _pick(draw, _pooling(n, average)), (_sizes(draw, LAYOUTS[n][0]),), "f"

            def whole(draw: random.Random, n: int = dimensions) -> Any:
                return _pick(draw, {"layout": LAYOUTS[n], **COMMON}), (_sizes(draw, LAYOUTS[n][0]),), "f"

            yield f"nn.{kind}Pool{dimensions}D", pooling
            yield f"nn.Global{kind}Pool{dimensions}D", whole
    for name in ("DeformableConvolution", "ModulatedDeformableConvolution"):

        def deformable(draw: random.Random) -> Any:
            kwargs = {"channels": draw.choice((2, 4)), "kernel_size": draw.choice(((1, 1), (3, 3), (2, 3)))}
            choices: Choices = {
                "strides": (None, (1, 2)), "padding": (None, (1, 1)), "dilation": (None, (1, 2)), "groups": (None, 2),
                "num_deformable_group": (None, 2), "use_bias": (None, False), "in_channels": (None, 4),
                "activation": (None, *ACTIVATIONS), "offset_use_bias": (None, False), **COMMON,
            }  # fmt: skip
            return {**kwargs, **_pick(draw, choices)}, (_sizes(draw, "NCHW"),), "f"

        yield f"contrib.cnn.{name}", deformable


def _dense_and_norms() -> Iterator[tuple[str, Build]]:
    def dense(draw: random.Random) -> Any:
        flatten = draw.choice((None, False, True))
        shape = draw.choice(((3, 4), (2, 3, 4), (2, 1, 2, 4), (5, 4)))
        width = 4 if flatten is False else shape[1] * (shape[2] if len(shape) > 2 else 1) * (4 if len(shape) > 3 else 1)
        choices: Choices = {
            "activation": (None, *ACTIVATIONS), "use_bias": (None, False), "weight_initializer": (None, "ones"),
            "bias_initializer": (None, "ones"), "in_units": (None, width), "dtype": (None, "float32"), **COMMON,
        }  # fmt: skip
        kwargs = {"units": draw.choice((1, 3)), **_pick(draw, choices)}
        return {**kwargs, **({} if flatten is None else {"flatten": flatten})}, (shape,), "f"

    def batch_norm(draw: random.Random) -> Any:
        shape = draw.choice(((3, 4), (2, 4, 3), (2, 4, 3, 2), (2, 3, 2, 2, 2)))
        axis = draw.choice((None, 1, -1, len(shape) - 1))
        kwargs = _pick(draw, {**BATCH_NORM, "in_channels": (None, shape[1 if axis is None else axis]), **COMMON})
        return {**kwargs, **({} if axis is None else {"axis": axis})}, (shape,), "f"

    def synchronized(draw: random.Random) -> Any:
        choices: Choices = {**BATCH_NORM, "in_channels": (None, 4), **COMMON}
        return {"num_devices": 1, **_pick(draw, choices)}, (_sizes(draw, "NCHW"),), "f"

    def layer_norm(draw: random.Random) -> Any:
        shape = draw.choice(((3, 4), (2, 4, 3), (2, 4, 3, 2)))
        axis = draw.choice((None, 1, -1, len(shape) - 1))
        kwargs = _pick(draw, {**NORM, "in_channels": (None, shape[-1 if axis is None else axis]), **COMMON})
        return {**kwargs, **({} if axis is None else {"axis": axis})}, (shape,), "f"

    def instance_norm(draw: random.Random) -> Any:
        shape = draw.choice(((2, 4, 3), (2, 4, 3, 2), (2, 3, 2, 2, 2)))
        axis = draw.choice((None, 1, -1, 2))
        kwargs = _pick(draw, {**NORM, "in_channels": (None, shape[1 if axis is None else axis]), **COMMON})
        return {**kwargs, **({} if axis is None else {"axis": axis})}, (shape,), "f"

    def group_norm(draw: random.Random) -> Any:
        shape = draw.choice(((3, 4), (2, 4, 3), (2, 4, 3, 2)))
        return _pick(draw, {**NORM, "num_groups": (None, 1, 2, 4), **COMMON}), (shape,), "f"

    yield from (
        ("nn.Dense", dense), ("nn.BatchNorm", batch_norm), ("nn.BatchNormReLU", batch_norm),
        ("contrib.nn.SyncBatchNorm", synchronized), ("nn.LayerNorm", layer_norm),
        ("nn.InstanceNorm", instance_norm), ("nn.GroupNorm", group_norm),
    )  # fmt: skip


def _plain(choices: Choices, *shapes: tuple[int, ...], required: tuple[str, ...] = ()) -> Build:
    """A layer whose arguments do not depend on each other."""

    def build(draw: random.Random) -> Any:
        kwargs = _pick(draw, {name: values for name, values in choices.items() if name not in required})
        kwargs |= {name: draw.choice(choices[name]) for name in required}
        return kwargs, (draw.choice(shapes),), "f"

    return build


VECTORS = ((3, 4), (5,), (2, 3, 4))
SIMPLE: dict[str, Build] = {
    "nn.Activation": _plain({"activation": ACTIVATIONS, **COMMON}, *VECTORS, required=("activation",)),
    "nn.LeakyReLU": _plain({"alpha": (0.0, 0.1, 0.5, 1), **COMMON}, *VECTORS, required=("alpha",)),
    "nn.ELU": _plain({"alpha": (None, 0.5, 2.0), **COMMON}, *VECTORS),
    "nn.SELU": _plain(COMMON, *VECTORS),
    "nn.GELU": _plain(COMMON, *VECTORS),
    "nn.Swish": _plain({"beta": (None, 0.5, 2), **COMMON}, *VECTORS),
    "nn.Flatten": _plain(COMMON, (3, 4), (2, 3, 4), (2, 3, 2, 2)),
    "nn.ReflectionPad2D": _plain({"padding": (0, 1, (0, 0, 0, 0, 1, 2, 2, 1)), **COMMON}, (2, 3, 4, 5)),
    "nn.Dropout": _plain({"rate": (0, 0.0), "axes": (None, (0,), (0, 1))}, (3, 4), required=("rate",)),
    "contrib.nn.Identity": _plain(COMMON, *VECTORS),
    "contrib.nn.PixelShuffle1D": _plain({"factor": (1, 2)}, (2, 4, 3), required=("factor",)),
    "contrib.nn.PixelShuffle2D": _plain({"factor": (1, 2, (2, 1))}, (2, 8, 3, 2), required=("factor",)),
    "contrib.nn.PixelShuffle3D": _plain({"factor": (2, (1, 2, 2))}, (1, 8, 2, 3, 2), required=("factor",)),
}


def _prelu(draw: random.Random) -> Any:
    channels = draw.choice((None, 4))
    shape = draw.choice(((3, 4), (2, 4, 3)))
    return ({} if channels is None else {"in_channels": channels}) | _pick(draw, COMMON), (shape,), "f"


def _embedding(draw: random.Random) -> Any:
    kwargs: dict[str, Any] = {"input_dim": 5, "output_dim": draw.choice((1, 3))}
    choices: Choices = {"weight_initializer": (None, "ones"), "sparse_grad": (None, False), **COMMON}
    return {**kwargs, **_pick(draw, choices)}, (draw.choice(((3,), (2, 3))),), "c"


def _losses() -> Iterator[tuple[str, Build]]:
    base: Choices = {"weight": (None, 0.5, 2.0), "batch_axis": (None, 0, 1), **COMMON}
    pairs: dict[str, tuple[Choices, str]] = {
        "L1Loss": ({}, "ff"),
        "L2Loss": ({}, "ff"),
        "SigmoidBinaryCrossEntropyLoss": ({}, "fb"),
        "KLDivLoss": ({"from_logits": (None, False), "axis": (None, -1, 1)}, "fp"),
        "HuberLoss": ({"rho": (None, 0.3, 2)}, "ff"),
        "HingeLoss": ({"margin": (None, 0.5)}, "fs"),
        "SquaredHingeLoss": ({"margin": (None, 0.5)}, "fs"),
        "LogisticLoss": ({"label_format": (None, "signed")}, "fs"),
        "PoissonNLLLoss": ({"from_logits": (None, False), "compute_full": (None, True)}, "pp"),
    }
    for name, (choices, kinds) in pairs.items():

        def pair(draw: random.Random, choices: Choices = choices, kinds: str = kinds) -> Any:
            shape = draw.choice(((3, 4), (2, 3, 4)))
            weighted = draw.random() < 0.4
            kwargs = _pick(draw, {**base, **choices})
            if weighted:
                return kwargs, (shape, shape, draw.choice((shape, shape[:1] + (1,) * (len(shape) - 1)))), kinds + "p"
            return kwargs, (shape, shape), kinds

        yield f"loss.{name}", pair

    def softmax(draw: random.Random) -> Any:
        dense = draw.random() < 0.5
        axis = draw.choice((None, -1, 1))
        shape = draw.choice(((3, 4), (2, 4, 4)))
        label = shape if dense else tuple(size for at, size in enumerate(shape) if at != (axis or -1) % len(shape))
        kwargs = _pick(draw, {**base, "from_logits": (None, True)})
        kwargs |= {} if axis is None else {"axis": axis}
        kwargs |= {"sparse_label": False} if dense else {}
        return kwargs, (shape, label), "f" + ("p" if dense else "c")

    def sigmoid_positive(draw: random.Random) -> Any:
        shape = draw.choice(((3, 4), (2, 3, 4)))
        kwargs = _pick(draw, base)
        return kwargs, (shape, shape, (*shape[:1], *(1,) * (len(shape) - 1)), shape), "fbpp"

    def triplet(draw: random.Random) -> Any:
        shape = draw.choice(((3, 4), (2, 3, 4)))
        return _pick(draw, {**base, "batch_axis": (None, 0), "margin": (None, 3)}), (shape,) * 3, "fff"

    def cosine(draw: random.Random) -> Any:
        return _pick(draw, {**base, "batch_axis": (None, 0), "margin": (None, 0.2)}), ((3, 4), (3, 4), (3,)), "ffs"

    def pairs_in_batch(draw: random.Random) -> Any:
        choices: Choices = {"weight": (None, 2.0), "smoothing_parameter": (None, 0.1), **COMMON}
        return _pick(draw, choices), ((4, 3), (4, 3)), "ff"

    def ctc(draw: random.Random) -> Any:
        kwargs = _pick(draw, {"layout": (None, "TNC"), "label_layout": (None, "TN"), "weight": (None, 2.0)})
        shape = (6, 2, 5) if kwargs.get("layout") == "TNC" else (2, 6, 5)
        label = (3, 2) if kwargs.get("label_layout") == "TN" else (2, 3)
        return kwargs, (shape, label), "fc"

    yield from (
        ("loss.SoftmaxCrossEntropyLoss", softmax), ("loss.SigmoidBCELoss", sigmoid_positive),
        ("loss.TripletLoss", triplet), ("loss.CosineEmbeddingLoss", cosine), ("loss.SDMLLoss", pairs_in_batch),
        ("loss.CTCLoss", ctc),
    )  # fmt: skip


RNN_INIT: Choices = {
    "i2h_weight_initializer": (None, "ones"), "i2h_bias_initializer": (None, "ones"),
    "h2h_bias_initializer": (None, "ones"), **COMMON,
}  # fmt: skip


def _recurrent() -> Iterator[tuple[str, Build]]:
    for name in ("RNN", "LSTM", "GRU"):

        def layer(draw: random.Random, name: str = name) -> Any:
            choices: Choices = {
                **RNN_INIT, "num_layers": (None, 1, 2), "layout": (None, "TNC", "NTC"), "bidirectional": (None, True),
                "input_size": (None, 4), "dropout": (None, 0.0),
            }  # fmt: skip
            if name == "RNN":
                choices["activation"] = (None, "tanh", "relu")
            return {"hidden_size": draw.choice((2, 3)), **_pick(draw, choices)}, ((3, 2, 4),), "f"

        yield f"rnn.{name}", layer
    cells: dict[str, Choices] = {
        "rnn.RNNCell": {"activation": (None, "relu", "sigmoid")},
        "rnn.LSTMCell": {"activation": (None, "relu"), "recurrent_activation": (None, "tanh")},
        "rnn.GRUCell": {},
        "contrib.rnn.LSTMPCell": {"projection_size": (2, 3)},
    }
    for path, more in cells.items():

        def cell(draw: random.Random, more: Choices = more) -> Any:
            required = {key: draw.choice(more[key]) for key in more if key == "projection_size"}
            optional = {key: values for key, values in more.items() if key not in required}
            kwargs = _pick(draw, {**RNN_INIT, "input_size": (None, 4), **optional})
            return {"hidden_size": draw.choice((2, 3)), **required, **kwargs}, ((2, 3, 4),), "f"

        yield path, cell
    for dimensions in (1, 2, 3):
        for kind in ("RNN", "LSTM", "GRU"):

            def convolutional(draw: random.Random, n: int = dimensions) -> Any:
                sizes = (5, 4, 4)[:n]
                kernel = draw.choice((1, 3))
                kwargs = {
                    "input_shape": (2, *sizes), "hidden_channels": draw.choice((1, 2)), "i2h_kernel": kernel,
                    "h2h_kernel": draw.choice((1, 3)),
                }  # fmt: skip
                choices: Choices = {
                    "i2h_pad": (None, kernel // 2), "i2h_dilate": (None, 1), "h2h_dilate": (None, 1),
                    "i2h_bias_initializer": (None, "ones"), "activation": (None, "relu", "tanh"), **COMMON,
                }  # fmt: skip
                return {**kwargs, **_pick(draw, choices)}, ((2, 2, 2, *sizes),), "f"

            yield f"contrib.rnn.Conv{dimensions}D{kind}Cell", convolutional


def families() -> dict[str, Build]:
    """All classes with the function that draws a configuration."""
    found = dict(_spatial_layers())
    found |= dict(_dense_and_norms())
    found |= SIMPLE | {"nn.PReLU": _prelu, "nn.Embedding": _embedding}
    found |= dict(_losses())
    return found | dict(_recurrent())


def cases(each: int = 3, seed: int = 0) -> list[Case]:
    """``each`` configurations of every class."""
    made = []
    for path, build in families().items():
        draw = random.Random(f"{path} {seed}")
        made += [Case(f"{path}-{number}", path, *build(draw)) for number in range(each)]
    return made
