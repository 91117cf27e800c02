"""Region proposals from the scores and offsets of anchors."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._ops.contrib._suppression import descending, each_image, kept_first, suppress
from gluonjax._ops.opdef import Attrs, Shape, check, operator, zero_grad


def base_anchors(stride: int, ratios: tuple[float, ...], scales: tuple[float, ...]) -> np.ndarray:
    """``(ratios * scales, 4)`` corners around the first cell, sizes rounded as in Faster R-CNN."""
    single = np.float32
    center = single(0.5 * (stride - 1.0))
    found = []
    for ratio in ratios:
        area = np.floor(single(stride * stride) / single(ratio))
        for scale in scales:
            width = np.floor(np.sqrt(single(area)) + single(0.5)) * single(scale)
            height = np.floor(width / single(scale) * single(ratio) + single(0.5)) * single(scale)
            half_width, half_height = single(0.5) * (width - 1), single(0.5) * (height - 1)
            found.append([center - half_width, center - half_height, center + half_width, center + half_height])
    return np.array(found, single)


def _inputs(known: dict[str, Shape | None], attrs: Attrs) -> dict[str, Shape]:
    scores = known.get("cls_prob")
    if scores is None or len(scores) != 4:
        return {}
    batch, channels, height, width = scores
    return {"bbox_pred": (batch, None if channels is None else channels * 2, height, width), "im_info": (batch, 3)}


def _moved(anchors: Array, deltas: Array, iou_loss: bool) -> Array:
    """Anchors ``(boxes, 4)`` with predicted offsets applied.

    In float64: near the edge of an image a coordinate is the small difference of large ones, and float32 would show
    whether a program ran compiled, alone or in a batch.
    """
    anchors, deltas = anchors.astype(np.float64), deltas.astype(np.float64)
    if iou_loss:
        return (anchors + deltas).astype(np.float32)
    size = anchors[:, 2:] - anchors[:, :2] + 1
    center = anchors[:, :2] + 0.5 * (size - 1)
    middle = deltas[:, :2] * size + center
    half = 0.5 * (jnp.exp(deltas[:, 2:]) * size - 1)
    return jnp.concatenate([middle - half, middle + half], axis=1).astype(np.float32)


def _rivals(boxes: Array, threshold: float) -> Any:
    """Which boxes overlap box ``number`` more than the threshold, counting pixels on both edges."""
    area = (boxes[:, 2] - boxes[:, 0] + 1) * (boxes[:, 3] - boxes[:, 1] + 1)

    def rule(number: Array) -> Array:
        low = jnp.maximum(boxes[number, :2], boxes[:, :2])
        high = jnp.minimum(boxes[number, 2:], boxes[:, 2:])
        sides = jnp.maximum(high - low + 1, 0)
        shared = sides[:, 0] * sides[:, 1]
        return shared / (area[number] + area - shared) > jnp.float32(threshold)

    return rule


def _propose(
    name: str, cls_prob: Array, bbox_pred: Array, im_info: Array, attrs: Attrs
) -> tuple[Array, Array]:
    check(cls_prob.ndim == 4, f"{name}: cls_prob must be (batch, 2 * anchors, height, width), got {cls_prob.shape}")
    batch, channels, height, width = cls_prob.shape
    kinds, stride = channels // 2, attrs.feature_stride
    check(
        channels == 2 * len(attrs.ratios) * len(attrs.scales),
        f"{name}: cls_prob has {channels} channels of scores, two for each anchor, but there are "
        f"{len(attrs.ratios)} ratios and {len(attrs.scales)} scales",
    )
    check(bbox_pred.shape == (batch, kinds * 4, height, width), f"{name}: bbox_pred has the shape {bbox_pred.shape}")
    check(im_info.shape == (batch, 3), f"{name}: im_info must be {(batch, 3)}, got {im_info.shape}")
    total = kinds * height * width
    check(
        attrs.rpn_post_nms_top_n >= 0, f"{name}: rpn_post_nms_top_n={attrs.rpn_post_nms_top_n} must not be negative"
    )
    check(total > 0 or not batch, f"{name}: cls_prob {cls_prob.shape} has no cells to propose regions for")
    before = min(attrs.rpn_pre_nms_top_n, total) if attrs.rpn_pre_nms_top_n > 0 else total
    after = min(attrs.rpn_post_nms_top_n, before)
    y, x = np.meshgrid(np.arange(height) * stride, np.arange(width) * stride, indexing="ij")
    shift = np.stack([x, y, x, y], axis=-1).astype(np.float32)
    anchors = (shift[:, :, None] + base_anchors(stride, attrs.ratios, attrs.scales)).reshape(total, 4)
    cell_y, cell_x = (np.repeat(grid.reshape(-1) // stride, kinds) for grid in (y, x))

    def one(scores: Array, deltas: Array, info: Array) -> tuple[Array, Array]:
        score = scores[kinds:].transpose(1, 2, 0).reshape(total)
        moves = deltas.reshape(kinds, 4, height, width).transpose(2, 3, 0, 1).reshape(total, 4)
        limit = jnp.stack([info[1], info[0], info[1], info[0]]) - 1
        boxes = jnp.maximum(jnp.minimum(_moved(jnp.asarray(anchors), moves, attrs.iou_loss), limit), 0)
        real = (info[:2] / stride).astype(jnp.int32)
        score = jnp.where((cell_y >= real[0]) | (cell_x >= real[1]), -1, score)
        least = attrs.rpn_min_size * info[2]
        small = ((boxes[:, 2:] - boxes[:, :2] + 1) < least).any(axis=1)
        grown = boxes + jnp.asarray([-0.5, -0.5, 0.5, 0.5], boxes.dtype) * least
        boxes = jnp.where(small[:, None], grown, boxes)
        score = jnp.where(small, -1, score)
        order = descending(score)[:before]
        boxes, score = boxes[order], score[order]
        keep = suppress(jnp.ones(before, bool), _rivals(boxes, attrs.threshold), after)
        places, _ = kept_first(keep)
        number = jnp.minimum(keep.sum(dtype=jnp.int32), after)
        # Too few proposals are repeated from the first on.
        chosen = places[jnp.arange(attrs.rpn_post_nms_top_n, dtype=jnp.int32) % number]
        return boxes[chosen], score[chosen][:, None]

    boxes, scores = each_image(one, cls_prob, bbox_pred, im_info)
    count = attrs.rpn_post_nms_top_n
    image = jnp.broadcast_to(jnp.arange(batch, dtype=boxes.dtype)[:, None, None], (batch, count, 1))
    rois = jnp.concatenate([image, boxes], axis=2).reshape(batch * count, 5)
    return lax.stop_gradient(rois), lax.stop_gradient(scores.reshape(batch * count, 1))


def _visible(attrs: Attrs) -> int:
    return 2 if attrs.output_score else 1


def _register(name: str, several: bool) -> None:
    """``Proposal`` takes one image, ``MultiProposal`` any number; otherwise they are one operator."""

    def propose(
        cls_prob: Array, bbox_pred: Array, im_info: Array, *, rpn_pre_nms_top_n: int = 6000,
        rpn_post_nms_top_n: int = 300, threshold: float = 0.7, rpn_min_size: int = 16,
        scales: tuple[float, ...] = (4.0, 8.0, 16.0, 32.0), ratios: tuple[float, ...] = (0.5, 1.0, 2.0),
        feature_stride: int = 16, output_score: bool = False, iou_loss: bool = False,
    ) -> tuple[Array, Array]:  # fmt: skip
        """Propose regions: anchors moved by predictions, the best-scored ones that do not overlap.

        Args:
            cls_prob: ``(batch, 2 * anchors, height, width)``: background scores, then foreground scores.
            bbox_pred: ``(batch, 4 * anchors, height, width)`` offsets.
            im_info: ``(batch, 3)``: height, width and scale of the images.
            rpn_pre_nms_top_n: how many are looked at.
            rpn_post_nms_top_n: how many are returned; the first are repeated where there are fewer.
            threshold: proposals that overlap more than this exclude each other.
            rpn_min_size: smaller proposals score -1.
            iou_loss: offsets move the corners.

        Returns:
            ``(batch * rpn_post_nms_top_n, 5)``: number of the image, left, top, right, bottom; with
            ``output_score`` also the scores.
        """
        short = name.removeprefix("_contrib_")
        check(
            several or cls_prob.shape[0] == 1,
            f"{short}: Sorry, multiple images each device is not implemented: got {cls_prob.shape[0]}; use "
            "MultiProposal",
        )
        check(cls_prob.dtype == jnp.float32, f"{short}: wants float32, got {cls_prob.dtype}")
        attrs = Attrs(
            rpn_pre_nms_top_n=rpn_pre_nms_top_n, rpn_post_nms_top_n=rpn_post_nms_top_n, threshold=threshold,
            rpn_min_size=rpn_min_size, scales=scales, ratios=ratios, feature_stride=feature_stride,
            iou_loss=iou_loss,
        )  # fmt: skip
        return _propose(short, cls_prob, bbox_pred, im_info, attrs)

    operator(name, outputs=("output", "score"), visible=_visible, param_shapes=_inputs, grad=zero_grad)(propose)


_register("_contrib_Proposal", False)
_register("_contrib_MultiProposal", True)
