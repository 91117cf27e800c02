"""Augmenters that change a picture together with the boxes of the objects in it.

A label is a NumPy array ``(objects, 5 or more)``: class, left, top, right, bottom (parts of the picture's width and
height), and whatever else. Random numbers come from Python's ``random``, drawn in MXNet's order: with the same seed
the results are the same.
"""

from __future__ import annotations

import json
import logging
import random
import warnings
from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np

from gluonjax import ndarray as nd
from gluonjax.image import _augment as plain
from gluonjax.image import _geometry as geometry
from gluonjax.image._errors import ImageArgumentError

Pair = tuple[Any, np.ndarray]
# A rectangle of pixels (left, top, width, height), and the label as seen from it.
Proposal = tuple[int, int, int, int, np.ndarray]


class DetAugmenter:
    """Base of these augmenters; a subclass has ``__call__(src, label)``, which returns both, changed.

    Args:
        **kwargs: what ``dumps`` writes.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = {name: plain._plain(value) for name, value in kwargs.items()}

    def dumps(self) -> Any:
        """Return the class's name and its arguments as JSON."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, src: Any, label: np.ndarray) -> Pair:
        """Return the changed picture and label. A subclass must have its own."""
        raise TypeError(f"{type(self).__name__} has no __call__(self, src, label); a DetAugmenter must override it")


class DetBorrowAug(DetAugmenter):
    """An augmenter of pictures, for those that do not move anything.

    Args:
        augmenter: an ``Augmenter``.
    """

    def __init__(self, augmenter: plain.Augmenter) -> None:
        if not isinstance(augmenter, plain.Augmenter):
            raise ImageArgumentError(f"DetBorrowAug: Borrowing from invalid Augmenter {type(augmenter).__name__}")
        super().__init__(augmenter=augmenter.dumps())
        self.augmenter = augmenter

    def dumps(self) -> Any:
        """Return a list (not JSON, as in MXNet) of the class's name and what the augmenter dumps."""
        return [type(self).__name__.lower(), self.augmenter.dumps()]

    def __call__(self, src: Any, label: np.ndarray) -> Pair:
        return self.augmenter(src), label


class DetRandomSelectAug(DetAugmenter):
    """One of several augmenters, drawn anew for every picture.

    Args:
        aug_list: a DetAugmenter or a list of them.
        skip_prob: how often to do nothing.
    """

    def __init__(self, aug_list: Any, skip_prob: float = 0) -> None:
        super().__init__(skip_prob=skip_prob)
        members = list(aug_list) if isinstance(aug_list, (list, tuple)) else [aug_list]
        for member in members:
            if not isinstance(member, DetAugmenter):
                raise ImageArgumentError(f"Allow DetAugmenter in list only, got {type(member).__name__}")
        self.aug_list = members
        self.skip_prob = skip_prob if members else 1

    def dumps(self) -> Any:
        """Return a list (not JSON, as in MXNet) of the class's name and what its members dump."""
        return [type(self).__name__.lower(), [member.dumps() for member in self.aug_list]]

    def __call__(self, src: Any, label: np.ndarray) -> Pair:
        if random.random() < self.skip_prob:
            return src, label
        random.shuffle(self.aug_list)
        return self.aug_list[0](src, label)


class DetHorizontalFlipAug(DetAugmenter):
    """Mirrors left and right, at random.

    Args:
        p: how often.
    """

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: Any, label: np.ndarray) -> Pair:
        if random.random() < self.p:
            src = nd.flip(src, axis=1)
            # In place, as in MXNet.
            label[:, [1, 3]] = 1.0 - label[:, [3, 1]]
        return src, label


def box_areas(boxes: np.ndarray) -> np.ndarray:
    """Areas of ``(n, 4)`` boxes: left, top, right, bottom; 0 for those that are inside out."""
    return np.maximum(0, boxes[:, 2] - boxes[:, 0]) * np.maximum(0, boxes[:, 3] - boxes[:, 1])


