"""ImageRecordIter and its variants: batches of augmented pictures from RecordIO files."""

from __future__ import annotations

import copy
import logging
import os
import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Protocol

import numpy as np

from gluonjax._base.attrs import BOOL, DTYPE, FLOAT, INT, SHAPE, STR, Kind, choice, optional
from gluonjax._base.devices import current_context
from gluonjax._base.errors import MXNetError, OperatorError
from gluonjax._files.atomic import atomic_write
from gluonjax._files.params import read_params, write_params
from gluonjax._files.record_split import IndexedRecords, RawRecord, SequentialRecords
from gluonjax._images.codecs import decode_as_stored, decode_pixels
from gluonjax._images.draws import Draws
from gluonjax._images.normalize import Normalize
from gluonjax._images.record_augment import RecordAugment
from gluonjax.io._ahead import AheadReader, RecordPasses, RowFiller, worker_count
from gluonjax.io._native import Settings, creator
from gluonjax.ndarray.ndarray import wrap
from gluonjax.recordio import unpack

Fields = dict[str, tuple[Kind] | tuple[Kind, Any]]
# What a random stream starts from where no seed is given; MXNet's too is the same in every run.
DEFAULT_SEED = 111
# Without an index, records are shuffled within pieces of the file of this size.
_CHUNK_BYTES = 64 << 20
_OTHER_DTYPES = ("float16", "float32", "float64", "bfloat16", "int8", "uint8")

READING: Fields = {
    "path_imglist": (STR, ""), "path_imgrec": (STR, ""), "path_imgidx": (STR, ""), "aug_seq": (STR, "aug_default"),
    "label_width": (INT, 1), "data_shape": (SHAPE,), "preprocess_threads": (INT, 4), "verbose": (BOOL, True),
    "num_parts": (INT, 1), "part_index": (INT, 0), "device_id": (INT, 0), "shuffle_chunk_size": (INT, 0),
    "shuffle_chunk_seed": (INT, 0), "seed_aug": (optional(INT), None), "shuffle": (BOOL, False), "seed": (INT, 0),
    "batch_size": (INT,), "round_batch": (BOOL, True), "prefetch_buffer": (INT, 4),
    "ctx": (choice("cpu", "gpu"), "gpu"), "dtype": (optional(DTYPE), None),
}  # fmt: skip
AUGMENTING: Fields = {
    "resize": (INT, -1), "rand_crop": (BOOL, False), "random_resized_crop": (BOOL, False),
    "max_rotate_angle": (INT, 0), "max_aspect_ratio": (FLOAT, 0.0), "min_aspect_ratio": (optional(FLOAT), None),
    "max_shear_ratio": (FLOAT, 0.0), "max_crop_size": (INT, -1), "min_crop_size": (INT, -1),
    "max_random_scale": (FLOAT, 1.0), "min_random_scale": (FLOAT, 1.0), "max_random_area": (FLOAT, 1.0),
    "min_random_area": (FLOAT, 1.0), "max_img_size": (FLOAT, 1e10), "min_img_size": (FLOAT, 0.0),
    "brightness": (FLOAT, 0.0), "contrast": (FLOAT, 0.0), "saturation": (FLOAT, 0.0), "pca_noise": (FLOAT, 0.0),
    "random_h": (INT, 0), "random_s": (INT, 0), "random_l": (INT, 0), "rotate": (INT, -1),
    "rotate_list": (SHAPE, ()), "fill_value": (INT, 255), "inter_method": (INT, 1), "pad": (INT, 0),
}  # fmt: skip
_COLOURS = ("r", "g", "b", "a")
NORMALIZING: Fields = {
    "mirror": (BOOL, False), "rand_mirror": (BOOL, False), "mean_img": (STR, ""),
    **{f"mean_{colour}": (FLOAT, 0.0) for colour in _COLOURS}, **{f"std_{colour}": (FLOAT, 1.0) for colour in _COLOURS},
    "scale": (FLOAT, 1.0), "max_random_contrast": (FLOAT, 0.0), "max_random_illumination": (FLOAT, 0.0),
}  # fmt: skip


