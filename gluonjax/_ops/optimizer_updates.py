"""Operators that update one weight: MXNet's ``sgd_update`` and its relatives.

The result is the new weight (users pass ``out=weight``); state inputs are rewritten. Half-precision arrays
are computed in float32 and rounded once at the end. ``mp_`` operators update a float32 master copy.
"""

from __future__ import annotations

# Annotations of parameters (Traced, Aux, DType) name kinds of attributes; the values are floats and arrays.
# pyright: reportArgumentType=false, reportOperatorIssue=false, reportAttributeAccessIssue=false
# pyright: reportReturnType=false, reportCallIssue=false, reportRedeclaration=false
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._base.attrs import Traced
from gluonjax._base.errors import OperatorError
from gluonjax._ops import update_rules as rules
from gluonjax._ops.opdef import Attrs, Aux, DtypeRule, check, operator, zero_grad
from gluonjax._ops.rules import check_floating

Updates = tuple[Array, dict[str, Array]]
FLOAT32 = np.dtype(np.float32)


def first_share(count: int) -> DtypeRule:
    """The first ``count`` inputs have one dtype, the others are float32 (master copies and their states)."""

    def rule(dtypes: dict[str, np.dtype | None], attrs: Attrs) -> dict[str, np.dtype | None]:
        names = list(dtypes)
        shared = next((dtypes[n] for n in names[:count] if dtypes[n] is not None), None)
        wanted = {n: shared if i < count else FLOAT32 for i, n in enumerate(names)}
        for name, dtype in dtypes.items():
            if dtype is not None and dtype != wanted[name]:
                raise OperatorError(f"'{name}' has dtype {dtype}, wanted {wanted[name]}; cast with .astype")
        return wanted

    return rule


def _check_shapes(weight: Array, **others: Array) -> None:
    for name, array in others.items():
        check(array.shape == weight.shape, f"weight has shape {weight.shape}, '{name}' {array.shape}; they must agree")


def _check_norms(**norms: Array) -> None:
    for name, norm in norms.items():
        check(norm.size > 0 and norm.shape[:1] in ((), (1,)), f"'{name}' is one number, got shape {norm.shape}")


def _step(
    formula: Callable[..., tuple[Array, ...]], weight: Array, grad: Array, states: dict[str, Array],
    scalars: dict[str, Any], master: Array | None = None, **static: Any,
) -> Updates:  # fmt: skip
    check(weight.shape == grad.shape, f"weight has shape {weight.shape}, grad {grad.shape}; they must agree")
    for name, state in states.items():
        rows = name == "history" and state.shape[1:] == (1,)
        check(state.shape == weight.shape or rows, f"weight has shape {weight.shape}, '{name}' {state.shape}")
    if master is not None:
        _check_shapes(weight, weight32=master)
    new, new_states, new_master = rules.run_formula(
        formula, weight, grad, tuple(states.values()), scalars, static, master
    )
    updates = dict(zip(states, new_states))
    if new_master is not None:
        updates["weight32"] = new_master
    return new, updates


@operator("sgd_update", aliases=("_sparse_sgd_update",), grad=zero_grad)
def sgd_update(
    weight: Array, grad: Array, *, lr: Traced, wd: Traced = 0.0, rescale_grad: Traced = 1.0,
    clip_gradient: float = -1.0, lazy_update: bool = True,
) -> Array:  # fmt: skip
    """Plain gradient descent with weight decay.

    Args:
        weight, grad: arrays of one shape.
        lr, wd, rescale_grad: learning rate, decay, factor of the gradient.
        clip_gradient: limit of the rescaled gradient; negative for none.

    Returns:
        The new weight.
    """
    scalars = dict(lr=lr, wd=wd, rescale_grad=rescale_grad)
    return _step(rules.sgd, weight, grad, {}, scalars, clip=clip_gradient)[0]


@operator("mp_sgd_update", dtypes=first_share(2), grad=zero_grad)
def mp_sgd_update(
    weight: Array, grad: Array, weight32: Aux, *, lr: Traced, wd: Traced = 0.0, rescale_grad: Traced = 1.0,
    clip_gradient: float = -1.0, lazy_update: bool = True,
) -> Updates:  # fmt: skip
    """Gradient descent on a float32 master copy.

    Args:
        weight, grad: half-precision arrays of one shape.
        weight32: the master copy.

    Returns:
        The new weight, rounded from the new master.
    """
    scalars = dict(lr=lr, wd=wd, rescale_grad=rescale_grad)
    return _step(rules.sgd, weight, grad, {}, scalars, master=weight32, clip=clip_gradient)


