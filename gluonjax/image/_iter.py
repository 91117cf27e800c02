"""ImageIter: batches of augmented images from files, a list, or a RecordIO file."""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Hashable
from numbers import Number
from typing import Any

import numpy as np

from gluonjax import io
from gluonjax import ndarray as nd
from gluonjax._base.errors import MXNetError
from gluonjax.image import _augment
from gluonjax.image import _decode as decoding
from gluonjax.image._errors import ImageArgumentError
from gluonjax.util import is_np_array

# Key -> (label, file name), in order.
Listing = dict[Hashable, tuple[Any, str]]
_LABEL_DTYPES = ("int32", "float32", "int64", "float64")


def _read_listing(path: str, dtype: str) -> Listing:
    """Lines of ``key <tab> label ... <tab> file name``."""
    listing: Listing = {}
    with open(path) as file:
        for line in file:
            key, *labels, name = line.strip().split("\t")
            listing[int(key)] = (_label(np.asarray(labels, np.float64), dtype), name)
    return listing


def _label(value: Any, dtype: str) -> Any:
    return decoding.wrap(np.asarray(value.asnumpy() if isinstance(value, nd.NDArray) else value).astype(dtype))


def _take_listing(entries: list[Any], dtype: str) -> Listing:
    """Rows ``[label, name]`` or ``[label, label, ..., name]``; a label may be an array of labels."""
    listing: Listing = {}
    for number, (*labels, name) in enumerate(entries, start=1):
        single = len(labels) == 1 and not isinstance(labels[0], Number)
        listing[str(number)] = (_label(labels[0] if single else labels, dtype), name)
    return listing


