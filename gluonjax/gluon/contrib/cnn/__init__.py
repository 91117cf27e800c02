"""Deformable convolutions."""

from gluonjax.gluon.contrib.cnn import conv_layers as conv_layers
from gluonjax.gluon.contrib.cnn.conv_layers import DeformableConvolution as DeformableConvolution
from gluonjax.gluon.contrib.cnn.conv_layers import (
    ModulatedDeformableConvolution as ModulatedDeformableConvolution,
)
