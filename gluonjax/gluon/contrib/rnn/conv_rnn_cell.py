"""Recurrent cells with convolutions in the place of matrix products."""

from __future__ import annotations

from typing import Any, ClassVar

from gluonjax.gluon._errors import ArgumentError
from gluonjax.gluon.parameter import Parameter
from gluonjax.gluon.rnn import HybridRecurrentCell

Sizes = tuple[int, ...]


class _ConvCell(HybridRecurrentCell):
    """Two convolutions, from input and from state, to a number of gates.

    The convolution of the state keeps its size, so its kernel must be odd.
    """

    _kind: ClassVar[str]
    _gate_count: ClassVar[int]
    _state_count: ClassVar[int] = 1

    i2h_weight: Parameter

    def __init__(
        self, dims: int, input_shape: Any, hidden_channels: int, i2h_kernel: Any, h2h_kernel: Any, i2h_pad: Any,
        i2h_dilate: Any, h2h_dilate: Any, initializers: dict[str, Any], conv_layout: str, activation: Any,
        prefix: str | None, params: Any,
    ) -> None:  # fmt: skip
        super().__init__(prefix=prefix, params=params)
        self._hidden_channels = hidden_channels
        self._input_shape = tuple(input_shape)
        self._conv_layout = conv_layout
        self._activation = activation
        self._channel_axis = conv_layout.find("C")
        sizes = {
            "i2h_kernel": i2h_kernel, "i2h_pad": i2h_pad, "i2h_dilate": i2h_dilate,
            "h2h_kernel": h2h_kernel, "h2h_dilate": h2h_dilate,
        }  # fmt: skip
        full = {name: self._full(name, size, dims) for name, size in sizes.items()}
        if any(size % 2 == 0 for size in full["h2h_kernel"]):
            raise ArgumentError(f"Only support odd number, get h2h_kernel= {h2h_kernel}")
        # What Convolution gets for each of the two.
        self._input_conv = {
            "kernel": full["i2h_kernel"], "pad": full["i2h_pad"], "dilate": full["i2h_dilate"], "stride": (1,) * dims,
        }  # fmt: skip
        reach = tuple(d * (k - 1) // 2 for d, k in zip(full["h2h_dilate"], full["h2h_kernel"]))
        self._state_conv = {
            "kernel": full["h2h_kernel"], "pad": reach, "dilate": full["h2h_dilate"], "stride": (1,) * dims,
        }  # fmt: skip
        first = self._channel_axis == 1
        in_channels, *space = self._input_shape if first else (self._input_shape[-1], *self._input_shape[:-1])
        out = tuple(
            size + 2 * pad - dilate * (kernel - 1) if size else 0
            for size, pad, dilate, kernel in zip(
                space, full["i2h_pad"], full["i2h_dilate"], full["i2h_kernel"]
            )
        )
        self._state_shape = (hidden_channels, *out) if first else (*out, hidden_channels)
        width = hidden_channels * self._gate_count
        for name, channels in (("i2h", in_channels), ("h2h", hidden_channels)):
            kernel = full[f"{name}_kernel"]
            shape = (width, channels, *kernel) if first else (width, *kernel, channels)
            self._weight(f"{name}_weight", shape, initializers)
        for name in ("i2h_bias", "h2h_bias"):
            self._weight(name, (width,), initializers)

    @staticmethod
    def _full(name: str, size: Any, dims: int) -> Sizes:
        if isinstance(size, int):
            return (size,) * dims
        if len(size) != dims:
            raise ArgumentError(
                f"For {dims}D convolution, the convolution settings can only be either int or list/tuple of length "
                f"{dims}, got {name}={size}"
            )
        return tuple(size)

    def _weight(self, name: str, shape: Sizes, initializers: dict[str, Any]) -> None:
        made = self.params.get(name, shape=shape, init=initializers[name], allow_deferred_init=True)
        setattr(self, name, made)

    def _alias(self) -> str:
        return self._kind

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        shape = (batch_size, *self._state_shape)
        return [{"shape": shape, "__layout__": self._conv_layout} for _ in range(self._state_count)]

    def _both(
        self, F: Any, at: str, inputs: Any, state: Any, weights: tuple[Any, Any], biases: tuple[Any, Any]
    ) -> Any:
        """What input and state contribute to the gates."""
        width = self._hidden_channels * self._gate_count
        parts = (("i2h", inputs, self._input_conv), ("h2h", state, self._state_conv))
        return [
            F.Convolution(
                data=data, weight=weight, bias=bias, num_filter=width, layout=self._conv_layout, name=at + name, **conv
            )
            for (name, data, conv), weight, bias in zip(parts, weights, biases)
        ]  # fmt: skip

    def __repr__(self) -> str:
        shape = self.i2h_weight.shape
        channels = shape[1 if self._channel_axis == 1 else -1] or None
        return f"{type(self).__name__}({channels} -> {shape[0]}, {self._activation}, {self._conv_layout})"


class _ConvRNNCell(_ConvCell):
    _kind = "conv_rnn"
    _gate_count = 1

    def hybrid_forward(
        self, F: Any, inputs: Any, states: Any, i2h_weight: Any, h2h_weight: Any, i2h_bias: Any, h2h_bias: Any
    ) -> tuple[Any, Any]:
        at = f"t{self._counter}_"
        i2h, h2h = self._both(F, at, inputs, states[0], (i2h_weight, h2h_weight), (i2h_bias, h2h_bias))
        output = self._get_activation(F, i2h + h2h, self._activation, name=at + "out")
        return output, [output]


class _ConvLSTMCell(_ConvCell):
    _kind = "conv_lstm"
    _gate_count = 4
    _state_count = 2

    def hybrid_forward(
        self, F: Any, inputs: Any, states: Any, i2h_weight: Any, h2h_weight: Any, i2h_bias: Any, h2h_bias: Any
    ) -> tuple[Any, Any]:
        at = f"t{self._counter}_"
        i2h, h2h = self._both(F, at, inputs, states[0], (i2h_weight, h2h_weight), (i2h_bias, h2h_bias))
        gates = F.SliceChannel(i2h + h2h, num_outputs=4, axis=self._channel_axis, name=at + "slice")
        admit, keep, emit = (
            F.Activation(gates[number], act_type="sigmoid", name=at + letter)
            for number, letter in ((0, "i"), (1, "f"), (3, "o"))
        )
        candidate = self._get_activation(F, gates[2], self._activation, name=at + "c")
        memory = F.elemwise_add(keep * states[1], admit * candidate, name=at + "state")
        output = F.elemwise_mul(emit, self._get_activation(F, memory, self._activation), name=at + "out")
        return output, [output, memory]


class _ConvGRUCell(_ConvCell):
    _kind = "conv_gru"
    _gate_count = 3

    def hybrid_forward(
        self, F: Any, inputs: Any, states: Any, i2h_weight: Any, h2h_weight: Any, i2h_bias: Any, h2h_bias: Any
    ) -> tuple[Any, Any]:
        at = f"t{self._counter}_"
        both = self._both(F, at, inputs, states[0], (i2h_weight, h2h_weight), (i2h_bias, h2h_bias))
        from_input, from_state = (
            F.SliceChannel(part, num_outputs=3, axis=self._channel_axis, name=f"{at}{name}_slice")
            for name, part in zip(("i2h", "h2h"), both)
        )
        reset, update = (
            F.Activation(from_input[number] + from_state[number], act_type="sigmoid", name=f"{at}{letter}_act")
            for number, letter in enumerate("rz")
        )
        candidate = self._get_activation(
            F, from_input[2] + reset * from_state[2], self._activation, name=at + "h_act"
        )
        output = F.elemwise_add((1.0 - update) * candidate, update * states[0], name=at + "out")
        return output, [output]


DOC = """{kind} cell with {dims}-dimensional convolutions.

    Args:
        input_shape: shape of one sample of one step, in the order of ``conv_layout``; channels may be 0 (unknown).
        hidden_channels: channels of the state.
        i2h_kernel, i2h_pad, i2h_dilate: convolution of the input.
        h2h_kernel, h2h_dilate: convolution of the state; kernels are odd.
        i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer: initializers.
        conv_layout: ``'{layout}'``, or channels last.
        activation: name, layer or function.
        prefix, params: see Block.
    """


def _of(base: Any, kind: str, dims: int, layout: str) -> Any:
    """The cell class for one number of dimensions: it differs in its defaults."""
    no_pad, ones = (0,) * dims, (1,) * dims

    class Cell(base):
        def __init__(
            self, input_shape: Any, hidden_channels: int, i2h_kernel: Any, h2h_kernel: Any, i2h_pad: Any = no_pad,
            i2h_dilate: Any = ones, h2h_dilate: Any = ones, i2h_weight_initializer: Any = None,
            h2h_weight_initializer: Any = None, i2h_bias_initializer: Any = "zeros",
            h2h_bias_initializer: Any = "zeros", conv_layout: str = layout, activation: Any = "tanh",
            prefix: str | None = None, params: Any = None,
        ) -> None:  # fmt: skip
            initializers = {
                "i2h_weight": i2h_weight_initializer, "h2h_weight": h2h_weight_initializer,
                "i2h_bias": i2h_bias_initializer, "h2h_bias": h2h_bias_initializer,
            }  # fmt: skip
            super().__init__(
                dims, input_shape, hidden_channels, i2h_kernel, h2h_kernel, i2h_pad, i2h_dilate, h2h_dilate,
                initializers, conv_layout, activation, prefix, params,
            )  # fmt: skip

    Cell.__name__ = Cell.__qualname__ = f"Conv{dims}D{kind}Cell"
    Cell.__doc__ = DOC.format(kind=kind, dims=dims, layout=layout)
    return Cell


Conv1DRNNCell = _of(_ConvRNNCell, "RNN", 1, "NCW")
Conv2DRNNCell = _of(_ConvRNNCell, "RNN", 2, "NCHW")
Conv3DRNNCell = _of(_ConvRNNCell, "RNN", 3, "NCDHW")
Conv1DLSTMCell = _of(_ConvLSTMCell, "LSTM", 1, "NCW")
Conv2DLSTMCell = _of(_ConvLSTMCell, "LSTM", 2, "NCHW")
Conv3DLSTMCell = _of(_ConvLSTMCell, "LSTM", 3, "NCDHW")
Conv1DGRUCell = _of(_ConvGRUCell, "GRU", 1, "NCW")
Conv2DGRUCell = _of(_ConvGRUCell, "GRU", 2, "NCHW")
Conv3DGRUCell = _of(_ConvGRUCell, "GRU", 3, "NCDHW")

__all__ = [
    "Conv1DGRUCell", "Conv1DLSTMCell", "Conv1DRNNCell", "Conv2DGRUCell", "Conv2DLSTMCell", "Conv2DRNNCell",
    "Conv3DGRUCell", "Conv3DLSTMCell", "Conv3DRNNCell",
]  # fmt: skip
