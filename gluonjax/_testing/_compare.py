"""Comparing arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gluonjax._base.dtypes import BFLOAT16
from gluonjax._testing._tolerance import Tolerance, get_atol, get_etol, get_rtol, get_tols

Names = tuple[str, str]


def to_numpy(value: Any) -> np.ndarray:
    """The NumPy array of an NDArray or anything array-like; bfloat16 as float32, for NumPy's functions."""
    array = value.asnumpy() if hasattr(value, "asnumpy") else np.asarray(value)
    return array.astype(np.float32) if array.dtype == BFLOAT16 else array


def same(a: Any, b: Any) -> bool:
    """True where two arrays have the same shape and values."""
    return np.array_equal(to_numpy(a), to_numpy(b))


def checkShapes(a: Any, b: Any) -> None:
    """Raise AssertionError where shapes differ."""
    if a.shape != b.shape:
        raise AssertionError(f"a.shape = {a.shape} and b.shape = {b.shape} are not equal")


def almost_equal(
    a: Any,
    b: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    use_broadcast: bool = True,
) -> bool:
    """True where ``|a - b| <= atol + rtol * |b|`` everywhere."""
    if not use_broadcast:
        checkShapes(a, b)
    return np.allclose(_single(a), _single(b), get_rtol(rtol), get_atol(atol), equal_nan)


def _single(value: Any) -> np.ndarray:
    """The array, half precision as single: NumPy takes ten times as long for arithmetic on halves."""
    array = to_numpy(value)
    return array.astype(np.float32) if array.dtype == np.float16 else array


def locationError(a: Any, b: Any, index: Any, names: Names, maxError: bool = False) -> str:
    """Describe the two values at an index."""
    kind = "maximum error" if maxError else "error"
    return f"Location of {kind}: {index}, {names[0]}={a[index]:.8f}, {names[1]}={b[index]:.8f}"


def _violations(a: np.ndarray, b: np.ndarray, rtol: float, atol: float, equal_nan: bool) -> np.ndarray:
    """How many times its tolerance every difference is; NaN where only one is NaN counts as infinite."""
    equal = (a == b) | (np.isnan(a) & np.isnan(b) if equal_nan else False)
    with np.errstate(invalid="ignore", over="ignore"):
        part = np.abs(a - b) / (atol + rtol * np.abs(b) + 1e-20)
    return np.where(equal, 0.0, np.where(np.isnan(part), np.inf, part))


def _as_float(array: np.ndarray) -> np.ndarray:
    return array if array.dtype.kind == "c" else array.astype(np.float64)


def _report(
    a: np.ndarray, b: np.ndarray, rtol: float, atol: float, names: Names, equal_nan: bool, shown: int
) -> str:
    a, b = np.broadcast_arrays(_as_float(a), _as_float(b))
    violations = _violations(a, b, rtol, atol, equal_nan)
    wrong = int((violations > 1).sum())
    worst = [
        np.unravel_index(place, a.shape)
        for place in np.argsort(-violations, axis=None)[: max(1, min(shown, wrong))]
    ]
    if a.ndim:
        print(f"\n*** Maximum errors for vector of size {a.size}:  rtol={rtol}, atol={atol}\n")
        for number, index in enumerate(worst, 1):
            place = tuple(int(part) for part in index)
            print(f"{number:3d}: Error {violations[index]:f}  {locationError(a, b, place, names)}")
    place = tuple(int(part) for part in worst[0])
    return (
        f"Error {violations[worst[0]]:f} exceeds tolerance rtol={rtol:e}, atol={atol:e} "
        f"(mismatch {100 * wrong / a.size:f}%).\n{locationError(a, b, place, names, maxError=True)}\n"
        f" {names[0]}: {np.array2string(a, threshold=20)}\n {names[1]}: {np.array2string(b, threshold=20)}"
    )


