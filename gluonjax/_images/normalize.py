"""From pixels to the planes of a batch: mirroring, mean, deviation, scale and type at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gluonjax._images.codecs import opencv
from gluonjax._images.draws import Draws

# Where the planes red, green, blue, alpha are among BGRA pixels.
_PLACES = {1: (0,), 3: (2, 1, 0), 4: (2, 1, 0, 3)}


def planes_of(pixels: np.ndarray) -> list[np.ndarray]:
    """The planes of BGR pixels in the order red, green, blue, alpha."""
    places = _PLACES[pixels.shape[2]]
    cv2 = opencv()
    if cv2 is not None and len(places) > 1 and pixels.strides[2] == 1:
        # Whole planes are much faster to compute on than every third byte.
        apart = cv2.split(pixels)
        return [apart[place] for place in places]
    return [pixels[:, :, place] for place in places]


@dataclass
class Normalize:
    """Writes pixels to planes: ``(value - mean) * factor + offset``, in the type of the planes.

    Args:
        mean: of red, green, blue, alpha.
        std: the same.
        scale: factor of the result.
        mirror: mirror all pictures.
        rand_mirror: mirror half of them.
        max_random_contrast: limit of a random factor.
        max_random_illumination: limit of a random addition.
        mean_image: ``(channels, height, width)``, instead of ``mean``.
    """

    mean: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    std: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)
    scale: float = 1.0
    mirror: bool = False
    rand_mirror: bool = False
    max_random_contrast: float = 0.0
    max_random_illumination: float = 0.0
    mean_image: np.ndarray | None = None

    def is_random(self) -> bool:
        """True where the result depends on drawn numbers."""
        return bool(self.rand_mirror or self.max_random_contrast or self.max_random_illumination)

    def write(self, pixels: np.ndarray, out: np.ndarray, draws: Draws) -> None:
        """Write a picture.

        Args:
            pixels: uint8 ``(height, width, channels)`` in the order blue, green, red, alpha.
            out: ``(channels, height, width)`` to write to: uint8, int8 or a floating type.
            draws: its random numbers.
        """
        flip = (self.rand_mirror and draws.chance(0.5)) or self.mirror
        planes = planes_of(pixels)
        target = out[:, :, ::-1] if flip else out
        if out.dtype == np.uint8:
            for plane, to in zip(planes, target):
                to[...] = plane
        elif out.dtype == np.int8:
            self._write_signed(planes, target)
        else:
            contrast = (1 + draws.within(self.max_random_contrast)) * self.scale
            illumination = draws.within(self.max_random_illumination) * self.scale
            self._write_floating(planes, target, contrast, illumination)

    def _write_signed(self, planes: list[np.ndarray], target: np.ndarray) -> None:
        # Bytes only have their mean taken away, rounded; factors would leave the range.
        for k, (plane, to) in enumerate(zip(planes, target)):
            mean = self.mean[k] if self.mean_image is None else self.mean_image[k]
            whole = np.trunc(mean + np.copysign(0.5, mean)).astype(np.int16)
            to[...] = np.clip(plane.astype(np.int16) - whole, -128, 127)

    def _write_floating(
        self, planes: list[np.ndarray], target: np.ndarray, contrast: float, illumination: float
    ) -> None:
        for k, (plane, to) in enumerate(zip(planes, target)):
            factor = np.float32(np.float32(contrast) / np.float32(self.std[k]))
            offset = np.float32(np.float32(illumination) / np.float32(self.std[k]))
            mean = np.float32(self.mean[k]) if self.mean_image is None else self.mean_image[k]
            plain = to.dtype == np.float32
            result = to if plain else np.empty(to.shape, np.float32)
            np.subtract(plane, mean, out=result, dtype=np.float32)
            if factor != 1:
                result *= factor
            if offset != 0:
                result += offset
            if not plain:
                to[...] = result
