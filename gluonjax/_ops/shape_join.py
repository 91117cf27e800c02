"""Operators that join, split, repeat, pad and broadcast arrays."""

from __future__ import annotations

import itertools
import math
from typing import Literal

import jax.numpy as jnp
from jax import Array, lax

from gluonjax._ops.families import scalar_like
from gluonjax._ops.opdef import Attrs, check, operator
from gluonjax._ops.rules import merge_shapes
from gluonjax._ops.shape_rules import (
    Inputs,
    Outputs,
    concatenated,
    evenly_split,
    known_shape,
    normalize_axes,
    normalize_axis,
    parameters_joined,
    stacked,
)


def _numbered_outputs(count: int) -> tuple[str, ...]:
    return tuple(f"output{index}" for index in range(count))


@operator("Concat", aliases=("concat", "_sparse_concat"), variadic="num_args", unify=concatenated)
def concat(*data: Array, dim: int = 1) -> Array:
    """Join arrays along an existing axis.

    Args:
        data: arrays that agree in every other axis.
        dim: the axis.

    Returns:
        One array, as long along the axis as all inputs together.
    """
    check(len(data) > 0, "Concat: wanted at least one array, got none")
    first = data[0].shape
    check(
        -len(first) <= dim < len(first),
        f"Concat: axis {dim} exceeds the input dimension of {len(first)}; use dim={-len(first)} to "
        f"{len(first) - 1}",
    )
    axis = dim % len(first)
    for index, array in enumerate(data):
        wanted = (*first[:axis], None, *first[axis + 1 :])
        agrees = array.ndim == len(first) and all(w is None or w == s for w, s in zip(wanted, array.shape))
        check(
            agrees,
            f"Concat: Incompatible input shape: expected {list(wanted)}, got {list(array.shape)} for input "
            f"{index}; "
            f"all sizes but that of axis {axis} must agree",
        )
    return lax.concatenate(data, axis)


@operator(
    "_rnn_param_concat", aliases=("_npi_rnn_param_concat",), variadic="num_args", unify=parameters_joined,
)  # fmt: skip
def rnn_param_concat(*data: Array, dim: int = 1) -> Array:
    """Join the flat weights and biases of a recurrent layer into its one parameter vector.

    Args:
        data: the parameters, in the order that the fused operator wants.
        dim: the axis.

    Returns:
        One array, as long along the axis as all inputs together.
    """
    return concat(*data, dim=dim)


@operator("stack", variadic="num_args", unify=stacked)
def stack(*data: Array, axis: int = 0, num_args: int | None = None) -> Array:
    """Join arrays of one shape along a new axis.

    Args:
        data: arrays of one shape.
        axis: the position of the new axis.
        num_args: the number of arrays, filled in from the call.

    Returns:
        An array with one dimension more.
    """
    check(len(data) > 0, "stack: wanted at least one array, got none")
    shape = data[0].shape
    for index, array in enumerate(data):
        check(
            array.shape == shape,
            f"stack: all inputs need one shape, got {shape} and {array.shape} (input {index})",
        )
    position = normalize_axis(axis, len(shape) + 1, "stack")
    expanded = (*shape[:position], 1, *shape[position:])
    return lax.concatenate([lax.reshape(array, expanded) for array in data], position)


def _take_parts(name: str, data: Array, axis: int, edges: list[int], squeeze_axis: bool) -> tuple[Array, ...]:
    """The pieces of ``data`` between consecutive edges."""
    sizes = [stop - start for start, stop in itertools.pairwise(edges)]
    if edges[0] == 0 and edges[-1] == data.shape[axis] and min(sizes) >= 0:
        # The gradient of a split is one concatenation, that of slices a sum of padded arrays.
        pieces = lax.split(data, sizes, axis)
    else:
        pieces = [lax.slice_in_dim(data, start, stop, axis=axis) for start, stop in itertools.pairwise(edges)]
    parts = []
    for start, stop, part in zip(edges, edges[1:], pieces):
        if squeeze_axis:
            check(
                stop - start == 1,
                f"{name}: squeeze_axis needs pieces of size 1, got {stop - start} on axis {axis}",
            )
            part = lax.squeeze(part, (axis,))
        parts.append(part)
    return tuple(parts)


