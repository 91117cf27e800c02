"""Shape and type inference: forwards, backwards, partial, and its complaints."""

from __future__ import annotations

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import sym
from gluonjax._base.errors import MXNetError
from gluonjax._base.scopes import mode
from gluonjax.context import cpu


def shapes(net, **known) -> dict[str, tuple[int, ...]]:
    arguments, _, auxiliary = net.infer_shape(**known)
    return {**dict(zip(net.list_arguments(), arguments)), **dict(zip(net.list_auxiliary_states(), auxiliary))}


def two_layers():
    first = sym.FullyConnected(sym.var("a"), num_hidden=10, name="fc1")
    return sym.FullyConnected(sym.Activation(first, act_type="relu"), num_hidden=5, name="fc2")


def test_parameters_follow_from_data() -> None:
    net = two_layers()
    assert shapes(net, a=(2, 3)) == {
        "a": (2, 3), "fc1_weight": (10, 3), "fc1_bias": (10,), "fc2_weight": (5, 10), "fc2_bias": (5,),
    }  # fmt: skip
    assert net.infer_shape((2, 3))[1] == [(2, 5)]


def test_missing_information_gives_none_and_a_warning() -> None:
    with pytest.warns(UserWarning, match=r"(?s)Cannot decide shape.*\ta: \(0, 3\)"):
        assert two_layers().infer_shape(a=(0, 3)) == (None, None, None)
    assert two_layers().infer_shape_partial(a=(0, 3))[1] == [(0, 5)]
    with pytest.warns(UserWarning, match="Cannot decide type"):
        assert two_layers().infer_type() == (None, None, None)


def test_contradictions_name_the_operator() -> None:
    with pytest.raises(
        MXNetError,
        match=r"Error in operator fc1: Shape inconsistent, Provided = \[4,4\], inferred shape=\(10,3\)",
    ):
        two_layers().infer_shape(a=(2, 3), fc1_weight=(4, 4))
    with pytest.raises(MXNetError, match="Error in operator total"):
        sym.elemwise_add(sym.var("a"), sym.var("b"), name="total").infer_shape(a=(1, 3), b=(2, 3))
    with pytest.raises(MXNetError, match=r"Error in operator fc1.*float64.*float32"):
        two_layers().infer_type(a="float64", fc1_weight="float32")
    with pytest.raises(MXNetError, match=r"(?s)argument name zz not found.*\[0\]a"):
        two_layers().infer_shape(zz=(2, 3))
    with pytest.raises(TypeError, match="shapes"):
        two_layers().infer_shape(a=[2, 3])


def test_information_flows_backwards() -> None:
    c = sym.var("c", shape=(5, 21, 32, 32))
    data = sym.var("a", shape=(0, 10, 0, 0))
    assert shapes(sym.Convolution(data, num_filter=21, kernel=(3, 3), pad=(1, 1)) + c)["a"] == (5, 10, 32, 32)
    dense = sym.FullyConnected(sym.var("a", shape=(0, 10)), num_hidden=21) + sym.var("c", shape=(5, 0))
    assert shapes(dense)["a"] == (5, 10) and shapes(dense)["c"] == (5, 21)
    sliced = sym.SliceChannel(sym.var("a", shape=(0, 15, 0)), num_outputs=3)[1] + sym.var(
        "c", shape=(3, 5, 2)
    )
    assert shapes(sliced)["a"] == (3, 15, 2)
    joined = sym.var("d", shape=(2, 0)) + sym.Concat(
        sym.var("a", shape=(0, 10)), sym.var("b", shape=(0, 5)), dim=1
    )
    assert shapes(joined) == {"d": (2, 15), "a": (2, 10), "b": (2, 5)}


def test_a_broadcast_operand_is_not_guessed() -> None:
    net = sym.broadcast_add(sym.var("a", shape=(0, 3)), sym.var("b", shape=(0, 3))) + sym.var(
        "c", shape=(4, 3)
    )
    assert net.infer_shape_partial()[0][:2] == [(0, 3), (0, 3)]


