"""Reading and writing parts of an array, as MXNet 1.9.1 does with legacy (``mx.nd``) semantics.

A key is expanded to one entry per axis. Basic keys (integers, slices, None, Ellipsis) that select a contiguous
range give views; others copies. Positions are data to the compiled programs, extents and steps are constants, so
``a[i]`` in a loop compiles once. Advanced keys are checked against the bounds on the host.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from gluonjax._base.errors import OperatorError, OutOfBoundsError, did_you_mean
from gluonjax._base.scopes import modes
from gluonjax._engine import inflight
from gluonjax._engine.run import Kernel, is_tracer
from gluonjax.ndarray._invoke import cast, run_kernel

BOOLEAN_IN_LEGACY = (
    "Cannot perform boolean indexing in legacy mode. Please activate numpy semantics by calling `npx.set_np()` in "
    "the global scope before calling this function."
)


# Up to this one, every way of making a float32 or float64 of a number gives the same, and none overflows.
EXACT = 1 << 24


class Basic(NamedTuple):
    """A basic key: where it starts on each axis, how many it takes, at which step, and the resulting shape."""

    starts: tuple[int, ...]
    lengths: tuple[int, ...]
    steps: tuple[int, ...]
    shape: tuple[int, ...]


def row(array: Any, index: int) -> Any:
    """``array[index]`` as a view."""
    return array._share(*_place_of_row(array, index))


def _place_of_row(array: Any, index: int) -> tuple[int, tuple[int, ...]]:
    """Where ``array[index]`` begins in the array, and its shape."""
    shape = array.shape
    if not shape:
        raise OutOfBoundsError("too many indices (1) for array with 0 dimensions")
    length = shape[0]
    if not -length <= index < length:
        raise OutOfBoundsError(f"index {index} is out of bounds for axis 0 with size {length}")
    if index < 0:
        index += length
    rest = shape[1:]
    if not rest and not _zero_dim(array):
        rest = (1,)
    return index * math.prod(rest), rest


def rows(array: Any, key: slice) -> Any:
    """``array[start:stop]`` as a view."""
    return array._share(*_place_of_rows(array, key))


def _place_of_rows(array: Any, key: slice) -> tuple[int, tuple[int, ...]]:
    """Where ``array[start:stop]`` begins in the array, and its shape."""
    shape = array.shape
    start, stop, _ = key.indices(shape[0])
    return start * math.prod(shape[1:]), (max(stop - start, 0), *shape[1:])


def get(array: Any, key: Any) -> Any:
    """``array[key]``."""
    kind = type(key)
    if kind is int:
        return row(array, key)
    if kind is slice and key.step is None and array.shape and _plain(key):
        return rows(array, key)
    expanded = _expand(array, key)
    if isinstance(expanded, Basic):
        offset = _contiguous(expanded, array.shape)
        if offset is not None:
            return array._share(offset, expanded.shape)
        return _get_basic(array, expanded)
    return _get_advanced(array, expanded)


def put(array: Any, key: Any, value: Any) -> None:
    """``array[key] = value``."""
    kind = type(key)
    if not modes.recording:
        if kind is int:
            _put_range(array, key, *_place_of_row(array, key), value)
            return
        if kind is slice and key.step is None and array.shape and _plain(key):
            _put_range(array, key, *_place_of_rows(array, key), value)
            return
    if kind is slice and key == slice(None):
        _assign(array, value, array.shape)
        return
    expanded = _expand(array, key)
    if isinstance(expanded, Basic):
        offset = _contiguous(expanded, array.shape)
        if offset is not None and modes.recording and array._own is not None:
            offset = None  # the handle has a place on the tape of its own, which a view would not move
        if offset is not None:
            if expanded.shape == array.shape:
                target = array
            else:
                target = array._share(offset, expanded.shape)
            if 0 not in expanded.shape:
                _assign(target, value, expanded.shape)
            return
        _put_basic(array, expanded, value)
        return
    _put_advanced(array, expanded, value)


# -- keys ----------------------------------------------------------------------------------------------------


def _zero_dim(array: Any) -> bool:
    return modes.np_shape or type(array)._np_semantics


def _plain(key: slice) -> bool:
    return (key.start is None or type(key.start) is int) and (key.stop is None or type(key.stop) is int)


class Advanced(NamedTuple):
    """An advanced key: per axis of the array (None entries already inserted) an index array, int or slice."""

    before: tuple[int, ...]
    entries: tuple[Any, ...]


def _is_array_like(entry: Any) -> bool:
    return isinstance(entry, (list, np.ndarray)) or hasattr(entry, "_cell")


def _expand(array: Any, key: Any) -> Basic | Advanced:
    shape = array.shape
    entries = list(key) if isinstance(key, tuple) else [key]
    if any(isinstance(entry, (bool, np.bool_)) for entry in entries):
        # Legacy MXNet reads a Python bool as the integer it is.
        entries = [int(e) if isinstance(e, (bool, np.bool_)) else e for e in entries]
    given = 0
    for entry in entries:
        if entry is None or entry is Ellipsis:
            continue
        given += _axes_of(entry)
    if sum(entry is Ellipsis for entry in entries) > 1:
        raise OutOfBoundsError("Cannot use more than one ellipsis (`...`) for indexing")
    if given > len(shape):
        raise OutOfBoundsError(f"too many indices ({given}) for array with {len(shape)} dimensions")
    fill = [slice(None)] * (len(shape) - given)
    full: list[Any] = []
    seen = False
    for entry in entries:
        if entry is Ellipsis:
            full.extend(fill)
            seen = True
        else:
            full.append(entry)
    if not seen:
        full.extend(fill)
    if any(_is_array_like(entry) for entry in full):
        return _advanced(array, full)
    return _basic(array, full)


def _axes_of(entry: Any) -> int:
    if _is_array_like(entry):
        dtype = entry._cell.value.dtype if hasattr(entry, "_cell") else np.asarray(entry).dtype
        if dtype == np.bool_ and hasattr(entry, "_cell"):
            raise ValueError(BOOLEAN_IN_LEGACY)
    return 1


def _basic(array: Any, entries: list[Any]) -> Basic:
    shape = array.shape
    starts, lengths, steps, result = [], [], [], []
    axis = 0
    for entry in entries:
        if entry is None:
            result.append(1)
            continue
        length = shape[axis]
        if isinstance(entry, slice):
            start, stop, step = _slice_indices(entry, length)
            count = len(range(start, stop, step))
            starts.append(start)
            lengths.append(count)
            steps.append(step)
            result.append(count)
        elif isinstance(entry, (int, np.integer)):
            index = int(entry)
            if not -length <= index < length:
                raise OutOfBoundsError(f"index {index} is out of bounds for axis {axis} with size {length}")
            starts.append(index + length if index < 0 else index)
            lengths.append(1)
            steps.append(1)
        else:
            hint = did_you_mean(str(entry), ()) if isinstance(entry, str) else ""
            raise ValueError(f"NDArray does not support slicing with key {entry} of type {type(entry)}.{hint}")
        axis += 1
    if not result and not _zero_dim(array):
        result.append(1)  # legacy arrays have no 0-d results: a[0, 0] has shape (1,)
    return Basic(tuple(starts), tuple(lengths), tuple(steps), tuple(result))


def _slice_indices(entry: slice, length: int) -> tuple[int, int, int]:
    parts = []
    for part in (entry.start, entry.stop, entry.step):
        if part is not None and not isinstance(part, (int, np.integer)):
            if hasattr(part, "__index__"):
                part = part.__index__()
            elif hasattr(part, "asscalar"):
                part = int(part.asscalar())
            else:
                raise ValueError(f"slice indices must be integers or None, got {part!r}")
        parts.append(part)
    if parts[2] == 0:
        raise ValueError("slice step cannot be zero")
    return slice(*parts).indices(length)


def _contiguous(key: Basic, shape: tuple[int, ...]) -> int | None:
    """The offset of the selected range where it is one contiguous range, else None."""
    if 0 in key.lengths:
        return 0
    seen_partial = False
    stride, offset = 1, 0
    for axis in range(len(shape) - 1, -1, -1):
        length = key.lengths[axis]
        if seen_partial and length != 1:
            return None
        if length > 1 and key.steps[axis] != 1:
            return None
        if length != shape[axis]:
            seen_partial = True
        offset += key.starts[axis] * stride
        stride *= shape[axis]
    return offset


def slices_are_contiguous(slices: tuple[slice, ...], shape: tuple[int, ...]) -> bool:
    """True where slices (one for each leading axis) select one contiguous range in memory."""
    full = [slice(*_slice_indices(one, length)) for one, length in zip(slices, shape)]
    full += [slice(0, length, 1) for length in shape[len(full) :]]
    lengths = tuple(len(range(one.start, one.stop, one.step)) for one in full)
    key = Basic(tuple(s.start for s in full), lengths, tuple(s.step for s in full), lengths)
    return _contiguous(key, shape) is not None


def _advanced(array: Any, entries: list[Any]) -> Advanced:
    shape = array.shape
    before: list[int] = []
    kept: list[Any] = []
    axis = 0
    for entry in entries:
        if entry is None:
            before.append(len(kept))
            kept.append(None)
            continue
        length = shape[axis]
        if isinstance(entry, slice):
            kept.append(slice(*_slice_indices(entry, length)))
        elif isinstance(entry, (int, np.integer)):
            index = int(entry)
            if not -length <= index < length:
                raise OutOfBoundsError(f"index {index} is out of bounds for axis {axis} with size {length}")
            kept.append(index + length if index < 0 else index)
        elif _is_array_like(entry):
            kept.append(_index_array(entry, length, axis))
        else:
            raise ValueError(f"NDArray does not support slicing with key {entry} of type {type(entry)}.")
        axis += 1
    shapes = [entry.shape for entry in kept if hasattr(entry, "shape")]
    if len(shapes) > 1 and any(shape != shapes[0] for shape in shapes):
        try:
            np.broadcast_shapes(*shapes)
        except ValueError:
            listed = ", ".join(map(str, shapes))
            raise OperatorError(
                f"shape mismatch: index arrays of shapes {listed} cannot be broadcast to a single shape"
            ) from None
    return Advanced(tuple(before), tuple(kept))


def _index_array(entry: Any, length: int, axis: int) -> Any:
    if hasattr(entry, "_cell"):
        value = entry._value
        if is_tracer(value):
            index = value.astype(jnp.int32)
            return jnp.where(index < 0, index + length, index)
        value = np.asarray(inflight.wait(value))
    else:
        if isinstance(entry, list) and any(hasattr(e, "_cell") for e in entry):
            entry = [e.asnumpy() if hasattr(e, "_cell") else e for e in entry]
        value = np.asarray(entry)
        if value.dtype == object or value.dtype.kind in "OUS":
            raise TypeError("source_array must be array like object")
    index = value.astype(np.int64)
    if index.size:
        low, high = int(index.min()), int(index.max())
        if low < -length or high >= length:
            wrong = low if low < -length else high
            raise OutOfBoundsError(f"index {wrong} is out of bounds for axis {axis} with size {length}")
        if low < 0:
            index = np.where(index < 0, index + length, index)
    return index


# -- reading -------------------------------------------------------------------------------------------------


def _get_basic(array: Any, key: Basic) -> Any:
    value = array._value
    if type(value) is np.ndarray and not (modes.recording and array._entry is not None):
        return _new(array, np.ascontiguousarray(value[_numpy_key(key)]).reshape(key.shape))
    kernel = _basic_reader(key.lengths, key.steps, key.shape)
    return run_kernel(kernel, (array,), (_origin(key),), type(array))


def _numpy_key(key: Basic) -> tuple[slice, ...]:
    parts = []
    for start, length, step in zip(key.starts, key.lengths, key.steps):
        stop = start + length * step
        parts.append(slice(start, stop if stop >= 0 else None, step) if length else slice(0, 0))
    return tuple(parts)


def _origin(key: Basic) -> np.ndarray:
    """The lowest position touched on each axis, as data for the compiled program."""
    lows = [
        start if step > 0 else start + (length - 1) * step
        for start, length, step in zip(key.starts, key.lengths, key.steps)
    ]
    return np.array(lows, np.int32 if max(lows, default=0) < 2**31 else np.int64)


def _extents(lengths: tuple[int, ...], steps: tuple[int, ...]) -> tuple[int, ...]:
    return tuple((length - 1) * abs(step) + 1 if length else 0 for length, step in zip(lengths, steps))


def _take_region(region: Any, steps: tuple[int, ...]) -> Any:
    if any(abs(step) != 1 for step in steps):
        region = lax.slice(region, (0,) * region.ndim, region.shape, tuple(abs(step) for step in steps))
    flipped = tuple(axis for axis, step in enumerate(steps) if step < 0)
    return lax.rev(region, flipped) if flipped else region


@functools.lru_cache(maxsize=4096)
def _basic_reader(lengths: tuple[int, ...], steps: tuple[int, ...], shape: tuple[int, ...]) -> Kernel:
    extents = _extents(lengths, steps)

    def basic_get(source: Any, origin: Any) -> tuple[Any]:
        region = lax.dynamic_slice(source, tuple(origin[axis] for axis in range(len(extents))), extents)
        return (_take_region(region, steps).reshape(shape),)

    return Kernel("slice", basic_get, data_inputs=1)


def _split_key(key: Advanced) -> tuple[tuple[Any, ...], list[Any]]:
    """The constant pattern of an advanced key (hashable) and its index arrays."""
    pattern: list[Any] = []
    arrays: list[Any] = []
    for entry in key.entries:
        if isinstance(entry, slice):
            stop = entry.stop if entry.stop >= 0 else None
            pattern.append(("slice", entry.start, stop, entry.step))
        elif entry is None:
            pattern.append(None)
        elif isinstance(entry, int):
            # NumPy treats an integer among index arrays as an index array of shape ().
            pattern.append("index")
            arrays.append(np.asarray(entry, np.int64))
        else:
            pattern.append("index")
            arrays.append(entry)
    return tuple(pattern), arrays


def _join_key(pattern: tuple[Any, ...], arrays: Any) -> tuple[Any, ...]:
    remaining = iter(arrays)
    joined: list[Any] = []
    for entry in pattern:
        if entry is None:
            joined.append(None)
        elif entry == "index":
            joined.append(next(remaining))
        else:
            joined.append(slice(*entry[1:]))
    return tuple(joined)


def _get_advanced(array: Any, key: Advanced) -> Any:
    pattern, arrays = _split_key(key)
    value = array._value
    if (
        type(value) is np.ndarray
        and all(type(index) is np.ndarray for index in arrays)
        and not (modes.recording and array._entry is not None)
    ):
        found = np.asarray(value[_join_key(pattern, arrays)], order="C")
        return _new(array, found if found.shape or _zero_dim(array) else found.reshape(1))
    return run_kernel(_advanced_reader(pattern), (array,), arrays, type(array))


@functools.lru_cache(maxsize=4096)
def _advanced_reader(pattern: tuple[Any, ...]) -> Kernel:
    def advanced_get(source: Any, *arrays: Any) -> tuple[Any]:
        return (source.at[_join_key(pattern, arrays)].get(mode="clip"),)

    return Kernel("advanced_index", advanced_get, data_inputs=1)


def _new(array: Any, value: np.ndarray) -> Any:
    from gluonjax.ndarray._invoke import new_handle

    return new_handle(type(array), value, array._cell.ctx)


# -- writing -------------------------------------------------------------------------------------------------


def _prepare(array: Any, value: Any, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """The value as an array of the target's dtype that broadcasts to ``shape``, and its handle or None."""
    dtype = array._cell.value.dtype
    if isinstance(value, (int, float, bool, np.number, np.bool_)):
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(value).astype(dtype), None
    if hasattr(value, "_cell"):
        content = value._value
        _check_broadcast(content.shape, shape)
        if not value._cell.ctx.is_host or not array._cell.ctx.is_host:
            from gluonjax.ndarray.ndarray import _move

            content = _move(content, value._cell.ctx, array._cell.ctx)
        if content.dtype != dtype:
            return cast(content, dtype, array._cell.ctx.is_host), None
        return content, value
    try:
        content = np.asarray(value)
        if content.dtype == object:
            content = np.asarray([v.asnumpy() if hasattr(v, "_cell") else v for v in value])
        with np.errstate(over="ignore", invalid="ignore"):
            content = content.astype(dtype)
    except (TypeError, ValueError):
        if is_tracer(value) or hasattr(value, "__jax_array__"):
            content = jnp.asarray(value).astype(dtype)
        else:
            raise TypeError(f"NDArray does not support assignment with non-array-like object {value!r}") from None
    _check_broadcast(content.shape, shape)
    return content, None


