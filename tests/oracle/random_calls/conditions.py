"""What must hold for a call, or for the numbers that differ, before a rule of ``known`` explains a difference."""

from __future__ import annotations

import numpy as np

from gluonjax._ops import registry
from tests.oracle.random_calls.compare import run
from tests.samples import floating
from tests.samples._sample import Sample

Numbers = np.ndarray


def _setting(sample: Sample, name: str) -> object:
    """An attribute, or its default."""
    return sample.attrs.get(name, registry.get(sample.op).attr_table[name].default)


# Of the call.


def whole(sample: Sample) -> bool:
    """The inputs hold whole numbers (one at least)."""
    return any(array.dtype.kind in "iub" for array in sample.inputs)


def special(sample: Sample) -> bool:
    """An input has a NaN, an infinity, or a number that overflows when multiplied or divided by."""
    with np.errstate(all="ignore"):
        sizes = [np.abs(array.astype(np.float64)) for array in sample.inputs]
        return any(not (size < 1e15).all() or ((size > 0) & (size < 1e-37)).any() for size in sizes)


def empty(sample: Sample) -> bool:
    """An input has no elements."""
    return any(array.size == 0 for array in sample.inputs)


def half(sample: Sample) -> bool:
    """An input is float16."""
    return any(array.dtype == np.float16 for array in sample.inputs)


def narrow(sample: Sample) -> bool:
    """An input is bfloat16."""
    return any(array.dtype.name == "bfloat16" for array in sample.inputs)


def not_a_number(sample: Sample) -> bool:
    """The first input holds a NaN."""
    return bool(np.isnan(sample.inputs[0].astype(np.float64)).any())


def narrow_and_not_a_number(sample: Sample) -> bool:
    """The first input is bfloat16 and holds a NaN."""
    return sample.inputs[0].dtype.name == "bfloat16" and not_a_number(sample)


def empty_and_double(sample: Sample) -> bool:
    """No elements, of float64."""
    return empty(sample) and sample.inputs[0].dtype == np.float64


def without_labels(sample: Sample) -> bool:
    """All labels of a CTC loss are empty."""
    if str(sample.attrs.get("use_label_lengths", False)) == "True":
        return not sample.inputs[-1].any()
    padding = 0 if sample.attrs.get("blank_label", "first") == "first" else -1
    return bool((sample.inputs[1][:, :1] == padding).all())


def from_the_end(sample: Sample) -> bool:
    """Some axis is negative."""
    axes = [sample.attrs.get(name) for name in ("axis", "axes")]
    return any(axis is not None and min(np.atleast_1d(axis), default=0) < 0 for axis in axes)


def gives_nothing(sample: Sample) -> bool:
    """Some result has no elements or no axes: outside of the NumPy mode, shapes that MXNet does not know."""
    found = run(sample).arrays or {}
    return any(not array.size or not array.ndim for array in found.values())


def gives_no_proposals(sample: Sample) -> bool:
    """No region is asked for."""
    return sample.attrs.get("rpn_post_nms_top_n") == 0


def fractional_half_steps(sample: Sample) -> bool:
    """Numbers of half precision at a distance, or from a start, that is not whole."""
    narrow = str(_setting(sample, "dtype")) in ("float16", "bfloat16")
    return narrow and any(float(str(_setting(sample, name))) % 1 != 0 for name in ("start", "step"))


def as_many_channels(sample: Sample) -> bool:
    """A picture whose shape stays when its channels come first."""
    return len(set(sample.inputs[0].shape[-3:])) == 1


def reflecting_volume(sample: Sample) -> bool:
    """A border of reflections around three axes, of which 1.9.1 looks at two."""
    return sample.attrs.get("mode") == "reflect" and sample.inputs[0].ndim == 5


def no_pixel(sample: Sample) -> bool:
    """A dtype beyond the end of 1.9.1's table of OpenCV's pixels."""
    return sample.inputs[0].dtype.name in ("int8", "int64", "bfloat16")


def many_channels(sample: Sample) -> bool:
    """More channels than the pixels that OpenCV knows."""
    return sample.inputs[0].shape[-1] > 4


def wide_range(sample: Sample) -> bool:
    """A range of bins that whole numbers of the data's dtype do not reach."""
    dtype, ends = sample.inputs[0].dtype, sample.attrs.get("range") or ()
    if dtype.kind not in "iu":
        return False
    info = np.iinfo(dtype)
    return any(not info.min <= end <= info.max for end in ends)


