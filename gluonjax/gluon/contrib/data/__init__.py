"""More samplers."""

from gluonjax.gluon.contrib.data import sampler as sampler
from gluonjax.gluon.contrib.data.sampler import IntervalSampler as IntervalSampler
