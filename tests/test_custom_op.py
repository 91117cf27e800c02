"""Operators written in Python: eager, on the tape, in symbols, executors and hybridized blocks."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import gluonjax as mx
from gluonjax import autograd, gluon, nd
from gluonjax.ndarray.ndarray import wrap

SEEN: list = []


class ScaledSum(mx.operator.CustomOp):
    """out = scale * (a + b); counts its training forwards in a state."""

    def __init__(self, scale):
        self.scale = scale

    def forward(self, is_train, req, in_data, out_data, aux):
        SEEN.append(("forward", is_train, req))
        self.kept = in_data[0] * 1
        self.assign(out_data[0], req[0], self.scale * (in_data[0] + in_data[1]))
        if is_train:
            aux[0][:] += 1

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        SEEN.append(("backward", req))
        np.testing.assert_array_equal(self.kept.asnumpy(), in_data[0].asnumpy())
        for gradient, request in zip(in_grad, req):
            self.assign(gradient, request, self.scale * out_grad[0])


@mx.operator.register("test_scaled_sum")
class ScaledSumProp(mx.operator.CustomOpProp):
    def __init__(self, scale="1"):
        super().__init__(need_top_grad=True)
        self.scale = float(scale)

    def list_arguments(self):
        return ["a", "b"]

    def list_auxiliary_states(self):
        return ["calls"]

    def infer_shape(self, in_shape):
        return [in_shape[0], in_shape[0]], [in_shape[0]], [(1,)]

    def create_operator(self, ctx, in_shapes, in_dtypes):
        SEEN.append(("create", ctx, in_shapes, in_dtypes))
        return ScaledSum(self.scale)


class Loss(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_data[0] - 1)


@mx.operator.register("test_loss")
class LossProp(mx.operator.CustomOpProp):
    def __init__(self):
        super().__init__(need_top_grad=False)

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Loss()


class Split(mx.operator.CustomOp):
    """Two outputs of other shapes and dtypes than the input."""

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0].sum(axis=1))
        self.assign(out_data[1], req[1], in_data[0].argmax(axis=1))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(
            in_grad[0], req[0], nd.broadcast_like(out_grad[0].expand_dims(1), in_data[0]) * in_data[0]
        )


@mx.operator.register("test_split")
class SplitProp(mx.operator.CustomOpProp):
    def list_outputs(self):
        return ["total", "place"]

    def infer_shape(self, in_shape):
        return in_shape, [in_shape[0][:1], in_shape[0][:1]]

    def infer_type(self, in_type):
        return in_type, [in_type[0], np.int32], []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Split()


class Failing(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        raise ValueError("the reason")


@mx.operator.register("test_failing")
class FailingProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Failing()


@pytest.fixture(autouse=True)
def _forget():
    SEEN.clear()


def test_eager_forward_backward_and_state():
    a, b, calls = nd.ones((2, 3)), nd.full((2, 3), 2.0), nd.zeros((1,))
    a.attach_grad()
    with autograd.record():
        out = nd.Custom(a, b, calls, op_type="test_scaled_sum", scale=3)
    out.backward(nd.full((2, 3), 2.0))
    assert out.asnumpy().tolist() == [[9.0] * 3] * 2
    assert a.grad.asnumpy().tolist() == [[6.0] * 3] * 2
    assert calls.asscalar() == 1
    assert SEEN == [
        ("create", mx.cpu(), [[2, 3], [2, 3], [1]], [0, 0, 0]),
        ("forward", 1, ["write"]),
        ("backward", ["write", "null"]),
    ]
    nd.Custom(a, b=b, calls=calls, op_type="test_scaled_sum")
    assert calls.asscalar() == 1  # prediction


def test_gradient_is_of_the_values_at_the_call():
    x = nd.array([[1.0, 2.0]])
    x.attach_grad()
    with autograd.record():
        total, place = nd.Custom(x, op_type="test_split")
    x[:] = 9
    total.backward()
    assert place.dtype == np.int32 and place.asnumpy().tolist() == [1]
    assert x.grad.asnumpy().tolist() == [[1.0, 2.0]]


def test_second_order_through_recorded_backward():
    class Cube(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] ** 3)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], 3 * in_data[0] ** 2 * out_grad[0])

    @mx.operator.register("test_cube")
    class CubeProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Cube()

    x = nd.array([2.0])
    x.attach_grad()
    with autograd.record():
        slope = autograd.grad(nd.Custom(x, op_type="test_cube"), [x], create_graph=True)[0]
    slope.backward()
    assert slope.asscalar() == 12 and x.grad.asscalar() == 12


def test_out_and_dtype():
    x, out = nd.ones((2,), dtype="float64"), nd.zeros((2,), dtype="float64")
    assert nd.Custom(x, op_type="test_loss", out=out) is out
    assert out.asnumpy().tolist() == [1, 1] and out.dtype == np.float64


def test_symbol_names_json_and_inference():
    symbol = mx.sym.Custom(mx.sym.var("x"), op_type="test_scaled_sum", name="c", scale=2)
    assert symbol.list_arguments() == ["x", "c_b"]
    assert symbol.list_auxiliary_states() == ["c_calls"]
    assert symbol.list_outputs() == ["c_output"]
    assert symbol.infer_shape(x=(2, 3)) == ([(2, 3), (2, 3)], [(2, 3)], [(1,)])
    reloaded = mx.sym.load_json(symbol.tojson())
    assert reloaded.tojson() == symbol.tojson()
    assert reloaded.attr_dict()["c"] == {"op_type": "test_scaled_sum", "scale": "2"}
    _, outs, _ = mx.sym.Custom(mx.sym.var("x"), op_type="test_split").infer_type(x="float16")
    assert outs == [np.float16, np.int32]


def test_executor_trains_with_state():
    symbol = mx.sym.Custom(
        a=mx.sym.var("x"), b=mx.sym.var("y") * 2, op_type="test_scaled_sum", name="c", scale=2
    )
    run = symbol.simple_bind(mx.cpu(), x=(2,), y=(2,))
    run.forward(is_train=True, x=nd.array([1.0, 2.0]), y=nd.array([3.0, 4.0]))
    assert run.outputs[0].asnumpy().tolist() == [14, 20]
    run.backward(nd.array([1.0, 10.0]))
    assert run.grad_dict["x"].asnumpy().tolist() == [2, 20]
    assert run.grad_dict["y"].asnumpy().tolist() == [4, 40]
    assert run.aux_dict["c_calls"].asscalar() == 1


def test_loss_without_head_gradient():
    run = mx.sym.Custom(mx.sym.var("x"), op_type="test_loss").simple_bind(mx.cpu(), x=(2,))
    run.forward(is_train=True, x=nd.array([3.0, 4.0]))
    run.backward()
    assert run.grad_dict["x"].asnumpy().tolist() == [2, 3]


class Net(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        self.dense = gluon.nn.Dense(3, in_units=2)

    def hybrid_forward(self, F, x):
        return F.Custom(self.dense(x), op_type="test_loss") * 2


def test_hybridized_is_eager():
    net = Net()
    net.initialize(mx.init.One())
    x = nd.array([[1.0, 2.0]])
    results = []
    for hybrid in (False, True):
        net.hybridize(hybrid)
        with autograd.record():
            out = net(x)
        out.backward()
        results.append([out.asnumpy(), net.dense.weight.grad().asnumpy()])
    for eager, compiled in zip(*results):
        np.testing.assert_allclose(compiled, eager)
    assert results[0][1].tolist() == [[2.0, 4.0]] * 3


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda x: nd.Custom(x), "Required argument `op_type` is missing"),
        (
            lambda x: nd.Custom(x, op_type="test_los"),
            "Cannot find custom operator test_los; did you mean 'test_loss'",
        ),
        (lambda x: nd.Custom(x, op_type="test_scaled_sum"), "expects 3 inputs, but got 1"),
        (lambda x: nd.Custom(x, op_type="test_loss", other=1), "unexpected keyword argument 'other'"),
        (lambda x: nd.Custom(x, op_type="test_failing"), "Error in CustomOp.forward(.|\n)*the reason"),
        (lambda x: mx.sym.Custom(mx.sym.var("x"), op_type="nope"), "Cannot find custom operator nope"),
    ],
)
def test_errors(call, words):
    with pytest.raises(mx.MXNetError, match=words):
        call(nd.ones((2,)))


def test_error_inside_of_a_compiled_graph():
    run = (mx.sym.Custom(mx.sym.var("x"), op_type="test_failing") + 1).simple_bind(mx.cpu(), x=(2,))
    with pytest.raises(mx.MXNetError, match="the reason"):
        run.forward()[0].asnumpy()


def test_wrong_number_of_shapes_is_explained():
    class Wrong(mx.operator.CustomOpProp):
        def infer_shape(self, in_shape):
            return in_shape, [in_shape[0], in_shape[0]], []

    mx.operator.register("test_wrong")(Wrong)
    with pytest.raises(mx.MXNetError, match=r"expecting 1 entries for outputs \(output\), got 2"):
        nd.Custom(nd.ones((2,)), op_type="test_wrong")


def test_assign_requests():
    array = nd.ones((2,))
    for request, wanted in (("add", 3), ("null", 3), ("write", 2), ("inplace", 2)):
        mx.operator.CustomOp().assign(array, request, nd.full((2,), 2.0))
        assert array.asnumpy().tolist() == [wanted, wanted]


def test_register_wants_a_class():
    with pytest.raises(TypeError, match="CustomOpProp"):
        mx.operator.register("test_nothing")(int)


@pytest.mark.parametrize("base", [mx.operator.NumpyOp, mx.operator.NDArrayOp])
def test_legacy_operators(base):
    class Twice(base):
        def forward(self, in_data, out_data):
            out_data[0][:] = in_data[0] * 2

        def backward(self, out_grad, in_data, out_data, in_grad):
            in_grad[0][:] = 2

    with pytest.warns(UserWarning, match="deprecated"):
        twice = Twice(need_top_grad=False)
    symbol = twice(mx.sym.var("x"), name="n")
    assert symbol.list_outputs() == ["n_output"]
    run = symbol.simple_bind(mx.cpu(), x=(2,))
    run.forward(is_train=True, x=nd.ones((2,)))
    run.backward()
    assert run.outputs[0].asnumpy().tolist() == [2, 2] and run.grad_dict["x"].asnumpy().tolist() == [2, 2]


@pytest.mark.parametrize("base", [mx.operator.NumpyOp, mx.operator.NDArrayOp])
def test_legacy_operators_in_a_hybridized_block(base):
    class Squared(base):
        def forward(self, in_data, out_data):
            out_data[0][:] = in_data[0] ** 2

        def backward(self, out_grad, in_data, out_data, in_grad):
            in_grad[0][:] = 2 * in_data[0] * out_grad[0]

    with pytest.warns(UserWarning, match="deprecated"):
        squared = Squared()

    class Net(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return squared(x, name="squared") * 3

    net = Net()
    x = nd.array([1.0, 2.0])
    with pytest.raises(mx.MXNetError, match="must be Symbol instances"):  # as in MXNet
        net(x)
    net.hybridize()
    x.attach_grad()
    with autograd.record():
        y = net(x)
    y.backward()
    assert y.asnumpy().tolist() == [3, 12] and x.grad.asnumpy().tolist() == [6, 12]


@pytest.mark.parametrize("base", [mx.operator.NumpyOp, mx.operator.NDArrayOp])
def test_legacy_operators_in_a_module(base):
    class Softmax(base):
        def list_arguments(self):
            return ["data", "label"]

        def infer_shape(self, in_shape):
            return [in_shape[0], (in_shape[0][0],)], [in_shape[0]]

        def forward(self, in_data, out_data):
            data = in_data[0] if base is mx.operator.NumpyOp else in_data[0].asnumpy()
            parts = np.exp(data - data.max(axis=1, keepdims=True))
            out_data[0][:] = parts / parts.sum(axis=1, keepdims=True)

        def backward(self, out_grad, in_data, out_data, in_grad):
            label, out = (one if base is mx.operator.NumpyOp else one.asnumpy() for one in (in_data[1], out_data[0]))
            wanted = np.eye(out.shape[1], dtype=out.dtype)[label.astype(int)]
            in_grad[0][:] = out - wanted

    with pytest.warns(UserWarning, match="deprecated"):
        softmax = Softmax(need_top_grad=False)
    results = []
    data, labels = np.linspace(-1, 1, 20, dtype="float32").reshape(4, 5), np.array([0, 1, 2, 1], "float32")
    for loss in (lambda net: softmax(data=net, name="softmax"), lambda net: mx.sym.SoftmaxOutput(net, name="softmax")):
        module = mx.mod.Module(loss(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")))
        batches = mx.io.NDArrayIter(data, labels, 4)
        module.fit(batches, num_epoch=3, initializer=mx.init.One(), optimizer_params={"learning_rate": 0.5})
        results.append(module.get_params()[0]["fc_weight"].asnumpy())
    np.testing.assert_allclose(results[0], results[1], rtol=1e-5)
    assert abs(results[0] - 1).max() > 0.01


@pytest.mark.parametrize("needed", ["head", "data", "output"])
def test_backward_gets_what_it_declares(needed):
    class Needs(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] * in_data[0])

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            found = {"head": out_grad, "data": in_data, "output": out_data}[needed][0]
            self.assign(in_grad[0], req[0], found * 10)

    @mx.operator.register(f"test_needs_{needed}")
    class NeedsProp(mx.operator.CustomOpProp):
        def __init__(self):
            super().__init__(need_top_grad=needed == "head")

        def declare_backward_dependency(self, out_grad, in_data, out_data):
            return {"head": out_grad, "data": in_data, "output": out_data}[needed]

        def create_operator(self, ctx, shapes, dtypes):
            return Needs()

    x = nd.array([2.0, 3.0])
    x.attach_grad()
    with autograd.record():
        y = nd.Custom(x, op_type=f"test_needs_{needed}")
    y.backward(nd.array([5.0, 6.0]))
    eager = x.grad.asnumpy().tolist()
    run = mx.sym.Custom(mx.sym.var("x"), op_type=f"test_needs_{needed}").bind(mx.cpu(), {"x": x}, {"x": nd.zeros((2,))})
    run.forward(is_train=True)
    run.backward([nd.array([5.0, 6.0])])
    assert eager == {"head": [50, 60], "data": [20, 30], "output": [40, 90]}[needed]
    assert run.grad_dict["x"].asnumpy().tolist() == eager


def test_states_of_a_hybridized_custom_operator():
    class Counting(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.total = self.params.get("total", shape=(1,), init="zeros", grad_req="null")

        def hybrid_forward(self, F, x, total):
            return F.Custom(x, total, op_type="test_counting")

    class Count(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            aux[0][:] += in_data[0].sum()
            self.assign(out_data[0], req[0], in_data[0] * aux[0])

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * aux[0])

    @mx.operator.register("test_counting")
    class CountProp(mx.operator.CustomOpProp):
        def list_auxiliary_states(self):
            return ["total"]

        def infer_shape(self, in_shape):
            return in_shape, [in_shape[0]], [(1,)]

        def create_operator(self, ctx, shapes, dtypes):
            return Count()

    found = []
    for hybrid in (False, True):
        net = Counting()
        net.initialize()
        net.hybridize(hybrid)
        x = nd.array([1.0, 2.0])
        x.attach_grad()
        for _ in range(3):
            with autograd.record():
                y = net(x)
            y.backward()
        found.append([y.asnumpy().tolist(), x.grad.asnumpy().tolist(), net.total.data().asnumpy().tolist()])
    assert found[0] == found[1] == [[9, 18], [9, 9], [9]]


def test_inside_of_jax_jit():
    @jax.jit
    def function(value):
        return nd.Custom(wrap(value, mx.cpu()), op_type="test_loss")._value

    assert function(np.ones((2,), np.float32)).tolist() == [1, 1]


def test_facts_about_operators():
    assert "Custom" in mx.operator.get_all_registered_operators()
    facts = mx.operator.get_operator_arguments("Activation")
    assert (facts.narg, facts.names, facts.types[0]) == (2, ["data", "act_type"], "NDArray-or-Symbol")
