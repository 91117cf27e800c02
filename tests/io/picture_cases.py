"""Settings of the image record iterators whose results do not depend on random numbers, for both libraries."""

from __future__ import annotations

from typing import Any

SMALL = (3, 12, 16)
# Name -> (iterator, arguments). Paths are names in tests/data/files.
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("ImageRecordIter", {}),
    "v1": ("ImageRecordIter_v1", {}),
    "gray": ("ImageRecordIter", {"data_shape": (1, 12, 16)}),
    "alpha": ("ImageRecordIter", {"path_imgrec": "alpha.rec", "data_shape": (4, 12, 16), "batch_size": 3}),
    "enlarged": ("ImageRecordIter", {"data_shape": (3, 64, 58), "batch_size": 2}),
    "mirror": ("ImageRecordIter", {"mirror": True}),
    "normalized": (
        "ImageRecordIter",
        {
            "mean_r": 123.68, "mean_g": 116.28, "mean_b": 103.53, "std_r": 58.395, "std_g": 57.12, "std_b": 57.375,
            "scale": 0.5, "mirror": 1,
        },
    ),
    "normalized_v1": ("ImageRecordIter_v1", {"mean_r": 12.5, "std_g": 3, "scale": 0.1}),
    "uint8": ("ImageRecordUInt8Iter", {"mirror": True, "mean_r": 10}),
    "uint8_v1": ("ImageRecordUInt8Iter_v1", {}),
    "int8": ("ImageRecordInt8Iter", {"mean_r": 100.5, "mean_g": 117, "mean_b": 90.4, "scale": 0.5}),
    "dtype": ("ImageRecordIter", {"dtype": "int8"}),
    "labels": ("ImageRecordIter", {"path_imglist": "pictures.lst", "label_width": 2}),
    "one_label": ("ImageRecordIter", {"path_imglist": "pictures.lst"}),
    "index": ("ImageRecordIter", {"path_imgidx": "pictures.idx"}),
    "big_batch": ("ImageRecordIter", {"batch_size": 10, "data_shape": (3, 4, 5)}),
    "pad": ("ImageRecordIter", {"data_shape": (3, 42, 42), "pad": 5, "fill_value": 9, "batch_size": 7}),
    "square": ("ImageRecordIter", {"min_crop_size": 30, "max_crop_size": 30}),
    "square_area": ("ImageRecordIter", {"min_crop_size": 30, "max_crop_size": 30, "inter_method": 3}),
    "resized_crop": ("ImageRecordIter", {"random_resized_crop": True, "resize": 20}),
    **{
        f"part{number}": ("ImageRecordIter", {"num_parts": 3, "part_index": number, "batch_size": 1})
        for number in range(3)
    },
    **{
        f"indexed_part{number}": (
            "ImageRecordIter",
            {"num_parts": 3, "part_index": number, "batch_size": 1, "path_imgidx": "pictures.idx"},
        )
        for number in range(3)
    },
    **{f"resize{method}": ("ImageRecordIter", {"resize": 18, "inter_method": method}) for method in (0, 1, 2, 3, 4, 9)},
    **{
        f"larger{method}": ("ImageRecordIter", {"data_shape": (3, 50, 52), "inter_method": method, "batch_size": 4})
        for method in (0, 1, 2, 3, 4, 9)
    },
    "rotate": ("ImageRecordIter", {"rotate": 30}),
    "rotate_cubic": ("ImageRecordIter", {"rotate": 30, "inter_method": 2}),
    "scaled": ("ImageRecordIter", {"min_random_scale": 0.75, "max_random_scale": 0.75}),
    "proportions": ("ImageRecordIter", {"min_aspect_ratio": 1.4, "max_aspect_ratio": 1.4, "fill_value": 0}),
    "max_size": ("ImageRecordIter", {"max_img_size": 30}),
    "min_size": ("ImageRecordIter", {"min_img_size": 70, "data_shape": (3, 60, 60), "batch_size": 2}),
    "boxes": ("ImageDetRecordIter", {"path_imgrec": "boxes.rec", "batch_size": 7}),
    "boxes_mirror": ("ImageDetRecordIter", {"path_imgrec": "boxes.rec", "rand_mirror_prob": 1, "label_pad_width": 30}),
    "boxes_shrink": (
        "ImageDetRecordIter",
        {"path_imgrec": "boxes.rec", "resize": 40, "data_shape": (3, 40, 40), "resize_mode": "shrink"},
    ),
    "boxes_normalized": (
        "ImageDetRecordIter",
        {"path_imgrec": "boxes.rec", "mean_r": 10, "mean_g": 20, "std_b": 4, "scale": 0.25, "label_pad_value": -7},
    ),
}  # fmt: skip
# Cases in which all batches of two epochs count; of the others, the first two batches are looked at.
WHOLE = ("plain", "v1", "index", "big_batch", "one_label")
_FILES = ("path_imgrec", "path_imglist", "path_imgidx")


def arguments(folder: str, case: dict[str, Any]) -> dict[str, Any]:
    """All arguments of a case, its files in a folder."""
    given = {"path_imgrec": "pictures.rec", "data_shape": SMALL, "batch_size": 3, "verbose": False, **case}
    return {key: f"{folder}/{value}" if key in _FILES else value for key, value in given.items()}


def epochs(mx: Any, folder: str, name: str) -> dict[str, Any]:
    """Data, labels and padding of some epochs of a case, as NumPy arrays."""
    kind, case = CASES[name]
    iterator = getattr(mx.io, kind)(**arguments(folder, case))
    found: dict[str, Any] = {}
    for epoch in range(2 if name in WHOLE else 1):
        if epoch:
            iterator.reset()
        for number, batch in enumerate(iterator):
            if number > 1 and name not in WHOLE:
                break
            found[f"{epoch}/{number}/data"] = batch.data[0].asnumpy()
            found[f"{epoch}/{number}/label"] = batch.label[0].asnumpy()
            found[f"{epoch}/{number}/pad"] = batch.pad
    return found
