"""The elementary cells: RNN, LSTM, GRU.

Node names (``t0_i2h``, ``t0_out``, ...) are those of MXNet: exported graphs carry them.
"""

from __future__ import annotations

from typing import Any, ClassVar

from gluonjax.gluon.parameter import Parameter
from gluonjax.gluon.rnn._base_cell import HybridRecurrentCell


class _GatedCell(HybridRecurrentCell):
    """Weights from input and from state to a number of gates, and the names of the step's operators."""

    _gate_count: ClassVar[int]
    _state_count: ClassVar[int] = 1
    _kind: ClassVar[str]

    i2h_weight: Parameter

    def __init__(
        self, hidden_size: int, i2h_weight_initializer: Any, h2h_weight_initializer: Any,
        i2h_bias_initializer: Any, h2h_bias_initializer: Any, input_size: int, prefix: str | None, params: Any,
    ) -> None:  # fmt: skip
        super().__init__(prefix=prefix, params=params)
        self._hidden_size = hidden_size
        self._input_size = input_size
        width = self._gate_count * hidden_size
        shapes = {
            "i2h_weight": ((width, input_size), i2h_weight_initializer),
            "h2h_weight": ((width, hidden_size), h2h_weight_initializer),
            "i2h_bias": ((width,), i2h_bias_initializer),
            "h2h_bias": ((width,), h2h_bias_initializer),
        }
        for name, (shape, init) in shapes.items():
            setattr(self, name, self.params.get(name, shape=shape, init=init, allow_deferred_init=True))

    def _alias(self) -> str:
        return self._kind

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        return [
            {"shape": (batch_size, self._hidden_size), "__layout__": "NC"} for _ in range(self._state_count)
        ]

    def _both(
        self, F: Any, at: str, inputs: Any, state: Any, i2h: tuple[Any, Any], h2h: tuple[Any, Any]
    ) -> Any:
        """What input and state contribute to the gates."""
        width = self._gate_count * self._hidden_size
        weight, bias = i2h
        from_input = F.FullyConnected(
            data=inputs, weight=weight, bias=bias, num_hidden=width, name=at + "i2h"
        )
        weight, bias = h2h
        from_state = F.FullyConnected(data=state, weight=weight, bias=bias, num_hidden=width, name=at + "h2h")
        return from_input, from_state

    def _mapping(self) -> str:
        outputs, inputs = self.i2h_weight.shape
        return f"{inputs or None} -> {outputs}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._mapping()})"


class RNNCell(_GatedCell):
    """``h' = activation(W_i x + b_i + W_h h + b_h)``.

    Args:
        hidden_size: width of the state.
        activation: name, layer or function.
        i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer: initializers.
        input_size: width of the input; 0 finds out at the first step.
        prefix, params: see Block.
    """

    _gate_count = 1
    _kind = "rnn"

    def __init__(
        self, hidden_size: int, activation: Any = "tanh", i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None, i2h_bias_initializer: Any = "zeros", h2h_bias_initializer: Any = "zeros",
        input_size: int = 0, prefix: str | None = None, params: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            hidden_size, i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer,
            input_size, prefix, params,
        )  # fmt: skip
        self._activation = activation

    def hybrid_forward(
        self, F: Any, inputs: Any, states: Any, i2h_weight: Any, h2h_weight: Any, i2h_bias: Any, h2h_bias: Any
    ) -> tuple[Any, Any]:
        at = f"t{self._counter}_"
        i2h, h2h = self._both(F, at, inputs, states[0], (i2h_weight, i2h_bias), (h2h_weight, h2h_bias))
        total = F.elemwise_add(i2h, h2h, name=at + "plus0")
        output = self._get_activation(F, total, self._activation, name=at + "out")
        return output, [output]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._mapping()}, {self._activation})"


