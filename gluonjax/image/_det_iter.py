"""ImageDetIter: batches of augmented pictures with the boxes of the objects in them."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from gluonjax import ndarray as nd
from gluonjax._base.errors import MXNetError
from gluonjax._images.codecs import opencv
from gluonjax.image._augment import IMAGENET_MEAN, IMAGENET_STD
from gluonjax.image._det_augment import CreateDetAugmenter
from gluonjax.image._errors import ImageArgumentError
from gluonjax.image._iter import ImageIter


class ImageDetIter(ImageIter):
    """Batches of pictures, ``(batch, channels, height, width)``, and of labels, ``(batch, objects, object width)``.

    Labels in files are ``[header width, object width, more header ..., (class, left, top, right, bottom, ...) for
    each object]``; pictures with fewer objects than others get rows of -1.

    Args:
        batch_size: pictures of a batch.
        data_shape: channels (3), height and width that the augmenters bring pictures to.
        aug_list: the augmenters; None makes them by CreateDetAugmenter from ``kwargs``.
        label_name: name of the labels.
        path_imgrec, path_imglist, path_root, path_imgidx, shuffle, part_index, num_parts, imglist, data_name,
            last_batch_handle: see ImageIter.
        **kwargs: for CreateDetAugmenter.
    """

    def __init__(
        self, batch_size: int, data_shape: tuple[int, int, int], path_imgrec: str | None = None,
        path_imglist: str | None = None, path_root: str | None = None, path_imgidx: str | None = None,
        shuffle: bool = False, part_index: int = 0, num_parts: int = 1, aug_list: list[Any] | None = None,
        imglist: list[Any] | None = None, data_name: str = "data", label_name: str = "label",
        last_batch_handle: str = "pad", **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            batch_size, data_shape, path_imgrec=path_imgrec, path_imglist=path_imglist, path_root=path_root,
            path_imgidx=path_imgidx, shuffle=shuffle, part_index=part_index, num_parts=num_parts, aug_list=[],
            imglist=imglist, data_name=data_name, label_name=label_name, last_batch_handle=last_batch_handle,
        )  # fmt: skip
        self.auglist = CreateDetAugmenter(data_shape, **kwargs) if aug_list is None else aug_list
        self.label_shape = self._estimate_label_shape()
        self.provide_label = [(label_name, (batch_size, *self.label_shape))]

    # ---- labels ----------------------------------------------------------------------------------------

    def _estimate_label_shape(self) -> tuple[int, int]:
        """The most objects of any picture, and the width of one; goes through all labels once."""
        counts, widths = [0], [0]
        self.reset()
        for label in self._labels():
            rows = self._parse_label(label)
            counts.append(rows.shape[0])
            widths.append(rows.shape[1])
        self.reset()
        return max(counts), widths[-1]

    def _labels(self) -> Iterator[Any]:
        if self.imgrec is not None or self.imglist is None or self.seq is None:
            while True:
                try:
                    yield self.next_sample()[0]
                except StopIteration:
                    return
        # Labels of a list are at hand; the pictures need not be read for them.
        for key in self.seq:
            yield self.imglist[key][0]

    def _parse_label(self, label: Any) -> np.ndarray:
        """The objects of a raw label that have an area, ``(objects, object width)``. Raises RuntimeError for others."""
        numbers = np.asarray(label.asnumpy() if isinstance(label, nd.NDArray) else label).ravel()
        if numbers.size < 7:
            raise MXNetError(f"Label shape is invalid: {numbers.shape}; wanted a header of 2 and 5 for an object")
        header, width = int(numbers[0]), int(numbers[1])
        if width < 5 or header < 2 or (numbers.size - header) % width:
            raise MXNetError(f"Label shape {numbers.shape} inconsistent with annotation width {width}.")
        rows = numbers[header:].reshape(-1, width)
        rows = rows[(rows[:, 3] > rows[:, 1]) & (rows[:, 4] > rows[:, 2])]
        if not len(rows):
            raise MXNetError("Encounter sample with no valid label.")
        return rows

    def _check_valid_label(self, label: np.ndarray) -> None:
        """Raise a RuntimeError, which skips the picture, unless an object is left after the augmenters."""
        if label.ndim != 2 or label.shape[1] < 5:
            raise MXNetError(f"Label with shape (1+, 5+) required, {label} received.")
        if not ((label[:, 0] >= 0) & (label[:, 3] > label[:, 1]) & (label[:, 4] > label[:, 2])).any():
            raise MXNetError("Invalid label occurs.")

    def check_label_shape(self, label_shape: tuple[int, int]) -> None:
        """Raise unless labels of this shape hold those of this iterator."""
        if len(label_shape) != 2:
            raise ImageArgumentError("label_shape should have length 2")
        if label_shape[0] < self.label_shape[0]:
            raise ImageArgumentError(
                f"Attempts to reduce label count from {self.label_shape[0]} to {label_shape[0]}, not allowed."
            )
        width = self.provide_label[0][1][2]
        if label_shape[1] != width:
            raise ImageArgumentError(f"label_shape object width inconsistent: {width} vs {label_shape[1]}.")

    def reshape(self, data_shape: Any = None, label_shape: Any = None) -> None:
        """Change the shape of pictures or of labels from the next batch on.

        Args:
            data_shape: channels, height and width, or None. The augmenters stay as they are.
            label_shape: objects and object width, or None.
        """
        if data_shape is not None:
            self.check_data_shape(data_shape)
            self.provide_data = [(self.provide_data[0][0], (self.batch_size, *data_shape))]
            self.data_shape = tuple(data_shape)
        if label_shape is not None:
            self.check_label_shape(label_shape)
            self.provide_label = [(self.provide_label[0][0], (self.batch_size, *label_shape))]
            self.label_shape = tuple(label_shape)

    def sync_label_shape(self, it: Any, verbose: bool = False) -> Any:
        """Give this iterator and another one the same label shape, the larger one.

        Args:
            it: the other ImageDetIter.
            verbose: log a change.

        Returns:
            ``it``.
        """
        if not isinstance(it, ImageDetIter):
            raise ImageArgumentError(f"Synchronize with invalid iterator. Got {type(it).__name__}")
        (own, width), (others, other_width) = self.label_shape, it.label_shape
        if width != other_width:
            raise ImageArgumentError(f"object width mismatch. {width} and {other_width}")
        count = max(own, others)
        for iterator, old in ((self, own), (it, others)):
            if count > old:
                iterator.reshape(None, (count, width))
        if verbose and own != others:
            logging.info("Resized label_shape to (%d, %d).", count, width)
        return it

    # ---- batches ---------------------------------------------------------------------------------------

    def _fill(self, data: np.ndarray, label: np.ndarray, start: int) -> int:
        for row in range(start, self.batch_size):
            found = self._next_good()
            if found is None:
                return row
            image, rows = found
            pixels = self.postprocess_data(image).asnumpy()
            if pixels.shape != data.shape[1:]:
                raise ImageArgumentError(
                    f"{type(self).__name__}: the augmenters gave a picture of shape {pixels.shape}, wanted data_shape "
                    f"{data.shape[1:]}"
                )
            data[row] = pixels
            label[row, : len(rows)] = rows
            label[row, len(rows) :] = -1
        return self.batch_size

    def _next_good(self) -> tuple[Any, np.ndarray] | None:
        """The next picture and label that can be used, augmented; None at the end."""
        while True:
            try:
                raw, encoded = self.next_sample()
            except StopIteration:
                return None
            image = self.imdecode(encoded)
            try:
                self.check_valid_image([image])
                image, rows = self.augmentation_transform(image, self._parse_label(raw))
                self._check_valid_label(rows)
            except RuntimeError as error:
                logging.debug("Invalid image, skipping:  %s", error)
                continue
            return image, rows

    def check_valid_image(self, data: Any) -> None:
        """Raise a RuntimeError, which skips the picture, unless it has rows of pixels."""
        super().check_valid_image(data[0] if isinstance(data, list) else data)

    def augmentation_transform(self, data: Any, label: Any = None) -> Any:
        """Return the picture and its label after all augmenters."""
        for augmenter in self.auglist:
            data, label = augmenter(data, label)
        return data, label

    def draw_next(
        self, color: Any = None, thickness: int = 2, mean: Any = None, std: Any = None, clip: bool = True,
        waitKey: int | None = None, window_name: str = "draw_next", id2labels: dict[int, str] | None = None,
    ) -> Iterator[np.ndarray]:  # fmt: skip
        """Yield the pictures to come with their boxes drawn; needs cv2.

        Args:
            color: of the boxes, red, green, blue; None for random ones.
            thickness: of their lines.
            mean, std: what the augmenters normalized by, to undo it; True for ImageNet's.
            clip: hold values within 0 to 255.
            waitKey: show each picture in a window for so many milliseconds.
            window_name: title of the window.
            id2labels: names of classes, to write into the boxes.

        Yields:
            uint8 ``(height, width, 3)`` in the order blue, green, red.
        """
        cv2 = opencv()
        if cv2 is None:
            warnings.warn("Unable to import cv2, skip drawing", stacklevel=2)
            return
        mean = np.array(IMAGENET_MEAN) if mean is True else mean
        std = np.array(IMAGENET_STD) if std is True else std
        while (found := self._next_good()) is not None:
            image, rows = found
            pixels = image.asnumpy().astype(np.float32)
            pixels = pixels * (1 if std is None else std) + (0 if mean is None else mean)
            if clip:
                pixels = np.clip(pixels, 0, 255)
            canvas = np.ascontiguousarray(pixels[:, :, ::-1].astype(np.uint8))
            for row in rows:
                if row[1] >= 0:
                    _draw_box(cv2, canvas, row, color, thickness, id2labels or {})
            if waitKey is not None:
                cv2.imshow(window_name, canvas)
                cv2.waitKey(waitKey)
            yield canvas


def _draw_box(
    cv2: Any, canvas: np.ndarray, row: np.ndarray, color: Any, thickness: int, names: dict[int, str]
) -> None:
    height, width = canvas.shape[:2]
    left, top, right, bottom = (row[1:5] * (width, height, width, height)).astype(int).tolist()
    shade = tuple(color[::-1]) if color else (np.random.rand(3) * 255).tolist()
    cv2.rectangle(canvas, (left, top), (right, bottom), shade, thickness)
    name = names.get(int(row[0]))
    if name is not None:
        tall = cv2.getTextSize(name, cv2.FONT_HERSHEY_SIMPLEX, 0.5, 2)[0][1]
        cv2.putText(canvas, name, (left + 5, top + tall + 5), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (255, 255, 255), 2)
