"""Importing gluonjax: what it leaves alone, and what the name ``mxnet`` means afterwards.

Everything here runs in a process of its own, because imports happen once.
"""

from __future__ import annotations

import gc
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(code: str, folder: pathlib.Path = ROOT, **environment: str) -> str:
    """The text that a fresh interpreter prints for this code."""
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=folder, env={**os.environ, "PYTHONPATH": paths, **environment},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_jax_stays_as_it_was():
    code = """
import jax, jax.numpy as jnp
before = jnp.arange(3).dtype, jnp.ones(2).dtype, jax.config.jax_enable_x64, jax.config.jax_default_device
import gluonjax as mx
array = mx.nd.ones((2,), dtype="float64") * 2 + mx.nd.arange(2, dtype="float64")
after = jnp.arange(3).dtype, jnp.ones(2).dtype, jax.config.jax_enable_x64, jax.config.jax_default_device
print(before == after, before[0], array.dtype.__name__, array.asnumpy().dtype, array.jax.dtype)
print((jnp.ones(2) * 2).dtype)
"""
    assert run(code) == "True int32 float64 float64 float64\nfloat32\n"


def test_a_jax_with_64_bits_stays_so_too():
    code = "import jax.numpy as jnp\nimport gluonjax as mx\nprint(jnp.arange(3).dtype, mx.nd.arange(3).dtype.__name__)"
    assert run(code, JAX_ENABLE_X64="1") == "int64 float32\n"


def test_importing_is_quiet_and_does_not_start_a_backend():
    code = """
import logging
logging.basicConfig(level=logging.DEBUG)
import gluonjax
import jax
jax.config.update("jax_num_cpu_devices", 3)
print(len(jax.devices("cpu")))
"""
    assert run(code) == "3\n"


def test_the_garbage_collector_stays_as_it_was():
    code = "import gc\n%s()\nimport gluonjax\nprint(gc.isenabled(), gc.get_freeze_count(), gc.get_threshold() == (%s))"
    thresholds = ", ".join(map(str, gc.get_threshold()))
    assert run(code % ("gc.enable", thresholds)) == "True 0 True\n"
    assert run(code % ("gc.disable", thresholds)) == "False 0 True\n"
    code = """
import gc, weakref
class Node:
    pass
node, frozen = Node(), Node()
node.self, seen = node, weakref.ref(node)
gc.freeze()
before = gc.get_freeze_count()
import gluonjax
print(0 < gc.get_freeze_count() <= before)
gc.unfreeze()
del node
gc.collect()
print(seen() is None)
"""
    assert run(code) == "True\nTrue\n"


def test_operator_functions_are_made_when_they_are_looked_at():
    code = """
import types
import gluonjax as mx
content = types.ModuleType.__dict__["__dict__"].__get__
before = [len(content(module)) for module in (mx.nd, mx.nd.contrib)]
print("relu" in content(mx.nd), mx.nd.relu is mx.nd.op.relu is mx.nd.relu, "sigmoid" in content(mx.nd))
print([len(content(module)) for module in (mx.nd, mx.nd.contrib)] == [before[0] + 1, before[1]])
print(mx.nd.relu.__doc__.splitlines()[0][-1], "data" in mx.nd.relu.__signature__.parameters)
print(hasattr(mx.nd, "no_such_operator"), {"relu", "sigmoid", "zeros"} <= set(dir(mx.nd)))
print(len(content(mx.nd)) > before[0] + 200, "box_nms" in vars(mx.nd.contrib))
print(mx.nd._internal._plus_scalar.__name__, mx.nd._internal._contrib_box_nms.__name__)
"""
    assert run(code).splitlines() == [
        "False True False", "True", ". True", "False True", "True True", "_plus_scalar _contrib_box_nms",
    ]  # fmt: skip


def test_a_star_import_takes_every_operator():
    names = "{'relu', 'zeros', 'Convolution'} <= set(globals())"
    assert run(f"from gluonjax.ndarray import *\nprint({names}, relu(zeros(2)).shape)") == "True (2,)\n"


def test_operator_methods_are_made_when_they_are_looked_at():
    code = """
import gluonjax as mx
made = mx.nd.NDArray.relu
print(made is mx.nd.NDArray.relu, made.__name__, made.__doc__.startswith("``mx.nd.relu(self, ...)``"))
print(mx.nd.array([-1, 2]).relu().asnumpy().tolist(), mx.np.array([-1.0, 4.0]).clip(0, 2).tolist())
"""
    assert run(code) == "True relu True\n[0.0, 2.0] [0.0, 2.0]\n"


