"""The arithmetic of MXNet's update rules, written once: the operators and the optimizers both stand on it.

Every formula is ``formula(weight, grad, *states, lr, wd, rescale_grad, clip, ...) -> (new weight, *new states)``.
Arrays have one floating dtype; ``lr``, ``wd``, ``rescale_grad`` and other scalars that change per step are 0-d values
of that dtype; the rest (``clip`` and the coefficients) are Python floats. ``clip`` is None, or negative, for no
clipping.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._base.dtypes import BFLOAT16
from gluonjax._ops.opdef import check

Scalar = Any
HALF = (np.dtype(np.float16), BFLOAT16)


def single(value: float) -> float:
    """The number after a trip through float32, as MXNet's C++ parameters take.

    >>> single(0.999)
    0.9990000128746033
    """
    return float(np.float32(value))


def complement(value: float) -> float:
    """``1 - value`` in float32.

    For 0.999 it differs from 0.001 in the fifth digit, which shows in variances.
    """
    return float(np.float32(1) - np.float32(value))


def bounded(array: Array, limit: float | None) -> Array:
    """The array limited to [-limit, limit]; unchanged where there is no limit."""
    if limit is None or limit < 0:
        return array
    bound = np.asarray(limit, array.dtype)
    return lax.clamp(-bound, array, bound)


def first_number(array: Array) -> Array:
    """The first element, 0-d: MXNet reads one number, whatever the array's shape."""
    check(array.size > 0, f"a factor is one number in an array, got shape {array.shape}")
    return lax.reshape(array if array.size == 1 else lax.slice(lax.reshape(array, (array.size,)), (0,), (1,)), ())


def working_dtype(*dtypes: Any) -> np.dtype:
    """The dtype to compute in: half precisions accumulate in float32."""
    widest = np.dtype(jnp.result_type(*dtypes))
    return np.dtype(np.float32) if widest in HALF else widest


def run_formula(
    formula: Callable[..., tuple[Array, ...]],
    weight: Array,
    grad: Array,
    states: Sequence[Array],
    scalars: Mapping[str, Scalar],
    static: Mapping[str, Any],
    master: Array | None = None,
) -> tuple[Array, tuple[Array, ...], Array | None]:
    """Apply a formula in a good precision and give everything its own dtype back.

    Args:
        formula: see the module's text.
        weight, grad, states: arrays of one shape (states of some rules are smaller).
        scalars: values that change per step.
        static: Python values fixed at compile time.
        master: the float32 copy of a half-precision weight, which is then what the formula updates.

    Returns:
        New weight, new states, new master (None without one).
    """
    base = weight if master is None else master
    dtype = working_dtype(base.dtype, *(state.dtype for state in states))
    cast = {name: lax.convert_element_type(value, dtype) for name, value in scalars.items()}
    wide = [lax.convert_element_type(array, dtype) for array in (base, grad, *states)]
    new, *rest = formula(*wide, **cast, **static)
    new_states = tuple(lax.convert_element_type(a, s.dtype) for a, s in zip(rest, states))
    new_master = None if master is None else lax.convert_element_type(new, master.dtype)
    return lax.convert_element_type(new, weight.dtype), new_states, new_master


def sgd(
    weight: Array, grad: Array, *kept: Array, lr: Scalar, wd: Scalar, rescale_grad: Scalar, clip: float | None
) -> tuple[Array, ...]:
    """Plain descent; the decay shrinks the weight and is not clipped. States, if any, stay as they are."""
    return ((1 - lr * wd) * weight - lr * bounded(rescale_grad * grad, clip), *kept)


def sgd_momentum(
    weight: Array, grad: Array, mom: Array, *, lr: Scalar, wd: Scalar, rescale_grad: Scalar, clip: float | None,
    momentum: Scalar,
) -> tuple[Array, ...]:  # fmt: skip
    """Heavy ball.

    ``mom`` holds the last step, so it is subtracted from by the learning rate of its own time.
    """
    push = lr * wd * weight + lr * bounded(rescale_grad * grad, clip)
    mom = momentum * mom - push
    return weight + mom, mom