@operator("sgd_mom_update", aliases=("_sparse_sgd_mom_update",), grad=zero_grad)
def sgd_mom_update(
    weight: Array, grad: Array, mom: Aux, *, lr: Traced, momentum: float = 0.0, wd: Traced = 0.0,
    rescale_grad: Traced = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True,
) -> Updates:  # fmt: skip
    """Gradient descent with momentum.

    Args:
        weight, grad, mom: arrays of one shape; mom is the last step.

    Returns:
        The new weight.
    """
    scalars = dict(lr=lr, wd=wd, rescale_grad=rescale_grad)
    return _step(
        rules.sgd_momentum, weight, grad, {"mom": mom}, scalars, clip=clip_gradient, momentum=momentum
    )


@operator("mp_sgd_mom_update", dtypes=first_share(2), grad=zero_grad)
def mp_sgd_mom_update(
    weight: Array, grad: Array, mom: Aux, weight32: Aux, *, lr: Traced, momentum: float = 0.0, wd: Traced = 0.0,
    rescale_grad: Traced = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True,
) -> Updates:  # fmt: skip
    """Gradient descent with momentum on a float32 master copy.

    Args:
        weight, grad: half-precision arrays of one shape.
        mom, weight32: float32 momentum and master copy.

    Returns:
        The new weight, rounded from the new master.
    """
    return _step(rules.sgd_momentum, weight, grad, {"mom": mom}, dict(lr=lr, wd=wd, rescale_grad=rescale_grad),
                 master=weight32, clip=clip_gradient, momentum=momentum)  # fmt: skip


@operator("nag_mom_update", grad=zero_grad)
def nag_mom_update(
    weight: Array, grad: Array, mom: Aux, *, lr: Traced, momentum: float = 0.0, wd: Traced = 0.0,
    rescale_grad: Traced = 1.0, clip_gradient: float = -1.0,
) -> Updates:  # fmt: skip
    """Nesterov's accelerated gradient.

    Args:
        weight, grad, mom: arrays of one shape.

    Returns:
        The new weight.
    """
    scalars = dict(lr=lr, wd=wd, rescale_grad=rescale_grad)
    return _step(rules.nesterov, weight, grad, {"mom": mom}, scalars, clip=clip_gradient, momentum=momentum)


@operator("mp_nag_mom_update", dtypes=first_share(2), grad=zero_grad)
def mp_nag_mom_update(
    weight: Array, grad: Array, mom: Aux, weight32: Aux, *, lr: Traced, momentum: float = 0.0, wd: Traced = 0.0,
    rescale_grad: Traced = 1.0, clip_gradient: float = -1.0,
) -> Updates:  # fmt: skip
    """Nesterov's accelerated gradient on a float32 master copy.

    Args:
        weight, grad: half-precision arrays of one shape.
        mom, weight32: float32 momentum and master copy.

    Returns:
        The new weight, rounded from the new master.
    """
    return _step(rules.nesterov, weight, grad, {"mom": mom}, dict(lr=lr, wd=wd, rescale_grad=rescale_grad),
                 master=weight32, clip=clip_gradient, momentum=momentum)  # fmt: skip


@operator("signsgd_update", grad=zero_grad)
def signsgd_update(
    weight: Array, grad: Array, *, lr: Traced, wd: Traced = 0.0, rescale_grad: Traced = 1.0,
    clip_gradient: float = -1.0,
) -> Array:  # fmt: skip
    """Steps of equal size against the sign of the gradient.

    Args:
        weight, grad: arrays of one shape.

    Returns:
        The new weight.
    """
    scalars = dict(lr=lr, wd=wd, rescale_grad=rescale_grad)
    return _step(rules.sign_sgd, weight, grad, {}, scalars, clip=clip_gradient)[0]


@operator("signum_update", grad=zero_grad)
def signum_update(
    weight: Array, grad: Array, mom: Aux, *, lr: Traced, momentum: float = 0.0, wd: Traced = 0.0,
    rescale_grad: Traced = 1.0, clip_gradient: float = -1.0, wd_lh: float = 0.0,
) -> Updates:  # fmt: skip
    """Steps of equal size along the sign of the momentum.

    Args:
        weight, grad, mom: arrays of one shape.
        wd_lh: decay that does not pass through the momentum.

    Returns:
        The new weight.
    """
    return _step(rules.signum, weight, grad, {"mom": mom}, dict(lr=lr, wd=wd, rescale_grad=rescale_grad),
                 clip=clip_gradient, momentum=momentum, wd_lh=wd_lh)  # fmt: skip


