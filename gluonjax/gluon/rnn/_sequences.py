"""Sequences as one array or as a list of steps, and what unrolling does with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gluonjax import ndarray as nd
from gluonjax import symbol as sym
from gluonjax.gluon._errors import ArgumentError
from gluonjax.ndarray import NDArray
from gluonjax.symbol import Symbol

if TYPE_CHECKING:
    from gluonjax.gluon.rnn._base_cell import RecurrentCell

TENSORS = (NDArray, Symbol)


def module_of(value: Any) -> Any:
    """The ``F`` that goes with a tensor or a list of them: nd or sym."""
    sample = value if isinstance(value, TENSORS) else value[0]
    return sym if isinstance(sample, Symbol) else nd


def _check_layout(layout: str) -> None:
    if sorted(layout) != ["C", "N", "T"] or layout[-1] != "C":
        raise ArgumentError(f"unroll: layout must be 'NTC' or 'TNC', got '{layout}'")


def to_steps(length: int | None, inputs: Any, layout: str) -> list[Any]:
    """Cut a sequence into its steps; a list of steps is checked and passed on."""
    if inputs is None:
        raise ArgumentError(
            "unroll(inputs=None) has been deprecated. Please create input variables outside unroll."
        )
    axis = layout.find("T")
    if isinstance(inputs, Symbol):
        if len(inputs.list_outputs()) != 1:
            raise ArgumentError(
                "unroll doesn't allow grouped symbol as input. Please convert to list with list(inputs) first or "
                "let unroll handle splitting."
            )
        # A symbol does not know its length, so the caller does: split refuses None.
        return as_list(sym.split(inputs, axis=axis, num_outputs=length, squeeze_axis=1))  # type: ignore[arg-type]
    if isinstance(inputs, NDArray):
        _check_layout(layout)
        found = inputs.shape[axis]
        _check_length(length, found)
        return as_list(nd.split(inputs, axis=axis, num_outputs=found, squeeze_axis=1))
    _check_length(length, len(inputs))
    return list(inputs)


def _check_length(wanted: int | None, found: int) -> None:
    if wanted is not None and wanted != found:
        raise ArgumentError(f"unroll: got a sequence of {found} steps, wanted length={wanted}")


def to_array(inputs: Any, layout: str) -> Any:
    """Join steps into one tensor; a tensor is passed on."""
    return inputs if isinstance(inputs, TENSORS) else module_of(inputs).stack(*inputs, axis=layout.find("T"))


def as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple, Symbol)) else [value]


def arrange(length: int, outputs: Any, layout: str, merge_outputs: bool | None) -> Any:
    """Give outputs the form that ``merge_outputs`` asks for: True one tensor, False steps, None as they are."""
    if merge_outputs is None:
        return outputs
    return to_array(outputs, layout) if merge_outputs else to_steps(length, outputs, layout)


def begin_of(cell: RecurrentCell, begin_state: Any, steps: Sequence[Any]) -> Any:
    """The given states, or zeros that fit the first step."""
    if begin_state is not None:
        return begin_state
    if isinstance(steps[0], Symbol):
        return cell.begin_state(func=sym.zeros, batch_size=0)
    with steps[0].context:
        return cell.begin_state(func=nd.zeros, batch_size=steps[0].shape[0])


def mask(F: Any, outputs: Any, valid_length: Any, layout: str) -> Any:
    """Set the steps beyond each sample's length to 0; the result is one tensor."""
    return F.SequenceMask(
        to_array(outputs, layout),
        sequence_length=valid_length,
        use_sequence_length=True,
        axis=layout.find("T"),
    )


def last_states(F: Any, states_by_step: Iterable[Any], valid_length: Any) -> list[Any]:
    """The states after each sample's last valid step."""
    return [
        F.SequenceLast(
            F.stack(*steps, axis=0), sequence_length=valid_length, use_sequence_length=True, axis=0
        )
        for steps in zip(*states_by_step)
    ]


def reverse(steps: Sequence[Any], length: int, valid_length: Any = None) -> list[Any]:
    """The steps backwards; with lengths, each sample's padding stays at the end."""
    if valid_length is None:
        return list(reversed(steps))
    F = module_of(steps)
    turned = F.SequenceReverse(
        F.stack(*steps, axis=0), sequence_length=valid_length, use_sequence_length=True
    )
    if length == 1 and F is nd:
        return [turned[0]]
    return as_list(F.split(turned, axis=0, num_outputs=length, squeeze_axis=True))


def dynamic_unroll(
    cell: RecurrentCell, inputs: Any, begin_state: Any, drop_inputs: float = 0, drop_outputs: float = 0,
    layout: str = "TNC", valid_length: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Unroll a cell with a loop operator, for sequences whose length is not known when the graph is built.

    Args:
        cell: the cell.
        inputs: the sequence, one tensor.
        begin_state: states to start from.
        drop_inputs, drop_outputs: dropout rates, with the same mask at every step.
        layout: ``'TNC'`` or ``'NTC'``.
        valid_length: lengths of the samples, or None.

    Returns:
        The outputs as one tensor, and the last states.
    """
    F = module_of(inputs)
    time_axis = layout.find("T")
    if drop_inputs:
        inputs = F.Dropout(inputs, p=drop_inputs, axes=(time_axis,))
    if time_axis == 1:
        inputs = F.swapaxes(inputs, 0, 1)
    states = as_list(begin_state)
    if valid_length is None:
        outputs, last = F.contrib.foreach(cell, inputs, states)
    else:
        # The loop also hands out the states of every step, so that each sample's last valid one can be picked.
        def step(x: Any, current: Any) -> tuple[Any, Any]:
            output, following = cell(x, current)
            return [output, *following], following

        found, _ = F.contrib.foreach(step, inputs, states)
        outputs, *by_step = found
        outputs = F.SequenceMask(outputs, sequence_length=valid_length, use_sequence_length=True, axis=0)
        last = [
            F.SequenceLast(one, sequence_length=valid_length, use_sequence_length=True, axis=0)
            for one in by_step
        ]
    if time_axis == 1:
        outputs = F.swapaxes(outputs, 0, 1)
    if drop_outputs:
        outputs = F.Dropout(outputs, p=drop_outputs, axes=(time_axis,))
    return outputs, last