def nesterov(
    weight: Array, grad: Array, mom: Array, *, lr: Scalar, wd: Scalar, rescale_grad: Scalar, clip: float | None,
    momentum: float,
) -> tuple[Array, ...]:  # fmt: skip
    """Nesterov's look-ahead: the weight already stands one momentum step ahead.

    MXNet's kernel writes the weight first and then computes the momentum's decay from it, so in place (its use in
    the optimizer) the momentum holds the decay of the new weight.
    """
    momentum = single(momentum)
    carried = momentum * mom
    scaled = bounded(rescale_grad * grad, clip)
    new = weight - carried + (momentum + 1) * (carried - lr * (scaled + wd * weight))
    return new, carried - lr * (scaled + wd * new)


def sign_sgd(
    weight: Array, grad: Array, *, lr: Scalar, wd: Scalar, rescale_grad: Scalar, clip: float | None
) -> tuple[Array, ...]:
    """Steps of equal size.

    MXNet looks at the raw gradient's sign only: scaling and clipping do not matter.
    """
    return ((1 - lr * wd) * weight - lr * lax.sign(grad),)


def signum(
    weight: Array, grad: Array, mom: Array, *, lr: Scalar, wd: Scalar, rescale_grad: Scalar, clip: float | None,
    momentum: float, wd_lh: float,
) -> tuple[Array, ...]:  # fmt: skip
    """Steps in the direction of the momentum's sign; ``wd_lh`` is the decoupled decay."""
    share = complement(momentum)
    mom = single(momentum) * mom - share * (wd * weight + bounded(rescale_grad * grad, clip))
    return (1 - lr * single(wd_lh)) * weight + lr * lax.sign(mom), mom


def moments(grad: Array, mean: Array, var: Array, beta1: float, beta2: float) -> tuple[Array, Array]:
    """One step of both running averages that the Adam family keeps."""
    mean = single(beta1) * mean + complement(beta1) * grad
    var = single(beta2) * var + complement(beta2) * grad * grad
    return mean, var


def adam(
    weight: Array, grad: Array, mean: Array, var: Array, *, lr: Scalar, wd: Scalar, rescale_grad: Scalar,
    clip: float | None, beta1: float, beta2: float, epsilon: float,
) -> tuple[Array, ...]:  # fmt: skip
    """Adam without bias correction.

    The optimizer puts the correction into ``lr``. The decay is clipped too.
    """
    full = bounded(grad * rescale_grad + weight * wd, clip)
    mean, var = moments(full, mean, var, beta1, beta2)
    return weight - lr * mean / (lax.sqrt(var) + single(epsilon)), mean, var


def adamw(
    weight: Array, grad: Array, mean: Array, var: Array, *, lr: Scalar, wd: Scalar, eta: Scalar,
    rescale_grad: Scalar, clip: float | None, beta1: float, beta2: float, epsilon: float,
) -> tuple[Array, ...]:  # fmt: skip
    """Adam with decoupled decay. A scale that is 0, infinite or NaN skips the step (overflow under AMP)."""
    usable = lax.is_finite(rescale_grad) & (rescale_grad != 0)
    scaled = bounded(rescale_grad * grad, clip)
    new_mean, new_var = moments(scaled, mean, var, beta1, beta2)
    step = lr * new_mean / (lax.sqrt(new_var) + single(epsilon)) + wd * weight
    new = (weight - eta * step, new_mean, new_var)
    return tuple(
        lax.select(jnp.broadcast_to(usable, a.shape), a, b) for a, b in zip(new, (weight, mean, var))
    )


