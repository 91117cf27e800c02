"""``mx.np.random``: draws from distributions; ``mx.random.seed`` controls them."""

from __future__ import annotations

import math
from typing import Any

import numpy as _numpy

from gluonjax._base.devices import Context
from gluonjax._base.dtypes import to_dtype
from gluonjax._base.errors import MXNetError
from gluonjax._engine import rng as _rng
from gluonjax._engine.run import is_tracer
from gluonjax._ops.numpy import sampling as _sampling
from gluonjax.numpy._call import UnsupportedArgument, invoke, kernel_of, shape_of
from gluonjax.numpy.multiarray import ndarray


def _size(size: Any) -> tuple[int, ...] | None:
    return None if size is None else shape_of(size)


def _place(ctx: Any) -> Context | None:
    return None if ctx is None else Context(ctx)


def draw(
    name: str, parameters: tuple[Any, ...], size: Any, dtype: Any = None, ctx: Any = None, out: Any = None
) -> ndarray:
    """Draw from a distribution of ``_ops/numpy/sampling.py``; parameters are numbers or arrays."""
    kind = to_dtype(dtype)
    if kind.kind != "f" and name != "bernoulli":
        raise MXNetError(f"random.{name}: dtype has to be a floating type, got {kind.name}")
    values = [p if isinstance(p, ndarray) else _numpy.asarray(p, _numpy.float32) for p in parameters]
    if size is None and out is not None:
        size = out.shape
    kernel = kernel_of(_sampling.draw, name=name, size=_size(size), dtype=kind)
    return invoke(kernel, (*values, _rng.take_keys()), ndarray, out, _place(ctx))


def _known(value: Any) -> Any:
    """The value as NumPy where it exists; None while the code is traced."""
    if isinstance(value, ndarray):
        return None if is_tracer(value._value) else value.asnumpy()
    return _numpy.asarray(value)


def _positive(name: str, **parameters: Any) -> None:
    for label, value in parameters.items():
        known = _known(value)
        if known is not None and not (known > 0).all():
            raise ValueError(f"random.{name}: expected {label} > 0, got {value}")


def _not_negative(name: str, **parameters: Any) -> None:
    for label, value in parameters.items():
        known = _known(value)
        if known is not None and not (known >= 0).all():
            raise ValueError(f"random.{name}: expected {label} >= 0, got {value}")