def test_every_name_of_the_package_resolves():
    code = """
import gluonjax as mx
from importlib.util import find_spec
planned = {name for name, module in mx._MODULES.items() if find_spec("gluonjax." + module) is None}
for name in {*dir(mx)} - planned:
    getattr(mx, name)
print(planned <= {"recordio", "image", "img", "rnn", "profiler", "operator", "interop", "np", "numpy", "npx",
                  "numpy_extension"})
print(mx.nd is mx.ndarray, mx.sym is mx.symbol, mx.mod is mx.module, mx.kv is mx.kvstore, mx.init is mx.initializer)
try:
    mx.ndaray
except AttributeError as error:
    print(error)
"""
    out = run(code).splitlines()
    assert out[:2] == ["True", "True True True True True"]
    assert "ndaray" in out[2] and "ndarray" in out[2].replace("ndaray", "")


def test_mxnet_means_the_same_modules_in_every_form():
    code = """
import gluonjax
gluonjax.install_as_mxnet()
gluonjax.install_as_mxnet()
import mxnet as mx
import mxnet.ndarray as nd
import mxnet.gluon.nn, mxnet.symbol, mxnet.optimizer as opt
from mxnet import autograd, gluon, nd as nd2, sym
from mxnet.gluon import nn, data
from mxnet.gluon.data.vision import transforms
from mxnet.base import MXNetError
import gluonjax.gluon.nn, gluonjax.gluon.data.vision.transforms
import importlib, sys
same = [
    mx is gluonjax, mxnet.gluon.nn is gluonjax.gluon.nn, nn is gluonjax.gluon.nn, nd is nd2, nd is gluonjax.ndarray,
    sym is gluonjax.symbol, mxnet.symbol is sym, autograd is gluonjax.autograd, gluon is gluonjax.gluon,
    opt is gluonjax.optimizer, transforms is gluonjax.gluon.data.vision.transforms, nn.Dense is mx.gluon.nn.Dense,
    MXNetError is gluonjax.MXNetError, importlib.import_module("mxnet.metric") is gluonjax.metric,
    sys.modules["mxnet.gluon"] is sys.modules["gluonjax.gluon"],
]
print(same.count(False), mx.__version__)
print(gluonjax.gluon.__spec__.name, gluonjax.gluon.nn.__spec__.name, nn.__name__, importlib.reload(mx.log) is mx.log)
try:
    import mxnet.no_such_module
except ModuleNotFoundError as error:
    print(error.name)
"""
    assert run(code) == (
        "0 1.9.1\ngluonjax.gluon gluonjax.gluon.nn gluonjax.gluon.nn True\nmxnet.no_such_module\n"
    )


def test_pickles_of_the_alias_open():
    code = """
import pickle, gluonjax
gluonjax.install_as_mxnet()
import mxnet as mx
array = pickle.loads(pickle.dumps(mx.nd.array([1, 2])))
print(type(array) is gluonjax.nd.NDArray, array.asnumpy().tolist())
print(pickle.loads(b"cmxnet.context\\nContext\\n.") is gluonjax.Context)
"""
    assert run(code) == "True [1.0, 2.0]\nTrue\n"


def test_refuses_where_a_real_mxnet_is_imported(tmp_path):
    (tmp_path / "mxnet").mkdir()
    (tmp_path / "mxnet" / "__init__.py").write_text("__version__ = '1.9.1'\n")
    code = """
import mxnet, gluonjax
try:
    gluonjax.install_as_mxnet()
except gluonjax.MXNetError as error:
    print(error)
print(mxnet.__file__ is not None and mxnet is not gluonjax)
"""
    message, untouched = run(code, folder=tmp_path).splitlines()
    assert "real mxnet is imported already" in message and str(tmp_path) in message
    assert "python -m gluonjax run" in message
    assert untouched == "True"


def test_an_installed_mxnet_is_covered(tmp_path):
    (tmp_path / "mxnet").mkdir()
    (tmp_path / "mxnet" / "__init__.py").write_text("raise ImportError('the wrong one')\n")
    code = "import gluonjax\ngluonjax.install_as_mxnet()\nimport mxnet.gluon\nprint(mxnet is gluonjax)"
    assert run(code, folder=tmp_path) == "True\n"


def test_naive_engine_blocks_after_each_operator():
    code = """
import gluonjax as mx
a = mx.nd.ones((600, 600))
for _ in range(3):
    a = mx.nd.dot(a, a) * 0.001
    print(a.jax.is_ready())
"""
    assert run(code, MXNET_ENGINE_TYPE="NaiveEngine", GLUONJAX_COLD_TIER="0") == "True\n" * 3
