"""Cells that change what another cell does, and dropout between cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gluonjax import symbol
from gluonjax.rnn._base import BaseRNNCell, CannotStep, RNNParams, arrange, require, require_number
from gluonjax.rnn._containers import BidirectionalCell
from gluonjax.symbol import Symbol


class DropoutCell(BaseRNNCell):
    """Dropout on the input; no states.

    Args:
        dropout: fraction of the values to drop.
        prefix, params: see BaseRNNCell.
    """

    def __init__(self, dropout: float, prefix: str = "dropout_", params: RNNParams | None = None) -> None:
        super().__init__(prefix, params)
        require_number(dropout, "dropout probability")
        self.dropout = dropout

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return []

    def __call__(self, inputs: Symbol, states: list[Any]) -> tuple[Symbol, list[Any]]:
        return (symbol.Dropout(data=inputs, p=self.dropout) if self.dropout > 0 else inputs), states

    def unroll(
        self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC", merge_outputs: bool | None = None
    ) -> tuple[Any, list[Any]]:
        """On one symbol over all steps in one go, else step by step; see BaseRNNCell."""
        self.reset()
        inputs = arrange(length, inputs, layout, merge_outputs)
        if isinstance(inputs, Symbol):
            return self(inputs, [])
        return super().unroll(length, inputs, begin_state, layout, merge_outputs)


class ModifierCell(BaseRNNCell):
    """Base of cells that wrap another, which from then on must not be called itself.

    Args:
        base_cell: the cell to wrap.
    """

    def __init__(self, base_cell: BaseRNNCell) -> None:
        super().__init__()
        base_cell._modified = True
        self.base_cell = base_cell

    @property
    def params(self) -> RNNParams:
        self._own_params = False
        return self.base_cell.params

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return self.base_cell.state_info

    @contextmanager
    def _base_open(self) -> Iterator[BaseRNNCell]:
        """The base cell, callable."""
        self.base_cell._modified = False
        try:
            yield self.base_cell
        finally:
            self.base_cell._modified = True

    def begin_state(  # type: ignore[override]
        self, init_sym: Callable[..., Any] = symbol.zeros, **kwargs: Any
    ) -> list[Any]:
        """The states of the base cell; see there. ``func`` is another name of ``init_sym``, as containers pass it."""
        self._refuse_if_modified()
        make = kwargs.pop("func", init_sym)
        with self._base_open() as base:
            return base.begin_state(func=make, **kwargs)

    def unpack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        return self.base_cell.unpack_weights(args)

    def pack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        return self.base_cell.pack_weights(args)

    def __call__(self, inputs: Symbol, states: list[Any]) -> tuple[Symbol, list[Any]]:
        raise CannotStep(f"{type(self).__name__} defines no step; use ZoneoutCell or ResidualCell")


def _holds_bidirectional(cell: Any) -> bool:
    return isinstance(cell, BidirectionalCell) or any(map(_holds_bidirectional, getattr(cell, "_cells", ())))


class ZoneoutCell(ModifierCell):
    """Keeps parts of the last output and states at random (Krueger et al. 2016).

    Args:
        base_cell: the cell to wrap; one that can be stepped.
        zoneout_outputs: fraction of the output that stays.
        zoneout_states: fraction of the states that stays.
    """

    def __init__(self, base_cell: BaseRNNCell, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0) -> None:
        from gluonjax.rnn._fused import FusedRNNCell  # which needs this module for ``unfuse``

        require(not isinstance(base_cell, FusedRNNCell), "FusedRNNCell doesn't support zoneout. Please unfuse first.")
        require(
            not _holds_bidirectional(base_cell),
            "BidirectionalCell doesn't support zoneout since it doesn't support step. Please add ZoneoutCell to the "
            "cells underneath instead.",
        )
        super().__init__(base_cell)
        self.zoneout_outputs = zoneout_outputs
        self.zoneout_states = zoneout_states
        self.prev_output: Symbol | None = None

    def reset(self) -> None:
        super().reset()
        self.prev_output = None

    def __call__(self, inputs: Symbol, states: list[Any]) -> tuple[Symbol, list[Any]]:
        output, after = self.base_cell(inputs, states)
        before = symbol.zeros((0, 0)) if self.prev_output is None else self.prev_output
        if self.zoneout_outputs != 0:
            output = _mix(self.zoneout_outputs, output, before)
        if self.zoneout_states != 0:
            after = [_mix(self.zoneout_states, new, old) for new, old in zip(after, states)]
        self.prev_output = output
        return output, after


def _mix(rate: float, new: Symbol, old: Symbol) -> Symbol:
    """The new values, or at that rate the old ones."""
    return symbol.where(symbol.Dropout(symbol.ones_like(new), p=rate), new, old)


class ResidualCell(ModifierCell):
    """Adds the input to the output of the base cell (Wu et al. 2016).

    Args:
        base_cell: the cell to wrap; its output has the shape of its input.
    """

    def __init__(self, base_cell: BaseRNNCell) -> None:
        super().__init__(base_cell)

    def __call__(self, inputs: Symbol, states: list[Any]) -> tuple[Symbol, list[Any]]:
        output, after = self.base_cell(inputs, states)
        return _residual(output, inputs), after

    def unroll(
        self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC", merge_outputs: bool | None = None
    ) -> tuple[Any, list[Any]]:
        """All steps of the base cell, then the additions; see BaseRNNCell."""
        self.reset()
        with self._base_open() as base:
            outputs, after = base.unroll(length, inputs, begin_state, layout, merge_outputs)
        merge = isinstance(outputs, Symbol) if merge_outputs is None else merge_outputs
        inputs = arrange(length, inputs, layout, merge)
        if merge:
            return _residual(outputs, inputs), after
        return [_residual(output, step) for output, step in zip(outputs, inputs)], after


def _residual(output: Symbol, inputs: Symbol) -> Symbol:
    return symbol.elemwise_add(output, inputs, name=f"{output.name}_plus_residual")
