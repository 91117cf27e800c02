"""Recurrent layers: whole sequences, several layers and both directions in one operator."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import jax

from gluonjax import ndarray as nd
from gluonjax import symbol as sym
from gluonjax.gluon._errors import ArgumentError
from gluonjax.gluon._jax_arrays import call_on_jax
from gluonjax.gluon.block import HybridBlock
from gluonjax.gluon.parameter import Parameter, tensor_types
from gluonjax.gluon.rnn import rnn_cell
from gluonjax.ndarray import NDArray

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
PARAMETER_NAME = re.compile(r"(l|r)(\d+)_(i2h|h2h|h2r)_(weight|bias)\Z")


class _RNNLayer(HybridBlock):
    """What RNN, LSTM and GRU have in common."""

    def __init__(
        self, hidden_size: int, num_layers: int, layout: str, dropout: float, bidirectional: bool, input_size: int,
        i2h_weight_initializer: Any, h2h_weight_initializer: Any, i2h_bias_initializer: Any,
        h2h_bias_initializer: Any, mode: str, projection_size: int | None, h2r_weight_initializer: Any,
        lstm_state_clip_min: float | None, lstm_state_clip_max: float | None, lstm_state_clip_nan: bool, dtype: Any,
        use_sequence_length: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        if layout not in ("TNC", "NTC"):
            raise ArgumentError(f"Invalid layout {layout}; must be one of ['TNC' or 'NTC']")
        self._hidden_size = hidden_size
        self._projection_size = projection_size or None
        self._mode, self._layout = mode, layout
        self._num_layers = num_layers
        self._dir = 2 if bidirectional else 1
        self._input_size, self._dropout = input_size, dropout
        self._i2h_weight_initializer = i2h_weight_initializer
        self._h2h_weight_initializer = h2h_weight_initializer
        self._i2h_bias_initializer = i2h_bias_initializer
        self._h2h_bias_initializer = h2h_bias_initializer
        self._h2r_weight_initializer = h2r_weight_initializer
        self._dtype, self._use_sequence_length = dtype, use_sequence_length
        self._lstm_state_clip_min, self._lstm_state_clip_max = lstm_state_clip_min, lstm_state_clip_max
        self._lstm_state_clip_nan = lstm_state_clip_nan
        self.skip_states: bool | None = None
        self._gates = GATES[mode]
        for name, shape, init in self._parameter_table(input_size):
            parameter = self.params.get(name, shape=shape, init=init, allow_deferred_init=True, dtype=dtype)
            setattr(self, name, parameter)

    def _parameter_table(self, input_size: int) -> Iterator[tuple[str, tuple[int, ...], Any]]:
        """Name, shape and initializer of every parameter, for a given width of the input."""
        width = self._gates * self._hidden_size
        state = self._projection_size or self._hidden_size
        for layer in range(self._num_layers):
            for direction in ("l", "r")[: self._dir]:
                at = f"{direction}{layer}_"
                yield at + "i2h_weight", (width, input_size), self._i2h_weight_initializer
                yield at + "h2h_weight", (width, state), self._h2h_weight_initializer
                yield at + "i2h_bias", (width,), self._i2h_bias_initializer
                yield at + "h2h_bias", (width,), self._h2h_bias_initializer
                if self._projection_size:
                    yield at + "h2r_weight", (state, self._hidden_size), self._h2r_weight_initializer
            input_size = state * self._dir

    def infer_shape(self, *args: Any) -> None:
        """Take the parameters' shapes from the width of the input."""
        for name, shape, _ in self._parameter_table(args[0].shape[2]):
            self._reg_params[name].shape = shape

    def __repr__(self) -> str:
        width = self._reg_params["l0_i2h_weight"].shape
        parts = [f"{width[1] or None} -> {width[0] // self._gates}", self._layout]
        if self._num_layers != 1:
            parts.append(f"num_layers={self._num_layers}")
        if self._dropout != 0:
            parts.append(f"dropout={self._dropout}")
        if self._dir == 2:
            parts.append("bidirectional")
        return f"{type(self).__name__}({', '.join(parts)})"

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Parameter]:
        # Files name the parameters after the cells that the layer could be unfused into.
        start = f"{prefix}." if prefix else ""
        found = {}
        for name, parameter in self._reg_params.items():
            match = PARAMETER_NAME.match(name)
            assert match is not None
            direction, layer, source, kind = match.groups()
            cell = f"{direction}_cell." if self._dir == 2 else ""
            found[f"{start}_unfused.{layer}.{cell}{source}_{kind}"] = parameter
        for name, child in self._children.items():
            found.update(child._collect_params_with_prefix(start + name))
        return found

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape, layout and dtype of every state."""
        return [self._one_state(batch_size, self._projection_size or self._hidden_size)]

    def _one_state(self, batch_size: int, width: int) -> dict[str, Any]:
        shape = (self._num_layers * self._dir, batch_size, width)
        return {"shape": shape, "__layout__": "LNC", "dtype": self._dtype}

    def begin_state(
        self, batch_size: int = 0, func: Callable[..., Any] = nd.zeros, **kwargs: Any
    ) -> list[Any]:
        """States to start from; see ``RecurrentCell.begin_state``."""
        return [
            func(name=f"{self.prefix}h0_{number}", **{**info, **kwargs})
            for number, info in enumerate(self.state_info(batch_size))
        ]

    def cast(self, dtype: Any) -> None:
        super().cast(dtype)
        self._dtype = dtype

    def _unfuse(self) -> rnn_cell.HybridSequentialRNNCell:
        """The same computation as a stack of cells that share this layer's parameters."""
        if self._projection_size:
            raise ArgumentError("_unfuse does not support projection layer yet!")
        if self._lstm_state_clip_min or self._lstm_state_clip_max:
            raise ArgumentError("_unfuse does not support state clipping yet!")
        kinds: dict[str, tuple[Any, dict[str, Any]]] = {
            "rnn_relu": (rnn_cell.RNNCell, {"activation": "relu"}),
            "rnn_tanh": (rnn_cell.RNNCell, {"activation": "tanh"}),
            "lstm": (rnn_cell.LSTMCell, {}),
            "gru": (rnn_cell.GRUCell, {}),
        }
        kind, special = kinds[self._mode]
        stack = rnn_cell.HybridSequentialRNNCell(prefix=self.prefix, params=self.params)
        width = self._input_size
        with stack.name_scope():
            for layer in range(self._num_layers):
                cells = [
                    kind(
                        self._hidden_size, prefix=f"{direction}{layer}_", input_size=width,
                        i2h_weight_initializer=self._i2h_weight_initializer,
                        h2h_weight_initializer=self._h2h_weight_initializer,
                        i2h_bias_initializer=self._i2h_bias_initializer,
                        h2h_bias_initializer=self._h2h_bias_initializer, **special,
                    )
                    for direction in ("l", "r")[: self._dir]
                ]  # fmt: skip
                stack.add(cells[0] if self._dir == 1 else rnn_cell.BidirectionalCell(*cells))
                if self._dropout > 0 and layer != self._num_layers - 1:
                    stack.add(rnn_cell.DropoutCell(self._dropout))
                width = self._hidden_size * self._dir
        return stack

    def __call__(self, inputs: Any, states: Any = None, sequence_length: Any = None, **kwargs: Any) -> Any:
        """Run over a sequence.

        Args:
            inputs: (length, batch, width), or (batch, length, width) with layout 'NTC'.
            states: states to start from; None means zeros, and then only the output is returned.
            sequence_length: (batch,) lengths, with ``use_sequence_length=True``.

        Returns:
            The output, or (output, states) where states were given.
        """
        if isinstance(inputs, jax.Array):
            return call_on_jax(self, (inputs, states, sequence_length), kwargs)
        self.skip_states = states is None
        if states is None:
            if isinstance(inputs, NDArray):
                batch = inputs.shape[self._layout.find("N")]
                states = self.begin_state(batch, ctx=inputs.context, dtype=inputs.dtype)
            else:
                states = self.begin_state(0, func=sym.zeros)
        if isinstance(states, tensor_types):
            states = [states]
        more = (sequence_length,) if self._use_sequence_length else ()
        return super().__call__(inputs, states, *more, **kwargs)

    def _find_trace(self, leaves: list[Any], form: Any, args: Any, kwargs: Any) -> Any:
        # Calls with and without states have equal arguments by now, but other results.
        return super()._find_trace(leaves, (*form, self.skip_states), args, kwargs)

    def hybrid_forward(
        self, F: Any, inputs: Any, states: Any, sequence_length: Any = None, **params: Any
    ) -> Any:
        if isinstance(inputs, NDArray):
            self._check_states(inputs, states)
        if self._layout == "NTC":
            inputs = F.swapaxes(inputs, 0, 1)
        packed = F._internal._rnn_param_concat(*self._in_operator_order(params), dim=0)
        # By name: only LSTM has an input between the state and the lengths.
        lengths = {"sequence_length": sequence_length} if self._use_sequence_length else {}
        found = F.RNN(
            inputs, packed, *states, **lengths, use_sequence_length=self._use_sequence_length,
            state_size=self._hidden_size, projection_size=self._projection_size, num_layers=self._num_layers,
            bidirectional=self._dir == 2, p=self._dropout, state_outputs=True, mode=self._mode,
            lstm_state_clip_min=self._lstm_state_clip_min, lstm_state_clip_max=self._lstm_state_clip_max,
            lstm_state_clip_nan=self._lstm_state_clip_nan,
        )  # fmt: skip
        output, *after = (found[number] for number in range(3 if self._mode == "lstm" else 2))
        if self._layout == "NTC":
            output = F.swapaxes(output, 0, 1)
        return output if self.skip_states else (output, after)

    def _in_operator_order(self, params: dict[str, Any]) -> list[Any]:
        """The parameters flat: all weights, then all biases, by layer, direction and source."""
        names = sorted(
            params,
            key=lambda name: (
                name.endswith("_bias"),
                int(name[1 : name.index("_")]),
                name[0],
                ("i2h", "h2h", "h2r").index(name.split("_")[1]),
            ),
        )
        return [params[name].reshape(-1) for name in names]

    def _check_states(self, inputs: NDArray, states: list[NDArray]) -> None:
        expected = self.state_info(inputs.shape[self._layout.find("N")])
        if len(states) != len(expected):
            raise ArgumentError(f"{self.name}: got {len(states)} recurrent states, wanted {len(expected)}")
        for state, info in zip(states, expected):
            if tuple(state.shape) != info["shape"]:
                raise ArgumentError(
                    f"Invalid recurrent state shape. Expecting {info['shape']}, got {state.shape}."
                )


