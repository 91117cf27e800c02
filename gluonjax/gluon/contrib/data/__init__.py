"""More samplers, and text data sets."""

from gluonjax.gluon.contrib.data import sampler as sampler
from gluonjax.gluon.contrib.data import text as text
from gluonjax.gluon.contrib.data.sampler import IntervalSampler as IntervalSampler
from gluonjax.gluon.contrib.data.text import WikiText2 as WikiText2
from gluonjax.gluon.contrib.data.text import WikiText103 as WikiText103
