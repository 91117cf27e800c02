"""Executors: forward, backward, states, gradients requests, reshaping, monitoring."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from gluonjax import nd, sym
from gluonjax._base.devices import Context
from gluonjax._base.errors import MXNetError
from gluonjax.attribute import AttrScope
from gluonjax.base import NDArrayHandle

CPU = Context("cpu", 0)


def test_forward_and_backward_against_numpy() -> None:
    net = sym.FullyConnected(sym.var("x"), num_hidden=2, name="fc")
    executor = net.simple_bind(CPU, x=(4, 3))
    values = np.random.RandomState(0).normal(size=(4, 3)).astype(np.float32)
    weight = np.random.RandomState(1).normal(size=(2, 3)).astype(np.float32)
    head = np.random.RandomState(2).normal(size=(4, 2)).astype(np.float32)
    executor.copy_params_from({"fc_weight": nd.array(weight)})
    (out,) = executor.forward(is_train=True, x=values)
    np.testing.assert_allclose(out.asnumpy(), values @ weight.T, rtol=1e-5)
    executor.backward(nd.array(head))
    np.testing.assert_allclose(executor.grad_dict["fc_weight"].asnumpy(), head.T @ values, rtol=1e-5)
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), head @ weight, rtol=1e-5)


@pytest.mark.parametrize("large", [False, True], ids=["interpreted", "compiled"])
def test_requests(large: bool) -> None:
    shape = (300, 1000) if large else (2,)
    a, b = sym.var("a"), sym.var("b")
    arrays = {"a": nd.full(shape, 3.0), "b": nd.full(shape, 4.0)}
    grads = {"a": nd.full(shape, 10.0), "b": nd.full(shape, 10.0)}
    executor = (a * b).bind(CPU, arrays, grads, grad_req={"a": "add", "b": "write"})
    for _ in range(2):
        executor.forward(is_train=True)
        executor.backward(nd.ones(shape))
    assert set(grads["a"].asnumpy().ravel()) == {18.0} and set(grads["b"].asnumpy().ravel()) == {3.0}
    quiet = (a * b).bind(CPU, arrays, grads, grad_req="null")
    quiet.forward(is_train=True)
    quiet.backward(nd.ones(shape))
    assert set(grads["b"].asnumpy().ravel()) == {3.0}


def test_a_loss_needs_no_head_gradient_and_others_do() -> None:
    x = sym.var("x")
    for loss in (
        sym.SoftmaxOutput(x, name="s"),
        sym.MakeLoss(x * x),
        sym.Group([sym.MakeLoss(x), sym.BlockGrad(x)]),
    ):
        executor = loss.simple_bind(CPU, x=(2, 3))
        executor.forward(is_train=True, x=np.ones((2, 3)))
        executor.backward()
        assert np.abs(executor.grad_dict["x"].asnumpy()).sum() > 0
    for other in (x * 2, sym.Group([sym.MakeLoss(x), x * 2])):
        executor = other.simple_bind(CPU, x=(2, 3))
        executor.forward(is_train=True)
        with pytest.raises(MXNetError, match="head_gradient is required"):
            executor.backward()


def test_states_change_in_training_only() -> None:
    net = sym.BatchNorm(sym.var("x"), fix_gamma=False, momentum=0.5, name="bn")
    executor = net.simple_bind(CPU, x=(4, 2))
    data = np.arange(8, dtype=np.float32).reshape(4, 2)
    executor.forward(is_train=False, x=data)
    assert executor.aux_dict["bn_moving_mean"].asnumpy().tolist() == [0, 0]
    executor.forward(is_train=True)
    np.testing.assert_allclose(executor.aux_dict["bn_moving_mean"].asnumpy(), data.mean(0) * 0.5)


def test_outputs_are_the_same_arrays_after_every_forward() -> None:
    executor = (sym.var("a") * 2).bind(CPU, {"a": nd.ones((2,))})
    (held,) = executor.forward()
    executor.arg_dict["a"][:] = 5
    executor.forward()
    assert held.asnumpy().tolist() == [10, 10]


def test_every_random_node_draws_its_own_numbers() -> None:
    net = sym.Group([sym.random.uniform(shape=(4,)), sym.random.uniform(shape=(4,))])
    executor = net.bind(CPU, {})
    first = [out.asnumpy() for out in executor.forward()]
    second = [out.asnumpy() for out in executor.forward()]
    assert not np.allclose(first[0], first[1]) and not np.allclose(first[0], second[0])


def test_dropout_draws_the_same_mask_backwards() -> None:
    executor = sym.Dropout(sym.var("x"), p=0.5).simple_bind(CPU, x=(50, 50))
    (out,) = executor.forward(is_train=True, x=np.ones((50, 50)))
    executor.backward(nd.ones((50, 50)))
    np.testing.assert_array_equal(out.asnumpy(), executor.grad_dict["x"].asnumpy())
    assert 0.3 < (out.asnumpy() == 0).mean() < 0.7


def test_reshape_shares_memory() -> None:
    executor = sym.FullyConnected(sym.var("x"), num_hidden=4, name="fc").simple_bind(
        CPU, x=(5, 4), grad_req="null"
    )
    executor.arg_dict["x"][:] = 1
    executor.arg_dict["fc_weight"][:] = 1
    smaller = executor.reshape(x=(3, 4))
    assert (smaller.forward()[0].asnumpy() == 4).all()
    with pytest.raises(MXNetError, match="allow_up_sizing"):
        executor.reshape(x=(6, 4))
    larger = executor.reshape(allow_up_sizing=True, x=(6, 4))
    larger.arg_dict["x"][:] = 0
    assert (executor.arg_dict["x"].asnumpy() == 1).all() and (
        larger.arg_dict["fc_weight"].asnumpy() == 1
    ).all()
    with pytest.raises(MXNetError, match="partial_shaping"):
        executor.reshape(x=(5, 3))


def test_monitor_sees_every_output() -> None:
    net = sym.FullyConnected(sym.Activation(sym.var("x"), act_type="relu", name="r"), num_hidden=2, name="fc")
    executor = net.simple_bind(CPU, x=(2, 3))
    seen: list[str] = []
    executor.set_monitor_callback(lambda label, array: seen.append(f"{label} {array.shape}"))
    executor.forward()
    assert seen == ["r_output (2, 3)", "fc_output (2, 2)"]
    seen.clear()
    executor.set_monitor_callback(lambda label, array: seen.append(label), monitor_all=True)
    executor.forward(is_train=True)
    forward = "x r_input0 r_output fc_data fc_weight fc_weight fc_bias fc_bias fc_output"
    assert seen == forward.split()
    seen.clear()
    executor.set_monitor_callback(lambda label, array: seen.append(label))
    executor.forward(is_train=True)
    executor.backward(nd.ones((2, 2)))
    backward = "fc_backward_output0 fc_backward_output1 fc_backward_output2 r_backward_output"
    assert seen == ["r_output", "fc_output", *backward.split()]


def test_wrong_use_is_explained() -> None:
    a, b = sym.var("a"), sym.var("b")
    with pytest.raises(ValueError, match="key `b` is missing in `args`"):
        (a + b).bind(CPU, {"a": nd.ones((2,))})
    with pytest.raises(MXNetError, match="Error in operator total"):
        sym.elemwise_add(a, b, name="total").bind(CPU, {"a": nd.ones((2,)), "b": nd.ones((3,))})
    with pytest.raises(MXNetError, match="Error in operator total"):
        sym.elemwise_add(a, b, name="total").bind(
            CPU, {"a": nd.ones((2,)), "b": nd.ones((2,), dtype="float64")}
        )
    with pytest.raises(MXNetError, match=r"(?s)simple_bind error.*a: None"):
        (a + b).simple_bind(CPU)
    executor = (a + b).simple_bind(CPU, a=(2,))
    with pytest.raises(ValueError, match="Shape not match"):
        executor.forward(a=nd.ones((3,)))
    with pytest.raises(TypeError, match="Unknown argument z"):
        executor.forward(z=nd.ones((3,)))
    with pytest.raises(ValueError, match='Find name "z"'):
        executor.copy_params_from({"z": nd.ones((1,))})


def test_types_default_to_float32_and_follow_type_dict() -> None:
    executor = sym.FullyConnected(sym.var("x"), num_hidden=2, name="f").simple_bind(CPU, x=(2, 3))
    assert executor.arg_dict["f_weight"].dtype == np.float32
    double = sym.FullyConnected(sym.var("x"), num_hidden=2, name="f").simple_bind(
        CPU, type_dict={"x": "float64"}, x=(2, 3)
    )
    assert double.arg_dict["f_weight"].dtype == np.float64 and double.forward()[0].dtype == np.float64


def test_whole_number_outputs_do_not_disturb_gradients() -> None:
    x = sym.var("x")
    executor = sym.Group([sym.cast(x, dtype="int32"), sym.MakeLoss(x * 3)]).simple_bind(CPU, x=(400, 900))
    executor.forward(is_train=True)
    executor.backward()
    assert set(executor.grad_dict["x"].asnumpy().ravel()) == {3.0}


def test_equal_expressions_are_merged_in_the_optimized_symbol() -> None:
    a, b = sym.var("a"), sym.var("b")
    executor = ((a + b) * (a + b)).simple_bind(CPU, a=(2,))
    assert len(executor.get_optimized_symbol().get_internals()) == 4


def test_debug_text_lists_nodes() -> None:
    text = sym.FullyConnected(sym.var("x"), num_hidden=2, name="f").simple_bind(CPU, x=(2, 3)).debug_str()
    assert "Op:FullyConnected, Name=f\nInputs:\n\targ[0]=x(0) version=0\n" in text and "MB allocated" in text


def test_groups_place_arrays_and_results_agree() -> None:
    with AttrScope(ctx_group="stage1"):
        hidden = sym.FullyConnected(sym.var("x"), num_hidden=3, name="fc1")
    with AttrScope(ctx_group="stage2"):
        net = sym.FullyConnected(hidden, num_hidden=2, name="fc2")
    groups = {"stage1": Context("cpu", 1), "stage2": Context("cpu", 2)}
    executor = net.simple_bind(CPU, group2ctx=groups, x=(2, 3))
    plain = net.simple_bind(CPU, x=(2, 3))
    assert executor.arg_dict["fc1_weight"].context == Context("cpu", 1)
    assert executor.grad_dict["fc2_bias"].context == Context("cpu", 2)
    for one in (executor, plain):
        for array in one.arg_arrays:
            array[:] = 0.5
        one.forward(is_train=True)
        one.backward(nd.ones((2, 2)))
    np.testing.assert_array_equal(executor.outputs[0].asnumpy(), plain.outputs[0].asnumpy())
    np.testing.assert_array_equal(
        executor.grad_dict["fc1_weight"].asnumpy(), plain.grad_dict["fc1_weight"].asnumpy()
    )


@pytest.mark.parametrize("target", ["float32", "int32", "float16"])
@pytest.mark.parametrize("source", ["int32", "float32", "float16"])
def test_casts_pass_gradients_through_whole_numbers(source: str, target: str) -> None:
    """As in 1.9.1: the head gradient in the input's type."""
    executor = sym.Cast(sym.var("x", dtype=source), dtype=target).simple_bind(CPU, x=(3,))
    head = np.array([-3.75, 2.25, 9.5])
    executor.forward(is_train=True, x=nd.array([1, 2, 3], dtype=source))
    executor.backward(nd.array(head, dtype=target))
    gradient = executor.grad_arrays[0]
    assert gradient.dtype == np.dtype(source)
    np.testing.assert_array_equal(gradient.asnumpy(), head.astype(target).astype(source))


