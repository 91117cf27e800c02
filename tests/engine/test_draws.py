"""Large draws made by compiled blocks: the numbers of one program, and no program for every shape."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import gluonjax as mx
from gluonjax import nd
from gluonjax._engine._numpy_rules import draws
from gluonjax._ops import registry
from gluonjax._ops.draws import DRAWS, draw_named, drawn

PARAMETERS: dict[str, dict[str, float]] = {
    "uniform": {"low": 0.5, "high": 3.0},
    "normal": {"loc": 10.0, "scale": 0.5},
    "exponential": {"lam": 4.0},
    "gamma": {"alpha": 9.0, "beta": 0.5},
    "poisson": {"lam": 25.0},
    "negative_binomial": {"k": 30.0, "p": 0.75},
    "generalized_negative_binomial": {"mu": 2.0, "alpha": 0.3},
}


def in_one_program(op: str, arrays: list[np.ndarray], numbers: dict[str, float], **attrs: Any) -> np.ndarray:
    found = registry.get(op)
    function = found.pure(found.parse(attrs), False, tuple(numbers))
    with jax.enable_x64(True):
        return np.asarray(jax.jit(function)(*arrays, *numbers.values(), np.array([5, 0], np.uint32))[0])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", PARAMETERS)
def test_blocks_give_the_numbers_of_one_program(name: str, dtype: str) -> None:
    shape = (3, 11003)
    mx.random.seed(5)
    found = getattr(nd, f"random_{name}")(shape=shape, dtype=dtype, **PARAMETERS[name]).asnumpy()
    expected = in_one_program(f"_random_{name}", [], PARAMETERS[name], shape=shape, dtype=dtype)
    assert found.dtype == expected.dtype == np.dtype(dtype) and found.shape == shape
    np.testing.assert_allclose(found, expected, rtol=2e-3 if dtype == "float16" else 1e-5)


@pytest.mark.parametrize("shape", [(1,), (7,), (3, 11003)])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize(("low", "high"), [(-500.0, 199.0), (2.0**30, 2.0**30 + 3)])
def test_whole_numbers_in_blocks_are_those_of_one_program(
    low: float, high: float, dtype: str, shape: tuple[int, ...]
) -> None:
    mx.random.seed(5)
    ends = {"low": low, "high": high}
    found = nd.random.randint(int(low), int(high), shape=shape, dtype=dtype).asnumpy()
    expected = in_one_program("_random_randint", [], ends, **ends, shape=shape, dtype=dtype)
    assert found.dtype == np.dtype(dtype) and found.min() >= low and found.max() < high
    np.testing.assert_array_equal(found, expected.reshape(found.shape))


@pytest.mark.parametrize("ends", [(-5, 7), (-(2**63), 2**63 - 1), (0, 1), (2**40, 2**62), (-10, 2**45 + 3)])
def test_whole_numbers_are_words_scaled_down(ends: tuple[int, int]) -> None:
    low, high = ends
    words = np.random.RandomState(0).randint(0, 2**64, 500, dtype=np.uint64)
    words[:3] = 0, 2**64 - 1, 2**63
    with jax.enable_x64(True):
        found = DRAWS["whole"].form(
            lambda count, width, number=None: (jax.numpy.asarray(words),), np.dtype(np.int64),
            jax.numpy.asarray(low, np.int64), jax.numpy.asarray(high - low, np.uint64),
        )  # fmt: skip
        assert np.asarray(found).tolist() == [low + (int(word) * (high - low) >> 64) for word in words]


@pytest.mark.parametrize(
    ("name", "parameters"), [("gamma", ([0.2, 0.9, 7.0], [1.0, 2.0, 0.5])), ("poisson", ([0.0, 4.0, 80.0],))]
)
def test_every_element_has_its_own_parameters(name: str, parameters: Any) -> None:
    arrays = [np.array(values, np.float32) for values in parameters]
    mx.random.seed(5)
    found = getattr(nd, f"sample_{name}")(*map(nd.array, arrays), shape=(7001,)).asnumpy()
    np.testing.assert_allclose(found, in_one_program(f"_sample_{name}", arrays, {}, shape=(7001,)), rtol=1e-5)
    means = np.prod(np.float64(parameters), axis=0)
    np.testing.assert_allclose(found.mean(axis=1), means, rtol=0.1)


def test_shapes_share_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    programs: list[Any] = []
    real = draws.Jitted

    def counted(function: Any) -> Any:
        programs.append(function.__name__)
        return real(function)

    for cache in (draws._block, draws._attempt, draws._base):
        cache.cache_clear()
    monkeypatch.setattr(draws, "Jitted", counted)
    for shape in ((40000,), (300, 301), (2, 50000)):
        nd.random.uniform(shape=shape).asnumpy()
        nd.random.gamma(0.5, 1.0, shape=shape).asnumpy()
        nd.random.randint(0, shape[0], shape=shape).asnumpy()
    wanted = ("gamma_attempt", "gamma_base", "uniform_block", "whole_block")
    assert sorted(programs) == [f"gluonjax_draw_{name}" for name in wanted]


def test_a_parameter_that_is_none_gives_none() -> None:
    alpha = nd.full((5000,), np.nan)
    assert np.isnan(nd.sample_gamma(alpha, nd.ones_like(alpha)).asnumpy()).all()


def test_only_whole_draws_are_recognized() -> None:
    keys = jax.random.split(jax.random.key(0), 3)
    jaxpr = jax.make_jaxpr(jax.vmap(lambda key: drawn("uniform", key, (40000,), np.dtype(np.float32))))(keys)
    (call,) = jaxpr.eqns
    assert not draws.is_draw(call)
    (call,) = jax.make_jaxpr(lambda key: drawn("uniform", key, (40000,), np.dtype(np.float32)))(keys[0]).eqns
    assert draws.is_large(call, 1.0) and not draws.is_large(call, 16.0)
    assert draw_named("sin", ()) is None and draw_named("gluonjax_draw_uniform_", ()) == "uniform"


def test_blocks_while_jax_traces() -> None:
    mx.random.seed(5)
    expected = nd.random.normal(shape=(40000,)).asnumpy()

    def function(x: Any) -> Any:
        mx.random.seed(5)
        return x + nd.random.normal(shape=(40000,)).asnumpy()[:3]

    np.testing.assert_array_equal(jax.jit(function)(np.zeros(3, np.float32)), expected[:3])
