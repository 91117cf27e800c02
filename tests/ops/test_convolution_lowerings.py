"""The ways in which a CPU convolves agree with XLA's own convolution, gradients included."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from gluonjax._ops import registry

# data, filters, kernel, attributes
CASES = [
    ((3, 5, 24, 25), 7, (1, 1), {}),
    ((3, 5, 41, 43), 4, (1, 1), {"stride": (2, 2)}),
    ((2, 70, 5, 6), 90, (1, 1), {"pad": (1, 0)}),
    ((2, 6, 500), 5, (1,), {}),
    ((2, 5, 6, 9, 10), 4, (1, 1, 1), {}),
    ((2, 3, 11, 12), 5, (3, 3), {"pad": (1, 1)}),
    ((2, 3, 11, 12), 5, (3, 2), {"pad": (1, 1), "stride": (2, 3)}),
    ((2, 1, 13, 12), 5, (3, 5), {"stride": (2, 1), "dilate": (2, 1)}),
    ((2, 1, 24), 3, (9,), {"stride": (4,)}),
    ((2, 1, 70, 60), 3, (8, 9), {"stride": (4, 4)}),
    ((2, 3, 11, 12), 28, (3, 3), {"pad": (1, 1), "stride": (2, 2)}),
    ((2, 3, 20, 21), 16, (7, 6), {"stride": (2, 3), "dilate": (2, 1)}),
    ((3, 3, 203, 202), 16, (7, 7), {"stride": (2, 2)}),
    ((2, 4, 12, 13), 6, (3, 3), {"num_group": 2, "pad": (1, 1)}),
    ((2, 6, 12, 13), 9, (3, 3), {"num_group": 3, "pad": (1, 1), "stride": (2, 2)}),
    ((2, 8, 13, 11), 4, (3, 2), {"num_group": 4, "dilate": (2, 3), "stride": (1, 2)}),
    ((2, 8, 20), 8, (3,), {"num_group": 4, "stride": (2,)}),
    ((1, 4, 6, 7, 8), 4, (2, 2, 2), {"num_group": 2, "stride": (2, 1, 2)}),
    ((1, 300, 6, 7), 300, (3, 3), {"num_group": 150}),
    ((2, 6, 12, 13), 6, (3, 3), {"num_group": 6, "pad": (1, 1)}),
    ((2, 6, 12, 13), 12, (3, 3), {"num_group": 6, "pad": (1, 1), "stride": (2, 2)}),
    ((2, 6, 15, 13), 6, (3, 2), {"num_group": 6, "dilate": (2, 3), "stride": (3, 2)}),
    ((2, 6, 25), 6, (5,), {"num_group": 6, "stride": (2,), "pad": (2,)}),
    ((1, 4, 7, 8, 9), 4, (3, 3, 2), {"num_group": 4, "stride": (2, 1, 2), "pad": (1, 1, 0)}),
    ((5, 12, 220, 170), 12, (3, 3), {"num_group": 12}),
    ((3, 20, 12, 11), 5, (5, 4), {}),
    ((2, 12, 6, 7), 7, (5, 4), {"pad": (1, 0)}),
    ((2, 12, 14, 13), 6, (4, 3), {"dilate": (3, 2)}),
    ((2, 12, 13), 5, (6,), {}),
    ((2, 5, 8, 9), 6, (2, 3), {"stride": (2, 3)}),
    ((2, 3, 17), 4, (4,), {"stride": (4,), "pad": (1,)}),
    ((2, 5, 6, 7, 8), 6, (3, 3, 3), {"pad": (1, 1, 1)}),
    ((2, 2, 7, 8, 9), 3, (3, 2, 3), {"pad": (1, 0, 2), "stride": (2, 1, 2)}),
    ((2, 5, 9, 8, 9), 3, (2, 3, 3), {"dilate": (3, 1, 2)}),
    ((2, 5, 4, 6, 8), 3, (2, 3, 4), {"stride": (2, 3, 4)}),
]


def direct(data, weight, attrs):
    count = data.ndim - 2
    return lax.conv_general_dilated(
        data, weight, attrs.get("stride", (1,) * count), [(n, n) for n in attrs.get("pad", (0,) * count)],
        rhs_dilation=attrs.get("dilate", (1,) * count), feature_group_count=attrs.get("num_group", 1),
        dimension_numbers=lax.ConvDimensionNumbers(*(tuple(range(data.ndim)),) * 3),
    )  # fmt: skip


def with_gradients(function, data, weight, head):
    result, pullback = jax.vjp(function, data, weight)
    return result, *pullback(head)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}-{case[2]}-{case[3]}")
@pytest.mark.parametrize("last", [False, True], ids=["first", "last"])
def test_convolution(case, last):
    shape, filters, kernel, attrs = case
    rng = np.random.RandomState(0)
    data = rng.normal(size=shape)
    weight = rng.normal(size=(filters, shape[1] // attrs.get("num_group", 1), *kernel))
    layout = {1: "NWC", 2: "NHWC", 3: "NDHWC"}[len(kernel)] if last else None
    op = registry.get("Convolution")
    pure = op.pure(
        op.parse({"kernel": kernel, "num_filter": filters, "no_bias": True, "layout": layout, **attrs}), True
    )

    def ours(data, weight):
        if last:
            return jnp.moveaxis(pure(jnp.moveaxis(data, 1, -1), jnp.moveaxis(weight, 1, -1))[0], -1, 1)
        return pure(data, weight)[0]

    with jax.enable_x64(True):
        theirs = functools.partial(direct, attrs=attrs)
        head = rng.normal(size=jax.eval_shape(theirs, data, weight).shape)
        wanted = jax.jit(functools.partial(with_gradients, theirs))(data, weight, head)
        found = jax.jit(functools.partial(with_gradients, ours))(data, weight, head)
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == np.float64
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


DECONVOLUTIONS = [
    ((2, 5, 6, 7), 4, (2, 2), {"stride": (2, 2)}),
    ((2, 5, 6, 7), 4, (3, 2), {"stride": (3, 2)}),
    ((2, 5, 9), 4, (4,), {"stride": (4,)}),
    ((2, 3, 3, 4, 5), 2, (2, 2, 2), {"stride": (2, 2, 2)}),
    ((2, 3, 3, 4, 5), 2, (4, 3, 4), {"stride": (2, 1, 2), "pad": (1, 1, 1), "adj": (1, 0, 0)}),
    ((2, 3, 6, 7), 2, (4, 4), {"stride": (2, 2), "pad": (1, 1)}),
    ((2, 8, 6, 7), 8, (4, 4), {"stride": (2, 2), "pad": (1, 1), "num_group": 4}),
    ((2, 8, 6, 7), 4, (3, 3), {"num_group": 2, "dilate": (2, 1)}),
    ((2, 3, 6, 7), 8, (4, 4), {"stride": (2, 2), "pad": (1, 1)}),
    ((2, 3, 6, 7), 9, (6, 4), {"stride": (3, 2), "pad": (4, 0), "adj": (2, 1)}),
    ((2, 3, 6, 7), 8, (4, 2), {"stride": (2, 1), "pad": (3, 1)}),
    ((1, 3, 2, 2), 8, (8, 8), {"stride": (4, 4), "pad": (6, 5)}),
    ((2, 3, 9), 8, (8,), {"stride": (4,), "pad": (0,), "adj": (3,)}),
    ((2, 3, 3, 4, 5), 8, (4, 3, 4), {"stride": (2, 3, 2), "pad": (1, 0, 1), "adj": (1, 0, 0)}),
    ((2, 6, 6, 7), 16, (4, 4), {"stride": (2, 2), "pad": (1, 1), "num_group": 2}),
]


@pytest.mark.parametrize("case", DECONVOLUTIONS, ids=lambda case: f"{case[0]}-{case[1]}-{case[2]}-{case[3]}")
def test_deconvolution(case):
    shape, filters, kernel, attrs = case
    rng = np.random.RandomState(1)
    data, groups = rng.normal(size=shape), attrs.get("num_group", 1)
    weight = rng.normal(size=(shape[1], filters // groups, *kernel))
    op = registry.get("Deconvolution")
    pure = op.pure(op.parse({"kernel": kernel, "num_filter": filters, **attrs}), True)
    count = len(kernel)
    stride, pad, dilate, adj = (
        attrs.get(name, (least,) * count) for name, least in (("stride", 1), ("pad", 0), ("dilate", 1), ("adj", 0))
    )
    size = [
        step * (n - 1) + spread * (width - 1) + 1 - 2 * amount + extra
        for n, step, width, spread, amount, extra in zip(shape[2:], stride, kernel, dilate, pad, adj)
    ]
    image = jax.ShapeDtypeStruct((shape[0], filters, *size), np.float64)

    def theirs(data, weight):
        back = jax.vjp(lambda picture: direct(picture, weight, attrs), jnp.zeros(image.shape))[1]
        return back(data)[0]

    def ours(data, weight):
        return pure(data, weight)[0]

    with jax.enable_x64(True):
        head = rng.normal(size=image.shape)
        wanted = jax.jit(functools.partial(with_gradients, theirs))(data, weight, head)
        found = jax.jit(functools.partial(with_gradients, ours))(data, weight, head)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_second_derivatives():
    """A gradient of a gradient, through every custom rule."""
    rng = np.random.RandomState(2)
    op = registry.get("Convolution")
    for shape, filters, kernel, attrs in (CASES[0], CASES[5], CASES[7], CASES[10], CASES[16], CASES[24]):
        data = rng.normal(size=shape)
        weight = rng.normal(size=(filters, shape[1] // attrs.get("num_group", 1), *kernel))
        pure = op.pure(op.parse({"kernel": kernel, "num_filter": filters, "no_bias": True, **attrs}), True)

        def curvature(function, data, weight):
            inner = jax.grad(lambda weight: jnp.sum(jnp.sin(function(data, weight))))
            return jax.grad(lambda weight: jnp.sum(jnp.cos(inner(weight))))(weight)

        with jax.enable_x64(True):
            found = jax.jit(functools.partial(curvature, lambda x, w, pure=pure: pure(x, w)[0]))(data, weight)
            wanted = jax.jit(
                functools.partial(curvature, lambda x, w, attrs=attrs: direct(x, w, attrs))
            )(data, weight)  # fmt: skip
        assert np.abs(found).max() > 0
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-8)
