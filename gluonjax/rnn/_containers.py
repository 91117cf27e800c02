"""Cells made of cells: stacks, and pairs that read a sequence both ways."""

from __future__ import annotations

from typing import Any

from gluonjax import symbol
from gluonjax.rnn._base import BaseRNNCell, CannotStep, RNNParams, as_steps, require, time_axis
from gluonjax.symbol import Symbol


class _Container(BaseRNNCell):
    """States and weights of several cells, one after the other."""

    def __init__(self, params: RNNParams | None) -> None:
        super().__init__(prefix="", params=params)
        self._override_cell_params = params is not None
        self._cells: list[Any] = []

    def _adopt(self, cells: list[Any], owner: str) -> None:
        """Add cells; their variables and those of this container become one set."""
        if self._override_cell_params:
            require(
                all(cell._own_params for cell in cells),
                f"Either specify params for {owner} or child cells, not both.",
            )
            for cell in cells:
                cell.params._params.update(self.params._params)
        for cell in cells:
            self.params._params.update(cell.params._params)
        self._cells.extend(cells)

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return [info for cell in self._cells for info in cell.state_info]

    def begin_state(self, **kwargs: Any) -> list[Any]:  # type: ignore[override]
        """The states of all cells; see BaseRNNCell."""
        self._refuse_if_modified()
        return [state for cell in self._cells for state in cell.begin_state(**kwargs)]

    def unpack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        for cell in self._cells:
            args = cell.unpack_weights(args)
        return args

    def pack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        for cell in self._cells:
            args = cell.pack_weights(args)
        return args

    def _with_states(self, states: list[Any]) -> list[tuple[Any, list[Any]]]:
        """Every cell with its part of the states."""
        pairs, start = [], 0
        for cell in self._cells:
            stop = start + len(cell.state_info)
            pairs.append((cell, states[start:stop]))
            start = stop
        return pairs


class SequentialRNNCell(_Container):
    """Cells on top of each other.

    >>> from gluonjax.rnn import LSTMCell
    >>> stack = SequentialRNNCell()
    >>> stack.add(LSTMCell(3, prefix="a_"))
    >>> len(stack.state_info)
    2

    Args:
        params: a container of variables that the added cells use.
    """

    def __init__(self, params: RNNParams | None = None) -> None:
        super().__init__(params)

    def add(self, cell: BaseRNNCell) -> None:
        """Put a cell on top."""
        self._adopt([cell], "SequentialRNNCell")

    def __call__(self, inputs: Symbol, states: list[Any]) -> tuple[Symbol, list[Any]]:
        self._counter += 1
        after: list[Any] = []
        for cell, own in self._with_states(states):
            require(not isinstance(cell, BidirectionalCell), "A BidirectionalCell in the stack cannot be stepped")
            inputs, new = cell(inputs, own)
            after.extend(new)
        return inputs, after

    def unroll(
        self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC", merge_outputs: bool | None = None
    ) -> tuple[Any, list[Any]]:
        """All steps, cell by cell; see BaseRNNCell."""
        self.reset()
        after: list[Any] = []
        states = self.begin_state() if begin_state is None else begin_state
        top = len(self._cells) - 1
        for position, (cell, own) in enumerate(self._with_states(states)):
            merge = merge_outputs if position == top else None
            inputs, new = cell.unroll(length, inputs, own, layout, merge)
            after.extend(new)
        return inputs, after


class BidirectionalCell(_Container):
    """Two cells, of which the second reads the sequence from its end; their outputs are joined.

    Args:
        l_cell: reads forwards.
        r_cell: reads backwards.
        params: a container of variables for both.
        output_prefix: begins the names of the joined outputs.
    """

    def __init__(
        self, l_cell: BaseRNNCell, r_cell: BaseRNNCell, params: RNNParams | None = None, output_prefix: str = "bi_"
    ) -> None:
        super().__init__(params)
        self._output_prefix = output_prefix
        self._adopt([l_cell, r_cell], "BidirectionalCell")

    def __call__(self, inputs: Symbol, states: list[Any]) -> tuple[Symbol, list[Any]]:
        raise CannotStep("Bidirectional cannot be stepped. Please use unroll")

    def unroll(
        self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC", merge_outputs: bool | None = None
    ) -> tuple[Any, list[Any]]:
        """All steps both ways; see BaseRNNCell. The states come as a list for each direction."""
        self.reset()
        steps = as_steps(length, inputs, layout)
        states = self.begin_state() if begin_state is None else begin_state
        results, after = [], []
        for (cell, own), order in zip(self._with_states(states), (1, -1)):
            result, new = cell.unroll(length, list(steps)[::order], own, layout, merge_outputs)
            results.append(result)
            after.append(new)
        if merge_outputs is None:
            merge_outputs = all(isinstance(result, Symbol) for result in results)
        axis = time_axis(layout)
        if merge_outputs:
            forwards, backwards = results
            backwards = symbol.reverse(backwards, axis=axis)
            return symbol.Concat(forwards, backwards, dim=2, name=f"{self._output_prefix}out"), after
        forwards, backwards = (
            list(symbol.SliceChannel(result, axis=axis, num_outputs=length, squeeze_axis=1))
            if isinstance(result, Symbol)
            else result
            for result in results
        )
        outputs = [
            symbol.Concat(one, other, dim=1, name=f"{self._output_prefix}t{step}")
            for step, (one, other) in enumerate(zip(forwards, reversed(backwards)))
        ]
        return outputs, after
