"""Augmenters: objects that change an image, ``(height, width, 3)``, when called with it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from gluonjax import ndarray as nd
from gluonjax.image import _geometry as geometry
from gluonjax.image._errors import ImageArgumentError

# How bright each channel looks: of the jitters, and of RandomGrayAug, which are not the same in MXNet.
_LUMA = (0.299, 0.587, 0.114)
_GRAY = (0.21, 0.72, 0.07)
# From RGB to the YIQ space of television and back, in which a hue is an angle.
_TO_YIQ = np.array([_LUMA, (0.596, -0.274, -0.321), (0.211, -0.523, 0.311)])
_FROM_YIQ = np.array([(1.0, 0.956, 0.621), (1.0, -0.272, -0.647), (1.0, -1.107, 1.705)])
# ImageNet's colours: mean, deviation, principal components.
IMAGENET_MEAN = (123.68, 116.28, 103.53)
IMAGENET_STD = (58.395, 57.12, 57.375)
_COMPONENTS = ((-0.5675, 0.7192, 0.4009), (-0.5808, -0.0045, -0.8140), (-0.5836, -0.6948, 0.4203))
_VARIANCES = (55.46, 4.794, 1.148)


def color_normalize(src: Any, mean: Any, std: Any = None) -> Any:
    """Subtract a mean from an image and divide by a deviation, in place.

    Args:
        src: a float image.
        mean: array or number, or None.
        std: array or number, or None.

    Returns:
        ``src``.
    """
    if mean is not None:
        src -= mean
    if std is not None:
        src /= std
    return src


def _plain(value: Any) -> Any:
    """A value as JSON can hold it: arrays become lists."""
    if isinstance(value, nd.NDArray):
        value = value.asnumpy()
    return value.tolist() if isinstance(value, np.ndarray) else value


def _within(limit: float) -> float:
    """A random number up to ``limit`` away from 0."""
    return random.uniform(-limit, limit)


class Augmenter:
    """Base of the augmenters; a subclass has ``__call__(src)``, which returns the changed image.

    Args:
        **kwargs: what ``dumps`` writes.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = {name: _plain(value) for name, value in kwargs.items()}

    def dumps(self) -> Any:
        """Return the class's name and its arguments as JSON."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, src: Any) -> Any:
        """Return the changed image. A subclass must have its own."""
        raise TypeError(f"{type(self).__name__} has no __call__(self, src); an Augmenter must override it")


class _Group(Augmenter):
    """Augmenters that are called one after the other."""

    def __init__(self, ts: list[Any]) -> None:
        super().__init__()
        self.ts = ts

    def dumps(self) -> Any:
        """Return a list (not JSON, as in MXNet) of the class's name and what its members dump."""
        return [type(self).__name__.lower(), [member.dumps() for member in self.ts]]

    def __call__(self, src: Any) -> Any:
        for member in self.ts:
            src = member(src)
        return src


class SequentialAug(_Group):
    """Augmenters in the given order.

    Args:
        ts: the augmenters.
    """


class RandomOrderAug(_Group):
    """Augmenters in another order at each call.

    Args:
        ts: the augmenters; the list itself is shuffled.
    """

    def __call__(self, src: Any) -> Any:
        random.shuffle(self.ts)
        return super().__call__(src)


