"""Dropout with one mask for all steps, and the LSTM with a projection."""

from __future__ import annotations

from typing import Any

from gluonjax.gluon._errors import ArgumentError
from gluonjax.gluon.parameter import Parameter
from gluonjax.gluon.rnn import BidirectionalCell, HybridRecurrentCell, ModifierCell, RecurrentCell
from gluonjax.gluon.rnn._sequences import TENSORS, arrange, begin_of, module_of, to_array, to_steps
from gluonjax.gluon.rnn._sequences import dynamic_unroll as dynamic_unroll


class VariationalDropoutCell(ModifierCell):
    """Drops the same elements of inputs, outputs and state at every step of a sequence.

    Args:
        base_cell: the cell.
        drop_inputs, drop_states, drop_outputs: rates; only the first state is dropped from.
    """

    def __init__(
        self,
        base_cell: RecurrentCell,
        drop_inputs: float = 0.0,
        drop_states: float = 0.0,
        drop_outputs: float = 0.0,
    ) -> None:
        if drop_states and (
            isinstance(base_cell, BidirectionalCell) or getattr(base_cell, "_bidirectional", False)
        ):
            raise ArgumentError(
                f"{type(base_cell).__name__} doesn't support variational state dropout. Please add "
                "VariationalDropoutCell to the cells underneath instead."
            )
        super().__init__(base_cell)
        self.drop_inputs = drop_inputs
        self.drop_states = drop_states
        self.drop_outputs = drop_outputs
        self._forget_masks()

    def _alias(self) -> str:
        return "vardrop"

    def _forget_masks(self) -> None:
        self.drop_inputs_mask: Any = None
        self.drop_states_mask: Any = None
        self.drop_outputs_mask: Any = None

    def reset(self) -> None:
        """Draw new masks at the next step."""
        super().reset()
        self._forget_masks()

    def _masked(self, F: Any, what: str, value: Any) -> Any:
        rate, held = getattr(self, f"drop_{what}"), f"drop_{what}_mask"
        if not rate:
            return value
        if getattr(self, held) is None:
            setattr(self, held, F.Dropout(F.ones_like(value), p=rate))
        return value * getattr(self, held)

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> tuple[Any, Any]:
        first, *rest = states
        states = [self._masked(F, "states", first), *rest]
        output, following = self.base_cell(self._masked(F, "inputs", inputs), states)
        return self._masked(F, "outputs", output), following

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p_out = {self.drop_outputs}, p_state = {self.drop_states})"

    def unroll(
        self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC",
        merge_outputs: bool | None = None, valid_length: Any = None,
    ) -> tuple[Any, Any]:  # fmt: skip
        """Drop from whole sequences at once where the state is not dropped from; see ``RecurrentCell.unroll``."""
        if self.drop_states:
            return super().unroll(length, inputs, begin_state, layout, merge_outputs, valid_length=valid_length)
        self.reset()
        time_axis = layout.find("T")
        steps = to_steps(length, inputs, layout)
        F = module_of(steps)
        states = begin_of(self, begin_state, steps)
        sequence = to_array(inputs if isinstance(inputs, TENSORS) else steps, layout)
        if self.drop_inputs:
            sequence = F.Dropout(sequence, p=self.drop_inputs, axes=(time_axis,))
        self.base_cell._modified = False
        try:
            outputs, states = self.base_cell.unroll(
                length, sequence, states, layout, merge_outputs=True, valid_length=valid_length
            )
        finally:
            self.base_cell._modified = True
        if self.drop_outputs:
            outputs = F.Dropout(outputs, p=self.drop_outputs, axes=(time_axis,))
        return arrange(length, outputs, layout, merge_outputs), states


class LSTMPCell(HybridRecurrentCell):
    """LSTM whose output is projected to fewer features; gates in the order input, forget, candidate, output.

    Args:
        hidden_size: width of the memory.
        projection_size: width of the output.
        i2h_weight_initializer, h2h_weight_initializer, h2r_weight_initializer: initializers of the weights.
        i2h_bias_initializer, h2h_bias_initializer: initializers of the biases.
        input_size: width of the input; 0 finds out at the first step.
        prefix, params: see Block.
    """

    i2h_weight: Parameter

    def __init__(
        self, hidden_size: int, projection_size: int, i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None, h2r_weight_initializer: Any = None, i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros", input_size: int = 0, prefix: str | None = None, params: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(prefix=prefix, params=params)
        self._hidden_size = hidden_size
        self._input_size = input_size
        self._projection_size = projection_size
        width = 4 * hidden_size
        for name, shape, init in (
            ("i2h_weight", (width, input_size), i2h_weight_initializer),
            ("h2h_weight", (width, projection_size), h2h_weight_initializer),
            ("h2r_weight", (projection_size, hidden_size), h2r_weight_initializer),
            ("i2h_bias", (width,), i2h_bias_initializer),
            ("h2h_bias", (width,), h2h_bias_initializer),
        ):
            setattr(self, name, self.params.get(name, shape=shape, init=init, allow_deferred_init=True))

    def _alias(self) -> str:
        return "lstmp"

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        widths = (self._projection_size, self._hidden_size)
        return [{"shape": (batch_size, width), "__layout__": "NC"} for width in widths]

    def __repr__(self) -> str:
        gates, inputs = self.i2h_weight.shape
        return f"{type(self).__name__}({inputs or None} -> {gates} -> {self._projection_size})"

    def hybrid_forward(
        self, F: Any, inputs: Any, states: Any, i2h_weight: Any, h2h_weight: Any, h2r_weight: Any, i2h_bias: Any,
        h2h_bias: Any,
    ) -> tuple[Any, Any]:  # fmt: skip
        at, width = f"t{self._counter}_", 4 * self._hidden_size
        before, memory = states
        i2h = F.FullyConnected(inputs, i2h_weight, i2h_bias, num_hidden=width, name=at + "i2h")
        h2h = F.FullyConnected(before, h2h_weight, h2h_bias, num_hidden=width, name=at + "h2h")
        gates = F.SliceChannel(i2h + h2h, num_outputs=4, name=at + "slice")
        admit, keep, candidate, emit = (
            F.Activation(gates[number], act_type="tanh" if letter == "c" else "sigmoid", name=at + letter)
            for number, letter in enumerate("ifco")
        )
        memory = F.elemwise_add(keep * memory, admit * candidate, name=at + "state")
        hidden = F.elemwise_mul(emit, F.Activation(memory, act_type="tanh"), name=at + "hidden")
        output = F.FullyConnected(
            hidden, h2r_weight, num_hidden=self._projection_size, no_bias=True, name=at + "out"
        )
        return output, [output, memory]


__all__ = ["LSTMPCell", "VariationalDropoutCell"]
