"""Reading, changing and augmenting images, as ``mx.image.image``."""

from __future__ import annotations

from gluonjax.base import numeric_types as numeric_types
from gluonjax.image._augment import Augmenter as Augmenter
from gluonjax.image._augment import BrightnessJitterAug as BrightnessJitterAug
from gluonjax.image._augment import CastAug as CastAug
from gluonjax.image._augment import CenterCropAug as CenterCropAug
from gluonjax.image._augment import ColorJitterAug as ColorJitterAug
from gluonjax.image._augment import ColorNormalizeAug as ColorNormalizeAug
from gluonjax.image._augment import ContrastJitterAug as ContrastJitterAug
from gluonjax.image._augment import CreateAugmenter as CreateAugmenter
from gluonjax.image._augment import ForceResizeAug as ForceResizeAug
from gluonjax.image._augment import HorizontalFlipAug as HorizontalFlipAug
from gluonjax.image._augment import HueJitterAug as HueJitterAug
from gluonjax.image._augment import LightingAug as LightingAug
from gluonjax.image._augment import RandomCropAug as RandomCropAug
from gluonjax.image._augment import RandomGrayAug as RandomGrayAug
from gluonjax.image._augment import RandomOrderAug as RandomOrderAug
from gluonjax.image._augment import RandomSizedCropAug as RandomSizedCropAug
from gluonjax.image._augment import ResizeAug as ResizeAug
from gluonjax.image._augment import SaturationJitterAug as SaturationJitterAug
from gluonjax.image._augment import SequentialAug as SequentialAug
from gluonjax.image._augment import color_normalize as color_normalize
from gluonjax.image._decode import imdecode as imdecode
from gluonjax.image._decode import imread as imread
from gluonjax.image._geometry import center_crop as center_crop
from gluonjax.image._geometry import copyMakeBorder as copyMakeBorder
from gluonjax.image._geometry import fixed_crop as fixed_crop
from gluonjax.image._geometry import imresize as imresize
from gluonjax.image._geometry import random_crop as random_crop
from gluonjax.image._geometry import random_size_crop as random_size_crop
from gluonjax.image._geometry import resize_short as resize_short
from gluonjax.image._geometry import scale_down as scale_down
from gluonjax.image._iter import ImageIter as ImageIter
from gluonjax.image._rotate import imrotate as imrotate
from gluonjax.image._rotate import random_rotate as random_rotate
from gluonjax.util import is_np_array as is_np_array