def test_arguments_of_whole_numbers_have_gradients() -> None:
    a, b = sym.var("a", dtype="int32"), sym.var("b", dtype="int32")
    executor = ((a * b + a) * 3).simple_bind(CPU, a=(2,), b=(2,))
    executor.forward(is_train=True, a=nd.array([2, 3], dtype="int32"), b=nd.array([5, 7], dtype="int32"))
    executor.backward(nd.array([1, 2], dtype="int32"))
    assert [g.asnumpy().tolist() for g in executor.grad_arrays] == [[18, 48], [6, 18]]


def test_positions_of_whole_numbers_leave_a_graph_compiled() -> None:
    index = sym.Cast(sym.var("x") * 2, dtype="int32") + 1
    net = sym.take(sym.var("table"), index) * sym.var("scale")
    executor = net.simple_bind(CPU, x=(2,), table=(5, 3), scale=(2, 3))
    lowered = executor._lowered(True)
    assert not lowered.passes_whole_numbers()
    assert (sym.Cast(index, dtype="float32") * 2).simple_bind(CPU, x=(2,))._lowered(True).passes_whole_numbers()


def test_equal_symbols_share_their_programs() -> None:
    def build(size: int, factor: float = 2) -> object:
        net = sym.FullyConnected(sym.var("x"), num_hidden=size) * factor
        return net.simple_bind(CPU, x=(2, 3))

    first, again, other, scaled = build(4), build(4), build(5), build(4, 3)
    assert first._kernel(True) is again._kernel(True)
    assert first._kernel(True) is first._kernel(False)  # it has no operator that training changes
    noisy = sym.Dropout(sym.var("x")).simple_bind(CPU, x=(2, 3))
    assert noisy._kernel(True) is not noisy._kernel(False)
    assert first._kernel(True) is not other._kernel(True)
    assert first._kernel(True) is not scaled._kernel(True)