@operator("adam_update", aliases=("_sparse_adam_update",), grad=zero_grad)
def adam_update(
    weight: Array, grad: Array, mean: Aux, var: Aux, *, lr: Traced, beta1: float = 0.9, beta2: float = 0.999,
    epsilon: float = 1e-8, wd: Traced = 0.0, rescale_grad: Traced = 1.0, clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> Updates:  # fmt: skip
    """Adam without bias correction (put it into lr).

    Args:
        weight, grad, mean, var: arrays of one shape.

    Returns:
        The new weight.
    """
    return _step(rules.adam, weight, grad, {"mean": mean, "var": var}, dict(lr=lr, wd=wd, rescale_grad=rescale_grad),
                 clip=clip_gradient, beta1=beta1, beta2=beta2, epsilon=epsilon)  # fmt: skip


@operator("_adamw_update", dtypes=first_share(4), grad=zero_grad)
def adamw_update(
    weight: Array, grad: Array, mean: Aux, var: Aux, rescale_grad: Array, *, lr: Traced, beta1: float = 0.9,
    beta2: float = 0.999, epsilon: float = 1e-8, wd: Traced = 0.0, eta: Traced, clip_gradient: float = -1.0,
) -> Updates:  # fmt: skip
    """Adam with decoupled weight decay; does nothing where rescale_grad is 0, infinite or NaN.

    Args:
        weight, grad, mean, var: arrays of one shape.
        rescale_grad: one number as an array, so that the loss scale of AMP may stay on the device.
        eta: factor of the whole step.

    Returns:
        The new weight.
    """
    scalars = dict(lr=lr, wd=wd, eta=eta, rescale_grad=rules.first_number(rescale_grad))
    return _step(rules.adamw, weight, grad, {"mean": mean, "var": var}, scalars,
                 clip=clip_gradient, beta1=beta1, beta2=beta2, epsilon=epsilon)  # fmt: skip


@operator("_mp_adamw_update", dtypes=first_share(2), grad=zero_grad)
def mp_adamw_update(
    weight: Array, grad: Array, mean: Aux, var: Aux, weight32: Aux, rescale_grad: Array, *, lr: Traced,
    beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8, wd: Traced = 0.0, eta: Traced,
    clip_gradient: float = -1.0,
) -> Updates:  # fmt: skip
    """Adam with decoupled weight decay on a float32 master copy.

    Args:
        weight, grad: half-precision arrays of one shape.
        mean, var, weight32: float32 arrays.
        rescale_grad: one number as an array.

    Returns:
        The new weight, rounded from the new master.
    """
    scalars = dict(lr=lr, wd=wd, eta=eta, rescale_grad=rules.first_number(rescale_grad))
    return _step(rules.adamw, weight, grad, {"mean": mean, "var": var}, scalars, master=weight32,
                 clip=clip_gradient, beta1=beta1, beta2=beta2, epsilon=epsilon)  # fmt: skip


@operator("ftml_update", grad=zero_grad)
def ftml_update(
    weight: Array, grad: Array, d: Aux, v: Aux, z: Aux, *, lr: Traced, beta1: float = 0.6, beta2: float = 0.999,
    epsilon: float = 1e-8, t: Traced, wd: Traced = 0.0, rescale_grad: Traced = 1.0, clip_grad: float = -1.0,
) -> Updates:  # fmt: skip
    """Follow the moving leader.

    Args:
        weight, grad, d, v, z: arrays of one shape.
        t: the number of the step, from 1.

    Returns:
        The new weight.
    """
    return _step(rules.ftml, weight, grad, {"d": d, "v": v, "z": z},
                 dict(lr=lr, wd=wd, rescale_grad=rescale_grad, t=t), clip=clip_grad, beta1=beta1, beta2=beta2,
                 epsilon=epsilon)  # fmt: skip


@operator("ftrl_update", aliases=("_sparse_ftrl_update",), grad=zero_grad)
def ftrl_update(
    weight: Array, grad: Array, z: Aux, n: Aux, *, lr: Traced, lamda1: float = 0.01, beta: float = 1.0,
    wd: Traced = 0.0, rescale_grad: Traced = 1.0, clip_gradient: float = -1.0,
) -> Updates:  # fmt: skip
    """Follow the regularized leader.

    Args:
        weight, grad, z, n: arrays of one shape.
        lamda1: L1 strength; coordinates below it become exactly zero.

    Returns:
        The new weight.
    """
    return _step(rules.ftrl, weight, grad, {"z": z, "n": n}, dict(lr=lr, wd=wd, rescale_grad=rescale_grad),
                 clip=clip_gradient, lamda1=lamda1, beta=beta)  # fmt: skip


@operator("rmsprop_update", grad=zero_grad)
def rmsprop_update(
    weight: Array, grad: Array, n: Aux, *, lr: Traced, gamma1: float = 0.95, epsilon: float = 1e-8, wd: Traced = 0.0,
    rescale_grad: Traced = 1.0, clip_gradient: float = -1.0, clip_weights: float = -1.0,
) -> Updates:  # fmt: skip
    """RMSProp as in Hinton's lecture.

    Args:
        weight, grad, n: arrays of one shape.
        clip_weights: limit of the new weight; negative for none.

    Returns:
        The new weight.
    """
    return _step(rules.rmsprop, weight, grad, {"n": n}, dict(lr=lr, wd=wd, rescale_grad=rescale_grad),
                 clip=clip_gradient, gamma1=gamma1, epsilon=epsilon, clip_weights=clip_weights)  # fmt: skip


@operator("rmspropalex_update", grad=zero_grad)
def rmspropalex_update(
    weight: Array, grad: Array, n: Aux, g: Aux, delta: Aux, *, lr: Traced, gamma1: float = 0.95, gamma2: float = 0.9,
    epsilon: float = 1e-8, wd: Traced = 0.0, rescale_grad: Traced = 1.0, clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
) -> Updates:  # fmt: skip
    """RMSProp centered and with momentum, as by Graves.

    Args:
        weight, grad, n, g, delta: arrays of one shape.

    Returns:
        The new weight.
    """
    return _step(rules.rmsprop_centered, weight, grad, {"n": n, "g": g, "delta": delta},
                 dict(lr=lr, wd=wd, rescale_grad=rescale_grad), clip=clip_gradient, gamma1=gamma1, gamma2=gamma2,
                 epsilon=epsilon, clip_weights=clip_weights)  # fmt: skip


@operator("_sparse_adagrad_update", grad=zero_grad)
def sparse_adagrad_update(
    weight: Array, grad: Array, history: Aux, *, lr: Traced, epsilon: float = 1e-7, wd: Traced = 0.0,
    rescale_grad: Traced = 1.0, clip_gradient: float = -1.0,
) -> Updates:  # fmt: skip
    """Adagrad; MXNet has the operator for row-sparse gradients only, here dense ones are taken too.

    Args:
        weight, grad, history: arrays of one shape.

    Returns:
        The new weight.
    """
    return _step(rules.adagrad, weight, grad, {"history": history}, dict(lr=lr, wd=wd, rescale_grad=rescale_grad),
                 clip=clip_gradient, epsilon=rules.single(epsilon))  # fmt: skip


@operator("_contrib_group_adagrad_update", grad=zero_grad)
def group_adagrad_update(
    weight: Array, grad: Array, history: Aux, *, lr: Traced, rescale_grad: Traced = 1.0, clip_gradient: float = -1.0,
    epsilon: float = 1e-5,
) -> Updates:  # fmt: skip
    """Adagrad with one number of history per row.

    Args:
        weight, grad: (rows, columns).
        history: (rows, 1).

    Returns:
        The new weight.
    """
    return _step(rules.group_adagrad, weight, grad, {"history": history}, dict(lr=lr, rescale_grad=rescale_grad),
                 clip=clip_gradient, epsilon=rules.single(epsilon))  # fmt: skip


def _lamb_phase1(
    weight: Array,
    base: Array,
    grad: Array,
    mean: Array,
    var: Array,
    scalars: dict[str, Any],
    out_dtype: np.dtype,
    **static: Any,
) -> Updates:
    _check_shapes(weight, grad=grad, mean=mean, var=var, weight32=base)
    dtype = rules.working_dtype(base.dtype)
    cast = {name: lax.convert_element_type(value, dtype) for name, value in scalars.items()}
    wide = [lax.convert_element_type(a, dtype) for a in (base, grad, mean, var)]
    direction, new_mean, new_var = rules.lamb_direction(*wide, **cast, **static)
    return direction.astype(out_dtype), {
        "mean": new_mean.astype(mean.dtype),
        "var": new_var.astype(var.dtype),
    }


@operator("lamb_update_phase1", grad=zero_grad)
def lamb_update_phase1(
    weight: Array, grad: Array, mean: Aux, var: Aux, *, beta1: float = 0.9, beta2: float = 0.999,
    epsilon: float = 1e-6, t: Traced, bias_correction: bool = True, wd: Traced, rescale_grad: Traced = 1.0,
    clip_gradient: float = -1.0,
) -> Updates:  # fmt: skip
    """The direction of a LAMB step.

    Args:
        weight, grad, mean, var: arrays of one shape.
        t: the number of the step, from 1.

    Returns:
        The direction, to be given to lamb_update_phase2.
    """
    return _lamb_phase1(weight, weight, grad, mean, var, dict(t=t, wd=wd, rescale_grad=rescale_grad), weight.dtype,
                        clip=clip_gradient, beta1=beta1, beta2=beta2, epsilon=epsilon,
                        bias_correction=bias_correction)  # fmt: skip


@operator("mp_lamb_update_phase1", dtypes=first_share(2), grad=zero_grad)
def mp_lamb_update_phase1(
    weight: Array, grad: Array, mean: Aux, var: Aux, weight32: Array, *, beta1: float = 0.9, beta2: float = 0.999,
    epsilon: float = 1e-6, t: Traced, bias_correction: bool = True, wd: Traced, rescale_grad: Traced = 1.0,
    clip_gradient: float = -1.0,
) -> Updates:  # fmt: skip
    """The direction of a LAMB step, from a float32 master copy.

    Args:
        weight, grad: half-precision arrays of one shape.
        mean, var, weight32: float32 arrays.

    Returns:
        The float32 direction, to be given to mp_lamb_update_phase2.
    """
    return _lamb_phase1(weight, weight32, grad, mean, var, dict(t=t, wd=wd, rescale_grad=rescale_grad), FLOAT32,
                        clip=clip_gradient, beta1=beta1, beta2=beta2, epsilon=epsilon,
                        bias_correction=bias_correction)  # fmt: skip


@operator("lamb_update_phase2", grad=zero_grad)
def lamb_update_phase2(
    weight: Array,
    g: Array,
    r1: Array,
    r2: Array,
    *,
    lr: Traced,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
) -> Array:
    """A LAMB step along a direction.

    Args:
        weight, g: weight and direction, of one shape.
        r1, r2: norms of weight and direction, one number each.
        lower_bound, upper_bound: limits of r1; negative for none.

    Returns:
        The new weight.
    """
    _check_shapes(weight, g=g)
    _check_norms(r1=r1, r2=r2)
    check_floating("lamb_update_phase2", weight)
    dtype = rules.working_dtype(weight.dtype)
    wide = [lax.convert_element_type(a, dtype) for a in (weight, g, r1, r2)]
    (new,) = rules.lamb_step(*wide, lr=lax.convert_element_type(lr, dtype), lower_bound=lower_bound,
                             upper_bound=upper_bound)  # fmt: skip
    return new.astype(weight.dtype)


@operator("mp_lamb_update_phase2", dtypes=first_share(1), grad=zero_grad)
def mp_lamb_update_phase2(
    weight: Array, g: Array, r1: Array, r2: Array, weight32: Aux, *, lr: Traced, lower_bound: float = -1.0,
    upper_bound: float = -1.0,
) -> Updates:  # fmt: skip
    """A LAMB step on a float32 master copy.

    Args:
        weight: half-precision array.
        g, weight32: float32 direction and master copy.
        r1, r2: norms of master copy and direction, one number each.

    Returns:
        The new weight, rounded from the new master.
    """
    _check_shapes(weight, g=g, weight32=weight32)
    _check_norms(r1=r1, r2=r2)
    (new,) = rules.lamb_step(weight32, g, r1, r2, lr=lax.convert_element_type(lr, FLOAT32),
                             lower_bound=lower_bound, upper_bound=upper_bound)  # fmt: skip
    return jnp.asarray(new, weight.dtype), {"weight32": new}
