"""Rules for reductions over sliding windows (pooling) and their gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gluonjax._engine._numpy_rules.site import (
    Function,
    Rule,
    Site,
    Windows,
    accumulator,
    highest,
    lowest,
    padder,
    windows,
)

#: Up to this many positions a window is reduced position by position (whole arrays at a time).
FEW_POSITIONS = 32


def _geometry(site: Site, shape: tuple[int, ...]) -> tuple[Function | None, Windows]:
    """How to pad an operand, and how the windows slide over the padded one."""
    params = site.params
    base = params.get("base_dilation") or (1,) * len(shape)
    config = [(low, high, dilation - 1) for (low, high), dilation in zip(params["padding"], base)]
    padded = [
        max(low + high + (n - 1) * (inner + 1) + 1 if n else low + high, 0)
        for n, (low, high, inner) in zip(shape, config)
    ]
    sliding = windows(
        padded, params["window_dimensions"], params["window_strides"], params.get("window_dilation")
    )
    return padder(shape, config), sliding


def pool(site: Site, ufunc: Any, start: Any) -> Function:
    """Reduces every window with a ufunc; padding holds the value that changes nothing.

    Args:
        site: The equation.
        ufunc: `np.add`, `np.maximum`, ...
        start: The ufunc's neutral element, which also fills the padding.
    """
    shape, dtype = site.ins[0]
    pad, sliding = _geometry(site, shape)
    wide = accumulator(dtype) if ufunc in (np.add, np.multiply) else dtype
    neutral = np.asarray(start, dtype)
    axes = tuple(range(len(shape), 2 * len(shape)))
    positions = math.prod(sliding.window)

    if positions == 0 or positions > FEW_POSITIONS:

        def reduce_view(x: np.ndarray) -> np.ndarray:
            x = pad(x, neutral) if pad is not None else x
            result = ufunc.reduce(sliding.view(x), axis=axes, dtype=wide, initial=neutral[()])
            return result if wide is dtype else result.astype(dtype)

        return reduce_view

    first, *rest = sliding.offsets()

    def reduce_offsets(x: np.ndarray) -> np.ndarray:
        x = pad(x, neutral) if pad is not None else x
        result = x[first].astype(wide)
        for offset in rest:
            ufunc(result, x[offset], out=result)
        return result if wide is dtype else result.astype(dtype)

    return reduce_offsets


def _pooling(ufunc: Any, start: Function) -> Rule:
    return lambda site: pool(site, ufunc, start(site.ins[0].dtype))


def _select_and_scatter_add(site: Site) -> Function | None:
    """Adds each source element to the operand position that its window selects (first one that holds out)."""
    compare = {"ge": np.greater_equal, "le": np.less_equal, "gt": np.greater, "lt": np.less}.get(
        site.params["select_prim"].name
    )
    if compare is None:
        return None
    shape, dtype = site.ins[1]
    pad, sliding = _geometry(site, shape)
    worst = np.asarray(lowest(dtype) if "g" in site.params["select_prim"].name else highest(dtype), dtype)
    offsets = sliding.offsets()
    padded_shape = tuple(n + low + high for n, (low, high) in zip(shape, site.params["padding"]))
    crop = tuple(slice(low, low + n) for n, (low, _) in zip(shape, site.params["padding"]))
    inside = np.ones(shape, bool) if pad is None else pad(np.ones(shape, bool), False)
    wide = accumulator(dtype)

    def scatter(source: np.ndarray, x: np.ndarray) -> np.ndarray:
        x = pad(x, worst) if pad is not None else x
        chosen = np.full(sliding.output, -1)
        best = np.full(sliding.output, worst)
        for position, offset in enumerate(offsets):
            candidate = x[offset]
            replace = inside[offset] & ((chosen < 0) | ~compare(best, candidate))
            chosen = np.where(replace, position, chosen)
            best = np.where(replace, candidate, best)
        out = np.zeros(padded_shape, wide)
        for position, offset in enumerate(offsets):
            # at one position inside the window no two windows meet, so that adding in place is exact
            out[offset] += np.where(chosen == position, source, 0).astype(wide)
        return out[crop].astype(dtype)

    return scatter


def _select_and_gather_add(site: Site) -> Function | None:
    """For each window: the tangent at the position that the operand selects."""
    name = site.params["select_prim"].name
    if name not in ("ge", "le"):
        return None
    compare = np.greater_equal if name == "ge" else np.less_equal
    shape, dtype = site.ins[1]
    pad, sliding = _geometry(site, shape)
    worst = np.asarray(lowest(dtype) if name == "ge" else highest(dtype), dtype)
    offsets = sliding.offsets()

    def gather(tangents: np.ndarray, x: np.ndarray) -> np.ndarray:
        if pad is not None:
            tangents, x = pad(tangents, np.zeros((), dtype)), pad(x, worst)
        best, result = np.full(sliding.output, worst), np.zeros(sliding.output, dtype)
        for offset in offsets:
            candidate = x[offset]
            keep = compare(best, candidate)
            best, result = np.where(keep, best, candidate), np.where(keep, result, tangents[offset])
        return result

    return gather


RULES: dict[str, Rule] = {
    "reduce_window_sum": _pooling(np.add, lambda dtype: 0),
    "reduce_window_max": _pooling(np.maximum, lowest),
    "reduce_window_min": _pooling(np.minimum, highest),
    "select_and_scatter_add": _select_and_scatter_add,
    "select_and_gather_add": _select_and_gather_add,
}
