"""Decompositions of many matrices, one call each: the same numbers as of all at once, gradients of any order."""

from __future__ import annotations

import functools
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gluonjax as mx
from gluonjax._ops.lapack import each_matrix

# Large enough to be taken apart; batches of fewer, of as many and of more than are worked on together.
BATCHES = [(2,), (4,), (3, 3), (2, 4), (11,)]
FUNCTIONS = {"inverse": jnp.linalg.inv, "factor": jnp.linalg.cholesky, "determinant": jnp.linalg.slogdet}


def matrices(batch):
    some = np.random.RandomState(0).normal(size=(*batch, 18, 18))
    return some @ some.swapaxes(-1, -2) + np.eye(18)


def curvature(function, values):
    def total(values):
        return jnp.sum(jnp.sin(jax.tree.leaves(function(values))[-1]))

    return jax.grad(lambda values: jnp.sum(jnp.cos(jax.grad(total)(values))))(values)


@pytest.mark.parametrize("batch", BATCHES, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_matrix(name, batch):
    function, values = FUNCTIONS[name], matrices(batch)

    def ours(values):
        return each_matrix(function, values)

    with jax.enable_x64(True):
        alone = str(jax.make_jaxpr(ours)(values))
        # Of one matrix after the other: JAX's own calls for batches may wait for good.
        flat = values.reshape(-1, 18, 18)
        one_by_one = [jax.tree.leaves(jax.jit(function)(one)) for one in flat]
        for found, *wanted in zip(jax.tree.leaves(jax.jit(ours)(values)), *one_by_one, strict=True):
            np.testing.assert_allclose(found, np.reshape(wanted, found.shape), rtol=1e-9)
        second = jax.jit(functools.partial(curvature, function))
        wanted = np.stack([second(one) for one in flat]).reshape(values.shape)
        found = jax.jit(functools.partial(curvature, ours))(values)
        np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-9)
    if jax.default_backend() == "cpu":
        assert f"f64[{batch[0]},18,18] = lu" not in alone and f"f64[{batch[0]},18,18] = cholesky" not in alone


def test_two_systems_at_once_end():
    """As many calls for batches as JAX's pool has threads waited for each other for good."""
    script = """
import os
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
import numpy as np
import gluonjax as mx
rng = np.random.RandomState(3)
left = mx.nd.array(np.tril(rng.uniform(0.1, 1, (8, 96, 96))) + 8 * np.eye(96))
right = [mx.nd.array(rng.normal(size=(8, 96, 96))) for _ in range(6)]

class Systems(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, left, *right):
        return F.add_n(*[F.linalg.trsm(left, F.batch_dot(F.sin(one), one)) for one in right])

block = Systems()
block.hybridize()
for _ in range(100):
    found = block(left, *right)
    found.wait_to_read()
product = np.matmul(left.asnumpy(), found.asnumpy())
assert np.allclose(product, sum(np.matmul(np.sin(one.asnumpy()), one.asnumpy()) for one in right), rtol=1e-3, atol=1e-2)
print("done")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "done", done.stderr


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", ["inv", "det", "slogdet", "cholesky", "svd", "eigh", "eigvalsh", "pinv", "qr",
                                  "eigvals"])  # fmt: skip
def test_half_precision_is_computed_in_single(name, compiled, dtype, monkeypatch):
    if compiled:
        monkeypatch.setattr("gluonjax._engine.run.LARGE", -1.0)
    function = getattr(mx.np.linalg, name)
    values = mx.np.array([[3, 0.5, 0], [0.5, 2, 0.25], [0, 0.25, 1]]).astype(dtype)
    with mx.util.np_shape(True), mx.util.np_array(True):
        found, wanted = function(values), function(values.astype("float32"))
    several = isinstance(found, (tuple, list))
    for half, single in zip(found if several else [found], wanted if several else [wanted]):
        assert half.dtype == values.dtype
        assert np.allclose(half.astype("float32").asnumpy(), single.asnumpy(), rtol=1e-2, atol=1e-2)