@operator(
    "SliceChannel",
    aliases=("split",),
    outputs=lambda attrs: _numbered_outputs(attrs.num_outputs),
    unify=evenly_split,
)
def slice_channel(
    data: Array, *, num_outputs: int, axis: int = 1, squeeze_axis: bool = False
) -> tuple[Array, ...]:
    """Cut an array into pieces of one size along an axis.

    Args:
        data: array of any shape.
        num_outputs: the number of pieces.
        axis: the axis.
        squeeze_axis: drop the axis; the pieces must have size one along it.

    Returns:
        The pieces.
    """
    check(num_outputs > 0, f"SliceChannel: num_outputs must be positive, got {num_outputs}")
    position = normalize_axis(axis, data.ndim, "SliceChannel")
    size = data.shape[position]
    check(
        not squeeze_axis or size == num_outputs,
        "SliceChannel: If squeeze axis is True, the size of the sliced axis must be the same as "
        "num_outputs. "
        f"Input shape={list(data.shape)}, axis={position}, num_outputs={num_outputs}.",
    )
    check(
        size % num_outputs == 0,
        f"SliceChannel: You are trying to split the {position}-th axis of input tensor with shape "
        f"{list(data.shape)} into num_outputs={num_outputs} evenly sized chunks, but this is not possible "
        "because "
        f"{num_outputs} does not evenly divide {size}",
    )
    step = size // num_outputs
    edges = [step * index for index in range(num_outputs + 1)]
    return _take_parts("SliceChannel", data, position, edges, squeeze_axis)


def _split_v2_outputs(attrs: Attrs) -> tuple[str, ...]:
    return _numbered_outputs(attrs.sections if attrs.sections > 0 else len(attrs.indices))


@operator("_split_v2", aliases=("_npi_split",), outputs=_split_v2_outputs)
def split_v2(
    data: Array, *, indices: tuple[int, ...], axis: int = 1, squeeze_axis: bool = False, sections: int = 0
) -> tuple[Array, ...]:
    """Cut an array at given positions, or into a number of nearly equal sections.

    Args:
        data: array of any shape.
        indices: where each piece begins; the first entry is 0.
        axis: the axis.
        squeeze_axis: drop the axis; the pieces must have size one along it.
        sections: where positive, the number of sections; the first ones are longer by one where they must be.

    Returns:
        The pieces.
    """
    position = normalize_axis(axis, data.ndim, "split_v2")
    size = data.shape[position]
    if sections > 0:
        base, longer = divmod(size, sections)
        edges = [base * index + min(index, longer) for index in range(sections + 1)]
    else:
        check(
            len(indices) > 0 and indices[0] == 0,
            f"split_v2: the first piece must begin at 0, got indices={indices}; write (0, ...)",
        )
        edges = [*indices, size]
        for index, (start, stop) in enumerate(itertools.pairwise(edges)):
            check(
                start <= stop <= size,
                f"split_v2: start {start} is not less than end {stop} for subarray {index}, or the end "
                "exceeds the "
                f"size {size} of axis {position}",
            )
    return _take_parts("split_v2", data, position, edges, squeeze_axis)


@operator("tile", aliases=("_npi_tile",))
def tile(data: Array, *, reps: tuple[int, ...]) -> Array:
    """Repeat the whole array side by side.

    Args:
        data: array of any shape.
        reps: how often along each axis; the shorter of shape and reps is padded with ones in front.

    Returns:
        The tiled array.
    """
    check(all(count >= 0 for count in reps), f"tile: reps cannot be negative, got {reps}")
    ndim = max(data.ndim, len(reps))
    shape = (1,) * (ndim - data.ndim) + data.shape
    counts = (1,) * (ndim - len(reps)) + tuple(reps)
    pairs = [size for pair in zip(counts, shape) for size in pair]
    spread = lax.broadcast_in_dim(lax.reshape(data, shape), pairs, range(1, 2 * ndim, 2))
    return lax.reshape(spread, [count * size for count, size in zip(counts, shape)])


