"""Shape arithmetic behind the shape operators: reshape codes, slice bounds, and shapes that flow backwards.

Everything here is plain Python on tuples. ``infer_reshape`` and ``slice_bounds`` also serve NDArray views.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from gluonjax._base.errors import OperatorError
from gluonjax._ops.opdef import Attrs, Shape, UnifyRule, check
from gluonjax._ops.rules import merge_shapes

Inputs = dict[str, Shape | None]
Outputs = list[Shape | None]

KEEP, INFER, REST, MERGE, SPLIT = 0, -1, -2, -3, -4


def known_shape(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape itself. Raises OperatorError for a size below 0, which means one that nobody knows."""
    check(all(size >= 0 for size in shape), f"{name}: shape={shape} has an unknown size; write sizes of 0 or more")
    return shape


def normalize_axis(axis: int, ndim: int, where: str) -> int:
    """The axis counted from the front. Raises OperatorError where it lies outside of the array."""
    check(
        -ndim <= axis < ndim,
        f"{where}: axis {axis} is out of bounds for an array with {ndim} dimensions; use {-ndim} to "
        f"{ndim - 1}",
    )
    return axis % ndim if ndim else 0


def normalize_axes(axes: Sequence[int], ndim: int, where: str) -> tuple[int, ...]:
    """Every axis counted from the front. Raises OperatorError for one outside of the array or given twice."""
    found = tuple(normalize_axis(axis, ndim, where) for axis in axes)
    check(
        len(set(found)) == len(found),
        f"{where}: duplicate value in axis, got {tuple(axes)}; name every axis once",
    )
    return found


def _reshape_units(spec: Sequence[int]) -> list[tuple[int, ...]]:
    """The codes of a reshape, each with its operands: ``(2, -4, 1, 3)`` -> ``[(2,), (-4, 1, 3)]``."""
    units: list[tuple[int, ...]] = []
    position = 0
    while position < len(spec):
        code = spec[position]
        width = 3 if code == SPLIT else 1
        check(
            position + width <= len(spec),
            f"Reshape: code -4 wants two sizes after it (with reverse, before it), got the codes {tuple(spec)} in "
            "reading order; write (-4, a, b)",
        )
        check(code >= SPLIT, f"Reshape: shape dim size must be >= -4, got {code} in shape={tuple(spec)}")
        units.append(tuple(spec[position : position + width]))
        position += width
    return units


def _split_dimension(size: int, parts: tuple[int, int], spec: Sequence[int]) -> tuple[int, int]:
    first, second = parts
    check(
        first != INFER or second != INFER, f"Reshape: Split dims cannot both be -1, got shape={tuple(spec)}"
    )
    if first == INFER:
        first = size // second if second else 0
    elif second == INFER:
        second = size // first if first else 0
    check(
        first * second == size,
        f"Reshape: Split dims {parts[0]}, {parts[1]} do not divide original dim {size} in "
        f"shape={tuple(spec)}",
    )
    return first, second


def infer_reshape(shape: Sequence[int], spec: Sequence[int], reverse: bool = False) -> tuple[int, ...]:
    """The shape that MXNet's reshape codes make of ``shape``.

    Codes: a positive size stands for itself, 0 copies the dimension, -1 is inferred, -2 copies all that
    remain, -3 merges two, -4 splits one into the two sizes after it. ``reverse`` reads from the right (-4 comes last).

    Args:
        shape: the shape of the data.
        spec: the codes.
        reverse: match dimensions from the right.

    Returns:
        The new shape. Raises OperatorError where the codes do not fit or the number of elements differs.

    >>> infer_reshape((2, 3, 4), (-3, 0)), infer_reshape((2, 3, 4), (0, -4, -1, 3, -2))
    ((6, 4), (2, 1, 3, 4))
    >>> infer_reshape((10, 5, 4), (-1, 0)), infer_reshape((10, 5, 4), (-1, 0), reverse=True)
    ((40, 5), (50, 4))
    """
    source = tuple(shape)[::-1] if reverse else tuple(shape)
    # Read from the right, -4 stands behind its two sizes: (16, 4, -4).
    units = _reshape_units(tuple(spec)[::-1] if reverse else spec)
    result: list[int] = []
    inferred = inferred_from = -1
    read = 0
    for unit in units:
        code = unit[0]
        needs = {KEEP: 1, MERGE: 2, SPLIT: 1}.get(code, 0)
        check(
            not needs or read + needs <= len(source),
            f"Reshape: code {code} in shape={tuple(spec)} has no dimension left of {tuple(shape)} to work on",
        )
        if code == KEEP:
            result.append(source[read])
        elif code == INFER:
            check(inferred < 0, f"Reshape: One and only one dim can be inferred, got shape={tuple(spec)}")
            inferred, inferred_from = len(result), read
            result.append(1)
        elif code == REST:
            result.extend(source[read:])
        elif code == MERGE:
            result.append(source[read] * source[read + 1])
        elif code == SPLIT:
            result.extend(_split_dimension(source[read], (unit[1], unit[2]), spec))
        else:
            result.append(code)
        # A plain size and -1 stand for one dimension of the source as well: (4, 0) on (2, 3) copies the 3.
        read = len(source) if code == REST else read + max(needs, 1)
    if inferred >= 0:
        result[inferred] = _inferred_size(source, result, inferred, inferred_from)
    check(
        math.prod(result) == math.prod(source),
        f"Reshape: cannot reshape array of shape {tuple(shape)} and size {math.prod(source)} into shape "
        f"{tuple(result[::-1] if reverse else result)} (shape={tuple(spec)})",
    )
    return tuple(result[::-1] if reverse else result)