def not_single(sample: Sample) -> bool:
    """The weights are not float32."""
    return sample.inputs[0].dtype != np.float32


def starts_whole(sample: Sample) -> bool:
    """The first input holds whole numbers."""
    return sample.inputs[0].dtype.kind in "iu"


def fixed(sample: Sample) -> bool:
    """BatchNorm's factors are 1."""
    return bool(sample.attrs.get("fix_gamma", True))


def below_zero(sample: Sample) -> bool:
    """Epsilon is negative."""
    return float(str(sample.attrs.get("eps", 1))) < 0


def predicting(sample: Sample) -> bool:
    """Not in training mode."""
    return not sample.train


def ties(sample: Sample) -> bool:
    """Some elements are equal."""
    return len(np.unique(sample.inputs[0])) < sample.inputs[0].size


def inner(sample: Sample) -> bool:
    """More than two dimensions."""
    return sample.inputs[0].ndim > 2


def not_a_matrix(sample: Sample) -> bool:
    """Indices of a rank other than that of MXNet's documentation."""
    return sample.inputs[0].ndim != 1


def negative(sample: Sample) -> bool:
    """The second input, the indices, holds a negative number."""
    return bool((sample.inputs[1] < 0).any())


def by_zero(sample: Sample) -> bool:
    """A product times 0, a softmax at temperature 0."""
    return 0 in (sample.attrs.get("alpha"), sample.attrs.get("temperature"))


def gray(sample: Sample) -> bool:
    """A picture of one channel."""
    return sample.inputs[0].shape[-1] == 1


def odd_middle(sample: Sample) -> bool:
    """The flipped axis has a middle line."""
    return sample.inputs[0].shape[-2 if "left_right" in sample.op else -3] % 2 == 1


def disordered(sample: Sample) -> bool:
    """Edges that do not increase."""
    return len(sample.inputs) > 1 and bool((np.diff(sample.inputs[1].astype(np.float64)) <= 0).any())


def one_line(sample: Sample) -> bool:
    """A target of one line or one column."""
    return 1 in np.atleast_1d(sample.attrs.get("target_shape", ()))


def flat_boxes(sample: Sample) -> bool:
    """Some anchor or reference has no width or height."""
    boxes = [array.astype(np.float64) for array in sample.inputs[2:4]]
    return any(bool((box[..., 2:] <= box[..., :2]).any()) for box in boxes)


def no_sections(sample: Sample) -> bool:
    """A negative number of parts."""
    return int(sample.attrs.get("sections", 0)) < 0


def cooled(sample: Sample) -> bool:
    """The temperature is below 0."""
    return float(str(sample.attrs.get("temperature", 1))) < 0


def rising(sample: Sample) -> bool:
    """An ELU or leaky ReLU whose negative side is positive: MXNet tells the sides by the output."""
    return sample.attrs.get("act_type", "leaky") in ("elu", "leaky") and float(sample.attrs.get("slope", 0.25)) < 0


def middle_layers(sample: Sample) -> bool:
    """Layers between the first and the last of an RNN without gates."""
    return str(sample.attrs.get("mode")).startswith("rnn_") and int(sample.attrs.get("num_layers", 1)) > 2


def selu(sample: Sample) -> bool:
    """A SELU."""
    return sample.attrs.get("act_type") == "selu"


def other_masters(sample: Sample) -> bool:
    """Some weight is not its master copy, rounded."""
    pairs = zip(sample.inputs[::5], sample.inputs[4::5])
    return any(not np.allclose(weight.astype(np.float64), copy, atol=1e-3) for weight, copy in pairs)


def takes_head(sample: Sample) -> bool:
    """The loss multiplies its gradient by the head gradient."""
    return bool(sample.attrs.get("out_grad"))


def unstarted(sample: Sample) -> bool:
    """The result goes on from what was in its memory."""
    return sample.attrs.get("init_output") is False


def singular(sample: Sample) -> bool:
    """Some matrix has no inverse."""
    matrix = sample.inputs[0].astype(np.float64)
    return matrix.size == 0 or bool((np.linalg.cond(matrix) > 1e6).any())


def equal_eigenvalues(sample: Sample) -> bool:
    """Two eigenvalues are nearly equal, so that their eigenvectors may turn."""
    matrix = sample.inputs[0].astype(np.float64)
    if not np.isfinite(matrix).all():
        return True
    values = np.linalg.eigvalsh((matrix + np.swapaxes(matrix, -1, -2)) / 2)
    return bool((np.diff(values, axis=-1) < 1e-3 * max(np.abs(values).max(initial=0), 1e-6)).any())


