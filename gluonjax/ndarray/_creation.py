"""Making arrays from numbers, and module functions that are not operators."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from time import perf_counter_ns
from typing import Any

import jax
import numpy as np

from gluonjax._base.devices import Context, current_context
from gluonjax._base.dtypes import to_dtype
from gluonjax._base.errors import ArgumentTypeError, MXNetError
from gluonjax._base.scopes import modes
from gluonjax._engine import inflight
from gluonjax._engine.profile import recorder
from gluonjax._engine.run import is_tracer
from gluonjax._ops import registry
from gluonjax.ndarray import _arithmetic
from gluonjax.ndarray._cell import SharedCell
from gluonjax.ndarray._invoke import NULL, new_handle, run_operator
from gluonjax.ndarray.ndarray import NDArray, _to_value, numpy_cast, wrap


def array(source_array: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """Copy an array-like into a new array.

    The dtype is float32 unless the source is an NDArray (or a sparse matrix), whose dtype is kept.

    >>> from gluonjax import nd
    >>> nd.array([[1, 2]]).dtype
    <class 'numpy.float32'>
    """
    if isinstance(source_array, NDArray):
        if source_array._stype_name != "default":
            from gluonjax.ndarray import sparse

            return sparse.array(source_array, ctx=ctx, dtype=dtype)
        wanted = source_array.dtype if dtype is None else dtype
        source = source_array._value
        if is_tracer(source):
            return source_array.astype(wanted)
    else:
        if hasattr(source_array, "tocsr"):
            from gluonjax.ndarray import sparse

            return sparse.array(source_array, ctx=ctx, dtype=dtype)
        source = source_array
        wanted = np.float32 if dtype is None else dtype
        if isinstance(source, (list, tuple)) and source and any(isinstance(one, NDArray) for one in source):
            source = [one.asnumpy() if isinstance(one, NDArray) else one for one in source]
    ctx = ctx or current_context()
    try:
        value = _to_value(source, to_dtype(wanted), Context(ctx))
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(f"source_array must be array like object ({error})") from None
    if isinstance(value, np.ndarray) and value.dtype == object:
        raise ArgumentTypeError("source_array must be array like object")
    if isinstance(source, jax.Array) and value is source and not is_tracer(source):
        device_array: Any = source
        value = np.array(inflight.wait(source)) if Context(ctx).is_host else device_array.copy()
    return new_handle(NDArray, value, Context(ctx))


def _check_shape(name: str, shape: Any) -> tuple[int, ...]:
    dims = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(int(n) for n in shape)
    if any(n < 0 for n in dims):
        raise MXNetError(f"Operator {name} inferring shapes failed: shape {dims} has a negative dimension")
    if not modes.np_shape and (not dims or 0 in dims):
        raise MXNetError(
            f"Operator {name} inferring shapes failed: shape {dims} has an unknown dimension (0 means unknown; "
            "use mx.util.set_np_shape(True) for zero-size and 0-d arrays)"
        )
    return dims


def _filled(name: str, shape: Any, value: Any, ctx: Any, dtype: Any, out: Any = None) -> NDArray:
    dims = _check_shape(name, shape)
    kind = to_dtype(dtype)
    context = Context(ctx) if ctx is not None else current_context()
    started = perf_counter_ns()
    content = np.full(dims, numpy_cast(value, kind))
    if recorder.on:
        recorder.call(name, started, (content,))
    if out is not None:
        out[:] = new_handle(NDArray, content, context)
        return out
    return wrap(content, context)


def zeros(shape: Any, ctx: Any = None, dtype: Any = None, stype: Any = None, out: Any = None, **_: Any) -> NDArray:
    """An array of zeros.

    >>> from gluonjax import nd
    >>> nd.zeros((1, 2)).asnumpy().tolist()
    [[0.0, 0.0]]
    """
    if stype not in (None, "default", NULL):
        from gluonjax.ndarray import sparse

        return sparse.zeros(stype, shape, ctx=ctx, dtype=dtype)
    return _filled("_zeros", shape, 0, ctx, dtype, out)


def ones(shape: Any, ctx: Any = None, dtype: Any = None, out: Any = None, **_: Any) -> NDArray:
    """An array of ones."""
    return _filled("_ones", shape, 1, ctx, dtype, out)


def full(shape: Any, val: Any, ctx: Any = None, dtype: Any = np.float32, out: Any = None) -> NDArray:
    """An array filled with one value."""
    if isinstance(val, NDArray):
        val = val.asscalar()
    return _filled("_full", shape, val, ctx, dtype, out)


def empty(shape: Any, ctx: Any = None, dtype: Any = None, stype: Any = None) -> NDArray:
    """An array whose content does not matter (here: zeros)."""
    if stype not in (None, "default"):
        return zeros(shape, ctx, dtype, stype)
    dims = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(int(n) for n in shape)
    return wrap(np.zeros(dims, to_dtype(dtype)), Context(ctx) if ctx is not None else None)


def arange(
    start: Any, stop: Any = None, step: Any = 1.0, repeat: int = 1, infer_range: Any = None, ctx: Any = None,
    dtype: Any = np.float32,
) -> NDArray:  # fmt: skip
    """Evenly spaced values in ``[start, stop)``, each repeated ``repeat`` times."""
    if stop is None:
        start, stop = 0, start
    if float(step) == 0:
        raise MXNetError("Check failed: param.step != 0: Range interval cannot be 0")
    if float(step).is_integer() and all(isinstance(one, (int, np.integer)) for one in (start, stop)):
        count = len(range(int(start), int(stop), int(step)))
    else:
        count = max(0, int(np.ceil((float(stop) - float(start)) / float(step))))
    kind = to_dtype(dtype)
    if kind.kind in "iub":
        # MXNet cuts start and step to whole numbers, not the values.
        values = int(start) + int(step) * np.arange(count, dtype=np.int64)
    else:
        values = float(start) + float(step) * np.arange(count, dtype=np.float64)
    return wrap(numpy_cast(np.repeat(values, repeat), kind), Context(ctx) if ctx is not None else None)


def linspace(
    start: Any, stop: Any, num: int, endpoint: bool = True, ctx: Any = None, dtype: Any = np.float32
) -> NDArray:
    """``num`` evenly spaced values from ``start`` to ``stop``."""
    values = numpy_cast(np.linspace(float(start), float(stop), int(num), endpoint=endpoint), to_dtype(dtype))
    return wrap(values, Context(ctx) if ctx is not None else None)


def eye(N: int, M: int = 0, k: int = 0, ctx: Any = None, dtype: Any = None, **_: Any) -> NDArray:
    """Ones on the k-th diagonal of an (N, M) array of zeros; M=0 means M=N."""
    return wrap(np.eye(int(N), int(M) or None, int(k), dtype=to_dtype(dtype)), Context(ctx) if ctx else None)


def concatenate(arrays: Sequence[NDArray], axis: int = 0, always_copy: bool = True) -> NDArray:
    """Join arrays along an axis."""
    if not arrays:
        raise ValueError("concatenate: needs at least one array")
    if not always_copy and len(arrays) == 1:
        return arrays[0]
    return run_operator(registry.get("Concat"), list(arrays), {"dim": axis}, None, NDArray)


def moveaxis(tensor: NDArray, source: Any, destination: Any) -> NDArray:
    """Move axes to new places; the others keep their order."""
    ndim = tensor.ndim

    def normalize(axes: Any) -> list[int]:
        listed = [axes] if isinstance(axes, (int, np.integer)) else list(axes)
        for axis in listed:
            if not -ndim <= axis < ndim:
                raise ValueError(f"moveaxis: axis {axis} is out of bounds for an array with {ndim} dimensions")
        return [int(axis) % ndim for axis in listed]

    sources, targets = normalize(source), normalize(destination)
    if len(set(sources)) != len(sources) or len(set(targets)) != len(targets):
        raise ValueError(f"moveaxis: repeated axis in source {source} or destination {destination}")
    if len(sources) != len(targets):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [axis for axis in range(ndim) if axis not in sources]
    for target, moved in sorted(zip(targets, sources)):
        order.insert(target, moved)
    return tensor.transpose(order)


def onehot_encode(indices: NDArray, out: NDArray) -> NDArray:
    """Write the one-hot rows of ``indices`` into ``out``."""
    depth = out.shape[1]
    given = {"depth": depth, "dtype": np.dtype(out.dtype).name}
    return run_operator(registry.get("one_hot"), (indices,), given, out, NDArray)


def from_numpy(ndarray: np.ndarray, zero_copy: bool = True, array_cls: Any = NDArray) -> NDArray:
    """An array over a NumPy array's memory; with ``zero_copy`` the NumPy array becomes read-only."""
    if not isinstance(ndarray, np.ndarray):
        raise ArgumentTypeError(f"from_numpy: wants a numpy.ndarray, got {type(ndarray).__name__}")
    if zero_copy:
        if not ndarray.flags["C_CONTIGUOUS"]:
            raise ValueError("Only c-contiguous arrays are supported for zero-copy")
        handle = wrap(ndarray, Context("cpu"), array_cls)
        if ndarray.flags["WRITEABLE"] or ndarray.flags["OWNDATA"]:
            handle._cell = SharedCell(_writable_alias(ndarray), Context("cpu"))
        ndarray.flags["WRITEABLE"] = False
        return handle
    return wrap(np.array(ndarray, order="C"), Context("cpu"), array_cls)


