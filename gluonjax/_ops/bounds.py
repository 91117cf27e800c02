"""Which values of attributes MXNet 1.9.1 allows, where its definitions name bounds; ``OpDef.parse`` checks them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gluonjax._base.errors import OperatorError
from gluonjax._base.scopes import modes

# (least, greatest); None where there is no bound.
Bounds = tuple[float | None, float | None]

_AT_LEAST_0: Bounds = (0, None)
_AT_LEAST_1: Bounds = (1, None)
_FRACTION: Bounds = (0, 1)

_CONVOLUTION: Mapping[str, Bounds] = {"num_filter": _AT_LEAST_1}
_REGIONS: Mapping[str, Bounds] = {"spatial_scale": _FRACTION}
_FACTORS: Mapping[str, Bounds] = {"min_factor": _AT_LEAST_0, "max_factor": _AT_LEAST_0}
_TABLE: Mapping[str, Bounds] = {"input_dim": _AT_LEAST_1, "output_dim": _AT_LEAST_1}

BOUNDS: Mapping[str, Mapping[str, Bounds]] = {
    **dict.fromkeys(
        ("Convolution", "Convolution_v1", "Deconvolution", "_contrib_DeformableConvolution",
         "_contrib_ModulatedDeformableConvolution"), _CONVOLUTION
    ),
    **dict.fromkeys(("ROIPooling", "_contrib_ROIAlign", "_contrib_RROIAlign", "_contrib_PSROIPooling"), _REGIONS),
    "_contrib_DeformablePSROIPooling": {"spatial_scale": _FRACTION, "trans_std": _FRACTION},
    "FullyConnected": {"num_hidden": _AT_LEAST_1},
    "Dropout": {"p": _FRACTION},
    "RNN": {"p": _FRACTION},
    "SoftmaxOutput": {"smooth_alpha": _FRACTION},
    "UpSampling": {"scale": _AT_LEAST_1},
    "SliceChannel": {"num_outputs": _AT_LEAST_1},
    "IdentityAttachKLSparseReg": {"sparseness_target": _FRACTION, "momentum": _FRACTION},
    "_contrib_BilinearResize2D": {"height": _AT_LEAST_1, "width": _AT_LEAST_1},
    **dict.fromkeys(("Embedding", "_contrib_SparseEmbedding"), _TABLE),
    **dict.fromkeys(
        ("_image_random_brightness", "_image_random_contrast", "_image_random_saturation", "_image_random_hue"),
        _FACTORS,
    ),
    "ftml_update": {"beta1": _FRACTION, "beta2": _FRACTION},
}  # fmt: skip

# Sizes that must not be 0 in any place, not even in one that is not used.
_WINDOWS = ("kernel", "stride")
_NO_ZERO: Mapping[str, tuple[str, ...]] = {"Pooling": _WINDOWS, "Pooling_v1": _WINDOWS}

# Counts that must not be 0: outside of NumPy mode 0 is a size that nobody knows. (Test: _ops samples of tile.)
_EMPTY_COUNTS: Mapping[str, str] = {"tile": "reps"}
BOUNDED = frozenset((*BOUNDS, *_NO_ZERO, *_EMPTY_COUNTS))


def check_bounds(op: str, attrs: Mapping[str, Any], where: str = "") -> None:
    """Raise OperatorError for an attribute whose value is out of bounds."""
    for name, (least, greatest) in BOUNDS.get(op, {}).items():
        value = attrs.get(name)
        if value is None or not isinstance(value, (int, float)):
            continue
        if (least is not None and value < least) or (greatest is not None and value > greatest):
            limit = f"exceed bound [{least},{greatest}]" if greatest is not None else (
                f"should be greater equal to {least}"
            )  # fmt: skip
            raise OperatorError(f"{op}: value {value} for Parameter {name} {limit}{where}")
    for name in _NO_ZERO.get(op, ()):
        if 0 in (attrs[name] or ()):
            raise OperatorError(
                f"{op}: value {attrs[name]} for Parameter {name} is invalid, the input shape must be nonzero in all "
                f"dimensions{where}"
            )
    name = _EMPTY_COUNTS.get(op)
    if name is not None and not modes.np_shape and 0 in attrs[name]:
        raise OperatorError(
            f"{op}: {name}={attrs[name]} gives an array without elements, which outside of NumPy mode "
            f"(gluonjax.util.np_shape) is a shape that is not known{where}"
        )
