"""Operators on padded sequences: mask, last element, reverse."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

from gluonjax._base.errors import OperatorError
from gluonjax._ops.opdef import Attrs, check, operator


def _inputs(attrs: Attrs) -> tuple[str, ...]:
    return ("data", "sequence_length") if attrs.use_sequence_length else ("data",)


def _check(name: str, data: Array, length: Array | None, use_length: bool, axis: int) -> None:
    check(data.ndim >= 2, f"{name}: The data array must be of rank 2 or greater, got {data.shape}")
    check(axis in (0, 1), f"{name}: axis is {axis}, wanted 0 or 1 (the time axis)")
    if use_length:
        if length is None:
            raise OperatorError(f"{name}: use_sequence_length=True needs sequence_length, one for each sequence")
        batch = data.shape[1 - axis]
        check(
            length.shape == (batch,),
            f"{name}: Shape inconsistent, Provided = {list(length.shape)}, inferred shape=({batch},) for "
            f"sequence_length of data {data.shape} with the time on axis {axis}",
        )


def _positions(shape: tuple[int, ...], axis: int, length: Array) -> tuple[Array, Array]:
    """For each element, its place along the time axis and the length of its sequence (int32)."""
    whole = lax.convert_element_type(length, jnp.int32)
    return lax.broadcasted_iota(jnp.int32, shape, axis), lax.broadcast_in_dim(whole, shape, (1 - axis,))


@operator("SequenceMask", aliases=("_npx_sequence_mask",), active_inputs=_inputs, dtypes="free")
def sequence_mask(
    data: Array, sequence_length: Array | None = None, *,
    use_sequence_length: bool = False, value: float = 0.0, axis: int = 0,
) -> Array:  # fmt: skip
    """Set every element past the end of its sequence to a value.

    Args:
        data: ``(time, batch, ...)``, or with ``axis=1`` ``(batch, time, ...)``.
        sequence_length: ``(batch,)`` lengths, with ``use_sequence_length=True``; otherwise data is returned
            as it is.

    Returns:
        An array like ``data``.
    """
    _check("SequenceMask", data, sequence_length, use_sequence_length, axis)
    if not use_sequence_length or sequence_length is None:
        return data
    place, limit = _positions(data.shape, axis, sequence_length)
    return lax.select(lax.lt(place, limit), data, lax.full_like(data, value))


@operator("SequenceLast", active_inputs=_inputs, dtypes="free")
def sequence_last(
    data: Array, sequence_length: Array | None = None, *, use_sequence_length: bool = False, axis: int = 0
) -> Array:
    """The last element of each sequence.

    Args:
        data: ``(time, batch, ...)``, or with ``axis=1`` ``(batch, time, ...)``.
        sequence_length: ``(batch,)`` lengths (at least 1), with ``use_sequence_length=True``.

    Returns:
        ``(batch, ...)``.
    """
    _check("SequenceLast", data, sequence_length, use_sequence_length, axis)
    steps = data.shape[axis]
    if not use_sequence_length or sequence_length is None:
        check(steps > 0, f"SequenceLast: data {data.shape} has no steps (axis={axis}), so there is no last one")
        return lax.index_in_dim(data, steps - 1, axis, keepdims=False)
    last = lax.sub(lax.convert_element_type(sequence_length, jnp.int32), jnp.int32(1))
    rest = (1,) * (data.ndim - 2)
    shape = (1, last.shape[0], *rest) if axis == 0 else (last.shape[0], 1, *rest)
    return lax.squeeze(jnp.take_along_axis(data, lax.reshape(last, shape), axis=axis, mode="clip"), (axis,))


@operator("SequenceReverse", active_inputs=_inputs, dtypes="free")
def sequence_reverse(
    data: Array, sequence_length: Array | None = None, *, use_sequence_length: bool = False, axis: int = 0
) -> Array:
    """Reverse each sequence in time; what lies past its end stays in place.

    Args:
        data: ``(time, batch, ...)``.
        sequence_length: ``(batch,)`` lengths, with ``use_sequence_length=True``.

    Returns:
        An array like ``data``.
    """
    _check("SequenceReverse", data, sequence_length, use_sequence_length, axis)
    check(axis == 0, f"SequenceReverse: Current implementation expects axis to be 0, got {axis}")
    if not use_sequence_length or sequence_length is None:
        return lax.rev(data, (0,))
    shape = (*data.shape[:2], *(1,) * (data.ndim - 2))
    place, limit = _positions(shape, 0, sequence_length)
    one = lax.full_like(place, 1)
    source = lax.select(lax.lt(place, limit), lax.sub(lax.sub(limit, place), one), place)
    return jnp.take_along_axis(data, source, axis=0, mode="clip")
