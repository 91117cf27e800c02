"""Composition, names, attributes and indexing of symbols."""

from __future__ import annotations

import copy
import inspect
import pickle

import pytest

from gluonjax import name, nd, sym
from gluonjax._base.errors import MXNetError
from gluonjax.attribute import AttrScope
from gluonjax.base import NotImplementedForSymbol

# (how, automatic name, operator) as MXNet 1.9.1 answers.
NAMES = [
    (lambda a, b: a + b, "_plus0", "elemwise_add"),
    (lambda a, b: a + 1, "_plusscalar0", "_plus_scalar"),
    (lambda a, b: 2 - a, "_rminusscalar0", "_rminus_scalar"),
    (lambda a, b: a / b, "_div0", "elemwise_div"),
    (lambda a, b: 2**a, "_rpower_scalar0", "_rpower_scalar"),
    (lambda a, b: sym.pow(2, a), "_rpowerscalar0", "_rpower_scalar"),
    (lambda a, b: a == b, "_equal0", "_equal"),
    (lambda a, b: a > 1, "_greater_scalar0", "_greater_scalar"),
    (lambda a, b: -a, "_mulscalar0", "_mul_scalar"),
    (lambda a, b: sym.Reshape(a, shape=(2, -1)), "reshape0", "Reshape"),
    (lambda a, b: a.flip(0), "flip0", "reverse"),
    (lambda a, b: a.astype("float16"), "cast0", "Cast"),
    (lambda a, b: sym.stop_gradient(a), "stop_gradient0", "BlockGrad"),
    (lambda a, b: sym.zeros((2, 3)), "_zeros0", "_zeros"),
    (lambda a, b: sym.maximum(a, 3), "_maximumscalar0", "_maximum_scalar"),
    (lambda a, b: sym.random.uniform(shape=(2,)), "_random_uniform0", "_random_uniform"),
    (lambda a, b: sym.random.normal(a, b), "_sample_normal0", "_sample_normal"),
    (lambda a, b: sym.linalg.gemm2(a, b), "gemm20", "_linalg_gemm2"),
    (lambda a, b: a.split_v2(2), "_split_v20", "_split_v2"),
    (lambda a, b: sym.Convolution(a, kernel=(3, 3), num_filter=2), "convolution0", "Convolution"),
]


@pytest.mark.parametrize(("make", "wanted", "op_name"), NAMES, ids=[row[1] for row in NAMES])
def test_automatic_names(make, wanted: str, op_name: str) -> None:
    with name.NameManager():
        made = make(sym.var("a"), sym.var("b"))
    assert (made.name, made.attr("op_name")) == (wanted, op_name)


def test_missing_inputs_become_variables_with_the_operators_attributes() -> None:
    net = sym.Convolution(
        sym.var("x"), kernel=(1, 1), num_filter=1, name="c", attr={"__mood__": "so so"}, lr_mult=1
    )
    assert net.list_arguments() == ["x", "c_weight", "c_bias"]
    assert net.attr_dict()["c_weight"] == {
        "__lr_mult__": "1", "lr_mult": "1", "__mood__": "so so", "kernel": "(1, 1)", "num_filter": "1",
    }  # fmt: skip
    bare = sym.FullyConnected(sym.var("x"), num_hidden=3, no_bias=True, name="f")
    assert bare.list_arguments() == ["x", "f_weight"]


def test_states_are_auxiliary_and_know_how_to_begin() -> None:
    net = sym.BatchNorm(sym.var("x"), name="bn")
    assert net.list_arguments() == ["x", "bn_gamma", "bn_beta"]
    assert net.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    assert net.list_inputs() == ["x", "bn_gamma", "bn_beta", "bn_moving_mean", "bn_moving_var"]
    assert net.attr_dict()["bn_moving_var"]["__init__"] == '["one", {}]'
    assert len(net) == 1 and net.list_outputs() == ["bn_output"]


def test_a_rewritten_input_has_to_be_a_variable() -> None:
    with pytest.raises(MXNetError, match="Mutation target can only be Variable"):
        sym.BatchNorm(sym.var("x"), moving_mean=sym.var("m") * 2)


def test_call_replaces_variables_in_a_copy() -> None:
    inner = sym.FullyConnected(sym.var("data"), name="fc1", num_hidden=10)
    outer = sym.FullyConnected(name="fc3", num_hidden=10)
    composed = outer(fc3_data=inner, name="composed")
    assert composed.name == "composed" and outer.name == "fc3"
    assert composed.list_arguments() == ["data", "fc1_weight", "fc1_bias", "fc3_weight", "fc3_bias"]
    assert outer.list_arguments() == ["fc3_data", "fc3_weight", "fc3_bias"]
    with pytest.raises(MXNetError, match=r"(?s)argument name nope not found.*\[0\]fc3_data"):
        outer(nope=inner)
    with pytest.raises(MXNetError, match="only support kwargs"):
        outer(inner)