class _Sized(Augmenter):
    """An augmenter with a size and an interpolation."""

    def __init__(self, size: Any, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size = size
        self.interp = interp


class ResizeAug(_Sized):
    """Resizes the shorter side to a length.

    Args:
        size: the length.
        interp: see imresize; 9 chooses by the sizes, 10 at random.
    """

    def __call__(self, src: Any) -> Any:
        return geometry.resize_short(src, self.size, self.interp)


class ForceResizeAug(_Sized):
    """Resizes to a width and height, whatever the proportions.

    Args:
        size: width and height.
        interp: see imresize; 9 chooses by the sizes, 10 at random.
    """

    def __call__(self, src: Any) -> Any:
        width, height = self.size
        method = geometry.choose_interpolation(self.interp, (*src.shape[:2], height, width))
        return geometry.imresize(src, width, height, interp=method)


class RandomCropAug(_Sized):
    """Cuts out a random rectangle.

    Args:
        size: width and height.
        interp: see imresize; 9 chooses by the sizes, 10 at random.
    """

    def __call__(self, src: Any) -> Any:
        return geometry.random_crop(src, self.size, self.interp)[0]


class CenterCropAug(_Sized):
    """Cuts out the middle.

    Args:
        size: width and height.
        interp: see imresize; 9 chooses by the sizes, 10 at random.
    """

    def __call__(self, src: Any) -> Any:
        return geometry.center_crop(src, self.size, self.interp)[0]


class RandomSizedCropAug(Augmenter):
    """Cuts out a rectangle of random area and proportions and resizes it.

    Args:
        size: width and height of the result.
        area: least part of the image's area, or least and greatest.
        ratio: least and greatest width / height.
        interp: see imresize; 9 chooses by the sizes, 10 at random.
        **kwargs: ``min_area``, the older name of ``area``.
    """

    def __init__(self, size: Any, area: Any, ratio: Any, interp: int = 2, **kwargs: Any) -> None:
        super().__init__(size=size, area=area, ratio=ratio, interp=interp)
        self.size = size
        self.area = geometry.take_area("RandomSizedCropAug", area, kwargs)
        self.ratio = ratio
        self.interp = interp

    def __call__(self, src: Any) -> Any:
        return geometry.random_size_crop(src, self.size, self.area, self.ratio, self.interp)[0]


class BrightnessJitterAug(Augmenter):
    """Makes lighter or darker, in place.

    Args:
        brightness: by which part at most.
    """

    def __init__(self, brightness: float) -> None:
        super().__init__(brightness=brightness)
        self.brightness = brightness

    def __call__(self, src: Any) -> Any:
        src *= 1.0 + _within(self.brightness)
        return src


class ContrastJitterAug(Augmenter):
    """Moves away from or towards the mean gray value, in place.

    Args:
        contrast: by which part at most.
    """

    def __init__(self, contrast: float) -> None:
        super().__init__(contrast=contrast)
        self.contrast = contrast
        self.coef = nd.array([[_LUMA]])

    def __call__(self, src: Any) -> Any:
        alpha = 1.0 + _within(self.contrast)
        parts = src * self.coef
        mean = nd.sum(parts) * (3.0 / parts.size)
        src *= alpha
        src += mean * (1.0 - alpha)
        return src


class SaturationJitterAug(Augmenter):
    """Moves each pixel away from or towards its gray value, in place.

    Args:
        saturation: by which part at most.
    """

    def __init__(self, saturation: float) -> None:
        super().__init__(saturation=saturation)
        self.saturation = saturation
        self.coef = nd.array([[_LUMA]])

    def __call__(self, src: Any) -> Any:
        alpha = 1.0 + _within(self.saturation)
        gray = nd.sum(src * self.coef, axis=2, keepdims=True) * (1.0 - alpha)
        src *= alpha
        src += gray
        return src


class HueJitterAug(Augmenter):
    """Turns the hues.

    Args:
        hue: by which part of half a turn at most.
    """

    def __init__(self, hue: float) -> None:
        super().__init__(hue=hue)
        self.hue = hue
        self.tyiq = _TO_YIQ
        self.ityiq = _FROM_YIQ

    def __call__(self, src: Any) -> Any:
        angle = _within(self.hue) * np.pi
        turn = np.eye(3)
        turn[1:, 1:] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        return nd.dot(src, nd.array((self.ityiq @ turn @ self.tyiq).T))


_JITTERS: tuple[Callable[[float], Augmenter], ...] = (BrightnessJitterAug, ContrastJitterAug, SaturationJitterAug)


class ColorJitterAug(RandomOrderAug):
    """Brightness, contrast and saturation jitters in random order; those that are 0 are left out.

    Args:
        brightness: see BrightnessJitterAug.
        contrast: see ContrastJitterAug.
        saturation: see SaturationJitterAug.
    """

    def __init__(self, brightness: float, contrast: float, saturation: float) -> None:
        limits = (brightness, contrast, saturation)
        super().__init__([jitter(limit) for jitter, limit in zip(_JITTERS, limits) if limit > 0])


class LightingAug(Augmenter):
    """Adds noise along the principal components of the colours, in place (AlexNet's).

    Args:
        alphastd: deviation of the noise.
        eigval: (3,) variances of the components.
        eigvec: (3, 3) the components, in columns.
    """

    def __init__(self, alphastd: float, eigval: Any, eigvec: Any) -> None:
        super().__init__(alphastd=alphastd, eigval=eigval, eigvec=eigvec)
        self.alphastd = alphastd
        self.eigval = eigval
        self.eigvec = eigvec

    def __call__(self, src: Any) -> Any:
        noise = np.random.normal(0, self.alphastd, size=(3,))
        src += nd.array(np.dot(self.eigvec * noise, self.eigval))
        return src


class ColorNormalizeAug(Augmenter):
    """Subtracts a mean and divides by a deviation, in place.

    Args:
        mean: array, or None.
        std: array, or None.
    """

    def __init__(self, mean: Any, std: Any) -> None:
        super().__init__(mean=mean, std=std)
        self.mean, self.std = (
            value if value is None or isinstance(value, nd.NDArray) else nd.array(value) for value in (mean, std)
        )

    def __call__(self, src: Any) -> Any:
        return color_normalize(src, self.mean, self.std)


class RandomGrayAug(Augmenter):
    """Takes the colours away, at random.

    Args:
        p: how often.
    """

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p
        self.mat = nd.array([[weight] * 3 for weight in _GRAY])

    def __call__(self, src: Any) -> Any:
        return nd.dot(src, self.mat) if random.random() < self.p else src


class HorizontalFlipAug(Augmenter):
    """Mirrors left and right, at random.

    Args:
        p: how often.
    """

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: Any) -> Any:
        return nd.flip(src, axis=1) if random.random() < self.p else src


