"""Samples of operators that pool regions and bend windows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng

r = rng(302)


def draw(*shape: int, low: float = -1, high: float = 1, dtype: str = "float32") -> np.ndarray:
    return r.uniform(low, high, shape).astype(dtype)


ROIS = np.array(
    [[0, 0.3, 0.7, 4.1, 3.2], [1, 1.2, 2.1, 5.6, 4.4], [0, 2.2, 2.4, 2.6, 2.9], [1, -2, -3, 9, 12]], "float32"
)
ROTATED = np.array([[0, 3.1, 2.7, 4.2, 3.1, 30], [1, 2.2, 3.3, 1.1, 5.2, -75], [0, 1, 1, 0.3, 0.4, 0]], "float32")
LOOSE = {"rtol": 1e-4, "atol": 1e-5}


def align(rois: np.ndarray = ROIS, channels: int = 2, dtype: str = "float32", **attrs: Any) -> Sample:
    given = {"pooled_size": (2, 3), "spatial_scale": 1.0, **attrs}
    return Sample("_contrib_ROIAlign", (draw(2, channels, 6, 7, dtype=dtype), rois.astype(dtype)), given, grad=(0, 1),
                  numeric_grad=False, **LOOSE)  # fmt: skip


def convolution(
    modulated: bool, dtype: str = "float32", bias: bool = True, spread: float = 0.8, **attrs: Any
) -> Sample:
    given = {"kernel": (3, 3), "num_filter": 4, "pad": (1, 1), "no_bias": not bias, **attrs}
    bent = given.get("num_deformable_group", 1)
    groups = given.get("num_group", 1)
    stride, pad, dilate = given.get("stride", (1, 1)), given["pad"], given.get("dilate", (1, 1))
    rows, columns = ((n + 2 * p - (2 * d + 1)) // s + 1 for n, p, d, s in zip((5, 6), pad, dilate, stride))
    inputs = [draw(2, 4, 5, 6, dtype=dtype), draw(2, 18 * bent, rows, columns, low=0.1, high=spread, dtype=dtype)]
    if modulated:
        inputs.append(draw(2, 9 * bent, rows, columns, low=0.2, dtype=dtype))
    inputs.append(draw(4, 4 // groups, 3, 3, dtype=dtype))
    if bias:
        inputs.append(draw(4, dtype=dtype))
    name = "_contrib_ModulatedDeformableConvolution" if modulated else "_contrib_DeformableConvolution"
    # Steps of the numeric gradient cross pixel borders at the image's edge.
    return Sample(name, tuple(inputs), given, numeric_grad=False, rtol=1e-3, atol=1e-4)


def proposals(op: str, batch: int = 1, **attrs: Any) -> Sample:
    given = {"scales": (2.0, 4.0), "ratios": (0.5, 1.0), "feature_stride": 4, "rpn_min_size": 2,
             "rpn_post_nms_top_n": 6, "rpn_pre_nms_top_n": 20, "output_score": True, **attrs}  # fmt: skip
    kinds = len(given["scales"]) * len(given["ratios"])
    scores = r.permutation(batch * 2 * kinds * 12).reshape(batch, 2 * kinds, 3, 4) / (batch * 2 * kinds * 12)
    info = np.array([[12.0, 16.0, 1.0]] * batch, "float32")
    return Sample(
        f"_contrib_{op}", (scores.astype("float32"), draw(batch, 4 * kinds, 3, 4, low=-0.3, high=0.3), info), given,
        grad=(), rtol=1e-4, atol=1e-4,
    )  # fmt: skip


PS = {"spatial_scale": 0.9, "output_dim": 2, "pooled_size": 2}
BENT = {"spatial_scale": 0.9, "output_dim": 2, "group_size": 2, "pooled_size": 2, "sample_per_part": 2}

SAMPLES = [
    align(),
    align(sample_ratio=2, spatial_scale=0.6),
    align(sample_ratio=3, rois=ROIS[:3], aligned=True),
    align(rois=ROIS[:3], aligned=True, pooled_size=(3, 3), dtype="float64"),
    align(spatial_scale=0.5, sample_ratio=1),
    align(channels=12, position_sensitive=True),
    align(pooled_size=(1, 1), spatial_scale=0.9),
    Sample("_contrib_RROIAlign", (draw(2, 2, 6, 7), ROTATED), {"pooled_size": (2, 2), "spatial_scale": 1.0}, grad=(),
           **LOOSE),
    Sample("_contrib_RROIAlign", (draw(2, 1, 5, 5), ROTATED),
           {"pooled_size": (2, 3), "spatial_scale": 0.8, "sampling_ratio": 2}, grad=(), **LOOSE),
    Sample("_contrib_PSROIPooling", (draw(2, 8, 6, 7), ROIS), PS, grad=(0, 1), numeric_grad=False, **LOOSE),
    Sample("_contrib_PSROIPooling", (draw(2, 8, 6, 7, dtype="float64"), ROIS.astype("float64")),
           {**PS, "pooled_size": 3, "group_size": 2}, grad=(0,)),
    Sample("_contrib_DeformablePSROIPooling", (draw(2, 8, 6, 7), ROIS, draw(4, 2, 2, 2)), {**BENT, "trans_std": 0.1},
           grad=(0, 2), numeric_grad=False, **LOOSE),
    Sample("_contrib_DeformablePSROIPooling", (draw(2, 8, 6, 7), ROIS), {**BENT, "no_trans": True}, grad=(0,),
           numeric_grad=False, **LOOSE),
    Sample("_contrib_DeformablePSROIPooling",
           (draw(2, 2, 5, 5, dtype="float64"), ROIS.astype("float64"), draw(4, 4, 3, 3, dtype="float64")),
           {**BENT, "group_size": 1, "pooled_size": 3, "part_size": 3, "trans_std": 0.2}, grad=(0, 2),
           numeric_grad=False),
    convolution(False),
    convolution(False, dtype="float64", num_deformable_group=2, num_group=2, stride=(2, 1)),
    convolution(False, bias=False, pad=(2, 2), dilate=(2, 2), spread=2.5),
    convolution(True),
    convolution(True, dtype="float64", num_deformable_group=2, num_group=2, stride=(2, 1)),
    convolution(True, bias=False, pad=(2, 2), dilate=(2, 2), spread=2.5),
    proposals("Proposal"),
    proposals("Proposal", iou_loss=True, threshold=0.4, rpn_post_nms_top_n=9),
    proposals("Proposal", output_score=False, rpn_min_size=6),
    proposals("MultiProposal", 2),
    proposals("MultiProposal", 2, threshold=0.3, rpn_pre_nms_top_n=-1),
]  # fmt: skip

ERROR_SAMPLES = [
    ErrorSample("_contrib_ROIAlign", r"bbox should be a 2D", (draw(1, 1, 3, 3), draw(2, 3)),
                {"pooled_size": (1, 1), "spatial_scale": 1}),
    ErrorSample("_contrib_PSROIPooling", r"channels", (draw(1, 7, 3, 3), ROIS), PS),
    ErrorSample("_contrib_DeformableConvolution", r"offset must be",
                (draw(1, 2, 4, 4), draw(1, 4, 4, 4), draw(2, 2, 3, 3)), {"kernel": (3, 3), "num_filter": 2,
                 "no_bias": True}),
    ErrorSample("_contrib_Proposal", r"multiple images",
                (draw(2, 8, 2, 2), draw(2, 16, 2, 2), draw(2, 3)), {"scales": (1, 2), "ratios": (1, 2)}),
]  # fmt: skip