class RNN(_RNNLayer):
    """Elman layers with ReLU or tanh.

    Args:
        hidden_size: width of the states.
        num_layers: layers on top of each other.
        activation: ``'relu'`` or ``'tanh'``.
        layout: ``'TNC'`` or ``'NTC'``.
        dropout: rate between layers.
        bidirectional: run in both directions and concatenate.
        i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer: initializers.
        input_size: width of the input; 0 finds out at the first forward.
        dtype: type of the parameters.
    """

    def __init__(
        self, hidden_size: int, num_layers: int = 1, activation: str = "relu", layout: str = "TNC",
        dropout: float = 0, bidirectional: bool = False, i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None, i2h_bias_initializer: Any = "zeros", h2h_bias_initializer: Any = "zeros",
        input_size: int = 0, dtype: Any = "float32", **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            hidden_size, num_layers, layout, dropout, bidirectional, input_size, i2h_weight_initializer,
            h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, f"rnn_{activation}", None, None,
            None, None, False, dtype, **kwargs,
        )  # fmt: skip


class LSTM(_RNNLayer):
    """Long short-term memory layers; arguments as for RNN, and:

    Args:
        projection_size: width that the output is projected to.
        h2r_weight_initializer: initializer of that projection.
        state_clip_min, state_clip_max, state_clip_nan: bounds of the memory.
    """

    def __init__(
        self, hidden_size: int, num_layers: int = 1, layout: str = "TNC", dropout: float = 0,
        bidirectional: bool = False, input_size: int = 0, i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None, i2h_bias_initializer: Any = "zeros", h2h_bias_initializer: Any = "zeros",
        projection_size: int | None = None, h2r_weight_initializer: Any = None, state_clip_min: float | None = None,
        state_clip_max: float | None = None, state_clip_nan: bool = False, dtype: Any = "float32", **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            hidden_size, num_layers, layout, dropout, bidirectional, input_size, i2h_weight_initializer,
            h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, "lstm", projection_size,
            h2r_weight_initializer, state_clip_min, state_clip_max, state_clip_nan, dtype, **kwargs,
        )  # fmt: skip

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        return [*super().state_info(batch_size), self._one_state(batch_size, self._hidden_size)]


class GRU(_RNNLayer):
    """Gated recurrent unit layers; arguments as for RNN."""

    def __init__(
        self, hidden_size: int, num_layers: int = 1, layout: str = "TNC", dropout: float = 0,
        bidirectional: bool = False, input_size: int = 0, i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None, i2h_bias_initializer: Any = "zeros", h2h_bias_initializer: Any = "zeros",
        dtype: Any = "float32", **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            hidden_size, num_layers, layout, dropout, bidirectional, input_size, i2h_weight_initializer,
            h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, "gru", None, None, None, None, False,
            dtype, **kwargs,
        )  # fmt: skip
