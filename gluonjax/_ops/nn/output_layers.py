"""Layers that end a symbolic network: the output is a prediction, the gradient is that of a loss.

They ignore the gradient that arrives from above (``SoftmaxOutput`` can be asked to multiply it in).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import jax.numpy as jnp
from jax import Array, lax

from gluonjax._base.dtypes import is_floating
from gluonjax._ops.nn.softmax import stable_softmax
from gluonjax._ops.opdef import Attrs, Aux, Shape, check, operator
from gluonjax._ops.rules import product


def _as_integer(label: Array) -> Array:
    """Truncated, as by MXNet's cast, which makes the least number of a NaN: no class."""
    whole = lax.convert_element_type(label, jnp.int32)
    if not is_floating(label.dtype):
        return whole
    return lax.select(lax.ne(label, label), lax.full_like(whole, jnp.iinfo(jnp.int32).min), whole)


def _is_class(label: Array, scores_shape: tuple[int, ...], axis: int) -> Array:
    """Whether each score belongs to the labelled class; ``label`` lacks the class axis."""
    rest = tuple(i for i in range(len(scores_shape)) if i != axis)
    chosen = lax.broadcast_in_dim(_as_integer(label), scores_shape, rest)
    return lax.eq(lax.broadcasted_iota(jnp.int32, scores_shape, axis), chosen)


def _softmax_label_shapes(known: dict[str, Shape | None], attrs: Attrs) -> dict[str, Shape]:
    data = known.get("data")
    if data is None or len(data) < 1:
        return {}
    if attrs.multi_output and len(data) > 1:
        return {"label": (data[0], product(data[2:]))}
    return {"label": data[:-1]}


def _folded(shape: tuple[int, ...], attrs: Any) -> tuple[tuple[int, ...], int]:
    """The shape in which the softmax runs, and its class axis there."""
    if attrs["multi_output"]:
        return (shape[0], shape[1], product(shape[2:])), 1
    if attrs["preserve_shape"]:
        return (product(shape[:-1]), shape[-1]), 1
    return (shape[0], product(shape[1:])), 1


def _softmax_gradient(inputs: Any, outputs: Any, head: Any, attrs: Attrs) -> dict[str, Array]:
    output, label = outputs.output, inputs.label
    if not output.size:
        return {"data": lax.full_like(output, 0)}
    if label.shape == output.shape:  # probabilities as labels: none of the other options applies
        gradient = (output - label) * attrs.grad_scale
        return {"data": gradient * head.output if attrs.out_grad else gradient}
    shape, axis = _folded(output.shape, attrs)
    scores = lax.reshape(output, shape)
    flat = lax.reshape(label, (label.size,))
    # Without multi_output or preserve_shape MXNet reads one label for each example, whatever label's shape.
    used = lax.reshape(label, (shape[0], shape[2])) if attrs.multi_output else flat[: shape[0]]
    target = _is_class(used, shape, axis)
    alpha = 0.0 if attrs.multi_output else attrs.smooth_alpha
    # MXNet divides by the number of other classes, also where there is none.
    others = alpha / (shape[axis] - 1) if shape[axis] > 1 else math.inf if alpha else 0.0
    gradient = scores - lax.select(
        target, lax.full(shape, 1 - alpha, scores.dtype), lax.full(shape, others, scores.dtype)
    )
    ignored = lax.eq(_as_integer(used), jnp.int32(int(attrs.ignore_label)))
    if attrs.use_ignore:
        rest = tuple(i for i in range(len(shape)) if i != axis)
        gradient = lax.select(
            lax.broadcast_in_dim(ignored, shape, rest), lax.full_like(gradient, 0), gradient
        )
    scale: Any = attrs.grad_scale
    if attrs.multi_output and attrs.normalization != "valid":
        scale = scale / max(shape[2], 1)  # MXNet divides by the number of positions here
    if attrs.normalization == "batch":
        scale = scale / max(shape[0] if attrs.multi_output else label.size, 1)
    elif attrs.normalization == "valid":
        every = lax.eq(_as_integer(flat), jnp.int32(int(attrs.ignore_label)))
        count = label.size - lax.reduce_sum(lax.convert_element_type(every, jnp.int32), axes=(0,))
        scale = scale / lax.convert_element_type(lax.max(count, lax.full_like(count, 1)), scores.dtype)
    gradient = lax.reshape(gradient * scale, output.shape)
    return {"data": gradient * head.output if attrs.out_grad else gradient}