@operator("repeat", aliases=("_np_repeat",))
def repeat(data: Array, *, repeats: int, axis: int | None = None) -> Array:
    """Repeat every element next to itself.

    Args:
        data: array of any shape.
        repeats: how often.
        axis: the axis; the array is flattened first where it is not given.

    Returns:
        The array, ``repeats`` times as long along the axis. Repeating 0 times gives the empty vector, as in
        MXNet.
    """
    check(repeats >= 0, f"repeat: repeats cannot be a negative number, got {repeats}")
    if axis is None:
        data, axis = lax.reshape(data, (data.size,)), 0
    position = normalize_axis(axis, data.ndim, "repeat")
    if repeats == 0:
        return lax.full((0,), 0, data.dtype)
    before, after = data.shape[: position + 1], data.shape[position + 1 :]
    kept = [index for index in range(data.ndim + 1) if index != position + 1]
    spread = lax.broadcast_in_dim(data, (*before, repeats, *after), kept)
    return lax.reshape(spread, (*before[:-1], before[-1] * repeats, *after))


@operator("Pad", aliases=("pad",))
def pad(
    data: Array,
    *,
    mode: Literal["constant", "edge", "reflect"],
    pad_width: tuple[int, ...],
    constant_value: float = 0.0,
) -> Array:
    """Put a border around the spatial axes.

    Args:
        data: ``(n, c, h, w)`` or ``(n, c, d, h, w)``.
        mode: fill with a constant, with the value at the edge, or with the mirror image without the edge.
        pad_width: before and after for each axis; the first four numbers are zero, negative ones cut off.
        constant_value: the constant.

    Returns:
        The larger array.
    """
    check(
        data.ndim in (4, 5), f"Pad: Current implementation only supports 4-D or 5-D input, got {data.shape}"
    )
    check(
        len(pad_width) == 2 * data.ndim,
        f"Pad: Input shape vs padding spec mismatch, got pad_width={pad_width} for {data.ndim} dimensions; "
        f"write {2 * data.ndim} numbers",
    )
    check(
        not any(pad_width[:4]),
        "Pad: Current implementation expects padding on the first two axes to be zero, got "
        f"pad_width={pad_width}",
    )
    pairs = list(zip(pad_width[::2], pad_width[1::2]))
    check(
        all(size + before + after >= 0 for size, (before, after) in zip(data.shape, pairs)),
        f"Pad: pad_width={pad_width} cuts off more than there is of {data.shape}",
    )
    if mode == "constant":
        value = scalar_like(constant_value, data.dtype)
        return lax.pad(data, value, [(before, after, 0) for before, after in pairs])
    for axis, (before, after) in enumerate(pairs[2:], 2):
        check(
            mode == "edge" or max(before, after) < data.shape[axis],
            "Pad: reflection only supports padding sizes smaller than the input size, got "
            f"{(before, after)} for axis {axis} of size {data.shape[axis]}",
        )
    result = tuple(size + before + after for size, (before, after) in zip(data.shape, pairs))
    if 0 in result:
        return lax.full(result, 0, data.dtype)
    for axis, (before, after) in enumerate((max(before, 0), max(after, 0)) for before, after in pairs):
        check(
            data.shape[axis] > 0 or before == after == 0,
            f"Pad: mode '{mode}' has nothing to copy on axis {axis} of size 0",
        )
        data = _pad_axis(data, axis, before, after, mode)
    if min(pad_width) >= 0:
        return data
    # The border is that of the whole array; then comes the crop.
    crops = [(min(before, 0), min(after, 0), 0) for before, after in pairs]
    return lax.pad(data, jnp.zeros((), data.dtype), crops)


def _pad_axis(data: Array, axis: int, before: int, after: int, mode: str) -> Array:
    size = data.shape[axis]

    def border(count: int, at_start: bool) -> list[Array]:
        if count == 0:
            return []
        if mode == "reflect":
            start = 1 if at_start else size - 1 - count
            return [lax.rev(lax.slice_in_dim(data, start, start + count, axis=axis), (axis,))]
        edge = lax.slice_in_dim(data, 0 if at_start else size - 1, 1 if at_start else size, axis=axis)
        shape = (*data.shape[:axis], count, *data.shape[axis + 1 :])
        return [lax.broadcast_in_dim(edge, shape, range(data.ndim))]

    parts = [*border(before, True), data, *border(after, False)]
    return lax.concatenate(parts, axis) if len(parts) > 1 else data


