"""Single-shot detection: anchors on a grid, training targets for them, detections from predictions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._ops.contrib._suppression import descending, each_image, kept_first, suppress
from gluonjax._ops.opdef import check, operator, zero_grad


@operator("_contrib_MultiBoxPrior", aliases=("_npx_multibox_prior",), grad=zero_grad)
def multibox_prior(
    data: Array, *, sizes: tuple[float, ...] = (1.0,), ratios: tuple[float, ...] = (1.0,), clip: bool = False,
    steps: tuple[float, ...] = (-1.0, -1.0), offsets: tuple[float, ...] = (0.5, 0.5),
) -> Array:  # fmt: skip
    """Anchor boxes around each pixel of a feature map.

    Args:
        data: ``(batch, channels, height, width)``; only its shape counts.
        sizes: sizes of boxes with the first ratio, relative to the image's height.
        ratios: width over height of boxes with the first size.
        clip: cut boxes off at the image.
        steps: distance of the pixels ``(y, x)``, relative to the image; -1 to derive it.
        offsets: where in a pixel its box's center is, ``(y, x)``.

    Returns:
        ``(1, height * width * (len(sizes) + len(ratios) - 1), 4)`` corners, relative to the image.
    """
    check(data.ndim >= 4, f"MultiBoxPrior: Input data should be 4D: batch-channel-y-x, got {data.shape}")
    check(len(steps) == 2, f"MultiBoxPrior: Step ndim must be 2: (step_y, step_x), got {steps}")
    check(min(len(sizes), len(ratios)) > 0, "MultiBoxPrior: sizes and ratios must not be empty")
    check(steps[0] * steps[1] >= 0, f"MultiBoxPrior: Must specify both step_y and step_x, got {steps}")
    check(
        len(offsets) == 2 and all(0 <= offset <= 1 for offset in offsets),
        f"MultiBoxPrior: offsets must be two numbers, not negative and at most 1, got {offsets}",
    )
    height, width = data.shape[2:4]
    check(height > 0 and width > 0, f"MultiBoxPrior: Input height and width should > 0, got {data.shape}")
    single = np.float32
    if steps[0] <= 0 or steps[1] <= 0:
        steps = (float(single(1) / single(height)), float(single(1) / single(width)))
    roots = np.sqrt(np.asarray(ratios, single))
    shapes = [(single(size), roots[0]) for size in sizes] + [(single(sizes[0]), root) for root in roots[1:]]
    half_width = np.array([size * single(height) / single(width) * root / 2 for size, root in shapes], single)
    half_height = np.array([size / root / 2 for size, root in shapes], single)
    y = (np.arange(height, dtype=single) + single(offsets[0])) * single(steps[0])
    x = (np.arange(width, dtype=single) + single(offsets[1])) * single(steps[1])
    # One fused expression on the device: the boxes of a large map would be megabytes as a constant.
    center_x = jnp.asarray(x)[None, :, None]
    center_y = jnp.asarray(y)[:, None, None]
    parts = [center_x - half_width, center_y - half_height, center_x + half_width, center_y + half_height]
    full = (height, width, len(shapes))
    boxes = jnp.stack([jnp.broadcast_to(part, full) for part in parts], axis=-1).reshape(1, -1, 4)
    if clip:
        boxes = jnp.clip(boxes, 0, 1)
    return boxes.astype(data.dtype)


def _meeting(first: Array, second: Array) -> Array:
    """Intersection over union of corner boxes that broadcast; 0 without union."""
    low = jnp.maximum(first[..., :2], second[..., :2])
    high = jnp.minimum(first[..., 2:], second[..., 2:])
    sides = jnp.maximum(high - low, 0)
    shared = sides[..., 0] * sides[..., 1]

    def area(boxes: Array) -> Array:
        return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])

    union = area(first) + area(second) - shared
    return jnp.where(union == 0, 0, shared / jnp.where(union == 0, 1, union)).astype(first.dtype)


@operator(
    "_contrib_MultiBoxTarget",
    aliases=("_npx_multibox_target",),
    outputs=("loc_target", "loc_mask", "cls_target"),
    grad=zero_grad,
)
def multibox_target(
    anchor: Array, label: Array, cls_pred: Array, *, overlap_threshold: float = 0.5, ignore_label: float = -1,
    negative_mining_ratio: float = -1, negative_mining_thresh: float = 0.5, minimum_negative_samples: int = 0,
    variances: tuple[float, ...] = (0.1, 0.1, 0.2, 0.2),
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Training targets for the anchors of a single-shot detector.

    Args:
        anchor: ``(1, anchors, 4)`` corners.
        label: ``(batch, labels, 5 or more)``: class and corners; rows after the first class -1 do not count.
        cls_pred: ``(batch, classes, anchors)`` scores, for hard negative mining.
        overlap_threshold: anchors that overlap a box more than this are matched to it, besides each box's
            best anchor.
        ignore_label: the class target of anchors that do not count.
        negative_mining_ratio: negatives for each positive; all others count when it is not positive.
        negative_mining_thresh: anchors with this overlap or more are no negatives.
        variances: offsets are divided by these.

    Returns:
        Offsets and their masks, both ``(batch, anchors * 4)``, and classes ``(batch, anchors)`` (0 background).
    """
    name = "MultiBoxTarget"
    check(anchor.ndim == 3 and anchor.shape[0] == 1, f"{name}: anchor should be (1, anchors, 4), got {anchor.shape}")
    check(anchor.shape[1] > 0, f"{name}: Number boxes should be greater than 0")
    check(anchor.shape[2] == 4, f"{name}: Box dimension should be 4: [xmin, ymin, xmax, ymax], got {anchor.shape}")
    check(
        label.ndim == 3 and label.shape[1] > 0,
        f"{name}: Label should be [batch, num_labels, label_width] tensor, got {label.shape}",
    )
    check(label.shape[2] >= 5, f"{name}: Label width should be greater than or equal to 5, got {label.shape}")
    check(cls_pred.ndim == 3, f"{name}: Prediction: [batch, num_classes, num_anchors], got {cls_pred.shape}")
    check(
        cls_pred.shape[2] == anchor.shape[1],
        f"{name}: Number of anchors mismatch: cls_pred {cls_pred.shape}, anchor {anchor.shape}",
    )
    check(
        label.shape[0] == cls_pred.shape[0],
        f"{name}: label {label.shape} and cls_pred {cls_pred.shape} must be batches of one size",
    )
    check(len(variances) == 4, f"{name}: variances needs four numbers, got {variances}")
    anchors, dtype = anchor[0], anchor.dtype
    count, labels = anchors.shape[0], label.shape[1]

    def one(rows: Array, scores: Array) -> tuple[Array, Array, Array]:
        real = jnp.cumsum((rows[:, 0] == -1).astype(jnp.int32)) == 0
        table = jnp.where(real, _meeting(anchors[:, None], rows[None, :, 1:5]), -1.0).astype(jnp.float32)

        # Every box takes its best free anchor, the best pair of all first.
        def pair(_: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
            match, free = state
            left = jnp.where((match < 0)[:, None] & free, table, -1.0)
            best = jnp.argmax(left).astype(jnp.int32)
            row, column = best // labels, best % labels
            good = left[row, column] > 1e-6
            match = match.at[row].set(jnp.where(good, column, match[row]))
            return match, free.at[column].set(free[column] & ~good)

        start = jnp.full(count, -1, jnp.int32), real
        match, _ = lax.fori_loop(np.int32(0), np.int32(labels), pair, start)
        best, likeliest = jnp.argmax(table, axis=1).astype(jnp.int32), jnp.max(table, axis=1)
        positive = match >= 0
        if overlap_threshold > 0:
            wide = likeliest > jnp.float32(overlap_threshold)
            match = jnp.where(positive, match, jnp.where(wide & (likeliest > -1), best, -1))
            positive = match >= 0
        negative = ~positive
        if negative_mining_ratio > 0:
            check(
                negative_mining_thresh > 0,
                f"MultiBoxTarget: negative_mining_thresh={negative_mining_thresh} must be above 0",
            )
            negative = _hard_negatives(
                scores, positive, likeliest, negative_mining_ratio, negative_mining_thresh
            )
        chosen = rows[jnp.maximum(match, 0)]
        offsets = _offsets(anchors, chosen[:, 1:5], variances)
        classes = jnp.where(positive, chosen[:, 0] + 1, jnp.where(negative, 0, ignore_label))
        # Without any box in the image nothing counts.
        anything = real.any()
        positive &= anything
        mask = jnp.broadcast_to(positive[:, None], (count, 4))
        return (
            jnp.where(mask, offsets, 0).reshape(-1).astype(dtype),
            mask.reshape(-1).astype(dtype),
            jnp.where(anything, classes, ignore_label).astype(dtype),
        )

    return jax.vmap(one)(label, cls_pred)


def _hard_negatives(scores: Array, positive: Array, overlap: Array, ratio: float, threshold: float) -> Array:
    """Of the anchors that overlap little, those that look least like background."""
    count = positive.shape[0]
    number = positive.sum(dtype=jnp.int32)
    wanted = (number.astype(jnp.float32) * jnp.float32(ratio)).astype(jnp.int32)
    wanted = jnp.minimum(wanted, count - number)
    background = jax.nn.softmax(scores.astype(jnp.float32), axis=0)[0]
    candidates = ~positive & (overlap < jnp.float32(threshold))
    order = descending(jnp.where(candidates, -background, -jnp.inf))
    rank = jnp.zeros(count, jnp.int32).at[order].set(jnp.arange(count, dtype=jnp.int32))
    return candidates & (rank < wanted)


def _offsets(anchors: Array, boxes: Array, variances: tuple[float, ...]) -> Array:
    anchors, boxes = anchors.astype(jnp.float32), boxes.astype(jnp.float32)
    own, size = anchors[:, 2:] - anchors[:, :2], boxes[:, 2:] - boxes[:, :2]
    shift = ((boxes[:, :2] + boxes[:, 2:]) - (anchors[:, :2] + anchors[:, 2:])) * 0.5 / own
    return jnp.concatenate([shift, jnp.log(size / own)], axis=1) / jnp.asarray(variances, jnp.float32)


@operator("_contrib_MultiBoxDetection", aliases=("_npx_multibox_detection",), grad=zero_grad)
def multibox_detection(
    cls_prob: Array, loc_pred: Array, anchor: Array, *, clip: bool = True, threshold: float = 0.01,
    background_id: int = 0, nms_threshold: float = 0.5, force_suppress: bool = False,
    variances: tuple[float, ...] = (0.1, 0.1, 0.2, 0.2), nms_topk: int = -1,
) -> Array:  # fmt: skip
    """Detections from the predictions of a single-shot detector.

    Args:
        cls_prob: ``(batch, classes, anchors)``; class 0 is background.
        loc_pred: ``(batch, anchors * 4)`` offsets.
        anchor: ``(1, anchors, 4)`` corners.
        clip: cut boxes off at the image.
        threshold: detections with lower scores are dropped.
        nms_threshold: boxes that overlap this much exclude each other.
        force_suppress: even boxes of different classes.
        nms_topk: keep at most so many boxes.

    Returns:
        ``(batch, anchors, 6)``: class (from 0; -1 for none), score, corners.
    """
    name = "MultiBoxDetection"
    check(cls_prob.ndim == 3, f"{name}: Provided: {cls_prob.shape} shape, wanted (batch, classes, anchors)")
    check(
        anchor.ndim == 3 and anchor.shape == (1, cls_prob.shape[2], 4),
        f"{name}: Number of anchors mismatch: anchor {anchor.shape}, wanted {(1, cls_prob.shape[2], 4)} to go with "
        f"cls_prob {cls_prob.shape}",
    )
    check(
        loc_pred.ndim == 2 and loc_pred.shape[1] == anchor.shape[1] * 4,
        f"{name}: # anchors mismatch with # loc: loc_pred {loc_pred.shape}, anchor {anchor.shape}",
    )
    check(
        loc_pred.shape[0] == cls_prob.shape[0],
        f"{name}: loc_pred {loc_pred.shape} and cls_prob {cls_prob.shape} must be batches of one size",
    )
    check(anchor.shape[1] > 0, f"{name}: Number of anchors must > 0, got {anchor.shape}")
    check(len(variances) == 4, f"{name}: Variance size must be 4, got {variances}")
    count, dtype = anchor.shape[1], cls_prob.dtype
    if cls_prob.shape[1] < 2:
        return lax.full((cls_prob.shape[0], count, 6), -1, dtype)  # everything is background
    center = (anchor[0, :, :2] + anchor[0, :, 2:]) / 2
    size = anchor[0, :, 2:] - anchor[0, :, :2]

    def one(scores: Array, moves: Array) -> Array:
        best = jnp.max(scores[1:], axis=0)
        number = jnp.argmax(scores[1:], axis=0).astype(jnp.int32) + 1
        number = jnp.where((best > -1) & (best >= jnp.asarray(threshold, dtype)), number, 0)
        best = jnp.maximum(best, -1)
        moves = moves.reshape(count, 4) * jnp.asarray(variances, dtype)
        middle = moves[:, :2] * size + center
        half = jnp.exp(moves[:, 2:]) * size / 2
        boxes = jnp.concatenate([middle - half, middle + half], axis=1)
        if clip:
            boxes = jnp.clip(boxes, 0, 1)
        rows = jnp.concatenate([(number - 1).astype(dtype)[:, None], best[:, None], boxes], axis=1).astype(dtype)
        order, taken = kept_first(number > 0)
        rows = jnp.where(taken[:, None], rows[order], -1)
        if nms_threshold <= 0 or nms_threshold > 1:
            return rows
        return _without_rivals(rows, taken)

    def _without_rivals(rows: Array, taken: Array) -> Array:
        place = jnp.arange(count, dtype=jnp.int32)
        ranked = rows[descending(jnp.where(taken, rows[:, 1], -jnp.inf))]
        looked_at = taken
        cut = min(nms_topk, count) if nms_topk > 0 else count
        if nms_topk > 0:
            # MXNet leaves boxes beyond topk where they were, as class -1.
            looked_at = taken & (place < nms_topk)
            dropped = rows.at[:, 0].set(-1)
            ranked = jnp.where((place < nms_topk)[:, None], ranked, dropped)

        def rivals(index: Array) -> Array:
            # The steps of MXNet: a union of 0 or less means no overlap.
            box, boxes = ranked[index, 2:], ranked[:cut, 2:]
            found = jnp.where(_union(box, boxes) <= 0, 0, _meeting(box, boxes)) >= jnp.asarray(nms_threshold, dtype)
            return found if force_suppress else found & (ranked[:cut, 0] == ranked[index, 0])

        keep = jnp.pad(suppress(looked_at[:cut], rivals), (0, count - cut))
        return ranked.at[:, 0].set(jnp.where(looked_at & ~keep, -1, ranked[:, 0]))

    return each_image(one, cls_prob, loc_pred)


def _union(first: Array, second: Array) -> Array:
    low, high = jnp.maximum(first[..., :2], second[..., :2]), jnp.minimum(first[..., 2:], second[..., 2:])
    sides = jnp.maximum(high - low, 0)
    own = (first[..., 2] - first[..., 0]) * (first[..., 3] - first[..., 1])
    other = (second[..., 2] - second[..., 0]) * (second[..., 3] - second[..., 1])
    return own + other - sides[..., 0] * sides[..., 1]