def test_wrong_calls_say_what_is_wrong() -> None:
    x = sym.var("x")
    with pytest.raises(MXNetError, match=r"num_hiden.*did you mean 'num_hidden'"):
        sym.FullyConnected(x, num_hiden=3)
    with pytest.raises(MXNetError, match=r"argument name dat not found.*\n.*\n\t\[0\]data"):
        sym.FullyConnected(dat=x, num_hidden=3)
    with pytest.raises(MXNetError, match="tuple"):
        sym.FullyConnected(sym.split(x, num_outputs=2), num_hidden=3)
    with pytest.raises(TypeError, match="must be Symbol"):
        sym.FullyConnected(3, num_hidden=3)
    with pytest.raises(MXNetError, match=r"deprecated(?s:.*)weight=w"):
        sym.FullyConnected(x, num_hidden=3, weight_lr_mult=2)
    with pytest.raises(TypeError, match="not supported"):
        x + "text"
    with pytest.raises(NotImplementedForSymbol, match="__bool__"):
        bool(x)
    with pytest.raises(NotImplementedForSymbol, match="asnumpy"):
        x.asnumpy()


def test_indexing() -> None:
    parts = sym.SliceChannel(sym.var("x"), num_outputs=3, name="s")
    assert [part.list_outputs() for part in parts] == [["s_output0"], ["s_output1"], ["s_output2"]]
    assert parts["s_output1"].list_outputs() == parts[1].list_outputs()
    assert parts[1:].list_outputs() == ["s_output1", "s_output2"]
    with pytest.raises(IndexError):
        parts[3]
    with pytest.raises(ValueError, match="Cannot find output"):
        parts["nope"]
    assert repr(sym.Group([parts, sym.var("y")])) == "<Symbol group [s, s, s, y]>"
    assert parts.get_children().list_outputs() == ["x"] and sym.var("y").get_children() is None


def test_copies_are_independent_and_equal() -> None:
    net = sym.BatchNorm(sym.var("x", lr_mult=2) + 1, name="bn")
    for other in (copy.copy(net), copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert other.tojson() == net.tojson()
        other.get_internals()["x"]._set_attr(mood="sad")
        assert other.attr_dict()["x"]["mood"] == "sad"
    assert "mood" not in net.attr_dict()["x"]


def test_scopes() -> None:
    with AttrScope(ctx_group="4", data="great"):
        inside = sym.var("v", attr={"ctx_group": "1"}, lr_mult=1)
    assert (
        inside.attr("ctx_group") == "1" and inside.attr("data") == "great" and inside.attr("lr_mult") == "1"
    )
    with name.Prefix("net_"):
        assert sym.FullyConnected(sym.var("x"), name="fc", num_hidden=2).list_arguments() == [
            "x", "net_fc_weight", "net_fc_bias",
        ]  # fmt: skip


def test_functions_have_true_signatures() -> None:
    parameters = inspect.signature(sym.FullyConnected).parameters
    assert list(parameters) == [
        "data",
        "weight",
        "bias",
        "num_hidden",
        "no_bias",
        "flatten",
        "name",
        "attr",
        "out",
        "kwargs",
    ]
    assert parameters["weight"].default is None and repr(parameters["num_hidden"].default) == "_Null"
    assert sym.FullyConnected is sym.op.FullyConnected
    assert "FullyConnected" in dir(sym)


def test_shape_is_known_only_to_traced_symbols() -> None:
    x = sym.var("x")
    assert not hasattr(x, "shape")
    x._graph.entries[0][0].hint = (2, 3)
    assert x.shape == (2, 3)
    assert (x * 2).reshape((-1,)).shape == (6,)


def test_deep_graphs() -> None:
    net = sym.var("x")
    for _ in range(10_000):
        net = net + 1
    assert net.infer_shape(x=(2,))[1] == [(2,)]
    assert sym.load_json(net.tojson()).list_arguments() == ["x"]
    assert len(copy.deepcopy(net).get_internals()) == 10_001


def test_evaluation_of_arithmetic() -> None:
    a = sym.var("a")
    value = ((2 - a) * 3 / (a + 1) % 2) ** 2
    out = value.eval(a=nd.array([0.5, 1.0]))[0].asnumpy()
    assert out == pytest.approx([(1.5 * 3 / 1.5 % 2) ** 2, (3 / 2 % 2) ** 2])