def test_a_stride_that_leaves_a_choice_is_not_guessed() -> None:
    pooled = sym.Pooling(sym.var("a", shape=(2, 3, 0, 8)), kernel=(2, 2), stride=(2, 2)) + sym.var(
        "c", shape=(2, 3, 4, 4)
    )
    assert pooled.infer_shape_partial()[0][0] == (2, 3, 0, 8)


def test_constants_with_open_dimensions_take_their_users_shape() -> None:
    net = sym.zeros((0, 3)) + sym.var("a")
    assert shapes(net, a=(2, 3)) == {"a": (2, 3)}
    from gluonjax import nd

    assert net.eval(a=nd.ones((2, 3)))[0].shape == (2, 3)


def test_numpy_mode_spells_unknown_as_minus_one() -> None:
    with mode(np_shape=True):
        assert two_layers().infer_shape_partial(a=(-1, 3))[1] == [(-1, 5)]
        assert two_layers().infer_shape(a=(0, 3))[1] == [(0, 5)]
        assert sym.sin(sym.var("x")).infer_shape_partial()[0] == [None]


TYPES = [
    (lambda a: sym.Cast(a, dtype="float32"), np.float16, [np.float16], [np.float32]),
    (lambda a: sym.FullyConnected(a, num_hidden=2), np.float64, [np.float64] * 3, [np.float64]),
    (lambda a: sym.exp(a), np.float16, [np.float16], [np.float16]),
    (lambda a: sym.BatchNorm(a), np.float16, [np.float16, np.float32, np.float32], [np.float16]),
]


@pytest.mark.parametrize(("make", "given", "arguments", "outputs"), TYPES)
def test_types(make, given, arguments, outputs) -> None:
    got = make(sym.var("a")).infer_type(a=given)
    assert got[0] == arguments and got[1] == outputs


def test_types_flow_backwards_and_from_declarations() -> None:
    assert (sym.var("a") + sym.var("q", dtype="float16")).infer_type()[0] == [np.float16, np.float16]
    assert sym.Cast(sym.var("a"), dtype="float16").infer_type_partial() == ([None], [np.float16], [])


def test_constants_with_open_dimensions_take_them_from_their_users():
    for first, second in (((2, 3), (-1, -1)), ((2, -1), (3, -1)), ((2, 0), (3, 0))):
        total = sym.ones(shape=first) + sym.transpose(sym.ones(shape=second))
        assert total.bind(cpu(), args={}).forward()[0].shape == (2, 3)


def test_samples_take_the_shape_of_what_they_meet() -> None:
    net = mx.sym.random.normal(loc=5, scale=0.1) + mx.sym.var("x")
    assert net.infer_shape(x=(3, 4))[1] == [(3, 4)]
    executor = net.bind(mx.cpu(), {"x": mx.nd.zeros((3, 4))})
    found = executor.forward()[0].asnumpy()
    assert found.shape == (3, 4) and 4 < found.min() < found.max() < 6


def test_slices_of_unknown_sizes_stay_unknown() -> None:
    x = sym.var("x", shape=(10, 0))
    assert sym.slice_axis(x, axis=0, begin=0, end=5).infer_shape_partial()[1] == [(5, 0)]
    assert sym.slice_axis(x, axis=1, begin=0, end=5).infer_shape_partial()[1] == [(10, 0)]
    assert sym.slice(x, begin=(2, 3), end=(None, 8), step=(3, 1)).infer_shape_partial()[1] == [(3, 0)]


def test_a_reshape_tells_the_one_unknown_size_of_its_input() -> None:
    for source, codes, target, reverse in (
        ((2, 3, 5, 6), (6, 1, -2), (6, 1, 5, 6), False),
        ((64,), (-4, 16, -1), (16, 4), False),
        ((2, 3, 5, 6), (-2, 1, 30), (2, 3, 1, 30), True),
        ((1, 2, 3, 64), (-2, -1, 16, -4), (1, 2, 3, 4, 16), True),
    ):
        net = sym.elemwise_add(sym.var("x").reshape(codes, reverse=reverse), sym.ones(shape=target))
        for axis in range(len(source)):
            known = tuple(0 if place == axis else size for place, size in enumerate(source))
            shapes, outputs, _ = net.infer_shape(x=known)
            assert shapes[0] == source and outputs == [target]