def _writable_alias(array: np.ndarray) -> np.ndarray:
    """The same memory as a writable array, whatever the flags of ``array`` say; keeps ``array`` alive."""
    if array.flags["WRITEABLE"] or array.nbytes == 0:
        return array.view()
    memory: Any = (ctypes.c_byte * array.nbytes).from_address(array.ctypes.data)
    memory._owner = array  # type: ignore[attr-defined]
    return np.frombuffer(memory, array.dtype).reshape(array.shape)


def from_dlpack(dlpack: Any) -> NDArray:
    """An array from a DLPack capsule or any object with ``__dlpack__`` (torch, NumPy, JAX arrays)."""
    with jax.enable_x64(True):
        value = jax.dlpack.from_dlpack(_Capsule(dlpack) if not hasattr(dlpack, "__dlpack__") else dlpack)
    platform = next(iter(value.devices())).platform
    kind = {"cpu": "cpu", "gpu": "gpu", "cuda": "gpu", "rocm": "gpu"}.get(platform, platform)
    return wrap(value, Context(kind, 0 if kind == "cpu" else next(iter(value.devices())).id))


class _Capsule:
    """Gives a bare DLPack capsule the protocol that JAX reads."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def to_dlpack_for_read(data: NDArray) -> Any:
    """A DLPack capsule of the array's current value."""
    return data.to_dlpack_for_read()