def _inferred_size(source: tuple[int, ...], result: list[int], position: int, source_position: int) -> int:
    others = math.prod(size for index, size in enumerate(result) if index != position)
    if others:
        return math.prod(source) // others
    # An empty array leaves the size open; what remains of the source is the answer: (0, -1) keeps (0, 3).
    remaining = math.prod(source[source_position:])
    following = math.prod(result[position + 1 :])
    return remaining // following if following and remaining % following == 0 else remaining


def legacy_target_shape(shape: Sequence[int], target: Sequence[int], keep_highest: bool) -> tuple[int, ...]:
    """The result shape of Reshape's old ``target_shape``: 0 is inferred, ``keep_highest`` copies the first size."""
    known = list(target)
    if keep_highest and known:
        known[0] = shape[0]
    zeros = [index for index, size in enumerate(known) if size == 0]
    check(
        min(known, default=0) >= 0,
        f"Reshape: target_shape={tuple(target)} has a negative size; 0 is the one that is inferred",
    )
    check(len(zeros) <= 1, f"Reshape: One and only one dim can be inferred, got target_shape={tuple(target)}")
    for index in zeros:
        known[index] = INFER
    return infer_reshape(shape, known)


def slice_bounds(
    shape: Sequence[int],
    begin: Sequence[int | None],
    end: Sequence[int | None],
    step: Sequence[int | None],
    where: str = "slice",
) -> list[range]:
    """The selected positions of every axis, for bounds that may be missing, negative or too large.

    >>> slice_bounds((3, 4), (None, 3), (2, None), (None, -1))
    [range(0, 2), range(3, -1, -1)]
    """
    check(
        len(begin) <= len(shape),
        f"{where}: Slicing axis exceeds data dimensions, got begin={tuple(begin)} for shape {tuple(shape)}",
    )
    check(
        len(begin) == len(end),
        f"{where}: begin and end must have the same length, got begin={tuple(begin)} and end={tuple(end)}",
    )
    check(
        not step or len(step) == len(begin),
        f"{where}: step and begin must have the same length, got begin={tuple(begin)} and step={tuple(step)}",
    )
    check(0 not in step, f"{where}: step cannot be 0, got step={tuple(step)}")
    ranges = []
    for axis, size in enumerate(shape):
        if axis >= len(begin):
            ranges.append(range(size))
            continue
        stride = step[axis] if step else None
        ranges.append(range(size)[slice(begin[axis], end[axis], stride)])
    return ranges


def axis_order(name: str) -> Callable[[int, Attrs], tuple[int, ...]]:
    """How transpose and SwapAxis order the axes of an array with ``ndim`` dimensions."""

    def transpose_order(ndim: int, attrs: Attrs) -> tuple[int, ...]:
        if not attrs.axes:
            return tuple(range(ndim))[::-1]
        check(
            len(attrs.axes) == ndim,
            f"transpose: axes={attrs.axes} must name all {ndim} dimensions; write one entry per dimension",
        )
        return normalize_axes(attrs.axes, ndim, "transpose")

    def swap_order(ndim: int, attrs: Attrs) -> tuple[int, ...]:
        order = list(range(ndim))
        first = normalize_axis(attrs.dim1, ndim, "SwapAxis dim1")
        second = normalize_axis(attrs.dim2, ndim, "SwapAxis dim2")
        order[first], order[second] = second, first
        return tuple(order)

    return transpose_order if name == "transpose" else swap_order


def permuted(order: Callable[[int, Attrs], tuple[int, ...]]) -> UnifyRule:
    """The output's dimensions are the input's in another order, both ways."""

    def rule(inputs: Inputs, outputs: Outputs, attrs: Attrs) -> tuple[Inputs, Outputs]:
        data, out = inputs["data"], outputs[0]
        known = data if data is not None else out
        if known is None:
            return inputs, outputs
        axes = order(len(known), attrs)
        if data is not None:
            out = merge_shapes(out, tuple(data[axis] for axis in axes))
        back: list[int | None] = [None] * len(axes)
        for axis, size in zip(axes, out or ()):
            back[axis] = size
        return {"data": tuple(back)}, [out]

    return rule


def same_size(inputs: Inputs, outputs: Outputs, attrs: Attrs) -> tuple[Inputs, Outputs]:
    """``Reshape``: the one unknown dimension of the input follows from the size of the output."""
    data, out = inputs["data"], outputs[0]
    if data is None or out is None or data.count(None) != 1 or None in out:
        return inputs, outputs
    rest = math.prod(dim for dim in data if dim is not None)
    size, left = divmod(math.prod(dim for dim in out if dim is not None), max(rest, 1))
    if left or not size:
        return inputs, outputs
    return {**inputs, "data": tuple(size if dim is None else dim for dim in data)}, outputs


