"""ImageDetRecordIter: batches of pictures with boxes from RecordIO files."""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gluonjax._base.attrs import BOOL, DTYPE, FLOAT, FLOATS, INT, SHAPE, STR, choice, optional
from gluonjax._base.errors import MXNetError, OperatorError
from gluonjax._files.record_split import RawRecord, SequentialRecords
from gluonjax._images.box_augment import BoxAugment
from gluonjax._images.draws import Draws
from gluonjax._images.normalize import planes_of
from gluonjax.io._ahead import AheadReader, RowFiller
from gluonjax.io._image_record import (
    Fields,
    ahead,
    check_reading,
    choose_dtype,
    decode_channels,
    load_mean_image,
    passes_over,
    read_label_list,
)  # fmt: skip
from gluonjax.io._native import Settings, creator
from gluonjax.recordio import unpack

_NAME = "ImageDetRecordIter"
# Before the labels stand the picture's channels, rows and columns, and how many labels there are.
_HEAD = 4
_COLOURS = ("r", "g", "b", "a")

_READING: Fields = {
    "path_imglist": (STR, ""), "path_imgrec": (STR, "./data/imgrec.rec"), "aug_seq": (STR, "det_aug_default"),
    "label_width": (INT, -1), "data_shape": (SHAPE,), "preprocess_threads": (INT, 4), "verbose": (BOOL, True),
    "num_parts": (INT, 1), "part_index": (INT, 0), "shuffle_chunk_size": (INT, 0), "shuffle_chunk_seed": (INT, 0),
    "label_pad_width": (INT, 0), "label_pad_value": (FLOAT, -1.0), "shuffle": (BOOL, False), "seed": (INT, 0),
    "batch_size": (INT,), "round_batch": (BOOL, True), "prefetch_buffer": (INT, 4),
    "ctx": (choice("cpu", "gpu"), "gpu"), "dtype": (optional(DTYPE), None),
}  # fmt: skip
_AUGMENTING: Fields = {
    "resize": (INT, -1), "rand_crop_prob": (FLOAT, 0.0), "min_crop_scales": (FLOATS, (0.0,)),
    "max_crop_scales": (FLOATS, (1.0,)), "min_crop_aspect_ratios": (FLOATS, (1.0,)),
    "max_crop_aspect_ratios": (FLOATS, (1.0,)), "min_crop_overlaps": (FLOATS, (0.0,)),
    "max_crop_overlaps": (FLOATS, (1.0,)), "min_crop_sample_coverages": (FLOATS, (0.0,)),
    "max_crop_sample_coverages": (FLOATS, (1.0,)), "min_crop_object_coverages": (FLOATS, (0.0,)),
    "max_crop_object_coverages": (FLOATS, (1.0,)), "num_crop_sampler": (INT, 1),
    "crop_emit_mode": (choice("center", "overlap"), "center"), "emit_overlap_thresh": (FLOAT, 0.3),
    "max_crop_trials": (SHAPE, (25,)), "rand_pad_prob": (FLOAT, 0.0), "max_pad_scale": (FLOAT, 1.0),
    "max_random_hue": (INT, 0), "random_hue_prob": (FLOAT, 0.0), "max_random_saturation": (INT, 0),
    "random_saturation_prob": (FLOAT, 0.0), "max_random_illumination": (INT, 0),
    "random_illumination_prob": (FLOAT, 0.0), "max_random_contrast": (FLOAT, 0.0), "random_contrast_prob": (FLOAT, 0.0),
    "rand_mirror_prob": (FLOAT, 0.0), "fill_value": (INT, 127), "inter_method": (INT, 1),
    "resize_mode": (choice("fit", "force", "shrink"), "force"),
}  # fmt: skip
_NORMALIZING: Fields = {
    "mean_img": (STR, ""), **{f"mean_{colour}": (FLOAT, 0.0) for colour in _COLOURS},
    **{f"std_{colour}": (FLOAT, 0.0) for colour in _COLOURS}, "scale": (FLOAT, 1.0),
}  # fmt: skip