def to_dlpack_for_write(data: NDArray) -> Any:
    """A DLPack capsule of the array's current value."""
    return data.to_dlpack_for_write()


def waitall() -> None:
    """Wait until everything that was launched is computed."""
    inflight.wait_all()


def split_v2(ary: NDArray, indices_or_sections: Any, axis: int = 0, squeeze_axis: bool = False) -> Any:
    """Split along an axis into equal sections, or at the given positions."""
    if isinstance(indices_or_sections, (int, np.integer)):
        given = {"indices": (), "axis": axis, "squeeze_axis": squeeze_axis, "sections": int(indices_or_sections)}
    elif isinstance(indices_or_sections, (list, tuple, set)):
        given = {"indices": (0, *indices_or_sections), "axis": axis, "squeeze_axis": squeeze_axis, "sections": 0}
    else:
        raise ValueError("indices_or_sections must either int or tuple / list / set of ints")
    return run_operator(registry.get("_split_v2"), (ary,), given, None, NDArray)


def histogram(a: NDArray, bins: Any = 10, range: Any = None) -> Any:
    """Counts and bin edges of the values of an array."""
    op = registry.get("_histogram")
    if isinstance(bins, NDArray):
        return run_operator(op, (a, bins), {}, None, NDArray)
    if range is None:
        # MXNet leaves this case to NumPy, and the counts come back as float32.
        counts, edges = np.histogram(a.asnumpy(), bins)
        return [array(counts, a.context), array(edges, a.context)]
    edges = linspace(range[0], range[1], int(bins) + 1, dtype=np.float32)
    return run_operator(op, (a, edges), {"bin_cnt": bins, "range": range}, None, NDArray)


def _elementwise(name: str) -> Any:
    row = _arithmetic.TABLE[name]
    ops = _arithmetic.operators(name)

    def function(lhs: Any, rhs: Any) -> Any:
        if isinstance(lhs, NDArray):
            return _arithmetic.binary(ops, lhs, rhs, False, None, NDArray)
        if isinstance(rhs, NDArray):
            return _arithmetic.binary(ops, rhs, lhs, True, None, NDArray)
        if isinstance(lhs, _arithmetic.NUMBERS) and isinstance(rhs, _arithmetic.NUMBERS):
            return row.numbers(lhs, rhs)
        raise TypeError(f"types ({type(lhs)}, {type(rhs)}) not supported")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Element by element ``{name}`` of arrays or numbers, with broadcasting (``{row.arrays}``)."
    return function


add = _elementwise("add")
subtract = _elementwise("subtract")
multiply = _elementwise("multiply")
divide = _elementwise("divide")
true_divide = divide
modulo = _elementwise("modulo")
power = _elementwise("power")
maximum = _elementwise("maximum")
minimum = _elementwise("minimum")
equal = _elementwise("equal")
not_equal = _elementwise("not_equal")
greater = _elementwise("greater")
greater_equal = _elementwise("greater_equal")
lesser = _elementwise("lesser")
lesser_equal = _elementwise("lesser_equal")
logical_and = _elementwise("logical_and")
logical_or = _elementwise("logical_or")
logical_xor = _elementwise("logical_xor")