def expanded(inputs: Inputs, outputs: Outputs, attrs: Attrs) -> tuple[Inputs, Outputs]:
    """``expand_dims``: the output is the input with a 1 put in, both ways."""
    data, out = inputs["data"], outputs[0]
    if data is not None:
        axis = normalize_axis(attrs.axis, len(data) + 1, "expand_dims")
        out = merge_shapes(out, (*data[:axis], 1, *data[axis:]))
    if out is None:
        return inputs, outputs
    axis = normalize_axis(attrs.axis, len(out), "expand_dims")
    return {"data": (*out[:axis], *out[axis + 1 :])}, [out]


def concatenated(inputs: Inputs, outputs: Outputs, attrs: Attrs) -> tuple[Inputs, Outputs]:
    """``Concat``: all sizes but the joined one agree; one unknown size along the join follows from the "
    "rest."""
    shapes = list(inputs.values())
    ndim = next((len(shape) for shape in [*shapes, *outputs] if shape is not None), None)
    if ndim is None or not -ndim <= attrs.dim < ndim:
        return inputs, outputs
    axis = attrs.dim % ndim
    common: Shape | None = None
    for shape in [*shapes, *outputs]:
        if shape is not None:
            common = merge_shapes(common, (*shape[:axis], None, *shape[axis + 1 :]))
    parts = [None if shape is None else shape[axis] for shape in shapes]
    total = None if outputs[0] is None else outputs[0][axis]
    unknown = [index for index, part in enumerate(parts) if part is None]
    if not unknown:
        total = sum(part for part in parts if part is not None)
    elif len(unknown) == 1 and total is not None:
        parts[unknown[0]] = total - sum(part for part in parts if part is not None)
    rest = common or ()
    fill = [(*rest[:axis], part, *rest[axis + 1 :]) for part in [*parts, total]]
    return dict(zip(inputs, fill)), [merge_shapes(outputs[0], fill[-1])]


def parameters_joined(inputs: Inputs, outputs: Outputs, attrs: Attrs) -> tuple[Inputs, Outputs]:
    """``_rnn_param_concat``: as ``Concat``; unknown parts (first weights of two directions) share evenly."""
    inputs, outputs = concatenated(inputs, outputs, attrs)
    whole = outputs[0]
    if whole is None or len(whole) != 1 or whole[0] is None:
        return inputs, outputs
    known = [shape[0] for shape in inputs.values() if shape is not None and shape[0] is not None]
    missing = len(inputs) - len(known)
    if missing > 1 and (whole[0] - sum(known)) % missing == 0:
        share = (whole[0] - sum(known)) // missing
        inputs = {
            name: (share,) if shape is None or shape[0] is None else shape for name, shape in inputs.items()
        }
    return inputs, outputs


def stacked(inputs: Inputs, outputs: Outputs, attrs: Attrs) -> tuple[Inputs, Outputs]:
    """``stack``: all inputs have one shape; the output has one axis more, as long as the number of inputs."""
    common: Shape | None = None
    for shape in inputs.values():
        common = merge_shapes(common, shape)
    out = outputs[0]
    if out is not None:
        axis = normalize_axis(attrs.axis, len(out), "stack")
        common = merge_shapes(common, (*out[:axis], *out[axis + 1 :]))
    if common is None:
        return inputs, outputs
    axis = normalize_axis(attrs.axis, len(common) + 1, "stack")
    return {name: common for name in inputs}, [
        merge_shapes(out, (*common[:axis], len(inputs), *common[axis:]))
    ]


def evenly_split(inputs: Inputs, outputs: Outputs, attrs: Attrs) -> tuple[Inputs, Outputs]:
    """``SliceChannel``: every output has one shape; the input is ``num_outputs`` times as long along the "
    "axis."""
    data, count = inputs["data"], attrs.num_outputs
    part: Shape | None = None
    for shape in outputs:
        part = merge_shapes(part, shape)
    if part is not None:
        axis = normalize_axis(attrs.axis, len(part) + attrs.squeeze_axis, "SliceChannel")
        if attrs.squeeze_axis:
            data = merge_shapes(data, (*part[:axis], count, *part[axis:]))
        else:
            size = part[axis]
            data = merge_shapes(
                data, (*part[:axis], None if size is None else size * count, *part[axis + 1 :])
            )
    if data is None:
        return inputs, outputs
    axis = normalize_axis(attrs.axis, len(data), "SliceChannel")
    size = data[axis]
    if attrs.squeeze_axis:
        part = (*data[:axis], *data[axis + 1 :])
    elif size is None or size % count == 0:
        part = (*data[:axis], None if size is None else size // count, *data[axis + 1 :])
    else:
        raise OperatorError(
            f"SliceChannel: you are trying to split axis {axis} of an array of shape {data} into "
            f"num_outputs={count} "
            f"evenly sized chunks, but {count} does not evenly divide {size}"
        )
    return {"data": data}, [part for _ in outputs]
