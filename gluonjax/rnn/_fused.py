"""FusedRNNCell: whole stacks of layers in one RNN operator with one vector of weights."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from gluonjax import initializer as init
from gluonjax import ndarray, symbol
from gluonjax.rnn._base import BaseRNNCell, CannotStep, RNNParams, arrange, as_one, require, time_axis
from gluonjax.rnn._containers import BidirectionalCell, SequentialRNNCell
from gluonjax.rnn._modifiers import DropoutCell
from gluonjax.rnn._plain import GATES, GRUCell, LSTMCell, RNNCell
from gluonjax.symbol import Symbol


class FusedRNNCell(BaseRNNCell):
    """Layers of RNN, LSTM or GRU as one operator.

    >>> FusedRNNCell(4, num_layers=2, mode="gru").state_shape
    [(2, 0, 4)]

    Args:
        num_hidden: size of the output of a layer and direction.
        num_layers: number of layers.
        mode: 'rnn_relu', 'rnn_tanh', 'lstm' or 'gru'.
        bidirectional: run each layer both ways and join the outputs.
        dropout: rate between the layers.
        get_next_state: return the last states too.
        forget_bias: initial bias of an LSTM's forget gate.
        prefix, params: see BaseRNNCell; the prefix is the mode by default.
    """

    def __init__(
        self, num_hidden: int, num_layers: int = 1, mode: str = "lstm", bidirectional: bool = False,
        dropout: float = 0.0, get_next_state: bool = False, forget_bias: float = 1.0, prefix: str | None = None,
        params: RNNParams | None = None,
    ) -> None:  # fmt: skip
        require(mode in GATES, f"FusedRNNCell: unknown mode {mode!r}; use one of {', '.join(GATES)}")
        super().__init__(prefix=f"{mode}_" if prefix is None else prefix, params=params)
        self._num_hidden = num_hidden
        self._num_layers = num_layers
        self._mode: Any = mode
        self._bidirectional = bidirectional
        self._dropout = dropout
        self._get_next_state = get_next_state
        self._directions = ["l", "r"] if bidirectional else ["l"]
        filler = init.FusedRNN(None, num_hidden, num_layers, mode, bidirectional, forget_bias)
        self._parameter = self.params.get("parameters", init=filler)

    @property
    def state_info(self) -> list[dict[str, Any]]:
        shape = (len(self._directions) * self._num_layers, 0, self._num_hidden)
        return [{"shape": shape, "__layout__": "LNC"} for _ in range(2 if self._mode == "lstm" else 1)]

    @property
    def _gate_names(self) -> Sequence[str]:
        return GATES[self._mode]

    @property
    def _num_gates(self) -> int:
        return len(self._gate_names)

    # -- weights -------------------------------------------------------------------------------------------------

    def _parts(self, input_size: int) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Name and shape of every part of the vector in its order: all weights, then all biases."""
        hidden, ways = self._num_hidden, len(self._directions)
        for kind in ("weight", "bias"):
            for layer in range(self._num_layers):
                below = ways * hidden if layer else input_size
                for direction in self._directions:
                    for source, columns in (("i2h", below), ("h2h", hidden)):
                        for gate in self._gate_names:
                            name = f"{self._prefix}{direction}{layer}_{source}{gate}_{kind}"
                            yield name, (hidden, columns) if kind == "weight" else (hidden,)

    def _input_size(self, total: int) -> int:
        """The number of input features that makes the vector this long."""
        hidden, ways = self._num_hidden, len(self._directions)
        rows, rest = divmod(total, ways * hidden * self._num_gates)
        size = rows - (self._num_layers - 1) * (hidden + ways * hidden + 2) - hidden - 2
        require(
            rest == 0 and size > 0,
            f"Invalid parameters size for FusedRNNCell: {total} values do not fit num_hidden={hidden}, "
            f"num_layers={self._num_layers}, mode={self._mode!r}, bidirectional={self._bidirectional}",
        )
        return size

    def unpack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        args = dict(args)
        vector = args.pop(str(self._parameter.name))
        start = 0
        for name, shape in self._parts(self._input_size(vector.size)):
            stop = start + math.prod(shape)
            args[name] = vector[start:stop].reshape(shape).copy()
            start = stop
        return args

    def pack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        args = dict(args)
        first = args[f"{self._prefix}l0_i2h{self._gate_names[0]}_weight"]
        pieces = []
        for name, shape in self._parts(first.shape[1]):
            piece = args.pop(name)
            require(piece.shape == shape, f"pack_weights: {name} has shape {piece.shape}, wanted {shape}")
            pieces.append(piece.reshape((-1,)))
        args[str(self._parameter.name)] = ndarray.concatenate(pieces)
        return args

    # -- sequences -----------------------------------------------------------------------------------------------

    def __call__(self, inputs: Symbol, states: list[Any]) -> tuple[Symbol, list[Any]]:
        raise CannotStep("FusedRNNCell cannot be stepped. Please use unroll")

    def unroll(
        self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC", merge_outputs: bool | None = None
    ) -> tuple[Any, list[Any]]:
        """All steps, by one operator; see BaseRNNCell."""
        self.reset()
        axis = time_axis(layout)
        require(axis in (0, 1), f"Unsupported layout {layout}")
        data = as_one(length, inputs, layout)
        if axis == 1:
            warnings.warn("NTC layout detected. Consider using TNC for FusedRNNCell for faster speed", stacklevel=2)
            data = symbol.swapaxes(data, dim1=0, dim2=1)
        states = self.begin_state() if begin_state is None else begin_state
        names = ("state", "state_cell")[: len(self.state_info)]
        result = symbol.RNN(
            data=data, parameters=self._parameter, state_size=self._num_hidden, num_layers=self._num_layers,
            bidirectional=self._bidirectional, p=self._dropout, state_outputs=self._get_next_state, mode=self._mode,
            name=f"{self._prefix}rnn", **dict(zip(names, states)),
        )  # fmt: skip
        outputs, last = result, []
        if self._get_next_state:
            outputs, *last = (result[k] for k in range(1 + len(names)))
            for state in last:
                state._set_attr(__layout__="LNC")
        if axis == 1:
            outputs = symbol.swapaxes(outputs, dim1=0, dim2=1)
        return arrange(length, outputs, layout, merge_outputs), last

    def unfuse(self) -> SequentialRNNCell:
        """The same layers as a stack of cells, which can be stepped; its weights are the unpacked ones."""
        makers = {
            "rnn_relu": lambda prefix: RNNCell(self._num_hidden, activation="relu", prefix=prefix),
            "rnn_tanh": lambda prefix: RNNCell(self._num_hidden, activation="tanh", prefix=prefix),
            "lstm": lambda prefix: LSTMCell(self._num_hidden, prefix=prefix),
            "gru": lambda prefix: GRUCell(self._num_hidden, prefix=prefix),
        }
        stack = SequentialRNNCell()
        for layer in range(self._num_layers):
            ways = [makers[self._mode](f"{self._prefix}{way}{layer}_") for way in self._directions]
            if self._bidirectional:
                stack.add(BidirectionalCell(*ways, output_prefix=f"{self._prefix}bi_l{layer}_"))
            else:
                stack.add(ways[0])
            if self._dropout > 0 and layer + 1 < self._num_layers:
                stack.add(DropoutCell(self._dropout, prefix=f"{self._prefix}_dropout{layer}_"))
        return stack
