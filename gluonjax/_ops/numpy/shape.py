"""Changing the form of arrays with NumPy semantics: reshape, move, join, split, repeat, pad, pick."""

from __future__ import annotations

import itertools
import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._ops.families import broadcast_shapes
from gluonjax._ops.numpy.reduce import axes_of
from gluonjax._ops.opdef import check

INT64 = np.dtype(np.int64)


def reshape(a: Array, *, shape: tuple[int, ...]) -> Array:
    """The same elements in another shape; one length may be -1."""
    size = a.size
    unknown = [index for index, length in enumerate(shape) if length == -1]
    check(len(unknown) <= 1, f"reshape: only one length can be -1, got {shape}")
    check(all(n >= -1 for n in shape), f"reshape: negative lengths other than -1 are not allowed, got {shape}")
    if unknown:
        rest = math.prod(n for n in shape if n != -1)
        check(
            rest > 0 and size % rest == 0,
            f"reshape: Cannot reshape array of size {size} into shape {list(shape)}",
        )
        shape = tuple(size // rest if n == -1 else n for n in shape)
    check(math.prod(shape) == size, f"reshape: Cannot reshape array of size {size} into shape {list(shape)}")
    return lax.reshape(a, shape)


def transpose(a: Array, *, axes: tuple[int, ...] | None) -> Array:
    """Axes in another order; reversed by default."""
    if axes is None:
        return lax.transpose(a, tuple(range(a.ndim))[::-1])
    check(
        len(axes) == a.ndim,
        f"transpose: The number of axes does not match the dimension of the tensor. axes = {list(axes)}, "
        f"input tensor shape = {list(a.shape)}",
    )
    return lax.transpose(a, tuple(axis % a.ndim for axis in axes))


def swapaxes(a: Array, *, axis1: int, axis2: int) -> Array:
    """Two axes in each other's place."""
    for axis in (axis1, axis2):
        axes_of("swapaxes", a.ndim, axis)
    return jnp.swapaxes(a, axis1, axis2)


def moveaxis(a: Array, *, source: Any, destination: Any) -> Array:
    """Axes at other places; the rest keep their order."""
    axes_of("moveaxis", a.ndim, source)
    axes_of("moveaxis", a.ndim, destination)
    return jnp.moveaxis(a, source, destination)


def squeeze(a: Array, *, axis: Any) -> Array:
    """Without axes of length 1."""
    if axis is None:
        return lax.squeeze(a, tuple(i for i, n in enumerate(a.shape) if n == 1))
    if a.ndim == 0 and axis in (0, -1):
        return a  # as NumPy: a number has no axis 0, yet may be squeezed there
    axes = axes_of("squeeze", a.ndim, axis)
    for one in axes:
        check(
            a.shape[one] == 1,
            f"squeeze: cannot select an axis to squeeze out which has size={a.shape[one]} not equal to one",
        )
    return lax.squeeze(a, axes)


def expand_dims(a: Array, *, axis: int) -> Array:
    """With a new axis of length 1 at ``axis``."""
    check(
        -a.ndim - 1 <= axis <= a.ndim,
        f"expand_dims: axis {axis} must be in the range [{-a.ndim - 1}, {a.ndim}] for shape {list(a.shape)}",
    )
    return lax.expand_dims(a, (axis % (a.ndim + 1),))


def broadcast_to(a: Array, *, shape: tuple[int, ...]) -> Array:
    """Repeated to a shape; -2 keeps a length of the array."""
    lead = len(shape) - a.ndim
    check(lead >= 0, f"broadcast_to: shape {list(a.shape)} has more axes than {list(shape)}")
    wanted = tuple(a.shape[i - lead] if n == -2 and i >= lead else n for i, n in enumerate(shape))
    check(
        all(n in (1, m) for n, m in zip(a.shape, wanted[lead:])),
        f"broadcast_to: shape {list(a.shape)} cannot be broadcast to {list(shape)}",
    )
    return lax.broadcast_in_dim(a, wanted, tuple(range(lead, len(wanted))))


def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    """All arrays repeated to their common shape."""
    shape: tuple[int, ...] = ()
    for array in arrays:
        shape = broadcast_shapes("broadcast_arrays", shape, array.shape)
    return tuple(jnp.broadcast_to(array, shape) for array in arrays)


def _joinable(name: str, arrays: tuple[Array, ...]) -> None:
    check(bool(arrays), f"{name}: need at least one array")
    first = arrays[0].dtype
    for array in arrays[1:]:
        check(
            array.dtype == first,
            f"{name}: Type inconsistent, Provided = {array.dtype.name}, inferred type = {first.name}; cast with astype",
        )


def concatenate(*arrays: Array, axis: int | None) -> Array:
    """Joined along an axis that exists; flattened first where it is None."""
    _joinable("concatenate", arrays)
    if axis is None:
        return jnp.concatenate([array.reshape(-1) for array in arrays])
    (axis,) = axes_of("concatenate", arrays[0].ndim, axis)
    first = arrays[0].shape
    for array in arrays[1:]:
        check(
            array.ndim == len(first) and all(n == m for i, (n, m) in enumerate(zip(array.shape, first)) if i != axis),
            f"concatenate: shapes {list(first)} and {list(array.shape)} differ on another axis than {axis}",
        )
    return lax.concatenate(arrays, axis)


def stack(*arrays: Array, axis: int) -> Array:
    """Joined along a new axis."""
    _joinable("stack", arrays)
    ndim = arrays[0].ndim + 1
    check(-ndim <= axis < ndim, f"stack: axis {axis} exceeds the input dimension of {ndim}")
    for array in arrays[1:]:
        check(
            array.shape == arrays[0].shape,
            f"stack: all input arrays must have the same shape, got {list(arrays[0].shape)}, {list(array.shape)}",
        )
    return lax.concatenate([lax.expand_dims(array, (axis % ndim,)) for array in arrays], axis % ndim)


def stack_rows(*arrays: Array) -> Array:
    """Joined along the first axis; 1-D arrays are rows."""
    _joinable("vstack", arrays)
    return concatenate(*(at_least(array, ndim=2) for array in arrays), axis=0)


def stack_columns(*arrays: Array) -> Array:
    """Joined along the second axis; 1-D arrays are columns."""
    _joinable("column_stack", arrays)
    return concatenate(*(a.reshape(-1, 1) if a.ndim < 2 else a for a in arrays), axis=1)


def stack_horizontally(*arrays: Array) -> Array:
    """Joined along the second axis, or the first where arrays are 1-D."""
    _joinable("hstack", arrays)
    raised = [at_least(array, ndim=1) for array in arrays]
    return concatenate(*raised, axis=0 if raised[0].ndim == 1 else 1)


def stack_depth(*arrays: Array) -> Array:
    """Joined along the third axis."""
    _joinable("dstack", arrays)
    return concatenate(*(at_least(array, ndim=3) for array in arrays), axis=2)


def at_least(a: Array, *, ndim: int) -> Array:
    """With at least ``ndim`` axes, NumPy's way of placing the new ones."""
    return (jnp.atleast_1d, jnp.atleast_2d, jnp.atleast_3d)[ndim - 1](a)


def split(a: Array, *, indices: tuple[int, ...], axis: int) -> tuple[Array, ...]:
    """Cut along an axis before the given positions."""
    (axis,) = axes_of("split", a.ndim, axis)
    length = a.shape[axis]
    cuts = [0, *(min(max(i + length if i < 0 else i, 0), length) for i in indices), length]
    return tuple(lax.slice_in_dim(a, low, max(low, high), axis=axis) for low, high in itertools.pairwise(cuts))


def repeat(a: Array, *, repeats: int | tuple[int, ...], axis: int | None) -> Array:
    """Every element repeated."""
    if axis is not None:
        axes_of("repeat", a.ndim, axis)
    if isinstance(repeats, int):
        return jnp.repeat(a, repeats, axis=axis)
    counts = np.asarray(repeats)
    positions = np.repeat(np.arange(a.size if axis is None else a.shape[axis]), counts)
    return jnp.take(a.reshape(-1) if axis is None else a, positions, axis=0 if axis is None else axis)


def tile(a: Array, *, reps: tuple[int, ...]) -> Array:
    """The whole array repeated along its axes."""
    return jnp.tile(a, reps)


def flip(a: Array, *, axis: Any) -> Array:
    """The other way round along axes."""
    return lax.rev(a, axes_of("flip", a.ndim, axis))


def roll(a: Array, *, shift: Any, axis: Any) -> Array:
    """Shifted along axes; what leaves at one end enters at the other."""
    if axis is not None:
        axes_of("roll", a.ndim, axis)
    return jnp.roll(a, shift, axis)


def rot90(a: Array, *, k: int, axes: tuple[int, int]) -> Array:
    """Turned by k right angles in the plane of two axes."""
    check(len(axes) == 2, f"rot90: axes must have two entries, got {axes}")
    axes_of("rot90", a.ndim, tuple(axes))
    return jnp.rot90(a, k, axes)


def pad(a: Array, *, width: tuple[tuple[int, int], ...], mode: str, value: float, even: bool) -> Array:
    """With margins filled by a constant, by edge values, reflections or extremes."""
    if mode == "constant":
        return lax.pad(a, lax.full((), value, a.dtype), [(low, high, 0) for low, high in width])
    if mode in ("reflect", "symmetric"):
        return jnp.pad(a, width, mode=mode, reflect_type="even" if even else "odd")
    return jnp.pad(a, width, mode=mode)


def tril(a: Array, *, k: int) -> Array:
    """The lower triangle of the last two axes; of a 1-D array, that of a matrix of such rows."""
    return jnp.tril(jnp.broadcast_to(a, (a.shape[0], a.shape[0])) if a.ndim == 1 else a, k)


def diag(a: Array, *, k: int) -> Array:
    """The k-th diagonal of a matrix, or a matrix with that diagonal."""
    check(a.ndim in (1, 2), f"diag: wants 1-D or 2-D, got shape {list(a.shape)}")
    return jnp.diag(a, k)


def diagflat(a: Array, *, k: int) -> Array:
    """A matrix with the flattened array on its k-th diagonal."""
    return jnp.diag(a.reshape(-1), k)


def diagonal(a: Array, *, offset: int, axis1: int, axis2: int) -> Array:
    """The diagonals of two axes."""
    check(a.ndim >= 2, f"diagonal: wants at least 2-D, got shape {list(a.shape)}")
    return jnp.diagonal(a, offset, axis1, axis2)


def trace(a: Array, *, offset: int, axis1: int, axis2: int) -> Array:
    """The sum of the diagonals of two axes."""
    check(a.ndim >= 2, f"trace: wants at least 2-D, got shape {list(a.shape)}")
    return jnp.trace(a, offset, axis1, axis2, dtype=a.dtype)


def take(a: Array, indices: Array, *, axis: int | None, mode: str) -> Array:
    """Elements at positions along an axis; positions outside are clipped or wrapped round."""
    if axis is None:
        a, axis = a.reshape(-1), 0
    (axis,) = axes_of("take", a.ndim, axis)
    return jnp.take(a, indices.astype(INT64), axis=axis, mode="wrap" if mode == "wrap" else "clip")


def sort(a: Array, *, axis: int | None) -> Array:
    """In ascending order along an axis."""
    if axis is None:
        a, axis = a.reshape(-1), 0
    return jnp.sort(a, axis=axis) if a.ndim else a


def argsort(a: Array, *, axis: int | None) -> Array:
    """The int64 positions that sort the array along an axis; equal elements keep their order."""
    if axis is None or a.ndim == 0:
        a, axis = a.reshape(-1), 0
    return jnp.argsort(a, axis=axis, stable=True).astype(INT64)


def resize(a: Array, *, shape: tuple[int, ...]) -> Array:
    """The elements again and again until they fill a shape."""
    return jnp.resize(a, shape)


def select_positions(a: Array, *, positions: tuple[int, ...], axis: int) -> Array:
    """The elements at constant positions along an axis."""
    return jnp.take(a, np.asarray(positions, np.int64), axis=axis)
