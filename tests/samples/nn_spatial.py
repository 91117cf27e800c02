"""Samples of operators on positions in images."""

from __future__ import annotations

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng

r = rng(300)


def draw(*shape: int, low: float = -1, high: float = 1, dtype: str = "float32") -> np.ndarray:
    return r.uniform(low, high, shape).astype(dtype)


def distinct(*shape: int, dtype: str = "float32") -> np.ndarray:
    """No two numbers are equal or close."""
    return (r.permutation(int(np.prod(shape))).reshape(shape) / 3.0).astype(dtype)


ROIS = np.array([[0, 0, 0, 4, 4], [1, 1.2, 2, 5.6, 4.4], [0, 3, 3, 3, 3], [1, -2, -3, 9, 12]], "float32")
AFFINE = np.array([[0.87, 0.1, 0.05, -0.2, 0.8, 0.1], [1.27, 0.02, 0.2, 0.1, 0.7, -0.27]], "float32")
DEVICE = {"transform_type": "affine", "sampler_type": "bilinear"}

SAMPLES = [
    Sample("ROIPooling", (distinct(2, 2, 6, 7), ROIS), {"pooled_size": (2, 3), "spatial_scale": 1.0}, grad=(0, 1),
           numeric_grad=False),  # fmt: skip
    Sample(
        "ROIPooling",
        (distinct(2, 1, 5, 5, dtype="float64"), ROIS.astype("float64")),
        {"pooled_size": (3, 2), "spatial_scale": 0.7},
        grad=(0,),
    ),
    Sample(
        "ROIPooling",
        (np.round(draw(1, 2, 4, 4, low=0, high=2)), np.array([[0, 0, 0, 3, 3], [5, 0, 0, 2, 2]], "float32")),
        {"pooled_size": (2, 2), "spatial_scale": 1.0},
        grad=(0,),
        numeric_grad=False,
        tag="ties and a missing image",
    ),
    Sample("BilinearSampler", (draw(2, 3, 4, 5), draw(2, 2, 3, 3, low=-0.9, high=0.9)), rtol=1e-4, atol=1e-5),
    Sample(
        "BilinearSampler",
        (draw(1, 2, 3, 3, dtype="float64"), draw(1, 2, 2, 4, low=-1.8, high=1.8, dtype="float64")),
        tag="beyond the edge",
    ),
    Sample("BilinearSampler", (draw(1, 1, 3, 3), np.zeros((1, 2, 2, 2), "f")), numeric_grad=False, tag="on pixels"),
    Sample("GridGenerator", (AFFINE,), {"transform_type": "affine", "target_shape": (3, 4)}),
    Sample("GridGenerator", (AFFINE[:1],), {"transform_type": "affine", "target_shape": (2, 2)}),
    Sample("GridGenerator", (draw(2, 2, 3, 4),), {"transform_type": "warp"}),
    Sample("GridGenerator", (draw(1, 2, 2, 5),), {"transform_type": "warp"}),
    Sample(
        "SpatialTransformer", (draw(2, 3, 4, 5), AFFINE), {"target_shape": (3, 4), **DEVICE}, rtol=1e-4, atol=1e-5
    ),
    Sample(
        "SpatialTransformer",
        (draw(2, 1, 3, 3, dtype="float64"), AFFINE.astype("float64")),
        {"target_shape": (5, 2), **DEVICE},
    ),
    Sample("Correlation", (draw(2, 3, 5, 6), draw(2, 3, 5, 6)), {"pad_size": 1}, rtol=1e-4, atol=1e-5),
    Sample(
        "Correlation",
        (draw(1, 2, 8, 9), draw(1, 2, 8, 9)),
        {"kernel_size": 3, "max_displacement": 2, "stride1": 2, "stride2": 2, "pad_size": 3},
        rtol=1e-4,
        atol=1e-5,
    ),
    Sample(
        "Correlation",
        (draw(1, 2, 5, 5, dtype="float64"), draw(1, 2, 5, 5, dtype="float64")),
        {"kernel_size": 1, "max_displacement": 1, "pad_size": 1, "is_multiply": False},
    ),
]

ERROR_SAMPLES = [
    ErrorSample("ROIPooling", r"should be a 4D", (draw(2, 3, 3), ROIS), {"pooled_size": (1, 1), "spatial_scale": 1}),
    ErrorSample(
        "ROIPooling",
        r"shape \[batch, 5\]",
        (draw(1, 1, 3, 3), ROIS[:, :4]),
        {"pooled_size": (1, 1), "spatial_scale": 1},
    ),
    ErrorSample("BilinearSampler", r"grid", (draw(1, 1, 3, 3), draw(1, 3, 2, 2))),
    ErrorSample("GridGenerator", r"affine matrix", (draw(2, 5),), {"transform_type": "affine", "target_shape": (2, 2)}),
    ErrorSample("GridGenerator", r"target_shape", (AFFINE,), {"transform_type": "affine"}),
    ErrorSample(
        "SpatialTransformer", r"should be 6", (draw(1, 1, 3, 3), draw(1, 5)), {"target_shape": (2, 2), **DEVICE}
    ),
    ErrorSample("Correlation", r"don't fit", (draw(1, 1, 2, 2), draw(1, 1, 2, 2)), {"max_displacement": 3}),
]