def _check_broadcast(source: tuple[int, ...], target: tuple[int, ...]) -> None:
    trimmed = source
    while len(trimmed) > len(target) and trimmed[0] == 1:
        trimmed = trimmed[1:]
    fits = len(trimmed) <= len(target) and all(a in (1, b) for a, b in zip(trimmed[::-1], target[::-1]))
    if not fits:
        raise ValueError(
            "operands could not be broadcast together with remapped shapes[original->remapped]: "
            f"{source} and requested shape {target}"
        )


def _fit(value: Any, shape: tuple[int, ...]) -> Any:
    while value.ndim > len(shape):
        value = value.reshape(value.shape[1:])
    if type(value) is np.ndarray:
        return np.ascontiguousarray(np.broadcast_to(value, shape))
    return _broadcaster(shape).run((value,), True)[0] if not is_tracer(value) else jnp.broadcast_to(value, shape)


@functools.lru_cache(maxsize=1024)
def _broadcaster(shape: tuple[int, ...]) -> Kernel:
    def broadcast(value: Any) -> tuple[Any]:
        return (jnp.broadcast_to(value.reshape(value.shape[max(0, value.ndim - len(shape)) :]), shape),)

    return Kernel("broadcast_to", broadcast)


def _put_range(array: Any, key: Any, offset: int, shape: tuple[int, ...], value: Any) -> None:
    """``array[key] = value`` for a row or consecutive rows, where nothing is recorded."""
    if 0 in shape:
        return
    kind = type(value)
    if (kind is int or kind is float) and -EXACT <= value <= EXACT:
        base = array._cell.value
        if type(base) is np.ndarray and (
            base.dtype.char in "fd" or (kind is int and 0 <= value <= 127 and base.dtype.kind in "iu")
        ):
            changed = base.copy() if math.prod(shape) < base.size else np.empty(base.shape, base.dtype)
            if array._view is None:
                changed[key] = value
            else:
                start = array._view[0] + offset
                changed.reshape(-1)[start : start + math.prod(shape)] = value
            array._cell.replace(changed)
            return
    _assign(array if shape == array.shape else array._share(offset, shape), value, shape)