def _broadcast(name: str, data: Array, shape: tuple[int, ...]) -> Array:
    for axis, (have, want) in enumerate(zip(data.shape, shape)):
        check(
            have == want or have == 1,
            f"{name}: Array cannot be broadcasted from {list(data.shape)} to {list(shape)}: axis {axis} has "
            "size "
            f"{have}; only axes of size 1 can grow",
        )
    return lax.broadcast_in_dim(data, shape, range(data.ndim))


@operator("broadcast_to")
def broadcast_to(data: Array, *, shape: tuple[int, ...] = ()) -> Array:
    """Repeat axes of size one until the array has the given shape.

    Args:
        data: array with as many dimensions as ``shape``.
        shape: the wanted shape; 0 keeps a dimension.

    Returns:
        The broadcast array.
    """
    check(
        len(shape) == data.ndim,
        f"broadcast_to: Operand of shape {list(data.shape)} cannot be broadcasted to {list(shape)}: the "
        "numbers of "
        "dimensions differ; reshape or expand_dims first",
    )
    target = tuple(want or have for have, want in zip(data.shape, shape))
    return _broadcast("broadcast_to", data, known_shape("broadcast_to", target))


@operator("broadcast_axis", aliases=("broadcast_axes",))
def broadcast_axis(data: Array, *, axis: tuple[int, ...] = (), size: tuple[int, ...] = ()) -> Array:
    """Repeat some axes of size one.

    Args:
        data: array of any shape.
        axis: the axes.
        size: their new sizes.

    Returns:
        The broadcast array.
    """
    check(
        len(axis) == len(size), f"broadcast_axis: axis={axis} and size={size} need the same number of entries"
    )
    shape = list(data.shape)
    for position, new in zip(normalize_axes(axis, data.ndim, "broadcast_axis"), size):
        check(shape[position] == 1, f"broadcast_axis: Broadcasting axis must have size 1, got {data.shape}")
        shape[position] = new
    return _broadcast("broadcast_axis", data, known_shape("broadcast_axis", tuple(shape)))


def _broadcast_like_shapes(inputs: Inputs, outputs: Outputs, attrs: Attrs) -> tuple[Inputs, Outputs]:
    if attrs.lhs_axes is None and attrs.rhs_axes is None:
        shape = merge_shapes(inputs["rhs"], outputs[0])
        return {"lhs": inputs["lhs"], "rhs": shape}, [shape]
    return inputs, outputs


@operator("broadcast_like", dtypes="free", unify=_broadcast_like_shapes)
def broadcast_like(
    lhs: Array,
    rhs: Array,
    *,
    lhs_axes: tuple[int, ...] | None = None,
    rhs_axes: tuple[int, ...] | None = None,
) -> Array:
    """Broadcast ``lhs`` to the shape of ``rhs``, or some of its axes to the sizes of some axes of ``rhs``.

    Args:
        lhs: the array to broadcast.
        rhs: the array whose sizes are taken.
        lhs_axes: the axes of ``lhs`` to broadcast; all where it is not given.
        rhs_axes: the axes of ``rhs`` that tell their sizes.

    Returns:
        The broadcast array.
    """
    if lhs_axes is None or rhs_axes is None:
        check(
            lhs.ndim == rhs.ndim,
            f"broadcast_like: Operand of shape {list(lhs.shape)} cannot be broadcasted to "
            f"{list(rhs.shape)}: the "
            "numbers of dimensions differ; name lhs_axes and rhs_axes",
        )
        return _broadcast("broadcast_like", lhs, rhs.shape)
    check(
        0 < len(lhs_axes) == len(rhs_axes),
        f"broadcast_like: Empty axes tuple is not allowed and both need one length, got {lhs_axes} and "
        f"{rhs_axes}",
    )
    shape = list(lhs.shape)
    targets = normalize_axes(lhs_axes, lhs.ndim, "broadcast_like lhs_axes")
    sources = normalize_axes(rhs_axes, rhs.ndim, "broadcast_like rhs_axes")
    for target, source in zip(targets, sources):
        shape[target] = rhs.shape[source]
    check(
        all(lhs.shape[target] == 1 for target in targets) or math.prod(shape) == lhs.size,
        f"broadcast_like: Input axes {lhs_axes} of {list(lhs.shape)} cannot be broadcasted to {shape}: they "
        "need size 1",
    )
    return _broadcast("broadcast_like", lhs, tuple(shape))
