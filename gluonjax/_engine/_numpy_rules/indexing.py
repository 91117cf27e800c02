"""Rules for gather, scatter and dynamic slices.

Both gather and scatter are done with NumPy's advanced indexing after the axes that are indexed have been
moved
to the front; the axes that are taken whole stay behind them and need no index.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gluonjax._engine._numpy_rules.site import Function, Operand, Rule, Site, is_floating


class _Plan(NamedTuple):
    """How the index vectors of a gather or scatter address an operand."""

    order: tuple[int, ...]  # operand axes: those with an index first, whole ones last
    indexed: tuple[int, ...]  # the axes with an index
    components: tuple[int, ...]  # per indexed axis: which component of the index vector moves it, or -1
    batching: tuple[int, ...]  # per indexed axis: which batch axis of the indices runs along with it, or -1
    limits: tuple[int, ...]  # per indexed axis: the largest start at which the slice still fits
    windows: tuple[tuple[int, np.ndarray], ...]  # indexed axes that keep a window: place among them, offsets
    batch_rank: int


def _plan(
    operand: Operand,
    indices: Operand,
    sizes: tuple[int, ...],
    mapped: Any,
    batching: Any,
    index_batching: Any,
) -> _Plan:
    """Sorts the operand's axes into indexed and whole ones and prepares the offsets inside each window."""
    indexed, whole = [], []
    for axis, size in enumerate(operand.shape):
        needs_index = axis in mapped or axis in batching or size != sizes[axis]
        (indexed if needs_index else whole).append(axis)
    components = tuple(mapped.index(axis) if axis in mapped else -1 for axis in indexed)
    batch_axes = tuple(index_batching[batching.index(axis)] if axis in batching else -1 for axis in indexed)
    limits = tuple(max(operand.shape[axis] - sizes[axis], 0) for axis in indexed)
    windows = tuple((i, np.arange(sizes[axis])) for i, axis in enumerate(indexed) if sizes[axis] != 1)
    return _Plan(
        (*indexed, *whole), tuple(indexed), components, batch_axes, limits, windows, len(indices.shape) - 1
    )


def _starts(plan: _Plan, indices: np.ndarray, clip: bool) -> tuple[list[np.ndarray], Any]:
    """Start positions per indexed axis (made to fit), and where they fitted before (None: everywhere).

    Args:
        plan: The plan.
        indices: shape `batch + (components,)`.
        clip: Whether misfits are only moved, so that nobody asks where they were.
    """
    starts, fits = [], None
    batch = indices.shape[:-1]
    for component, batch_axis, limit in zip(plan.components, plan.batching, plan.limits):
        if component >= 0:
            start = indices[..., component]
            if start.dtype.kind == "u":
                start = start.astype(np.int64)
            good = (start >= 0) & (start <= limit)
            if not good.all():
                start = np.clip(start, 0, limit)
                if not clip:
                    fits = good if fits is None else fits & good
        elif batch_axis >= 0:
            shape = [1] * len(batch)
            shape[batch_axis] = batch[batch_axis]
            start = np.arange(batch[batch_axis]).reshape(shape)
        else:
            start = np.zeros((), np.int64)
        starts.append(start)
    return starts, fits


def _address(plan: _Plan, starts: list[np.ndarray]) -> tuple[np.ndarray, ...]:
    """Index arrays of shape `batch + windows`, one per indexed axis."""
    extra = len(plan.windows)
    if not extra:
        return tuple(starts)
    address = [start.reshape(start.shape + (1,) * extra) if start.ndim else start for start in starts]
    for place, (position, offsets) in enumerate(plan.windows):
        address[position] = address[position] + offsets.reshape((-1,) + (1,) * (extra - place - 1))
    return tuple(address)


def _mode(site: Site) -> str:
    mode = site.params["mode"]
    return getattr(mode, "name", None) or "FILL_OR_DROP"


def _fill_value(site: Site) -> Any:
    value, dtype = site.params.get("fill_value"), site.outs[0].dtype
    if value is not None:
        return np.asarray(value).astype(dtype)
    if is_floating(dtype) or dtype.kind == "c":
        return np.asarray(np.nan, dtype)
    if dtype.kind == "b":
        return np.asarray(True)
    info = np.iinfo(dtype)
    return np.asarray(info.min if dtype.kind == "i" else info.max, dtype)


