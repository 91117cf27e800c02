"""Operators that cut pieces out of arrays, and that write into them."""

from __future__ import annotations

from jax import Array, lax

from gluonjax._base.attrs import Traced
from gluonjax._ops.families import scalar_like
from gluonjax._ops.opdef import Attrs, check, operator
from gluonjax._ops.shape_rules import Inputs, Outputs, normalize_axes, normalize_axis, slice_bounds


def take_ranges(data: Array, ranges: list[range]) -> Array:
    """The elements of ``data`` at the given positions of every axis; a range may run backwards."""
    low, high, stride, backwards = [], [], [], []
    for axis, positions in enumerate(ranges):
        ordered = positions if positions.step > 0 else positions[::-1]
        low.append(ordered[0] if len(ordered) else 0)
        high.append(ordered[-1] + 1 if len(ordered) else 0)
        stride.append(ordered.step)
        if positions.step < 0:
            backwards.append(axis)
    piece = data
    if any(len(positions) != size for positions, size in zip(ranges, data.shape)):
        piece = lax.slice(data, low, high, stride)
    return lax.rev(piece, backwards) if backwards else piece


def put_ranges(data: Array, piece: Array, ranges: list[range]) -> Array:
    """``data`` with ``piece`` written at the given positions of every axis."""
    if not piece.size:
        return data
    if all(positions.step == 1 for positions in ranges):
        return lax.dynamic_update_slice(data, piece, [positions.start for positions in ranges])
    return data.at[tuple(slice(*_slice_arguments(positions)) for positions in ranges)].set(piece)


def _slice_arguments(positions: range) -> tuple[int, int | None, int]:
    stop = None if positions.stop < 0 else positions.stop
    return positions.start, stop, positions.step


@operator("slice", aliases=("crop", "_npx_slice", "_npi_slice", "_sparse_slice"))
def slice_(
    data: Array,
    *,
    begin: tuple[int | None, ...],
    end: tuple[int | None, ...],
    step: tuple[int | None, ...] = (),
) -> Array:
    """Take a range of positions of every axis, as Python slices do.

    Args:
        data: array of any shape.
        begin: where to begin in each of the first axes; None means at the start.
        end: where to stop; None means at the end.
        step: the step; negative ones run backwards.

    Returns:
        The piece.
    """
    return take_ranges(data, slice_bounds(data.shape, begin, end, step))


@operator("slice_axis")
def slice_axis(data: Array, *, axis: int, begin: int, end: int | None) -> Array:
    """Take a range of positions of one axis.

    Args:
        data: array of any shape.
        axis: the axis.
        begin: where to begin; negative counts from the end.
        end: where to stop; None means at the end.

    Returns:
        The piece.
    """
    position = normalize_axis(axis, data.ndim, "slice_axis")
    size = data.shape[position]
    first = begin + size * (begin < 0)
    last = size if end is None else end + size * (end < 0)
    if size == 0:
        return data  # 1.9.1 does not look at the bounds of an axis without elements
    check(
        0 <= first < last <= size,
        f"slice_axis: Invalid begin, end, get begin={begin}, end={end} for axis {position} of size {size}",
    )
    return lax.slice_in_dim(data, first, last, axis=position)


def _slice_like_shapes(inputs: Inputs, outputs: Outputs, attrs: Attrs) -> tuple[Inputs, Outputs]:
    like = inputs["shape_like"]
    if attrs.axes or like is None:
        return inputs, outputs
    return inputs, [like]


@operator("slice_like", dtypes="free", unify=_slice_like_shapes)
def slice_like(data: Array, shape_like: Array, *, axes: tuple[int, ...] = ()) -> Array:
    """Cut an array down to the size of another one.

    Args:
        data: array of any shape.
        shape_like: array whose sizes are taken.
        axes: which axes to cut; all where it is not given.

    Returns:
        The front part of ``data``.
    """
    shape = list(data.shape)
    if not axes:
        check(
            data.ndim == shape_like.ndim,
            f"slice_like: without axes the numbers of dimensions must agree, got {data.shape} and "
            f"{shape_like.shape}",
        )
        axes = tuple(range(data.ndim))
    for axis in normalize_axes(axes, data.ndim, "slice_like"):
        check(axis < shape_like.ndim, f"slice_like: axis {axis} does not exist in {shape_like.shape}")
        wanted = shape_like.shape[axis]
        check(
            wanted <= shape[axis],
            f"slice_like: Slice axis {axis} with size {wanted} exceeds limit of input with size "
            f"{shape[axis]}",
        )
        shape[axis] = wanted
    return lax.slice(data, [0] * data.ndim, shape)


