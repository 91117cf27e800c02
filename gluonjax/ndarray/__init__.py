"""``mx.nd``: eager arrays and every operator on them."""

from __future__ import annotations

import sys as _sys

from gluonjax._engine.functions import install_generated as _install_generated
from gluonjax.ndarray import _internal, contrib, image, linalg, op, random, register, sparse, utils
from gluonjax.ndarray import _methods as _methods
from gluonjax.ndarray import ndarray as _ndarray_module
from gluonjax.ndarray._cached import CachedOp
from gluonjax.ndarray._creation import (
    add,
    arange,
    array,
    concatenate,
    divide,
    empty,
    equal,
    eye,
    from_dlpack,
    from_numpy,
    full,
    greater,
    greater_equal,
    histogram,
    lesser,
    lesser_equal,
    linspace,
    logical_and,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    modulo,
    moveaxis,
    multiply,
    not_equal,
    onehot_encode,
    ones,
    power,
    split_v2,
    subtract,
    to_dlpack_for_read,
    to_dlpack_for_write,
    true_divide,
    waitall,
    zeros,
)
from gluonjax.ndarray._imdecode import imdecode
from gluonjax.ndarray.ndarray import NDArray
from gluonjax.ndarray.sparse import CSRNDArray, RowSparseNDArray
from gluonjax.ndarray.utils import load, load_frombuffer, save

# MXNet defines the creation functions in mxnet.ndarray.ndarray; scripts import them from there too.
for _name in (
    "add arange array concatenate divide empty equal eye from_dlpack from_numpy full greater greater_equal histogram "
    "lesser lesser_equal linspace logical_and logical_or logical_xor maximum minimum modulo moveaxis multiply "
    "not_equal onehot_encode ones power split_v2 subtract to_dlpack_for_read to_dlpack_for_write true_divide waitall "
    "zeros"
).split():
    setattr(_ndarray_module, _name, globals()[_name])

_methods.install(NDArray)
register.install(
    {"op": op, "_internal": _internal, "contrib": contrib, "linalg": linalg, "image": image, "random": random,
     "sparse": sparse},
    _sys.modules[__name__],
)  # fmt: skip
_install_generated(
    _sys.modules[__name__], lambda registered, _: register.operator_function(registered), _ndarray_module.NDArrayBase
)
