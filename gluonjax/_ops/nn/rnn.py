"""The fused recurrent layers: plain, LSTM and GRU, stacked and in both directions."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._ops.nn.activation import relu
from gluonjax._ops.nn.dropout import keep_mask
from gluonjax._ops.opdef import Attrs, OperatorError, Shape, check, operator

Mode = Literal["gru", "lstm", "rnn_relu", "rnn_tanh"]
GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


@dataclass(frozen=True)
class Direction:
    """The parameters of one layer in one direction."""

    input_weight: Array
    state_weight: Array
    projection: Array | None
    input_bias: Array
    state_bias: Array

    @property
    def arrays(self) -> tuple[Array | None, ...]:
        """The parameters in the order in which they are given."""
        return (self.input_weight, self.state_weight, self.projection, self.input_bias, self.state_bias)


def parameter_count(
    mode: str, layers: int, input_size: int, state_size: int, directions: int, projection: int | None
) -> int:
    """How long the parameter vector is.

    >>> parameter_count("lstm", 2, 4, 3, 1, None)
    204
    """
    rows = GATES[mode] * state_size
    width = projection or state_size
    total = 0
    for layer in range(layers):
        inputs = input_size if layer == 0 else width * directions
        total += directions * (rows * (inputs + width + 2) + (projection * state_size if projection else 0))
    return total


def split_parameters(
    vector: Array,
    mode: str,
    layers: int,
    input_size: int,
    state_size: int,
    directions: int,
    projection: int | None,
) -> list[list[Direction]]:
    """Cut the vector into matrices: all weights by layer and direction (input, state, projection), then all biases."""
    rows = GATES[mode] * state_size
    width = projection or state_size
    shapes: list[tuple[int, ...]] = []
    for layer in range(layers):
        inputs = input_size if layer == 0 else width * directions
        for _ in range(directions):
            shapes += [(rows, inputs), (rows, width), *([(projection, state_size)] if projection else [])]
    matrices_each = 3 if projection else 2
    count = layers * directions
    shapes += [(rows,)] * (2 * count)
    # One split, whose gradient is one concatenation.
    parts = [
        lax.reshape(part, shape) for part, shape in zip(lax.split(vector, [math.prod(one) for one in shapes]), shapes)
    ]
    matrices, vectors = parts[: matrices_each * count], parts[matrices_each * count :]
    flat = []
    for number in range(count):
        own = matrices[number * matrices_each : (number + 1) * matrices_each]
        projection_weight = own[2] if projection else None
        flat.append(Direction(own[0], own[1], projection_weight, vectors[2 * number], vectors[2 * number + 1]))
    return [flat[i : i + directions] for i in range(0, len(flat), directions)]


def _inputs(attrs: Attrs) -> tuple[str, ...]:
    names = ["data", "parameters", "state"]
    if attrs.mode == "lstm":
        names.append("state_cell")
    if attrs.use_sequence_length:
        names.append("sequence_length")
    return tuple(names)


def _outputs(attrs: Attrs) -> tuple[str, ...]:
    if not attrs.state_outputs:
        return ("output",)
    return (
        ("output", "state_output", "statecell_output") if attrs.mode == "lstm" else ("output", "state_output")
    )


def _shapes(known: dict[str, Shape | None], attrs: Attrs) -> dict[str, Shape]:
    data = known.get("data")
    if data is None or len(data) != 3:
        return {}
    directions = 2 if attrs.bidirectional else 1
    count = directions * attrs.num_layers
    shapes: dict[str, Shape] = {
        "state": (count, data[1], attrs.projection_size or attrs.state_size),
        "state_cell": (count, data[1], attrs.state_size),
        "sequence_length": (data[1],),
    }
    if data[2] is not None:
        size = parameter_count(
            attrs.mode, attrs.num_layers, data[2], attrs.state_size, directions, attrs.projection_size
        )
        shapes["parameters"] = (size,)
    return shapes


def _dtypes(dtypes: dict[str, np.dtype | None], attrs: Attrs) -> dict[str, np.dtype | None]:
    known = next((d for name, d in dtypes.items() if d is not None and name != "sequence_length"), None)
    for name, dtype in dtypes.items():
        check(
            name == "sequence_length" or dtype is None or dtype == known,
            f"RNN: This layer requires uniform type. Expected '{known}' v.s. given '{dtype}' at '{name}'",
        )
    return {name: known if dtype is None else dtype for name, dtype in dtypes.items()}


Carry = tuple[Array, ...]
Cell = Callable[[Array, Carry, Array | None], Carry]
Clip = tuple[float | None, float | None, bool]


def _matmul_transposed(data: Array, weight: Array) -> Array:
    return lax.dot_general(data, weight, (((data.ndim - 1,), (1,)), ((), ())))


def _plus_row(data: Array, row: Array) -> Array:
    return lax.add(data, lax.broadcast_in_dim(row, data.shape, (data.ndim - 1,)))


def _cell(mode: str, part: Direction, clip: Clip) -> Cell:
    """One step: (projected input, state, shift of the product with the state) -> state, whose first is the output."""
    gates = GATES[mode]

    def split(data: Array) -> Sequence[Array]:
        return lax.split(data, [data.shape[-1] // gates] * gates, data.ndim - 1)

    def plain(projected: Array, state: Carry, shift: Array | None) -> Carry:
        total = lax.add(projected, _matmul_transposed(state[0], part.state_weight))
        return (relu(total) if mode == "rnn_relu" else lax.tanh(total),)

    def lstm(projected: Array, state: Carry, shift: Array | None) -> Carry:
        hidden, cell = state
        enter, forget, update, leave = split(
            lax.add(projected, _matmul_transposed(hidden, part.state_weight))
        )
        cell = lax.add(lax.mul(lax.logistic(forget), cell), lax.mul(lax.logistic(enter), lax.tanh(update)))
        low, high, drop_nan = clip
        if low is not None and high is not None:
            if drop_nan:
                cell = lax.select(lax.ne(cell, cell), lax.full_like(cell, 0), cell)
            cell = lax.clamp(jnp.asarray(low, cell.dtype), cell, jnp.asarray(high, cell.dtype))
        hidden = lax.mul(lax.logistic(leave), lax.tanh(cell))
        return (hidden if part.projection is None else _matmul_transposed(hidden, part.projection)), cell

    def gru(projected: Array, state: Carry, shift: Array | None) -> Carry:
        (hidden,) = state
        reset, keep, fresh = split(projected)
        product = _plus_row(_matmul_transposed(hidden, part.state_weight), part.state_bias)
        reset_h, keep_h, fresh_h = split(product if shift is None else lax.add(product, shift))
        reset, keep = lax.logistic(lax.add(reset, reset_h)), lax.logistic(lax.add(keep, keep_h))
        candidate = lax.tanh(lax.add(fresh, lax.mul(reset, fresh_h)))
        return (lax.add(candidate, lax.mul(keep, lax.sub(hidden, candidate))),)

    return {"lstm": lstm, "gru": gru}.get(mode, plain)


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _run_direction(
    mode: str, reverse: bool, clip: Clip, data: Array, state: Carry, weights: tuple[Any, ...],
    lengths: Array | None,
) -> tuple[Array, Carry]:  # fmt: skip
    """Scan one layer in one direction over ``(time, batch, features)``.

    Jitted, though always part of a program: layers of equal sizes, forward and backward, are then traced once.
    """
    part = Direction(*weights)
    # The products with the input do not depend on the state: one large product for all steps.
    bias = part.input_bias if mode == "gru" else lax.add(part.input_bias, part.state_bias)
    projected = _plus_row(_matmul_transposed(data, part.input_weight), bias)
    if part.projection is not None:
        return _scan(projected, None, state, part, mode, lengths, reverse, clip)[:2]
    if lengths is not None:
        lengths = lax.convert_element_type(lengths, jnp.int32)
    return _scan_with_late_weights(mode, reverse, clip, projected, state, part.state_weight, part.state_bias, lengths)


def _scan(
    projected: Array, shift: Array | None, state: Carry, part: Direction, mode: str, lengths: Array | None,
    reverse: bool, clip: Clip,
) -> tuple[Array, Carry, Array]:  # fmt: skip
    """The recurrence: outputs, final state, and the hidden state before each step.

    Args:
        projected: ``(time, batch, gates * units)``, the input's part of all gates.
        shift: added to the product with the state; None for nothing.
    """
    steps, batch = projected.shape[:2]
    cell = _cell(mode, part, clip)
    if lengths is None:

        def step(carry: Carry, now: tuple[Array, Array | None]) -> tuple[Carry, tuple[Array, Array]]:
            new = cell(now[0], carry, now[1])
            return new, (new[0], carry[0])

        final, (output, before) = lax.scan(step, state, (projected, shift), reverse=reverse)
        return output, final, before
    place = lax.broadcasted_iota(jnp.int32, (steps, batch), 0)
    inside = lax.lt(
        place, lax.broadcast_in_dim(lax.convert_element_type(lengths, jnp.int32), (steps, batch), (1,))
    )

    def masked_step(carry: Carry, now: tuple[Array, Array | None, Array]) -> tuple[Carry, tuple[Array, Array]]:
        # Past its end a sequence keeps its state and gives 0; run backwards, it so starts at its last
        # element.
        new = cell(now[0], carry, now[1])
        masks = [lax.broadcast_in_dim(now[2], entry.shape, (0,)) for entry in new]
        kept = tuple(lax.select(mask, after, before) for mask, after, before in zip(masks, new, carry))
        return kept, (lax.select(masks[0], new[0], lax.full_like(new[0], 0)), carry[0])

    final, (output, before) = lax.scan(masked_step, state, (projected, shift, inside), reverse=reverse)
    return output, final, before


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1, 2))
def _scan_with_late_weights(
    mode: str, reverse: bool, clip: Clip, projected: Array, state: Carry, weight: Array, bias: Array,
    lengths: Array | None,
) -> Any:  # fmt: skip
    """``_scan``; the gradient of the state's weight is one product over all steps, not one added up at every step."""
    part = Direction(projected, weight, None, projected, bias)
    return _scan(projected, None, state, part, mode, lengths, reverse, clip)[:2]


