"""Samples of operators on bounding boxes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng

r = rng(301)


def boxes(*shape: int, dtype: str = "float32", center: bool = False) -> np.ndarray:
    """Boxes in the unit square."""
    place, size = r.uniform(0, 0.6, (*shape, 2)), r.uniform(0.1, 0.4, (*shape, 2))
    pair = (place + size / 2, size) if center else (place, place + size)
    return np.concatenate(pair, axis=-1).astype(dtype)


def detections(*shape: int, dtype: str = "float32", center: bool = False) -> np.ndarray:
    """Rows of class, score, box."""
    scores = r.permutation(int(np.prod(shape))).reshape(*shape, 1) / np.prod(shape)
    classes = r.randint(0, 3, (*shape, 1))
    return np.concatenate([classes, scores, boxes(*shape, center=center)], axis=-1).astype(dtype)


def nms(data: np.ndarray, **attrs: Any) -> Sample:
    return Sample("_contrib_box_nms", (data,), attrs, numeric_grad=False)


FIVE = detections(2, 7)
BOX_STDS = {"std0": 0.1, "std1": 0.1, "std2": 0.2, "std3": 0.2}


def encode(batch: int, anchors: int, refs: int, dtype: str) -> tuple[np.ndarray, ...]:
    return (
        r.randint(0, 2, (batch, anchors)).astype(dtype),
        r.randint(0, refs, (batch, anchors)).astype(dtype),
        boxes(batch, anchors, dtype=dtype),
        boxes(batch, refs, dtype=dtype),
        np.array([0, 0.1, 0, -0.1], dtype),
        np.array([0.1, 0.1, 0.2, 0.2], dtype),
    )


def targets(batch: int, anchors: int, labels: int, dtype: str = "float32") -> tuple[np.ndarray, ...]:
    rows = np.concatenate([r.randint(0, 2, (batch, labels, 1)), boxes(batch, labels)], axis=-1)
    rows[0, labels - 1] = -1
    return boxes(1, anchors, dtype=dtype), rows.astype(dtype), r.uniform(-2, 2, (batch, 3, anchors)).astype(dtype)


def predictions(batch: int, classes: int, anchors: int, dtype: str = "float32") -> tuple[np.ndarray, ...]:
    scores = r.uniform(0, 1, (batch, classes, anchors))
    return (
        (scores / scores.sum(axis=1, keepdims=True)).astype(dtype),
        r.uniform(-1, 1, (batch, anchors * 4)).astype(dtype),
        boxes(1, anchors, dtype=dtype),
    )


NO_LABELS = (boxes(1, 3), np.full((1, 2, 5), -1, "float32"), r.uniform(-1, 1, (1, 2, 3)).astype("float32"))

SAMPLES = [
    Sample("_contrib_box_iou", (boxes(3), boxes(2, 2)), grad=()),
    Sample("_contrib_box_iou", (boxes(2, 3, center=True), boxes(4, center=True)), {"format": "center"}, grad=()),
    Sample("_contrib_box_iou", (boxes(3, dtype="float64"), boxes(2, dtype="float64")), grad=(0, 1), numeric_grad=False),
    nms(FIVE),
    nms(FIVE, overlap_thresh=0.1, id_index=0),
    nms(FIVE, overlap_thresh=0.1, id_index=0, force_suppress=True, valid_thresh=0.3),
    nms(FIVE, overlap_thresh=0.2, id_index=0, background_id=1, topk=3),
    nms(FIVE, overlap_thresh=0.2, out_format="center"),
    nms(detections(6, center=True), overlap_thresh=0.2, in_format="center"),
    nms(detections(6, dtype="float64", center=True), overlap_thresh=0.2, in_format="center", out_format="center"),
    nms(FIVE, topk=0),
    nms(FIVE, valid_thresh=5.0),
    nms(detections(1, 2, 4, dtype="float16"), overlap_thresh=0.2),
    Sample("_contrib_bipartite_matching", (r.uniform(0, 1, (3, 4)).astype("float32"),), {"threshold": 0.2}, grad=(0,),
           numeric_grad=False),
    Sample("_contrib_bipartite_matching", (r.uniform(0, 1, (2, 4, 3)).astype("float32"),),
           {"threshold": 0.6, "is_ascend": True}, grad=()),
    Sample("_contrib_bipartite_matching", (r.uniform(0, 1, (4, 4)).astype("float64"),), {"threshold": 0.1, "topk": 2},
           grad=()),
    Sample("_contrib_box_encode", encode(2, 3, 2, "float32"), grad=(), rtol=1e-4, atol=1e-5),
    Sample("_contrib_box_encode", encode(1, 4, 3, "float64"), grad=()),
    Sample("_contrib_box_decode", (r.uniform(-1, 1, (2, 3, 4)).astype("float32"), boxes(1, 3, center=True)), BOX_STDS,
           grad=()),
    Sample("_contrib_box_decode", (r.uniform(-1, 1, (1, 3, 4)).astype("float64"), boxes(1, 3, dtype="float64")),
           {**BOX_STDS, "format": "corner", "clip": 0.1}, grad=()),
    Sample("_contrib_MultiBoxPrior", (np.zeros((1, 3, 3, 4), "float32"),), grad=()),
    Sample("_contrib_MultiBoxPrior", (np.zeros((2, 1, 2, 3), "float32"),),
           {"sizes": (0.75, 0.5, 0.25), "ratios": (1, 2, 0.5), "clip": True}, grad=()),
    Sample("_contrib_MultiBoxPrior", (np.zeros((1, 1, 3, 2), "float32"),),
           {"sizes": (0.4,), "ratios": (2, 1), "steps": (0.3, 0.4), "offsets": (0.2, 0.7)}, grad=()),
    Sample("_contrib_MultiBoxTarget", targets(2, 6, 3), grad=(), rtol=1e-4, atol=1e-5),
    Sample("_contrib_MultiBoxTarget", targets(2, 8, 2), {"overlap_threshold": 0.3, "ignore_label": -3.0,
           "negative_mining_ratio": 2.0, "negative_mining_thresh": 0.4}, grad=(), rtol=1e-4, atol=1e-5),
    Sample("_contrib_MultiBoxTarget", targets(1, 8, 3), {"overlap_threshold": 0.2, "variances": (0.2, 0.3, 0.4, 0.5)},
           grad=(), rtol=1e-4, atol=1e-5),
    Sample("_contrib_MultiBoxTarget", NO_LABELS, grad=()),
    Sample("_contrib_MultiBoxDetection", predictions(2, 3, 6), grad=(), rtol=1e-4, atol=1e-5),
    Sample("_contrib_MultiBoxDetection", predictions(2, 4, 8),
           {"nms_threshold": 0.2, "force_suppress": True, "clip": False, "threshold": 0.3}, grad=(), rtol=1e-4,
           atol=1e-5),
    Sample("_contrib_MultiBoxDetection", predictions(1, 3, 7), {"nms_topk": 3, "nms_threshold": 0.3}, grad=(),
           rtol=1e-4, atol=1e-5),
    Sample("_contrib_MultiBoxDetection", predictions(1, 3, 5), {"nms_threshold": 0.0, "threshold": 0.5},
           grad=()),
]  # fmt: skip

ERROR_SAMPLES = [
    ErrorSample("_contrib_MultiBoxTarget", "one size", (*targets(2, 6, 3)[:2], targets(1, 6, 3)[2])),
    ErrorSample("_contrib_MultiBoxDetection", "one size", (predictions(2, 3, 6)[0], *predictions(1, 3, 6)[1:])),
    ErrorSample("_contrib_box_nms", r"at least 5 elements", (np.zeros((2, 4), "float32"),)),
    ErrorSample("_contrib_box_nms", r"conflict with coordinates", (FIVE,), {"score_index": 3}),
    ErrorSample("_contrib_box_iou", r"must be 4", (np.zeros((2, 3), "float32"), boxes(2))),
    ErrorSample("_contrib_MultiBoxPrior", r"should be 4D", (np.zeros((2, 3), "float32"),)),
    ErrorSample("_contrib_MultiBoxTarget", r"anchors mismatch", (boxes(1, 3), NO_LABELS[1], np.zeros((1, 2, 4), "f"))),
    ErrorSample("_contrib_MultiBoxDetection", r"anchors mismatch", (*predictions(1, 2, 3)[:2], boxes(1, 4))),
]
