"""Bounding boxes: overlap, suppression, matching, encoding."""

from __future__ import annotations

import math
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._ops.contrib._suppression import descending, each_image, kept_first, overlaps, suppress
from gluonjax._ops.opdef import Attrs, Shape, check, operator, zero_grad
from gluonjax._ops.rules import check_floating

Format = Literal["center", "corner"]


@operator("_contrib_box_iou", grad=zero_grad)
def box_iou(lhs: Array, rhs: Array, *, format: Format = "corner") -> Array:
    """Intersection over union of every box of one array with every box of another.

    Args:
        lhs: ``(..., 4)`` boxes: left, top, right, bottom, or x, y, width, height.
        rhs: ``(..., 4)`` boxes.

    Returns:
        ``lhs.shape[:-1] + rhs.shape[:-1]``.
    """
    for name, boxes in (("lhs", lhs), ("rhs", rhs)):
        check(
            boxes.ndim >= 2 and boxes.shape[-1] == 4,
            f"box_iou: {name} must have dim >= 2 and its last dimension must be 4, got {boxes.shape}",
        )
    result = overlaps(lhs.reshape(-1, 1, 4), rhs.reshape(1, -1, 4), format == "center")
    return result.reshape(lhs.shape[:-1] + rhs.shape[:-1])


@jax.custom_jvp
def _value_with_slope_of(value: Array, carrier: Array) -> Array:
    """``value``, differentiated as if it were ``carrier``."""
    return value


@_value_with_slope_of.defjvp
def _value_with_slope_of_tangent(primals: tuple[Array, Array], tangents: Any) -> tuple[Array, Any]:
    return primals[0], tangents[1]


def _converted(rows: Array, start: int, to_center: bool) -> Array:
    """Rows with boxes in the other format; rows whose first coordinate is negative stay, as in MXNet."""
    a, b, c, d = (rows[..., start + index] for index in range(4))
    if to_center:
        new = [(a + c) / 2, (b + d) / 2, c - a, d - b]
    else:
        new = [a - c / 2, b - d / 2, a + c / 2, b + d / 2]
    boxes = jnp.where((a < 0)[..., None], rows[..., start : start + 4], jnp.stack(new, axis=-1))
    return jnp.concatenate([rows[..., :start], boxes, rows[..., start + 4 :]], axis=-1)


def _check_nms(shape: tuple[int, ...], coord_start: int, score_index: int, id_index: int) -> None:
    check(len(shape) >= 2, f"box_nms: input must have dim >= 2 (num_box and box_width), got {shape}")
    width = shape[-1]
    wanted = 6 if id_index >= 0 else 5
    check(
        width >= wanted,
        f"box_nms: the last dimension must have at least {wanted} elements (score, coordinates x 4"
        f"{', id' if id_index >= 0 else ''}), got {width}",
    )
    coordinates = range(coord_start, coord_start + 4)
    check(
        0 <= coord_start and coord_start + 3 < width,
        f"box_nms: coordinates: ({coord_start}, {coord_start + 3}) out of range:: (0, {width})",
    )
    for name, index in (("score_index", score_index), ("id_index", id_index)):
        if name == "id_index" and index < 0:
            continue
        check(0 <= index < width, f"box_nms: {name}: {index} out of range: (0, {width})")
        check(
            index not in coordinates,
            f"box_nms: {name}: {index} conflict with coordinates: ({coord_start}, {coord_start + 3}).",
        )
    check(id_index != score_index, f"box_nms: id_index: {id_index} conflict with score_index: {score_index}")