class Augment(Protocol):
    """What is done to a picture after it was decoded."""

    def __call__(self, pixels: np.ndarray, draws: Draws) -> np.ndarray: ...


def read_label_list(name: str, path: str, width: int) -> dict[int, np.ndarray]:
    """Read the labels of a ``.lst`` file: lines of ``number <tab> label ... <tab> file name``.

    Args:
        name: the iterator, for errors.
        path: the file.
        width: how many labels a line has; below 1 all but the first and the last word are labels.

    Returns:
        For every number its labels, float32.
    """
    labels: dict[int, np.ndarray] = {}
    try:
        stream = open(path, encoding="utf-8")
    except OSError as error:
        raise MXNetError(f"{name}: cannot open {path!r}: {error.strerror}") from None
    with stream:
        for number, line in enumerate(stream, 1):
            words = line.split()
            if not words:
                continue
            found = words[1 : 1 + width] if width > 0 else words[1:-1]
            try:
                if len(found) < max(width, 1):
                    raise ValueError(f"{len(found)} labels")
                labels[int(words[0])] = np.array(found, np.float32)
            except ValueError as error:
                raise MXNetError(
                    f"{name}: Bad ImageList format: {path!r}, line {number}: wanted a number and "
                    f"{width if width > 0 else 'its'} labels, found {line.strip()[:80]!r} ({error})"
                ) from None
    return labels


class PictureFiller(RowFiller):
    """Decodes, augments and normalizes the picture of a record.

    Args:
        name: the iterator, for errors.
        augment: what to do with the pixels.
        normalize: how they become numbers.
        labels: for record numbers, where a list gave them.
        label_width: numbers of a label.
    """

    def __init__(
        self, name: str, augment: Augment, normalize: Normalize, labels: dict[int, np.ndarray] | None,
        label_width: int, batch_size: int, data_shape: tuple[int, int, int], dtype: np.dtype,
    ) -> None:  # fmt: skip
        super().__init__(batch_size, data_shape, () if label_width == 1 else (label_width,), dtype)
        self.name = name
        self.augment = augment
        self.normalize = normalize
        self.labels = labels
        self.label_width = label_width

    def fill(self, record: RawRecord, seed: int, data: np.ndarray, label: np.ndarray) -> int:
        draws = Draws(seed)
        try:
            header, picture = unpack(memoryview(record.data))  # type: ignore[arg-type]
            pixels = self.augment(decode_channels(picture, self.data_shape[0], header.id), draws)
            self.normalize.write(pixels, data, draws)
            label[...] = self._label(header)
        except MXNetError as error:
            raise type(error)(f"{self.name}: {record.where()}: {error}") from None
        return header.id

    def _label(self, header: Any) -> Any:
        if self.labels is not None:
            try:
                found = self.labels[header.id]
            except KeyError:
                raise MXNetError(f"fail to find imagelabel for id {header.id} in path_imglist") from None
            return found[0] if self.label_width == 1 else found
        if not header.flag:
            if self.label_width != 1:
                raise MXNetError(
                    "label_width must be 1 unless an imglist is provided or the rec file is packed with multi "
                    f"dimensional label; got label_width={self.label_width}"
                )
            return header.label
        if header.flag != self.label_width:
            raise MXNetError(
                f"rec file provide {header.flag}-dimensional label but label_width is set to {self.label_width}"
            )
        return header.label[0] if self.label_width == 1 else header.label


