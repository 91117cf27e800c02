"""Images: reading, resizing, cutting, augmenting and iterating, as ``mx.image``."""

from __future__ import annotations

from gluonjax.image import image as image
from gluonjax.image.image import Augmenter as Augmenter
from gluonjax.image.image import BrightnessJitterAug as BrightnessJitterAug
from gluonjax.image.image import CastAug as CastAug
from gluonjax.image.image import CenterCropAug as CenterCropAug
from gluonjax.image.image import ColorJitterAug as ColorJitterAug
from gluonjax.image.image import ColorNormalizeAug as ColorNormalizeAug
from gluonjax.image.image import ContrastJitterAug as ContrastJitterAug
from gluonjax.image.image import CreateAugmenter as CreateAugmenter
from gluonjax.image.image import ForceResizeAug as ForceResizeAug
from gluonjax.image.image import HorizontalFlipAug as HorizontalFlipAug
from gluonjax.image.image import HueJitterAug as HueJitterAug
from gluonjax.image.image import ImageIter as ImageIter
from gluonjax.image.image import LightingAug as LightingAug
from gluonjax.image.image import RandomCropAug as RandomCropAug
from gluonjax.image.image import RandomGrayAug as RandomGrayAug
from gluonjax.image.image import RandomOrderAug as RandomOrderAug
from gluonjax.image.image import RandomSizedCropAug as RandomSizedCropAug
from gluonjax.image.image import ResizeAug as ResizeAug
from gluonjax.image.image import SaturationJitterAug as SaturationJitterAug
from gluonjax.image.image import SequentialAug as SequentialAug
from gluonjax.image.image import center_crop as center_crop
from gluonjax.image.image import color_normalize as color_normalize
from gluonjax.image.image import fixed_crop as fixed_crop
from gluonjax.image.image import imdecode as imdecode
from gluonjax.image.image import imread as imread
from gluonjax.image.image import imresize as imresize
from gluonjax.image.image import imrotate as imrotate
from gluonjax.image.image import is_np_array as is_np_array
from gluonjax.image.image import numeric_types as numeric_types
from gluonjax.image.image import random_crop as random_crop
from gluonjax.image.image import random_rotate as random_rotate
from gluonjax.image.image import random_size_crop as random_size_crop
from gluonjax.image.image import resize_short as resize_short
from gluonjax.image.image import scale_down as scale_down