@operator(
    "_contrib_box_nms", aliases=("_contrib_box_non_maximum_suppression",), outputs=("output0", "output1"),
    visible=1,
)  # fmt: skip
def box_nms(
    data: Array, *, overlap_thresh: float = 0.5, valid_thresh: float = 0, topk: int = -1, coord_start: int = 2,
    score_index: int = 1, id_index: int = -1, background_id: int = -1, force_suppress: bool = False,
    in_format: Format = "corner", out_format: Format = "corner",
) -> tuple[Array, Array]:  # fmt: skip
    """Drop boxes that overlap a box with a higher score.

    Args:
        data: ``(..., boxes, width)``; each row holds a score, four coordinates and perhaps a class.
        overlap_thresh: boxes that overlap more than this exclude each other.
        valid_thresh: boxes with this score or less are dropped.
        topk: only the best so many are looked at; -1 for all.
        id_index: where the class is; boxes of different classes do not exclude each other, unless
            ``force_suppress``.
        background_id: a class that is dropped.

    Returns:
        Rows that are left, from the highest score to the lowest, then rows of -1; and (hidden) where they came
        from, ``(..., boxes, 1)``. Gradients follow the rows (changing the format counts as identity).
    """
    _check_nms(data.shape, coord_start, score_index, id_index)
    count, width = data.shape[-2:]
    limit = count if topk < 0 else min(count, topk)
    batches = math.prod(data.shape[:-2])
    record_shape = (*data.shape[:-1], 1)
    if limit < 1:
        return data, jnp.arange(batches * count, dtype=data.dtype).reshape(record_shape)

    def one(rows: Array) -> tuple[Array, Array]:
        fixed = lax.stop_gradient(rows)
        scores = fixed[:, score_index]
        valid = scores > valid_thresh
        if id_index >= 0:
            valid &= fixed[:, id_index] != background_id
        order = descending(jnp.where(valid, scores, -jnp.inf))
        ranked = fixed[order]
        boxes = ranked[:limit, coord_start : coord_start + 4]
        classes = ranked[:limit, id_index].astype(jnp.int32) if id_index >= 0 and not force_suppress else None

        def rivals(number: Array) -> Array:
            found = overlaps(boxes[number], boxes, in_format == "center") > overlap_thresh
            return found if classes is None else found & (classes == classes[number])

        keep = suppress(valid[order[:limit]], rivals)
        places, taken = kept_first(jnp.pad(keep, (0, count - limit)))
        source = order[places]
        return jnp.where(taken[:, None], rows[source], -1).astype(rows.dtype), jnp.where(taken, source, -1)

    found, source = each_image(one, data.reshape(batches, count, width))
    first = jnp.arange(batches, dtype=jnp.int32)[:, None] * count
    record = jnp.where(source < 0, -1, source + first).astype(data.dtype).reshape(record_shape)
    found = found.reshape(data.shape)
    if in_format != out_format:
        fixed = lax.stop_gradient(found)
        found = _value_with_slope_of(_converted(fixed, coord_start, out_format == "center"), found)
    return found, record