def _assign(target: Any, value: Any, shape: tuple[int, ...]) -> None:
    """Overwrite a whole handle (an array or a view)."""
    content, handle = _prepare(target, value, shape)
    if modes.recording:
        source_entry = handle._entry if handle is not None else None
        if source_entry is not None or target._entry is not None:
            _record_write(target, _overwriter(shape), (content,), handle)
            return
    if content.shape != shape:
        content = _fit(content, shape)
    target._write(content)


@functools.lru_cache(maxsize=1024)
def _overwriter(shape: tuple[int, ...]) -> Kernel:
    def overwrite(old: Any, value: Any) -> tuple[Any]:
        return (jnp.broadcast_to(value.reshape(value.shape[max(0, value.ndim - len(shape)) :]), shape),)

    return Kernel("overwrite", overwrite)


def _put_basic(array: Any, key: Basic, value: Any) -> None:
    content, handle = _prepare(array, value, key.shape)
    recorded = modes.recording and (array._entry is not None or (handle is not None and handle._entry is not None))
    base = array._value
    if not recorded and type(base) is np.ndarray and type(content) is np.ndarray:
        changed = np.array(base, order="C", copy=True)
        changed[_numpy_key(key)] = _fit(content, key.shape).reshape(key.lengths)
        array._write(changed)
        return
    kernel = _basic_writer(key.lengths, key.steps, key.shape)
    if recorded:
        _record_write(array, kernel, (content, _origin(key)), handle)
    else:
        array._write(kernel.run((base, content, _origin(key)), array._cell.ctx.is_host)[0])


