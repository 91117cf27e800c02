"""How arrays are printed."""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from gluonjax.numpy._call import UnsupportedArgument
from gluonjax.util import set_module as set_module


def set_printoptions(precision: Any = None, threshold: Any = None, **kwarg: Any) -> None:
    """Choose how many digits and elements ``repr`` shows; NumPy's own setting is the same one."""
    if kwarg:
        raise UnsupportedArgument(
            "set_printoptions", "mxnet.numpy.set_printoptions only supports parameter precision and threshold"
        )
    _numpy.set_printoptions(precision=precision, threshold=threshold)