@dataclass
class _DetNormalize:
    """``(value - mean) / std * scale``; deviations of 0 are left out, and a mean image counts only without means."""

    mean: tuple[float, ...]
    std: tuple[float, ...]
    scale: float
    mean_image: np.ndarray | None = None

    def write(self, pixels: np.ndarray, out: np.ndarray) -> None:
        """Write the planes of a picture to ``out``, (channels, height, width); smaller pictures to its corner."""
        rows, columns = pixels.shape[:2]
        out[:, rows:], out[:, :, columns:] = 0, 0
        by_channel = any(mean > 0 for mean in self.mean)
        for k, (plane, to) in enumerate(zip(planes_of(pixels), out[:, :rows, :columns])):
            values = plane.astype(np.float32)
            if by_channel:
                values -= np.float32(self.mean[k])
            elif self.mean_image is not None:
                values -= self.mean_image[k, :rows, :columns]
            if self.std[k] > 0:
                values /= np.float32(self.std[k])
            to[...] = values * np.float32(self.scale)


class _BoxFiller(RowFiller):
    """Decodes and augments the picture and the boxes of a record."""

    def __init__(
        self, augment: BoxAugment, repeats: int, normalize: _DetNormalize, labels: dict[int, np.ndarray] | None,
        options: dict[str, Any], dtype: np.dtype,
    ) -> None:  # fmt: skip
        width = options["label_pad_width"] + _HEAD
        super().__init__(options["batch_size"], options["data_shape"], (width,), dtype)
        self.augment = augment
        self.repeats = repeats
        self.normalize = normalize
        self.labels = labels
        self.label_width = options["label_width"]
        self.pad_value = options["label_pad_value"]

    def fill(self, record: RawRecord, seed: int, data: np.ndarray, label: np.ndarray) -> int:
        draws = Draws(seed)
        try:
            header, picture = unpack(memoryview(record.data))  # type: ignore[arg-type]
            pixels = decode_channels(picture, self.data_shape[0], header.id)
            numbers = _labels(header, self.labels, self.label_width)
            for _ in range(self.repeats):
                pixels, numbers = self.augment(pixels, numbers, draws)
            self.normalize.write(pixels, data)
            label[:] = self.pad_value
            rows, columns, channels = pixels.shape
            label[:_HEAD] = (channels, rows, columns, len(numbers))
            label[_HEAD : _HEAD + len(numbers)] = numbers
        except MXNetError as error:
            raise type(error)(f"{_NAME}: {record.where()}: {error}") from None
        return header.id


def _labels(header: Any, labels: dict[int, np.ndarray] | None, width: int) -> np.ndarray:
    if labels is not None:
        if header.id not in labels:
            raise MXNetError(f"fail to find imagelabel for id {header.id} in path_imglist")
        return labels[header.id]
    if not header.flag:
        raise MXNetError("Not enough label packed in img_list or rec file.")
    if width > 0 and header.flag != width:
        raise MXNetError(f"rec file provide {header.flag}-dimensional label but label_width is set to {width}")
    return header.label


def _widest(records: Iterable[RawRecord], width: int) -> int:
    widest = 0
    for record in records:
        try:
            widest = max(widest, len(_labels(unpack(record.data)[0], None, width)))
        except MXNetError as error:
            raise type(error)(f"{_NAME}: {record.where()}: {error}") from None
    return widest


def _pad_width(options: dict[str, Any], labels: dict[int, np.ndarray] | None) -> int:
    """How many numbers labels are filled up to: asked for, or what the longest has."""
    if labels is not None:
        widest = max((len(numbers) for numbers in labels.values()), default=0)
    else:
        part = SequentialRecords(_NAME, options["path_imgrec"], options["part_index"], options["num_parts"])
        widest = _widest(part.read(), options["label_width"])
    wanted = options["label_pad_width"]
    if wanted > 0 and widest > wanted:
        raise OperatorError(
            f"{_NAME}: label_pad_width: {wanted} smaller than estimated width: {widest}; raise it, or leave it out"
        )
    width = max(wanted, widest)
    if options["verbose"]:
        logging.info("%s: %s, label padding width: %d", _NAME, options["path_imgrec"], width)
    return width