def ftml(
    weight: Array, grad: Array, d: Array, v: Array, z: Array, *, lr: Scalar, wd: Scalar, rescale_grad: Scalar,
    t: Scalar, clip: float | None, beta1: float, beta2: float, epsilon: float,
) -> tuple[Array, ...]:  # fmt: skip
    """Follow the moving leader."""
    one, two = (cast(Any, np.asarray(single(beta), weight.dtype)) for beta in (beta1, beta2))
    full = bounded(rescale_grad * grad + wd * weight, clip)
    v = two * v + complement(beta2) * full * full
    new_d = (1 - lax.pow(one, t)) / lr * (lax.sqrt(v / (1 - lax.pow(two, t))) + epsilon)
    z = one * z + complement(beta1) * full - (new_d - one * d) * weight
    return -z / new_d, new_d, v, z


def ftrl(
    weight: Array, grad: Array, z: Array, n: Array, *, lr: Scalar, wd: Scalar, rescale_grad: Scalar,
    clip: float | None, lamda1: float, beta: float,
) -> tuple[Array, ...]:  # fmt: skip
    """Follow the regularized leader; the L1 threshold makes exact zeros."""
    scaled = bounded(grad * rescale_grad, clip)
    square = scaled * scaled
    z = z + scaled - (lax.sqrt(n + square) - lax.sqrt(n)) * weight / lr
    n = n + square
    threshold = single(lamda1)
    moved = (lax.sign(z) * threshold - z) / ((single(beta) + lax.sqrt(n)) / lr + wd)
    return moved * (lax.abs(z) > threshold).astype(weight.dtype), z, n


def rmsprop(
    weight: Array, grad: Array, n: Array, *, lr: Scalar, wd: Scalar, rescale_grad: Scalar, clip: float | None,
    gamma1: float, epsilon: float, clip_weights: float | None,
) -> tuple[Array, ...]:  # fmt: skip
    """Hinton's RMSProp: steps divided by the running root mean square."""
    full = bounded(rescale_grad * grad + wd * weight, clip)
    n = complement(gamma1) * (full * full) + single(gamma1) * n
    return bounded(weight - lr * (full / lax.sqrt(n + single(epsilon))), clip_weights), n


def rmsprop_centered(
    weight: Array, grad: Array, n: Array, g: Array, delta: Array, *, lr: Scalar, wd: Scalar, rescale_grad: Scalar,
    clip: float | None, gamma1: float, gamma2: float, epsilon: float, clip_weights: float | None,
) -> tuple[Array, ...]:  # fmt: skip
    """Graves' RMSProp: the mean gradient is taken out of the second moment, and steps have momentum."""
    full = bounded(rescale_grad * grad + wd * weight, clip)
    n = complement(gamma1) * full * full + single(gamma1) * n
    g = complement(gamma1) * full + single(gamma1) * g
    delta = single(gamma2) * delta - lr * full / lax.sqrt(n - g * g + single(epsilon))
    return bounded(weight + delta, clip_weights), n, g, delta


def adagrad(
    weight: Array, grad: Array, history: Array, *, lr: Scalar, wd: Scalar, rescale_grad: Scalar,
    clip: float | None, epsilon: float,
) -> tuple[Array, ...]:  # fmt: skip
    """Steps divided by the root of the sum of squares; the decay is outside of the history."""
    scaled = bounded(grad * rescale_grad, clip)
    history = history + scaled * scaled
    return weight - lr * (scaled / lax.sqrt(history + epsilon) + weight * wd), history


def group_adagrad(
    weight: Array, grad: Array, history: Array, *, lr: Scalar, rescale_grad: Scalar, clip: float | None,
    epsilon: float,
) -> tuple[Array, ...]:  # fmt: skip
    """Adagrad with one number of history per row; ``history`` has shape (rows, 1)."""
    scaled = bounded(grad * rescale_grad, clip)
    history = history + jnp.mean(scaled * scaled, axis=1, keepdims=True)
    return weight - lr * scaled / lax.sqrt(history + epsilon), history