def _late_forward(
    mode: str, reverse: bool, clip: Clip, projected: Array, state: Carry, weight: Array, bias: Array,
    lengths: Array | None,
) -> Any:  # fmt: skip
    # Only in a GRU does the product with the state enter otherwise than the projected input: there its gradient is
    # that of a shift by zeros.
    shift = lax.full_like(projected, 0) if mode == "gru" else None

    def run(projected: Array, shift: Array | None, state: Carry) -> Any:
        part = Direction(projected, weight, None, projected, bias)
        output, final, before = _scan(projected, shift, state, part, mode, lengths, reverse, clip)
        return (output, final), before

    results, pullback, before = jax.vjp(run, projected, shift, state, has_aux=True)
    return results, (pullback, before, lengths)


def _late_backward(mode: str, reverse: bool, clip: Clip, saved: Any, heads: Any) -> Any:
    pullback, before, lengths = saved
    of_projected, of_shift, of_state = pullback(heads)
    of_product = of_projected if of_shift is None else of_shift
    every = ((0, 1), (0, 1))
    of_weight = lax.dot_general(of_product, before, (every, ((), ())))
    # Elsewhere the two biases are added before the scan.
    of_bias = lax.full(of_product.shape[2:], 0, of_product.dtype)
    if mode == "gru":
        of_bias = lax.reduce_sum(of_product, axes=(0, 1))
    nothing = None if lengths is None else np.zeros(lengths.shape, jax.dtypes.float0)
    return of_projected, of_state, of_weight, of_bias, nothing