class ImageIter(io.DataIter):
    """Batches of images, decoded and augmented, ``(batch, channels, height, width)`` float32.

    Args:
        batch_size: images of a batch.
        data_shape: channels (3), height and width that the augmenters bring images to.
        label_width: numbers of a label.
        path_imgrec: a RecordIO file.
        path_imglist: a file of lines ``key <tab> label ... <tab> file name``.
        path_root: folder of the files.
        path_imgidx: index of the RecordIO file, needed for shuffle and parts.
        shuffle: new order at each reset.
        part_index: which part to read.
        num_parts: into how many parts the images are cut.
        aug_list: the augmenters; None makes them by CreateAugmenter from ``kwargs``.
        imglist: list of ``[label ..., file name]``.
        data_name: name of the data.
        label_name: name of the labels.
        dtype: of the labels in the list.
        last_batch_handle: "pad" repeats from the start, "discard" drops, "roll_over" keeps the rest for the next pass.
        **kwargs: for CreateAugmenter.
    """

    def __init__(
        self, batch_size: int, data_shape: tuple[int, int, int], label_width: int = 1,
        path_imgrec: str | None = None, path_imglist: str | None = None, path_root: str | None = None,
        path_imgidx: str | None = None, shuffle: bool = False, part_index: int = 0, num_parts: int = 1,
        aug_list: list[Any] | None = None, imglist: list[Any] | None = None, data_name: str = "data",
        label_name: str = "softmax_label", dtype: str = "float32", last_batch_handle: str = "pad", **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(batch_size)
        name = type(self).__name__
        if not (path_imgrec or path_imglist or isinstance(imglist, list)):
            raise ImageArgumentError(f"{name}: needs path_imgrec, path_imglist or a list as imglist")
        if dtype not in _LABEL_DTYPES:
            raise ImageArgumentError(f"{name}: {dtype} label not supported; wanted one of {_LABEL_DTYPES}")
        self.check_data_shape(data_shape)
        self.imglist: Listing | None = None
        if path_imglist:
            self.imglist = _read_listing(path_imglist, dtype)
        elif isinstance(imglist, list):
            self.imglist = _take_listing(imglist, dtype)
        self.path_root = path_root
        self.data_shape = tuple(data_shape)
        self.label_width = label_width
        self.shuffle = shuffle
        self.last_batch_handle = last_batch_handle
        self.provide_data: Any = [(data_name, (batch_size, *self.data_shape))]
        self.provide_label: Any = [(label_name, (batch_size, label_width) if label_width > 1 else (batch_size,))]
        self.imgrec, self.imgidx = self._open_record(path_imgrec, path_imgidx)
        self.seq = self._part(part_index, num_parts)
        self.num_image = None if self.seq is None else len(self.seq)
        self.auglist = _augment.CreateAugmenter(data_shape, **kwargs) if aug_list is None else aug_list
        self.hard_reset()

    @staticmethod
    def _open_record(path: str | None, index: str | None) -> tuple[Any, list[Any] | None]:
        if not path:
            return None, None
        from gluonjax import recordio

        if not index:
            return recordio.MXRecordIO(path, "r"), None
        record = recordio.MXIndexedRecordIO(index, path, "r")
        return record, list(record.keys)

    def _part(self, part_index: int, num_parts: int) -> list[Any] | None:
        """The keys to read, or None to read a record file from front to back."""
        keys = list(self.imglist or ()) if self.imgrec is None else self.imgidx
        if keys is None and (self.shuffle or num_parts > 1):
            raise ImageArgumentError(f"{type(self).__name__}: shuffle and num_parts need path_imgidx")
        if keys is None or num_parts <= 1:
            return keys
        if not 0 <= part_index < num_parts:
            raise ImageArgumentError(f"{type(self).__name__}: part_index {part_index} is not below {num_parts}")
        length = len(keys) // num_parts
        return keys[part_index * length : (part_index + 1) * length]

    # ---- where the iterator stands ---------------------------------------------------------------------

    def reset(self) -> None:
        """Go back to the start; a rest that rolls over is kept."""
        if self.shuffle and self.seq is not None:
            random.shuffle(self.seq)
        if self._cache is None or self.last_batch_handle != "roll_over":
            self._rewind()

    def hard_reset(self) -> None:
        """Go back to the start and forget a rest that rolls over."""
        self._cache: tuple[np.ndarray, np.ndarray, int] | None = None
        self.reset()

    def _rewind(self) -> None:
        if self.imgrec is not None:
            self.imgrec.reset()
        self.cur = 0
        self._allow_read = True

    def next_sample(self) -> tuple[Any, bytes]:
        """Return the next label and encoded image. Raises StopIteration at the end."""
        if not self._allow_read:
            raise StopIteration
        if self.seq is None:
            record = self.imgrec.read()
            if record is None:
                return self._end()
            return self._unpack(record)
        if self.cur >= len(self.seq):
            return self._end()
        key = self.seq[self.cur]
        self.cur += 1
        if self.imgrec is None:
            label, name = (self.imglist or {})[key]
            return label, self.read_image(name)
        label, image = self._unpack(self.imgrec.read_idx(key))
        return (label if self.imglist is None else self.imglist[key][0]), image

    def _end(self) -> Any:
        # "pad" and "roll_over" go on from the start to fill the batch.
        if self.last_batch_handle != "discard":
            self._rewind()
        raise StopIteration

    @staticmethod
    def _unpack(record: bytes) -> tuple[Any, bytes]:
        from gluonjax import recordio

        header, image = recordio.unpack(record)
        return header.label, image

    # ---- batches ---------------------------------------------------------------------------------------

    def _fill(self, data: np.ndarray, label: np.ndarray, start: int) -> int:
        """Fill rows from ``start`` on; the answer is how many rows are filled now."""
        row = start
        while row < self.batch_size:
            try:
                number, encoded = self.next_sample()
            except StopIteration:
                break
            image = self.imdecode(encoded)
            try:
                self.check_valid_image(image)
            except RuntimeError as error:
                logging.debug("Invalid image, skipping:  %s", error)
                continue
            image = self.postprocess_data(self.augmentation_transform(image)).asnumpy()
            if image.shape != data.shape[1:]:
                raise ImageArgumentError(
                    f"{type(self).__name__}: the augmenters gave an image of shape {image.shape}, wanted data_shape "
                    f"{data.shape[1:]}"
                )
            data[row] = image
            label[row] = self._numbers(number, label.shape[1:])
            row += 1
        return row

    def _numbers(self, label: Any, shape: tuple[int, ...]) -> np.ndarray:
        values = np.asarray(label.asnumpy() if isinstance(label, nd.NDArray) else label)
        if values.size != np.prod(shape, dtype=int):
            raise ImageArgumentError(
                f"{type(self).__name__}: a label has {values.size} numbers, wanted label_width={self.label_width}"
            )
        return values.reshape(shape)

    def next(self) -> io.DataBatch:
        """Return the next batch. Raises StopIteration at the end."""
        rolled = self._cache is not None
        if self._cache is not None:
            data, label, filled = self._cache
        else:
            data = np.zeros((self.batch_size, *self.data_shape), np.float32)
            label = np.zeros(self.provide_label[0][1], np.float32)
            filled = self._fill(data, label, 0)
            if filled == 0:
                raise StopIteration
        # A rolled-over batch counts its new rows as padding, as in MXNet.
        pad = self.batch_size - filled
        if pad:
            self._complete(data, label, filled, rolled)
        return io.DataBatch([decoding.wrap(data)], [decoding.wrap(label)], pad=pad)

    def _complete(self, data: np.ndarray, label: np.ndarray, filled: int, rolled: bool) -> None:
        if self.last_batch_handle == "discard":
            raise StopIteration
        if self.last_batch_handle == "roll_over" and not rolled:
            self._cache = (data, label, filled)
            raise StopIteration
        self._fill(data, label, filled)
        if self.last_batch_handle == "pad":
            self._allow_read = False
        else:
            self._cache = None

    # ---- steps that a subclass may change --------------------------------------------------------------

    def check_data_shape(self, data_shape: Any) -> None:
        """Raise unless ``data_shape`` is three channels, height and width."""
        if len(data_shape) != 3:
            raise ImageArgumentError(f"data_shape should have length 3, with dimensions CxHxW; got {data_shape}")
        if data_shape[0] != 3:
            raise ImageArgumentError(f"This iterator expects inputs to have 3 channels; got {data_shape}")

    def check_valid_image(self, data: Any) -> None:
        """Raise a RuntimeError, which skips the image, unless it has rows of pixels."""
        if len(data.shape) < 2:
            raise MXNetError(f"Data shape is wrong: {data.shape}")

    def imdecode(self, s: bytes) -> Any:
        """Return the decoded image; an error names the file."""
        try:
            return decoding.imdecode(s)
        except Exception as error:
            raise MXNetError(f"Broken image {self._current()}, {error}") from error

    def _current(self) -> str:
        if self.seq is None or not self.num_image:
            return "of the record file"
        key = self.seq[(self.cur % self.num_image) - 1]
        return f"index: {key}" if self.imglist is None else f"filename: {self.imglist[key][1]}"

    def read_image(self, fname: str) -> bytes:
        """Return the bytes of a file below ``path_root``."""
        with open(os.path.join(self.path_root or "", fname), "rb") as file:
            return file.read()

    def augmentation_transform(self, data: Any) -> Any:
        """Return the image after all augmenters."""
        for augmenter in self.auglist:
            data = augmenter(data)
        return data

    def postprocess_data(self, datum: Any) -> Any:
        """Return the image as it goes into the batch: channels first."""
        return datum.transpose(2, 0, 1) if is_np_array() else nd.transpose(datum, axes=(2, 0, 1))
