"""Connectionist temporal classification: the loss of unaligned label sequences."""

from __future__ import annotations

from typing import Literal

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._ops.nn.softmax import stable_log_softmax
from gluonjax._ops.opdef import Attrs, check, operator

# The logarithm of "impossible": finite, so that differences of two of them are not NaN.
IMPOSSIBLE = -1e30


def _inputs(attrs: Attrs) -> tuple[str, ...]:
    names = ["data", "label"]
    if attrs.use_data_lengths:
        names.append("data_lengths")
    if attrs.use_label_lengths:
        names.append("label_lengths")
    return tuple(names)


def _shapes(known: dict, attrs: Attrs) -> dict:
    data = known.get("data")
    return {} if not data or len(data) != 3 else {"data_lengths": (data[1],), "label_lengths": (data[1],)}


def _sum_of_powers(*terms: Array) -> Array:
    """log(exp(a) + exp(b) + ...), of terms that may all be impossible."""
    top = terms[0]
    for term in terms[1:]:
        top = lax.max(top, term)
    top = lax.stop_gradient(top)
    total = lax.exp(lax.sub(terms[0], top))
    for term in terms[1:]:
        total = lax.add(total, lax.exp(lax.sub(term, top)))
    return lax.add(lax.log(total), top)


def _label_lengths(label: Array, padding: int) -> Array:
    """The number of labels before the first padding entry."""
    real = lax.convert_element_type(lax.ne(label, jnp.int32(padding)), jnp.int32)
    return lax.reduce_sum(lax.cumprod(real, axis=1), axes=(1,))


def _check(
    data: Array, label: Array, data_lengths: Array | None, label_lengths: Array | None,
    use_data: bool, use_label: bool,
) -> None:  # fmt: skip
    check(data.ndim == 3, f"CTCLoss: The number of dimensions of data array must be 3, got {data.shape}")
    check(label.ndim == 2, f"CTCLoss: The number of dimensions of labels array must be 2, got {label.shape}")
    batch = data.shape[1]
    check(
        label.shape[0] == batch,
        f"CTCLoss: The batch size for the labels and data arrays must be the same, got data {data.shape} "
        f"(time, batch, classes) and label {label.shape} (batch, labels)",
    )
    for used, lengths, name in ((use_data, data_lengths, "data"), (use_label, label_lengths, "label")):
        check(
            not used or (lengths is not None and lengths.shape == (batch,)),
            f"CTCLoss: {name}_lengths must be a vector with one entry for each of the {batch} sequences",
        )
    check(
        data.shape[0] >= label.shape[1],
        f"CTCLoss: The max number of labels cannot exceed the maximum sequence length of the data, got "
        f"{label.shape[1]} labels and {data.shape[0]} steps",
    )


@operator(
    "CTCLoss", aliases=("ctc_loss", "_contrib_CTCLoss", "_contrib_ctc_loss"), active_inputs=_inputs,
    outputs=("output0",), dtypes="free", param_shapes=_shapes, heavy=True,
)  # fmt: skip
def ctc_loss(
    data: Array, label: Array, data_lengths: Array | None = None, label_lengths: Array | None = None, *,
    use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: Literal["first", "last"] = "first",
) -> Array:  # fmt: skip
    """Minus the log probability of a label sequence, over all its alignments with the data.

    Args:
        data: ``(time, batch, classes)`` scores before the softmax.
        label: ``(batch, labels)`` class indices; without ``label_lengths`` a sequence ends at the first 0
            (with ``blank_label="last"``: at the first -1).
        data_lengths: ``(batch,)`` steps that count.
        label_lengths: ``(batch,)`` labels that count.
        blank_label: whether class 0 or the last class is the blank.

    Returns:
        ``(batch,)`` losses; 0 where the labels do not fit into the steps.
    """
    if use_label_lengths and not use_data_lengths and label_lengths is None:
        data_lengths, label_lengths = None, data_lengths  # then the lengths of the labels are the third input
    _check(data, label, data_lengths, label_lengths, use_data_lengths, use_label_lengths)
    steps, batch, classes = data.shape
    most = label.shape[1]
    blank, padding = (0, 0) if blank_label == "first" else (classes - 1, -1)
    label = lax.convert_element_type(label, jnp.int32)
    lengths = (
        lax.convert_element_type(label_lengths, jnp.int32)  # type: ignore[arg-type]
        if use_label_lengths
        else _label_lengths(label, padding)
    )
    compute = jnp.promote_types(data.dtype, jnp.float32)
    limits = None if not use_data_lengths else lax.convert_element_type(data_lengths, jnp.int32)  # type: ignore[arg-type]
    if limits is not None:  # what is behind the end may be anything, NaN too
        counts = lax.broadcasted_iota(jnp.int32, data.shape, 0) < limits[None, :, None]
        data = lax.select(counts, data, lax.full_like(data, 0))
    scores = stable_log_softmax(lax.convert_element_type(data, compute), 2)

    # States: blank, label, blank, label, ..., blank.
    states = 2 * most + 1
    wide = lax.pad(lax.reshape(label, (batch, most, 1)), jnp.int32(blank), [(0, 0, 0), (0, 0, 0), (1, 0, 0)])
    targets = lax.pad(lax.reshape(wide, (batch, 2 * most)), jnp.int32(blank), [(0, 0, 0), (0, 1, 0)])
    targets = lax.clamp(jnp.int32(0), targets, jnp.int32(classes - 1))
    emitted = jnp.take_along_axis(
        scores, lax.broadcast_in_dim(targets, (steps, batch, states), (1, 2)), axis=2
    )
    odd = np.arange(states) % 2 == 1
    different = jnp.concatenate(
        [jnp.zeros((batch, min(2, states)), jnp.bool_), targets[:, 2:] != targets[:, :-2]], axis=1
    )
    may_skip = different & odd[None, :]
    impossible = jnp.asarray(IMPOSSIBLE, compute)

    def shifted(alpha: Array, by: int) -> Array:
        return lax.pad(alpha, impossible, [(0, 0, 0), (by, -by, 0)])

    first = jnp.full((batch, states), IMPOSSIBLE, compute)
    first = jnp.where(np.arange(states)[None, :] < 2, emitted[0], first)

    def advance(alpha: Array, now: tuple[Array, Array]) -> tuple[Array, None]:
        emission, time = now
        skip = jnp.where(may_skip, shifted(alpha, 2), impossible)
        new = lax.max(lax.add(_sum_of_powers(alpha, shifted(alpha, 1), skip), emission), impossible)
        if limits is not None:
            new = jnp.where((time < limits)[:, None], new, alpha)
        return new, None

    times = lax.iota(jnp.int32, steps)
    alpha, _ = lax.scan(advance, first, (emitted[1:], times[1:]))
    end = jnp.take_along_axis(
        alpha, jnp.stack([2 * lengths, jnp.maximum(2 * lengths - 1, 0)], axis=1), axis=1
    )
    before_end = jnp.where(lengths > 0, end[:, 1], impossible)
    loss = lax.neg(_sum_of_powers(end[:, 0], before_end))

    # As in MXNet, sequences that cannot be aligned count nothing, in the loss and in the gradient.
    repeats = jnp.sum(
        (label[:, 1:] == label[:, :-1]) & (np.arange(1, max(most, 1))[None, :] < lengths[:, None]), axis=1,
        dtype=jnp.int32,
    )  # fmt: skip
    available = jnp.full((batch,), steps, jnp.int32) if limits is None else limits
    fits = (lengths + repeats <= available) & (available > 0)
    return jnp.where(fits, loss, jnp.zeros_like(loss)).astype(data.dtype)