_scan_with_late_weights.defvjp(_late_forward, _late_backward)


def _check_shapes(
    data: Array, parameters: Array, state: Array, state_cell: Array | None, sequence_length: Array | None,
    attrs: Attrs,
) -> None:  # fmt: skip
    check(
        data.ndim == 3,
        "RNN: Input data should be rank-3 tensor of dim [sequence length, batch size, input size], "
        f"got {data.shape}",
    )
    wanted = _shapes({"data": data.shape}, attrs)
    given: dict[str, Array | None] = {"parameters": parameters, "state": state}
    if attrs.mode == "lstm":
        given["state_cell"] = state_cell
    if attrs.use_sequence_length:
        given["sequence_length"] = sequence_length
    for name, array in given.items():
        if array is None:
            raise OperatorError(f"RNN: the input '{name}' is missing")
        check(
            array.shape == wanted[name],
            f"RNN: Shape inconsistent, Provided = {list(array.shape)}, inferred shape={wanted[name]} "
            f"for '{name}' of data {data.shape} (time, batch, features)",
        )


@operator(
    "RNN", aliases=("_npx_rnn",), active_inputs=_inputs, outputs=_outputs, param_shapes=_shapes, dtypes=_dtypes,
    heavy=True,
)  # fmt: skip
def rnn(
    data: Array, parameters: Array, state: Array, state_cell: Array | None = None,
    sequence_length: Array | None = None, *,
    state_size: int, num_layers: int, bidirectional: bool = False, mode: Mode, p: float = 0.0,
    state_outputs: bool = False, projection_size: int | None = None, lstm_state_clip_min: float | None = None,
    lstm_state_clip_max: float | None = None, lstm_state_clip_nan: bool = False,
    use_sequence_length: bool = False,
    train: bool, key: Array,
) -> tuple[Array, ...]:  # fmt: skip
    """Run stacked recurrent layers over a sequence.

    Args:
        data: ``(time, batch, features)``.
        parameters: all weights and biases in one vector, in the order of ``split_parameters``.
        state: ``(layers * directions, batch, state_size)``, or ``projection_size`` in place of it.
        state_cell: ``(layers * directions, batch, state_size)``, for LSTM.
        sequence_length: ``(batch,)``, with ``use_sequence_length=True``.
        p: probability of dropout between layers, in training.

    Returns:
        ``(time, batch, directions * state_size)``; with ``state_outputs`` also the final state (and cell).
    """
    if mode != "lstm" and use_sequence_length and sequence_length is None:
        state_cell, sequence_length = None, state_cell  # without a cell the lengths are the fourth input
    attrs = Attrs(
        state_size=state_size, num_layers=num_layers, bidirectional=bidirectional, mode=mode,
        projection_size=projection_size, use_sequence_length=use_sequence_length,
    )  # fmt: skip
    check(num_layers > 0 and state_size > 0, "RNN: num_layers and state_size must be positive")
    check(0 <= p <= 1, f"RNN: value {p} for Parameter p exceed bound [0,1]")
    check(p < 1, f"RNN: unsupported dropout value p={p}, should be 0 <= p < 1")
    check(
        projection_size is None or mode == "lstm",
        f"RNN: projection_size works with mode='lstm' only, got {mode!r}",
    )
    _check_shapes(data, parameters, state, state_cell, sequence_length, attrs)
    directions = 2 if bidirectional else 1
    layers = split_parameters(
        parameters, mode, num_layers, data.shape[2], state_size, directions, projection_size
    )
    clip = (lstm_state_clip_min, lstm_state_clip_max, lstm_state_clip_nan)
    starts = (state,) if state_cell is None else (state, state_cell)
    keys = jax.random.split(key, num_layers) if train and p > 0 and num_layers > 1 else None
    finals: list[Carry] = []
    for number, layer in enumerate(layers):
        if number and keys is not None:
            data = lax.mul(data, keep_mask(keys[number], data.shape, p, data))
        outputs = []
        for way, part in enumerate(layer):
            start = tuple(
                lax.index_in_dim(each, number * directions + way, 0, keepdims=False) for each in starts
            )
            output, final = _run_direction(mode, way == 1, clip, data, start, part.arrays, sequence_length)
            outputs.append(output)
            finals.append(final)
        data = outputs[0] if directions == 1 else lax.concatenate(outputs, 2)
    if not state_outputs:
        return (data,)
    stacked = [lax.concatenate([lax.expand_dims(each, (0,)) for each in entry], 0) for entry in zip(*finals)]
    return (data, *stacked)