class CastAug(Augmenter):
    """Casts.

    Args:
        typ: the dtype.
    """

    def __init__(self, typ: Any = "float32") -> None:
        super().__init__(type=typ)
        self.typ = typ

    def __call__(self, src: Any) -> Any:
        return src.astype(self.typ)


def color_constants(name: str, value: Any, standard: tuple[float, ...]) -> Any:
    """Return a mean or deviation of colours: None, ImageNet's for True, or the given array, checked."""
    if value is None:
        return None
    if value is True:
        return nd.array(standard)
    if not isinstance(value, (np.ndarray, nd.NDArray)) or value.shape[0] not in (1, 3):
        raise ImageArgumentError(f"CreateAugmenter: {name} must be True or an array of 1 or 3 numbers, got {value!r}")
    return value


def CreateAugmenter(
    data_shape: tuple[int, int, int], resize: int = 0, rand_crop: bool = False, rand_resize: bool = False,
    rand_mirror: bool = False, mean: Any = None, std: Any = None, brightness: float = 0, contrast: float = 0,
    saturation: float = 0, hue: float = 0, pca_noise: float = 0, rand_gray: float = 0, inter_method: int = 2,
) -> list[Augmenter]:  # fmt: skip
    """Return the augmenters that bring images to a shape, with the wanted random changes.

    Args:
        data_shape: channels, height and width of the results.
        resize: first resize the shorter side to this, if positive.
        rand_crop: cut at random instead of from the middle.
        rand_resize: cut with random area and proportions; needs ``rand_crop``.
        rand_mirror: mirror half of the images.
        mean, std: arrays to normalize by, True for ImageNet's, or None.
        brightness, contrast, saturation, hue: limits of the jitters; 0 for none.
        pca_noise: deviation of the lighting noise; 0 for none.
        rand_gray: how often to take the colours away.
        inter_method: see imresize; 9 chooses by the sizes, 10 at random.

    Returns:
        The list of augmenters.

    >>> [type(step).__name__ for step in CreateAugmenter((3, 224, 224), resize=256)]
    ['ResizeAug', 'CenterCropAug', 'CastAug']
    """
    size = (data_shape[2], data_shape[1])
    steps: list[Augmenter] = [ResizeAug(resize, inter_method)] if resize > 0 else []
    if rand_resize:
        if not rand_crop:
            raise ImageArgumentError("CreateAugmenter: rand_resize needs rand_crop=True")
        steps.append(RandomSizedCropAug(size, 0.08, (3.0 / 4.0, 4.0 / 3.0), inter_method))
    else:
        steps.append((RandomCropAug if rand_crop else CenterCropAug)(size, inter_method))
    if rand_mirror:
        steps.append(HorizontalFlipAug(0.5))
    steps.append(CastAug())
    return steps + color_steps(mean, std, (brightness, contrast, saturation), hue, pca_noise, rand_gray)


def color_steps(
    mean: Any, std: Any, jitters: tuple[float, float, float], hue: float, pca_noise: float, rand_gray: float
) -> list[Augmenter]:
    """Return the augmenters of colours, in MXNet's order."""
    steps: list[Augmenter] = []
    if any(jitters):
        steps.append(ColorJitterAug(*jitters))
    if hue:
        steps.append(HueJitterAug(hue))
    if pca_noise > 0:
        steps.append(LightingAug(pca_noise, np.array(_VARIANCES), np.array(_COMPONENTS)))
    if rand_gray > 0:
        steps.append(RandomGrayAug(rand_gray))
    mean, std = color_constants("mean", mean, IMAGENET_MEAN), color_constants("std", std, IMAGENET_STD)
    if mean is not None or std is not None:
        steps.append(ColorNormalizeAug(mean, std))
    return steps