def _as_range(name: str, what: str, value: Any) -> tuple[float, float]:
    if isinstance(value, (tuple, list)):
        return value  # type: ignore[return-value]
    if not isinstance(value, (int, float, np.number)):
        raise ImageArgumentError(f"{name}: {what} must be a number or a pair of them, got {value!r}")
    logging.info("Using fixed %s: %s in %s", what.replace("_range", ""), value, name)
    return value, value  # type: ignore[return-value]


class _Reframing(DetAugmenter):
    """An augmenter that draws another frame: a part of the picture, or one around it."""

    least_area = 0.0

    def __init__(self, aspect_ratio_range: Any, area_range: Any, max_attempts: int, **others: Any) -> None:
        name = type(self).__name__
        aspects = _as_range(name, "aspect_ratio_range", aspect_ratio_range)
        areas = _as_range(name, "area_range", area_range)
        super().__init__(aspect_ratio_range=aspects, area_range=areas, max_attempts=max_attempts, **others)
        self.aspect_ratio_range, self.area_range = aspects, areas
        self.max_attempts = max_attempts
        problem = None
        if areas[1] <= self.least_area or areas[0] > areas[1]:
            problem = f"area_range: {areas}"
        elif aspects[0] <= 0 or aspects[0] > aspects[1]:
            problem = f"aspect_ratio_range: {aspects}"
        self.enabled = problem is None
        if problem:
            warnings.warn(f"Skip {name} due to invalid {problem}", stacklevel=3)

    def _sides(self, height: int, width: int) -> tuple[float, int, int, float, float]:
        """A drawn ratio, the heights for the least and the greatest area, and these areas."""
        low, high = (part * height * width for part in self.area_range)
        ratio = random.uniform(*self.aspect_ratio_range)
        return ratio, round(sqrt(low / ratio)), round(sqrt(high / ratio)), low, high

    def _propose(self, label: np.ndarray, height: int, width: int) -> Proposal | None:
        """Return the first good frame of ``max_attempts``, or None."""
        if not self.enabled or height <= 0 or width <= 0:
            return None
        for _ in range(self.max_attempts):
            found = self._attempt(label, height, width)
            if found is not None:
                return found
        return None

    def _attempt(self, label: np.ndarray, height: int, width: int) -> Proposal | None:
        """Draw one frame; None where it does not do."""
        raise TypeError(f"{type(self).__name__} must define _attempt()")