def decode_channels(picture: Any, channels: int, number: int) -> np.ndarray:
    """Decode to 1, 3 or 4 channels (blue, green, red, alpha); raises where the bytes do not hold that.

    Args:
        picture: the bytes.
        channels: how many.
        number: the record's, for errors.
    """
    pixels = decode_as_stored(picture) if channels == 4 else decode_pixels(picture, "BGR" if channels == 3 else "GRAY")
    if pixels is None:
        raise MXNetError(
            f"Invalid image with index {number}: {len(picture)} bytes that cannot be decoded, they start with "
            f"{bytes(picture[:12])!r}"
        )
    if channels == 4 and pixels.shape[2] != 4:
        raise MXNetError(f"Invalid image with index {number}. Expected 4 channels, got {pixels.shape[2]}")
    return pixels


def passes_over(name: str, options: dict[str, Any]) -> RecordPasses:
    """Where the records come from, in which order, as reading options say."""
    path, index = options["path_imgrec"], options.get("path_imgidx", "")
    if not path:
        raise OperatorError(f"{name}: must specify image_rec: the argument path_imgrec is missing")
    part = (options["part_index"], options["num_parts"])
    shuffler = random.Random(DEFAULT_SEED + options["seed"])
    one_pass: Callable[[], Iterator[RawRecord]]
    if index:
        indexed = IndexedRecords(name, path, index, *part)
        one_pass = partial(_shuffled_pass, indexed, shuffler) if options["shuffle"] else indexed.read
    else:
        in_order = SequentialRecords(name, path, *part)
        chunk = options["shuffle_chunk_size"] << 20 or _CHUNK_BYTES
        one_pass = partial(_shuffled_chunks, in_order, shuffler, chunk) if options["shuffle"] else in_order.read
    return RecordPasses(name, one_pass, options["batch_size"], options["round_batch"])


def _shuffled_pass(records: IndexedRecords, shuffler: random.Random) -> Iterator[RawRecord]:
    order = list(range(len(records.offsets)))
    shuffler.shuffle(order)
    return records.read(order)


def _shuffled_chunks(records: SequentialRecords, shuffler: random.Random, size: int) -> Iterator[RawRecord]:
    held: list[RawRecord] = []
    total = 0
    for record in records.read():
        held.append(record)
        total += len(record.data)
        if total >= size:
            shuffler.shuffle(held)
            yield from held
            held, total = [], 0
    shuffler.shuffle(held)
    yield from held


def check_reading(name: str, options: dict[str, Any], augmenters: tuple[str, ...]) -> list[str]:
    """Raise for reading options that cannot be; the answer is the names of the augmenters."""
    shape = options["data_shape"]
    if len(shape) != 3 or min(shape) < 1:
        raise OperatorError(
            f"{name}: data_shape has wrong dimensions, expected dimension=3: (channels, height, width); got {shape}"
        )
    if shape[0] not in (1, 3, 4):
        raise OperatorError(f"{name}: Invalid output shape {list(shape)}: wanted 1, 3 or 4 channels")
    for key in ("batch_size", "preprocess_threads", "num_parts"):
        if options[key] < 1:
            raise OperatorError(f"{name}: {key} must be 1 or more, got {options[key]}")
    sequence = [word.strip() for word in options["aug_seq"].split(",") if word.strip()]
    unknown = [word for word in sequence if word not in augmenters]
    if unknown:
        raise OperatorError(f"{name}: aug_seq names the unknown augmenter {unknown[0]!r}; known: {list(augmenters)}")
    return sequence


def choose_dtype(name: str, fixed: str | None, wanted: np.dtype | None) -> np.dtype:
    """The type of the data; raises for those that pictures are not given in."""
    dtype = np.dtype(fixed) if fixed else wanted or np.dtype(np.float32)
    if dtype.name not in _OTHER_DTYPES:
        raise OperatorError(f"{name}: unknown dtype for ImageRecordIter2: {dtype}; wanted one of {_OTHER_DTYPES}")
    return dtype


