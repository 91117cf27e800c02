"""Wrong attributes and shapes are explained; odd values, indices and sizes never end the process."""

from __future__ import annotations

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import nd

NAN, INF = float("nan"), float("inf")
WRONG = [
    (lambda: nd.Convolution(nd.ones((1, 1, 4, 4)), nd.ones((1, 1, 3, 3)), kernel=(3, 3), num_filter=0, no_bias=True),
     "Convolution.*num_filter.*greater equal to 1"),
    (lambda: nd.Convolution(nd.ones((1, 1, 4, 4)), nd.ones((1, 1, 3, 3)), kernel=(3, 3), num_fliter=1),
     "num_fliter.*num_filter"),
    (lambda: nd.Dropout(nd.ones(3), p=1.5), r"Dropout.*1.5.*\bp\b.*\[0,1\]"),
    (lambda: nd.ROIPooling(nd.ones((1, 1, 4, 4)), nd.ones((1, 5)), pooled_size=(0, 2), spatial_scale=1.0),
     "ROIPooling.*pooled_size"),
    (lambda: nd.Activation(nd.ones(3), act_type="rely"), "Activation.*act_type.*relu"),
    (lambda: nd.Embedding(nd.ones(3), nd.ones((2, 3)), input_dim=0, output_dim=3), "input_dim"),
    (lambda: nd.FullyConnected(nd.ones((2, 3)), nd.ones((4, 5)), num_hidden=4, no_bias=True), "FullyConnected"),
    (lambda: nd.dot(nd.ones((2, 3)), nd.ones((2, 3))), "dot"),
    (lambda: nd.concat(nd.ones((2, 3)), nd.ones((3, 3)), dim=1), "(?i)concat"),
    (lambda: nd.contrib.MultiBoxPrior(nd.ones((1, 1, 2, 2)), offsets=(-0.5, 0.5)), "MultiBoxPrior.*offsets"),
    (lambda: nd.LeakyReLU(nd.ones((2, 3, 4)), nd.ones(4), act_type="prelu"), "Cannot broadcast gamma"),
    (lambda: nd.Activation(nd.ones(3, dtype="int32"), act_type="sigmoid"), "Activation.*floating point"),
    (lambda: nd.Correlation(nd.ones((1, 1, 4, 4)), nd.ones((1, 1, 4, 4)), kernel_size=-1), "positive"),
    (lambda: nd.Correlation(nd.ones((1, 1, 4, 4)), nd.ones((1, 1, 4, 4)), stride2=0), "strides must be positive"),
    (lambda: nd.Deconvolution(nd.ones((1, 1, 4, 4)), nd.ones((1, 1, 3, 3)), kernel=(3, 3), num_filter=1,
                              target_shape=(-1, 6)), "target_shape must not be negative"),
    (lambda: nd.contrib.MultiBoxDetection(nd.ones((1, 2, 3)), nd.ones((1, 12)), nd.ones((2, 3, 4))), "anchor"),
    (lambda: nd.contrib.MultiBoxPrior(nd.ones((1, 1, 2, 2)), offsets=(0.5, 1.5)), "MultiBoxPrior.*offsets.*at most 1"),
    (lambda: nd.take(nd.ones((2, 3)), nd.array([0, 1]), axis=3, mode="raise"), "axis 3 is out of bounds"),
    (lambda: nd.random.exponential(shape=(-1,)), "negative dimension"),
    (lambda: nd.Pad(nd.ones((1, 1, 3, 4)), mode="edge", pad_width=(0, 0, 0, 0, -2, -2, 0, 0)), "cuts off more"),
    (lambda: nd._internal._sample_unique_zipfian(range_max=4, shape=(-1, 2)), "two dimensions"),
    (lambda: nd.Deconvolution(nd.ones((1, 1, 4)), nd.ones((1, 1, 3)), kernel=(3,), num_filter=1, dilate=(-1,)),
     "Deconvolution.*dilate must be positive"),
    (lambda: nd.SequenceLast(nd.array(np.zeros((0, 3, 2)))), "SequenceLast.*has no steps"),
    (lambda: nd.LRN(nd.ones((1, 3, 2, 2)), nsize=-1), "LRN only supports odd values"),
    (lambda: nd.Reshape(nd.ones((2, 6)), target_shape=(-1, 12)), "target_shape.*negative"),
    (lambda: nd.contrib.box_decode(nd.ones((1, 2, 4), dtype="uint8"), nd.ones((1, 2, 4), dtype="uint8")),
     "box_decode.*only support floating point types, not uint8"),
    (lambda: nd.contrib.Proposal(nd.ones((1, 9, 3, 4)), nd.ones((1, 16, 3, 4)), nd.ones((1, 3)), scales=(2.0, 4.0),
                                 ratios=(0.5, 1.0)), "Proposal.*9 channels"),
    (lambda: nd.image.random_contrast(nd.ones((2, 2, 3)), min_factor=-1.0, max_factor=1.0), "min_factor.*equal to 0"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "text"), WRONG, ids=range(len(WRONG)))
