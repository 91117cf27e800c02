"""Record what the detection augmenters of the real MXNet do (run it with that MXNet from the root).

Writes tests/data/files/detection.npz: for every seed the label and the mean of the pixels.
"""

from __future__ import annotations

import pathlib
import random
from typing import Any

import numpy as np

FILE = pathlib.Path(__file__).resolve().parent.parent / "data" / "files" / "detection.npz"
SETTINGS: dict[str, dict[str, Any]] = {
    "crop": {"rand_crop": 1, "min_object_covered": [0.3, 0.6], "area_range": (0.1, 0.9)},
    "pad": {"rand_pad": 1, "area_range": (0.1, 4.0), "rand_mirror": True},
    "all": {
        "resize": 30, "rand_crop": 0.7, "rand_pad": 0.7, "rand_gray": 0.3, "rand_mirror": True, "mean": True,
        "std": True, "brightness": 0.1, "contrast": 0.1, "saturation": 0.1, "hue": 0.1, "inter_method": 1,
    },
}  # fmt: skip
BOXES = np.array([[1, 0.1, 0.2, 0.5, 0.6, 9], [0, 0.4, 0.3, 0.9, 0.95, 8], [2, 0.7, 0.05, 0.8, 0.2, 7]], np.float32)


def run(mx: Any, name: str, seed: int) -> tuple[np.ndarray, float]:
    """The label and the mean after the augmenters of one setting."""
    random.seed(seed)
    np.random.seed(seed)
    steps = mx.image.CreateDetAugmenter((3, 24, 20), **SETTINGS[name])
    pixels = (np.arange(40 * 36 * 3) * 7 % 251).astype(np.uint8).reshape(40, 36, 3)
    image, label = mx.nd.array(pixels, dtype="uint8"), BOXES.copy()
    for step in steps:
        image, label = step(image, label)
    return label, float(image.asnumpy().mean())


if __name__ == "__main__":
    import mxnet

    recorded = {}
    for case in SETTINGS:
        for number in range(12):
            label, mean = run(mxnet, case, number)
            recorded[f"{case}/{number}/label"], recorded[f"{case}/{number}/mean"] = label, np.array(mean)
    np.savez_compressed(FILE, **recorded)