def test_executors_that_want_different_gradients_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second set of gradients compiles a program for all of them."""
    monkeypatch.setattr("gluonjax._engine.run.LARGE", -1.0)  # compile everything
    random = np.random.RandomState(3)
    x, w, b = (nd.array(random.normal(size=s)) for s in ((2, 8, 32, 32), (8, 8, 5, 5), (8,)))
    net = sym.Convolution(sym.var("x"), sym.var("w"), sym.var("b"), num_filter=8, kernel=(5, 5), name="conv")
    found = {}
    for wanted in ("b", "w", "xw", "xwb", "b", "x", ""):
        arrays = {"x": x, "w": w, "b": b}
        gradients = {name: nd.ones(array.shape) * 7 for name, array in arrays.items()}
        request = {name: "write" if name in wanted else "null" for name in arrays}
        executor = net.bind(CPU, arrays, args_grad=gradients, grad_req=request)
        executor.forward(is_train=True)
        executor.backward(executor.outputs[0])
        for name, gradient in gradients.items():
            if name in wanted:
                np.testing.assert_allclose(gradient.asnumpy(), found.setdefault(name, gradient.asnumpy()), rtol=1e-4)
            else:
                assert (gradient.asnumpy() == 7).all()
    assert len(executor._kernel(True)._pullbacks) == 2


def test_monitors_take_handles_and_survive_reshaping() -> None:
    """Callbacks written for MXNet begin with a cast of what they get to an array handle."""
    seen = {}

    def callback(name: str, handle: object) -> None:
        array = nd.NDArray(ctypes.cast(handle, NDArrayHandle), writable=False)  # type: ignore[arg-type]
        seen[name] = array.shape

    executor = sym.Activation(sym.var("x"), act_type="relu", name="act").simple_bind(CPU, x=(4, 3))
    executor.set_monitor_callback(callback)
    executor.reshape(x=(2, 3)).forward(is_train=False)
    assert seen == {"act_output": (2, 3)}
