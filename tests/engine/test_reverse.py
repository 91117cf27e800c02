"""Backwards that are derived from the forward's equations: bit for bit what ``jax.vjp`` gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from jax import lax

from gluonjax._engine import interpret
from gluonjax._engine.run import Kernel
from gluonjax._ops import registry

SPECIAL = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, 0.5, 2.0])


def kernel(name: str, **attrs: Any) -> Kernel:
    op = registry.get(name)
    return Kernel(name, op.pure(op.parse(attrs), True))


def check(forward: Kernel, inputs: list[np.ndarray], derived: bool = True) -> None:
    """The derived gradients of all inputs are those of the program that JAX traces."""
    results = forward.run(inputs, True)
    random = np.random.RandomState(0)
    heads = [np.asarray(random.rand(*result.shape) + 0.5, result.dtype) for result in results]
    wanted, present = tuple(range(len(inputs))), tuple(range(len(results)))
    backward = forward.backward(wanted, present, len(inputs))
    values = [*inputs, *heads]
    found = backward._derived(values)
    assert (found is not None) == derived
    if found is None:
        return
    with jax.enable_x64(True):
        traced = backward.jitted.plain.trace(*[jax.ShapeDtypeStruct(v.shape, v.dtype) for v in values])
    program = interpret.build(traced.jaxpr)
    assert program is not None
    for mine, theirs, given in zip(found[0](values), program(values), inputs):
        assert mine.dtype == theirs.dtype == given.dtype
        np.testing.assert_array_equal(mine, theirs)
        assert mine.shape == given.shape


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "nansum", "nanprod", "norm"])
@pytest.mark.parametrize("attrs", [{}, {"axis": 1}, {"axis": (0, 2), "keepdims": True}])
def test_reductions(name: str, attrs: dict[str, Any], dtype: str) -> None:
    data = np.random.RandomState(1).permutation(np.resize(SPECIAL, 30)).reshape(2, 3, 5).astype(dtype)
    check(kernel(name, **attrs), [data])
    check(kernel(name, **attrs), [np.abs(np.nan_to_num(data, posinf=3, neginf=2)).astype(dtype)])


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "nansum"])
def test_reductions_of_nothing(name: str) -> None:
    check(kernel(name, axis=1), [np.zeros((2, 0, 3), np.float32)])
    check(kernel(name, axis=0), [np.zeros((2, 0, 3), np.float32)])


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "power", "mod", "maximum", "minimum", "hypot"])
@pytest.mark.parametrize("shapes", [((2, 9), (2, 9)), ((1, 9), (4, 1)), ((9,), (2, 9)), ((1,), (2, 1, 9))])
def test_broadcasting(name: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    left, right = (np.resize(SPECIAL, shape).astype("float32") for shape in shapes)
    check(kernel(f"broadcast_{name}"), [left, np.roll(right, 1)])


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "product of one": lambda x: (x * x,),
    "unused": lambda x: (lax.full_like(x, 2),),
    "identity": lambda x: (x,),
    "twice": lambda x: (x, lax.reduce_sum(x, (0,)) * 2),
    "strided": lambda x: (lax.slice(x, (1, 0), (4, 3), (2, 2)),),
    "padded": lambda x: (lax.pad(x, np.float32(1), ((1, -1, 1), (0, 2, 0))),),
    "running": lambda x: (lax.cumsum(x, 1, reverse=True),),
    "joined": lambda x: (lax.concatenate([x, lax.rev(x, (0,)), x[:1]], 0),),
    "parts": lambda x: tuple(lax.split(x, (1, 3), 0)),
    "stopped": lambda x: (lax.stop_gradient(x) * x,),
    "scalar": lambda x: (x * x[0, 0],),
    "gathered": lambda x: (x[np.array([1, 1, 3])],),
    "half": lambda x: (lax.convert_element_type(lax.convert_element_type(x, np.float16) * 3, np.float32),),
    "branches": lambda x: (lax.select(x > 0, x, lax.exp(x)),),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_movement(name: str) -> None:
    check(Kernel(name, FUNCTIONS[name]), [np.resize(SPECIAL, (4, 3)).astype("float32")])


def test_what_jax_does_better_as_a_whole() -> None:
    def gathers(x: Any) -> tuple[Any, ...]:
        for index in ([0, 0], [1, 0], [1, 1]):
            x = lax.exp(x[np.array(index)])
        return (x,)

    check(Kernel("gathers", gathers), [np.ones((2, 3), np.float32)], derived=False)


@pytest.mark.parametrize("name", ["max", "min", "LinearRegressionOutput", "make_loss", "smooth_l1"])
def test_an_operators_own_rule_is_what_jax_would_call(name: str) -> None:
    op = registry.get(name)
    data = [np.resize(SPECIAL, (3, 4)).astype("float32")] * len(op.inputs)
    pure = op.pure(op.parse({}), True)
    with jax.enable_x64(True):
        outputs, pullback = jax.vjp(pure, *data)
        heads = tuple(np.full(output.shape, 1.5, output.dtype) for output in outputs)
        expected = pullback(heads)
    wanted = tuple(range(len(data)))
    found = Kernel(name, pure).backward(wanted, (0,), len(data)).run([*data, *heads], True)
    for mine, theirs in zip(found, expected):
        np.testing.assert_array_equal(mine, theirs)


def test_nothing_is_computed_twice() -> None:
    def twice_sorted(x: Any) -> tuple[Any, ...]:
        return (lax.exp(lax.sort(x)),)

    check(Kernel("sorted", lambda x: (lax.sort(x),)), [np.ones((2, 3), np.float32)])
    check(Kernel("sorted", twice_sorted), [np.ones((2, 3), np.float32)], derived=False)


def test_complex_numbers_are_left_to_jax() -> None:
    def through_complex(x: Any) -> tuple[Any, ...]:
        return (lax.real(lax.exp(lax.complex(x, x))),)

    check(Kernel("complex", through_complex), [np.ones((2, 3), np.float32)], derived=False)


def test_other_dtypes_of_heads_are_converted() -> None:
    forward = kernel("exp")
    backward = forward.backward((0,), (0,), 1)
    data = np.ones((2,), np.float32)
    (gradient,) = backward.run([data, np.full((2,), 2, np.float64)], True)
    assert gradient.dtype == np.float32
    np.testing.assert_allclose(gradient, 2 * np.e, rtol=1e-6)
