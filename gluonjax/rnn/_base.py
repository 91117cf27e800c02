"""What all symbolic cells share: variables, initial states, gates as separate arrays, unrolling."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gluonjax import ndarray, symbol
from gluonjax._base.errors import ArgumentTypeError, MXNetError
from gluonjax.symbol import Symbol


class CellError(MXNetError, ValueError):
    """A cell was made or called in a way it cannot serve."""


class CannotStep(CellError, NotImplementedError):
    """The cell has no single step; only ``unroll`` works."""


def require(condition: bool, message: str) -> None:
    """Raise CellError unless the condition holds."""
    if not condition:
        raise CellError(message)


def time_axis(layout: str) -> int:
    """Where 'T' is in a layout such as 'NTC'."""
    axis = layout.find("T")
    require(axis >= 0, f"Unsupported layout {layout}: it names no time axis T; use 'NTC' or 'TNC'")
    return axis


def as_steps(length: int, inputs: Any, layout: str) -> list[Symbol]:
    """One symbol for every time step.

    Args:
        length: number of steps.
        inputs: one symbol over all steps, or the steps.
        layout: tells the time axis.
    """
    if not isinstance(inputs, Symbol):
        return _checked(length, inputs)
    require(
        len(inputs.list_outputs()) == 1,
        "unroll doesn't allow grouped symbol as input. Please convert to list with list(inputs) first or let "
        "unroll handle splitting.",
    )
    return list(symbol.split(inputs, axis=time_axis(layout), num_outputs=length, squeeze_axis=1))


def as_one(length: int | None, inputs: Any, layout: str) -> Symbol:
    """One symbol over all time steps."""
    if isinstance(inputs, Symbol):
        return inputs
    axis = time_axis(layout)
    steps = [symbol.expand_dims(step, axis=axis) for step in _checked(length, inputs)]
    return symbol.Concat(*steps, dim=axis)


def arrange(length: int, inputs: Any, layout: str, merge: bool | None) -> Any:
    """Steps, one symbol, or (``merge`` None) whatever came."""
    if merge is None:
        return inputs if isinstance(inputs, Symbol) else _checked(length, inputs)
    return as_one(length, inputs, layout) if merge else as_steps(length, inputs, layout)


def _checked(length: int | None, steps: Any) -> Any:
    require(
        steps is not None,
        "unroll(inputs=None) has been deprecated. Please create input variables outside unroll.",
    )
    require(
        length is None or len(steps) == length,
        f"unroll: got {len(steps)} input symbols for {length} steps; pass one symbol per step",
    )
    return steps


class RNNParams:
    """Variables by name; cells that hold the same container share weights.

    >>> RNNParams("a_").get("i2h_weight")
    <Symbol a_i2h_weight>

    Args:
        prefix: begins the name of every variable.
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._params: dict[str, Symbol] = {}

    def get(self, name: str, **kwargs: Any) -> Symbol:
        """The variable of that name, made with ``kwargs`` when it is first asked for."""
        full = self._prefix + name
        found = self._params.get(full)
        if found is None:
            found = self._params[full] = symbol.Variable(full, **kwargs)
        return found


