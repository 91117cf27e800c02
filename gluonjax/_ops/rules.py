"""Rules that several operators share: shapes that flow backwards, parameters that are filled in from data."""

from __future__ import annotations

from typing import overload

from jax import Array

from gluonjax._base.dtypes import is_floating
from gluonjax._base.errors import OperatorError
from gluonjax._ops.opdef import Attrs, ParamShapes, Shape


@overload
def product(dims: tuple[int, ...]) -> int: ...
@overload
def product(dims: Shape) -> int | None: ...
def product(dims: Shape) -> int | None:
    """The number of elements, or None while a dimension is unknown."""
    total = 1
    for dim in dims:
        if dim is None:
            return None
        total *= dim
    return total


def check_floating(name: str, data: Array) -> None:
    """Raise OperatorError for whole numbers, where a formula is one of floating point."""
    if not is_floating(data.dtype):
        raise OperatorError(
            f"{name}: This operation only support floating point types, not {data.dtype}; cast with "
            "astype('float32')"
        )


def merge_shapes(first: Shape | None, second: Shape | None) -> Shape | None:
    """What two descriptions of one shape say together. Raises OperatorError where they disagree.

    >>> merge_shapes((None, 3), (2, None)), merge_shapes(None, (4,))
    ((2, 3), (4,))
    """
    if first is None or second is None:
        return first if second is None else second
    if len(first) != len(second):
        raise OperatorError(f"shapes {list(first)} and {list(second)} differ in their number of dimensions")
    merged = []
    for a, b in zip(first, second):
        if a is not None and b is not None and a != b:
            raise OperatorError(f"shapes {list(first)} and {list(second)} are incompatible")
        merged.append(b if a is None else a)
    return tuple(merged)


def same_shape(
    inputs: dict[str, Shape | None], outputs: list[Shape | None], attrs: Attrs
) -> tuple[dict[str, Shape | None], list[Shape | None]]:
    """All inputs and all outputs have one shape (elementwise operators)."""
    shape: Shape | None = None
    for known in [*inputs.values(), *outputs]:
        shape = merge_shapes(shape, known)
    return {name: shape for name in inputs}, [shape for _ in outputs]


def like_data(*names: str) -> ParamShapes:
    """The named inputs have the shape of ``data``."""

    def rule(known: dict[str, Shape | None], attrs: Attrs) -> dict[str, Shape]:
        data = known.get("data")
        return {} if data is None else {name: data for name in names}

    return rule


def channel_vectors(*names: str, axis_attr: str = "axis", default_axis: int = 1) -> ParamShapes:
    """The named inputs are vectors as long as the channel axis of ``data``."""

    def rule(known: dict[str, Shape | None], attrs: Attrs) -> dict[str, Shape]:
        data = known.get("data")
        axis = attrs.get(axis_attr, default_axis)
        if data is None or not -len(data) <= axis < len(data):
            return {}
        return {name: (data[axis],) for name in names}

    return rule
