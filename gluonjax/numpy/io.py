"""Reading arrays from text."""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from gluonjax.context import current_context as current_context
from gluonjax.numpy._creation import array as array
from gluonjax.numpy.multiarray import ndarray


def genfromtxt(*args: Any, **kwargs: Any) -> ndarray:
    """``numpy.genfromtxt``, with the result as an array of this library; ``ctx`` as in ``array``."""
    ctx = kwargs.pop("ctx", None)
    value = _numpy.genfromtxt(*args, **kwargs)
    return array(value, dtype=value.dtype, ctx=ctx)