def normalize_of(options: dict[str, Any]) -> Normalize:
    """How pixels become numbers, as normalizing options say; without the mean image."""
    means, deviations = (tuple(options[f"{what}_{colour}"] for colour in _COLOURS) for what in ("mean", "std"))
    names = ("scale", "mirror", "rand_mirror", "max_random_contrast", "max_random_illumination")
    return Normalize(means, deviations, **{key: options[key] for key in names})  # type: ignore[arg-type]


def ahead(name: str, options: dict[str, Any], passes: RecordPasses, filler: RowFiller) -> AheadReader:
    """The reader that the options ask for; arrays go to the current context."""
    workers = worker_count(options["preprocess_threads"])
    if options["verbose"]:
        logging.info("%s: %s, use %d threads for decoding..", name, options["path_imgrec"], workers)
    fixed = options.get("seed_aug")
    seed = DEFAULT_SEED if fixed is None else fixed
    context = current_context()
    # With a seed of its own, every epoch augments the same way: that is what makes runs comparable.
    return AheadReader(
        passes, filler, workers, options["prefetch_buffer"], seed, fixed is None, lambda array: wrap(array, context)
    )


def load_mean_image(name: str, path: str, options: dict[str, Any], make: Callable[[], AheadReader]) -> np.ndarray:
    """Read the mean image, or compute it over all pictures and write it.

    Args:
        name: the iterator, for errors.
        path: the file, in MXNet's .params format.
        options: reading options.
        make: makes a reader of all pictures.

    Returns:
        ``(channels, height, width)`` float32.
    """
    shape = tuple(options["data_shape"])
    if os.path.exists(path):
        with open(path, "rb") as stream:
            arrays, _ = read_params(stream.read())
        if len(arrays) != 1 or arrays[0].shape != shape:
            raise MXNetError(
                f"{name}: {path!r}: Invalid mean image file format: wanted one array {shape}, found "
                f"{[array.shape for array in arrays]}"
            )
        return np.asarray(arrays[0], np.float32)
    if options["verbose"]:
        logging.info("Cannot find %s: create mean image, this will take some time...", path)
    reader, total, count = make(), np.zeros(shape, np.float64), 0
    while (batch := reader.read()) is not None:
        data = batch.data.asnumpy()  # type: ignore[union-attr]
        total += data[: len(data) - batch.pad].sum(axis=0, dtype=np.float64)
        count += len(data) - batch.pad
    mean = (total / max(count, 1)).astype(np.float32)
    atomic_write(path, write_params([mean], ["mean_img"]))
    if options["verbose"]:
        logging.info("Save mean image to %s..", path)
    return mean


def _reader(name: str, fixed_dtype: str | None, options: dict[str, Any]) -> AheadReader:
    sequence = check_reading(name, options, ("aug_default",))
    dtype = choose_dtype(name, fixed_dtype, options["dtype"])
    augment = RecordAugment(**{key: options[key] for key in (*AUGMENTING, "data_shape")})
    augment.check(name)
    normalize = normalize_of(options)
    labels = None
    if options["path_imglist"]:
        labels = read_label_list(name, options["path_imglist"], options["label_width"])
    filler = PictureFiller(
        name, Chain([augment] * len(sequence)), normalize, labels, options["label_width"], options["batch_size"],
        options["data_shape"], dtype,
    )  # fmt: skip
    if options["mean_img"] and dtype != np.uint8:
        # The mean is of pixels as they are; MXNet's is scaled already where it computes it, and then scaled again.
        unscaled = copy.copy(filler)
        unscaled.normalize, unscaled.dtype = Normalize(), np.dtype(np.float32)

        def everything() -> AheadReader:
            plain = dict(options, shuffle=False, round_batch=False, verbose=False)
            return ahead(name, plain, passes_over(name, plain), unscaled)

        normalize.mean_image = load_mean_image(name, options["mean_img"], options, everything)
    return ahead(name, options, passes_over(name, options), filler)


