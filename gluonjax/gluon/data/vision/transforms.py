"""Transformations of images; images are (height, width, channels) until ``ToTensor``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gluonjax import autograd
from gluonjax._engine import rng
from gluonjax._engine.run import is_tracer
from gluonjax._images import resample
from gluonjax._ops.image import target_size
from gluonjax.gluon._errors import ArgumentError, ArgumentTypeError
from gluonjax.gluon.block import Block, HybridBlock
from gluonjax.gluon.nn import HybridSequential, Sequential
from gluonjax.ndarray.ndarray import NDArray, wrap


def _pair(size: Any) -> Any:
    """``3`` becomes ``(3, 3)``: width and height."""
    return (size, size) if isinstance(size, (int, float)) else tuple(size)


def _chance() -> float:
    """A number in [0, 1) from the library's random stream."""
    return float(np.random.default_rng(rng.host_seed()).random())


class _Sizing(HybridBlock):
    """A transformation that pictures of many sizes go into: on the host it runs without being compiled for each."""

    def forward(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        pixels = _host_pixels(x)
        if pixels is None:
            return super().forward(x, *args, **kwargs)
        return wrap(np.ascontiguousarray(self._on_host(pixels)), x.context, type(x))

    def _on_host(self, pixels: np.ndarray) -> np.ndarray:
        """The same as hybrid_forward on ``(height, width, channels)``."""
        raise TypeError(f"{type(self).__name__} must define _on_host()")


def _host_pixels(x: Any) -> np.ndarray | None:
    """The values of one picture where they are at hand, and nothing needs to know what is done with them."""
    if not isinstance(x, NDArray) or not x.context.is_host or x.ndim != 3 or autograd.is_recording():
        return None
    if np.dtype(x.dtype).name not in ("uint8", "float32", "float64") or is_tracer(x._value):
        return None
    return x.asnumpy()


class Compose(Sequential):
    """Several transformations after each other; neighbours that are hybrid are compiled together.

    Those that bring pictures of all sizes to one stand alone: what comes after them is compiled once, not anew for
    every size.

    >>> from gluonjax import nd
    >>> Compose([Cast("float32"), ToTensor()])(nd.ones((4, 5, 3), dtype="uint8")).shape
    (3, 4, 5)
    """

    def __init__(self, transforms: Sequence[Block]) -> None:
        super().__init__()
        run: list[Block] = []
        for transform in [*transforms, None]:
            if isinstance(transform, HybridBlock) and not isinstance(transform, _Sizing):
                run.append(transform)
                continue
            if len(run) == 1:
                self.add(run[0])
            elif run:
                joined = HybridSequential()
                joined.add(*run)
                joined.hybridize()
                self.add(joined)
            run = []
            if transform is not None:
                self.add(transform)


class Cast(HybridBlock):
    """Changes the data type."""

    def __init__(self, dtype: Any = "float32") -> None:
        super().__init__()
        self._dtype = dtype

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.cast(x, dtype=self._dtype)


class ToTensor(HybridBlock):
    """From (height, width, channels) in [0, 255] to (channels, height, width) float32 in [0, 1]."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.image.to_tensor(x)


class Normalize(HybridBlock):
    """Subtracts a mean and divides by a deviation, for each channel of a tensor.

    Args:
        mean, std: one number, or one for each channel.
    """

    def __init__(self, mean: Any = 0.0, std: Any = 1.0) -> None:
        super().__init__()
        self._mean = mean
        self._std = std

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.image.normalize(x, mean=self._mean, std=self._std)


def _need_float(x: Any) -> None:
    if np.dtype(x.dtype) != np.float32:
        raise ArgumentTypeError(
            f"This transformation only supports float32. Consider calling it after ToTensor (got "
            f"{np.dtype(x.dtype)})"
        )


class Rotate(Block):
    """Turns a tensor by an angle in degrees; ``zoom_in`` avoids padding, ``zoom_out`` keeps all of the image."""

    def __init__(self, rotation_degrees: float, zoom_in: bool = False, zoom_out: bool = False) -> None:
        super().__init__()
        self._args = (rotation_degrees, zoom_in, zoom_out)

    def forward(self, x: Any) -> Any:
        from gluonjax import image

        _need_float(x)
        return image.imrotate(x, *self._args)


class RandomRotation(Block):
    """Turns a tensor by a random angle.

    Args:
        angle_limits: lowest and highest angle in degrees.
        zoom_in, zoom_out: see Rotate.
        rotate_with_proba: how often to turn at all.
    """

    def __init__(
        self, angle_limits: tuple[float, float], zoom_in: bool = False, zoom_out: bool = False,
        rotate_with_proba: float = 1.0,
    ) -> None:  # fmt: skip
        super().__init__()
        lower, upper = angle_limits
        if lower >= upper:
            raise ArgumentError("`angle_limits` must be an ordered tuple")
        if not 0 <= rotate_with_proba <= 1:
            raise ArgumentError("Probability of rotating the image should be between 0 and 1")
        self._args = (angle_limits, zoom_in, zoom_out)
        self._rotate_with_proba = rotate_with_proba

    def forward(self, x: Any) -> Any:
        from gluonjax import image

        if _chance() > self._rotate_with_proba:
            return x
        _need_float(x)
        return image.random_rotate(x, *self._args)


class RandomResizedCrop(Block):
    """Cuts out a random part and resizes it.

    Args:
        size: width and height of the result.
        scale: lowest and highest part of the area.
        ratio: lowest and highest ratio of width to height.
        interpolation: OpenCV's number of the method.
    """

    def __init__(
        self, size: Any, scale: Any = (0.08, 1.0), ratio: Any = (3.0 / 4.0, 4.0 / 3.0), interpolation: int = 1
    ) -> None:
        super().__init__()
        self._args = (_pair(size), _pair(scale), ratio, interpolation)

    def forward(self, x: Any) -> Any:
        from gluonjax import image

        return image.random_size_crop(x, *self._args)[0]


class CropResize(_Sizing):
    """Cuts out a rectangle and optionally resizes it.

    Args:
        x, y: left and upper border.
        width, height: size of the rectangle.
        size: size of the result, or None.
        interpolation: OpenCV's number of the method.
    """

    def __init__(
        self, x: int, y: int, width: int, height: int, size: Any = None, interpolation: int | None = None
    ) -> None:
        super().__init__()
        self._box = {"x": x, "y": y, "width": width, "height": height}
        self._size = size
        self._interpolation = interpolation

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        out = F.image.crop(x, **self._box)
        if self._size:
            # MXNet fails without an interpolation here; bilinear is what its other transformations take.
            method = 1 if self._interpolation is None else self._interpolation
            out = F.image.resize(out, size=self._size, keep_ratio=False, interp=method)
        return out

    def forward(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        box, pixels = self._box, _host_pixels(x)
        inside = pixels is not None and min(box.values()) >= 0 and box["width"] and box["height"]
        if inside and box["y"] + box["height"] <= x.shape[0] and box["x"] + box["width"] <= x.shape[1]:
            return super().forward(x, *args, **kwargs)
        # Several pictures at once, or a box that is not inside: the operator says what is wrong.
        return HybridBlock.forward(self, x, *args, **kwargs)

    def _on_host(self, pixels: np.ndarray) -> np.ndarray:
        box = self._box
        part = pixels[box["y"] : box["y"] + box["height"], box["x"] : box["x"] + box["width"]]
        if not self._size:
            return part
        size = self._size if isinstance(self._size, (tuple, list)) else (self._size,)
        height, width = target_size(tuple(size), False, *part.shape[:2])
        return resample.resize(part, width, height, 1 if self._interpolation is None else self._interpolation)


class CenterCrop(Block):
    """Cuts out the middle; smaller images are enlarged first."""

    def __init__(self, size: Any, interpolation: int = 1) -> None:
        super().__init__()
        self._args = (_pair(size), interpolation)

    def forward(self, x: Any) -> Any:
        from gluonjax import image

        return image.center_crop(x, *self._args)[0]


class Resize(_Sizing):
    """Resizes.

    Args:
        size: width and height, or one number.
        keep_ratio: a single number is the length of the short side.
        interpolation: OpenCV's number of the method.
    """

    def __init__(self, size: Any, keep_ratio: bool = False, interpolation: int = 1) -> None:
        super().__init__()
        self._size = size
        self._keep = keep_ratio
        self._interpolation = interpolation

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.image.resize(x, size=self._size, keep_ratio=self._keep, interp=self._interpolation)

    def _on_host(self, pixels: np.ndarray) -> np.ndarray:
        size = self._size if isinstance(self._size, (tuple, list)) else (self._size,)
        height, width = target_size(tuple(size), self._keep, *pixels.shape[:2])
        return resample.resize(pixels, width, height, self._interpolation)


class RandomFlipLeftRight(HybridBlock):
    """Mirrors every second image, on average."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.image.random_flip_left_right(x)


class RandomFlipTopBottom(HybridBlock):
    """Turns every second image upside down, on average."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.image.random_flip_top_bottom(x)


class _Jitter(HybridBlock):
    """Multiplies some property with a random factor around 1."""

    _operator: str

    def _set(self, amount: float) -> None:
        if amount < 0:
            raise ArgumentError(f"{type(self).__name__}: the amount must not be negative, got {amount}")
        self._args = (max(0.0, 1.0 - amount), 1.0 + amount)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        low, high = self._args
        return getattr(F.image, self._operator)(x, min_factor=low, max_factor=high)


class RandomBrightness(_Jitter):
    """Makes images brighter or darker, by up to the given part."""

    _operator = "random_brightness"

    def __init__(self, brightness: float) -> None:
        super().__init__()
        self._set(brightness)


class RandomContrast(_Jitter):
    """Raises or lowers the contrast, by up to the given part."""

    _operator = "random_contrast"

    def __init__(self, contrast: float) -> None:
        super().__init__()
        self._set(contrast)


class RandomSaturation(_Jitter):
    """Makes colours stronger or weaker, by up to the given part."""

    _operator = "random_saturation"

    def __init__(self, saturation: float) -> None:
        super().__init__()
        self._set(saturation)


class RandomHue(_Jitter):
    """Turns the hue, by up to the given part."""

    _operator = "random_hue"

    def __init__(self, hue: float) -> None:
        super().__init__()
        self._set(hue)


class RandomColorJitter(HybridBlock):
    """Changes brightness, contrast, saturation and hue in random order."""

    def __init__(
        self, brightness: float = 0, contrast: float = 0, saturation: float = 0, hue: float = 0
    ) -> None:
        super().__init__()
        self._args = {"brightness": brightness, "contrast": contrast, "saturation": saturation, "hue": hue}

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.image.random_color_jitter(x, **self._args)


class RandomLighting(HybridBlock):
    """Adds noise along the principal colours of ImageNet; ``alpha`` is its strength."""

    def __init__(self, alpha: float) -> None:
        super().__init__()
        self._alpha = alpha

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.image.random_lighting(x, alpha_std=self._alpha)


class RandomApply(Sequential):
    """Applies transformations with probability ``p``, all of them or none."""

    def __init__(self, transforms: Any, p: float = 0.5) -> None:
        super().__init__()
        self.transforms = transforms
        self.p = p

    def forward(self, x: Any) -> Any:
        return x if self.p < _chance() else self.transforms(x)