class DetRandomCropAug(_Reframing):
    """Cuts out a part in which objects are covered well enough; leaves the picture where none is found.

    Args:
        min_object_covered: how much of every object that the part touches must at least be in it.
        aspect_ratio_range: least and greatest width / height.
        area_range: least and greatest part of the picture's area.
        min_eject_coverage: objects of which less is left are dropped.
        max_attempts: how many parts to try.
    """

    def __init__(
        self, min_object_covered: float = 0.1, aspect_ratio_range: Any = (0.75, 1.33), area_range: Any = (0.05, 1.0),
        min_eject_coverage: float = 0.3, max_attempts: int = 50,
    ) -> None:  # fmt: skip
        super().__init__(
            aspect_ratio_range, area_range, max_attempts, min_object_covered=min_object_covered,
            min_eject_coverage=min_eject_coverage,
        )  # fmt: skip
        self.min_object_covered = min_object_covered
        self.min_eject_coverage = min_eject_coverage

    def __call__(self, src: Any, label: np.ndarray) -> Pair:
        found = self._propose(label, *src.shape[:2])
        if found is None:
            return src, label
        left, top, width, height, label = found
        return geometry.fixed_crop(src, left, top, width, height, None), label

    def _attempt(self, label: np.ndarray, height: int, width: int) -> Proposal | None:
        ratio, h, most, low, high = self._sides(height, width)
        if round(most * ratio) > width:
            most = int((width + 0.4999999) / ratio)
        most = min(most, height)
        h = min(h, most)
        if h < most:
            h = random.randint(h, most)
        w = round(h * ratio)
        # Rounding may have left the range of areas by one row.
        if w * h < low:
            h += 1
            w = round(h * ratio)
        if w * h > high:
            h -= 1
            w = round(h * ratio)
        if not (low <= w * h <= high and 0 <= w <= width and 0 <= h <= height):
            return None
        y, x = random.randint(0, max(0, height - h)), random.randint(0, max(0, width - w))
        # In the label's own precision, so that edges which meet do meet.
        part = np.array((x / width, y / height, (x + w) / width, (y + h) / height), label.dtype)
        if w * h < 2 or not self._covers(label, part, width * height):
            return None
        seen = self._seen_from(label, (x / width, y / height, w / width, h / height))
        return None if seen is None else (x, y, w, h, seen)

    def _covers(self, label: np.ndarray, part: np.ndarray, pixels: int) -> bool:
        """True where all objects that a part touches are covered well enough, and there is one."""
        areas = box_areas(label[:, 1:5])
        large = areas * pixels > 2
        boxes = label[large, 1:5]
        shared = np.concatenate([np.maximum(boxes[:, :2], part[:2]), np.minimum(boxes[:, 2:], part[2:])], axis=1)
        covered = box_areas(shared) / areas[large]
        covered = covered[covered > 0]
        return bool(covered.size and covered.min() > self.min_object_covered)

    def _seen_from(self, label: np.ndarray, part: Sequence[float]) -> np.ndarray | None:
        """The label as seen from a part (left, top, width, height); None where no object is left."""
        left, top, width, height = part
        moved = label.copy()
        moved[:, (1, 3)] = (moved[:, (1, 3)] - left) / width
        moved[:, (2, 4)] = (moved[:, (2, 4)] - top) / height
        moved[:, 1:5] = np.clip(moved[:, 1:5], 0, 1)
        left_over = box_areas(moved[:, 1:5]) * width * height / box_areas(label[:, 1:5])
        stays = (moved[:, 3] > moved[:, 1]) & (moved[:, 4] > moved[:, 2]) & (left_over > self.min_eject_coverage)
        return moved[stays] if stays.any() else None


class DetRandomPadAug(_Reframing):
    """Puts a border around the picture, which makes the objects smaller.

    Args:
        aspect_ratio_range: least and greatest width / height of the result.
        area_range: least and greatest area of the result, as multiples of the picture's.
        max_attempts: how many frames to try.
        pad_val: the border's colour.
    """

    least_area = 1.0

    def __init__(
        self, aspect_ratio_range: Any = (0.75, 1.33), area_range: Any = (1.0, 3.0), max_attempts: int = 50,
        pad_val: Any = (128, 128, 128),
    ) -> None:  # fmt: skip
        colour = pad_val if isinstance(pad_val, (list, tuple)) else (pad_val,) * 3
        super().__init__(aspect_ratio_range, area_range, max_attempts, pad_val=pad_val)
        self.pad_val = colour

    def __call__(self, src: Any, label: np.ndarray) -> Pair:
        height, width = src.shape[:2]
        found = self._propose(label, height, width)
        if found is None:
            return src, label
        left, top, w, h, label = found
        sides = (top, h - top - height, left, w - left - width)
        return geometry.copyMakeBorder(src, *sides, type=0, values=self.pad_val), label

    def _attempt(self, label: np.ndarray, height: int, width: int) -> Proposal | None:
        ratio, h, most, _, _ = self._sides(height, width)
        if round(h * ratio) < width:
            h = int((width + 0.499999) / ratio)
        h = min(max(h, height), most)
        if h < most:
            h = random.randint(h, most)
        w = round(h * ratio)
        if h - height < 2 or w - width < 2:
            return None
        y, x = random.randint(0, max(0, h - height)), random.randint(0, max(0, w - width))
        moved = label.copy()
        moved[:, (1, 3)] = (moved[:, (1, 3)] * width + x) / w
        moved[:, (2, 4)] = (moved[:, (2, 4)] * height + y) / h
        return x, y, w, h, moved


