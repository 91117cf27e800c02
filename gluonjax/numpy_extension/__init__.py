"""``mx.npx``: what NumPy has no name for: neural-network operators, modes, devices, files."""

from __future__ import annotations

import sys as _sys

import gluonjax.ndarray as _nd
from gluonjax.context import (
    Context,
    cpu,
    cpu_pinned,
    current_context,
    gpu,
    gpu_memory_info,
    num_gpus,
)  # fmt: skip
from gluonjax.ndarray import waitall
from gluonjax.numpy_extension import _op, random, utils
from gluonjax.numpy_extension.utils import load, save
from gluonjax.util import (
    is_np_array,
    is_np_shape,
    np_array,
    np_shape,
    reset_np,
    set_np,
    set_np_shape,
    use_np,
    use_np_array,
    use_np_shape,
)  # fmt: skip

_here = _sys.modules[__name__]
for _name, _function in _op.functions().items():
    setattr(_here, _name, _function)
    setattr(_op, _name, _function)

from gluonjax.numpy_extension._op import constraint_check, nonzero, reshape  # noqa: E402

# hybrid_forward reaches these functions as F.npx.
_nd.npx = _here  # type: ignore[attr-defined]

__all__ = [
    "Context", "constraint_check", "cpu", "cpu_pinned", "current_context", "gpu", "gpu_memory_info", "is_np_array",
    "is_np_shape", "load", "nonzero", "np_array", "np_shape", "num_gpus", "random", "reset_np", "reshape", "save",
    "set_np", "set_np_shape", "use_np", "use_np_array", "use_np_shape", "utils", "waitall",
]  # fmt: skip
__all__ += list(_op.functions())  # pyright: ignore[reportUnsupportedDunderAll]