def test_wrong_calls_are_explained(call, text):
    with pytest.raises(mx.MXNetError, match=text):
        call()


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "int8"])
def test_whole_numbers_divided_by_zero(dtype):
    left, right = nd.array([7, 0, 5], dtype=dtype), nd.array([0, 0, 2], dtype=dtype)
    assert (left / right).asnumpy().tolist() == [0, 0, 2]
    assert (left % right).asnumpy().tolist() == [0, 0, 1]
    assert (left / 0).asnumpy().tolist() == [0, 0, 0] and (left % 0).asnumpy().tolist() == [0, 0, 0]


@pytest.mark.parametrize("compiled", [False, True])
def test_indices_outside_and_not_finite(compiled, monkeypatch):
    if compiled:
        monkeypatch.setattr("gluonjax._engine.run.LARGE", -1.0)
    data = nd.arange(6).reshape((3, 2))
    for index in ([9.0], [-9.0], [NAN], [INF], [-INF], [1e30]):
        for call in (
            lambda i: nd.take(data, i), lambda i: nd.Embedding(i, data, input_dim=3, output_dim=2),
            lambda i: nd.one_hot(i, 3), lambda i: nd.pick(data, nd.concat(i, i, i, dim=0)),
            lambda i: nd.SequenceMask(data, nd.concat(i, i, dim=0), use_sequence_length=True),
        ):  # fmt: skip
            call(nd.array(index)).asnumpy()
        with pytest.raises(mx.MXNetError, match="out of bound"):
            nd.gather_nd(data, nd.array([index]))
    assert nd.take(data, nd.array([9.0, -9.0])).asnumpy().tolist() == [[4, 5], [0, 1]]


def test_numbers_that_are_not_finite():
    odd = nd.array([NAN, INF, -INF, 1e30, 0.0])
    for name in "sort argsort topk softmax log_softmax relu tanh gamma erfinv round sum".split():
        getattr(nd, name)(odd).asnumpy()
    assert nd.smooth_l1(odd).asnumpy()[1] == INF
    x = nd.array([1e30, -INF])
    x.attach_grad()
    with mx.autograd.record():
        y = nd.smooth_l1(x)
    y.backward()
    assert x.grad.asnumpy().tolist() == [1, -1]
    boxes = nd.array([[0, NAN, 0, 0, 1, 1], [0, 0.5, INF, 0, 1, NAN], [0, 0.9, 0, 0, 1, 1]])
    assert nd.contrib.box_nms(boxes).shape == (3, 6)


def test_a_float32_weight_is_its_own_master_copy():
    weight, copy, grad = nd.ones(2), nd.full(2, 5.0), nd.ones(2)
    new = nd.multi_mp_sgd_update(weight, grad, copy, lrs=(0.5,), wds=(0.0,), num_weights=1)
    assert new.asnumpy().tolist() == [0.5, 0.5] and copy.asnumpy().tolist() == [5, 5]


