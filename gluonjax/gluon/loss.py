"""Losses: one value for each sample of a batch."""

from __future__ import annotations

import math
from typing import Any

from gluonjax.gluon._errors import ArgumentError, ArgumentTypeError
from gluonjax.gluon.block import HybridBlock

TINY = 1e-12


class Loss(HybridBlock):
    """Base class of losses.

    Args:
        weight: a number that every loss is multiplied with, or None.
        batch_axis: the axis of the samples; the loss is averaged over all other axes.
    """

    def __init__(self, weight: float | None, batch_axis: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._weight = weight
        self._batch_axis = batch_axis

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"

    def _weigh(self, F: Any, loss: Any, sample_weight: Any, weight: float | None = None) -> Any:
        """Apply the weights of samples and the loss's own (or ``weight`` in its place)."""
        if sample_weight is not None:
            loss = F.broadcast_mul(loss, sample_weight)
        weight = self._weight if weight is None else weight
        if weight is None:
            return loss
        if not isinstance(weight, (int, float)):
            raise ArgumentTypeError(
                f"{type(self).__name__}: weight must be a number, got {type(weight).__name__}"
            )
        return loss * weight

    def _average(self, F: Any, loss: Any, sample_weight: Any, weight: float | None = None) -> Any:
        """Weigh the loss and average over all axes but the batch's."""
        return F.mean(self._weigh(F, loss, sample_weight, weight), axis=self._batch_axis, exclude=True)


def _log_one_plus_exp(F: Any, x: Any) -> Any:
    return F.Activation(x, act_type="softrelu")


class L2Loss(Loss):
    """Half the squared difference, averaged.

    >>> from gluonjax import nd
    >>> L2Loss()(nd.array([[1.0, 3.0]]), nd.array([[1.0, 1.0]])).asnumpy().tolist()
    [1.0]
    """

    def __init__(self, weight: float | None = 1.0, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        difference = F.reshape_like(label, pred) - pred
        return self._average(
            F, F.square(difference), sample_weight, (1.0 if self._weight is None else self._weight) / 2
        )


class L1Loss(Loss):
    """The absolute difference, averaged."""

    def __init__(self, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        return self._average(F, F.abs(F.reshape_like(label, pred) - pred), sample_weight)


class SigmoidBinaryCrossEntropyLoss(Loss):
    """Cross entropy of independent yes-or-no labels.

    Args:
        from_sigmoid: the prediction is a probability already; False applies the sigmoid inside, which is stabler.
        weight, batch_axis: see Loss.
    """

    def __init__(
        self, from_sigmoid: bool = False, weight: float | None = None, batch_axis: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_sigmoid = from_sigmoid

    def hybrid_forward(
        self, F: Any, pred: Any, label: Any, sample_weight: Any = None, pos_weight: Any = None
    ) -> Any:
        label = F.reshape_like(label, pred)
        if self._from_sigmoid:
            positive = F.log(pred + TINY) * label
            if pos_weight is not None:
                positive = F.broadcast_mul(positive, pos_weight)
            loss = -(positive + F.log(1.0 - pred + TINY) * (1.0 - label))
        else:
            # log(1 + exp(-|x|)) never overflows; the rest of the logarithm is linear.
            tail = _log_one_plus_exp(F, -F.abs(pred))
            if pos_weight is None:
                loss = F.relu(pred) - pred * label + tail
            else:
                factor = 1 + F.broadcast_mul(pos_weight - 1, label)
                loss = pred - pred * label + factor * (tail + F.relu(-pred))
        return self._average(F, loss, sample_weight)


SigmoidBCELoss = SigmoidBinaryCrossEntropyLoss


class SoftmaxCrossEntropyLoss(Loss):
    """Softmax and cross entropy.

    Args:
        axis: the axis of the classes.
        sparse_label: labels are class numbers; False: they are distributions of the prediction's shape.
        from_logits: the prediction holds logarithms of probabilities already.
        weight, batch_axis: see Loss.
    """

    def __init__(
        self, axis: int = -1, sparse_label: bool = True, from_logits: bool = False, weight: float | None = None,
        batch_axis: int = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(weight, batch_axis, **kwargs)
        self._axis = axis
        self._sparse_label = sparse_label
        self._from_logits = from_logits

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        if self._sparse_label:
            loss = -F.pick(pred, label, axis=self._axis, keepdims=True)
        else:
            loss = -F.sum(pred * F.reshape_like(label, pred), axis=self._axis, keepdims=True)
        return self._average(F, loss, sample_weight)


SoftmaxCELoss = SoftmaxCrossEntropyLoss


class KLDivLoss(Loss):
    """Kullback-Leibler divergence of the prediction from the label, both distributions.

    Args:
        from_logits: the prediction holds logarithms of probabilities; False applies a softmax.
        axis: the axis of that softmax.
        weight, batch_axis: see Loss.
    """

    def __init__(
        self, from_logits: bool = True, axis: int = -1, weight: float | None = None, batch_axis: int = 0,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._axis = axis

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        loss = label * (F.log(label + TINY) - pred)
        return F.sum(self._weigh(F, loss, sample_weight), axis=self._batch_axis, exclude=True)


class CTCLoss(Loss):
    """Connectionist temporal classification: sequences against shorter label sequences; the last class is blank.

    Args:
        layout: axes of the prediction, ``'NTC'`` or ``'TNC'``.
        label_layout: axes of the labels, ``'NT'`` or ``'TN'``.
        weight: see Loss.
    """

    def __init__(
        self, layout: str = "NTC", label_layout: str = "NT", weight: float | None = None, **kwargs: Any
    ) -> None:
        kinds = (("pred", layout, ("NTC", "TNC")), ("label", label_layout, ("NT", "TN")))
        for what, given, accepted in kinds:
            if given not in accepted:
                raise ArgumentError(
                    f"Only {accepted[0]!r} and {accepted[1]!r} layouts for {what} are supported. Got: {given}"
                )
        self._layout = layout
        self._label_layout = label_layout
        super().__init__(weight, label_layout.find("N"), **kwargs)

    def hybrid_forward(
        self, F: Any, pred: Any, label: Any, pred_lengths: Any = None, label_lengths: Any = None,
        sample_weight: Any = None,
    ) -> Any:  # fmt: skip
        if self._layout == "NTC":
            pred = F.swapaxes(pred, 0, 1)
        if self._batch_axis == 1:
            label = F.swapaxes(label, 0, 1)
        lengths = {"data_lengths": pred_lengths, "label_lengths": label_lengths}
        given = {name: value for name, value in lengths.items() if value is not None}
        switches = {f"use_{name}": value is not None for name, value in lengths.items()}
        return self._weigh(F, F.CTCLoss(pred, label, **given, **switches, blank_label="last"), sample_weight)


class HuberLoss(Loss):
    """Squared for differences up to ``rho``, linear beyond."""

    def __init__(
        self, rho: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._rho = rho

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        distance = F.abs(F.reshape_like(label, pred) - pred)
        linear, squared = distance - 0.5 * self._rho, (0.5 / self._rho) * F.square(distance)
        return self._average(F, F.where(distance > self._rho, linear, squared), sample_weight)


class HingeLoss(Loss):
    """``max(0, margin - pred * label)`` for labels -1 and 1."""

    def __init__(
        self, margin: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        return self._average(F, F.relu(self._margin - pred * F.reshape_like(label, pred)), sample_weight)


class SquaredHingeLoss(Loss):
    """``max(0, margin - pred * label) ** 2`` for labels -1 and 1."""

    def __init__(
        self, margin: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        hinge = F.relu(self._margin - pred * F.reshape_like(label, pred))
        return self._average(F, F.square(hinge), sample_weight)


class LogisticLoss(Loss):
    """``log(1 + exp(-pred * label))``.

    Args:
        label_format: ``'signed'`` for labels -1 and 1, ``'binary'`` for 0 and 1.
        weight, batch_axis: see Loss.
    """

    def __init__(
        self, weight: float | None = None, batch_axis: int = 0, label_format: str = "signed", **kwargs: Any
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        if label_format not in ("signed", "binary"):
            raise ArgumentError(f"label_format can only be signed or binary, recieved {label_format}.")
        self._label_format = label_format

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        label = F.reshape_like(label, pred)
        if self._label_format == "signed":
            label = (label + 1.0) / 2.0
        loss = F.relu(pred) - pred * label + _log_one_plus_exp(F, -F.abs(pred))
        return self._average(F, loss, sample_weight)


class TripletLoss(Loss):
    """How much nearer the prediction is to the negative than to the positive example, plus a margin."""

    def __init__(
        self, margin: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Any, pred: Any, positive: Any, negative: Any) -> Any:
        near = F.square(F.reshape_like(positive, pred) - pred)
        far = F.square(F.reshape_like(negative, pred) - pred)
        gap = F.sum(near - far, axis=self._batch_axis, exclude=True)
        return self._weigh(F, F.relu(gap + self._margin), None)


class PoissonNLLLoss(Loss):
    """Negative log likelihood of counts; one number for the whole batch.

    Args:
        from_logits: the prediction is the logarithm of the rate.
        compute_full: add Stirling's approximation of the constant term.
        weight, batch_axis: see Loss.
    """

    def __init__(
        self, weight: float | None = None, from_logits: bool = True, batch_axis: int = 0,
        compute_full: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._compute_full = compute_full

    def hybrid_forward(
        self, F: Any, pred: Any, target: Any, sample_weight: Any = None, epsilon: float = 1e-08
    ) -> Any:
        target = F.reshape_like(target, pred)
        loss = F.exp(pred) - target * pred if self._from_logits else pred - target * F.log(pred + epsilon)
        if self._compute_full:
            stirling = target * F.log(target) - target + 0.5 * F.log(2 * target * math.pi)
            loss = loss + stirling * (target > 1)
        return F.mean(self._weigh(F, loss, sample_weight))


class CosineEmbeddingLoss(Loss):
    """Cosine distance for pairs labelled 1, cosine similarity beyond a margin for pairs labelled -1."""

    def __init__(
        self, weight: float | None = None, batch_axis: int = 0, margin: float = 0, **kwargs: Any
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Any, input1: Any, input2: Any, label: Any, sample_weight: Any = None) -> Any:
        input1 = F.reshape_like(input1, input2)
        label = F.reshape(label, shape=(-1, 1))

        def column(values: Any) -> Any:
            return F.reshape(values, shape=(-1, 1))

        lengths = column(F.norm(input1, axis=-1)) * column(F.norm(input2, axis=-1))
        cosine = column(F.sum(input1 * input2, axis=-1)) / F.maximum(lengths, TINY)
        alike = (1 - cosine) * (label == 1)
        unlike = F.relu((label == -1) * (cosine - self._margin))
        return self._weigh(F, alike + unlike, sample_weight)


class SDMLLoss(Loss):
    """Smoothed deep metric learning: row ``i`` of one batch should be nearest to row ``i`` of the other.

    Args:
        smoothing_parameter: how much of the label's mass goes to the other rows.
        weight, batch_axis: see Loss.
    """

    def __init__(
        self, smoothing_parameter: float = 0.3, weight: float | None = 1.0, batch_axis: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self.kl_loss = KLDivLoss(from_logits=True)
        self.smoothing_parameter = smoothing_parameter

    def hybrid_forward(self, F: Any, x1: Any, x2: Any) -> Any:
        difference = F.broadcast_sub(F.expand_dims(x1, axis=1), F.expand_dims(x2, axis=0))
        log_probability = F.log_softmax(-F.sum(F.square(difference), axis=2), axis=1)
        row = F.contrib.arange_like(x1, axis=0)
        same = F.broadcast_equal(F.expand_dims(row, axis=1), F.expand_dims(row, axis=0))
        others = F.sum(1 - same, axis=1, keepdims=True)
        labels = same * (1 - self.smoothing_parameter) + F.broadcast_div(
            (1 - same) * self.smoothing_parameter, others
        )
        return self.kl_loss(log_probability, labels)


__all__ = [
    "CTCLoss", "CosineEmbeddingLoss", "HingeLoss", "HuberLoss", "KLDivLoss", "L1Loss", "L2Loss", "LogisticLoss",
    "Loss", "PoissonNLLLoss", "SDMLLoss", "SigmoidBCELoss", "SigmoidBinaryCrossEntropyLoss", "SoftmaxCELoss",
    "SoftmaxCrossEntropyLoss", "SquaredHingeLoss", "TripletLoss",
]  # fmt: skip
