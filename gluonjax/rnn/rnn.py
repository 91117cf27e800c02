"""Checkpoints of models with cells: files hold weights gate by gate, so that fused and plain cells read them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from gluonjax import symbol as _symbol
from gluonjax.model import load_checkpoint, save_checkpoint
from gluonjax.rnn.rnn_cell import BaseRNNCell

Cells = BaseRNNCell | Sequence[BaseRNNCell]


def _listed(cells: Cells) -> Sequence[BaseRNNCell]:
    return [cells] if isinstance(cells, BaseRNNCell) else cells


def rnn_unroll(
    cell: BaseRNNCell, length: int, inputs: Any = None, begin_state: Any = None, input_prefix: str = "",
    layout: str = "NTC",
) -> tuple[Any, list[Any]]:  # fmt: skip
    """The old form of ``cell.unroll``; without inputs it makes the variables ``<input_prefix>t<step>_data``."""
    warnings.warn("rnn_unroll is deprecated. Please call cell.unroll directly.", stacklevel=2)
    if inputs is None:
        inputs = [_symbol.Variable(f"{input_prefix}t{step}_data") for step in range(length)]
    return cell.unroll(length, inputs, begin_state, layout)


def save_rnn_checkpoint(
    cells: Cells, prefix: str, epoch: int, symbol: Any, arg_params: dict[str, Any], aux_params: dict[str, Any]
) -> None:
    """``save_checkpoint`` with the weights of the cells unpacked.

    Args:
        cells: the cell or cells that the symbol was unrolled from.
        prefix: begins the file names, ``<prefix>-symbol.json`` and ``<prefix>-<epoch>.params``.
        epoch: number of the checkpoint.
        symbol, arg_params, aux_params: the model.
    """
    for cell in _listed(cells):
        arg_params = cell.unpack_weights(arg_params)
    save_checkpoint(prefix, epoch, symbol, arg_params, aux_params)


def load_rnn_checkpoint(cells: Cells, prefix: str, epoch: int) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Symbol, parameters and auxiliary states that ``save_rnn_checkpoint`` wrote, packed for the cells."""
    symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
    for cell in _listed(cells):
        arg_params = cell.pack_weights(arg_params)
    return symbol, arg_params, aux_params


def do_rnn_checkpoint(cells: Cells, prefix: str, period: int = 1) -> Callable[..., None]:
    """An ``epoch_end_callback`` that saves unpacked checkpoints.

    Args:
        cells: as for ``save_rnn_checkpoint``.
        prefix: begins the file names.
        period: epochs between two checkpoints.
    """
    every = int(max(1, period))

    def save(iter_no: int, sym: Any = None, arg: Any = None, aux: Any = None) -> None:
        done = iter_no + 1
        if done % every == 0:
            save_rnn_checkpoint(cells, prefix, done, sym, arg, aux)

    return save


__all__ = [
    "do_rnn_checkpoint", "load_checkpoint", "load_rnn_checkpoint", "rnn_unroll", "save_checkpoint",
    "save_rnn_checkpoint",
]  # fmt: skip
