"""gluonjax: Apache MXNet 1.9.1's Python API on JAX.

``import gluonjax as mx``, or run an unmodified script with ``python -m gluonjax run script.py``.

The levels of the package, each importing only those before it::

    _base     errors, attributes, dtypes, devices, thread-local modes
    _ops      operators as pure JAX functions      _files   file formats as bytes and NumPy
    _engine   kernels, tape, graph, compilation; knows neither NDArray nor Symbol
    ndarray, symbol, autograd, executor, random
    optimizer, initializer, metric, io, kvstore, callback
    gluon, module, model, rnn
    onnx, interop, compat, port

A path without underscore exists in MXNet 1.9.1 and means the same here (``interop``, ``compat`` and ``port`` are
ours); a path with a leading underscore is machinery.
"""

from __future__ import annotations

import importlib as _importlib
import os as _os
from typing import Any as _Any

from gluonjax._base.collection import postponed as _postponed

# JAX and this package make hundreds of thousands of objects that stay; searching them for garbage takes 130 ms.
with _postponed():
    from gluonjax._base.errors import MXNetError
    from gluonjax._ops import registry as _registry

    _registry.load_all()

    from gluonjax import base, context
    from gluonjax.context import Context, cpu, cpu_pinned, current_context, gpu, num_gpus, num_tpus, tpu

# MXNet's version: scripts compare it.
__version__ = "1.9.1"

_MODULES = {
    "nd": "ndarray", "ndarray": "ndarray", "sym": "symbol", "symbol": "symbol", "autograd": "autograd",
    "random": "random", "rnd": "random", "gluon": "gluon", "init": "initializer", "initializer": "initializer",
    "optimizer": "optimizer", "opt": "optimizer", "lr_scheduler": "lr_scheduler", "metric": "metric", "io": "io",
    "recordio": "recordio", "image": "image", "img": "image", "kvstore": "kvstore", "kv": "kvstore",
    "module": "module", "mod": "module", "model": "model", "callback": "callback", "monitor": "monitor",
    "mon": "monitor", "visualization": "visualization", "viz": "visualization", "executor": "executor",
    "executor_manager": "executor_manager",
    "name": "name", "attribute": "attribute", "util": "util", "runtime": "runtime", "engine": "engine",
    "profiler": "profiler", "operator": "operator", "rnn": "rnn", "contrib": "contrib", "np": "numpy",
    "numpy": "numpy", "npx": "numpy_extension", "numpy_extension": "numpy_extension", "test_utils": "test_utils",
    "registry": "registry", "log": "log", "error": "error", "libinfo": "libinfo", "interop": "interop",
    "compat": "compat", "port": "port", "misc": "misc", "ndarray_doc": "ndarray_doc", "symbol_doc": "symbol_doc",
}  # fmt: skip
_NAMES = {
    "AttrScope": "attribute", "NameManager": "name", "Prefix": "name", "is_np_array": "util", "is_np_shape": "util",
    "np_array": "util", "np_shape": "util", "set_np_shape": "util", "use_np": "util", "use_np_array": "util",
    "use_np_shape": "util", "install_as_mxnet": "compat.alias", "jit": "_jit",
}  # fmt: skip


def __getattr__(name: str) -> _Any:
    if name in _MODULES:
        path = f"gluonjax.{_MODULES[name]}"
        try:
            value = _importlib.import_module(path)
        except ModuleNotFoundError as error:
            if error.name != path:
                raise
            raise AttributeError(f"module 'gluonjax' has no '{name}' yet") from None
    elif name in _NAMES:
        value = getattr(_importlib.import_module(f"gluonjax.{_NAMES[name]}"), name)
    else:
        from gluonjax._base.errors import did_you_mean

        hint = did_you_mean(name, [*_MODULES, *_NAMES])
        raise AttributeError(f"module 'gluonjax' has no attribute '{name}'{hint}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_NAMES})


if _os.environ.get("MXNET_PROFILER_AUTOSTART", "0") == "1":
    _profiler = _importlib.import_module("gluonjax.profiler")
    # MXNET_PROFILER_MODE: 0 graphs only, 1 everything
    _profiler.set_config(profile_all=_os.environ.get("MXNET_PROFILER_MODE", "0") == "1", profile_imperative=False)
    _profiler.set_state("run")