def CreateMultiRandCropAugmenter(
    min_object_covered: Any = 0.1, aspect_ratio_range: Any = (0.75, 1.33), area_range: Any = (0.05, 1.0),
    min_eject_coverage: Any = 0.3, max_attempts: Any = 50, skip_prob: float = 0,
) -> DetRandomSelectAug:  # fmt: skip
    """Return one of several random crops: arguments that are lists have a value for each.

    Args:
        min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts: see DetRandomCropAug;
            a value, or a list of as many as other lists have.
        skip_prob: how often not to cut.

    >>> len(CreateMultiRandCropAugmenter(min_object_covered=[0.1, 0.5, 0.9]).aug_list)
    3
    """
    given = (min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts)
    lists = [value if isinstance(value, list) else [value] for value in given]
    count = max(len(values) for values in lists)
    if any(len(values) not in (1, count) for values in lists):
        raise ImageArgumentError(
            "CreateMultiRandCropAugmenter: lists must have one length, or 1; got lengths "
            f"{[len(values) for values in lists]}"
        )
    aligned = [values * count if len(values) == 1 else values for values in lists]
    return DetRandomSelectAug([DetRandomCropAug(*row) for row in zip(*aligned)], skip_prob=skip_prob)


def CreateDetAugmenter(
    data_shape: tuple[int, int, int], resize: int = 0, rand_crop: float = 0, rand_pad: float = 0,
    rand_gray: float = 0, rand_mirror: bool = False, mean: Any = None, std: Any = None, brightness: float = 0,
    contrast: float = 0, saturation: float = 0, pca_noise: float = 0, hue: float = 0, inter_method: int = 2,
    min_object_covered: Any = 0.1, aspect_ratio_range: Any = (0.75, 1.33), area_range: Any = (0.05, 3.0),
    min_eject_coverage: Any = 0.3, max_attempts: Any = 50, pad_val: Any = (127, 127, 127),
) -> list[DetAugmenter]:  # fmt: skip
    """Return the augmenters that bring pictures with boxes to a shape, with the wanted random changes.

    Args:
        data_shape: channels, height and width of the results.
        resize: first resize the shorter side to this, if positive.
        rand_crop: how often to cut out a part.
        rand_pad: how often to put a border around.
        rand_gray: how often to take the colours away.
        rand_mirror: mirror half of the pictures.
        mean, std: arrays to normalize by, True for ImageNet's, or None.
        brightness, contrast, saturation, hue: limits of the jitters; 0 for none.
        pca_noise: deviation of the lighting noise; 0 for none.
        inter_method: see imresize; 9 chooses by the sizes, 10 at random.
        min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts: of the parts; the
            greatest area above 1 is for the borders.
        pad_val: colour of the border.

    Returns:
        The list of augmenters.
    """
    steps: list[DetAugmenter] = []
    if resize > 0:
        steps.append(DetBorrowAug(plain.ResizeAug(resize, inter_method)))
    if rand_crop > 0:
        limits = (min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts)
        steps.append(CreateMultiRandCropAugmenter(*limits, skip_prob=1 - rand_crop))
    if rand_mirror > 0:
        steps.append(DetHorizontalFlipAug(0.5))
    if rand_pad > 0:
        border = DetRandomPadAug(aspect_ratio_range, (1.0, area_range[1]), max_attempts, pad_val)
        steps.append(DetRandomSelectAug([border], 1 - rand_pad))
    pictures: list[plain.Augmenter] = [
        plain.ForceResizeAug((data_shape[2], data_shape[1]), inter_method),
        plain.CastAug(),
    ]
    pictures += plain.color_steps(mean, std, (brightness, contrast, saturation), hue, pca_noise, rand_gray)
    return [*steps, *(DetBorrowAug(step) for step in pictures)]
