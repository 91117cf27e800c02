"""Differences from 1.9.1 that are meant: what ``gluonjax/_ops/DIFFERENCES.md`` lists, as rules over verdicts."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gluonjax._ops import registry
from tests.samples._sample import Sample

Condition = Callable[[Sample], bool]


def whole(sample: Sample) -> bool:
    """The inputs hold whole numbers (one at least)."""
    return any(array.dtype.kind in "iub" for array in sample.inputs)


def special(sample: Sample) -> bool:
    """An input has a NaN, an infinity or a number that overflows when multiplied."""
    with np.errstate(all="ignore"):
        return any(not (np.abs(a.astype(np.float64)) < 1e15).all() for a in sample.inputs if a.size)


def empty(sample: Sample) -> bool:
    """An input has no elements."""
    return any(array.size == 0 for array in sample.inputs)


def half(sample: Sample) -> bool:
    """An input is float16."""
    return any(array.dtype == np.float16 for array in sample.inputs)


def ties(sample: Sample) -> bool:
    """Some elements are equal."""
    return len(np.unique(sample.inputs[0])) < sample.inputs[0].size


def inner(sample: Sample) -> bool:
    """More than two dimensions."""
    return sample.inputs[0].ndim > 2


def negative(sample: Sample) -> bool:
    """The second input, the indices, holds a negative number."""
    return bool((sample.inputs[1] < 0).any())


def by_zero(sample: Sample) -> bool:
    """A product times 0, a softmax at temperature 0."""
    return 0 in (sample.attrs.get("alpha"), sample.attrs.get("temperature"))


def gray(sample: Sample) -> bool:
    """A picture of one channel."""
    return sample.inputs[0].shape[-1] == 1


@dataclass(frozen=True)
class Known:
    """A rule: which verdicts on which operators have which reason.

    Args:
        reason: why gluonjax differs; a heading or line of DIFFERENCES.md.
        kinds: verdicts that it explains.
        op: regular expression on the operator's own name.
        text: regular expression that the explanation holds.
        where: what holds for the call.
    """

    reason: str
    kinds: tuple[str, ...]
    op: str = ".*"
    text: str = ""
    where: Condition | None = None

    def explains(self, sample: Sample, kind: str, text: str) -> bool:
        """Whether the rule covers a verdict."""
        return (
            kind in self.kinds
            and re.fullmatch(self.op, registry.get(sample.op).name) is not None
            and re.search(self.text, text) is not None
            and (self.where is None or self.where(sample))
        )


LENIENT, STRICT, WRONG = ("lenient",), ("strict",), ("wrong",)

KNOWN: tuple[Known, ...] = (
    Known("more dtypes", LENIENT, text=(
        "only support|does not support|DTypes are not supported|"
        "type_flag|default_type_flag|[dD]ata type|Unsupported data|FP16 gemm|kFloat32"
        "|Unsupported type \\d|inferred type|Invalid Input: 'u?int|Not implmented|Type inconsistent"
    )),
    Known("unused inputs are allowed", LENIENT, text="num_inputs == infered_num_inputs"),
    Known("whole numbers written as floats", LENIENT, text="expect int but value='-?[0-9.]+'"),
    Known("failing gradients that have an answer", LENIENT, op="sort|topk", text="_backward_topk"),
    Known("negative axes", LENIENT, op="_np_cumsum|_contrib_boolean_mask|transpose", text="axis|index = "),
    Known("empty arrays", LENIENT, where=empty),
    Known("empty results", LENIENT, text="inferring shapes failed|Diagonal does not exist"),
    Known("use_length=None means False", LENIENT, op="(log_)?softmax|softmin", text="bad optional access"),
    Known("arguments of 1.9.1's Embedding", LENIENT, op="_contrib_SparseEmbedding", text="sparse_grad"),
    Known("counts of inputs are filled in", LENIENT, text="Required parameter num_"),
    Known("attributes that global pooling does not use", LENIENT, op="Pooling.*", text="Parameter stride"),
    Known("the first number of an array", LENIENT, op=".*lamb_update_phase2|.*adamw_update"),
    Known("eigenvalues of numbers that are not finite are not finite", LENIENT, op="_linalg_syevd", where=special),
    Known("axes that have the wanted size already", LENIENT, op="broadcast_like", text="cannot be broadcasted"),
    Known("LRN of any rank", LENIENT, op="LRN", text="dim == ndim|local size"),
    Known("labels and picture sizes are not inspected", LENIENT, op="_contrib_MultiBoxTarget|_contrib_Proposal"),
    Known("inputs that do not fit are refused where 1.9.1 reads past their ends", STRICT, op=(
        "_contrib_index_array|_contrib_interleaved_.*|transpose|reverse|Correlation|_contrib_PSROIPooling|"
        "_contrib_DeformablePSROIPooling|BatchNorm.*|_image_crop|IdentityAttachKLSparseReg|_contrib_MultiBox(Target|Detection)|_split_v2|_linalg_.*|SpatialTransformer|Crop|slice_like|Pooling_v1|.*adamw_update|_contrib_calibrate_entropy"
    )),
    Known("products of empty arrays whose inner sizes differ", STRICT, op="dot", where=empty),
    Known("sizes of 0 are refused", STRICT, op="_contrib_AdaptiveAvgPooling2D|SpatialTransformer"),
    Known("formulas of floating point refuse whole numbers", STRICT, where=whole),
    Known("whole numbers: divisions by zero give 0, results that are not finite the nearest number", WRONG,
          where=whole, op=(
        "reciprocal|smooth_l1|rcbrt|rsqrt|gamma|gammaln|log.*|_hypot.*|broadcast_hypot|_r?div_scalar|_r?mod_scalar|erfinv|arc.*|"
        ".*_div|.*_mod|.*power.*|_DivScalar|expm1|exp|sinh|cosh|tan"
    )),
    Known("numbers that are not finite take other ways through a formula", WRONG, where=special),
    Known("the gradient of gammaln at its poles is infinite", WRONG, op="gammaln|_random_pdf_(gamma|beta|dirichlet)",
          text="grad[0-2]: .*inf"),
    Known("edges that do not increase", WRONG, op="_histogram"),
    Known("a target of one line or column has no step", WRONG, op="SpatialTransformer", text="grad"),
    Known("boxes without area", WRONG, op="_contrib_box_encode"),
    Known("sections=-1 is no number of sections", WRONG, op="_split_v2"),
    Known("the mean of no pixels is 0", WRONG, op="_contrib_AdaptiveAvgPooling2D", where=empty),
    Known("arange of float16", WRONG, op="_contrib_arange_like", where=half),
    Known("updates of float16 compute in float32", WRONG, op=".*_update", where=half),
    Known("a factor or temperature of 0", WRONG, op="_linalg_tr[sm]m|(log_)?softmax|softmin", where=by_zero),
    Known("norms of whole numbers", WRONG, op="norm", where=whole),
    Known("gradients at negative indices", WRONG, op="gather_nd", text="grad0", where=negative),
    Known("pictures of one channel are written", WRONG, op="_image_(adjust|random)_lighting", where=gray),
    Known("order of equal elements", WRONG, op="sort|argsort|topk", where=ties),
    Known("gradients of products with a zero are exact", WRONG, op="prod|nanprod", text="grad0"),
    Known("the gradient of 0 ** y is 0", WRONG, op="_power|broadcast_power|_rpower_scalar|elemwise_power", text="grad"),
    Known("SoftmaxActivation of inner axes has its gradient", WRONG, op="SoftmaxActivation", where=inner),
    Known("SoftmaxOutput(out_grad=True) multiplies the head gradient in", WRONG, op="SoftmaxOutput", text="grad"),
    Known("indices of any rank are unravelled", WRONG, op="_unravel_index"),
    Known("determinants of empty matrices are 1, gradients at singular ones exact", WRONG, op="_linalg_(slog)?det"),
    Known("eigenvectors of equal eigenvalues are not unique", WRONG, op="_linalg_syevd"),
    Known("init_output=False starts from 1, not from what the memory held", WRONG, op="(multi_)?all_finite"),
    Known("OpenCV's rounding: at most 1", WRONG, op="_image_resize"),
    Known("flips move the middle line too", WRONG, op="_image_flip_.*"),
    Known("one-sided derivatives at whole positions", WRONG, op="_contrib_.*Deformable.*", text="grad1"),
    Known("empty arrays keep their dtype", WRONG, op="fill_element_0index", where=empty),
)  # fmt: skip


def reason_for(sample: Sample, kind: str, text: str) -> str | None:
    """The reason of the first rule that covers a verdict, or None."""
    return next((rule.reason for rule in KNOWN if rule.explains(sample, kind, text)), None)