class Chain:
    """Augmenters one after the other."""

    def __init__(self, steps: list[Augment]) -> None:
        self.steps = steps

    def __call__(self, pixels: np.ndarray, draws: Draws) -> np.ndarray:
        for step in self.steps:
            pixels = step(pixels, draws)
        return pixels


_ARGUMENTS = """

    The steps, in their order: decode; ``resize``; rotate, shear, scale and change proportions; ``pad``; cut;
    colours; mirror; ``(value - mean) / std * scale``. The pixels are MXNet's where nothing is random; random numbers
    are drawn from another generator, ``seed_aug`` makes them the same in every run and epoch.

    Args:
        path_imgrec: a RecordIO file, several with ``;`` between them, or a folder of them.
        path_imgidx: its index: allows to shuffle all of it, and cuts parts by records.
        path_imglist: a ``.lst`` file whose labels replace those in the records.
        data_shape: ``(channels, height, width)``, 1, 3 or 4 channels.
        batch_size: pictures of a batch.
        label_width: numbers of a label.
        shuffle: read in random order: without an index, within pieces of 64 MB or ``shuffle_chunk_size`` MB.
        seed: of the order.
        seed_aug: of the augmentation.
        num_parts, part_index: read one of several parts.
        round_batch: fill the last batch with pictures that the next epoch then leaves out; else with zeros (in both
            cases ``pad`` says how many; MXNet's says 0 for the second).
        preprocess_threads: threads that decode, at most one for each processor.
        prefetch_buffer: batches to prepare ahead.
        dtype: float32; float16, bfloat16 and float64; uint8 and int8, which are not scaled.
        resize: shorter side to resize to before all else.
        rand_crop: cut anywhere, not from the middle.
        random_resized_crop: cut a part of random area (``min_random_area`` to ``max_random_area``) and proportions
            (``min_aspect_ratio`` to ``max_aspect_ratio``).
        min_crop_size, max_crop_size: cut a square with a side between them.
        max_rotate_angle, rotate, rotate_list, max_shear_ratio, min_random_scale, max_random_scale, min_img_size,
            max_img_size, fill_value: of the affine map.
        pad: pixels to add on every side.
        brightness, contrast, saturation, pca_noise, random_h, random_s, random_l: how much colours vary.
        inter_method: 0 nearest, 1 bilinear, 2 bicubic, 3 area, 4 Lanczos, 9 by the sizes, 10 at random.
        mirror, rand_mirror: mirror all, or half of the pictures.
        mean_r, mean_g, mean_b, mean_a, std_r, std_g, std_b, std_a, scale, mean_img, max_random_contrast,
            max_random_illumination: of the normalization. A ``mean_img`` that does not exist is computed and written.
        data_name, label_name: names of the arrays.
        path_imgrec, aug_seq, ctx, device_id, verbose, shuffle_chunk_seed: as in MXNet; ``ctx`` changes nothing here.

    Returns:
        An ``MXDataIter``. The index of a batch holds the numbers of its records.
    """


def _make(name: str, summary: str, dtype: str | None = None) -> Callable[..., Any]:
    def reader(**options: Any) -> AheadReader:
        return _reader(name, dtype, options)

    return creator(Settings(name, **READING, **AUGMENTING, **NORMALIZING), reader, summary + _ARGUMENTS)


ImageRecordIter = _make("ImageRecordIter", "Batches of augmented pictures from RecordIO files.")
ImageRecordIter_v1 = _make("ImageRecordIter_v1", "The older name of ImageRecordIter.")
ImageRecordUInt8Iter = _make("ImageRecordUInt8Iter", "ImageRecordIter that gives bytes, not normalized.", "uint8")
ImageRecordUInt8Iter_v1 = _make("ImageRecordUInt8Iter_v1", "The older name of ImageRecordUInt8Iter.", "uint8")
ImageRecordInt8Iter = _make(
    "ImageRecordInt8Iter", "ImageRecordIter that gives signed bytes: only the mean is subtracted.", "int8"
)
