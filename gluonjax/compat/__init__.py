"""Running code that was written for MXNet: ``import mxnet`` as an alias of gluonjax."""

from __future__ import annotations

from gluonjax.compat.alias import install_as_mxnet as install_as_mxnet