@operator("Crop", variadic="num_args", dtypes="free")
def crop(
    *data: Array, offset: tuple[int, ...] = (0, 0), h_w: tuple[int, ...] = (0, 0), center_crop: bool = False
) -> Array:
    """Cut a rectangle out of images.

    Args:
        data: images ``(n, c, h, w)``, and where it is given an array whose height and width are taken.
        offset: the upper left corner as (row, column).
        h_w: height and width of the rectangle, where no second array is given.
        center_crop: cut out of the middle instead of at the offset.

    Returns:
        ``(n, c, height, width)``.
    """
    check(len(data) in (1, 2), f"Crop: wanted one or two arrays, got {len(data)}")
    image = data[0]
    check(image.ndim == 4, f"Crop: wanted images (n, c, h, w), got {image.shape}")
    check(len(offset) == 2 and len(h_w) == 2, f"Crop: offset={offset} and h_w={h_w} need two numbers each")
    size = data[1].shape[2:4] if len(data) == 2 else h_w
    for want, have, name in zip(size, image.shape[2:], ("height", "width")):
        check(
            0 < want <= have,
            f"Crop: the crop {name} should be less than the input data's {name}, got {want} of {have}",
        )
    space = [have - want for have, want in zip(image.shape[2:], size)]
    start = [room // 2 for room in space] if center_crop else list(offset)
    for begin, room, name in zip(start, space, ("height", "width")):
        check(
            0 <= begin <= room,
            f"Crop: offset should be less than the residual space of {name} {room}, got {begin}",
        )
    limit = [begin + want for begin, want in zip(start, size)]
    return lax.slice(image, (0, 0, *start), (*image.shape[:2], *limit))


@operator("_slice_assign", aliases=("_crop_assign", "_npi_slice_assign"))
def slice_assign(
    lhs: Array,
    rhs: Array,
    *,
    begin: tuple[int | None, ...],
    end: tuple[int | None, ...],
    step: tuple[int | None, ...] = (),
) -> Array:
    """Write an array into a range of positions of another one.

    Args:
        lhs: array of any shape.
        rhs: what to write; its shape is that of the range.
        begin: where to begin in each of the first axes; None means at the start.
        end: where to stop; None means at the end.
        step: the step; negative ones run backwards.

    Returns:
        ``lhs`` with the range replaced.
    """
    ranges = slice_bounds(lhs.shape, begin, end, step, "_slice_assign")
    wanted = tuple(len(positions) for positions in ranges)
    check(
        rhs.shape == wanted,
        f"_slice_assign: Shape inconsistent, Provided = {list(rhs.shape)}, inferred shape={list(wanted)}",
    )
    return put_ranges(lhs, rhs, ranges)


@operator("_slice_assign_scalar", aliases=("_crop_assign_scalar", "_npi_slice_assign_scalar"))
def slice_assign_scalar(
    data: Array,
    *,
    scalar: Traced = 0.0,  # type: ignore[assignment]
    begin: tuple[int | None, ...],
    end: tuple[int | None, ...],
    step: tuple[int | None, ...] = (),
) -> Array:
    """Write one number into a range of positions of an array.

    Args:
        data: array of any shape.
        scalar: the number; it takes the array's data type.
        begin: where to begin in each of the first axes; None means at the start.
        end: where to stop; None means at the end.
        step: the step; negative ones run backwards.

    Returns:
        ``data`` with the range replaced.
    """
    if not data.size:
        return data  # 1.9.1 does not look at the range
    ranges = slice_bounds(data.shape, begin, end, step, "_slice_assign_scalar")
    value = scalar_like(scalar, data.dtype)
    piece = lax.broadcast_in_dim(value, [len(positions) for positions in ranges], ())
    return put_ranges(data, piece, ranges)