@operator("SoftmaxOutput", aliases=("Softmax",), grad=_softmax_gradient, param_shapes=_softmax_label_shapes)
def softmax_output(
    data: Array, label: Array, *, grad_scale: float = 1.0, ignore_label: float = -1.0,
    multi_output: bool = False,
    use_ignore: bool = False, preserve_shape: bool = False,
    normalization: Literal["batch", "null", "valid"] = "null", out_grad: bool = False,
    smooth_alpha: float = 0.0,
) -> Array:  # fmt: skip
    """Softmax whose gradient is that of the cross entropy with the label, whatever comes from above.

    Args:
        data: ``(batch, ...)`` scores. The softmax runs over everything but the batch; with ``multi_output``
            over axis 1, with ``preserve_shape`` over the last axis.
        label: class indices, one for each softmax, or probabilities in the shape of ``data``.
        ignore_label: with ``use_ignore``, positions with this label have no gradient.
        normalization: divide the gradient by the batch size, by the number of labels not ignored, or not at
            all.
        out_grad: multiply the gradient that arrives from above in.
        smooth_alpha: probability that the gradient moves from the labelled class to all others.

    Returns:
        Probabilities in the shape of ``data``.
    """
    attrs = {"multi_output": multi_output, "preserve_shape": preserve_shape}
    check(
        0 <= smooth_alpha <= 1,
        f"SoftmaxOutput: value {smooth_alpha} for Parameter smooth_alpha exceed bound [0,1]",
    )
    check(data.ndim >= (2 if multi_output else 1), f"SoftmaxOutput: data {data.shape} has too few dimensions")
    if label.shape != data.shape:
        wanted = [data.shape[:-1]]
        if multi_output:
            rest = data.shape[2:]
            wanted = [(data.shape[0], product(rest)), (data.shape[0], *rest), (data.shape[0], 1, *rest)]
        check(
            label.shape in wanted,
            f"SoftmaxOutput: Shape inconsistent, Provided = {list(label.shape)}, inferred "
            f"shape={list(wanted[0])} for "
            f"the label of data {data.shape}: one class for each softmax, or probabilities like data",
        )
    shape, axis = _folded(data.shape, attrs)
    scores = data if shape == data.shape else lax.reshape(data, shape)
    if data.dtype.itemsize < 4:
        scores = lax.convert_element_type(scores, jnp.float32)
    result = stable_softmax(scores, axis)
    if result.dtype != data.dtype:
        result = lax.convert_element_type(result, data.dtype)
    return result if shape == data.shape else lax.reshape(result, data.shape)


def _regression_label_shapes(known: dict[str, Shape | None], attrs: Attrs) -> dict[str, Shape]:
    data = known.get("data")
    if not data:
        return {}
    # A column of predictions goes with a vector of labels.
    return {"label": data[:1] if len(data) == 2 and data[1] == 1 else data}