@operator("_contrib_bipartite_matching", outputs=("output0", "output1"), grad=zero_grad)
def bipartite_matching(
    data: Array, *, is_ascend: bool = False, threshold: float, topk: int = -1
) -> tuple[Array, Array]:
    """Pair rows with columns, taking the best score that is left again and again.

    Args:
        data: ``(..., rows, columns)`` scores.
        is_ascend: low scores are good.
        threshold: pairs with worse scores are not made.
        topk: make at most so many pairs; -1 for no limit.

    Returns:
        The column of each row ``(..., rows)`` and the row of each column ``(..., columns)``, -1 without partner.
    """
    check(data.ndim >= 2, f"bipartite_matching: data must have dim >= 2, got {data.shape}")
    rows, columns = data.shape[-2:]

    if data.size == 0:
        return jnp.full(data.shape[:-1], -1, data.dtype), jnp.full((*data.shape[:-2], columns), -1, data.dtype)
    most = min(rows, columns) if topk <= 0 else min(rows, columns, topk + 1)  # 1.9.1 makes one pair more than topk
    place = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    worst = jnp.asarray(-jnp.inf, jnp.promote_types(data.dtype, jnp.float32))

    def one(scores: Array) -> tuple[Array, Array]:
        wide = scores.astype(worst.dtype)
        rank = jnp.where(wide == wide, -wide if is_ascend else wide, worst)

        def step(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
            of_row, of_column, made, _ = state
            left = jnp.where((of_row < 0)[:, None] & (of_column < 0), rank, worst)
            best = jnp.max(left)
            good = -best < threshold if is_ascend else best > threshold
            first = jnp.min(jnp.where(left == best, place, rows * columns - 1))
            row, column = first // columns, first % columns
            of_row = of_row.at[row].set(jnp.where(good, column, of_row[row]))
            of_column = of_column.at[column].set(jnp.where(good, row, of_column[column]))
            return of_row, of_column, made + 1, good

        start = (
            jnp.full(rows, -1, jnp.int32), jnp.full(columns, -1, jnp.int32), jnp.zeros((), jnp.int32),
            jnp.asarray(most > 0),
        )  # fmt: skip
        of_row, of_column, _, _ = lax.while_loop(lambda state: state[3] & (state[2] < most), step, start)
        return of_row.astype(data.dtype), of_column.astype(data.dtype)

    of_row, of_column = each_image(one, data.reshape(-1, rows, columns))
    return of_row.reshape(data.shape[:-1]), of_column.reshape((*data.shape[:-2], columns))


def _four_numbers(known: dict[str, Shape | None], attrs: Attrs) -> dict[str, Shape]:
    return {"means": (4,), "stds": (4,)}


@operator("_contrib_box_encode", outputs=("output0", "output1"), param_shapes=_four_numbers, grad=zero_grad)
def box_encode(
    samples: Array, matches: Array, anchors: Array, refs: Array, means: Array, stds: Array
) -> tuple[Array, Array]:
    """Training targets for boxes: offsets of the matched reference boxes from the anchors.

    Args:
        samples: ``(batch, anchors)``: above 0.5 where an anchor counts.
        matches: ``(batch, anchors)``: numbers of the reference boxes.
        anchors: ``(batch, anchors, 4)`` corners.
        refs: ``(batch, references, 4)`` corners.
        means: ``(4,)``, subtracted from the offsets.
        stds: ``(4,)``, the offsets are divided by them.

    Returns:
        Targets and masks, both ``(batch, anchors, 4)``.
    """
    check(samples.ndim == 2, f"box_encode: samples shape must have dim == 2, got {samples.shape}")
    check(matches.ndim >= 2, f"box_encode: matches shape must have dim == 2, got {matches.shape}")
    for name, boxes in (("anchors", anchors), ("refs", refs)):
        check(
            boxes.ndim >= 3 and boxes.shape[-1] == 4,
            f"box_encode: {name} must have three dimensions, the last 4, got {boxes.shape}",
        )
    check(
        samples.shape == matches.shape == anchors.shape[:-1] and refs.shape[0] == anchors.shape[0],
        f"box_encode: samples {samples.shape} and matches {matches.shape} must be (batch, anchors) for anchors "
        f"{anchors.shape} and refs {refs.shape} of as many batches",
    )
    for name, numbers in (("means", means), ("stds", stds)):
        check(numbers.shape == (4,), f"box_encode: {name} must be four numbers, got {numbers.shape}")
    chosen = jnp.take_along_axis(refs, matches.astype(jnp.int32)[..., None], axis=1)
    size, own = chosen[..., 2:] - chosen[..., :2], anchors[..., 2:] - anchors[..., :2]
    shift = ((chosen[..., :2] + size * 0.5) - (anchors[..., :2] + own * 0.5)) / own
    targets = (jnp.concatenate([shift, jnp.log(size / own)], axis=-1) - means) / stds
    counts = jnp.broadcast_to((samples > 0.5)[..., None], targets.shape)
    return jnp.where(counts, targets, 0).astype(anchors.dtype), counts.astype(anchors.dtype)


@operator("_contrib_box_decode", grad=zero_grad)
def box_decode(
    data: Array, anchors: Array, *, std0: float = 1, std1: float = 1, std2: float = 1, std3: float = 1,
    clip: float = -1, format: Format = "center",
) -> Array:  # fmt: skip
    """Boxes from predicted offsets and anchors.

    Args:
        data: ``(batch, boxes, 4)`` offsets.
        anchors: ``(1, boxes, 4)``.
        std0: offsets are multiplied by ``std0`` ... ``std3``.
        clip: where positive, logarithms of size ratios are at most this.
        format: how anchors are given.

    Returns:
        ``(batch, boxes, 4)`` corners.
    """
    check(data.ndim == 3 and data.shape[2] == 4, f"box_decode: data must be (batch, boxes, 4), got {data.shape}")
    fits = not data.size or anchors.size == 4 * data.shape[1]  # nothing is read for a batch of nothing
    check(
        anchors.ndim >= 3 and anchors.shape[-1] == 4 and fits,
        f"box_decode: anchors must be (1, {data.shape[1]}, 4), got {anchors.shape}",
    )
    if not data.size:
        return data
    check_floating("box_decode", data)
    anchors = anchors.reshape(1, data.shape[1], 4)
    place, size = anchors[..., :2], anchors[..., 2:]
    if format == "corner":
        size = size - place
        place = place + size * 0.5
    scaled = data * jnp.asarray([std0, std1, std2, std3], data.dtype)
    center = scaled[..., :2] * size + place
    growth = scaled[..., 2:]
    if clip > 0:
        growth = jnp.minimum(growth, clip)
    half = jnp.exp(growth) * size * 0.5
    return jnp.concatenate([center - half, center + half], axis=-1).astype(data.dtype)