def assert_almost_equal(
    a: Any,
    b: Any,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    names: Names = ("a", "b"),
    equal_nan: bool = False,
    use_broadcast: bool = True,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """Raise AssertionError where ``|a - b| <= atol + rtol * |b|`` fails, and say where it is worst.

    Args:
        a: an array or number.
        b: what it should be.
        rtol: a number, or a table of types; by default what the less exact type can hold.
        atol: likewise.
        names: what to call the two.
        equal_nan: NaN equals NaN.
        use_broadcast: shapes may differ where they broadcast.
        mismatches: how many of the worst places are printed, and searched for.
    """
    if not use_broadcast:
        checkShapes(a, b)
    relative, absolute = get_tols(a, b, rtol, atol)
    first, second = to_numpy(a), to_numpy(b)
    if first.dtype == second.dtype == np.bool_:
        np.testing.assert_equal(first, second)
    elif not almost_equal(first, second, relative, absolute, equal_nan):
        raise AssertionError(_report(first, second, relative, absolute, names, equal_nan, mismatches[0]))


def assert_allclose(a: Any, b: Any, rtol: float = 1e-07, atol: float = 0, equal_nan: bool = True) -> None:
    """``assert_almost_equal`` with the defaults of ``numpy.testing.assert_allclose``."""
    assert_almost_equal(a, b, rtol, atol, equal_nan=equal_nan)


def assert_almost_equal_with_err(
    a: Any,
    b: Any,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    etol: float | None = None,
    names: Names = ("a", "b"),
    equal_nan: bool = False,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """``assert_almost_equal`` that lets a part ``etol`` of the elements differ."""
    allowed = get_etol(etol)
    if not allowed:
        assert_almost_equal(a, b, rtol, atol, names, equal_nan, mismatches=mismatches)
        return
    relative, absolute = get_tols(a, b, rtol, atol)
    first, second = to_numpy(a), to_numpy(b)
    if 1 - np.isclose(first, second, relative, absolute, equal_nan).mean() > allowed:
        raise AssertionError(_report(first, second, relative, absolute, names, equal_nan, mismatches[0]))


def assert_almost_equal_ignore_nan(
    a: Any, b: Any, rtol: Tolerance = None, atol: Tolerance = None, names: Names = ("a", "b")
) -> None:
    """``assert_almost_equal`` where neither is NaN."""
    first, second = np.array(to_numpy(a)), np.array(to_numpy(b))
    missing = np.isnan(first) | np.isnan(second)
    first[missing] = second[missing] = 0
    assert_almost_equal(first, second, rtol, atol, names)


def assert_exception(f: Callable[..., Any], exception_type: Any, *args: Any, **kwargs: Any) -> None:
    """Raise AssertionError unless calling ``f`` raises ``exception_type``."""
    try:
        f(*args, **kwargs)
    except exception_type:
        return
    raise AssertionError(f"{getattr(f, '__name__', f)} did not raise {exception_type}")


def same_array(array1: Any, array2: Any) -> bool:
    """True where two NDArrays are the same memory: a change of one shows in the other."""
    array1[:] += 1
    shared = same(array1, array2)
    array1[:] -= 1
    return shared and same(array1, array2)


def compare_ndarray_tuple(t1: Any, t2: Any, rtol: Tolerance = None, atol: Tolerance = None) -> None:
    """``assert_almost_equal`` on nested tuples of arrays; None equals everything."""
    if t1 is None or t2 is None:
        return
    if isinstance(t1, tuple):
        for first, second in zip(t1, t2):
            compare_ndarray_tuple(first, second, rtol, atol)
    else:
        assert_almost_equal(t1, t2, rtol, atol)


def collapse_sum_like(a: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return ``a`` summed to ``shape``: the reverse of broadcasting."""
    extra = a.ndim - len(shape)
    if extra < 0 or any(size not in (1, a.shape[extra + axis]) for axis, size in enumerate(shape)):
        raise AssertionError(f"collapse_sum_like: {shape} does not broadcast to {a.shape}")
    if a.size == 0 or 0 in shape:
        return np.zeros(shape, a.dtype)
    axes = [axis for axis in range(a.ndim) if axis < extra or shape[axis - extra] != a.shape[axis]]
    return a.sum(axis=tuple(axes)).reshape(shape)


def np_reduce(dat: np.ndarray, axis: Any, keepdims: bool, numpy_reduce_func: Callable[..., Any]) -> Any:
    """Return ``dat`` reduced over one or several axes, or all, with a function that takes one axis.

    >>> np_reduce(np.ones((2, 3, 4)), (0, 2), True, np.sum).shape
    (1, 3, 1)
    """
    axes = range(dat.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    chosen = sorted({number % dat.ndim for number in axes}, reverse=True)
    result = dat
    for number in chosen:
        result = numpy_reduce_func(result, axis=number)
    if keepdims:
        result = result.reshape([1 if number in chosen else size for number, size in enumerate(dat.shape)])
    return result