def test_matrices_without_elements():
    nothing = nd.array(np.zeros((2, 0, 0), np.float32))
    nothing.attach_grad()
    with mx.autograd.record():
        one = nd.linalg.det(nothing)
    one.backward()
    assert one.asnumpy().tolist() == [1, 1] and nothing.grad.shape == (2, 0, 0)
    vectors, values = nd.linalg.syevd(nothing)
    assert vectors.shape == (2, 0, 0) and values.shape == (2, 0)


EMPTY = [
    (lambda: nd.relu(nd.zeros((0, 3))), (0, 3)),
    (lambda: nd.dot(nd.zeros((0, 3)), nd.zeros((3, 2))), (0, 2)),
    (lambda: nd.FullyConnected(nd.zeros((0, 3)), nd.zeros((4, 3)), num_hidden=4, no_bias=True), (0, 4)),
    (lambda: nd.Convolution(nd.zeros((0, 1, 5, 5)), nd.zeros((2, 1, 3, 3)), kernel=(3, 3), num_filter=2, no_bias=True),
     (0, 2, 3, 3)),
    (lambda: nd.Pooling(nd.zeros((0, 1, 4, 4)), kernel=(2, 2), stride=(2, 2)), (0, 1, 2, 2)),
    (lambda: nd.BatchNorm(nd.zeros((0, 2, 3)), *(nd.ones(2) for _ in range(4))), (0, 2, 3)),
    (lambda: nd.sort(nd.zeros((2, 0))), (2, 0)),
    (lambda: nd.concat(nd.zeros((0, 2)), nd.ones((3, 2)), dim=0), (3, 2)),
    (lambda: nd.take(nd.ones((3, 2)), nd.zeros((0,))), (0, 2)),
    (lambda: nd.sum(nd.zeros((0, 3)), axis=0), (3,)),
    (lambda: nd.ROIPooling(nd.ones((1, 2, 4, 4)), nd.zeros((0, 5)), pooled_size=(2, 2), spatial_scale=1.0),
     (0, 2, 2, 2)),
    (lambda: nd.contrib.ROIAlign(nd.ones((1, 2, 4, 4)), nd.zeros((0, 5)), pooled_size=(2, 2), spatial_scale=1.0),
     (0, 2, 2, 2)),
    (lambda: nd.BilinearSampler(nd.zeros((1, 2, 0, 3)), nd.zeros((1, 2, 2, 2))), (1, 2, 2, 2)),
    (lambda: nd.contrib.box_nms(nd.zeros((0, 6))), (0, 6)),
    (lambda: nd.contrib.boolean_mask(nd.ones((2, 3)), nd.zeros(2)), (0, 3)),
]  # fmt: skip


@pytest.mark.parametrize(("call", "shape"), EMPTY, ids=range(len(EMPTY)))
def test_empty_inputs_give_empty_results(call, shape):
    with mx.util.np_shape(True):
        assert call().asnumpy().shape == shape


def test_large_arrays_sort_by_packed_keys_as_small_ones_do():
    draw = np.random.RandomState(0)
    for dtype in ("float32", "float16", "int32", "int8", "uint8"):
        values = draw.randint(0, 50, (3, 9000)).astype(dtype)
        if dtype.startswith("float"):
            values[0, :3] = [-0.0, 0.0, -3.5]
        array = nd.array(values, dtype=dtype)
        wanted = np.argsort(values, axis=1, kind="stable")
        assert (nd.argsort(array, dtype="int32").asnumpy() == wanted).all()
        assert (nd.sort(array, axis=1).asnumpy() == np.sort(values, axis=1)).all()
        down = nd.argsort(array, is_ascend=False, dtype="int32").asnumpy()
        assert (down == np.argsort(-values.astype(np.float64), axis=1, kind="stable")).all()
    values = draw.normal(size=(4, 20000)).astype("float32")
    values[1, 7] = NAN
    assert nd.argmax(nd.array(values), axis=1).asnumpy().tolist() == np.argmax(values, axis=1).tolist()
    assert nd.argmin(nd.array(values), axis=1).asnumpy().tolist() == np.argmin(values, axis=1).tolist()
    mask = nd.topk(nd.array(values), k=3, ret_typ="mask", axis=0).asnumpy()
    assert (mask.sum(axis=0) == 3).all()