def _gather(site: Site) -> Function | None:
    mode = _mode(site)
    if mode not in ("CLIP", "FILL_OR_DROP", "PROMISE_IN_BOUNDS"):
        return None
    operand, indices = site.ins
    out_shape, dtype = site.outs[0]
    numbers, sizes = site.params["dimension_numbers"], tuple(int(s) for s in site.params["slice_sizes"])
    clip = mode != "FILL_OR_DROP"  # XLA itself moves what a caller promised to be in bounds
    fill: Any = None if clip else _fill_value(site)
    if math.prod(out_shape) == 0:
        return lambda x, where: np.empty(out_shape, dtype)
    if operand.size == 0:  # nothing to take from: everything is out of bounds
        return lambda x, where: np.full(out_shape, 0 if fill is None else fill, dtype)
    mapped = tuple(int(a) for a in numbers.start_index_map)
    batching = tuple(int(a) for a in numbers.operand_batching_dims)
    collapsed = {int(a) for a in numbers.collapsed_slice_dims} | set(batching)
    offset_dims = tuple(int(a) for a in numbers.offset_dims)
    plan = _plan(operand, indices, sizes, mapped, batching, tuple(numbers.start_indices_batching_dims))
    # After indexing, axes are: batch, windows (indexed axes, in operand order), whole axes. Windows of one
    # element are not among them; those that the output keeps come back with the reshape to `natural`.
    kept = [axis for axis in range(len(operand.shape)) if axis not in collapsed]
    window_axes = [plan.indexed[position] for position, _ in plan.windows]
    have = window_axes + list(plan.order[len(plan.indexed) :])
    missing = [axis for axis in kept if axis not in have]
    have_all = missing + have
    batch_rank = plan.batch_rank
    batch_places = [a for a in range(len(out_shape)) if a not in offset_dims]
    natural = tuple(indices.shape[:-1]) + tuple(sizes[axis] for axis in have_all)
    permutation = [0] * len(out_shape)
    for position, place in enumerate(batch_places):
        permutation[place] = position
    for axis, place in zip(kept, offset_dims):
        permutation[place] = batch_rank + have_all.index(axis)
    order, permutation = plan.order, tuple(permutation)
    turn_operand, turn_result = (
        order != tuple(range(len(order))),
        permutation != tuple(range(len(permutation))),
    )
    pad_mask = (1,) * (len(natural) - batch_rank)

    def gather(x: np.ndarray, where: np.ndarray) -> np.ndarray:
        starts, fits = _starts(plan, where, clip)
        if turn_operand:
            x = x.transpose(order)
        result = x[_address(plan, starts)]
        if result.shape != natural:
            # without a batch axis in any index NumPy yields fewer axes, or ones still to be repeated
            result = _spread(result, natural, batch_rank, len(have))
        if fits is not None:
            result = np.where(fits.reshape(fits.shape + pad_mask), result, fill)
        return result.transpose(permutation) if turn_result else result

    if (
        len(plan.indexed) == 1
        and plan.components == (0,)
        and not plan.windows
        and batch_rank <= 1
        and not missing
    ):
        return _take(gather, plan, clip, permutation if turn_result else None, indices)
    return gather


def _take(general: Function, plan: _Plan, clip: bool, permutation: Any, indices: Operand) -> Function:
    """Rows along one axis, in bounds: `np.take`, several times quicker than an index of arrays."""
    axis, limit = plan.indexed[0], plan.limits[0]
    line_shape = indices.shape[:-1]

    def take(x: np.ndarray, where: np.ndarray) -> np.ndarray:
        line = where.reshape(line_shape)
        if clip:
            rows = x.take(line, axis=axis, mode="clip")
        elif line.size and (line.min() < 0 or line.max() > limit):
            return general(x, where)
        else:
            rows = x.take(line, axis=axis)
        if permutation is None and axis == 0:
            return rows
        if line.ndim:
            rows = np.moveaxis(rows, axis, 0)
        return rows if permutation is None else rows.transpose(permutation)

    return take


def _spread(result: np.ndarray, natural: tuple[int, ...], batch_rank: int, tail: int) -> np.ndarray:
    """Gives an indexing result its full shape `batch + missing ones + windows + whole axes`."""
    split = result.ndim - tail
    lead = result.shape[:split]
    lead = (1,) * (batch_rank - len(lead)) + lead
    ones = (1,) * (len(natural) - batch_rank - tail)
    return np.broadcast_to(result.reshape(lead + ones + result.shape[split:]), natural)


# ------------------------------------------------------------------------------------------------- scatter


def _is_overwrite(site: Site) -> bool:
    """True where `scatter` just stores the updates (its update function returns its second argument)."""
    jaxpr = site.params.get("update_jaxpr")
    if jaxpr is None:
        return True
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    return not jaxpr.eqns and list(jaxpr.outvars) == [jaxpr.invars[1]]


