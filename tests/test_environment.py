"""MXNet's environment variables that change what is done, read when gluonjax is imported or a thing is made."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def run(code: str, **settings: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **settings}, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


GRADIENT = """
import jax, gluonjax as mx
from gluonjax._engine.lower import lower
net = mx.sym.var("x")
for _ in range(3):
    net = mx.sym.tanh(mx.sym.FullyConnected(net, num_hidden=4))
net = mx.sym.make_loss(mx.sym.sum(net))
executor = net.simple_bind(mx.cpu(), x=(2, 4))
for array in executor.arg_arrays:
    array[:] = 0.3
executor.forward(is_train=True)
executor.backward()
print(round(float(executor.grad_dict["x"].sum().asscalar()), 5))
print("remat" in str(jax.make_jaxpr(lower(net._graph, True))(*[a._value for a in executor.arg_arrays])))
"""


def test_mirroring_recomputes_and_gives_the_same_gradient() -> None:
    plain, mirrored = (run(GRADIENT, MXNET_BACKWARD_DO_MIRROR=value).split() for value in ("0", "1"))
    assert plain[0] == mirrored[0] and float(plain[0]) != 0
    assert (plain[1], mirrored[1]) == ("False", "True")


def test_naive_engine_reports_errors_at_the_call() -> None:
    code = """
import gluonjax as mx
try:
    mx.nd.random.normal(0, -1, shape=(2,))
    print("later")
except mx.MXNetError:
    print("at once")
"""
    assert run(code).strip() == "later"
    assert run(code, MXNET_ENGINE_TYPE="NaiveEngine").strip() == "at once"


def test_home_is_where_data_is_kept(tmp_path) -> None:
    code = "import gluonjax as mx; print(mx.base.data_dir())"
    assert run(code, MXNET_HOME=str(tmp_path)).strip() == str(tmp_path)


@pytest.mark.parametrize("size, expected", [("1", "1"), ("7", "7")])
def test_aggregation_size(size: str, expected: str) -> None:
    code = "import gluonjax as mx; print(mx.optimizer.SGD().aggregate_num)"
    assert run(code, MXNET_OPTIMIZER_AGGREGATION_SIZE=size).strip() == expected


DETERMINISM = """
import jax
given = []
jit = jax.jit
def spy(*args, **kwargs):
    given.append(kwargs.get("compiler_options") or {})
    return jit(*args, **kwargs)
jax.jit = spy
import gluonjax as mx
net = mx.gluon.nn.Dense(3)
net.initialize()
net.hybridize()
for _ in range(3):
    net(mx.nd.ones((256, 64))).wait_to_read()
print(any(options.get("xla_gpu_deterministic_ops") for options in given))
"""


@pytest.mark.parametrize("value, expected", [("0", "False"), ("1", "True")])
def test_determinism_is_asked_of_the_compiler(value: str, expected: str) -> None:
    assert run(DETERMINISM, MXNET_ENFORCE_DETERMINISM=value, GLUONJAX_COLD_TIER="0").strip() == expected


def test_determinism_that_the_compiler_does_not_know_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from gluonjax._base.errors import MXNetError
    from gluonjax._engine import compile as compiling

    monkeypatch.setenv("MXNET_ENFORCE_DETERMINISM", "1")
    monkeypatch.setattr(compiling, "_DETERMINISTIC", {"no_such_option": True})
    with pytest.raises(MXNetError, match=r"MXNET_ENFORCE_DETERMINISM is set, but .* does not know no_such_option"):
        compiling.options()
