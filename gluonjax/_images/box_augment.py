"""What ImageDetRecordIter does to a picture and its boxes: colours, mirroring, padding, cutting, resizing.

The steps and their order are MXNet's ``det_aug_default``; random numbers come from another generator.

A label is ``[header width, object width, more header ..., (id, left, top, right, bottom, more ...) for each object]``,
corners as parts of the picture's width and height.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gluonjax._base.errors import MXNetError, OperatorError
from gluonjax._images import colors
from gluonjax._images.draws import Draws, check_interpolation, choose_interpolation
from gluonjax._images.record_augment import shift_hls
from gluonjax._images.resample import border, resize

_LEAST_PAD = 1.05
_PER_SAMPLER = (
    "min_crop_scales", "max_crop_scales", "min_crop_aspect_ratios", "max_crop_aspect_ratios", "min_crop_overlaps",
    "max_crop_overlaps", "min_crop_sample_coverages", "max_crop_sample_coverages", "min_crop_object_coverages",
    "max_crop_object_coverages", "max_crop_trials",
)  # fmt: skip


@dataclass
class Objects:
    """The objects of a picture.

    Args:
        header: what stands before them in a label.
        rows: ``(objects, object width)`` float32: id, left, top, right, bottom, and more.
    """

    header: np.ndarray
    rows: np.ndarray

    @classmethod
    def read(cls, label: np.ndarray) -> Objects:
        """Take a label apart; objects without an area are left out."""
        if label.size < 7:
            raise MXNetError(f"a label of {label.size} numbers has no object: wanted a header of 2 and 5 for an object")
        before, width = int(label[0]), int(label[1])
        if before < 2 or width < 5:
            raise MXNetError(f"a label says header width {before}, object width {width}; wanted at least 2 and 5")
        if (label.size - before) % width or label.size < before:
            raise MXNetError(
                f"a label of {label.size} numbers is not a header of {before} and objects of {width} each"
            )
        rows = label[before:].reshape(-1, width)
        return cls(label[:before], rows[(rows[:, 3] > rows[:, 1]) & (rows[:, 4] > rows[:, 2])].copy())

    def write(self) -> np.ndarray:
        """The label again."""
        return np.concatenate([self.header, self.rows.ravel()]).astype(np.float32)

    def mirror(self) -> None:
        """Exchange left and right."""
        self.rows[:, [1, 3]] = 1 - self.rows[:, [3, 1]]

    def move_into(self, box: np.ndarray) -> np.ndarray:
        """The rows as seen from a box (left, top, width, height), cut off at its edges."""
        moved = self.rows.copy()
        for low, high, at in ((1, 3, 0), (2, 4, 1)):
            moved[:, low] = np.maximum(0, (moved[:, low] - box[at]) / box[at + 2])
            moved[:, high] = np.minimum(1, (moved[:, high] - box[at]) / box[at + 2])
        return moved

    def shared_area(self, box: np.ndarray) -> np.ndarray:
        """How much of every object lies in a box."""
        across = np.minimum(self.rows[:, 3], box[0] + box[2]) - np.maximum(self.rows[:, 1], box[0])
        upright = np.minimum(self.rows[:, 4], box[1] + box[3]) - np.maximum(self.rows[:, 2], box[1])
        return np.maximum(across, 0) * np.maximum(upright, 0)

    def areas(self) -> np.ndarray:
        """The area of every object."""
        return (self.rows[:, 3] - self.rows[:, 1]) * (self.rows[:, 4] - self.rows[:, 2])


@dataclass(frozen=True)
class BoxAugment:
    """The augmenter ``det_aug_default``; the fields are ImageDetRecordIter's arguments of the same names."""

    data_shape: tuple[int, int, int]
    resize: int = -1
    rand_crop_prob: float = 0.0
    min_crop_scales: tuple[float, ...] = (0.0,)
    max_crop_scales: tuple[float, ...] = (1.0,)
    min_crop_aspect_ratios: tuple[float, ...] = (1.0,)
    max_crop_aspect_ratios: tuple[float, ...] = (1.0,)
    min_crop_overlaps: tuple[float, ...] = (0.0,)
    max_crop_overlaps: tuple[float, ...] = (1.0,)
    min_crop_sample_coverages: tuple[float, ...] = (0.0,)
    max_crop_sample_coverages: tuple[float, ...] = (1.0,)
    min_crop_object_coverages: tuple[float, ...] = (0.0,)
    max_crop_object_coverages: tuple[float, ...] = (1.0,)
    num_crop_sampler: int = 1
    crop_emit_mode: str = "center"
    emit_overlap_thresh: float = 0.3
    max_crop_trials: tuple[int, ...] = (25,)
    rand_pad_prob: float = 0.0
    max_pad_scale: float = 1.0
    max_random_hue: int = 0
    random_hue_prob: float = 0.0
    max_random_saturation: int = 0
    random_saturation_prob: float = 0.0
    max_random_illumination: int = 0
    random_illumination_prob: float = 0.0
    max_random_contrast: float = 0.0
    random_contrast_prob: float = 0.0
    rand_mirror_prob: float = 0.0
    fill_value: int = 127
    inter_method: int = 1
    resize_mode: str = "force"

    def check(self, name: str) -> None:
        """Raise for settings that contradict each other."""
        check_interpolation(name, self.inter_method)
        for key in _PER_SAMPLER if self.num_crop_sampler >= 1 else ():
            given = getattr(self, key)
            if len(given) not in (1, self.num_crop_sampler):
                raise OperatorError(
                    f"{name}: # of parameters/crop_samplers mismatch: {key} has {len(given)} values, num_crop_sampler "
                    f"is {self.num_crop_sampler}; give one, or one for each"
                )
        for number in range(self.num_crop_sampler):
            for what in ("scales", "aspect_ratios", "overlaps", "sample_coverages", "object_coverages"):
                low, high = self._at(f"min_crop_{what}", number), self._at(f"max_crop_{what}", number)
                if low > high or (what == "scales" and not 0 <= low < high <= 1):
                    raise OperatorError(f"{name}: min_crop_{what} to max_crop_{what} must rise, got {low} to {high}")
        if self.emit_overlap_thresh < 0:
            raise OperatorError(f"{name}: emit_overlap_thresh must not be negative, got {self.emit_overlap_thresh}")

    def _at(self, key: str, number: int) -> Any:
        values = getattr(self, key)
        return values[number if len(values) > 1 else 0]

    def __call__(self, pixels: np.ndarray, label: np.ndarray, draws: Draws) -> tuple[np.ndarray, np.ndarray]:
        """Return the augmented picture and its label.

        Args:
            pixels: uint8 ``(height, width, channels)`` in the order blue, green, red.
            label: its objects.
            draws: its random numbers.
        """
        if self.resize != -1:
            rows, columns = pixels.shape[:2]
            if rows > columns:
                pixels = self._resized(pixels, self.resize, self.resize * rows // columns, draws)
            else:
                pixels = self._resized(pixels, self.resize * columns // rows, self.resize, draws)
        objects = Objects.read(label)
        pixels = self._recolor(pixels, draws)
        if self.rand_mirror_prob > 0 and draws.chance(self.rand_mirror_prob):
            objects.mirror()
            pixels = pixels[:, ::-1]
        if self.rand_pad_prob > 0 and self.max_pad_scale > 1 and draws.chance(self.rand_pad_prob):
            pixels = self._padded(pixels, objects, draws)
        if self.rand_crop_prob > 0 and self.num_crop_sampler > 0 and draws.chance(self.rand_crop_prob):
            pixels = self._cut(pixels, objects, draws)
        return np.ascontiguousarray(self._fit(pixels, draws)), objects.write()

    def _resized(self, pixels: np.ndarray, width: int, height: int, draws: Draws) -> np.ndarray:
        method = choose_interpolation(self.inter_method, pixels.shape[:2], (height, width), draws)
        return resize(pixels, width, height, method)

    def _recolor(self, pixels: np.ndarray, draws: Draws) -> np.ndarray:
        limits = (self.max_random_hue, self.max_random_saturation, self.max_random_illumination)
        chances = (self.random_hue_prob, self.random_saturation_prob, self.random_illumination_prob)
        if not (any(chance > 0 for chance in chances) or self.random_contrast_prob > 0) or pixels.shape[2] != 3:
            return pixels
        drawn = [int(draws.within(1) * limit) for limit in limits]
        contrast = draws.within(1) * self.max_random_contrast
        hue, saturation, lightness = (
            value if draws.chance(chance) else 0 for value, chance in zip(drawn, chances)
        )
        if hue or saturation or lightness:
            pixels = shift_hls(pixels, hue, lightness, saturation)
        if draws.chance(self.random_contrast_prob) and abs(contrast) > 1e-3:
            # MXNet computes this and then drops it, a slip; the argument has the effect here that it names.
            pixels = colors.apply_tables(pixels, colors.scaled_table(1 + contrast, 0))
        return pixels

    def _padded(self, pixels: np.ndarray, objects: Objects, draws: Draws) -> np.ndarray:
        scale = draws.between(1, self.max_pad_scale)
        if scale < _LEAST_PAD:
            return pixels
        left, top = draws.between(0, scale - 1), draws.between(0, scale - 1)
        objects.rows = objects.move_into(np.array((-left, -top, scale, scale), np.float32))
        rows, columns = pixels.shape[:2]
        sides = (
            int(top * rows), int((scale - top - 1) * rows), int(left * columns), int((scale - left - 1) * columns)
        )  # fmt: skip
        return border(pixels, sides, 0, (self.fill_value,) * 3)

    def _cut(self, pixels: np.ndarray, objects: Objects, draws: Draws) -> np.ndarray:
        samplers = list(range(self.num_crop_sampler))
        draws.shuffle(samplers)
        rows, columns = pixels.shape[:2]
        for number in samplers:
            for _ in range(self._at("max_crop_trials", number)):
                box = self._draw_box(number, columns / rows, draws)
                kept = self._kept(objects, box, number)
                if kept is None:
                    continue
                left, top = int(box[0] * columns), int(box[1] * rows)
                width, height = int(box[2] * columns), int(box[3] * rows)
                if not width or not height:
                    continue
                objects.rows = kept
                return pixels[top : top + height, left : left + width]
        return pixels

    def _draw_box(self, number: int, proportion: float, draws: Draws) -> np.ndarray:
        """Left, top, width and height of a box, parts of the picture."""
        scale = draws.between(self._at("min_crop_scales", number), self._at("max_crop_scales", number)) + 1e-12
        low = max(self._at("min_crop_aspect_ratios", number) / proportion, scale * scale)
        high = min(self._at("max_crop_aspect_ratios", number) / proportion, 1 / (scale * scale))
        ratio = math.sqrt(draws.between(low, high))
        width, height = min(1.0, scale * ratio), min(1.0, scale / ratio)
        return np.array((draws.between(0, 1 - width), draws.between(0, 1 - height), width, height), np.float32)

    def _kept(self, objects: Objects, box: np.ndarray, number: int) -> np.ndarray | None:
        """The objects that a box keeps, as seen from it; None where it is refused."""
        if not len(objects.rows):
            return objects.rows
        shared, areas, own = objects.shared_area(box), objects.areas(), box[2] * box[3]
        measures = (
            ("overlaps", shared / (areas + own - shared)), ("sample_coverages", shared / own),
            ("object_coverages", shared / areas),
        )  # fmt: skip
        good = np.ones(len(shared), bool)
        for what, values in measures:
            low, high = self._at(f"min_crop_{what}", number), self._at(f"max_crop_{what}", number)
            if low > 0 or high < 1:
                good &= (values >= low) & (values <= high)
        if not good.any():
            return None
        if self.crop_emit_mode == "center":
            middle = (objects.rows[:, 1:3] + objects.rows[:, 3:5]) / 2
            stays = ((middle >= box[:2]) & (middle < box[:2] + box[2:])).all(axis=1)
        else:
            stays = shared / areas > self.emit_overlap_thresh
        return objects.move_into(box)[stays] if stays.any() else None

    def _fit(self, pixels: np.ndarray, draws: Draws) -> np.ndarray:
        _, height, width = self.data_shape
        rows, columns = pixels.shape[:2]
        if self.resize_mode == "force":
            return self._resized(pixels, width, height, draws)
        if self.resize_mode == "shrink" and rows <= height and columns <= width:
            return pixels
        ratio = min(np.float32(height) / np.float32(rows), np.float32(width) / np.float32(columns))
        return self._resized(pixels, max(1, int(ratio * columns)), max(1, int(ratio * rows)), draws)
