"""Normalization layers: batch, layer, instance, group, local response, L2."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._ops.nn.sums import sum_over
from gluonjax._ops.opdef import Attrs, Aux, Shape, check, operator
from gluonjax._ops.rules import channel_vectors

STATISTICS_INIT = {"moving_mean": {"__init__": '["zero", {}]'}, "moving_var": {"__init__": '["one", {}]'}}
MEAN_VAR = ("output", "mean", "var")
MEAN_STD = ("output", "mean", "std")


def _custom_vjp(*fixed: int) -> Callable[[Callable[..., Any]], Any]:
    """``jax.custom_vjp`` as a decorator; ``fixed`` are the positions of arguments that are no arrays."""
    return functools.partial(jax.custom_vjp, nondiff_argnums=fixed)


def _wide(data: Array) -> Array:
    """Half precision as float32, for sums and roots."""
    return lax.convert_element_type(data, jnp.float32) if data.dtype.itemsize < 4 else data


def _spread(vector: Array, shape: tuple[int, ...], axes: tuple[int, ...]) -> Array:
    """Repeat an array that lacks ``axes`` to the full shape."""
    return lax.broadcast_in_dim(vector, shape, tuple(i for i in range(len(shape)) if i not in axes))


def _mean(data: Array, axes: tuple[int, ...]) -> Array:
    count = max(int(np.prod([data.shape[i] for i in axes], dtype=np.int64)), 1)
    total = sum_over(data, axes)
    return lax.mul(total, lax.full_like(total, 1 / count))


def _center(data: Array, axes: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """Mean, data minus mean, and (biased) variance over some axes: two passes, exact for a large mean."""
    mean = _mean(data, axes)
    centered = lax.sub(data, _spread(mean, data.shape, axes))
    return mean, centered, _mean(lax.square(centered), axes)


# ---- one normalization over axes, with a short gradient --------------------------------------------------


@_custom_vjp(1, 2)
def standardize(data: Array, axes: tuple[int, ...], eps: float) -> tuple[Array, Array, Array]:
    """(data - mean) / sqrt(var + eps) over some axes; also the mean and the standard deviation used.

    The gradient of the two statistics is taken as zero, as MXNet does.
    """
    return _standardize_forward(data, axes, eps)[0]


def _standardize_forward(data: Array, axes: tuple[int, ...], eps: float) -> tuple[Any, Any]:
    mean, centered, variance = _center(data, axes)
    deviation = lax.sqrt(lax.add(variance, lax.full_like(variance, eps)))
    inverse = lax.div(lax.full_like(deviation, 1), deviation)
    normal = lax.mul(centered, _spread(inverse, data.shape, axes))
    return (normal, mean, deviation), (normal, inverse)


def _standardize_backward(axes: tuple[int, ...], eps: float, saved: Any, heads: Any) -> tuple[Array]:
    (normal, inverse), head = saved, heads[0]
    even = _spread(_mean(head, axes), head.shape, axes)
    along = lax.mul(normal, _spread(_mean(lax.mul(head, normal), axes), head.shape, axes))
    return (lax.mul(lax.sub(lax.sub(head, even), along), _spread(inverse, head.shape, axes)),)


standardize.defvjp(_standardize_forward, _standardize_backward)


@_custom_vjp(3, 4)
def normalize_batch(
    data: Array, gamma: Array, beta: Array, axis: int, eps: float
) -> tuple[Array, Array, Array]:
    """Normalize each channel over all other axes, scale and shift; also mean and variance of the channels.

    One gradient for data, gamma and beta together: two sums over the data serve all three.
    """
    return _batch_forward(data, gamma, beta, axis, eps)[0]


def _batch_forward(data: Array, gamma: Array, beta: Array, axis: int, eps: float) -> tuple[Any, Any]:
    axes = tuple(i for i in range(data.ndim) if i != axis)
    mean, centered, variance = _center(_wide(data), axes)
    inverse = lax.rsqrt(lax.add(variance, lax.full_like(variance, eps)))
    scale = _spread(lax.mul(gamma, inverse), data.shape, axes)
    output = lax.add(lax.mul(centered, scale), _spread(beta, data.shape, axes))
    return (output.astype(data.dtype), mean, variance), (data, gamma, mean, inverse)


def _batch_backward(axis: int, eps: float, saved: Any, heads: Any) -> tuple[Array, Array, Array]:
    data, gamma, mean, inverse = saved
    head = _wide(heads[0])
    axes = tuple(i for i in range(data.ndim) if i != axis)
    count = max(data.size // max(data.shape[axis], 1), 1)
    centered = lax.sub(_wide(data), _spread(mean, data.shape, axes))
    shift = sum_over(head, axes)
    scale = lax.mul(sum_over(lax.mul(head, centered), axes), inverse)
    along = _spread(lax.mul(scale, lax.mul(inverse, lax.full_like(inverse, 1 / count))), data.shape, axes)
    even = _spread(lax.mul(shift, lax.full_like(shift, 1 / count)), data.shape, axes)
    inner = lax.sub(lax.sub(head, even), lax.mul(centered, along))
    gradient = lax.mul(inner, _spread(lax.mul(gamma, inverse), data.shape, axes))
    return gradient.astype(data.dtype), scale, shift


normalize_batch.defvjp(_batch_forward, _batch_backward)


# ---- batch normalization ---------------------------------------------------------------------------------


def _parameter_dtypes(dtypes: dict[str, np.dtype | None], attrs: Attrs) -> dict[str, np.dtype | None]:
    """Parameters and statistics of half-precision data are float32, otherwise all dtypes agree."""
    data = dtypes.get("data")
    wanted = np.dtype("float32") if data is not None and np.dtype(data).itemsize < 4 else data
    for name, dtype in dtypes.items():
        check(
            name == "data" or dtype is None or wanted is None or dtype == wanted,
            f"BatchNorm: This layer requires uniform type. Expected '{wanted}' v.s. given '{dtype}' at "
            f"'{name}'",
        )
    return {
        name: data if name == "data" else wanted if dtype is None else dtype for name, dtype in dtypes.items()
    }


def _batch_norm(
    name: str, data: Array, gamma: Array, beta: Array, moving_mean: Any, moving_var: Any, axis: int,
    eps: float,
    momentum: float, fix_gamma: bool, use_global_stats: bool, train: bool,
) -> tuple[Array, Array, Array, dict[str, Array]]:  # fmt: skip
    """The output, the mean and the variance used, and new moving statistics."""
    check(
        -data.ndim <= axis < data.ndim,
        f"{name}: axis {axis} is out of range for data with {data.ndim} dimensions {data.shape}",
    )
    axis %= data.ndim
    wanted = (data.shape[axis],)
    for what, vector in (
        ("gamma", gamma),
        ("beta", beta),
        ("moving_mean", moving_mean),
        ("moving_var", moving_var),
    ):
        check(
            vector.shape == wanted,
            f"{name}: {what} has shape {vector.shape}, wanted {wanted}: one entry for each channel of data "
            f"{data.shape} (axis {axis})",
        )
    if fix_gamma:  # gamma counts as 1, whatever it holds
        gamma = lax.full_like(gamma, 1)
    if train and not use_global_stats:
        output, mean, variance = normalize_batch(data, gamma, beta, axis, eps)
        mean, variance = lax.stop_gradient(mean), lax.stop_gradient(variance)
        keep = lax.full_like(mean, momentum)
        new = lax.full_like(mean, 1 - momentum)
        # The biased variance goes into the average, as on MXNet's CPU; committed by this forward, not the
        # backward.
        updates = {
            "moving_mean": lax.add(lax.mul(moving_mean, keep), lax.mul(mean, new)),
            "moving_var": lax.add(lax.mul(moving_var, keep), lax.mul(variance, new)),
        }
        return output, mean, variance, updates
    axes = tuple(i for i in range(data.ndim) if i != axis)
    mean, variance = lax.stop_gradient(moving_mean), lax.stop_gradient(moving_var)
    scale = lax.mul(gamma, lax.rsqrt(lax.add(variance, lax.full_like(variance, eps))))
    centered = lax.sub(_wide(data), _spread(mean, data.shape, axes))
    output = lax.add(lax.mul(centered, _spread(scale, data.shape, axes)), _spread(beta, data.shape, axes))
    return output.astype(data.dtype), mean, variance, {}


def _shown_statistics(attrs: Attrs) -> int:
    return 3 if attrs.output_mean_var else 1


_BATCH_PARAMETERS = channel_vectors("gamma", "beta", "moving_mean", "moving_var")


@operator(
    "BatchNorm",
    aliases=("_npx_batch_norm",),
    outputs=MEAN_VAR,
    visible=_shown_statistics,
    param_shapes=_BATCH_PARAMETERS,
    dtypes=_parameter_dtypes,
    variable_attrs=STATISTICS_INIT,
)
def batch_norm(
    data: Array, gamma: Array, beta: Array, moving_mean: Aux, moving_var: Aux, *,
    eps: float = 1e-3, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False,
    output_mean_var: bool = False, axis: int = 1, cudnn_off: bool = False,
    min_calib_range: float | None = None, max_calib_range: float | None = None, train: bool,
) -> tuple[tuple[Array, Array, Array], dict[str, Array]]:  # fmt: skip
    """Give each channel mean 0 and variance 1 over the batch, then scale by gamma and shift by beta.

    Args:
        data: any shape with the channels on ``axis``.
        gamma: ``(channels,)``; with ``fix_gamma`` (the default) it counts as 1 and has no gradient.
        beta: ``(channels,)``.
        moving_mean: ``(channels,)``, used in prediction (or always, with ``use_global_stats``), updated in
            training.
        moving_var: ``(channels,)``, likewise.

    Returns:
        An array like ``data``; with ``output_mean_var`` also the mean and, as in MXNet under the name
        ``var``, the inverse standard deviation.
    """
    output, mean, variance, updates = _batch_norm(
        "BatchNorm",
        data,
        gamma,
        beta,
        moving_mean,
        moving_var,
        axis,
        eps,
        momentum,
        fix_gamma,
        use_global_stats,
        train,
    )
    return (output, mean, lax.rsqrt(lax.add(variance, lax.full_like(variance, eps)))), updates


@operator(
    "BatchNorm_v1",
    outputs=MEAN_VAR,
    visible=_shown_statistics,
    param_shapes=_BATCH_PARAMETERS,
    dtypes=_parameter_dtypes,
    variable_attrs=STATISTICS_INIT,
    unlisted=("moving_mean", "moving_var"),
)
def batch_norm_v1(
    data: Array, gamma: Array, beta: Array, moving_mean: Aux, moving_var: Aux, *,
    eps: float = 1e-3, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False,
    output_mean_var: bool = False, train: bool,
) -> tuple[tuple[Array, Array, Array], dict[str, Array]]:  # fmt: skip
    """The first version of batch normalization, for old files: channels on axis 1; ``var`` is the variance.

    Args:
        data: ``(batch, channels, ...)``.
        gamma, beta, moving_mean, moving_var: ``(channels,)``, as in ``BatchNorm``.

    Returns:
        An array like ``data``; with ``output_mean_var`` also mean and variance.
    """
    output, mean, variance, updates = _batch_norm(
        "BatchNorm_v1",
        data,
        gamma,
        beta,
        moving_mean,
        moving_var,
        1,
        eps,
        momentum,
        fix_gamma,
        use_global_stats,
        train,
    )
    return (output, mean, variance), updates


@operator(
    "_contrib_SyncBatchNorm",
    outputs=MEAN_VAR,
    visible=_shown_statistics,
    param_shapes=_BATCH_PARAMETERS,
    dtypes=_parameter_dtypes,
    variable_attrs=STATISTICS_INIT,
)
def sync_batch_norm(
    data: Array, gamma: Array, beta: Array, moving_mean: Aux, moving_var: Aux, *,
    eps: float = 1e-3, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False,
    output_mean_var: bool = False, ndev: int = 1, key: str = "", train: bool,
) -> tuple[tuple[Array, Array, Array], dict[str, Array]]:  # fmt: skip
    """Batch normalization over the batch of all devices.

    Under JAX an array that is spread over devices is one array, so its mean is that of all devices.

    Args:
        data: ``(batch, channels, ...)``.
        gamma, beta, moving_mean, moving_var: ``(channels,)``, as in ``BatchNorm``.

    Returns:
        An array like ``data``; with ``output_mean_var`` also mean and variance.
    """
    output, mean, variance, updates = _batch_norm(
        "SyncBatchNorm", data, gamma, beta, moving_mean, moving_var, 1, eps, momentum, fix_gamma, use_global_stats,
        train,
    )  # fmt: skip
    return (output, mean, variance), updates


# ---- layer, instance, group ------------------------------------------------------------------------------


def _affine(normal: Array, gamma: Array, beta: Array, axis: int) -> Array:
    gamma, beta = (lax.broadcast_in_dim(_wide(vector), normal.shape, (axis,)) for vector in (gamma, beta))
    return lax.add(lax.mul(normal, gamma), beta)


def _check_vectors(name: str, gamma: Array, beta: Array, wanted: tuple[int, ...], what: str) -> None:
    for label, vector in (("gamma", gamma), ("beta", beta)):
        check(vector.shape == wanted, f"{name}: {label} has shape {vector.shape}, wanted {wanted}: {what}")


@operator(
    "LayerNorm",
    aliases=("_npx_layer_norm",),
    outputs=MEAN_STD,
    visible=_shown_statistics,
    param_shapes=channel_vectors("gamma", "beta", default_axis=-1),
)
def layer_norm(
    data: Array,
    gamma: Array,
    beta: Array,
    *,
    axis: int = -1,
    eps: float = 1e-5,
    output_mean_var: bool = False,
) -> tuple[Array, Array, Array]:
    """Normalize along one axis of each example, then scale and shift.

    Args:
        data: any shape.
        gamma, beta: vectors as long as ``axis``.

    Returns:
        An array like ``data``; with ``output_mean_var`` also mean and standard deviation, with the axis kept
        as 1.
    """
    check(-data.ndim <= axis < data.ndim, f"LayerNorm: axis {axis} is out of range for data {data.shape}")
    axis %= data.ndim
    _check_vectors(
        "LayerNorm", gamma, beta, (data.shape[axis],), f"one entry along axis {axis} of data {data.shape}"
    )
    normal, mean, deviation = standardize(_wide(data), (axis,), eps)
    if not data.shape[axis]:  # MXNet's mean of nothing is 0 / 0
        mean, deviation = lax.full_like(mean, np.nan), lax.full_like(deviation, np.nan)
    output = _affine(normal, gamma, beta, axis).astype(data.dtype)
    kept = tuple(1 if i == axis else size for i, size in enumerate(data.shape))
    return output, lax.reshape(mean, kept).astype(data.dtype), lax.reshape(deviation, kept).astype(data.dtype)


@operator("InstanceNorm", outputs=MEAN_VAR, visible=1, param_shapes=channel_vectors("gamma", "beta"))
def instance_norm(data: Array, gamma: Array, beta: Array, *, eps: float = 1e-3) -> tuple[Array, Array, Array]:
    """Normalize each channel of each example over its positions, then scale and shift.

    Args:
        data: ``(batch, channels, positions...)``.
        gamma, beta: ``(channels,)``.

    Returns:
        An array like ``data``; hidden, mean and variance ``(batch, channels)``.
    """
    check(
        data.ndim >= 3,
        f"InstanceNorm: InstanceNorm only supports input tensors of rank >= 3, got {data.shape}",
    )
    _check_vectors(
        "InstanceNorm", gamma, beta, (data.shape[1],), f"one entry for each channel of data {data.shape}"
    )
    normal, mean, deviation = standardize(_wide(data), tuple(range(2, data.ndim)), eps)
    variance = lax.sub(lax.square(deviation), lax.full_like(deviation, eps))
    return (
        _affine(normal, gamma, beta, 1).astype(data.dtype),
        mean.astype(data.dtype),
        variance.astype(data.dtype),
    )


def _group_vectors(known: dict[str, Shape | None], attrs: Attrs) -> dict[str, Shape]:
    return {"gamma": (attrs.num_groups,), "beta": (attrs.num_groups,)}


@operator("GroupNorm", outputs=MEAN_STD, visible=_shown_statistics, param_shapes=_group_vectors)
def group_norm(
    data: Array,
    gamma: Array,
    beta: Array,
    *,
    num_groups: int = 1,
    eps: float = 1e-5,
    output_mean_var: bool = False,
) -> tuple[Array, Array, Array]:
    """Normalize groups of channels of each example, then scale and shift each group.

    Args:
        data: ``(batch, channels, positions...)``.
        gamma, beta: ``(num_groups,)``: in MXNet 1.9.1 one entry for each group, not for each channel.

    Returns:
        An array like ``data``; with ``output_mean_var`` also mean and standard deviation ``(batch,
        num_groups)``.
    """
    check(data.ndim >= 3, f"GroupNorm: data needs (batch, channels, positions...), got {data.shape}")
    check(
        num_groups > 0 and data.shape[1] % num_groups == 0,
        f"GroupNorm: # of channels must be divisible by # of groups, got {data.shape[1]} and {num_groups}",
    )
    # MXNet looks at the number of entries only, and where there is nothing to normalize at nothing.
    if gamma.size == beta.size == num_groups:
        gamma, beta = lax.reshape(gamma, (num_groups,)), lax.reshape(beta, (num_groups,))
    elif not data.size:
        gamma, beta = lax.full((num_groups,), 1, gamma.dtype), lax.full((num_groups,), 0, beta.dtype)
    _check_vectors("GroupNorm", gamma, beta, (num_groups,), "one entry for each group")
    grouped = lax.reshape(
        _wide(data), (data.shape[0], num_groups, data.size // max(data.shape[0] * num_groups, 1))
    )
    normal, mean, deviation = standardize(grouped, (2,), eps)
    output = lax.reshape(_affine(normal, gamma, beta, 1), data.shape).astype(data.dtype)
    return output, mean.astype(data.dtype), deviation.astype(data.dtype)


# ---- local response and L2 -------------------------------------------------------------------------------


@operator("LRN", outputs=("output", "tmp_norm"), visible=1)
def lrn(
    data: Array, *, alpha: float = 1e-4, beta: float = 0.75, knorm: float = 2.0, nsize: int
) -> tuple[Array, Array]:
    """Divide each element by a power of the sum of squares in neighbouring channels.

    Args:
        data: ``(batch, channels, ...)``.
        nsize: width of the neighbourhood, odd.

    Returns:
        An array like ``data``; hidden, the sums.
    """
    if not data.size:
        return data, data  # 1.9.1 does not look at the window
    check(nsize > 0 and nsize % 2 == 1, f"LRN: LRN only supports odd values for local_size, got nsize={nsize}")
    check(data.ndim >= 2, f"LRN: data needs (batch, channels, ...), got {data.shape}")
    squares = lax.square(_wide(data))
    padding = [(0, 0, 0)] * data.ndim
    padding[1] = (nsize // 2, nsize // 2, 0)
    padded = lax.pad(squares, jnp.zeros((), squares.dtype), padding)
    shifted = [lax.slice_in_dim(padded, i, i + data.shape[1], axis=1) for i in range(nsize)]
    total = functools.reduce(lax.add, shifted)
    norm = lax.add(lax.mul(total, lax.full_like(total, alpha / nsize)), lax.full_like(total, knorm))
    # A CPU takes six times as long for a power as for a logarithm and an exponential.
    output = lax.mul(_wide(data), lax.exp(lax.mul(lax.log(norm), lax.full_like(norm, -beta))))
    return output.astype(data.dtype), norm.astype(data.dtype)


@operator("L2Normalization", outputs=("output", "norm"), visible=1)
def l2_normalization(
    data: Array, *, eps: float = 1e-10, mode: Literal["channel", "instance", "spatial"] = "instance"
) -> tuple[Array, Array]:
    """Divide by the Euclidean norm of each example, of the channels at each position, or of each channel.

    Args:
        data: ``(batch, channels, ...)``.

    Returns:
        An array like ``data``; hidden, the norms.
    """
    needed = 1 if mode == "instance" else 3
    check(
        data.ndim >= needed,
        f"L2Normalization: At lease {needed} dimensions required in {mode} mode, got {data.shape}",
    )
    axes = {"instance": tuple(range(1, data.ndim)), "channel": (1,), "spatial": tuple(range(2, data.ndim))}[
        mode
    ]
    wide = _wide(data)
    total = lax.reduce_sum(lax.square(wide), axes=axes)
    norm = lax.sqrt(lax.add(total, lax.full_like(total, eps)))
    output = lax.div(wide, _spread(norm, data.shape, axes))
    return output.astype(data.dtype), norm.astype(data.dtype)
