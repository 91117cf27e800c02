"""Pictures with boxes: augmenters and the iterator, as ``mx.image.detection``."""

from __future__ import annotations

from gluonjax.base import numeric_types as numeric_types
from gluonjax.image._augment import Augmenter as Augmenter
from gluonjax.image._augment import CastAug as CastAug
from gluonjax.image._augment import ColorJitterAug as ColorJitterAug
from gluonjax.image._augment import ColorNormalizeAug as ColorNormalizeAug
from gluonjax.image._augment import ForceResizeAug as ForceResizeAug
from gluonjax.image._augment import HueJitterAug as HueJitterAug
from gluonjax.image._augment import LightingAug as LightingAug
from gluonjax.image._augment import RandomGrayAug as RandomGrayAug
from gluonjax.image._augment import RandomOrderAug as RandomOrderAug
from gluonjax.image._augment import ResizeAug as ResizeAug
from gluonjax.image._det_augment import CreateDetAugmenter as CreateDetAugmenter
from gluonjax.image._det_augment import CreateMultiRandCropAugmenter as CreateMultiRandCropAugmenter
from gluonjax.image._det_augment import DetAugmenter as DetAugmenter
from gluonjax.image._det_augment import DetBorrowAug as DetBorrowAug
from gluonjax.image._det_augment import DetHorizontalFlipAug as DetHorizontalFlipAug
from gluonjax.image._det_augment import DetRandomCropAug as DetRandomCropAug
from gluonjax.image._det_augment import DetRandomPadAug as DetRandomPadAug
from gluonjax.image._det_augment import DetRandomSelectAug as DetRandomSelectAug
from gluonjax.image._det_iter import ImageDetIter as ImageDetIter
from gluonjax.image._geometry import copyMakeBorder as copyMakeBorder
from gluonjax.image._geometry import fixed_crop as fixed_crop
from gluonjax.image._iter import ImageIter as ImageIter
from gluonjax.util import is_np_array as is_np_array