def uniform(
    low: Any = 0.0, high: Any = 1.0, size: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> ndarray:
    """Uniform on [low, high).

    >>> from gluonjax import np
    >>> np.random.uniform(size=(2, 3)).shape
    (2, 3)
    """
    return draw("uniform", (low, high), size, dtype, ctx, out)


def normal(
    loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> ndarray:
    """Normal with that mean and standard deviation."""
    _not_negative("normal", scale=scale)
    return draw("normal", (loc, scale), size, dtype, ctx, out)


def lognormal(
    mean: Any = 0.0, sigma: Any = 1.0, size: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> ndarray:
    """The exponential of a normal variable."""
    _not_negative("lognormal", sigma=sigma)
    return draw("lognormal", (mean, sigma), size, dtype, ctx, out)


def gumbel(loc: Any = 0.0, scale: Any = 1.0, size: Any = None, ctx: Any = None, out: Any = None) -> ndarray:
    """Gumbel with that location and scale."""
    _not_negative("gumbel", scale=scale)
    return draw("gumbel", (loc, scale), size, None, ctx, out)


def logistic(loc: Any = 0.0, scale: Any = 1.0, size: Any = None, ctx: Any = None, out: Any = None) -> ndarray:
    """Logistic with that location and scale."""
    _not_negative("logistic", scale=scale)
    return draw("logistic", (loc, scale), size, None, ctx, out)


def exponential(scale: Any = 1.0, size: Any = None, ctx: Any = None, out: Any = None) -> ndarray:
    """Exponential with that mean."""
    _not_negative("exponential", scale=scale)
    return draw("exponential", (scale,), size, None, ctx, out)


def rayleigh(scale: Any = 1.0, size: Any = None, ctx: Any = None, out: Any = None) -> ndarray:
    """Rayleigh with that scale."""
    _not_negative("rayleigh", scale=scale)
    return draw("rayleigh", (scale,), size, None, ctx, out)


def weibull(a: Any, size: Any = None, ctx: Any = None, out: Any = None) -> ndarray:
    """Weibull with shape a and scale 1."""
    _positive("weibull", a=a)
    return draw("weibull", (a,), size, None, ctx, out)


def pareto(a: Any, size: Any = None, ctx: Any = None, out: Any = None) -> ndarray:
    """Pareto II (Lomax) with shape a."""
    _positive("pareto", a=a)
    return draw("pareto", (a,), size, None, ctx, out)


def power(a: Any, size: Any = None) -> ndarray:
    """On [0, 1] with density a x^(a-1)."""
    _positive("power", a=a)
    return draw("power", (a,), size)


def gamma(
    shape: Any, scale: Any = 1.0, size: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> ndarray:
    """Gamma with that shape and scale."""
    _positive("gamma", shape=shape, scale=scale)
    return draw("gamma", (shape, scale), size, dtype, ctx, out)


def beta(a: Any, b: Any, size: Any = None, dtype: Any = None, ctx: Any = None) -> ndarray:
    """Beta on [0, 1]."""
    return draw("beta", (a, b), size, dtype, ctx)


def chisquare(df: Any, size: Any = None, dtype: Any = None, ctx: Any = None) -> ndarray:
    """Chi-square with that many degrees of freedom."""
    return draw("chisquare", (df,), size, dtype, ctx)


def rand(*size: int, **kwargs: Any) -> ndarray:
    """Uniform on [0, 1); the shape is given as numbers."""
    return uniform(0.0, 1.0, size=size, **kwargs)


def randn(*size: int, **kwargs: Any) -> ndarray:
    """Standard normal; the shape is given as numbers."""
    return normal(0.0, 1.0, size=size, **kwargs)


def randint(
    low: Any, high: Any = None, size: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> ndarray:
    """Whole numbers in [low, high), or in [0, low) where high is None; int64 unless told otherwise."""
    low, high = (0, low) if high is None else (low, high)
    if low >= high:
        raise ValueError(f"random.randint: low >= high ({low} >= {high})")
    shape = out.shape if size is None and out is not None else () if size is None else shape_of(size)
    kernel = kernel_of(_sampling.randint, size=shape, dtype=to_dtype(_numpy.int64 if dtype is None else dtype))
    bounds = (_numpy.asarray(int(low), _numpy.int64), _numpy.asarray(int(high), _numpy.int64))
    return invoke(kernel, (*bounds, _rng.take_keys()), ndarray, out, _place(ctx))


def choice(a: Any, size: Any = None, replace: bool = True, p: Any = None, ctx: Any = None, out: Any = None) -> ndarray:
    """Elements of a 1-D array, or of ``range(a)``, with or without replacement."""
    source = a if isinstance(a, ndarray) and a.ndim else None
    if source is not None and source.ndim != 1:
        raise ValueError("a must be 1-dimensional")
    count = source.shape[0] if source is not None else int(a)
    if count <= 0:
        raise ValueError("a must be greater than 0 unless no samples are taken")
    shape = () if size is None else shape_of(size)
    if not replace and math.prod(shape) > count:
        raise ValueError(f"Cannot take a larger sample than population when 'replace=False' ({shape} of {count})")
    weights = () if p is None else (p if isinstance(p, ndarray) else _numpy.asarray(p, _numpy.float32),)
    if weights and weights[0].shape != (count,):
        raise ValueError(f"'a' and 'p' must have same size, got {count} and {weights[0].shape}")
    kernel = kernel_of(_sampling.choice, count=count, size=shape, replace=bool(replace))
    positions = invoke(kernel, (*weights, _rng.take_keys()), ndarray, out if source is None else None, _place(ctx))
    if source is None:
        return positions
    from gluonjax.numpy._shapes import take

    return take(source, positions, mode="clip", out=out)


def shuffle(x: ndarray) -> None:
    """Bring the rows of an array into random order, in place."""
    x[...] = permutation(x)


def permutation(x: Any) -> ndarray:
    """A copy with the rows in random order, or the numbers of ``range(x)`` in random order."""
    if not isinstance(x, ndarray):
        from gluonjax.numpy._creation import arange, array

        x = arange(x, dtype=_numpy.int64) if isinstance(x, (int, _numpy.integer)) else array(x)
    if x.ndim == 0:
        return permutation(int(x.item()))
    return invoke(kernel_of(_sampling.permutation), (x, _rng.take_keys()), ndarray)


def multinomial(n: int, pvals: Any, size: Any = None, **kwargs: Any) -> ndarray:
    """How often each outcome came in n trials; int64, the outcomes on the last axis."""
    if kwargs:
        raise TypeError(f"multinomial() got an unexpected keyword argument '{next(iter(kwargs))}'")
    probabilities = pvals if isinstance(pvals, ndarray) else _numpy.asarray(pvals, _numpy.float32)
    total = float(_numpy.sum(_numpy.asarray(pvals.asnumpy() if isinstance(pvals, ndarray) else pvals)[..., :-1]))
    if total > 1.0 + 1e-6:
        raise MXNetError("sum(pvals[:-1]) > 1.0")
    kernel = kernel_of(_sampling.multinomial, n=int(n), size=() if size is None else shape_of(size))
    return invoke(kernel, (probabilities, _rng.take_keys()), ndarray)


def multivariate_normal(mean: Any, cov: Any, size: Any = None, check_valid: Any = None, tol: Any = None) -> ndarray:
    """Normal vectors with that mean and covariance matrix."""
    if check_valid is not None or tol is not None:
        raise UnsupportedArgument("multivariate_normal", "check_valid and tol are not supported; leave them out")
    arrays = [v if isinstance(v, ndarray) else _numpy.asarray(v, _numpy.float32) for v in (mean, cov)]
    kernel = kernel_of(_sampling.multivariate_normal, size=_size(size))
    return invoke(kernel, (*arrays, _rng.take_keys()), ndarray)
