"""Differences from 1.9.1 that are meant: what ``gluonjax/_ops/DIFFERENCES.md`` lists, as rules over verdicts."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gluonjax._ops import registry
from tests.oracle.random_calls.compare import Difference
from tests.oracle.random_calls.conditions import (
    as_many_channels,
    below,
    below_zero,
    between,
    beyond,
    by_zero,
    cooled,
    cropping,
    cut_scalar,
    disordered,
    dropping,
    edge,
    empty,
    empty_and_double,
    equal_eigenvalues,
    fixed,
    flat_boxes,
    fractional_half_steps,
    from_the_end,
    gives_no_proposals,
    gives_nothing,
    gray,
    half,
    infinite,
    inner,
    many_channels,
    middle_layers,
    narrow,
    narrow_and_not_a_number,
    negative,
    no_bins,
    no_pixel,
    no_sections,
    no_whole_number,
    not_a_matrix,
    not_a_number,
    not_single,
    odd_middle,
    one_line,
    other_masters,
    ours_zero,
    outside_of_range,
    pools_everything,
    predicting,
    reflecting_volume,
    rising,
    selu,
    singular,
    skipped_update,
    special,
    starts_whole,
    takes_head,
    theirs_not_finite,
    theirs_zero,
    ties,
    unbounded,
    unstarted,
    whole,
    whole_positions,
    wide_range,
    within_one,
    without_labels,
)
from tests.samples._sample import Sample

Condition = Callable[[Sample], bool]
Comparison = Callable[[Sample, np.ndarray, np.ndarray], bool]


@dataclass(frozen=True)
class Known:
    """A rule: which verdicts on which operators have which reason.

    Args:
        reason: why gluonjax differs; a heading or line of DIFFERENCES.md.
        kinds: verdicts that it explains.
        op: regular expression on the operator's own name.
        text: regular expression that the explanation holds.
        where: what holds for the call.
        numbers: what holds for the elements that differ, ours and MXNet's.
    """

    reason: str
    kinds: tuple[str, ...]
    op: str = ".*"
    text: str = ""
    where: Condition | None = None
    numbers: Comparison | None = None

    def explains(self, sample: Sample, kind: str, found: Difference) -> bool:
        """Whether the rule covers a verdict."""
        return (
            kind in self.kinds
            and re.fullmatch(self.op, registry.get(sample.op).name) is not None
            and re.search(self.text, found.text) is not None
            and (self.where is None or self.where(sample))
            and (self.numbers is None or self._fits(sample, found))
        )

    def _fits(self, sample: Sample, found: Difference) -> bool:
        if self.numbers is None or found.ours is None or found.theirs is None:
            return False
        with np.errstate(all="ignore"):
            return self.numbers(sample, found.ours.astype(np.float64), found.theirs.astype(np.float64))


LENIENT, STRICT, WRONG = ("lenient",), ("strict",), ("wrong",)

KNOWN: tuple[Known, ...] = (
    Known("more dtypes", LENIENT, text=(
        "only supports? (float|32-bit)|does not support (b?float|u?int)|DTypes are not supported|"
        "float16 fully connected|type_flag|[dD]ata type|Unsupported data type|FP16 gemm|kFloat32"
        "|Unsupported type \\d|Invalid Input: '(bfloat16|u?int\\d)|inferred type|Type inconsistent"
    )),
    Known("more dtypes", LENIENT, op="khatri_rao", text="Not implmented"),
    Known("more dtypes", LENIENT, text="Unknown type enum 12|Unsupported data type 12", where=narrow),
    Known("results that are not matrices stay dense", LENIENT, op="dot", text="dns.shape_.ndim"),
    Known("indices of any rank are unravelled", LENIENT, op="_ravel_multi_index", text="must be two-dimensional"),
    Known("im2col_step is not used", LENIENT, op="_contrib_ModulatedDeformableConvolution", text="im2col_step"),
    Known("unused inputs are allowed", LENIENT, text="num_inputs == infered_num_inputs"),
    Known("whole numbers written as floats", LENIENT, text="expect (int|long) but value='-?[0-9.]+'"),
    Known("failing gradients that have an answer", LENIENT, op="sort|topk", text="_backward_topk"),
    # 1.9.1 has them on GPUs only.
    Known("channels last", LENIENT, op="(Dec|C)onvolution", text="Only support NCW, NCHW and NCDHW layout"),
    Known("negative axes", LENIENT, op="_np_cumsum|transpose|reverse|broadcast_axis", text="axis|index = ",
          where=from_the_end),
    Known("other axes of boolean_mask", LENIENT, op="_contrib_boolean_mask", text="axis == 0"),
    Known("empty arrays", LENIENT, where=empty,
          text="empty|Shape size mismatch|kGPU|inferring shapes failed|[(!>][(=]? ?0[U)]|\\(0 vs\\. |unknown"),
    Known("empty results", LENIENT,
          text="inferring shapes failed|Diagonal does not exist|must be non-zero within each dimension",
          where=gives_nothing),
    Known("use_length=None means False", LENIENT, op="(log_)?softmax|softmin", text="bad optional access"),
    Known("arguments of 1.9.1's Embedding", LENIENT, op="_contrib_SparseEmbedding", text="sparse_grad"),
    Known("counts of inputs are filled in", LENIENT, text="Required parameter num_"),
    Known("attributes that global pooling does not use", LENIENT, op="Pooling.*",
          where=pools_everything),
    Known("the first number of an array", LENIENT, op=".*adamw_update", text="rescale_grad|Size|shape|expected"),
    Known("factors of numbers that are not finite are not finite", LENIENT, op="_linalg_.*", where=special,
          text="in lapack|non-convertible"),
    Known("axes that have the wanted size already", LENIENT, op="broadcast_like", text="cannot be broadcasted"),
    Known("LRN and BatchNorm_v1 of any rank", LENIENT, op="LRN|BatchNorm_v1", text="dim == ndim|local size"),
    Known("labels and picture sizes are not inspected", LENIENT, op="_contrib_MultiBoxTarget|_contrib_(Multi)?Proposal",
          text="p_label|real_(height|width)"),
    Known("heads that do not divide", STRICT, op="_contrib_interleaved_.*",
          text="multiple of|heads must be positive|must be \\("),
    Known("axes that are not there, or named twice", STRICT, op="_contrib_index_array|transpose|reverse",
          text="out of bounds|duplicate value"),
    Known("points outside of the array", STRICT, op="scatter_nd", text="is out of bounds", where=starts_whole),
    Known("two sizes to infer", STRICT, op="Reshape", text="One and only one dim can be inferred"),
    # Other words than those of dtypes, and none of JAX.
    Known("inputs that do not fit are refused where 1.9.1 reads past their ends", STRICT, text=(
        "^(?!.*(only support|Error in operator|unsupported|dtype))"
    ), op=(
        "Correlation|_contrib_PSROIPooling|"
        "_contrib_DeformablePSROIPooling|BatchNorm.*|_image_crop|IdentityAttachKLSparseReg|"
        "_contrib_MultiBox(Target|Detection)|_split_v2|_linalg_.*|SpatialTransformer|Crop|slice_like|im2col|Pooling_v1|"
        ".*adamw_update|_contrib_calibrate_entropy|_contrib_(Modulated)?DeformableConvolution|_contrib_box_encode"
    )),
    Known("reflections longer than the array", STRICT, op="Pad", text="for axis 4 of size", where=reflecting_volume),
    # 1.9.1 refuses too, but nobody waits for what has no elements.
    Known("several images without results", STRICT, op="_contrib_Proposal", text="multiple images",
          where=gives_no_proposals),
    Known("windows below 0", STRICT, op="Pooling", text="kernel and stride must be positive"),
    Known("OpenCV has no such pixels", STRICT, op="_image_resize", text="takes uint8", where=no_pixel),
    Known("a histogram has bins", STRICT, op="_histogram", text="number of bins must be positive", where=no_bins),
    Known("empty arrays of two shapes", STRICT, op="stack", text="all inputs need one shape", where=empty),
    Known("products of empty arrays whose inner sizes differ", STRICT, op="dot", where=empty),
    Known("sizes of 0 are refused", STRICT,
          op="_contrib_AdaptiveAvgPooling2D|SpatialTransformer|_contrib_BilinearResize2D",
          text="output_size must|target_shape|size|height|width|pixels"),
    Known("settings of empty arrays are looked at", STRICT,
          op="_random_.*_like|InstanceNorm|cast_storage|RNN",
          text="has to be|gamma has shape|no floating type|should be 2 Dimensional|projection_size", where=empty),
    Known("formulas of floating point refuse whole numbers", STRICT, text="floating point",
          where=whole),
    Known("positions are repeated at least once", STRICT, op="_contrib_arange_like", text="only supports repeat > 0"),
    Known("whole numbers: divisions by zero give 0, results that are not finite the nearest number", WRONG,
          where=whole, numbers=no_whole_number, op=(
        "reciprocal|sqrt|smooth_l1|rcbrt|rsqrt|gamma|gammaln|log.*|_hypot.*|broadcast_hypot|_r?div_scalar|_r?mod_scalar|erfinv|arc.*|"
        ".*_div|.*_mod|.*power.*|_DivScalar|expm1|exp|sinh|cosh|tan"
    )),
    Known("numbers that are not finite take other ways through a formula", WRONG, where=special, numbers=beyond),
    Known("the gradient of gammaln at its poles is infinite", WRONG, text="^grad", numbers=infinite,
          op="gammaln|_random_pdf_(gamma|beta|dirichlet|uniform|(generalized_)?negative_binomial)"),
    Known("cross entropies of float16 keep their bound, which is 0 in float16", WRONG, op="softmax_cross_entropy",
          text="^out", where=half, numbers=unbounded),
    Known("the gradient of mod in bfloat16 is that of float32", WRONG, op=".*_r?mod(_scalar)?",
          text="^grad", where=narrow),
    Known("statistics of no elements are 0", WRONG, op="BatchNorm(_v1)?", text="^(grad1|out1|state3)", where=empty,
          numbers=theirs_not_finite),
    Known("averages of float64 move too", WRONG, op="BatchNorm_v1", text="^state[34]: rewritten, but not by MXNet",
          where=empty_and_double),
    Known("a variance is not found from its root", WRONG, op="BatchNorm", text="^(out|state)", where=below_zero,
          numbers=theirs_not_finite),
    Known("amp_multicast cuts no fractions off", WRONG, op="amp_multicast", text="^out.: dtype", where=starts_whole),
    Known("bounds of clip outside of the dtype's range", WRONG, op="clip", numbers=outside_of_range),
    Known("smooth_l1 of whole numbers keeps the fraction of its scalar", WRONG, op="smooth_l1", where=cut_scalar),
    Known("what is cut off has no gradient", WRONG, op="Pad", text="^grad", where=cropping),
    Known("LSTM with projection trains", LENIENT, op="RNN", text="No training support for LSTM with projection"),
    Known("batches without any label have their loss", WRONG, op="CTCLoss", text="^(out|grad)", where=without_labels,
          numbers=theirs_zero),
    Known("dropout of RNN is for training", WRONG, op="RNN", text="^(out|grad)", where=dropping),
    Known("fractions of indices are cut off", LENIENT, op="gather_nd", text="IndexError: index", where=between),
    Known("densities end at parameters of 0", WRONG, op="_random_pdf_.*", text="^grad", where=edge, numbers=beyond),
    Known("sequence lengths without cuDNN", LENIENT, op="RNN", text="only available for cuDNN"),
    Known("clipping of LSTM states without cuDNN", LENIENT, op="RNN", text="state clipping is only supported for GPU"),
    Known("the derivative of selu below 0", WRONG, op="LeakyReLU", text="^grad", where=selu),
    # Central differences of the real 1.9.1 in float64 disagree with its own gradient.
    Known("middle layers of rnn_tanh and rnn_relu have their gradient", WRONG, op="RNN", text="^grad1",
          where=middle_layers),
    Known("the derivative of elu and leaky with a negative slope", WRONG, op="LeakyReLU", text="^grad", where=rising),
    Known("negative temperatures do not overflow", WRONG, op="(log_)?softmax|softmin", where=cooled,
          numbers=theirs_not_finite),
    Known("the norm of LAMB is that of the master copy", WRONG, op="_multi_mp_lamb_update", text="^(out|state)",
          where=other_masters),
    Known("the last state of no steps is the first", WRONG, op="RNN", text="^(out|state|grad)", where=empty),
    Known("rrelu draws its slopes", LENIENT, op="LeakyReLU", text="kTempSpace"),
    Known("rrelu's mask is not written in predict mode", WRONG, op="LeakyReLU", text="^out1", where=predicting),
    Known("maxima of NaN and bfloat16", WRONG, op=".*m(ax|in)imum.*", where=narrow, numbers=beyond),
    Known("maxima of NaN and bfloat16", WRONG, op="arg(max|min)|argmax_channel", text="^out",
          where=narrow_and_not_a_number),
    Known("fix_gamma leaves gamma alone", WRONG, op="BatchNorm(_v1)?", text="^state1", where=fixed),
    Known("gradients are not rescaled and clipped in place", WRONG, op="_(mp_)?adamw_update", text="^state1"),
    Known("a skipped update gives the weights, not memory that was not written", WRONG, op=".*adamw_update",
          text="^out", where=skipped_update),
    Known("mp_lamb_update_phase2 updates the master copy", WRONG, op="mp_lamb_update_phase2",
          text="^state4: rewritten"),
    Known("moving averages move in training", WRONG, op="IdentityAttachKLSparseReg", text="^state1", where=predicting),
    Known("ranges of a histogram outside of the dtype's", WRONG, op="_histogram", where=wide_range),
    Known("edges that do not increase", WRONG, op="_histogram", where=disordered),
    Known("a target of one line or column has no step", WRONG, op="SpatialTransformer", text="^grad", where=one_line),
    Known("boxes without area", WRONG, op="_contrib_box_encode", where=flat_boxes),
    Known("sections=-1 is no number of sections", WRONG, op="_split_v2", where=no_sections),
    Known("the mean of no pixels is 0", WRONG, op="_contrib_AdaptiveAvgPooling2D", where=empty, numbers=ours_zero),
    Known("arange of float16", WRONG, op="_contrib_arange_like", where=half),
    Known("arange of half precision", WRONG, op="_arange", text="^out", where=fractional_half_steps),
    Known("multi_adamw copies float32 rates into arrays of another dtype", WRONG, op="_multi_adamw_update", text="^out",
          where=not_single),
    Known("a factor or temperature of 0", WRONG, op="_linalg_tr[sm]m|(log_)?softmax|softmin",
          where=by_zero, numbers=theirs_not_finite),
    Known("norms of whole numbers", WRONG, op="norm", where=whole, numbers=below),
    Known("gradients at negative indices", WRONG, op="gather_nd", text="^grad0", where=negative),
    Known("pictures of one channel are written", WRONG, op="_image_(adjust|random)_lighting", where=gray),
    Known("the gradient of to_tensor is scaled", WRONG, op="_image_to_tensor", text="^grad0", where=as_many_channels),
    Known("NaN is sorted as the largest", WRONG, op="sort|argsort|topk", where=not_a_number),
    Known("order of equal elements", WRONG, op="sort|argsort|topk", where=ties),
    Known("gradients of products with a zero are exact", WRONG, op="prod|nanprod", text="^grad0",
          numbers=theirs_not_finite),
    Known("the gradient of 0 ** y is 0", WRONG, op="_power|broadcast_power|_rpower_scalar", text="^grad",
          numbers=ours_zero),
    Known("SoftmaxActivation of inner axes has its gradient", WRONG, op="SoftmaxActivation", text="^grad", where=inner),
    Known("SoftmaxOutput(out_grad=True) multiplies the head gradient in", WRONG, op="SoftmaxOutput", text="^grad",
          where=takes_head),
    Known("indices of any rank are unravelled", WRONG, op="_unravel_index", where=not_a_matrix),
    Known("determinants of empty matrices are 1", WRONG, op="_linalg_(slog)?det", text="^out", where=empty),
    Known("gradients of determinants are exact at singular matrices", WRONG, op="_linalg_det", text="^grad",
          where=singular),
    Known("factors of singular matrices have no gradient", WRONG, op="_linalg_gelqf", text="^grad", where=singular),
    Known("eigenvectors of equal eigenvalues are not unique", WRONG, op="_linalg_syevd", where=equal_eigenvalues),
    Known("init_output=False starts from 1, not from what the memory held", WRONG, op="(multi_)?all_finite",
          where=unstarted),
    Known("pictures of any number of channels", LENIENT, op="_image_resize", text="cn <= 4", where=many_channels),
    Known("pictures of any number of channels", WRONG, op="_image_resize", where=many_channels,
          numbers=theirs_zero),
    Known("OpenCV's rounding: at most 1", WRONG, op="_image_resize", numbers=within_one),
    Known("flips move the middle line too", WRONG, op="_image_flip_.*", where=odd_middle),
    Known("one-sided derivatives at whole positions", WRONG, op="_contrib_.*DeformableConvolution", text="^grad1",
          where=whole_positions),
    Known("empty arrays keep their dtype", WRONG, op="fill_element_0index", where=empty),
)  # fmt: skip


def reason_for(sample: Sample, kind: str, found: Difference) -> str | None:
    """The reason of the first rule that covers a verdict, or None."""
    return next((rule.reason for rule in KNOWN if rule.explains(sample, kind, found)), None)
