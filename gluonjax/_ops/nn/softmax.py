"""Softmax and its relatives, without a loss attached."""

from __future__ import annotations

import functools
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._base.errors import OperatorError
from gluonjax._ops.opdef import Attrs, check, operator

FloatName = Literal["float16", "float32", "float64"] | None


def _shifted(data: Array, axis: int) -> Array:
    top = lax.reduce_max(lax.stop_gradient(data), axes=(axis,))
    return lax.sub(data, lax.broadcast_in_dim(top, data.shape, _others(data.ndim, axis)))


def _others(ndim: int, axis: int) -> tuple[int, ...]:
    return tuple(i for i in range(ndim) if i != axis)


def _total(data: Array, axis: int) -> Array:
    """The sum along an axis, repeated to the shape of ``data``."""
    return lax.broadcast_in_dim(lax.reduce_sum(data, axes=(axis,)), data.shape, _others(data.ndim, axis))


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def stable_softmax(data: Array, axis: int) -> Array:
    """Softmax along a non-negative axis; its derivative needs nothing but the result."""
    powers = lax.exp(_shifted(data, axis))
    return lax.div(powers, _total(powers, axis))


@stable_softmax.defjvp
def _softmax_tangent(axis: int, primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    result = stable_softmax(primals[0], axis)
    weighted = lax.mul(result, tangents[0])
    return result, lax.sub(weighted, lax.mul(result, _total(weighted, axis)))


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def stable_log_softmax(data: Array, axis: int) -> Array:
    """Logarithm of the softmax along a non-negative axis, exact where the softmax underflows."""
    shifted = _shifted(data, axis)
    return lax.sub(shifted, lax.log(_total(lax.exp(shifted), axis)))


@stable_log_softmax.defjvp
def _log_softmax_tangent(axis: int, primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    result = stable_log_softmax(primals[0], axis)
    return result, lax.sub(tangents[0], _total(lax.mul(lax.exp(result), tangents[0]), axis))


def _prepare(
    name: str, data: Array, axis: int, temperature: float | None, dtype: FloatName, negate: bool = False
) -> tuple[Array, int, np.dtype]:
    """Checked data in the precision to compute in, the axis counted from the front, and the dtype of the result."""
    floating = jnp.issubdtype(data.dtype, jnp.floating)
    check(
        floating,
        f"{name}: This operation only support floating point types, not {data.dtype}; cast with astype",
    )
    check(data.ndim > 0, f"{name}: data has no dimension to normalize along")
    check(
        -data.ndim <= axis < data.ndim,
        f"{name}: axis {axis} is out of range for data with {data.ndim} dimensions {data.shape}",
    )
    result = np.dtype(dtype) if dtype is not None else data.dtype
    compute = jnp.promote_types(jnp.promote_types(data.dtype, result), jnp.float32)
    data = data if data.dtype == compute else lax.convert_element_type(data, compute)
    divisor = (1.0 if temperature is None else temperature) * (-1 if negate else 1)
    if divisor != 1:
        data = lax.neg(data) if divisor == -1 else lax.div(data, lax.full_like(data, divisor))
    return data, axis % data.ndim, result


def _cast(data: Array, dtype: np.dtype) -> Array:
    return data if data.dtype == dtype else lax.convert_element_type(data, dtype)


def _softmax_inputs(attrs: Attrs) -> tuple[str, ...]:
    return ("data", "length") if attrs.use_length else ("data",)


def _length_dtypes(dtypes: dict[str, np.dtype | None], attrs: Attrs) -> dict[str, np.dtype | None]:
    length = dtypes.get("length")
    check(
        length is None or np.issubdtype(length, np.integer),
        f"softmax: This operation only support integer types, not {length}, for 'length'; cast it with "
        "astype('int32')",
    )
    return {
        name: np.dtype("int32") if name == "length" and given is None else given
        for name, given in dtypes.items()
    }


@operator("softmax", aliases=("_npx_softmax",), active_inputs=_softmax_inputs, dtypes=_length_dtypes)
def softmax(
    data: Array, length: Array | None = None, *,
    axis: int = -1, temperature: float | None = None, dtype: FloatName = None,
    use_length: bool | None = False,
) -> Array:  # fmt: skip
    """Exponentials along an axis, scaled so that they sum to one.

    Args:
        data: any floating array.
        length: with ``use_length=True``, how many leading entries along ``axis`` count, in the shape of
            ``data`` without that axis (``(1,)`` for a vector); the others give 0.

    Returns:
        An array like ``data`` (in ``dtype``, if given).
    """
    counted, (scaled, axis, result) = axis, _prepare("softmax", data, axis, temperature, dtype)
    if not use_length:
        return _cast(stable_softmax(scaled, axis), result)
    check(
        counted >= -1,
        f"softmax: with use_length=True the only negative axis is -1, got {counted}; write axis={axis}",
    )
    rest = _others(data.ndim, axis)
    # A single row has a length too, as an array of one number.
    wanted = tuple(data.shape[i] for i in rest) or (1,)
    if length is None or length.shape != wanted:
        raise OperatorError(
            f"softmax: length has shape {None if length is None else length.shape}, wanted {wanted}: "
            f"the shape of data {data.shape} without axis {axis}"
        )
    limit = lax.broadcast_in_dim(length, data.shape, rest or (0,))
    inside = lax.lt(lax.broadcasted_iota(length.dtype, data.shape, axis), limit)
    # The least finite number, not -inf: a row of length 0 must not become NaN.
    masked = lax.select(inside, scaled, lax.full_like(scaled, jnp.finfo(scaled.dtype).min))
    return _cast(lax.select(inside, stable_softmax(masked, axis), lax.full_like(scaled, 0)), result)


def _no_length(name: str, use_length: bool | None) -> None:
    check(not use_length, f"{name}: use_length=True has no 'length' input here; only softmax takes lengths")


@operator("softmin")
def softmin(
    data: Array, *, axis: int = -1, temperature: float | None = None, dtype: FloatName = None,
    use_length: bool | None = False,
) -> Array:  # fmt: skip
    """Softmax of the negated data: small entries get the large weights.

    Args:
        data: any floating array.

    Returns:
        An array like ``data`` (in ``dtype``, if given).
    """
    _no_length("softmin", use_length)
    scaled, axis, result = _prepare("softmin", data, axis, temperature, dtype, negate=True)
    return _cast(stable_softmax(scaled, axis), result)


@operator("log_softmax", aliases=("_npx_log_softmax",))
def log_softmax(
    data: Array, *, axis: int = -1, temperature: float | None = None, dtype: FloatName = None,
    use_length: bool | None = False,
) -> Array:  # fmt: skip
    """Logarithm of the softmax along an axis.

    Args:
        data: any floating array.

    Returns:
        An array like ``data`` (in ``dtype``, if given).
    """
    _no_length("log_softmax", use_length)
    scaled, axis, result = _prepare("log_softmax", data, axis, temperature, dtype)
    return _cast(stable_log_softmax(scaled, axis), result)


@operator("SoftmaxActivation")
def softmax_activation(data: Array, *, mode: Literal["channel", "instance"] = "instance") -> Array:
    """Softmax over all features of each example, or over the channels at each position.

    Args:
        data: ``(batch, ...)``; for ``mode="channel"`` ``(batch, channels, ...)``.

    Returns:
        An array like ``data``.
    """
    if mode == "channel":
        if not data.size:
            return data
        check(
            data.ndim >= 3, f"SoftmaxActivation: mode='channel' needs at least 3 dimensions, got {data.shape}"
        )
        scaled, axis, result = _prepare("SoftmaxActivation", data, 1, None, None)
        return _cast(stable_softmax(scaled, axis), result)
    # As in MXNet, everything but the last axis counts as the batch here, whatever the number of dimensions.
    scaled, axis, result = _prepare("SoftmaxActivation", data, -1, None, None)
    return _cast(stable_softmax(scaled, axis), result)


@operator("softmax_cross_entropy")
def softmax_cross_entropy(data: Array, label: Array) -> Array:
    """Cross entropy between the softmax of each row and a class index, summed over the batch.

    Args:
        data: ``(batch, classes)`` scores.
        label: ``(batch,)`` class indices in the dtype of ``data``.

    Returns:
        ``(1,)``: the sum.
    """
    check(
        data.ndim == 2, f"softmax_cross_entropy: data needs 2 dimensions (batch, classes), got {data.shape}"
    )
    check(
        label.shape == data.shape[:1],
        f"softmax_cross_entropy: label has shape {label.shape}, wanted {data.shape[:1]}: one class for "
        "each row",
    )
    return _cross_entropy_sum(data, label)


@jax.custom_vjp
def _cross_entropy_sum(data: Array, label: Array) -> Array:
    scaled, axis, result = _prepare("softmax_cross_entropy", data, 1, None, None)
    probability = lax.reduce_sum(lax.mul(stable_softmax(scaled, axis), _one_hot(label, scaled)), axes=(1,))
    # MXNet keeps the logarithm finite with 1e-8.
    total = lax.reduce_sum(lax.log(lax.max(probability, lax.full_like(probability, 1e-8))), axes=(0,))
    return _cast(lax.reshape(lax.neg(total), (1,)), result)


def _one_hot(label: Array, like: Array) -> Array:
    classes = lax.broadcasted_iota(jnp.int32, like.shape, 1)
    chosen = lax.broadcast_in_dim(lax.convert_element_type(label, jnp.int32), like.shape, (0,))
    return lax.convert_element_type(lax.eq(classes, chosen), like.dtype)


def _cross_entropy_forward(data: Array, label: Array) -> tuple[Array, tuple[Array, Array]]:
    return _cross_entropy_sum(data, label), (data, label)


def _cross_entropy_backward(saved: tuple[Array, Array], head: Array) -> tuple[Array, Array]:
    # The gradient ignores the bound at 1e-8, as in MXNet: hopeless rows still learn.
    data, label = saved
    scaled, axis, result = _prepare("softmax_cross_entropy", data, 1, None, None)
    difference = lax.sub(stable_softmax(scaled, axis), _one_hot(label, scaled))
    scale = lax.broadcast_in_dim(lax.convert_element_type(head, scaled.dtype), (1, 1), (1,))
    return _cast(difference * scale, result), lax.full_like(label, 0)


_cross_entropy_sum.defvjp(_cross_entropy_forward, _cross_entropy_backward)
