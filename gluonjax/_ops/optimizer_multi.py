"""Operators that update many weights in one call (``multi_sgd_update``), and helpers over many arrays.

Inputs are interleaved: weight, gradient, states, master copy of the first weight; then of the second; and
so on.
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
from gluonjax._ops import update_rules as rules
from gluonjax._ops.opdef import Attrs, check, operator, zero_grad

Updates = tuple[tuple[Array, ...], dict[int, Array]]
FLOAT32 = np.dtype(np.float32)


def numbered_outputs(count_attr: str) -> Callable[[Attrs], tuple[str, ...]]:
    return lambda attrs: tuple(f"output{i}" for i in range(attrs[count_attr] or 1))


def state_positions(stride: int, extra: int) -> Callable[[Attrs, int], tuple[int, ...]]:
    """Which inputs are rewritten.

    In each group of ``stride`` all but weight and gradient; ``extra`` ones follow.
    """

    def positions(attrs: Attrs, count: int) -> tuple[int, ...]:
        return tuple(i for i in range(count - extra) if i % stride >= 2)

    return positions


def groups(
    name: str, data: tuple[Array, ...], stride: int, extra: int, count: int | None
) -> list[tuple[Array, ...]]:
    """The interleaved inputs, one tuple per weight."""
    body = data[: len(data) - extra]
    wanted = len(body) // stride if count is None else count
    check(
        wanted > 0 and len(body) == wanted * stride,
        f"{name}: got {len(data)} arrays for {wanted} weights; wanted {stride} per weight"
        + (f" and {extra} after them" if extra else ""),
    )
    found = [body[i * stride : (i + 1) * stride] for i in range(wanted)]
    for number, (weight, grad, *states) in enumerate(found):
        shapes = [array.shape for array in (weight, grad, *states)]
        check(len(set(shapes)) == 1, f"{name}: the arrays of weight {number} have shapes {shapes}; they must agree")
        check(
            grad.dtype == weight.dtype, f"{name}: weight {number} has dtype {weight.dtype}, its gradient {grad.dtype}"
        )
    return found


def per_weight(name: str, what: str, values: Any, count: int) -> Any:
    check(
        len(values) == count, f"{name}: Number of {what} is {len(values)}, inconsistent with {count} weights"
    )
    return values


def update_all(
    formula: Callable[..., tuple[Array, ...]], batch: list[tuple[Array, ...]], scalars: list[dict[str, Any]],
    static: dict[str, Any], master: bool,
) -> Updates:  # fmt: skip
    """Apply a formula to every group."""
    new_weights: list[Array] = []
    updates: dict[int, Array] = {}
    stride = len(batch[0])
    for number, (group, values) in enumerate(zip(batch, scalars)):
        weight, grad, *states = group
        copy = states.pop() if master else None
        if weight.dtype == FLOAT32:
            copy = None  # a float32 weight is its own master copy
        new, new_states, new_master = rules.run_formula(formula, weight, grad, states, values, static, copy)
        new_weights.append(new)
        start = number * stride + 2
        updates.update(enumerate((*new_states, *(() if new_master is None else (new_master,))), start))
    return tuple(new_weights), updates


SGD_FORMS = (("", rules.sgd, 2, False), ("_mom", rules.sgd_momentum, 3, False),
             ("mp", rules.sgd, 3, True), ("mp_mom", rules.sgd_momentum, 4, True))  # fmt: skip


def _register_sgd(form: str, formula: Callable[..., tuple[Array, ...]], stride: int, master: bool) -> None:
    with_momentum = form.endswith("mom")
    middle = ("mp_" if master else "") + ("sgd_mom" if with_momentum else "sgd")
    name, preloaded_name = f"multi_{middle}_update", f"preloaded_multi_{middle}_update"

    def run(
        label: str, data: Any, extra: int, count: int | None, rates: Any, rest: dict[str, Any]
    ) -> Updates:
        batch = groups(label, data, stride, extra, count)
        lrs, wds = (value.reshape(-1) if extra else value for value in rates)
        scale = rest.pop("rescale_grad")
        per_weight(label, "learning rates", lrs, len(batch))
        per_weight(label, "weight decays", wds, len(batch))
        scalars = [dict(lr=lr, wd=wd, rescale_grad=scale) for lr, wd in zip(lrs, wds)]
        return update_all(formula, batch, scalars, rest, master)

    def settings(rescale_grad: Any, clip_gradient: float, momentum: float | None) -> dict[str, Any]:
        extra = {} if momentum is None else {"momentum": momentum}
        return dict(rescale_grad=rescale_grad, clip=clip_gradient, **extra)

    if with_momentum:

        def update(
            *data: Array, lrs: tuple[float, ...], wds: tuple[float, ...], momentum: float = 0.0,
            rescale_grad: Traced = 1.0, clip_gradient: float = -1.0, num_weights: int = 1,
        ) -> Updates:  # fmt: skip
            return run(
                name, data, 0, num_weights, (lrs, wds), settings(rescale_grad, clip_gradient, momentum)
            )

        def preloaded(
            *data: Array, momentum: float = 0.0, rescale_grad: Traced = 1.0, clip_gradient: float = -1.0,
            num_weights: int = 1,
        ) -> Updates:  # fmt: skip
            rest = settings(rescale_grad, clip_gradient, momentum)
            return run(preloaded_name, data, 2, num_weights, data[-2:], rest)
    else:

        def update(
            *data: Array, lrs: tuple[float, ...], wds: tuple[float, ...], rescale_grad: Traced = 1.0,
            clip_gradient: float = -1.0, num_weights: int = 1,
        ) -> Updates:  # fmt: skip
            return run(name, data, 0, num_weights, (lrs, wds), settings(rescale_grad, clip_gradient, None))

        def preloaded(
            *data: Array, rescale_grad: Traced = 1.0, clip_gradient: float = -1.0, num_weights: int = 1
        ) -> Updates:  # fmt: skip
            return run(
                preloaded_name, data, 2, num_weights, data[-2:], settings(rescale_grad, clip_gradient, None)
            )

    what = (
        "SGD" + (" with momentum" if with_momentum else "") + (" on float32 master copies" if master else "")
    )
    order = "weight, gradient" + (", momentum" if with_momentum else "") + (", master copy" if master else "")
    update.__doc__ = (
        f"One step of {what} for many weights.\n\nArgs:\n    data: {order} of each weight in turn.\n"
        "    lrs, wds: learning rate and decay of each weight.\n\nReturns:\n    The new weights."
    )
    preloaded.__doc__ = (
        f"One step of {what} for many weights, with rates on the device.\n\nArgs:\n"
        f"    data: {order} of each weight in turn, then the vectors of learning rates and decays.\n\n"
        "Returns:\n    The new weights."
    )
    common = dict(variadic="num_weights", outputs=numbered_outputs("num_weights"), grad=zero_grad)
    dtypes = "free" if master else "same"
    has_state = with_momentum or master
    mutates = state_positions(stride, 0) if has_state else None
    operator(name, dtypes=dtypes, mutates=mutates, **common)(update if has_state else _outputs_only(update))
    mutates = state_positions(stride, 2) if has_state else None
    operator(preloaded_name, dtypes="free", mutates=mutates, **common)(
        preloaded if has_state else _outputs_only(preloaded)
    )


def _outputs_only(function: Callable[..., Updates]) -> Callable[..., tuple[Array, ...]]:
    import functools

    @functools.wraps(function)
    def call(*data: Array, **keywords: Any) -> tuple[Array, ...]:
        return function(*data, **keywords)[0]

    return call


for _row in SGD_FORMS:
    _register_sgd(*_row)


def _adamw_all(name: str, data: tuple[Array, ...], master: bool, attrs: dict[str, Any]) -> Updates:
    batch = groups(name, data, 5 if master else 4, 1, attrs["num_weights"])
    scale = rules.first_number(data[-1])
    rates = [per_weight(name, what, attrs[what], len(batch)) for what in ("lrs", "wds", "etas")]
    scalars = [dict(lr=lr, wd=wd, eta=eta, rescale_grad=scale) for lr, wd, eta in zip(*rates)]
    static = dict(clip=attrs["clip_gradient"], **{n: attrs[n] for n in ("beta1", "beta2", "epsilon")})
    return update_all(rules.adamw, batch, scalars, static, master)


@operator("_multi_adamw_update", variadic="num_weights", outputs=numbered_outputs("num_weights"), dtypes="free",
          mutates=state_positions(4, 1), grad=zero_grad)  # fmt: skip
def multi_adamw_update(
    *data: Array, lrs: tuple[float, ...], beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8,
    wds: tuple[float, ...], etas: tuple[float, ...], clip_gradient: float = -1.0, num_weights: int = 1,
) -> Updates:  # fmt: skip
    """One step of AdamW for many weights.

    Args:
        data: weight, gradient, mean, variance of each weight in turn, then the gradients' scale (one number).
        lrs, wds, etas: learning rate, decay and step factor of each weight.

    Returns:
        The new weights.
    """
    return _adamw_all("_multi_adamw_update", data, False, dict(
        lrs=lrs, wds=wds, etas=etas, clip_gradient=clip_gradient, beta1=beta1, beta2=beta2, epsilon=epsilon,
        num_weights=num_weights))  # fmt: skip


@operator("_multi_mp_adamw_update", variadic="num_weights", outputs=numbered_outputs("num_weights"), dtypes="free",
          mutates=state_positions(5, 1), grad=zero_grad)  # fmt: skip
def multi_mp_adamw_update(
    *data: Array, lrs: tuple[float, ...], beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8,
    wds: tuple[float, ...], etas: tuple[float, ...], clip_gradient: float = -1.0, num_weights: int = 1,
) -> Updates:  # fmt: skip
    """One step of AdamW for many half-precision weights with float32 master copies.

    Args:
        data: weight, gradient, mean, variance, master copy of each weight in turn, then the gradients' scale.
        lrs, wds, etas: learning rate, decay and step factor of each weight.

    Returns:
        The new weights.
    """
    return _adamw_all("_multi_mp_adamw_update", data, True, dict(
        lrs=lrs, wds=wds, etas=etas, clip_gradient=clip_gradient, beta1=beta1, beta2=beta2, epsilon=epsilon,
        num_weights=num_weights))  # fmt: skip


def _lamb_all(name: str, data: tuple[Array, ...], master: bool, attrs: dict[str, Any]) -> Updates:
    batch = groups(name, data, 5 if master else 4, 0, attrs["num_tensors"])
    rates = [
        per_weight(name, what, attrs[what], len(batch)) for what in ("learning_rates", "wds", "step_count")
    ]
    scale = attrs["rescale_grad"]
    scalars = [dict(lr=lr, wd=wd, t=t, rescale_grad=scale) for lr, wd, t in zip(*rates)]
    kept = ("beta1", "beta2", "epsilon", "bias_correction", "lower_bound", "upper_bound")
    return update_all(
        rules.lamb, batch, scalars, dict(clip=attrs["clip_gradient"], **{n: attrs[n] for n in kept}), master
    )


@operator("_multi_lamb_update", variadic="num_tensors", outputs=numbered_outputs("num_tensors"),
          mutates=state_positions(4, 0), grad=zero_grad)  # fmt: skip
def multi_lamb_update(
    *data: Array, learning_rates: tuple[float, ...], beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-6,
    wds: tuple[float, ...], rescale_grad: Traced = 1.0, lower_bound: float = -1.0, upper_bound: float = -1.0,
    clip_gradient: float = -1.0, bias_correction: bool = True, step_count: tuple[int, ...], num_tensors: int = 1,
) -> Updates:  # fmt: skip
    """One step of LAMB for many weights.

    Args:
        data: weight, gradient, mean, variance of each weight in turn.
        learning_rates, wds, step_count: learning rate, decay and number of the step (from 1) of each weight.

    Returns:
        The new weights.
    """
    return _lamb_all("_multi_lamb_update", data, False, dict(
        learning_rates=learning_rates, wds=wds, step_count=step_count, rescale_grad=rescale_grad,
        clip_gradient=clip_gradient, beta1=beta1, beta2=beta2, epsilon=epsilon, bias_correction=bias_correction,
        lower_bound=lower_bound, upper_bound=upper_bound, num_tensors=num_tensors))  # fmt: skip


@operator("_multi_mp_lamb_update", variadic="num_tensors", outputs=numbered_outputs("num_tensors"), dtypes="free",
          mutates=state_positions(5, 0), grad=zero_grad)  # fmt: skip
def multi_mp_lamb_update(
    *data: Array, learning_rates: tuple[float, ...], beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-6,
    wds: tuple[float, ...], rescale_grad: Traced = 1.0, lower_bound: float = -1.0, upper_bound: float = -1.0,
    clip_gradient: float = -1.0, bias_correction: bool = True, step_count: tuple[int, ...], num_tensors: int = 1,
) -> Updates:  # fmt: skip
    """One step of LAMB for many half-precision weights with float32 master copies.

    Args:
        data: weight, gradient, mean, variance, master copy of each weight in turn.
        learning_rates, wds, step_count: learning rate, decay and number of the step (from 1) of each weight.

    Returns:
        The new weights.
    """
    return _lamb_all("_multi_mp_lamb_update", data, True, dict(
        learning_rates=learning_rates, wds=wds, step_count=step_count, rescale_grad=rescale_grad,
        clip_gradient=clip_gradient, beta1=beta1, beta2=beta2, epsilon=epsilon, bias_correction=bias_correction,
        lower_bound=lower_bound, upper_bound=upper_bound, num_tensors=num_tensors))  # fmt: skip


@operator("multi_sum_sq", variadic="num_arrays", grad=zero_grad)
def multi_sum_sq(*data: Array, num_arrays: int | None = None) -> Array:
    """The sum of squares of each array.

    Args:
        data: arrays of any shapes and of one floating type.

    Returns:
        float32 (number of arrays,).
    """
    check(
        jnp.issubdtype(data[0].dtype, jnp.floating),
        f"multi_sum_sq: This operation only support floating point types, not {data[0].dtype}",
    )
    return jnp.stack([jnp.sum(lax.square(array.astype(FLOAT32))) for array in data])


@operator("multi_lars", grad=zero_grad)
def multi_lars(
    lrs: Array, weights_sum_sq: Array, grads_sum_sq: Array, wds: Array, *, eta: float, eps: float,
    rescale_grad: Traced = 1.0,
) -> Array:  # fmt: skip
    """The learning rate of each layer under LARS.

    Args:
        lrs, weights_sum_sq, grads_sum_sq, wds: vectors with one number per layer.
        eta: LARS coefficient.
        eps: added to the denominator.

    Returns:
        Learning rates, like lrs.
    """
    shapes = [array.shape for array in (lrs, weights_sum_sq, grads_sum_sq, wds)]
    check(len(set(shapes)) == 1, f"multi_lars: all inputs must have one shape, got {shapes}")
    scale = lax.convert_element_type(rescale_grad, lrs.dtype)
    return rules.lars_rate(
        lrs, lax.sqrt(weights_sum_sq), lax.sqrt(grads_sum_sq), wds, scale, eta=eta, eps=eps
    )


@operator("reset_arrays", variadic="num_arrays", dtypes="free", outputs=(), grad=zero_grad,
          mutates=lambda attrs, count: tuple(range(count)))  # fmt: skip
def reset_arrays(*data: Array, num_arrays: int | None = None) -> Updates:
    """Set every array to zero, in place.

    Args:
        data: arrays of any shapes.

    Returns:
        Nothing: the inputs are rewritten.
    """
    return (), {i: lax.full_like(array, 0) for i, array in enumerate(data)}


__all__ = ["groups", "state_positions", "update_all"]
