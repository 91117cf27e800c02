"""Cells whose gates are convolutions of images."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from gluonjax import symbol
from gluonjax.rnn._base import BaseRNNCell, RNNParams, require
from gluonjax.rnn._plain import GATES, gru_step, lstm_step, rnn_step
from gluonjax.symbol import Symbol

Size = tuple[int, ...]
LEAKY = functools.partial(symbol.LeakyReLU, act_type="leaky", slope=0.2)


class BaseConvRNNCell(BaseRNNCell):
    """What convolutional cells share.

    Args:
        input_shape: shape of one step's input, with any batch size.
        num_hidden: channels of output and state.
        h2h_kernel, h2h_dilate: the convolution of the state, which keeps its size; kernel sizes are odd.
        i2h_kernel, i2h_stride, i2h_pad, i2h_dilate: the convolution of the input.
        i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer: initializers.
        activation: name or function.
        prefix, params: see BaseRNNCell.
        conv_layout: 'NCHW' or 'NHWC'.
    """

    _mode: str | None = None
    _state_count = 2

    def __init__(
        self, input_shape: Size, num_hidden: int, h2h_kernel: Size, h2h_dilate: Size, i2h_kernel: Size,
        i2h_stride: Size, i2h_pad: Size, i2h_dilate: Size, i2h_weight_initializer: Any, h2h_weight_initializer: Any,
        i2h_bias_initializer: Any, h2h_bias_initializer: Any, activation: Any, prefix: str = "",
        params: RNNParams | None = None, conv_layout: str = "NCHW",
    ) -> None:  # fmt: skip
        super().__init__(prefix=prefix, params=params)
        require(
            all(size % 2 == 1 for size in h2h_kernel[:2]),
            f"Only support odd number, get h2h_kernel= {h2h_kernel}; the state must keep its size",
        )
        self._num_hidden = num_hidden
        self._input_shape = input_shape
        self._conv_layout = conv_layout
        self._activation = activation
        self._of_input: dict[str, Any] = {
            "kernel": i2h_kernel, "stride": i2h_stride, "pad": i2h_pad, "dilate": i2h_dilate,
        }  # fmt: skip
        same = tuple(dilate * (size - 1) // 2 for size, dilate in zip(h2h_kernel, h2h_dilate))
        self._of_state: dict[str, Any] = {
            "kernel": h2h_kernel, "dilate": h2h_dilate, "pad": same, "stride": (1, 1),
        }  # fmt: skip
        self._state_shape = self._find_state_shape()
        self._iW = self.params.get("i2h_weight", init=i2h_weight_initializer)
        self._hW = self.params.get("h2h_weight", init=h2h_weight_initializer)
        self._iB = self.params.get("i2h_bias", init=i2h_bias_initializer)
        self._hB = self.params.get("h2h_bias", init=h2h_bias_initializer)

    def _find_state_shape(self) -> Size:
        """What the input's convolution makes of ``input_shape``, for any batch size."""
        options: dict[str, Any] = {"num_filter": self._num_hidden, "layout": self._conv_layout, **self._of_input}
        probe = symbol.Convolution(data=symbol.Variable("data"), **options)
        return (0, *probe.infer_shape(data=self._input_shape)[1][0][1:])

    @property
    def _gate_names(self) -> Sequence[str]:
        return GATES[self._mode] if self._mode else ()

    @property
    def _num_gates(self) -> int:
        return len(self._gate_names)

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return [{"shape": self._state_shape, "__layout__": self._conv_layout} for _ in range(self._state_count)]

    def _conv_forward(self, inputs: Symbol, states: list[Any], name: str) -> tuple[Symbol, Symbol]:
        """What input and state contribute to the gates."""
        common: dict[str, Any] = {"num_filter": self._num_hidden * self._num_gates, "layout": self._conv_layout}
        from_input = symbol.Convolution(
            data=inputs, weight=self._iW, bias=self._iB, name=f"{name}i2h", **common, **self._of_input
        )
        from_state = symbol.Convolution(
            data=states[0], weight=self._hW, bias=self._hB, name=f"{name}h2h", **common, **self._of_state
        )
        return from_input, from_state

    def _squash(self, data: Symbol, **kwargs: Any) -> Symbol:
        return self._get_activation(data, self._activation, **kwargs)


def _constructor(default: str) -> Callable[..., None]:
    """The ``__init__`` of a concrete cell whose names begin with ``default``."""

    def __init__(
        self: BaseConvRNNCell, input_shape: Size, num_hidden: int, h2h_kernel: Size = (3, 3),
        h2h_dilate: Size = (1, 1), i2h_kernel: Size = (3, 3), i2h_stride: Size = (1, 1), i2h_pad: Size = (1, 1),
        i2h_dilate: Size = (1, 1), i2h_weight_initializer: Any = None, h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros", h2h_bias_initializer: Any = "zeros", activation: Any = LEAKY,
        prefix: str = default, params: RNNParams | None = None, conv_layout: str = "NCHW",
    ) -> None:  # fmt: skip
        BaseConvRNNCell.__init__(
            self, input_shape, num_hidden, h2h_kernel, h2h_dilate, i2h_kernel, i2h_stride, i2h_pad, i2h_dilate,
            i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, activation,
            prefix, params, conv_layout,
        )  # fmt: skip

    return __init__


class ConvRNNCell(BaseConvRNNCell):
    """RNNCell on images; see BaseConvRNNCell for the arguments."""

    _mode, _state_count = "rnn_tanh", 1
    __init__ = _constructor("ConvRNN_")

    def __call__(self, inputs: Symbol, states: list[Any]) -> tuple[Symbol, list[Any]]:
        at = self._next_step()
        return rnn_step(*self._conv_forward(inputs, states, at), at, self._squash)


class ConvLSTMCell(BaseConvRNNCell):
    """LSTMCell on images (Shi et al. 2015); see BaseConvRNNCell for the arguments."""

    _mode = "lstm"
    __init__ = _constructor("ConvLSTM_")

    def __call__(self, inputs: Symbol, states: list[Any]) -> tuple[Symbol, list[Any]]:
        at = self._next_step()
        gates = self._conv_forward(inputs, states, at)
        return lstm_step(*gates, states[1], at, self._squash, axis=self._conv_layout.find("C"))


class ConvGRUCell(BaseConvRNNCell):
    """GRUCell on images; see BaseConvRNNCell for the arguments."""

    _mode, _state_count = "gru", 1
    __init__ = _constructor("ConvGRU_")

    def __call__(self, inputs: Symbol, states: list[Any]) -> tuple[Symbol, list[Any]]:
        at = self._next_step()
        return gru_step(*self._conv_forward(inputs, states, at), states[0], at, self._squash)