class LSTMCell(_GatedCell):
    """Long short-term memory; gates in the order input, forget, candidate, output.

    Args:
        hidden_size: width of the two states (output, memory).
        i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer: initializers.
        input_size: width of the input; 0 finds out at the first step.
        prefix, params: see Block.
        activation: of candidate and memory.
        recurrent_activation: of the gates.
    """

    _gate_count = 4
    _state_count = 2
    _kind = "lstm"

    def __init__(
        self, hidden_size: int, i2h_weight_initializer: Any = None, h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros", h2h_bias_initializer: Any = "zeros", input_size: int = 0,
        prefix: str | None = None, params: Any = None, activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
    ) -> None:  # fmt: skip
        super().__init__(
            hidden_size, i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer,
            input_size, prefix, params,
        )  # fmt: skip
        self._activation = activation
        self._recurrent_activation = recurrent_activation

    def hybrid_forward(
        self, F: Any, inputs: Any, states: Any, i2h_weight: Any, h2h_weight: Any, i2h_bias: Any, h2h_bias: Any
    ) -> tuple[Any, Any]:
        at = f"t{self._counter}_"
        i2h, h2h = self._both(F, at, inputs, states[0], (i2h_weight, i2h_bias), (h2h_weight, h2h_bias))
        gates = F.SliceChannel(F.elemwise_add(i2h, h2h, name=at + "plus0"), num_outputs=4, name=at + "slice")
        kinds = (
            self._recurrent_activation,
            self._recurrent_activation,
            self._activation,
            self._recurrent_activation,
        )
        admit, keep, candidate, emit = (
            self._get_activation(F, gates[number], kind, name=at + letter)
            for number, (letter, kind) in enumerate(zip("ifco", kinds))
        )
        kept = F.elemwise_mul(keep, states[1], name=at + "mul0")
        admitted = F.elemwise_mul(admit, candidate, name=at + "mul1")
        memory = F.elemwise_add(kept, admitted, name=at + "state")
        shown = self._get_activation_layer(F, memory, at)
        output = F.elemwise_mul(emit, shown, name=at + "out")
        return output, [output, memory]

    def _get_activation_layer(self, F: Any, memory: Any, at: str) -> Any:
        if isinstance(self._activation, str):
            return F.Activation(memory, act_type=self._activation, name=at + "activation0")
        return self._get_activation(F, memory, self._activation, name=at + "activation0")


class GRUCell(_GatedCell):
    """Gated recurrent unit, in the form of cuDNN; gates in the order reset, update, candidate.

    Args:
        hidden_size: width of the state.
        i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer: initializers.
        input_size: width of the input; 0 finds out at the first step.
        prefix, params: see Block.
    """

    _gate_count = 3
    _kind = "gru"

    def __init__(
        self, hidden_size: int, i2h_weight_initializer: Any = None, h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros", h2h_bias_initializer: Any = "zeros", input_size: int = 0,
        prefix: str | None = None, params: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            hidden_size, i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer,
            input_size, prefix, params,
        )  # fmt: skip

    def hybrid_forward(
        self, F: Any, inputs: Any, states: Any, i2h_weight: Any, h2h_weight: Any, i2h_bias: Any, h2h_bias: Any
    ) -> tuple[Any, Any]:
        at = f"t{self._counter}_"
        before = states[0]
        i2h, h2h = self._both(F, at, inputs, before, (i2h_weight, i2h_bias), (h2h_weight, h2h_bias))
        i2h_reset, i2h_update, i2h_new = F.SliceChannel(i2h, num_outputs=3, name=at + "i2h_slice")
        h2h_reset, h2h_update, h2h_new = F.SliceChannel(h2h, num_outputs=3, name=at + "h2h_slice")
        reset = F.elemwise_add(i2h_reset, h2h_reset, name=at + "plus0")
        reset = F.Activation(reset, act_type="sigmoid", name=at + "r_act")
        update = F.elemwise_add(i2h_update, h2h_update, name=at + "plus1")
        update = F.Activation(update, act_type="sigmoid", name=at + "z_act")
        remembered = F.elemwise_mul(reset, h2h_new, name=at + "mul0")
        candidate = F.elemwise_add(i2h_new, remembered, name=at + "plus2")
        candidate = F.Activation(candidate, act_type="tanh", name=at + "h_act")
        rest = F.elemwise_sub(F.ones_like(update, name=at + "ones_like0"), update, name=at + "minus0")
        fresh = F.elemwise_mul(rest, candidate, name=at + "mul1")
        old = F.elemwise_mul(update, before, name=at + "mul20")
        output = F.elemwise_add(fresh, old, name=at + "out")
        return output, [output]
