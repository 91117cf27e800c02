"""What ImageRecordIter does to a decoded picture before it is normalized: resize, warp, cut, colours.

The steps and their order are MXNet's ``aug_default``; where nothing is random, the pixels are the same. Random
numbers come from another generator than MXNet's, so that random results agree in distribution only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gluonjax._base.errors import MXNetError, OperatorError
from gluonjax._images import colors
from gluonjax._images.draws import Draws, check_interpolation, choose_interpolation
from gluonjax._images.resample import border, resize
from gluonjax._images.warp import warp_affine

# Directions in which the colours of ImageNet vary, in the order red, green, blue, times how much they do.
_PRINCIPAL = np.array(
    [(-0.5675, 0.7192, 0.4009), (-0.5808, -0.0045, -0.8140), (-0.5836, -0.6948, 0.4203)], np.float32
) * np.array((55.46, 4.794, 1.148), np.float32)
_ANY_SIZE = np.float32(1e10)
_TRIES = 10


@dataclass(frozen=True)
class RecordAugment:
    """The augmenter ``aug_default``; the fields are ImageRecordIter's arguments of the same names."""

    data_shape: tuple[int, int, int]
    resize: int = -1
    rand_crop: bool = False
    random_resized_crop: bool = False
    max_rotate_angle: int = 0
    max_aspect_ratio: float = 0.0
    min_aspect_ratio: float | None = None
    max_shear_ratio: float = 0.0
    max_crop_size: int = -1
    min_crop_size: int = -1
    max_random_scale: float = 1.0
    min_random_scale: float = 1.0
    max_random_area: float = 1.0
    min_random_area: float = 1.0
    max_img_size: float = 1e10
    min_img_size: float = 0.0
    brightness: float = 0.0
    contrast: float = 0.0
    saturation: float = 0.0
    pca_noise: float = 0.0
    random_h: int = 0
    random_s: int = 0
    random_l: int = 0
    rotate: int = -1
    rotate_list: tuple[int, ...] = ()
    fill_value: int = 255
    inter_method: int = 1
    pad: int = 0

    def check(self, name: str) -> None:
        """Raise for settings that contradict each other."""
        check_interpolation(name, self.inter_method)
        scales = self.min_random_scale != 1 or self.max_random_scale != 1
        sized = self.min_crop_size != -1 or self.max_crop_size != -1
        if self.random_resized_crop and (scales or sized or self.rand_crop):
            raise OperatorError(
                f"{name}: Setting random_resized_crop to true conflicts with min_random_scale, max_random_scale, "
                "min_crop_size, max_crop_size, and rand_crop."
            )
        if sized and not 0 < self.min_crop_size <= self.max_crop_size:
            raise OperatorError(
                f"{name}: wanted 0 < min_crop_size <= max_crop_size, got {self.min_crop_size} and {self.max_crop_size}"
            )
        low, high = self._aspects()
        if self.random_resized_crop and not (0 < low <= high and self.min_random_area <= self.max_random_area):
            raise OperatorError(
                f"{name}: aspect ratios must rise from above 0 and areas must rise, got {low} to {high} and "
                f"{self.min_random_area} to {self.max_random_area}"
            )

    def is_random(self) -> bool:
        """True where the result depends on drawn numbers."""
        low, high = self._aspects()
        return bool(
            self.rand_crop or self.random_resized_crop or self.max_rotate_angle > 0 or len(self.rotate_list) > 1
            or low != high or self.max_shear_ratio or self.max_crop_size != self.min_crop_size
            or self.max_random_scale != self.min_random_scale or self.brightness or self.contrast or self.saturation
            or self.pca_noise or self.random_h or self.random_s or self.random_l or self.inter_method == 10
        )  # fmt: skip

    def _aspects(self) -> tuple[float, float]:
        if self.min_aspect_ratio is None:
            return 1 - self.max_aspect_ratio, 1 + self.max_aspect_ratio
        return self.min_aspect_ratio, self.max_aspect_ratio

    def __call__(self, pixels: np.ndarray, draws: Draws) -> np.ndarray:
        """Return the augmented picture.

        Args:
            pixels: uint8 ``(height, width, channels)`` in the order blue, green, red.
            draws: its random numbers.

        Returns:
            uint8 of data_shape's height and width.
        """
        if self.resize != -1:
            pixels = self._shorter_side(pixels, draws)
        if self._warps():
            pixels = self._warp(pixels, draws)
        if self.pad > 0:
            pixels = border(pixels, (self.pad, self.pad, self.pad, self.pad), 0, (self.fill_value,) * 3)
        cut = None
        if self.random_resized_crop:
            cut = self._cut_by_area(pixels, draws)
        elif self.max_crop_size != -1 or self.min_crop_size != -1:
            cut = self._cut_square(pixels, draws)
        pixels = self._cut_to_shape(pixels, draws) if cut is None else cut
        if self.brightness > 0 or self.contrast > 0 or self.saturation > 0:
            pixels = self._jitter(pixels, draws)
        if self.random_h or self.random_s or self.random_l:
            pixels = self._shift_hls(pixels, draws)
        if self.pca_noise > 0:
            red, green, blue = _PRINCIPAL @ np.array([draws.normal(self.pca_noise) for _ in range(3)], np.float32)
            pixels = colors.apply_tables(pixels, colors.shifted_tables((blue, green, red)))
        return pixels

    def _resized(self, pixels: np.ndarray, width: int, height: int, draws: Draws) -> np.ndarray:
        method = choose_interpolation(self.inter_method, pixels.shape[:2], (height, width), draws)
        return resize(pixels, width, height, method)

    def _shorter_side(self, pixels: np.ndarray, draws: Draws) -> np.ndarray:
        height, width = pixels.shape[:2]
        if height > width:
            return self._resized(pixels, self.resize, self.resize * height // width, draws)
        return self._resized(pixels, self.resize * width // height, self.resize, draws)

    def _warps(self) -> bool:
        scales = self.max_random_scale != 1 or self.min_random_scale != 1
        aspects = not self.random_resized_crop and self._aspects() != (1, 1)
        sizes = np.float32(self.max_img_size) != _ANY_SIZE or self.min_img_size != 0
        turns = self.max_rotate_angle > 0 or self.rotate > 0 or bool(self.rotate_list)
        return turns or self.max_shear_ratio > 0 or scales or aspects or sizes

    def _warp(self, pixels: np.ndarray, draws: Draws) -> np.ndarray:
        if self.inter_method == 0:
            raise OperatorError("ImageRecordIter: invalid inter_method: a warp takes 1 to 4, 9 or 10; got 0")
        rows, columns = pixels.shape[:2]
        shear = draws.within(self.max_shear_ratio)
        angle = draws.whole(-self.max_rotate_angle, self.max_rotate_angle)
        if self.rotate > 0:
            angle = self.rotate
        if self.rotate_list:
            angle = self.rotate_list[draws.whole(0, len(self.rotate_list) - 1)]
        scale = ratio = 1.0
        if not self.random_resized_crop:
            scale = draws.between(self.min_random_scale, self.max_random_scale)
            ratio = draws.between(*self._aspects())
        upright = 2 * scale / (1 + ratio)
        across = ratio * upright
        cosine, sine = math.cos(angle / 180 * math.pi), math.sin(angle / 180 * math.pi)
        turn = np.array(
            [
                (upright * cosine - shear * sine * across, upright * sine + shear * cosine * across),
                (-sine * across, cosine * across),
            ],
            np.float32,
        )
        width, height = (
            max(self.min_img_size, min(self.max_img_size, np.float32(scale) * side)) for side in (columns, rows)
        )
        # The middle of the picture goes to the middle of the result.
        middle = (np.array((width, height), np.float32) - turn @ np.array((columns, rows), np.float32)) / 2
        matrix = np.column_stack([turn, middle.astype(np.float32)])
        method = choose_interpolation(self.inter_method, (rows, columns), (height, width), draws)
        return warp_affine(pixels, matrix, int(width), int(height), method, self.fill_value)

    def _cut_by_area(self, pixels: np.ndarray, draws: Draws) -> np.ndarray | None:
        """A rectangle of random area and proportions, resized; None where ten of them did not fit."""
        low, high = self._aspects()
        if (self.min_random_area, self.max_random_area, low, high) == (1, 1, 1, 1):
            return None
        rows, columns = pixels.shape[:2]
        for _ in range(_TRIES):
            area = rows * columns * draws.between(self.min_random_area, self.max_random_area)
            ratio = draws.between(low, high)
            height, width = int(math.sqrt(area / ratio) + 0.5), int(math.sqrt(area * ratio) + 0.5)
            if draws.chance(0.5):
                height, width = width, height
            if 0 < height <= rows and 0 < width <= columns:
                top, left = draws.whole(0, rows - height), draws.whole(0, columns - width)
                part = pixels[top : top + height, left : left + width]
                return self._resized(part, self.data_shape[2], self.data_shape[1], draws)
        return None

    def _corner(self, room: tuple[int, int], draws: Draws) -> tuple[int, int]:
        if self.rand_crop:
            return draws.whole(0, room[0]), draws.whole(0, room[1])
        return room[0] // 2, room[1] // 2

    def _cut_square(self, pixels: np.ndarray, draws: Draws) -> np.ndarray:
        rows, columns = pixels.shape[:2]
        if min(rows, columns) < self.max_crop_size:
            raise MXNetError(
                f"input image size smaller than max_crop_size: {rows} x {columns} < {self.max_crop_size}; "
                "resize first, or lower max_crop_size"
            )
        side = draws.whole(self.min_crop_size, self.max_crop_size)
        top, left = self._corner((rows - side, columns - side), draws)
        part = pixels[top : top + side, left : left + side]
        return self._resized(part, self.data_shape[2], self.data_shape[1], draws)

    def _cut_to_shape(self, pixels: np.ndarray, draws: Draws) -> np.ndarray:
        _, height, width = self.data_shape
        # One method for both enlargements, chosen by the size before them.
        method = choose_interpolation(self.inter_method, pixels.shape[:2], (height, width), draws)
        if pixels.shape[0] < height:
            pixels = resize(pixels, _grown(height, pixels.shape[0], pixels.shape[1]), height, method)
        if pixels.shape[1] < width:
            pixels = resize(pixels, width, _grown(width, pixels.shape[1], pixels.shape[0]), method)
        rows, columns = pixels.shape[:2]
        if rows < height or columns < width:
            raise MXNetError(f"input image size smaller than input shape: {rows} x {columns} < {height} x {width}")
        top, left = self._corner((rows - height, columns - width), draws)
        return pixels[top : top + height, left : left + width]

    def _jitter(self, pixels: np.ndarray, draws: Draws) -> np.ndarray:
        factors = [1 + draws.within(limit) for limit in (self.brightness, self.contrast, self.saturation)]
        order = [0, 1, 2]
        draws.shuffle(order)
        for step in order:
            factor = factors[step]
            if step == 0:
                pixels = colors.apply_tables(pixels, colors.scaled_table(factor, 0))
            elif step == 1:
                mean = float(colors.gray_of_swapped(pixels).mean())
                pixels = colors.apply_tables(pixels, colors.scaled_table(factor, (1 - factor) * mean))
            else:
                pixels = colors.mixed(pixels, factor, colors.gray_of_swapped(pixels), 1 - factor)
        return pixels

    def _shift_hls(self, pixels: np.ndarray, draws: Draws) -> np.ndarray:
        offsets = []
        for limit in (self.random_h, self.random_s, self.random_l):
            # Two numbers mixed: extreme values come less often.
            mixed = (draws.between(0, 1) + 4 * draws.between(0, 1)) / 5
            offsets.append(int(mixed * limit * 2 - limit))
        hue, saturation, lightness = offsets
        return shift_hls(pixels, hue, lightness, saturation)


def shift_hls(pixels: np.ndarray, hue: int, lightness: int, saturation: int) -> np.ndarray:
    """Add to the hue (0 to 180), lightness and saturation (0 to 255) of BGR pixels; each stops at its ends."""
    tables = colors.shifted_tables((hue, lightness, saturation), colors.HLS_LIMITS)
    return colors.from_hls(colors.apply_tables(colors.to_hls(pixels), tables))


def _grown(wanted: int, short: int, other: int) -> int:
    """The other side when ``short`` is enlarged to ``wanted``; in float32, as MXNet computes it."""
    return int(np.float32(wanted) / np.float32(short) * np.float32(other))
