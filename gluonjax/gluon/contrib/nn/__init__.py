"""Experimental layers."""

from gluonjax.gluon.contrib.nn.basic_layers import Concurrent as Concurrent
from gluonjax.gluon.contrib.nn.basic_layers import HybridConcurrent as HybridConcurrent
from gluonjax.gluon.contrib.nn.basic_layers import Identity as Identity
from gluonjax.gluon.contrib.nn.basic_layers import PixelShuffle1D as PixelShuffle1D
from gluonjax.gluon.contrib.nn.basic_layers import PixelShuffle2D as PixelShuffle2D
from gluonjax.gluon.contrib.nn.basic_layers import PixelShuffle3D as PixelShuffle3D
from gluonjax.gluon.contrib.nn.basic_layers import SparseEmbedding as SparseEmbedding
from gluonjax.gluon.contrib.nn.basic_layers import SyncBatchNorm as SyncBatchNorm
