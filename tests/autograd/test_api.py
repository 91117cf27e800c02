"""The functions of ``mx.autograd``: modes, requests, head gradients, retained graphs, errors."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import autograd, nd


def variable(*values, req="write", dtype="float32"):
    array = nd.array(values, dtype=dtype)
    array.attach_grad(req)
    return array


def values(array):
    return array.asnumpy().tolist()


# -- modes ---------------------------------------------------------------------------------------------------


def test_modes_nest_and_come_back():
    seen = []

    def look():
        seen.append((autograd.is_recording(), autograd.is_training()))

    look()
    with autograd.record():
        look()
        with autograd.pause():
            look()
            with autograd.record(train_mode=False):
                look()
                with autograd.train_mode():
                    look()
            look()
        with autograd.predict_mode():
            look()
        with autograd.pause(train_mode=True):
            look()
        look()
    with autograd.train_mode():
        look()
    look()
    assert seen == [
        (False, False), (True, True), (False, False), (True, False), (True, True), (False, False),
        (True, False),
        (False, True), (True, True), (False, True), (False, False),
    ]  # fmt: skip


def test_a_scope_can_be_entered_again():
    scope = autograd.record()
    with scope:
        with scope:
            assert autograd.is_recording()
        assert autograd.is_recording()
    assert not autograd.is_recording()


def test_modes_come_back_after_an_error():
    with pytest.raises(ValueError, match="stop"):
        with autograd.record():
            raise ValueError("stop")
    assert not autograd.is_recording() and not autograd.is_training()


def test_set_functions_return_what_was():
    assert autograd.set_recording(True) is False
    assert autograd.set_training(True) is False
    assert autograd.set_recording(False) is True
    assert autograd.set_training(False) is True


def test_every_thread_has_modes_of_its_own():
    found = {}

    def work():
        found["before"] = autograd.is_recording()
        x = variable(3.0)
        with autograd.record():
            y = x * x
        y.backward()
        found["gradient"] = values(x.grad)
        found["after"] = autograd.is_recording()

    with autograd.record():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert autograd.is_recording()
    assert found == {"before": False, "gradient": [6.0], "after": False}


def test_training_mode_reaches_operators():
    x = nd.ones((1000,))
    with autograd.record():
        dropped = nd.Dropout(x, p=0.5)
    with autograd.record(train_mode=False):
        kept = nd.Dropout(x, p=0.5)
    assert 300 < (dropped.asnumpy() == 0).sum() < 700
    assert (kept.asnumpy() == 1).all()


# -- requests ------------------------------------------------------------------------------------------------


def test_write_replaces_and_add_accumulates():
    x, y = variable(1.0, 2.0), variable(1.0, 2.0, req="add")
    buffers = x.grad, y.grad
    for _ in range(3):
        with autograd.record():
            z = (x * x + 3 * y).sum()
        z.backward()
    assert values(x.grad) == [2.0, 4.0]
    assert values(y.grad) == [9.0, 9.0]
    assert x.grad is buffers[0] and y.grad is buffers[1]
    y.grad[:] = 0
    with autograd.record():
        z = (3 * y).sum()
    z.backward()
    assert values(y.grad) == [3.0, 3.0]


def test_null_takes_no_gradient():
    x, y = variable(1.0, req="null"), variable(2.0)
    with autograd.record():
        z = x * y
    z.backward()
    assert values(y.grad) == [1.0]
    assert values(x.grad) == [0.0]


def test_attach_grad_again_starts_anew():
    x = variable(3.0)
    with autograd.record():
        y = x * x
    y.backward()
    old = x.grad
    x.attach_grad("add")
    assert x.grad is not old and values(x.grad) == [0.0] and values(old) == [6.0]


def test_attach_grad_on_a_result_cuts_the_graph():
    x = variable(3.0)
    with autograd.record():
        y = x * x
        y.attach_grad()
        z = y * 2
    z.backward()
    assert values(y.grad) == [2.0]
    assert values(x.grad) == [0.0]


def test_the_gradient_buffer_has_the_dtype_of_the_array():
    for dtype in ("float16", "float32", "float64"):
        x = variable(3.0, dtype=dtype)
        with autograd.record():
            y = x * x
        y.backward()
        assert x.grad.dtype == np.dtype(dtype).type and values(x.grad) == [6.0]


def test_mark_variables():
    x, y = nd.array([2.0]), nd.array([5.0])
    dx, dy = nd.zeros((1,)), nd.ones((1,))
    autograd.mark_variables([x, y], [dx, dy], ["write", "add"])
    with autograd.record():
        z = x * y
    z.backward()
    assert values(dx) == [5.0] and values(dy) == [3.0]
    assert x.grad is dx
    single, gradient = nd.array([1.0]), nd.zeros((1,))
    autograd.mark_variables(single, gradient)
    with autograd.record():
        z = single * 7
    z.backward()
    assert values(gradient) == [7.0]


def test_gradient_of_an_unused_variable_stays():
    x, unused = variable(1.0), variable(1.0)
    unused.grad[:] = 5
    with autograd.record():
        y = x * 2
    y.backward()
    assert values(unused.grad) == [5.0]


def test_gradients_of_integers():
    x = variable(1, 2, 3, dtype="int32")
    with autograd.record():
        y = x * x
    y.backward()
    assert values(x.grad) == [2, 4, 6] and x.grad.dtype == np.int32


def test_a_cast_passes_the_gradient_in_the_type_of_its_input():
    x = variable(1.0, 2.0)
    with autograd.record():
        y = x.astype("float64") * 0.1
    y.backward()
    assert x.grad.dtype == np.float32
    np.testing.assert_allclose(x.grad.asnumpy(), [0.1, 0.1], rtol=1e-6)


# -- heads ---------------------------------------------------------------------------------------------------


def test_head_gradients():
    x = variable(1.0, 2.0, 3.0)
    with autograd.record():
        y = x * x
    y.backward(nd.array([1.0, 10.0, 100.0]))
    assert values(x.grad) == [2.0, 40.0, 600.0]
    with autograd.record():
        y = x * x
    y.backward(out_grad=nd.array([1, 1, 1], dtype="int32"))
    assert values(x.grad) == [2.0, 4.0, 6.0]


def test_backward_on_lists():
    x = variable(1.0, 2.0)
    with autograd.record():
        a, b = x * 2, x * x
    autograd.backward([a, b], [None, nd.array([10.0, 100.0])])
    assert values(x.grad) == [22.0, 402.0]
    with autograd.record():
        a, b = x * 2, x * x
    autograd.backward([a, b])
    assert values(x.grad) == [4.0, 6.0]
    with autograd.record():
        a = x * 2
    autograd.backward(a, nd.array([3.0, 4.0]))
    assert values(x.grad) == [6.0, 8.0]


def test_the_same_head_twice_counts_twice():
    x = variable(3.0)
    with autograd.record():
        y = x * x
    autograd.backward([y, y])
    assert values(x.grad) == [12.0]


def test_a_variable_is_its_own_head():
    x = variable(3.0)
    with autograd.record():
        y = x
    autograd.backward([y], [nd.array([4.0])])
    assert values(x.grad) == [4.0]


def test_wrong_head_gradients():
    x = variable(1.0, 2.0)
    with autograd.record():
        y = x * 2
    with pytest.raises(ValueError):
        autograd.backward([y], [None, None])
    with pytest.raises(mx.MXNetError, match="1 elements for 2"):
        y.backward(nd.ones((1,)))


# -- graphs that are gone ------------------------------------------------------------------------------------


def test_a_second_backward_needs_retain_graph():
    x = variable(2.0)
    with autograd.record():
        y = x * x
    y.backward()
    with pytest.raises(mx.MXNetError, match="pass retain_graph=True to backward"):
        y.backward()
    with autograd.record():
        y = x * x
    y.backward(retain_graph=True)
    x.grad[:] = 0
    y.backward()
    assert values(x.grad) == [4.0]
    with pytest.raises(mx.MXNetError, match="not in a computational graph"):
        y.backward()


def test_backward_without_record():
    x = variable(2.0)
    y = x * x
    with pytest.raises(mx.MXNetError, match=r"need to set is_recording to true or use autograd.record\(\)"):
        y.backward()
    with pytest.raises(mx.MXNetError, match="not in a computational graph"):
        nd.ones((1,)).backward()


def test_the_part_of_a_graph_that_was_used_up_is_a_constant():
    x = variable(2.0)
    with autograd.record():
        shared = x * x
        first, second = shared * 2, shared * 3
    first.backward()
    assert values(x.grad) == [8.0]
    with autograd.record():
        third = shared * x
    third.backward()
    assert values(x.grad) == [4.0]
    assert values(second) == [12.0]


def test_pause_cuts():
    x = variable(2.0)
    with autograd.record():
        y = x * x
        with autograd.pause():
            factor = y + 1
        z = y * factor
    z.backward()
    assert values(x.grad) == [20.0]


def test_detach_cuts_and_shares_memory():
    x = variable(2.0)
    with autograd.record():
        y = x * x
        z = y.detach() * x + nd.BlockGrad(y)
    z.backward()
    assert values(x.grad) == [4.0]
    alias = x.detach()
    alias[:] = 7
    assert values(x) == [7.0]
    assert alias.grad is None


def test_values_are_those_at_the_time_of_the_call():
    x = variable(3.0)
    with autograd.record():
        y = x * x
    x[:] = 100
    y.backward()
    assert values(x.grad) == [6.0]


def test_reading_a_value_inside_of_record():
    x = variable(2.0)
    with autograd.record():
        y = x * x
        assert y.asscalar() == 4.0
        if y > 3:
            y = y * 2
        print(y)
    y.backward()
    assert values(x.grad) == [8.0]


# -- grad ----------------------------------------------------------------------------------------------------


def test_grad_returns_new_arrays_and_leaves_buffers_alone():
    x, y = variable(2.0), variable(3.0)
    with autograd.record():
        z = x * x * y
    dx, dy = autograd.grad(z, [x, y])
    assert values(dx) == [12.0] and values(dy) == [4.0]
    assert values(x.grad) == [0.0] and values(y.grad) == [0.0]


def test_grad_of_a_single_variable_heads_and_head_gradients():
    x = variable(2.0)
    with autograd.record():
        a, b = x * 2, x * x
    heads = [nd.array([1.0]), nd.array([10.0])]
    assert values(autograd.grad([a, b], x, head_grads=heads, retain_graph=True)[0]) == [42.0]
    (gradient,) = autograd.grad([a, b], x)  # a list for a single variable too
    assert values(gradient) == [6.0]
    with pytest.raises(mx.MXNetError):
        autograd.grad([a, b], x)


def test_grad_of_an_intermediate():
    x = variable(2.0)
    with autograd.record():
        middle = x * x
        z = middle * middle
    dx, dmiddle = autograd.grad(z, [x, middle])
    assert values(dx) == [32.0] and values(dmiddle) == [8.0]


def test_grad_without_variables():
    x = variable(2.0)
    with autograd.record():
        y = x * x
    with pytest.raises(ValueError, match="variables cannot be an empty list"):
        autograd.grad(y, [])


def test_grad_of_something_unreachable_is_zero():
    x, other = variable(2.0), variable(1.0, 2.0)
    with autograd.record():
        y = x * x
    assert values(autograd.grad(y, other)[0]) == [0.0, 0.0]


def test_a_gradient_penalty_trains():
    x, w = variable(1.0, 2.0), variable(0.5, -1.0)
    with autograd.record():
        y = (w * x * x).sum()
        slope = autograd.grad(y, [x], create_graph=True, retain_graph=True)[0]
        loss = (slope * slope).sum()
    loss.backward()
    # slope = 2 w x, loss = 4 w^2 x^2
    np.testing.assert_allclose(w.grad.asnumpy(), 8 * w.asnumpy() * x.asnumpy() ** 2)
    np.testing.assert_allclose(x.grad.asnumpy(), 8 * w.asnumpy() ** 2 * x.asnumpy())


# -- Function ------------------------------------------------------------------------------------------------


class Sigmoid(autograd.Function):
    def forward(self, x):
        y = 1 / (1 + nd.exp(-x))
        self.save_for_backward(y)
        return y

    def backward(self, dy):
        (y,) = self.saved_tensors
        return dy * y * (1 - y)


class Pair(autograd.Function):
    def forward(self, x, y):
        assert not autograd.is_recording()
        return x + y, x * y

    def backward(self, dsum, dproduct):
        return dsum * 10, dproduct * 100


def test_function():
    x = variable(0.0, 1.0)
    with autograd.record():
        y = Sigmoid()(x * 2)
        z = y.sum()
    z.backward()
    expected = 1 / (1 + np.exp(-2 * np.array([0.0, 1.0])))
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * expected * (1 - expected), rtol=1e-5)


def test_function_with_several_arguments_and_results():
    x, y = variable(2.0), variable(3.0)
    with autograd.record():
        total, product = Pair()(x, y)
        z = total + product
    z.backward()
    assert values(total) == [5.0] and values(product) == [6.0]
    assert values(x.grad) == [10.0] and values(y.grad) == [100.0]
    with autograd.record():
        _, product = Pair()(x, y)
    product.backward()
    assert values(x.grad) == [0.0] and values(y.grad) == [100.0]


def test_function_outside_of_record_and_twice():
    double = Sigmoid()
    assert values(double(nd.array([0.0]))) == [0.5]
    with pytest.raises(mx.MXNetError, match="can only be called once"):
        double(nd.array([0.0]))


def test_function_with_a_wrong_backward():
    class Wrong(autograd.Function):
        def forward(self, x):
            return x * 1

        def backward(self, dy):
            return dy, dy

    x = variable(1.0)
    with autograd.record():
        y = Wrong()(x)
    with pytest.raises(mx.MXNetError, match="exactly the same number"):
        y.backward()


def test_function_under_create_graph():
    x = variable(0.7)
    with autograd.record():
        y = Sigmoid()(x)
        slope = autograd.grad(y, [x], create_graph=True, retain_graph=True)[0]
    slope.backward()
    s = 1 / (1 + np.exp(-0.7))
    # the saved output is on the tape, so the second derivative goes through it
    assert x.grad.asscalar() == pytest.approx(s * (1 - s) * (1 - 2 * s), rel=1e-4)


# -- get_symbol ----------------------------------------------------------------------------------------------


def test_get_symbol():
    x, w = variable(1.0, 2.0), variable(3.0, 4.0)
    with autograd.record():
        y = nd.exp(x * w + 1)
    symbol = autograd.get_symbol(y)
    arguments = symbol.list_arguments()
    assert len(arguments) == 2
    outputs = [
        symbol.bind(mx.cpu(), dict(zip(arguments, order))).forward()[0].asnumpy() for order in ((x, w), (w, x))
    ]
    assert any(np.allclose(output, y.asnumpy()) for output in outputs)
    with pytest.raises(mx.MXNetError):
        autograd.get_symbol(nd.ones((1,)))


@pytest.mark.parametrize("shape", [(6,), (2, 3), (4, 2)])
def test_head_gradient_of_another_shape_is_read_in_order(shape):
    x = mx.nd.arange(6).reshape((3, 2))
    x.attach_grad()
    with mx.autograd.record():
        y = x * 2
    y.backward(mx.nd.arange(1, 1 + int(np.prod(shape))).reshape(shape))
    assert x.grad.asnumpy().ravel().tolist() == [2, 4, 6, 8, 10, 12]



@pytest.mark.parametrize("hybrid", [False, True])
def test_gradients_pass_straight_through_casts_to_whole_numbers(hybrid):
    """MXNet's way of rounding inside of a network: the derivative of a cast is 1, whatever it cuts off."""

    class Rounded(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.cast(F.cast(x * 2, dtype="int32") * 3, dtype="float32") * x

    net = Rounded()
    if hybrid:
        net.hybridize()
    x = nd.array([1.75, -2.5, 0.2])
    x.attach_grad()
    with mx.autograd.record():
        y = net(x)
    y.backward()
    whole = np.array([3, -5, 0])
    np.testing.assert_allclose(y.asnumpy(), whole * 3 * x.asnumpy())
    # Between the casts gradients are whole numbers too.
    np.testing.assert_allclose(x.grad.asnumpy(), whole * 3 + 6 * np.trunc(x.asnumpy()))


def test_whole_numbers_have_the_gradients_that_mxnet_gives_them():
    """The remainder has none (1.9.1 defines it so), and what passes no gradient gives zeros."""
    a, b = variable(7, 3, -5, dtype="int32"), variable(2, 3, 3, dtype="int32")
    head = nd.array([2, 3, 4], dtype="int32")
    for call, wanted in (
        (lambda: a * b, ([4, 9, 12], [14, 9, -20])),
        (lambda: nd.broadcast_mod(a, b), ([0, 0, 0], [0, 0, 0])),
        (lambda: (a % 4) + b, ([0, 0, 0], [2, 3, 4])),
        (lambda: nd.sign(a) * b, ([0, 0, 0], [2, 3, -4])),
        (lambda: nd.BlockGrad(a) + nd.floor(b), ([0, 0, 0], [0, 0, 0])),
    ):
        with autograd.record():
            y = call()
        y.backward(head)
        assert (values(a.grad), values(b.grad)) == wanted
        assert a.grad.dtype == np.int32


def test_positions_found_in_recorded_arrays_do_not_disturb_gradients():
    x = variable(1, 4, 2)
    with autograd.record():
        place = nd.argsort(x, dtype="int32")
        y = nd.take(x * 2, place)
    y.backward(nd.array([1, 2, 3]))
    assert values(x.grad) == [2, 6, 4]
