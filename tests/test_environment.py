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