def _reader(**options: Any) -> AheadReader:
    sequence = check_reading(_NAME, options, ("det_aug_default",))
    dtype = choose_dtype(_NAME, None, options["dtype"])
    if dtype.kind in "iu":
        raise OperatorError(f"{_NAME}: dtype must be a floating type, got {dtype}")
    augment = BoxAugment(**{key: options[key] for key in (*_AUGMENTING, "data_shape")})
    augment.check(_NAME)
    labels = None
    if options["path_imglist"]:
        labels = read_label_list(_NAME, options["path_imglist"], options["label_width"])
    options["label_pad_width"] = _pad_width(options, labels)
    mean, std = (tuple(options[f"{what}_{colour}"] for colour in _COLOURS) for what in ("mean", "std"))
    normalize = _DetNormalize(mean, std, options["scale"])
    filler = _BoxFiller(augment, len(sequence), normalize, labels, options, dtype)
    if options["mean_img"]:
        unscaled = copy.copy(filler)
        unscaled.normalize, unscaled.dtype = _DetNormalize((0.0,) * 4, (0.0,) * 4, 1.0), np.dtype(np.float32)

        def everything() -> AheadReader:
            plain = dict(options, shuffle=False, round_batch=False, verbose=False)
            return ahead(_NAME, plain, passes_over(_NAME, plain), unscaled)

        normalize.mean_image = load_mean_image(_NAME, options["mean_img"], options, everything)
    return ahead(_NAME, options, passes_over(_NAME, options), filler)


ImageDetRecordIter = creator(
    Settings(_NAME, **_READING, **_AUGMENTING, **_NORMALIZING),
    _reader,
    """Batches of pictures and the boxes in them, from RecordIO files.

    A row of labels: channels, rows and columns of the picture, the number of labels, then ``[header width, object
    width, more header ..., (id, left, top, right, bottom, more ...) for each object]`` and ``label_pad_value``.

    Args:
        path_imgrec: a RecordIO file, several with ``;`` between them, or a folder of them.
        path_imglist: a ``.lst`` file whose labels replace those in the records.
        data_shape: ``(channels, height, width)``.
        batch_size: pictures of a batch.
        label_width: how many labels every picture must have; -1 for any.
        label_pad_width: numbers to fill labels up to; 0 or -1: the longest label's.
        label_pad_value: what they are filled with.
        shuffle, seed, shuffle_chunk_size, num_parts, part_index, round_batch, preprocess_threads, prefetch_buffer,
            verbose: see ImageRecordIter.
        dtype: a floating type; float32.
        resize: shorter side to resize to before all else.
        rand_crop_prob: how often to cut a part: by one of ``num_crop_sampler`` samplers, each with limits for scale,
            proportions, overlap (IOU), ``sample_coverages`` (part of the cut) and ``object_coverages`` (part of an
            object), and ``max_crop_trials``.
        crop_emit_mode: which objects a cut keeps: those whose ``center`` is inside, or by their ``overlap`` of more
            than ``emit_overlap_thresh``.
        rand_pad_prob, max_pad_scale, fill_value: how often to put a border around, how large, and its value.
        max_random_hue, random_hue_prob, max_random_saturation, random_saturation_prob, max_random_illumination,
            random_illumination_prob, max_random_contrast, random_contrast_prob: how much colours vary, and how often.
        rand_mirror_prob: how often to mirror.
        inter_method: see ImageRecordIter.
        resize_mode: how a picture gets data_shape: ``force`` it, ``shrink`` those that are larger, ``fit`` either way
            at its own proportions.
        mean_r, mean_g, mean_b, mean_a, mean_img, std_r, std_g, std_b, std_a, scale: of the normalization.
        data_name, label_name: names of the arrays.

    Returns:
        An ``MXDataIter``.
    """,
)