def test_arange_of_whole_numbers_cuts_start_and_step():
    assert nd.arange(1.7, 10, 1.7, dtype="int32").asnumpy().tolist() == [1, 2, 3, 4, 5]
    assert nd.arange(0.5, 3, 0.5, dtype="int64").asnumpy().tolist() == [0, 0, 0, 0, 0]
    assert nd.arange(1.5, 4, 1.5).asnumpy().tolist() == [1.5, 3.0]


def test_ctc_loss_does_not_look_behind_the_end():
    data = nd.array(np.random.RandomState(0).normal(size=(5, 1, 4)))
    cut = data.copy()
    cut[3:] = NAN
    found = []
    for array in (data, cut):
        array.attach_grad()
        with mx.autograd.record():
            loss = nd.CTCLoss(array, nd.array([[1, 2]]), nd.array([3]), use_data_lengths=True)
        loss.backward()
        found.append((loss.asnumpy(), array.grad.asnumpy()))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-6)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-5)
    assert (found[1][1][3:] == 0).all() and (found[1][1][:3] != 0).any()


def test_multinomial_refuses_more_classes_than_its_dtype_counts():
    with pytest.raises(mx.MXNetError, match="300 classes do not fit into uint8"):
        nd.random.multinomial(nd.ones(300), dtype="uint8")
    assert nd.random.multinomial(nd.ones(300), dtype="float32").dtype == np.float32


@pytest.mark.parametrize("rois", [0, 2])
def test_regions_of_empty_pictures_and_no_regions(rois):
    with mx.util.np_shape(True):
        for height in (0, 4):
            data = nd.ones((1, 2, height, 4))
            data.attach_grad()
            with mx.autograd.record():
                pooled = nd.ROIPooling(data, nd.zeros((rois, 5)), pooled_size=(2, 2), spatial_scale=1.0)
                aligned = nd.contrib.ROIAlign(data, nd.zeros((rois, 5)), pooled_size=(2, 2), spatial_scale=1.0)
            assert pooled.shape == aligned.shape == (rois, 2, 2, 2)
            mx.autograd.backward([pooled, aligned])
            assert data.grad.shape == data.shape


@pytest.mark.parametrize("edge", [-INF, NAN, 1e20])
def test_regions_without_end_have_no_samples(edge):
    rois = nd.array([[0, edge, 1, -edge, 2], [0, 0, 0, 3, 3]])
    found = nd.contrib.ROIAlign(nd.ones((1, 2, 6, 7)), rois, pooled_size=(2, 2), spatial_scale=1.0).asnumpy()
    assert not found[0].any()
    assert np.allclose(found[1], 1)


@pytest.mark.parametrize("label", [NAN, -1.0, 7.0])
def test_labels_that_are_no_class_violate_every_margin(label):
    scores = nd.array([[0.25, -0.25, 1.0]])
    scores.attach_grad()
    with mx.autograd.record():
        nd.SVMOutput(scores, nd.array([label]), use_linear=True, margin=0.5).backward()
    assert scores.grad.asnumpy().tolist() == [[1, 1, 1]]


def test_smoothing_over_no_other_class_divides_by_zero():
    scores = nd.array([[3.0], [4.0]])
    scores.attach_grad()
    with mx.autograd.record():
        nd.SoftmaxOutput(scores, nd.array([0, 1]), smooth_alpha=0.25).backward()
    assert scores.grad.asnumpy().tolist() == [[0.25], [-INF]]


def test_reset_arrays_clears_in_place_whatever_the_dtypes():
    arrays = [nd.ones((2, 3)), nd.ones(4, dtype="int32"), nd.ones((1, 2), dtype="float16"), nd.array(np.ones((0, 2)))]
    views = list(arrays)
    nd.reset_arrays(*arrays, num_arrays=4)
    assert [view.shape for view in views] == [(2, 3), (4,), (1, 2), (0, 2)]
    assert [view.dtype.__name__ for view in views] == ["float32", "int32", "float16", "float32"]
    assert not any(view.asnumpy().any() for view in views)
