"""Cells made of other cells: stacked, and in both directions."""

from __future__ import annotations

from typing import Any

from gluonjax.gluon._errors import ArgumentError
from gluonjax.gluon.block import BlockForwardMissing
from gluonjax.gluon.rnn._base_cell import HybridRecurrentCell, RecurrentCell, begin_states_of, states_of
from gluonjax.gluon.rnn._sequences import arrange, begin_of, mask, module_of, reverse, to_array, to_steps


class _CellStack(RecurrentCell):
    """What the two sequential cells have in common."""

    def add(self, cell: RecurrentCell) -> None:
        """Append a cell."""
        self.register_child(cell)

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        return states_of(self._children.values(), batch_size)

    def begin_state(self, **kwargs: Any) -> list[Any]:  # type: ignore[override]
        self._check_unmodified()
        return begin_states_of(self._children.values(), **kwargs)

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, Any]:
        self._counter += 1
        return self._step(inputs, states)

    def _step(self, inputs: Any, states: Any) -> tuple[Any, Any]:
        rest = list(states)
        after: list[Any] = []
        for cell in self._children.values():
            if isinstance(cell, BidirectionalCell):
                raise ArgumentError(
                    f"{type(self).__name__} with a BidirectionalCell cannot be stepped; use unroll"
                )
            count = len(cell.state_info())
            inputs, new = cell(inputs, rest[:count])
            rest = rest[count:]
            after += new
        return inputs, after

    def unroll(
        self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC",
        merge_outputs: bool | None = None, valid_length: Any = None,
    ) -> tuple[Any, Any]:  # fmt: skip
        """Run one cell after the other over the whole sequence; see ``RecurrentCell.unroll``."""
        self.reset()
        steps = to_steps(length, inputs, layout)
        rest = list(begin_of(self, begin_state, steps))
        sequence: Any = steps
        after: list[Any] = []
        for number, cell in enumerate(self._children.values(), 1):
            count = len(cell.state_info())
            merge = merge_outputs if number == len(self._children) else None
            sequence, new = cell.unroll(
                length, inputs=sequence, begin_state=rest[:count], layout=layout, merge_outputs=merge,
                valid_length=valid_length,
            )  # fmt: skip
            rest = rest[count:]
            after += new
        return sequence, after

    def __repr__(self) -> str:
        lines = "\n".join(f"({name}): {cell}" for name, cell in self._children.items())
        return f"{type(self).__name__}(\n{lines}\n)"

    def __getitem__(self, i: int) -> Any:
        return self._children[str(i)]

    def __len__(self) -> int:
        return len(self._children)


class SequentialRNNCell(_CellStack):
    """Cells on top of each other.

    >>> from gluonjax.gluon import rnn
    >>> stack = SequentialRNNCell()
    >>> stack.add(rnn.LSTMCell(4))
    >>> stack.add(rnn.GRUCell(2))
    >>> len(stack.state_info())
    3
    """

    def hybrid_forward(self, *args: Any, **kwargs: Any) -> Any:
        raise BlockForwardMissing("SequentialRNNCell runs on arrays only; HybridSequentialRNNCell also on symbols")


class HybridSequentialRNNCell(_CellStack, HybridRecurrentCell):
    """Cells on top of each other, all hybrid."""

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> tuple[Any, Any]:
        return self(inputs, states)


class BidirectionalCell(HybridRecurrentCell):
    """Two cells over the sequence in both directions; outputs are concatenated.

    Args:
        l_cell: runs forwards.
        r_cell: runs backwards.
        output_prefix: in front of the output operators' names.
    """

    def __init__(self, l_cell: RecurrentCell, r_cell: RecurrentCell, output_prefix: str = "bi_") -> None:
        super().__init__(prefix="", params=None)
        self.register_child(l_cell, "l_cell")
        self.register_child(r_cell, "r_cell")
        self._output_prefix = output_prefix

    def __call__(self, inputs: Any, states: Any) -> Any:
        raise BlockForwardMissing("Bidirectional cannot be stepped. Please use unroll")

    def __repr__(self) -> str:
        forward, backward = self._children.values()
        return f"{type(self).__name__}(forward={forward}, backward={backward})"

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        return states_of(self._children.values(), batch_size)

    def begin_state(self, **kwargs: Any) -> list[Any]:  # type: ignore[override]
        self._check_unmodified()
        return begin_states_of(self._children.values(), **kwargs)

    def unroll(
        self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC",
        merge_outputs: bool | None = None, valid_length: Any = None,
    ) -> tuple[Any, Any]:  # fmt: skip
        """Run both cells over the sequence; see ``RecurrentCell.unroll``."""
        self.reset()
        steps = to_steps(length, inputs, layout)
        F = module_of(steps)
        states = begin_of(self, begin_state, steps)
        forward, backward = self._children.values()
        count = len(forward.state_info())
        common = {"layout": layout, "merge_outputs": merge_outputs, "valid_length": valid_length}
        turned = reverse(steps, length, valid_length)
        ahead, ahead_states = forward.unroll(length, inputs=steps, begin_state=states[:count], **common)
        common["merge_outputs"] = False
        back, back_states = backward.unroll(length, inputs=turned, begin_state=states[count:], **common)
        back = reverse(back, length, valid_length)
        after = ahead_states + back_states
        if merge_outputs or (merge_outputs is None and not isinstance(ahead, list)):
            both = F.concat(
                to_array(ahead, layout), to_array(back, layout), dim=2, name=f"{self._output_prefix}out"
            )
            return (both if valid_length is None else mask(F, both, valid_length, layout)), after
        outputs: Any = [
            F.concat(left, right, dim=1, name=f"{self._output_prefix}t{number}")
            for number, (left, right) in enumerate(zip(ahead, back))
        ]
        if valid_length is not None:
            outputs = arrange(length, mask(F, outputs, valid_length, layout), layout, merge_outputs)
        return outputs, after
