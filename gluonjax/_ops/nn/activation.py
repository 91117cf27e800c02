"""Activation functions: Activation, and LeakyReLU with its relatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import jax
import jax.numpy as jnp
from jax import Array, lax

from gluonjax._base.dtypes import is_floating
from gluonjax._ops.opdef import Attrs, OperatorError, Shape, check, operator
from gluonjax._ops.rules import check_floating

SELU_ALPHA = 1.6732632423543772
SELU_SCALE = 1.0507009873554805


def _in_float32(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """The function, computed in float32 for half-precision arrays (``exp`` overflows float16 early)."""

    def call(data: Array) -> Array:
        if data.dtype.itemsize >= 4:
            return function(data)
        return lax.convert_element_type(function(lax.convert_element_type(data, jnp.float32)), data.dtype)

    return call


def relu(data: Array) -> Array:
    """Negative entries become 0. The gradient at 0 is 0, and NaN passes."""
    zero = lax.full_like(data, 0)
    return lax.select(lax.le(data, zero), zero, data)


def softrelu(data: Array) -> Array:
    """``log(1 + exp(x))``; where it equals x in floating point (beyond 20), x itself, so that exp cannot overflow."""
    large = lax.gt(data, lax.full_like(data, 20))
    bounded = lax.select(large, lax.full_like(data, 0), data)
    return lax.select(large, data, lax.log1p(lax.exp(bounded)))


def softsign(data: Array) -> Array:
    """``x / (1 + |x|)``."""
    return lax.div(data, lax.add(lax.abs(data), lax.full_like(data, 1)))


def gelu(data: Array) -> Array:
    """The exact form, with the error function."""
    half = lax.mul(data, lax.full_like(data, 0.5))
    return lax.mul(
        half, lax.add(lax.erf(lax.mul(data, lax.full_like(data, 0.7071067811865476))), lax.full_like(data, 1))
    )


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": relu,
    "sigmoid": lax.logistic,
    "tanh": lax.tanh,
    "softrelu": _in_float32(softrelu),
    "softsign": softsign,
}


@operator("Activation", aliases=("_npx_activation",))
def activation(data: Array, *, act_type: Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"]) -> Array:
    """Apply an activation function to each element.

    Args:
        data: any shape.

    Returns:
        An array like ``data``.
    """
    check(
        act_type == "relu" or is_floating(data.dtype),
        f"Activation: {act_type} is for floating point types, not {data.dtype}; cast with .astype",
    )
    return ACTIVATIONS[act_type](data)


def _negative_part(data: Array, slope: Array, curve: Callable[[Array], Array] = lambda x: x) -> Array:
    """``x`` where positive, ``slope * curve(x)`` elsewhere; the derivative at 0 is that of the left side."""
    zero = lax.full_like(data, 0)
    positive = lax.gt(data, zero)
    # exp of a large positive entry would make the branch not taken infinite, and its gradient NaN.
    left = lax.select(positive, zero, data) if curve is lax.expm1 else data
    return lax.select(positive, data, lax.mul(slope, curve(left)))


def _gamma_like_data(gamma: Array, data: Array) -> Array:
    """Broadcast PReLU's slopes along the first two axes, the only ones that MXNet lets them have."""
    if not data.size:
        return lax.full_like(data, 0, gamma.dtype)  # MXNet returns before it looks at the slopes
    places: list[int] = []
    for axis in reversed(range(min(data.ndim, 2))):
        rest = gamma.shape[: gamma.ndim - len(places)]
        if rest and rest[-1] in (1, data.shape[axis]):
            places.insert(0, axis)
    check(
        len(places) == gamma.ndim,
        f"LeakyReLU: Cannot broadcast gamma to data. gamma: {list(gamma.shape)}, data: {list(data.shape)}; "
        "gamma needs one slope for each channel (axis 1), or a single one",
    )
    return lax.broadcast_in_dim(gamma, data.shape, places)


def _leaky_inputs(attrs: Attrs) -> tuple[str, ...]:
    return ("data", "gamma") if attrs.act_type == "prelu" else ("data",)


def _leaky_outputs(attrs: Attrs) -> tuple[str, ...]:
    return ("output", "mask") if attrs.act_type == "rrelu" else ("output",)


def _leaky_shapes(known: dict[str, Shape | None], attrs: Attrs) -> dict[str, Shape]:
    data = known.get("data")
    if attrs.act_type != "prelu" or not data or known.get("gamma"):
        return {}
    return {"gamma": (data[1] if len(data) > 1 else 1,)}


@operator(
    "LeakyReLU",
    aliases=("_npx_leaky_relu",),
    active_inputs=_leaky_inputs,
    outputs=_leaky_outputs,
    param_shapes=_leaky_shapes,
    variable_attrs={"gamma": {"__init__": '["Constant", {"value": 0.25}]'}},
)
def leaky_relu(
    data: Array, gamma: Array | None = None, *,
    act_type: Literal["elu", "gelu", "leaky", "prelu", "rrelu", "selu"] = "leaky",
    slope: float = 0.25, lower_bound: float = 0.125, upper_bound: float = 0.334, train: bool, key: Array,
) -> Array | tuple[Array, Array]:  # fmt: skip
    """Activation functions that let something through for negative entries.

    Args:
        data: any shape; axis 1 holds the channels.
        gamma: PReLU's learned slopes, ``(channels,)``, ``(1,)`` or ``(batch, channels)``.

    Returns:
        An array like ``data``; for ``rrelu`` also the slopes that were drawn (in prediction: their mean).
    """
    if act_type == "gelu":
        return _in_float32(gelu)(data)
    if act_type == "prelu":
        if gamma is None:
            raise OperatorError("LeakyReLU: act_type='prelu' needs gamma, the slopes")
        return _negative_part(data, _gamma_like_data(gamma, data))
    if act_type == "rrelu":
        if train:
            check_floating("LeakyReLU", data)
            mask = jax.random.uniform(key, data.shape, data.dtype, lower_bound, upper_bound)
        else:
            mask = lax.full_like(data, (lower_bound + upper_bound) / 2)
        mask = lax.stop_gradient(mask)
        return _negative_part(data, mask), mask
    if act_type == "leaky":
        return _negative_part(data, lax.full_like(data, slope))
    if act_type == "elu":
        return _negative_part(data, lax.full_like(data, slope), lax.expm1)
    scaled = _negative_part(data, lax.full_like(data, SELU_ALPHA), lax.expm1)
    return lax.mul(scaled, lax.full_like(data, SELU_SCALE))