class BaseRNNCell:
    """A cell: one step from input and states to output and new states.

    Args:
        prefix: begins the names of its nodes, and of its variables unless ``params`` is given.
        params: a container of variables to share.
    """

    # Cells that consist of others keep them here.
    _cells: list[Any]
    _num_hidden: int

    def __init__(self, prefix: str = "", params: RNNParams | None = None) -> None:
        self._own_params = params is None
        self._params = RNNParams(prefix) if params is None else params
        self._prefix = prefix
        self._modified = False
        self.reset()

    def reset(self) -> None:
        """Forget how many steps were made, so that names begin at ``t0`` again."""
        self._init_counter = -1
        self._counter = -1
        for cell in getattr(self, "_cells", ()):
            cell.reset()

    def _next_step(self) -> str:
        """How the names of the next step's nodes begin."""
        self._counter += 1
        return f"{self._prefix}t{self._counter}_"

    def __call__(self, inputs: Symbol, states: list[Any]) -> tuple[Symbol, list[Any]]:
        """One step.

        Args:
            inputs: (batch, features).
            states: what ``begin_state`` or the step before returned.

        Returns:
            The output and the new states.
        """
        raise CannotStep(f"{type(self).__name__} defines no step; use one of its subclasses")

    @property
    def params(self) -> RNNParams:
        """The variables. Whoever asks may share them, so they count as shared from then on."""
        self._own_params = False
        return self._params

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shape (batch 0: found by inference) and layout of every state."""
        raise CannotStep(f"{type(self).__name__} does not say which states it has; use one of its subclasses")

    @property
    def state_shape(self) -> list[Any]:
        """Shapes of the states."""
        return [info["shape"] for info in self.state_info]

    @property
    def _gate_names(self) -> Sequence[str]:
        return ()

    def _refuse_if_modified(self) -> None:
        require(
            not self._modified,
            "After applying modifier cells (e.g. DropoutCell) the base cell cannot be called directly. Call the "
            "modifier cell instead.",
        )

    def begin_state(self, func: Callable[..., Any] = symbol.zeros, **kwargs: Any) -> list[Any]:
        """The states before the first step.

        Args:
            func: makes one: ``sym.zeros``, ``sym.uniform``, or ``sym.Variable`` to feed them.
            kwargs: passed on to it.
        """
        self._refuse_if_modified()
        states = []
        for info in self.state_info:
            self._init_counter += 1
            name = f"{self._prefix}begin_state_{self._init_counter}"
            states.append(func(name=name, **{**kwargs, **(info or {})}))
        return states

    def _get_activation(self, inputs: Symbol, activation: Any, **kwargs: Any) -> Symbol:
        """Apply an activation given by name or as a function. Cells in scripts call it, so the name is MXNet's."""
        if isinstance(activation, str):
            options: dict[str, Any] = {"act_type": activation, **kwargs}
            return symbol.Activation(inputs, **options)
        return activation(inputs, **kwargs)

    # -- weights -------------------------------------------------------------------------------------------------

    def _gate_arrays(self) -> Iterable[tuple[str, list[str]]]:
        """The name of every packed array and those of its gates."""
        for source in ("i2h", "h2h"):
            for kind in ("weight", "bias"):
                packed = f"{self._prefix}{source}_{kind}"
                yield packed, [f"{self._prefix}{source}{gate}_{kind}" for gate in self._gate_names]

    def unpack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        """Values with one array for each gate, from values with all gates in one array.

        Args:
            args: arrays by name, those of other layers included.
        """
        args = dict(args)
        for packed, gates in self._gate_arrays():
            if gates:
                whole = args.pop(packed)
                rows = self._num_hidden
                for position, name in enumerate(gates):
                    args[name] = whole[position * rows : (position + 1) * rows].copy()
        return args

    def pack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        """The reverse of ``unpack_weights``."""
        args = dict(args)
        for packed, gates in self._gate_arrays():
            if gates:
                args[packed] = ndarray.concatenate([args.pop(name) for name in gates])
        return args

    # -- sequences -----------------------------------------------------------------------------------------------

    def unroll(
        self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC", merge_outputs: bool | None = None
    ) -> tuple[Any, list[Any]]:
        """All steps of a sequence.

        Args:
            length: number of steps.
            inputs: one symbol, (batch, length, ...) for layout NTC, or a list of (batch, ...).
            begin_state: states to begin with; None for ``begin_state()``.
            layout: 'NTC' or 'TNC'.
            merge_outputs: True for one symbol in that layout, False for a list, None for what is at hand.

        Returns:
            The outputs and the states after the last step.
        """
        self.reset()
        steps = as_steps(length, inputs, layout)
        states = self.begin_state() if begin_state is None else begin_state
        outputs = []
        for step in range(length):
            output, states = self(steps[step], states)
            outputs.append(output)
        return arrange(length, outputs, layout, merge_outputs), states


def require_number(value: Any, what: str) -> None:
    """Raise unless the value is a real number."""
    if not isinstance(value, (int, float)) and not hasattr(value, "__float__"):
        raise ArgumentTypeError(f"{what} must be a number, got {value!r}")