def _regression(
    name: str,
    aliases: tuple[str, ...],
    predict: Callable[[Array], Array],
    slope: Callable[[Array], Array],
    doc: str,
) -> None:
    """Register one regression output: ``predict`` makes the output, ``slope`` the gradient from (output - label)."""

    def gradient(inputs: Any, outputs: Any, head: Any, attrs: Attrs) -> dict[str, Array]:
        output = outputs.output
        label = lax.reshape(inputs.label, output.shape)
        # MXNet divides by the number of outputs of one example, not by the batch size.
        per_example = max(output.size // max(inputs.label.shape[0], 1), 1)
        return {"data": slope(output - label) * (attrs.grad_scale / per_example)}

    def function(data: Array, label: Array, *, grad_scale: float = 1.0) -> Array:
        check(
            label.size == data.size and label.shape[:1] == data.shape[:1],
            f"{name}: Shape inconsistent, Provided={list(label.shape)}, inferred shape={list(data.shape)} for the "
            "label: it needs the shape of data, or as many numbers for each example",
        )
        return predict(data)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    operator(name, aliases=aliases, grad=gradient, param_shapes=_regression_label_shapes)(function)


def _sign_without_zero(difference: Array) -> Array:
    """1 where positive, otherwise -1: MXNet counts an exact prediction as too low."""
    one = lax.full_like(difference, 1)
    return lax.select(lax.gt(difference, lax.full_like(difference, 0)), one, lax.neg(one))


_ARGS = """

Args:
    data: ``(batch, ...)`` predictions.
    label: the same shape; for one output per example also ``(batch,)``.

Returns:
    An array like ``data``. The gradient that arrives from above is ignored; the own one is divided by the
    number of outputs of an example.
"""

_regression(
    "LinearRegressionOutput", ("_sparse_LinearRegressionOutput",), lambda x: x, lambda difference: difference,
    "Pass the data on; the gradient is that of half the squared error." + _ARGS,
)  # fmt: skip
_regression(
    "MAERegressionOutput", ("_sparse_MAERegressionOutput",), lambda x: x, _sign_without_zero,
    "Pass the data on; the gradient is that of the absolute error." + _ARGS,
)  # fmt: skip
_regression(
    "LogisticRegressionOutput", ("_sparse_LogisticRegressionOutput",), lax.logistic, lambda difference: difference,
    "Sigmoid of the data; the gradient is that of the logistic loss." + _ARGS,
)  # fmt: skip


def _svm_gradient(inputs: Any, outputs: Any, head: Any, attrs: Attrs) -> dict[str, Array]:
    scores = inputs.data
    sign = lax.select(
        _is_class(inputs.label, scores.shape, scores.ndim - 1), -jnp.ones_like(scores), jnp.ones_like(scores)
    )
    # For the true class the score should exceed the margin, for the others stay below its negative.
    missing = attrs.margin + sign * scores
    violated = lax.gt(missing, lax.full_like(missing, 0))
    size = lax.full_like(missing, 1) if attrs.use_linear else 2 * missing
    gradient = lax.select(violated, sign * size * attrs.regularization_coefficient, lax.full_like(missing, 0))
    return {"data": gradient}


def _one_label_per_row(known: dict[str, Shape | None], attrs: Attrs) -> dict[str, Shape]:
    data = known.get("data")
    return {} if not data else {"label": data[:-1]}


@operator("SVMOutput", grad=_svm_gradient, param_shapes=_one_label_per_row)
def svm_output(
    data: Array, label: Array, *,
    margin: float = 1.0, regularization_coefficient: float = 1.0, use_linear: bool = False,
) -> Array:  # fmt: skip
    """Pass scores on; the gradient is that of a one-against-all hinge loss, whatever comes from above.

    Args:
        data: ``(batch, classes)`` scores.
        label: ``(batch,)`` class indices.
        use_linear: the hinge itself (L1-SVM) in place of its square (L2-SVM).

    Returns:
        ``data``.
    """
    wanted = data.shape[:-1]
    check(
        label.shape == wanted,
        f"SVMOutput: Shape inconsistent, Provided = {list(label.shape)}, inferred shape={list(wanted)} "
        "for the label",
    )
    return data


def _make_loss_gradient(inputs: Any, outputs: Any, head: Any, attrs: Attrs) -> dict[str, Array]:
    data = inputs.data
    scale: Any = attrs.grad_scale
    if attrs.normalization == "batch":
        # MXNet looks at all but the last axis as the batch, and at a vector as one example.
        scale = scale / max(math.prod(data.shape[:-1]), 1)
    elif attrs.normalization == "valid":
        above = lax.gt(data, lax.full_like(data, attrs.valid_thresh))
        count = lax.reduce_sum(lax.convert_element_type(above, jnp.float32), axes=tuple(range(data.ndim)))
        scale = lax.convert_element_type(scale / lax.max(count, jnp.float32(1)), data.dtype)
    return {"data": jnp.ones_like(data) * scale}


@operator("MakeLoss", grad=_make_loss_gradient)
def make_loss(
    data: Array, *, grad_scale: float = 1.0, valid_thresh: float = 0.0,
    normalization: Literal["batch", "null", "valid"] = "null",
) -> Array:  # fmt: skip
    """Mark an expression as the loss: its gradient is ``grad_scale``, whatever comes from above.

    Args:
        data: the loss, any shape.
        normalization: divide by the batch size (the product of all sizes but the last), by the number of elements
            above ``valid_thresh``, or not at all.

    Returns:
        ``data``.
    """
    return data


def _new_average(data: Array, moving: Array, momentum: float) -> Array:
    columns = lax.reshape(data, (data.shape[0], data.shape[1], product(data.shape[2:])))
    average = jnp.mean(columns, axis=(0, 2), dtype=moving.dtype)
    return momentum * moving + (1 - momentum) * average


def _sparse_gradient(inputs: Any, outputs: Any, head: Any, attrs: Attrs) -> dict[str, Array]:
    data, target = inputs.data, attrs.sparseness_target
    average = _new_average(data, inputs.moving_avg, attrs.momentum)
    push = attrs.penalty * ((1 - target) / (1 - average) - target / average)
    return {"data": head.output + lax.broadcast_in_dim(push.astype(data.dtype), data.shape, (1,))}


@operator(
    "IdentityAttachKLSparseReg",
    grad=_sparse_gradient,
    param_shapes=lambda known, attrs: {"moving_avg": data[1:2]} if (data := known.get("data")) else {},
    variable_attrs={"moving_avg": {"__init__": '["zero", {}]'}},
    unlisted=("moving_avg",),
)
def identity_attach_kl_sparse_reg(
    data: Array, moving_avg: Aux, *,
    sparseness_target: float = 0.1, penalty: float = 0.001, momentum: float = 0.9, train: bool,
) -> tuple[Array, dict[str, Array]]:  # fmt: skip
    """Pass the data on; add to the gradient a push of the mean activation of each unit towards a target.

    Args:
        data: ``(batch, units, ...)``, activations of a sigmoid.
        moving_avg: ``(units,)``, the moving average of activations.

    Returns:
        ``data``.
    """
    check(data.ndim >= 2, f"IdentityAttachKLSparseReg: data needs (batch, units, ...), got {data.shape}")
    check(
        moving_avg.shape == data.shape[1:2],
        f"IdentityAttachKLSparseReg: moving_avg needs one number for each unit of data {data.shape}, got "
        f"{moving_avg.shape}",
    )
    if not train:
        return data, {}
    return data, {"moving_avg": lax.stop_gradient(_new_average(data, moving_avg, momentum))}