def _scatter(ufunc: Any) -> Rule:
    """A rule for one scatter primitive; `ufunc` combines old and new, None overwrites."""

    def rule(site: Site) -> Function | None:
        mode = _mode(site)
        if mode not in ("CLIP", "FILL_OR_DROP", "PROMISE_IN_BOUNDS") or (
            ufunc is None and not _is_overwrite(site)
        ):
            return None
        operand, indices, updates = site.ins
        numbers = site.params["dimension_numbers"]
        if updates.size == 0 or operand.size == 0:
            return lambda x, where, new: x
        window_dims = tuple(int(a) for a in numbers.update_window_dims)
        batching = tuple(int(a) for a in numbers.operand_batching_dims)
        inserted = {int(a) for a in numbers.inserted_window_dims} | set(batching)
        kept = [axis for axis in range(len(operand.shape)) if axis not in inserted]
        sizes = [1] * len(operand.shape)
        for axis, place in zip(kept, window_dims):
            sizes[axis] = updates.shape[place]
        plan = _plan(
            operand, indices, tuple(sizes), tuple(int(a) for a in numbers.scatter_dims_to_operand_dims),
            batching,
            tuple(numbers.scatter_indices_batching_dims),
        )  # fmt: skip
        window_axes = [plan.indexed[position] for position, _ in plan.windows]
        tail = window_axes + list(plan.order[len(plan.indexed) :])
        ones = [axis for axis in kept if axis not in tail]
        scatter_places = [a for a in range(len(updates.shape)) if a not in window_dims]
        arrangement = (*scatter_places, *(window_dims[kept.index(axis)] for axis in ones + tail))
        batch = tuple(updates.shape[a] for a in scatter_places)
        updates_shape = batch + tuple(sizes[axis] for axis in tail)
        whole_rank = len(plan.order) - len(plan.indexed)
        clip, single = mode == "CLIP", math.prod(batch) == 1
        distinct = single or bool(site.params.get("unique_indices"))
        order = plan.order

        def scatter(x: np.ndarray, where: np.ndarray, new: np.ndarray) -> np.ndarray:
            out = x.copy()
            target = out.transpose(order)
            new = new.transpose(arrangement).reshape(updates_shape)
            starts, fits = _starts(plan, where, clip)
            address = _address(plan, starts)
            if fits is not None:
                # keep the updates that fit: the batch axes collapse to one
                if not fits.any():
                    return out
                address = tuple(_pick(index, fits, len(plan.windows)) for index in address)
                new = new[fits]
            if ufunc is None:
                target[address] = new
            elif distinct:
                target[address] = ufunc(target[address], new)
            elif len(address) == 1 and address[0].ndim == 1 and whole_rank and new[0].size >= 16:
                for row, line in zip(address[0].tolist(), new):
                    target[row] = ufunc(target[row], line)
            else:
                ufunc.at(target, address, new)
            return out

        return scatter

    return rule


def _pick(index: np.ndarray, fits: np.ndarray, window_rank: int) -> np.ndarray:
    """The index arrays of the updates that fit, their batch axes collapsed to one."""
    window = index.shape[index.ndim - window_rank :] if index.ndim >= window_rank else (1,) * window_rank
    return np.broadcast_to(index, fits.shape + window)[fits]


# ------------------------------------------------------------------------------------------ dynamic slices


def _dynamic_slice(site: Site) -> Function:
    sizes, shape = tuple(int(s) for s in site.params["slice_sizes"]), site.ins[0].shape
    limits = tuple(size - taken for size, taken in zip(shape, sizes))

    def dynamic_slice(x: np.ndarray, *starts: Any) -> np.ndarray:
        begins = [min(max(int(start), 0), limit) for start, limit in zip(starts, limits)]
        return x[tuple(slice(begin, begin + size) for begin, size in zip(begins, sizes))]

    return dynamic_slice


def _dynamic_update_slice(site: Site) -> Function:
    shape, sizes = site.ins[0].shape, site.ins[1].shape
    limits = tuple(size - taken for size, taken in zip(shape, sizes))

    def dynamic_update_slice(x: np.ndarray, update: np.ndarray, *starts: Any) -> np.ndarray:
        begins = [min(max(int(start), 0), limit) for start, limit in zip(starts, limits)]
        out = np.array(x)
        out[tuple(slice(begin, begin + size) for begin, size in zip(begins, sizes))] = update
        return out

    return dynamic_update_slice


_COMBINE = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "min": np.minimum, "max": np.maximum}

RULES: dict[str, Rule] = {
    "gather": _gather,
    "scatter": _scatter(None),
    # JAX spells the names in both ways
    **{f"scatter{mark}{name}": _scatter(ufunc) for mark in "-_" for name, ufunc in _COMBINE.items()},
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
}
