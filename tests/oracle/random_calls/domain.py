"""Inputs for which 1.9.1 reads memory that is not the array's: its answers are chance and say nothing.

gluonjax must survive such a call; what it answers is not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gluonjax._ops import registry
from tests.samples._sample import Sample

Inside = Callable[[Sequence[np.ndarray], dict], bool]


def _between(values: np.ndarray, low: float, high: float) -> bool:
    """Whether all are in ``[low, high)``."""
    values = values.astype(np.float64)
    return bool(((values >= low) & (values < high)).all())


def _regions(inputs: Sequence[np.ndarray], attrs: dict) -> bool:
    """Rows (image number, box): the image exists, the box is a box of reasonable numbers."""
    data, rois = inputs[:2]
    return rois.ndim == 2 and _between(rois[:, 0], 0, max(data.shape[0], 1)) and bool(
        (np.abs(rois.astype(np.float64)) < 1e6).all()
    )  # fmt: skip


def _ctc(inputs: Sequence[np.ndarray], attrs: dict) -> bool:
    data, label = inputs[:2]
    lengths = [x for x in inputs[2:]]
    longest = (data.shape[0], label.shape[-1])
    return (
        data.ndim == 3
        # A -1 ends a label only where the blank is the last class.
        and _between(label, 0 if attrs.get("blank_label", "first") == "first" else -1, data.shape[2])
        and all(_between(x, 1, 1 + max(longest)) for x in lengths)
        and _ctc_lengths(inputs, attrs)
        and _without_blank(inputs, attrs)
    )


def _ctc_lengths(inputs: Sequence[np.ndarray], attrs: dict) -> bool:
    data, label = inputs[:2]
    rest = list(inputs[2:])
    if str(attrs.get("use_data_lengths", False)) == "True" and rest and not _between(rest.pop(0), 1, data.shape[0] + 1):
        return False
    return not rest or _between(rest[0], 0, label.shape[-1] + 1)


def _without_blank(inputs: Sequence[np.ndarray], attrs: dict) -> bool:
    """No label within the given lengths is the blank."""
    data, label, length = inputs[0], inputs[1], inputs[-1]
    first = attrs.get("blank_label", "first") == "first"
    blank = 0 if first else data.shape[2] - 1
    if str(attrs.get("use_label_lengths", False)) != "True" or label.ndim != 2 or length.shape != label.shape[:1]:
        return first or not (label == blank).any()
    return all((row[: int(count)] != blank).all() for row, count in zip(label, length))


def _hawkes(inputs: Sequence[np.ndarray], attrs: dict) -> bool:
    mu, lags, marks, valid = inputs[0], inputs[4], inputs[5], inputs[6]
    return _between(valid, 0, lags.shape[-1] + 1) and _between(marks, 0, mu.shape[-1])


def _finite_second(inputs: Sequence[np.ndarray], attrs: dict) -> bool:
    return all(bool((np.abs(x.astype(np.float64)) < 1e9).all()) for x in inputs[1:2])


def _finite_first(inputs: Sequence[np.ndarray], attrs: dict) -> bool:
    return bool((np.abs(inputs[0].astype(np.float64)) < 1e9).all())


def _lengths(inputs: Sequence[np.ndarray], attrs: dict) -> bool:
    axis = int(attrs.get("axis", 0))
    return len(inputs) < 2 or axis not in (0, 1) or _between(inputs[1], 1, inputs[0].shape[axis] + 1)


def _softmax_lengths(inputs: Sequence[np.ndarray], attrs: dict) -> bool:
    """Lengths of rows reach from nothing to the whole axis."""
    if str(attrs.get("use_length", False)) != "True" or len(inputs) < 2 or not inputs[0].ndim:
        return True
    axis = int(attrs.get("axis", -1))
    return not -inputs[0].ndim <= axis < inputs[0].ndim or _between(inputs[1], 0, inputs[0].shape[axis] + 1)


def _classes(inputs: Sequence[np.ndarray], attrs: dict) -> bool:
    return inputs[0].ndim == 2 and _between(inputs[1], 0, inputs[0].shape[1])


def _rows(inputs: Sequence[np.ndarray], attrs: dict) -> bool:
    """Rows that exist, none of them twice."""
    return _between(inputs[1], 0, inputs[0].shape[0]) and len(np.unique(inputs[1])) == inputs[1].size


def _matrix_first(inputs: Sequence[np.ndarray], attrs: dict) -> bool:
    return inputs[0].ndim == 2 and _finite_second(inputs, attrs)


# Operators -> whether the inputs are ones for which MXNet's answer means something.
INSIDE: dict[str, Inside] = {
    **dict.fromkeys(
        ("ROIPooling", "_contrib_ROIAlign", "_contrib_RROIAlign", "_contrib_PSROIPooling",
         "_contrib_DeformablePSROIPooling"), _regions
    ),
    "CTCLoss": _ctc,
    "_contrib_hawkesll": _hawkes,
    # Positions that are not finite become whatever the processor's conversion gives.
    **dict.fromkeys(
        ("Embedding", "_contrib_SparseEmbedding", "one_hot", "_unravel_index", "_ravel_multi_index"), _finite_first
    ),
    **dict.fromkeys(("softmax", "log_softmax", "softmin"), _softmax_lengths),
    "softmax_cross_entropy": _classes,
    "_contrib_index_copy": _rows,
    "batch_take": _matrix_first,
    **dict.fromkeys(("take", "pick", "gather_nd", "BilinearSampler"), _finite_second),
    **dict.fromkeys(("SequenceMask", "SequenceLast", "SequenceReverse"), _lengths),
}  # fmt: skip


def inside(sample: Sample) -> bool:
    """Whether MXNet's answer to a call means something."""
    test = INSIDE.get(registry.get(sample.op).name)
    try:
        return test is None or test(sample.inputs, sample.attrs)
    except IndexError:
        return True
