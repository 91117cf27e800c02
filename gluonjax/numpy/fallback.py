"""Functions that run in NumPy on the host: arguments are copied there, no gradient flows through them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as _numpy

from gluonjax.numpy._protocols import run_on_numpy

NAMES = (
    "allclose", "alltrue", "apply_along_axis", "apply_over_axes", "argpartition", "array_equal",
    "array_equiv",
    "choose", "compress", "corrcoef", "correlate", "cov", "digitize", "divmod", "extract", "float_power",
    "frexp",
    "heaviside", "histogram2d", "histogram_bin_edges", "histogramdd", "i0", "in1d", "interp", "intersect1d",
    "isclose", "isin", "ix_", "lexsort", "min_scalar_type", "modf", "msort", "nanargmax", "nanargmin",
    "nancumprod",
    "nancumsum", "nanmax", "nanmedian", "nanmin", "nanpercentile", "nanprod", "nanquantile", "packbits",
    "partition",
    "piecewise", "poly", "polyadd", "polydiv", "polyfit", "polyint", "polymul", "polysub", "positive",
    "promote_types", "ptp", "real", "result_type", "roots", "searchsorted", "select", "setdiff1d", "setxor1d",
    "spacing", "trapz", "tril_indices_from", "trim_zeros", "triu_indices_from", "union1d", "unpackbits",
    "unwrap",
    "vander",
)  # fmt: skip

# NumPy 2 renamed or dropped these; what they did is one expression.
_GONE: dict[str, Callable[..., Any]] = {
    "alltrue": _numpy.all,
    "in1d": lambda ar1, ar2, **options: _numpy.isin(_numpy.asarray(ar1).ravel(), ar2, **options),
    "msort": lambda a: _numpy.sort(a, axis=0),
    "trapz": lambda y, x=None, dx=1.0, axis=-1: _numpy.trapezoid(y, x, dx, axis),
}


def through_numpy(func: Callable[..., Any], name: str | None = None) -> Callable[..., Any]:
    """The function on ``mx.np`` arrays that NumPy's function is on its own."""

    def function(*args: Any, **kwargs: Any) -> Any:
        return run_on_numpy(func, args, kwargs)

    function.__name__ = function.__qualname__ = name or func.__name__
    function.__module__ = __name__
    function.__doc__ = f"``numpy.{function.__name__}`` on the host, with arrays converted there and back; no gradient."
    return function


def names() -> dict[str, Callable[..., Any]]:
    """All functions of this module by name."""
    found = {name: getattr(_numpy, name, None) or _GONE[name] for name in NAMES}
    return {name: through_numpy(func, name) for name, func in found.items()}


globals().update(names())

__all__ = list(NAMES)  # pyright: ignore[reportUnsupportedDunderAll]