def lamb_direction(
    weight: Array, grad: Array, mean: Array, var: Array, *, t: Scalar, wd: Scalar, rescale_grad: Scalar,
    clip: float | None, beta1: float, beta2: float, epsilon: float, bias_correction: bool,
) -> tuple[Array, ...]:  # fmt: skip
    """The first half of LAMB: Adam's direction with decoupled decay."""
    mean, var = moments(bounded(grad * rescale_grad, clip), mean, var, beta1, beta2)
    top, bottom = mean, var
    if bias_correction:
        top = mean / (1 - lax.pow(np.asarray(single(beta1), weight.dtype), t))
        bottom = var / (1 - lax.pow(np.asarray(single(beta2), weight.dtype), t))
    return top / (lax.sqrt(bottom) + single(epsilon)) + wd * weight, mean, var


def lamb_step(
    weight: Array, direction: Array, weight_norm: Array, direction_norm: Array, *, lr: Scalar,
    lower_bound: float | None, upper_bound: float | None,
) -> tuple[Array, ...]:  # fmt: skip
    """The second half of LAMB.

    A step scaled by the ratio of norms (0-d, or shape (1,)); a zero norm means 1.
    """
    size, length = (first_number(norm) for norm in (weight_norm, direction_norm))
    if lower_bound is not None and lower_bound >= 0:
        size = lax.max(size, np.asarray(lower_bound, size.dtype))
    if upper_bound is not None and upper_bound >= 0:
        size = lax.min(size, np.asarray(upper_bound, size.dtype))
    none = (size == 0) | (length == 0)
    ratio = lax.select(
        none, lax.full_like(size, 1), size / lax.select(none, lax.full_like(length, 1), length)
    )
    return (weight - lr * ratio * direction,)


def lamb(
    weight: Array, grad: Array, mean: Array, var: Array, *, lr: Scalar, wd: Scalar, rescale_grad: Scalar, t: Scalar,
    lower_bound: float | None, upper_bound: float | None, **moment_settings: Any,
) -> tuple[Array, ...]:  # fmt: skip
    """Both halves of LAMB."""
    direction, mean, var = lamb_direction(
        weight, grad, mean, var, t=t, wd=wd, rescale_grad=rescale_grad, **moment_settings
    )
    (weight,) = lamb_step(
        weight,
        direction,
        norm(weight),
        norm(direction),
        lr=lr,
        lower_bound=lower_bound,
        upper_bound=upper_bound,
    )
    return weight, mean, var


def norm(array: Array) -> Array:
    """The Euclidean length, 0-d."""
    return lax.sqrt(jnp.sum(array * array))


def lars_rate(
    lr: Scalar,
    weight_norm: Array,
    grad_norm: Array,
    wd: Scalar,
    rescale_grad: Scalar,
    *,
    eta: float,
    eps: float,
) -> Array:
    """The layer's learning rate under LARS; ``lr`` itself where one of the norms is zero."""
    scale = grad_norm * rescale_grad + wd * weight_norm + single(eps)
    valid = (weight_norm > 0) & (grad_norm > 0)
    safe = lax.select(valid, scale, lax.full_like(scale, 1))
    lr = jnp.broadcast_to(lr, safe.shape)
    return lax.select(valid, lr * single(eta) * weight_norm / safe, lr)


def lars(
    weight: Array, grad: Array, *mom: Array, lr: Scalar, wd: Scalar, rescale_grad: Scalar, momentum: Scalar,
    adapt: Scalar, clip: float | None, eta: float, eps: float,
) -> tuple[Array, ...]:  # fmt: skip
    """Descent with the learning rate of ``lars_rate``.

    ``adapt`` is 0 for parameters that keep the plain rate.
    """
    layer = lars_rate(lr, norm(weight), norm(grad), wd, rescale_grad, eta=eta, eps=eps)
    lr = lax.select(adapt > 0, layer, lr)
    common = dict(lr=lr, wd=wd, rescale_grad=rescale_grad, clip=clip)
    return (
        sgd_momentum(weight, grad, *mom, momentum=momentum, **common) if mom else sgd(weight, grad, **common)
    )
