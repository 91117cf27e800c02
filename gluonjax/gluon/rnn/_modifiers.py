"""Cells that change what another cell does, and dropout as a cell."""

from __future__ import annotations

from typing import Any

from gluonjax import symbol as sym
from gluonjax.gluon._errors import ArgumentError, ArgumentTypeError
from gluonjax.gluon.block import BlockForwardMissing
from gluonjax.gluon.rnn._base_cell import HybridRecurrentCell, RecurrentCell
from gluonjax.gluon.rnn._containers import BidirectionalCell
from gluonjax.gluon.rnn._sequences import TENSORS, arrange, mask, module_of, to_array, to_steps


class DropoutCell(HybridRecurrentCell):
    """Dropout on the input; has no state.

    Args:
        rate: which part of the elements becomes 0.
        axes: axes along which all elements share their fate.
        prefix, params: see Block.
    """

    def __init__(self, rate: float, axes: Any = (), prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix, params)
        if not isinstance(rate, (int, float)):
            raise ArgumentTypeError(f"DropoutCell: rate must be a number, got {type(rate).__name__}")
        self._rate = rate
        self._axes = axes

    def _alias(self) -> str:
        return "dropout"

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rate={self._rate}, axes={self._axes})"

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        return []

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> tuple[Any, Any]:
        if self._rate > 0:
            inputs = F.Dropout(data=inputs, p=self._rate, axes=self._axes, name=f"t{self._counter}_fwd")
        return inputs, states

    def unroll(
        self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC",
        merge_outputs: bool | None = None, valid_length: Any = None,
    ) -> tuple[Any, Any]:  # fmt: skip
        """Drop from the whole sequence at once where it is one tensor; see ``RecurrentCell.unroll``."""
        self.reset()
        sequence = arrange(length, inputs, layout, merge_outputs)
        if isinstance(sequence, TENSORS):
            return self.hybrid_forward(module_of(sequence), sequence, begin_state or [])
        return super().unroll(
            length,
            sequence,
            begin_state=begin_state,
            layout=layout,
            merge_outputs=merge_outputs,
            valid_length=None,
        )


class ModifierCell(HybridRecurrentCell):
    """Base class of cells that wrap another one; the wrapped cell keeps the parameters."""

    def __init__(self, base_cell: RecurrentCell) -> None:
        if base_cell._modified:
            raise ArgumentError(
                f"Cell {base_cell.name} is already modified. One cell cannot be modified twice"
            )
        base_cell._modified = True
        super().__init__(prefix=base_cell.prefix + self._alias(), params=None)
        self.base_cell = base_cell

    @property
    def params(self) -> Any:
        return self.base_cell.params

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        return self.base_cell.state_info(batch_size)

    def begin_state(self, func: Any = sym.zeros, **kwargs: Any) -> list[Any]:  # type: ignore[override]
        self._check_unmodified()
        self.base_cell._modified = False
        try:
            return self.base_cell.begin_state(func=func, **kwargs)
        finally:
            self.base_cell._modified = True

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> tuple[Any, Any]:
        raise BlockForwardMissing(f"{type(self).__name__} defines no hybrid_forward(F, inputs, states)")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_cell})"


class ZoneoutCell(ModifierCell):
    """Lets outputs and states keep their previous values at random.

    Args:
        base_cell: the cell.
        zoneout_outputs, zoneout_states: how often.
    """

    def __init__(
        self, base_cell: RecurrentCell, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0
    ) -> None:
        if isinstance(base_cell, BidirectionalCell):
            raise ArgumentError(
                "BidirectionalCell doesn't support zoneout since it doesn't support step. Please add "
                "ZoneoutCell to "
                "the cells underneath instead."
            )
        super().__init__(base_cell)
        self.zoneout_outputs = zoneout_outputs
        self.zoneout_states = zoneout_states
        self._prev_output: Any = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p_out={self.zoneout_outputs}, p_state={self.zoneout_states}, {self.base_cell})"

    def _alias(self) -> str:
        return "zoneout"

    def reset(self) -> None:
        super().reset()
        self._prev_output = None

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> tuple[Any, Any]:
        output, new_states = self.base_cell(inputs, states)

        def blend(rate: float, new: Any, old: Any) -> Any:
            # Dropout of ones is 0 where the old value stays.
            return F.where(
                F.Dropout(F.ones_like(new), p=rate), new, F.zeros_like(new) if old is None else old
            )

        shown = (
            output if self.zoneout_outputs == 0 else blend(self.zoneout_outputs, output, self._prev_output)
        )
        if self.zoneout_states:
            new_states = [blend(self.zoneout_states, new, old) for new, old in zip(new_states, states)]
        self._prev_output = shown
        return shown, new_states


class ResidualCell(ModifierCell):
    """Adds the input to the cell's output."""

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> tuple[Any, Any]:
        output, states = self.base_cell(inputs, states)
        return F.elemwise_add(output, inputs, name=f"t{self._counter}_fwd"), states

    def unroll(
        self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC",
        merge_outputs: bool | None = None, valid_length: Any = None,
    ) -> tuple[Any, Any]:  # fmt: skip
        """Unroll the cell and add the sequence; see ``RecurrentCell.unroll``."""
        self.reset()
        self.base_cell._modified = False
        try:
            outputs, states = self.base_cell.unroll(
                length, inputs=inputs, begin_state=begin_state, layout=layout, merge_outputs=merge_outputs,
                valid_length=valid_length,
            )  # fmt: skip
        finally:
            self.base_cell._modified = True
        merged = isinstance(outputs, TENSORS)
        added = to_array(inputs, layout) if merged else to_steps(length, inputs, layout)
        F = module_of(outputs)
        if valid_length is not None:
            added = mask(F, added, valid_length, layout)
            added = added if merged else to_steps(length, added, layout)
        if merged:
            return F.elemwise_add(outputs, added), states
        return [F.elemwise_add(output, step) for output, step in zip(outputs, added)], states