@functools.lru_cache(maxsize=4096)
def _basic_writer(lengths: tuple[int, ...], steps: tuple[int, ...], shape: tuple[int, ...]) -> Kernel:
    extents = _extents(lengths, steps)

    def basic_put(target: Any, value: Any, origin: Any) -> tuple[Any]:
        value = value.reshape(value.shape[max(0, value.ndim - len(shape)) :])
        region = jnp.broadcast_to(value, shape).reshape(lengths)
        starts = tuple(origin[axis] for axis in range(len(extents)))
        flipped = tuple(axis for axis, step in enumerate(steps) if step < 0)
        if flipped:
            region = lax.rev(region, flipped)
        if any(abs(step) != 1 for step in steps):
            old = lax.dynamic_slice(target, starts, extents)
            region = old.at[tuple(slice(None, None, abs(step)) for step in steps)].set(region)
        return (lax.dynamic_update_slice(target, region, starts),)

    return Kernel("slice_assign", basic_put, data_inputs=2)


def _put_advanced(array: Any, key: Advanced, value: Any) -> None:
    pattern, arrays = _split_key(key)
    probe = np.broadcast_to(np.int8(0), array.shape)[
        _join_key(pattern, [np.zeros(index.shape, np.int64) for index in arrays])
    ].shape if 0 not in array.shape else None  # fmt: skip
    if probe is None:
        return
    content, handle = _prepare(array, value, probe)
    recorded = modes.recording and (array._entry is not None or (handle is not None and handle._entry is not None))
    base = array._value
    on_numpy = type(base) is np.ndarray and type(content) is np.ndarray
    if not recorded and on_numpy and all(type(index) is np.ndarray for index in arrays):
        changed = np.array(base, order="C", copy=True)
        while content.ndim > len(probe):
            content = content.reshape(content.shape[1:])
        changed[_join_key(pattern, arrays)] = content
        array._write(changed)
        return
    kernel = _advanced_writer(pattern, probe)
    if recorded:
        _record_write(array, kernel, (content, *arrays), handle)
    else:
        array._write(kernel.run((base, content, *arrays), array._cell.ctx.is_host)[0])


@functools.lru_cache(maxsize=4096)
def _advanced_writer(pattern: tuple[Any, ...], shape: tuple[int, ...]) -> Kernel:
    def advanced_put(target: Any, value: Any, *arrays: Any) -> tuple[Any]:
        value = value.reshape(value.shape[max(0, value.ndim - len(shape)) :])
        return (target.at[_join_key(pattern, arrays)].set(value, mode="drop"),)

    return Kernel("advanced_assign", advanced_put, data_inputs=2)


def _record_write(target: Any, kernel: Kernel, rest: tuple[Any, ...], handle: Any) -> None:
    """Write through the tape: ``target = kernel(target, value, ...)``."""
    from gluonjax._engine.tape import Entry, Node

    values = (target._value, *rest)
    on_host = target._cell.ctx.is_host
    results = kernel.run(values, on_host)
    parents = (target._entry, None if handle is None else handle._entry, *(None for _ in rest[1:]))
    node = Node(kernel, values, parents, [(results[0].shape, results[0].dtype)], on_host)
    target._write(results[0], Entry(node, 0))
