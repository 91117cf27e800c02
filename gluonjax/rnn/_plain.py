"""Cells of one layer: RNN, LSTM, GRU, on matrix products or on convolutions.

The step of each kind is written once, in terms of what input and state contribute to the gates; node names are
MXNet's, since saved graphs carry them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gluonjax import initializer as init
from gluonjax import symbol
from gluonjax.rnn._base import BaseRNNCell, RNNParams
from gluonjax.symbol import Symbol

GATES: dict[str, tuple[str, ...]] = {
    "rnn_relu": ("",), "rnn_tanh": ("",), "lstm": ("_i", "_f", "_c", "_o"), "gru": ("_r", "_z", "_o"),
}  # fmt: skip

Step = tuple[Symbol, list[Symbol]]


def rnn_step(i2h: Symbol, h2h: Symbol, at: str, squash: Callable[..., Symbol]) -> Step:
    """``h' = squash(i2h + h2h)``."""
    output = squash(i2h + h2h, name=f"{at}out")
    return output, [output]


def lstm_step(i2h: Symbol, h2h: Symbol, memory: Symbol, at: str, squash: Callable[..., Symbol], **slicing: Any) -> Step:
    """``c' = f c + i g``, ``h' = o squash(c')``, with the gates i, f, g, o from slices of ``i2h + h2h``."""
    parts = symbol.SliceChannel(i2h + h2h, num_outputs=4, **slicing, name=f"{at}slice")
    write = symbol.Activation(parts[0], act_type="sigmoid", name=f"{at}i")
    keep = symbol.Activation(parts[1], act_type="sigmoid", name=f"{at}f")
    content = squash(parts[2], name=f"{at}c")
    show = symbol.Activation(parts[3], act_type="sigmoid", name=f"{at}o")
    new_memory = symbol._internal._plus(keep * memory, write * content, name=f"{at}state")
    hidden = symbol._internal._mul(show, squash(new_memory), name=f"{at}out")
    return hidden, [hidden, new_memory]


def gru_step(i2h: Symbol, h2h: Symbol, state: Symbol, at: str, squash: Callable[..., Symbol]) -> Step:
    """``h' = (1 - z) squash(i + r h) + z state``, as cuDNN defines it."""
    # Both names have the underscore twice (t0__i2h_slice); saved graphs depend on it.
    input_parts = symbol.SliceChannel(i2h, num_outputs=3, name=f"{at}_i2h_slice")
    state_parts = symbol.SliceChannel(h2h, num_outputs=3, name=f"{at}_h2h_slice")
    gates = [
        symbol.Activation(input_parts[k] + state_parts[k], act_type="sigmoid", name=f"{at}_{letter}_act")
        for k, letter in enumerate("rz")
    ]
    reset, update = gates
    candidate = squash(input_parts[2] + reset * state_parts[2], name=f"{at}_h_act")
    hidden = symbol._internal._plus((1.0 - update) * candidate, update * state, name=f"{at}out")
    return hidden, [hidden]


def tanh(data: Symbol, **kwargs: Any) -> Symbol:
    """The activation of LSTM and GRU."""
    return symbol.Activation(data, act_type="tanh", **kwargs)


class _DenseCell(BaseRNNCell):
    """A cell whose gates are matrix products."""

    _mode: str
    # What the names of the two products begin with, after the step's.
    _mark = ""
    _state_count = 1

    def __init__(
        self, num_hidden: int, prefix: str, params: RNNParams | None, i2h_bias: dict[str, Any] | None = None
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._num_hidden = num_hidden
        self._iW = self.params.get("i2h_weight")
        self._iB = self.params.get("i2h_bias", **(i2h_bias or {}))
        self._hW = self.params.get("h2h_weight")
        self._hB = self.params.get("h2h_bias")

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return [{"shape": (0, self._num_hidden), "__layout__": "NC"} for _ in range(self._state_count)]

    @property
    def _gate_names(self) -> Sequence[str]:
        return GATES[self._mode]

    def _products(self, inputs: Symbol, state: Symbol, at: str) -> tuple[Symbol, Symbol]:
        width = self._num_hidden * len(self._gate_names)
        from_input = symbol.FullyConnected(
            data=inputs, weight=self._iW, bias=self._iB, num_hidden=width, name=f"{at}{self._mark}i2h"
        )
        from_state = symbol.FullyConnected(
            data=state, weight=self._hW, bias=self._hB, num_hidden=width, name=f"{at}{self._mark}h2h"
        )
        return from_input, from_state


class RNNCell(_DenseCell):
    """The elementary cell: ``h' = activation(W x + b + R h + c)``.

    >>> outputs, states = RNNCell(3, prefix="r_").unroll(2, symbol.Variable("x"))
    >>> outputs[1]
    <Symbol r_t1_out>

    Args:
        num_hidden: size of output and state.
        activation: name or function.
        prefix, params: see BaseRNNCell.
    """

    _mode = "rnn_tanh"

    def __init__(
        self, num_hidden: int, activation: Any = "tanh", prefix: str = "rnn_", params: RNNParams | None = None
    ) -> None:
        super().__init__(num_hidden, prefix, params)
        self._activation = activation

    def __call__(self, inputs: Symbol, states: list[Any]) -> tuple[Symbol, list[Any]]:
        at = self._next_step()
        return rnn_step(*self._products(inputs, states[0], at), at, self._squash)

    def _squash(self, data: Symbol, **kwargs: Any) -> Symbol:
        return self._get_activation(data, self._activation, **kwargs)


class LSTMCell(_DenseCell):
    """Long short-term memory; the states are output and memory.

    Args:
        num_hidden: size of output and states.
        prefix, params: see BaseRNNCell.
        forget_bias: initial bias of the forget gate.
    """

    _mode = "lstm"
    _state_count = 2

    def __init__(
        self, num_hidden: int, prefix: str = "lstm_", params: RNNParams | None = None, forget_bias: float = 1.0
    ) -> None:
        super().__init__(num_hidden, prefix, params, {"init": init.LSTMBias(forget_bias=forget_bias)})

    def __call__(self, inputs: Symbol, states: list[Any]) -> tuple[Symbol, list[Any]]:
        at = self._next_step()
        return lstm_step(*self._products(inputs, states[0], at), states[1], at, tanh)


class GRUCell(_DenseCell):
    """Gated recurrent unit, in cuDNN's form.

    Args:
        num_hidden: size of output and state.
        prefix, params: see BaseRNNCell.
    """

    _mode = "gru"
    _mark = "_"

    def __init__(self, num_hidden: int, prefix: str = "gru_", params: RNNParams | None = None) -> None:
        super().__init__(num_hidden, prefix, params)

    def __call__(self, inputs: Symbol, states: list[Any]) -> tuple[Symbol, list[Any]]:
        at = self._next_step()
        return gru_step(*self._products(inputs, states[0], at), states[0], at, tanh)