def whole_positions(sample: Sample) -> bool:
    """Some offset is a whole number, where linear interpolation has a kink."""
    offset = sample.inputs[1].astype(np.float64)
    return bool((offset == np.rint(offset)).any())


def pools_everything(sample: Sample) -> bool:
    """One window covers everything."""
    return sample.attrs.get("global_pool") is True


def cut_scalar(sample: Sample) -> bool:
    """Whole numbers with a scalar that has a fraction."""
    return starts_whole(sample) and float(sample.attrs.get("scalar", 1)) % 1 != 0


def cropping(sample: Sample) -> bool:
    """A border of constants that cuts off."""
    return sample.attrs.get("mode") == "constant" and min(sample.attrs["pad_width"]) < 0


def edge(sample: Sample) -> bool:
    """A parameter of a distribution is 0 or below, where densities end."""
    return any(bool((array <= 0).any()) for array in sample.inputs[1:])


def between(sample: Sample) -> bool:
    """Some index has a fraction."""
    index = sample.inputs[1].astype(np.float64)
    return bool((index != np.rint(index)).any())


def dropping(sample: Sample) -> bool:
    """Dropout between layers, outside of training."""
    return not sample.train and float(str(sample.attrs.get("p", 0))) > 0


def no_bins(sample: Sample) -> bool:
    """A histogram without bins."""
    return sample.attrs.get("bin_cnt") == 0


def skipped_update(sample: Sample) -> bool:
    """The last input, ``rescale_grad``, is 0 or not finite: the weights stay as they are."""
    scale = sample.inputs[-1].astype(np.float64).reshape(-1)[:1]
    return not (np.isfinite(scale) & (scale != 0)).all()


# Of the numbers that differ, ours and MXNet's.


def unbounded(sample: Sample, ours: Numbers, theirs: Numbers) -> bool:
    """An infinity there, a number here."""
    return bool(np.isinf(theirs).all() and np.isfinite(ours).all())


def beyond(sample: Sample, ours: Numbers, theirs: Numbers) -> bool:
    """Each pair has a NaN, an infinity, a huge number or an exact 0 (a branch not taken)."""
    return bool((_beyond(ours) | _beyond(theirs)).all())


def _beyond(numbers: Numbers) -> Numbers:
    return ~(np.abs(numbers) < 1e15) | (numbers == 0)


def theirs_not_finite(sample: Sample, ours: Numbers, theirs: Numbers) -> bool:
    """MXNet has no number."""
    return not np.isfinite(theirs).any()


def theirs_zero(sample: Sample, ours: Numbers, theirs: Numbers) -> bool:
    """MXNet has zeros only."""
    return not theirs.any()


def ours_zero(sample: Sample, ours: Numbers, theirs: Numbers) -> bool:
    """0 here where MXNet has no number."""
    return theirs_not_finite(sample, ours, theirs) and not ours.any()


def infinite(sample: Sample, ours: Numbers, theirs: Numbers) -> bool:
    """An infinity here, an infinity or a NaN there."""
    return theirs_not_finite(sample, ours, theirs) and bool(np.isinf(ours).all())


def no_whole_number(sample: Sample, ours: Numbers, theirs: Numbers) -> bool:
    """Both sides have what a conversion makes of an infinity or a NaN: 0, -1, or an end of some integer's range."""
    ends = [0, -1] + [float(end) for bits in (8, 32, 64) for end in (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)] + [255]
    return bool(np.isin(ours, ends).all() and np.isin(theirs, ends).all())


def below(sample: Sample, ours: Numbers, theirs: Numbers) -> bool:
    """MXNet's are smaller."""
    return bool((theirs < ours).all())


def within_one(sample: Sample, ours: Numbers, theirs: Numbers) -> bool:
    """The sides differ by at most 1."""
    return bool((np.abs(ours - theirs) <= 1).all())


def outside_of_range(sample: Sample, ours: Numbers, theirs: Numbers) -> bool:
    """A bound that the dtype of the inputs cannot hold."""
    dtype = sample.inputs[0].dtype
    if floating(dtype):
        return False
    info = np.iinfo(dtype)
    bounds = [float(str(_setting(sample, name))) for name in ("a_min", "a_max")]
    return any(not info.min <= bound <= info.max for bound in bounds)
