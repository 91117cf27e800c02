"""Rules for the primitives that move or repeat data: most of them are views."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gluonjax._engine._numpy_rules.site import Function, Rule, Site, at_axis, identity, padder

#: Up to this many elements a repeated value is written out: quicker than making NumPy's broadcast view.
WRITE_OUT = 8192


def _reshape(site: Site) -> Function | None:
    shape, order = site.outs[0].shape, site.params.get("dimensions")
    if order is not None and tuple(order) != tuple(range(len(order))):
        return lambda x: x.transpose(order).reshape(shape)
    if shape == site.ins[0].shape:
        return identity
    return lambda x: x.reshape(shape)


def _squeeze(site: Site) -> Function:
    shape = site.outs[0].shape
    return identity if shape == site.ins[0].shape else lambda x: x.reshape(shape)


def _broadcast(site: Site) -> Function | None:
    source, (shape, dtype) = site.ins[0].shape, site.outs[0]
    if len(site.ins) > 1:  # a shape that is only known at run time
        return None
    if source == shape:
        return identity
    placed = [1] * len(shape)
    for size, axis in zip(source, site.params["broadcast_dimensions"]):
        placed[axis] = size
    placed = tuple(placed)
    if math.prod(source) == math.prod(shape):
        return lambda x: x.reshape(shape)
    aligned = placed[len(shape) - len(source) :] == source
    if math.prod(shape) <= WRITE_OUT:

        def write_out(x: Any) -> np.ndarray:
            out = np.empty(shape, dtype)
            out[...] = x if aligned else x.reshape(placed)
            return out

        return write_out
    if aligned:
        return lambda x: np.broadcast_to(x, shape)
    return lambda x: np.broadcast_to(x.reshape(placed), shape)


def _transpose(site: Site) -> Function:
    permutation = tuple(site.params["permutation"])
    if permutation == tuple(range(len(permutation))):
        return identity
    return lambda x: x.transpose(permutation)


def _slice(site: Site) -> Function:
    starts, limits = site.params["start_indices"], site.params["limit_indices"]
    strides = site.params["strides"] or (1,) * len(starts)
    if site.ins[0].shape == site.outs[0].shape:
        return identity
    index = tuple(slice(int(a), int(b), int(s)) for a, b, s in zip(starts, limits, strides))
    return lambda x: x[index]


def _reverse(site: Site) -> Function:
    dimensions = set(site.params["dimensions"])
    index = tuple(
        slice(None, None, -1 if axis in dimensions else None) for axis in range(len(site.ins[0].shape))
    )
    return lambda x: x[index]


def _concatenate(site: Site) -> Function:
    axis = site.params["dimension"]
    if len(site.ins) == 1:
        return identity
    return lambda *parts: np.concatenate(parts, axis=axis)


def _pad(site: Site) -> Function:
    return padder(site.ins[0].shape, site.params["padding_config"]) or (lambda x, value: x)


def _iota(site: Site) -> Function | None:
    if site.ins:
        return None
    shape, dtype = site.outs[0]
    axis = site.params["dimension"]

    def iota() -> np.ndarray:
        line = np.arange(shape[axis]).astype(dtype)
        if len(shape) == 1:
            return line
        return np.broadcast_to(line.reshape(at_axis_shape(len(shape), axis)), shape)

    return iota


def at_axis_shape(rank: int, axis: int) -> tuple[int, ...]:
    """The shape that lays a line along one axis: -1 there, 1 elsewhere."""
    return (1,) * axis + (-1,) + (1,) * (rank - axis - 1)


def _tile(site: Site) -> Function:
    repeats = tuple(site.params["reps"])
    return lambda x: np.tile(x, repeats)


def _split(site: Site) -> Function:
    axis, rank = site.params["axis"], len(site.ins[0].shape)
    if len(site.outs) == 1:
        return identity
    ends = np.cumsum([int(size) for size in site.params["sizes"]]).tolist()
    pieces = tuple(at_axis(rank, axis, slice(a, b)) for a, b in zip([0, *ends], ends))
    return lambda x: tuple(x[piece] for piece in pieces)


def _unstack(site: Site) -> Function:
    axis, rank = site.params["axis"], len(site.ins[0].shape)
    pieces = tuple(at_axis(rank, axis, i) for i in range(site.ins[0].shape[axis]))
    if len(pieces) == 1:
        return lambda x: x[pieces[0]]
    return lambda x: tuple(x[piece] for piece in pieces)


def _stack(site: Site) -> Function:
    axis = site.params["axis"]
    return lambda *parts: np.stack(parts, axis=axis)


def _bitcast(site: Site) -> Function:
    (shape, source), (out_shape, target) = site.ins[0], site.outs[0]
    if source == target:
        return identity
    if source.itemsize == target.itemsize:
        return lambda x: x.view(target)
    if source.itemsize > target.itemsize:
        return lambda x: np.ascontiguousarray(x).reshape(shape + (1,)).view(target)
    return lambda x: np.ascontiguousarray(x).view(target).reshape(out_shape)


def _identity(site: Site) -> Function:
    return identity


def _empty(site: Site) -> Function:
    shape, dtype = site.outs[0]
    return lambda: np.zeros(shape, dtype)


RULES: dict[str, Rule] = {
    "reshape": _reshape,
    "squeeze": _squeeze,
    "expand_dims": _squeeze,
    "broadcast_in_dim": _broadcast,
    "transpose": _transpose,
    "slice": _slice,
    "rev": _reverse,
    "concatenate": _concatenate,
    "pad": _pad,
    "iota": _iota,
    "split": _split,
    "tile": _tile,
    "tie": lambda site: lambda x, y: y,
    "unstack": _unstack,
    "stack": _stack,
    "bitcast_convert_type": _bitcast,
    "empty": _empty,
    "empty2": _empty,
    # primitives that only say something to the compiler, the devices or to differentiation
    **dict.fromkeys(
        ("copy", "copy_p", "optimization_barrier", "device_put", "stop_gradient", "name", "pvary",
         "random_clone",
         "sharding_constraint", "layout_constraint", "mesh_cast", "pcast"),
        _identity,
    ),
}  # fmt: skip
