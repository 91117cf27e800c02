"""Samples of operators on images."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng

r = rng(304)


def picture(*shape: int, dtype: str = "float32") -> np.ndarray:
    return r.randint(0, 256, shape).astype(dtype)


def change(name: str, data: np.ndarray, **attrs: Any) -> Sample:
    """A sample without a choice: bytes may differ by one where float32 rounds, gradients pass unchanged."""
    atol = 1.0 if data.dtype == "uint8" else 2e-2
    return Sample(f"_image_{name}", (data,), attrs, numeric_grad=False, rtol=1e-4, atol=atol)


def chance(name: str, data: np.ndarray, tag: str = "", **attrs: Any) -> Sample:
    why = "random"
    return Sample(f"_image_{name}", (data,), attrs, grad=(), oracle=False, why=why, tag=tag)


def shrunk(data: np.ndarray, atol: float = 1.0, **attrs: Any) -> Sample:
    return Sample("_image_resize", (data,), attrs, grad=(), numeric_grad=False, rtol=1e-3, atol=atol)


PHOTO = picture(5, 7, 3, dtype="uint8")
FLOATS = picture(4, 6, 3)

SAMPLES = [
    Sample("_image_to_tensor", (PHOTO,), {}, lambda x: x.transpose(2, 0, 1) / 255.0, grad=()),
    Sample("_image_to_tensor", (picture(2, 3, 4, 1),), {}, lambda x: x.transpose(0, 3, 1, 2) / 255.0, grad=()),
    Sample("_image_to_tensor", (picture(3, 2, 2, dtype="int32"),), grad=()),
    Sample("_image_to_tensor", (picture(3, 2, 2, dtype="float64"),), grad=()),
    Sample("_image_normalize", (FLOATS.transpose(2, 0, 1).copy(),), {"mean": (1.0, 2.0, 3.0), "std": (2.0, 3.0, 4.0)}),
    Sample("_image_normalize", (picture(2, 1, 3, 3),), {"mean": 0.5, "std": (0.25,)}),
    Sample("_image_normalize", (picture(3, 2, 2, dtype="float64"),), {"mean": (0.1, 0.2, 0.3), "std": 2.0}),
    Sample("_image_normalize", (picture(3, 2, 2, dtype="int32"),), {"mean": 100.0, "std": 3.0}, grad=()),
    Sample("_image_crop", (FLOATS,), {"x": 1, "y": 2, "width": 3, "height": 2}, lambda x: x[2:4, 1:4]),
    Sample("_image_crop", (picture(2, 4, 5, 1),), {"x": 0, "y": 1, "width": 5, "height": 3}),
    Sample("_image_crop", (PHOTO,), {"x": 6, "y": 4, "width": 1, "height": 1}),
    *(shrunk(PHOTO, size=size, interp=method) for method in range(5) for size in ((3, 4), (12, 9))),
    *(shrunk(FLOATS, 0.05, size=size, interp=method) for method in range(5) for size in ((4, 3), (9, 7))),
    shrunk(picture(6, 8, 3, dtype="uint8"), size=(4, 3)),
    shrunk(picture(6, 8, 1, dtype="uint8"), size=(4, 2), interp=3),
    shrunk(picture(2, 6, 8, 3, dtype="uint8"), size=3, keep_ratio=True),
    shrunk(picture(6, 4, 3), 0.05, size=3, keep_ratio=True),
    shrunk(picture(5, 5, 3, dtype="float64"), 0.05, size=7),
    change("flip_left_right", FLOATS),
    change("flip_left_right", picture(3, 4, 1, dtype="uint8")),
    change("flip_top_bottom", FLOATS),
    change("flip_top_bottom", picture(2, 3, 1, dtype="uint8")),
    change("random_brightness", FLOATS, min_factor=1.5, max_factor=1.5),
    change("random_brightness", PHOTO, min_factor=2.0, max_factor=2.0),
    change("random_contrast", FLOATS, min_factor=0.6, max_factor=0.6),
    change("random_contrast", PHOTO, min_factor=1.7, max_factor=1.7),
    change("random_contrast", picture(3, 3, 1), min_factor=0.4, max_factor=0.4),
    change("random_saturation", FLOATS, min_factor=0.3, max_factor=0.3),
    change("random_saturation", PHOTO, min_factor=1.8, max_factor=1.8),
    change("random_saturation", picture(3, 3, 1), min_factor=0.4, max_factor=0.4),
    change("random_hue", FLOATS, min_factor=0.2, max_factor=0.2),
    change("random_hue", PHOTO, min_factor=0.7, max_factor=0.7),
    change("random_hue", np.full((2, 2, 3), 90, "float32"), min_factor=0.1, max_factor=0.1),
    change("adjust_lighting", FLOATS, alpha=(0.1, -0.2, 0.05)),
    change("adjust_lighting", PHOTO, alpha=(0.01, 0.05, -0.02)),
    change("random_lighting", FLOATS, alpha_std=0.0),
    chance("random_lighting", PHOTO),
    chance("random_flip_left_right", PHOTO),
    chance("random_flip_left_right", FLOATS, "float"),
    chance("random_flip_top_bottom", PHOTO),
    chance("random_flip_top_bottom", FLOATS, "float"),
    Sample("_image_random_color_jitter", (FLOATS,), {"brightness": 0.0, "contrast": 0.0, "saturation": 0.0, "hue": 0.0},
           lambda x: x, grad=(), oracle=False, why="MXNet returns memory that it never wrote"),  # fmt: skip
    chance("random_color_jitter", FLOATS, brightness=0.4, contrast=0.3, saturation=0.2, hue=0.1),
    chance("random_color_jitter", PHOTO, "one", brightness=0.4, contrast=0.0, saturation=0.0, hue=0.0),
    chance("random_brightness", PHOTO, min_factor=0.5, max_factor=1.5),
]

ERROR_SAMPLES = [
    ErrorSample("_image_to_tensor", r"must have shape", (picture(2, 3),)),
    ErrorSample("_image_normalize", r"1 or 3 elements", (picture(2, 3, 3),)),
    ErrorSample("_image_normalize", r"Invalid mean", (picture(3, 2, 2),), {"mean": (1, 2), "std": 1.0}),
    ErrorSample("_image_crop", r"greater than input width", (FLOATS,), {"x": 4, "y": 0, "width": 4, "height": 1}),
    ErrorSample("_image_resize", r"uint8, float32 or float64", (picture(3, 3, 3, dtype="int32"),), {"size": 2}),
    ErrorSample("_image_resize", r"dimension must be 1 or 2", (FLOATS,)),
    ErrorSample("_image_flip_left_right", r"channel dimension", (picture(2, 2, 2),)),
    ErrorSample("_image_random_hue", r"must have shape", (picture(2, 2),), {"min_factor": 0.0, "max_factor": 1.0}),
]
