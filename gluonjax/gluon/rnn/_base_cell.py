"""What all recurrent cells have in common: states, step counters, unrolling."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from gluonjax import ndarray as nd
from gluonjax.gluon._errors import ArgumentError
from gluonjax.gluon.block import Block, BlockForwardMissing, HybridBlock
from gluonjax.gluon.nn.activations import LeakyReLU
from gluonjax.gluon.rnn._sequences import arrange, as_list, begin_of, last_states, mask, module_of, to_steps

# Activations that have an operator of their own; others go through ``Activation``.
OWN_OPERATOR = ("tanh", "relu", "sigmoid", "softsign")

USE_MODIFIER = (
    "After applying modifier cells (e.g. ZoneoutCell) the base cell cannot be called directly. "
    "Call the modifier cell instead."
)


class RecurrentCell(Block):
    """Base class of cells. Calling one does one step: ``output, states = cell(x, states)``."""

    _children: OrderedDict[str, Any]  # cells, and layers such as activations

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        # Set while a modifier cell wraps this one.
        self._modified = False
        self.reset()

    def reset(self) -> None:
        """Start counting steps anew, before another unrolling."""
        self._init_counter = -1
        self._counter = -1
        for cell in self._children.values():
            if hasattr(cell, "reset"):
                cell.reset()

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape and layout of every state."""
        raise BlockForwardMissing(f"{type(self).__name__} defines no state_info(batch_size)")

    def _check_unmodified(self) -> None:
        if self._modified:
            raise ArgumentError(USE_MODIFIER)

    def begin_state(
        self, batch_size: int = 0, func: Callable[..., Any] = nd.zeros, **kwargs: Any
    ) -> list[Any]:
        """States to start from.

        Args:
            batch_size: number of samples; symbols may leave it 0 (unknown).
            func: what makes a state: ``nd.zeros``, ``nd.ones``, ``sym.zeros``, ``sym.var``, ...
            kwargs: more arguments for it.
        """
        self._check_unmodified()
        states = []
        for info in self.state_info(batch_size):
            self._init_counter += 1
            name = f"{self._prefix}begin_state_{self._init_counter}"
            states.append(func(name=name, **{**(info or {}), **kwargs}))
        return states

    def unroll(
        self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC",
        merge_outputs: bool | None = None, valid_length: Any = None,
    ) -> tuple[Any, Any]:  # fmt: skip
        """Run the cell over a sequence.

        Args:
            length: number of steps.
            inputs: one tensor of the given layout, or a list of steps.
            begin_state: states to start from; None means zeros.
            layout: ``'NTC'`` or ``'TNC'``.
            merge_outputs: True: one tensor; False: a list of steps; None: whatever is at hand.
            valid_length: (batch,) length of each sample; outputs beyond it are 0.

        Returns:
            The outputs and the states after the last (valid) step.
        """
        self.reset()
        steps = to_steps(length, inputs, layout)
        F = module_of(steps)
        states = begin_of(self, begin_state, steps)
        outputs: Any = []
        seen = []
        for step in steps[:length]:
            output, states = self(step, states)
            outputs.append(output)
            seen.append(states)
        if valid_length is not None:
            states = last_states(F, seen, valid_length)
            outputs = mask(F, outputs, valid_length, layout)
        return arrange(length, outputs, layout, merge_outputs), states

    def _get_activation(self, F: Any, inputs: Any, activation: Any, **kwargs: Any) -> Any:
        """Apply an activation given by name, as a LeakyReLU layer, or as a function."""
        if isinstance(activation, str):
            if activation in OWN_OPERATOR:
                return getattr(F, activation)(inputs, **kwargs)
            return F.Activation(inputs, act_type=activation, **kwargs)
        if isinstance(activation, LeakyReLU):
            return F.LeakyReLU(inputs, act_type="leaky", slope=activation._alpha, **kwargs)
        return activation(inputs, **kwargs)

    def forward(self, inputs: Any, states: Any) -> tuple[Any, Any]:
        """One step."""
        self._counter += 1
        return super().forward(inputs, states)


class HybridRecurrentCell(RecurrentCell, HybridBlock):
    """A cell that also runs on symbols."""

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)


def states_of(cells: Iterable[Any], batch_size: int) -> list[dict[str, Any]]:
    """The states of several cells, one after the other."""
    return [info for cell in cells for info in cell.state_info(batch_size)]


def begin_states_of(cells: Iterable[Any], **kwargs: Any) -> list[Any]:
    return [state for cell in cells for state in cell.begin_state(**kwargs)]


__all__ = ["HybridRecurrentCell", "RecurrentCell", "as_list", "begin_states_of", "states_of"]
